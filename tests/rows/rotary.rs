//! Rotary position embeddings.

use super::matrix::{Number, Shape, assembled, check, mixed, row};
use warpwright::{
    kernels::{Rotary, RotaryPairs},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;
/// The rows of the tables.
const ROWS: usize = 40;

fn angle(position: usize, pair: usize) -> f64 {
    position as f64 / 100f64.powf(pair as f64 / 16.0)
}

fn cos(position: usize, pair: usize) -> f64 {
    angle(position, pair).cos()
}

fn sin(position: usize, pair: usize) -> f64 {
    angle(position, pair).sin()
}

/// Positions in another order than the rows, with some that the tables do not have.
fn position(token: usize) -> i32 {
    match token {
        3 => -1,
        4 => ROWS as i32,
        _ => (token * 17 % ROWS) as i32,
    }
}

/// Rotates `half` pairs of rows of `n` elements.
fn rotate<X: Number + Convert<f32>>(
    (pairs, inverse): (RotaryPairs, bool),
    [m, heads, half, n, ld, out]: [usize; 6],
) where
    f32: Convert<X>,
{
    let sizes = [half, n, ld, out].map(|size| size as u32);
    let kernels = Rotary { inverse, ..Rotary::for_rows(pairs, X::SIZE, &sizes) };
    let kernel = assembled(kernels.kernel::<X>(TARGET));
    let shape = Shape { m, n, pitch: out };
    let x = Shape { pitch: ld, ..shape }.filled::<X>(&mixed);
    let table = Shape { m: ROWS, n: half, pitch: half };
    let (coss, sins) = (table.filled::<f32>(&cos), table.filled::<f32>(&sin));
    let positions: Vec<i32> = (0..m.div_ceil(heads)).map(position).collect();
    check::<X>(
        &format!("{}: {shape:?}, {half} pairs", kernel.name()),
        shape,
        &|device, y| {
            let x = device.upload(&x).expect("room");
            let (cos, sin) = (device.upload(&coss).expect("room"), device.upload(&sins).expect("room"));
            let uploaded = device.upload(&positions).expect("room");
            let [half, n, ld, out] = sizes;
            let tables = (half, ROWS as u32);
            let of_rows = (heads as u32, half);
            let arguments = (
                &x,
                ld,
                &cos,
                &sin,
                tables.0,
                tables.1,
                &uploaded,
                positions.len() as u32,
                of_rows.0,
                of_rows.1,
                y,
                out,
                m as u32,
                n,
            );
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            let x = row::<X>(n, i, &mixed);
            let at = usize::try_from(positions[i / heads]).ok().filter(|&at| at < ROWS);
            let mut y = x.clone();
            for pair in 0..half {
                let (a, b) = match pairs {
                    RotaryPairs::Halves => (pair, pair + half),
                    RotaryPairs::Adjacent => (2 * pair, 2 * pair + 1),
                };
                let (cos, sin) = at.map_or((0.0, 0.0), |at| (cos(at, pair), sin(at, pair)));
                let sin = if inverse { -sin } else { sin };
                (y[a], y[b]) = (x[a] * cos - x[b] * sin, x[b] * cos + x[a] * sin);
            }
            y
        },
        1e-5,
    );
}

#[test]
fn pairs() {
    for pairs in [RotaryPairs::Halves, RotaryPairs::Adjacent] {
        rotate::<bf16>((pairs, false), [150, 4, 64, 128, 128, 136]);
        rotate::<f16>((pairs, true), [33, 3, 16, 80, 88, 80]);
        rotate::<f32>((pairs, false), [17, 2, 5, 31, 33, 32]);
        rotate::<bf16>((pairs, true), [9, 1, 300, 601, 601, 603]);
        rotate::<f32>((pairs, false), [20, 5, 4, 200, 200, 200]);
    }
}
