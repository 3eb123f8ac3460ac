//! Register tiles of several warps stored to shared memory, shared memory copied to global memory, and vectors in shared memory.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tiles::{
        Aligned, Auto, Convert, Naive, Orthogonal, Padded, Plain, SharedSwizzle, Swizzle32, VectorLayout,
    },
};

use super::codes::{Coded, code, coded};
use crate::cases::everywhere;

fn bits<T: Coded>(all: &[T]) -> Vec<u64> {
    all.iter().map(|x| x.to_mem_bits()).collect()
}

/// Four warps load 16 rows each, store them to one shared tile as `T`, and the block stores that to a matrix of any size; 2 blocks
/// and 2 launches, the second tile down and across.
fn through<T, const W: usize, S: SharedSwizzle>(cols: u32, divisor: u32, rows: u32, target: Target)
where
    T: Coded + Convert<f32>,
    f32: Convert<T>,
{
    type Args<T> = (In<f32>, InOut<T>, u32, u32);
    let kernel = Kernel::<Args<T>>::build("through(x, y, m, n)", target, |k, (x, y, m, n)| {
        let block = k.block([128]);
        k.grid([2]);
        let layout = row_major(m, n.multiple_of(divisor));
        let (x, y) = (k.global(x, layout), k.global(y, layout));
        let row = k.ctaid_x();
        let own = x.tile_of(block, row, 1).load::<f32, 1, W, Row>();
        let tile = k.shared_tile::<St<T, 4, W, S>>();
        let tile = tile.store_with(|tile| tile.tile_of(block).store(&own)).wait();
        y.tile(row, 1).store_shared(&tile);
        // Again, by position, after all threads have finished reading.
        let tile = tile.release().store_with(|tile| tile.subtile(k.warp(), 0).store(&own)).wait();
        y.tile(row, 2).store_shared(&tile);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let x = device.upload(&coded::<f32>(rows, cols)).unwrap();
        let mut y = device.upload(&vec![T::from_f64(f64::NAN); (rows * cols) as usize]).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&x, &mut y, rows, cols)).unwrap();
        }
        bits(&device.download(&y).unwrap())
    });
    let width = 16 * W as u32;
    let at = |row: u32, col: u32| match col / width {
        _ if row >= 128 => T::from_f64(f64::NAN),
        1 => code::<T>(row, col),
        // The elements of the tile past the matrix are zero, and were not stored; the tile across has columns of the first one.
        2 if col - width < cols => code::<T>(row, col - width),
        _ => T::from_f64(f64::NAN),
    };
    let want: Vec<_> = (0..rows * cols).map(|i| at(i / cols, i % cols)).collect();
    assert_eq!(found, bits(&want), "{} {rows}×{cols}, {divisor} divides", T::NAME);
}

fn every_edge<T, S: SharedSwizzle>()
where
    T: Coded + Convert<f32>,
    f32: Convert<T>,
{
    through::<T, 4, S>(192, 64, 128, Target::SM_80);
    through::<T, 2, S>(90, 2, 128, Target::SM_90);
    through::<T, 2, S>(96, 8, 101, Target::SM_80);
    through::<T, 3, S>(145, 1, 77, Target::SM_90);
    through::<T, 1, S>(40, 4, 130, Target::SM_80);
}

#[test]
fn bf16_through_shared() {
    every_edge::<bf16, Auto>();
    every_edge::<bf16, Padded>();
}

#[test]
fn f16_through_shared() {
    every_edge::<f16, Swizzle32>();
    every_edge::<f16, Plain>();
}

#[test]
fn f32_through_shared() {
    every_edge::<f32, Auto>();
    every_edge::<f32, Padded>();
}

