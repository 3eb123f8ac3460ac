//! Rows selected by indices, and sums into them.

use super::matrix::{Number, Shape, assembled, check, mixed, row};
use warpwright::{kernels::Embedding, prelude::*, run::Device, tiles::Convert};

const TARGET: Target = Target::SM_90A;
/// The rows of the table.
const ROWS: usize = 11;

/// Indices of rows of the table, some of which are repeated, and indices that do not refer to a row.
fn index(i: usize) -> i32 {
    match i % 7 {
        3 => -1,
        5 => ROWS as i32,
        _ => (i * i % ROWS) as i32,
    }
}

fn selected(i: usize) -> Option<usize> {
    usize::try_from(index(i)).ok().filter(|&row| row < ROWS)
}

fn both<X: Number + Convert<f32>>([m, n, ld, out]: [usize; 4])
where
    f32: Convert<X>,
{
    let [cols, ldx, ldy] = [n, ld, out].map(|size| size as u32);
    let kernels = Embedding::for_rows(TARGET, X::SIZE, &[cols, ldx, ldy]);
    let indices: Vec<i32> = (0..m).map(index).collect();
    let shape = Shape { m, n, pitch: out };

    let kernel = assembled(kernels.kernel::<X>(TARGET));
    let table = Shape { m: ROWS, n, pitch: ld }.filled::<X>(&mixed);
    check::<X>(
        &format!("{}: {shape:?}", kernel.name()),
        shape,
        &|device, y| {
            let (table, indices) =
                (device.upload(&table).expect("room"), device.upload(&indices).expect("room"));
            let arguments = (&table, ldx, &indices, y, ldy, ROWS as u32, m as u32, cols);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| selected(i).map_or(vec![0.0; n], |at| row::<X>(n, at, &mixed)),
        0.0,
    );

    // Small integers, whose sums do not depend on the order.
    let small = |row: usize, col: usize| mixed(row, col).round();
    let kernels = Embedding::for_added_rows(TARGET, X::SIZE, &[cols, ldx, ldy]);
    let kernel = assembled(kernels.add_kernel::<X>(TARGET));
    let xs = Shape { m, n, pitch: ld }.filled::<X>(&small);
    let table = Shape { m: ROWS, n, pitch: out };
    check::<f32>(
        &format!("{}: {shape:?}", kernel.name()),
        table,
        &|device, sums| {
            let (x, indices) = (device.upload(&xs).expect("room"), device.upload(&indices).expect("room"));
            *sums = device.upload(&table.filled::<f32>(&|_, _| 1.0)).expect("room");
            let arguments = (&x, ldx, &indices, sums, ldy, ROWS as u32, m as u32, cols);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{error}"));
        },
        &|at| {
            let rows = (0..m).filter(|&i| selected(i) == Some(at));
            rows.fold(vec![1.0; n], |sums, i| {
                sums.iter().zip(row::<X>(n, i, &small)).map(|(sum, x)| sum + x).collect()
            })
        },
        0.0,
    );
}

#[test]
fn gather_and_scatter_add() {
    both::<bf16>([70, 64, 72, 64]);
    both::<f16>([40, 101, 103, 102]);
    both::<f32>([9, 3001, 3001, 3003]);
    both::<f32>([20, 2048, 2048, 2052]);
}
