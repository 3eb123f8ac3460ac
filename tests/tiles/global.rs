//! Register tiles from and to global memory: every layout and type, with and without edges, aligned and not.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tiles::{GlLayout, RegisterLayout},
};

use super::codes::{Coded, code, coded, expected};
use crate::cases::everywhere;

/// The registers of a tile that each lane writes out one after the other.
pub(super) fn dump<'k, T: Coded, const H: usize, const W: usize, L: RegisterLayout>(
    k: Builder<'k>,
    tile: &Rt<'k, T, H, W, L>,
    words: Ptr<'k, u32, Global, warpwright::ptx::Write>,
) {
    let count = tile.registers().len() as u32;
    let (words, first) = (k.slice(words, 32 * count), k.laneid() * count);
    for (i, register) in (0u32..).zip(tile.registers()) {
        words.at(first + i).store(register.bits::<u32>());
    }
}

/// A matrix of this many rows and columns, of which the second tile down and the second tile across are loaded.
fn load<T: Coded, const H: usize, const W: usize, L: RegisterLayout>(rows: u32, cols: u32, divisor: u32) {
    let kernel =
        Kernel::<(In<T>, Out<u32>, u32, u32)>::build("load", Target::SM_80, |k, (a, words, m, n)| {
            k.block([32]);
            k.grid([1]);
            let a = k.global(a, row_major(m, n.multiple_of(divisor)));
            dump(k, &Rt::<T, H, W, L>::load(a.tile(1, 1)), words);
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
    assert_eq!(words, want, "{}×{} of {rows}×{cols}", 16 * H, 16 * W);
}

/// The same tile stored to the same position of a larger matrix, whose other elements must be unchanged.
fn store<T: Coded, const H: usize, const W: usize, L: RegisterLayout>(rows: u32, cols: u32, divisor: u32) {
    let kernel = Kernel::<(In<T>, Out<T>, u32, u32)>::build("store", Target::SM_80, |k, (a, d, m, n)| {
        k.block([32]);
        k.grid([1]);
        let layout = row_major(m, n.multiple_of(divisor));
        let tile = Rt::<T, H, W, L>::load(k.global(a, layout).tile(1, 1));
        k.global(d, layout).tile(1, 1).store(&tile);
    })
    .unwrap();
    let canary = T::code(255);
    crate::assemble::kernel(&kernel);
    let matrix = everywhere(|device| {
        let a = device.upload(&coded::<T>(rows, cols)).unwrap();
        let mut d = device.upload(&vec![canary; (rows * cols) as usize]).unwrap();
        device.launch(&kernel, (&a, &mut d, rows, cols)).unwrap();
        device.download(&d).unwrap().iter().map(|x| x.to_mem_bits()).collect::<Vec<_>>()
    });
    let (top, left) = (16 * H as u32, 16 * W as u32);
    let want = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col))).map(|(row, col)| {
        let inside = (top..2 * top).contains(&row) && (left..2 * left).contains(&col);
        if inside { code::<T>(row, col) } else { canary }.to_mem_bits()
    });
    assert_eq!(matrix, want.collect::<Vec<_>>(), "{top}×{left} of {rows}×{cols}");
}

fn load_and_store<T: Coded, L: RegisterLayout>() {
    load::<T, 1, 1, L>(32, 32, 16);
    load::<T, 2, 3, L>(64, 96, 16);
    load::<T, 2, 1, L>(47, 30, 2);
    load::<T, 1, 2, L>(29, 55, 1);
    load::<T, 1, 1, L>(17, 17, 1);
    // Inside of the matrix, and past both edges.
    load::<T, 4, 2, L>(150, 68, 4);
    load::<T, 4, 2, L>(117, 59, 1);
    load::<T, 1, 8, L>(30, 250, 2);
    store::<T, 1, 1, L>(32, 32, 16);
    store::<T, 2, 1, L>(70, 40, 8);
    store::<T, 2, 2, L>(51, 46, 2);
    store::<T, 1, 2, L>(19, 63, 1);
    store::<T, 2, 4, L>(61, 130, 2);
    store::<T, 4, 1, L>(123, 31, 1);
}

#[test]
fn bf16_rows() {
    load_and_store::<bf16, Row>();
}

#[test]
fn bf16_cols() {
    load_and_store::<bf16, Col>();
}

#[test]
fn f16_rows() {
    load_and_store::<f16, Row>();
}

#[test]
fn f16_cols() {
    load_and_store::<f16, Col>();
}

#[test]
fn f32_rows() {
    load_and_store::<f32, Row>();
}

#[test]
fn f32_cols() {
    load_and_store::<f32, Col>();
}

/// A matrix with its own strides: the tile of its transpose, and of a part of a wider one.
#[test]
fn strides() {
    fn check(layout: impl for<'k> Fn(Builder<'k>) -> GlLayout<'k>, element: impl Fn(u32, u32) -> bf16) {
        let kernel = Kernel::<(In<bf16>, Out<u32>)>::build("strides", Target::SM_80, |k, (a, words)| {
            k.block([32]);
            k.grid([1]);
            dump(k, &Rt::<bf16, 1, 2>::load(k.global(a, layout(k)).tile(0, 0)), words);
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let words = everywhere(|device| {
            let a = device.upload(&coded::<bf16>(40, 40)).unwrap();
            let mut words = device.output::<u32>(32 * 8).unwrap();
            device.launch(&kernel, (&a, &mut words)).unwrap();
            device.download(&words).unwrap()
        });
        assert_eq!(words, expected(&Rt::<bf16, 1, 2>::fragment(), element));
    }
    let inside = |row, col, rows, cols, x| if row < rows && col < cols { x } else { bf16::ZERO };
    check(|_| col_major(40, 40), |row, col| code(col, row));
    check(|_| row_major(16, 30).with_row_stride(40), |row, col| inside(row, col, 16, 30, code(row, col)));
    check(
        |_| row_major(9, 20).with_row_stride(80).with_col_stride(2),
        |row, col| inside(row, col, 9, 20, code(2 * row, 2 * col)),
    );
}

/// Row 2³² of a matrix is past its edge, not its first.
#[test]
fn a_tile_past_all_rows_is_out_of_bounds() {
    type Args = (In<f32>, Out<u32>, u32);
    for constant in [true, false] {
        let kernel = Kernel::<Args>::build("past(x, words, row)", Target::SM_80, |k, (x, words, row)| {
            k.block([32]);
            k.grid([1]);
            let x = k.global(x, row_major(16, 16));
            let row = if constant { (1 << 28).into() } else { row };
            dump(k, &Rt::<f32, 1, 1>::load(x.tile(row, 0)), words);
        });
        let words = everywhere(|device| {
            let x = device.upload(&[1.0f32; 256]).unwrap();
            let mut words = device.output::<u32>(256).unwrap();
            device.launch(kernel.as_ref().unwrap(), (&x, &mut words, 1 << 28)).unwrap();
            device.download(&words).unwrap()
        });
        assert_eq!(words, [0; 256], "constant: {constant}");
    }
}