/// A result leaves in accesses of 16 bytes, also as bf16, and without predicates if the tile divides the matrix.
#[test]
fn coalesced_epilogue() {
    let kernel = Kernel::<(Out<bf16>,)>::build("epilogue(d)", Target::SM_90, |k, (d,)| {
        let block = k.block([128]);
        k.grid([1]);
        let acc = k.filled::<Rt<f32, 2, 4>>(1.0);
        let tile =
            k.shared_tile::<St<bf16, 8, 4>>().store_with(|tile| tile.tile_of(block).store(&acc)).wait();
        k.global(d, row_major(128, 64)).tile(0, 0).store_shared(&tile);
    })
    .unwrap();
    let text = kernel.ptx();
    let count = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    // 128 · 64 · 2 bytes by 128 threads.
    assert_eq!(
        (count("st.global.v4"), count("st.global"), count("stmatrix"), count("@")),
        (8, 8, 8, 0),
        "{text}"
    );
}

/// Loads convert; the same memory is used for another shape.
#[test]
fn loads_convert_and_memory_is_reused() {
    type Args = (In<bf16>, In<f16>, Out<f32>);
    let kernel = Kernel::<Args>::build("reuse(a, b, y)", Target::SM_80, |k, (a, b, y)| {
        let block = k.block([64]);
        k.grid([1]);
        let y = k.global(y, row_major(96, 64));
        let tile = k.shared_tile::<St<bf16, 4, 4>>().fill(k.global(a, row_major(64, 64)).tile(0, 0)).wait();
        let own: Rt<f32, 2, 4> = tile.tile_of(block).load_as();
        y.tile_of(block, 0, 0).store(&own);
        let tile = tile.release().reuse::<St<f16, 2, 3>>();
        let tile = tile.fill(k.global(b, row_major(32, 48)).tile(0, 0)).wait();
        let part: Rt<f32, 1, 3, Col> = tile.subtile(k.warp(), 0).load_as();
        y.tile_at(k.warp() * 16 + 64, 0).store(&part);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let (a, b) =
            (device.upload(&coded::<bf16>(64, 64)).unwrap(), device.upload(&coded::<f16>(32, 48)).unwrap());
        let mut y = device.upload(&[-1.0f32; 96 * 64]).unwrap();
        device.launch(&kernel, (&a, &b, &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    let want = (0..96 * 64).map(|i| (i / 64, i % 64)).map(|(row, col)| match (row, col) {
        (..64, _) => code::<f32>(row, col),
        (_, ..48) => code(row - 64, col),
        _ => -1.0,
    });
    assert_eq!(found, want.collect::<Vec<_>>());
}

/// A vector through shared memory: filled by the block, loaded whole and in parts, stored by one warp and by two, stored by the block.
fn vector_through<T, V: VectorLayout>(length: u32, divisor: u32)
where
    T: Coded + Convert<f32>,
    f32: Convert<T>,
{
    type Args<T> = (In<T>, InOut<T>, InOut<T>, u32);
    let kernel = Kernel::<Args<T>>::build("vectors(x, y, z, n)", Target::SM_80, |k, (x, y, z, n)| {
        k.block([64]);
        k.grid([2]);
        let layout = vector(n.multiple_of(divisor));
        let (x, y, z) = (k.global(x, layout), k.global(y, layout), k.global(z, layout));
        let b = k.ctaid_x();
        let filled = k.shared_tile::<Sv<T, 8>>().fill(x.tile(b)).wait();
        let part: Rv<f32, 4, V> = filled.tile(k.warp()).load_as();
        y.tile(b * 2 + k.warp()).store(&part);
        let stored = k.shared_tile::<Sv<T, 8>>().store_with(|v| v.tile(k.warp()).store(&part)).wait();
        let whole: Rv<T, 8, V> = stored.load();
        let again = stored.release().store_with(|v| k.when_warp(1, |_| v.tile(0).store(&whole))).wait();
        z.tile(b).store_shared(&again);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let x = device.upload(&coded::<T>(1, length)).unwrap();
        let mut y = device.upload(&vec![T::from_f64(f64::NAN); length as usize + 9]).unwrap();
        let mut z = device.upload(&vec![T::from_f64(f64::NAN); length as usize + 9]).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&x, &mut y, &mut z, length)).unwrap();
        }
        (bits(&device.download(&y).unwrap()), bits(&device.download(&z).unwrap()))
    });
    let at = |i: u32| if i < length.min(256) { code::<T>(0, i) } else { T::from_f64(f64::NAN) };
    let want = bits(&(0..length + 9).map(at).collect::<Vec<_>>());
    assert_eq!(found.0, want, "{} {length} {}", T::NAME, V::NAME);
    assert_eq!(found.1, want, "{} {length} {}", T::NAME, V::NAME);
}

#[test]
fn vectors_through_shared() {
    fn every<T>()
    where
        T: Coded + Convert<f32>,
        f32: Convert<T>,
    {
        for (length, divisor) in [(256, 128), (250, 2), (201, 1), (300, 4)] {
            vector_through::<T, Orthogonal>(length, divisor);
            vector_through::<T, Aligned>(length, divisor);
            vector_through::<T, Naive>(length, divisor);
        }
    }
    every::<bf16>();
    every::<f16>();
    every::<f32>();
}

/// Rows and columns of a shared tile as vectors, at positions in registers.
#[test]
fn rows_and_columns() {
    fn check<T: Coded, const W: usize, S: SharedSwizzle>() {
        type Args<T> = (In<T>, Out<T>, Out<T>);
        let (rows, cols) = (32, 16 * W as u32);
        let kernel = Kernel::<Args<T>>::build("lines(x, r, c)", Target::SM_80, |k, (x, r, c)| {
            k.block([64]);
            k.grid([1]);
            let tile =
                k.shared_tile::<St<T, 2, W, S>>().fill(k.global(x, row_major(rows, cols)).tile(0, 0)).wait();
            let (r, c) = (k.global(r, row_major(6, cols)), k.global(c, row_major(6, rows)));
            let at = k.warp() * 11 + 3;
            let rows: (Rv<T, W, Orthogonal>, Rv<T, W, Aligned>, Rv<T, W, Naive>) =
                (tile.row(at).load(), tile.row(at).load(), tile.row(at).load());
            let cols: (Rv<T, 2, Orthogonal>, Rv<T, 2, Aligned>, Rv<T, 2, Naive>) =
                (tile.col(at).load(), tile.col(at).load(), tile.col(at).load());
            let first = k.warp() * 3;
            r.row(first).tile(0).store(&rows.0);
            r.row(first + 1).tile(0).store(&rows.1);
            r.row(first + 2).tile(0).store(&rows.2);
            c.row(first).tile(0).store(&cols.0);
            c.row(first + 1).tile(0).store(&cols.1);
            c.row(first + 2).tile(0).store(&cols.2);
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let found = everywhere(|device| {
            let x = device.upload(&coded::<T>(rows, cols)).unwrap();
            let mut r = device.upload(&vec![T::from_f64(f64::NAN); (6 * cols) as usize]).unwrap();
            let mut c = device.upload(&vec![T::from_f64(f64::NAN); (6 * rows) as usize]).unwrap();
            device.launch(&kernel, (&x, &mut r, &mut c)).unwrap();
            (bits(&device.download(&r).unwrap()), bits(&device.download(&c).unwrap()))
        });
        let line = |i: u32| i / 3 * 11 + 3;
        let r: Vec<T> = (0..6 * cols).map(|i| code(line(i / cols), i % cols)).collect();
        let c: Vec<T> = (0..6 * rows).map(|i| code(i % rows, line(i / rows))).collect();
        assert_eq!(found, (bits(&r), bits(&c)), "{} {cols}", T::NAME);
    }
    check::<bf16, 4, Auto>();
    check::<bf16, 1, Auto>();
    check::<bf16, 8, Swizzle32>();
    check::<f16, 2, Padded>();
    check::<f32, 4, Auto>();
    check::<f32, 1, Padded>();
    check::<f32, 8, Plain>();
}

/// Tiles of every element width: filled, loaded and written back unchanged.
#[test]
fn every_width() {
    fn check<T, const W: usize, S: SharedSwizzle>(element: impl Fn(u32) -> T)
    where
        T: warpwright::tensor::TensorElement + PartialEq,
    {
        type Args<T> = (In<T>, Out<T>, Out<T>);
        let (rows, cols) = (St::<T, 2, W, S>::ROWS, St::<T, 2, W, S>::COLS);
        let kernel = Kernel::<Args<T>>::build("widths(x, y, z)", Target::SM_80, |k, (x, y, z)| {
            let block = k.block([64]);
            k.grid([1]);
            let layout = row_major(rows, cols);
            let (x, y, z) = (k.global(x, layout), k.global(y, layout), k.global(z, layout));
            let tile = k.shared_tile::<St<T, 2, W, S>>().fill(x.tile(0, 0)).wait();
            y.tile(0, 0).store_shared(&tile);
            let own: Rt<T, 1, W> = tile.tile_of(block).load();
            let tile = tile.release().store_with(|tile| tile.tile_of(block).store(&own)).wait();
            z.tile(0, 0).store_shared(&tile);
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let data: Vec<T> = (0..rows * cols).map(element).collect();
        let found = everywhere(|device| {
            let x = device.upload(&data).unwrap();
            let (mut y, mut z) =
                (device.output::<T>(data.len()).unwrap(), device.output::<T>(data.len()).unwrap());
            device.launch(&kernel, (&x, &mut y, &mut z)).unwrap();
            (device.download(&y).unwrap(), device.download(&z).unwrap())
        });
        assert!(found == (data.clone(), data), "{} in {W}", T::NAME);
    }
    check::<u8, 2, Auto>(|i| (i * 7 % 256) as u8);
    check::<u8, 1, Padded>(|i| (i * 7 % 256) as u8);
    check::<i8, 4, Swizzle32>(|i| (i * 7 % 256) as i8);
    check::<u32, 2, Auto>(|i| i * 7);
    check::<i32, 2, Padded>(|i| i as i32 * -7);
    check::<f64, 1, Auto>(|i| f64::from(i) * 0.1);
    check::<f64, 2, Padded>(|i| f64::from(i) * 0.1);
    check::<u64, 2, Plain>(|i| u64::from(i) << 33);
}

/// A pipeline whose stages are a tile and a vector that scales its columns: x · scale, summed over tiles.
#[test]
fn stages_of_tiles_and_vectors() {
    type Args = (In<f32>, In<bf16>, Out<f32>, u32, u32);
    let kernel =
        Kernel::<Args>::build("scaled(x, scale, y, m, n)", Target::SM_80, |k, (x, scale, y, m, n)| {
            let block = k.block([64]);
            k.grid([m.tiles(32)]);
            let (x, scale) = (k.global(x, row_major(m, n)), k.global(scale, vector(n)));
            let row = k.ctaid_x();
            let stages = k.pipeline::<(St<f32, 2, 2>, Sv<bf16, 2>), 3>();
            let sum = stages.run(
                n.ceil_div(32),
                k.zeros::<Rt<f32, 1, 2>>(),
                |i, stage| stage.fill((x.tile(row, i), scale.tile(i))),
                |sum, (x, scale)| {
                    let x: Rt<f32, 1, 2> = x.tile_of(block).load();
                    let scale: Rv<f32, 2, Aligned> = scale.load_as();
                    sum + x * &scale
                },
            );
            k.global(y, row_major(m, 32)).tile_of(block, row, 0).store(&sum);
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let (m, n) = (50, 150);
    let found = everywhere(|device| {
        let x = device.upload(&coded::<f32>(m, n)).unwrap();
        let scale = device.upload(&coded::<bf16>(1, n)).unwrap();
        let mut y = device.output::<f32>(m as usize * 32).unwrap();
        device.launch(&kernel, (&x, &scale, &mut y, m, n)).unwrap();
        device.download(&y).unwrap()
    });
    let term = |row, col| if col < n { code::<f32>(row, col) * code::<f32>(0, col) } else { 0.0 };
    let sum = |row: u32, col: u32| (0..5).map(|i| term(row, col + 32 * i)).sum::<f32>();
    let want = (0..m * 32).map(|i| sum(i / 32, i % 32));
    assert_eq!(found, want.collect::<Vec<_>>());
}
