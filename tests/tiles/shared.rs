//! Shared tiles: filled from global memory in every way, loaded and stored in every layout and swizzle.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::{Details, Device},
    sim::{InstructionClass, LineCounts},
    tiles::{Auto, Plain, RegisterLayout, SharedSwizzle, Swizzle32, Swizzle64, Swizzle128},
};

use super::{
    codes::{Coded, code, coded, expected},
    global::dump,
};
use crate::cases::everywhere;

/// Fills a shared tile with `threads` threads from a matrix whose columns `divisor` divides, and loads it with the first warp.
fn fill<T: Coded, const H: usize, const W: usize, S: SharedSwizzle, L: RegisterLayout>(
    threads: u32,
    rows: u32,
    cols: u32,
    divisor: u32,
    target: Target,
) {
    let kernel = Kernel::<(In<T>, Out<u32>, u32, u32)>::build("fill", target, |k, (a, words, m, n)| {
        k.block([threads]);
        k.grid([1]);
        let a = k.global(a, row_major(m, n.multiple_of(divisor)));
        let tile = k.shared_tile::<St<T, H, W, S>>().fill(a.tile(1, 1)).wait();
        k.if_(k.tid_x().lt(32), || dump(k, &tile.load::<L>(), words));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let words = everywhere(|device| {
        let a = device.upload(&coded::<T>(rows, cols)).unwrap();
        let mut words = device.output::<u32>(32 * Rt::<T, H, W, L>::REGISTERS).unwrap();
        device.launch(&kernel, (&a, &mut words, rows, cols)).unwrap();
        device.download(&words).unwrap()
    });
    let want = expected::<T>(&Rt::<T, H, W, L>::fragment(), |row, col| {
        let (row, col) = (row + 16 * H as u32, col + 16 * W as u32);
        if row < rows && col < cols { code(row, col) } else { T::ZERO }
    });
    assert_eq!(words, want, "{}×{} of {rows}×{cols} by {threads} threads, {divisor} divides", 16 * H, 16 * W);
}

/// 16-, 8- and 4-byte copies and single elements; whole and ragged; one warp and several.
fn fill_widths<T: Coded, L: RegisterLayout>() {
    fill::<T, 2, 2, Auto, L>(32, 64, 64, 16, Target::SM_80);
    fill::<T, 2, 2, Auto, L>(32, 50, 56, 8, Target::SM_80);
    fill::<T, 2, 2, Auto, L>(64, 61, 44, 4, Target::SM_80);
    fill::<T, 1, 4, Auto, L>(32, 31, 118, 2, Target::SM_80);
    fill::<T, 2, 2, Auto, L>(128, 49, 57, 1, Target::SM_80);
    fill::<T, 3, 1, Auto, L>(96, 90, 24, 8, Target::SM_80);
    // The number of threads does not divide the number of the tile's chunks.
    fill::<T, 2, 3, Auto, L>(160, 64, 96, 8, Target::SM_80);
    fill::<T, 1, 3, Auto, L>(64, 20, 90, 2, Target::SM_80);
    // Large and wide.
    fill::<T, 4, 4, Auto, L>(128, 120, 130, 2, Target::SM_80);
    fill::<T, 1, 8, Auto, L>(64, 31, 250, 2, Target::SM_80);
    // No asynchronous copies at all.
    fill::<T, 2, 2, Auto, L>(32, 50, 56, 8, Target::SM_75);
}

/// A pitch that keeps rows aligned, and an edge inside of 16 bytes: whole copies that read the bytes that exist.
#[test]
fn copies_reach_past_an_edge() {
    let (rows, cols, pitch) = (40, 45, 48);
    let kernel =
        Kernel::<(In<bf16>, Out<u32>, u32)>::build("fill(a, words, n)", Target::SM_80, |k, (a, words, n)| {
            k.block([32]);
            k.grid([1]);
            let a = k.global(a, row_major(rows, n).with_row_stride(pitch));
            let tile = k.shared_tile::<St<bf16, 2, 2>>().fill(a.tile(1, 1)).wait();
            dump(k, &tile.load::<Row>(), words);
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let words = everywhere(|device| {
        let matrix: Vec<bf16> = (0..rows * pitch).map(|at| code(at / pitch, at % pitch)).collect();
        let a = device.upload(&matrix).unwrap();
        let mut words = device.output::<u32>(32 * 16).unwrap();
        let launched = device.launch(&kernel, (&a, &mut words, cols)).unwrap();
        if let Details::Simulated(report) = launched.details {
            // What writes the shared tile, and the bytes of each lane.
            let writes = report.lines.iter().filter(|line| line.counts.bytes.shared_written > 0);
            let each = |line: &LineCounts| line.counts.bytes.shared_written / line.counts.thread_instructions;
            let writes: Vec<_> = writes.map(|line| (line.class, each(line))).collect();
            assert_eq!(writes, [(InstructionClass::Async, 16); 4]);
        }
        device.download(&words).unwrap()
    });
    let want = expected::<bf16>(&Rt::<bf16, 2, 2, Row>::fragment(), |row, col| {
        let (row, col) = (row + 32, col + 32);
        if row < rows && col < cols { code(row, col) } else { bf16::ZERO }
    });
    assert_eq!(words, want);
}

#[test]
fn bf16_rows() {
    fill_widths::<bf16, Row>();
}

#[test]
fn f16_cols() {
    fill_widths::<f16, Col>();
}

#[test]
fn f32_rows() {
    fill_widths::<f32, Row>();
}

#[test]
fn f32_cols() {
    fill_widths::<f32, Col>();
}

#[test]
fn swizzles() {
    fn every<T: Coded, L: RegisterLayout>() {
        fill::<T, 2, 4, Plain, L>(32, 64, 128, 16, Target::SM_80);
        fill::<T, 1, 3, Plain, L>(32, 32, 96, 16, Target::SM_80);
        fill::<T, 2, 4, Swizzle32, L>(32, 64, 128, 16, Target::SM_80);
        fill::<T, 2, 4, Swizzle64, L>(32, 64, 128, 16, Target::SM_80);
        fill::<T, 2, 4, Swizzle128, L>(32, 64, 128, 16, Target::SM_80);
        fill::<T, 1, 8, Swizzle128, L>(32, 32, 256, 16, Target::SM_80);
    }
    every::<bf16, Row>();
    every::<bf16, Col>();
    every::<f32, Row>();
}

/// A register tile stored to shared memory and loaded again in the other layout, and rectangles of it.
#[test]
fn store_and_load() {
    fn through<T: Coded, S: SharedSwizzle, L: RegisterLayout, M: RegisterLayout>() {
        let kernel =
            Kernel::<(In<T>, Out<u32>, Out<u32>)>::build("through", Target::SM_80, |k, (a, whole, part)| {
                k.block([32]);
                k.grid([1]);
                let tile = Rt::<T, 2, 4, L>::load(k.global(a, row_major(32, 64)).tile(0, 0));
                let tile = k.shared_tile::<St<T, 2, 4, S>>().store(&tile).wait();
                dump(k, &tile.load::<M>(), whole);
                // A dynamic position.
                let one = k.ntid_x() >> 5;
                let corner: Rt<T, 1, 2, M> = tile.subtile(one, one + 1).load();
                dump(k, &corner, part);
            })
            .unwrap();
        crate::assemble::kernel(&kernel);
        let words = everywhere(|device| {
            let a = device.upload(&coded::<T>(32, 64)).unwrap();
            let mut whole = device.output::<u32>(32 * Rt::<T, 2, 4, M>::REGISTERS).unwrap();
            let mut part = device.output::<u32>(32 * Rt::<T, 1, 2, M>::REGISTERS).unwrap();
            device.launch(&kernel, (&a, &mut whole, &mut part)).unwrap();
            (device.download(&whole).unwrap(), device.download(&part).unwrap())
        });
        assert_eq!(words.0, expected::<T>(&Rt::<T, 2, 4, M>::fragment(), code));
        assert_eq!(
            words.1,
            expected::<T>(&Rt::<T, 1, 2, M>::fragment(), |row, col| code(row + 16, col + 32))
        );
    }
    through::<bf16, Auto, Row, Col>();
    through::<bf16, Swizzle64, Col, Row>();
    through::<f16, Swizzle32, Row, Row>();
    through::<f16, Plain, Col, Col>();
    through::<f32, Auto, Row, Col>();
    through::<f32, Swizzle32, Col, Row>();
    through::<f32, Plain, Row, Row>();
}

/// Every element has distinct bytes, all of them within the tile.
#[test]
fn addresses_are_bijections() {
    fn check<T: Coded, const H: usize, const W: usize, S: SharedSwizzle>() {
        let bytes = St::<T, H, W, S>::shared_layout().unwrap().bytes::<T>().unwrap();
        let mut offsets: Vec<i64> = bytes.values().collect();
        offsets.sort_unstable();
        let expect = (0..256 * (H * W) as i64).map(|element| element * i64::from(T::SIZE));
        assert_eq!(offsets, expect.collect::<Vec<_>>());
    }
    check::<bf16, 2, 4, Swizzle128>();
    check::<bf16, 2, 8, Auto>();
    check::<bf16, 4, 2, Auto>();
    check::<f16, 2, 1, Auto>();
    check::<f16, 1, 4, Swizzle32>();
    check::<f32, 2, 2, Auto>();
    check::<f32, 1, 1, Auto>();
    check::<bf16, 1, 3, Plain>();
}
