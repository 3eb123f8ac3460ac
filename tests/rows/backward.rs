//! The gradients of norms, of softmax and of cross-entropy.

use super::matrix::{Number, Shape, assembled, check, check_with, mixed, row};
use warpwright::{
    kernels::{CrossEntropy, NormBackward, NormFunction, RowTiling, SoftmaxBackward},
    prelude::*,
    run::Device,
    tiles::Convert,
};

const TARGET: Target = Target::SM_90A;
const EPSILON: f32 = 1e-3;

fn dy(row: usize, col: usize) -> f64 {
    mixed(row + 90, col)
}

/// The mean of a row and 1 / √(mean square + ε).
fn statistics(function: NormFunction, x: &[f64]) -> (f64, f64) {
    let n = x.len() as f64;
    let mean = if function == NormFunction::Layer { x.iter().sum::<f64>() / n } else { 0.0 };
    let squares: f64 = x.iter().map(|x| (x - mean).powi(2)).sum();
    (mean, 1.0 / (squares / n + f64::from(EPSILON)).sqrt())
}

fn normalized(function: NormFunction, x: &[f64]) -> Vec<f64> {
    let (mean, scale) = statistics(function, x);
    x.iter().map(|x| (x - mean) * scale).collect()
}

fn norm<X: Number + Convert<f32>>(function: NormFunction, sizes: [usize; 5], parts: usize)
where
    f32: Convert<X>,
{
    let lengths = [sizes[1], sizes[2], sizes[3], sizes[4]].map(|size| size as u32);
    norm_with::<X>(NormBackward::for_rows(function, TARGET, X::SIZE, &lengths), sizes, parts);
}

fn norm_with<X: Number + Convert<f32>>(norm: NormBackward, sizes: [usize; 5], parts: usize)
where
    f32: Convert<X>,
{
    norm_of::<X>(norm, sizes, parts, &mixed);
}

fn norm_of<X: Number + Convert<f32>>(
    norm: NormBackward,
    [m, n, ldx, lddy, lddx]: [usize; 5],
    parts: usize,
    element: &dyn Fn(usize, usize) -> f64,
) where
    f32: Convert<X>,
{
    let (function, sizes) = (norm.function, [n, ldx, lddy, lddx].map(|size| size as u32));
    let kernel = assembled(norm.kernel::<X, f32>(TARGET));
    let what = format!("{}: {m} rows, {sizes:?}, {parts} parts", kernel.name());
    let shape = Shape { m, n, pitch: lddx };
    let (x, dys) = (Shape { pitch: ldx, ..shape }, Shape { pitch: lddy, ..shape });
    let (x, dys) = (x.filled::<X>(element), dys.filled::<X>(&dy));
    let w: Vec<f32> = (0..n).map(|col| mixed(7, col) as f32).collect();
    let sums = Shape { m: parts, n, pitch: n };
    let [_, ldx, lddy, lddx] = sizes;
    let numbers = (parts as u32, m as u32, n as u32);
    check::<X>(
        &what,
        shape,
        &|device, dx| {
            let (x, dy, w) = (
                device.upload(&x).expect("room"),
                device.upload(&dys).expect("room"),
                device.upload(&w).expect("room"),
            );
            let mut dw = device.output::<f32>(sums.length()).expect("room");
            let mut db = device.output::<f32>(sums.length()).expect("room");
            let (parts, m, n) = numbers;
            let arguments = (&x, ldx, &w, &dy, lddy, dx, lddx, &mut dw, &mut db, parts, m, n, EPSILON);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{what}: {error}"));
        },
        &|i| {
            let (x, dy) = (row::<X>(n, i, element), row::<X>(n, i, &dy));
            let g: Vec<f64> = dy.iter().zip(&w).map(|(dy, &w)| dy * f64::from(w)).collect();
            let (hat, (_, scale)) = (normalized(function, &x), statistics(function, &x));
            let along = g.iter().zip(&hat).map(|(g, x)| g * x).sum::<f64>() / n as f64;
            let mean = g.iter().sum::<f64>() / n as f64;
            let mean = if function == NormFunction::Layer { mean } else { 0.0 };
            g.iter().zip(&hat).map(|(g, x)| (g - mean - along * x) * scale).collect()
        },
        1e-5,
    );
    check_with::<f32, f32>(
        &what,
        (sums, sums),
        &|device, dw, db| {
            let (x, dy, w) = (
                device.upload(&x).expect("room"),
                device.upload(&dys).expect("room"),
                device.upload(&w).expect("room"),
            );
            let mut dx = device.output::<X>(shape.length()).expect("room");
            let (parts, m, n) = numbers;
            let arguments = (&x, ldx, &w, &dy, lddy, &mut dx, lddx, dw, db, parts, m, n, EPSILON);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{what}: {error}"));
        },
        &|part| {
            let mut sums = (vec![0.0; n], vec![0.0; n]);
            for i in (part..m).step_by(parts) {
                let (hat, dy) = (normalized(function, &row::<X>(n, i, element)), row::<X>(n, i, &dy));
                for col in 0..n {
                    sums.0[col] += hat[col] * dy[col];
                    sums.1[col] += dy[col];
                }
            }
            sums
        },
        4e-5,
    );
}

#[test]
fn norms() {
    for function in [NormFunction::Rms, NormFunction::Layer] {
        norm::<f32>(function, [40, 64, 64, 68, 72], 16);
        norm::<bf16>(function, [37, 101, 101, 103, 102], 16);
        norm::<bf16>(function, [5, 2048, 2048, 2056, 2064], 2);
        norm::<f32>(function, [3, 3001, 3001, 3002, 3003], 2);
        norm::<f16>(function, [3, 16384, 16384, 16384, 16384], 2);
        // Clusters.
        norm::<bf16>(function, [3, 16392, 16392, 16400, 16392], 2);
        norm::<f32>(function, [3, 10244, 10244, 10244, 10248], 1);
    }
}

/// Rows that begin with groups of fewer than 16 bytes.
#[test]
fn norms_of_even_rows() {
    for function in [NormFunction::Rms, NormFunction::Layer] {
        norm::<bf16>(function, [9, 1002, 1002, 1004, 1006], 4);
        norm::<bf16>(function, [5, 5002, 5002, 5002, 5002], 2);
        norm::<f16>(function, [3, 8190, 8190, 8190, 8190], 2);
        norm::<f32>(function, [5, 2002, 2002, 2004, 2002], 2);
    }
}

/// Blocks of a cluster that load their parts of a row again for each use.
#[test]
fn norms_of_rows_that_clusters_load_again() {
    for function in [NormFunction::Rms, NormFunction::Layer] {
        let tiling = NormBackward::for_rows(function, TARGET, 2, &[4096]).tiling;
        let tiling = RowTiling { threads: 64, cluster: 2, stripes: 4, resident: 8, ahead: 2, ..tiling };
        norm_with::<f16>(NormBackward { tiling, function }, [5, 4000, 4000, 4000, 4000], 2);
    }
}

/// Long rows of 16 bits, and of LayerNorm of 32 bits, that begin at any element.
#[test]
fn long_unaligned_rows_are_segments() {
    for (function, bytes, n) in [
        (NormFunction::Rms, 2, 12_001),
        (NormFunction::Layer, 2, 33_001),
        (NormFunction::Rms, 2, 20_002),
        (NormFunction::Layer, 4, 16_385),
    ] {
        let RowTiling { cluster, unaligned, ahead, .. } =
            NormBackward::for_rows(function, TARGET, bytes, &[n]).tiling;
        assert!(cluster > 1 && unaligned && ahead > 0, "{function:?}, {bytes} bytes, {n}");
    }
}

/// Unaligned rows in segments, which the blocks of a cluster process. The last segments are whole, short, or without elements. The threads of
/// the last tiling have so few registers that they load rows again for each use.
#[test]
fn norms_of_segments() {
    for function in [NormFunction::Rms, NormFunction::Layer] {
        let tiling = NormBackward::for_rows(function, TARGET, 2, &[4001]).tiling;
        for (cluster, stripes, resident) in [(2, 3, 1), (4, 2, 8), (8, 1, 1), (4, 4, 8)] {
            let tiling =
                RowTiling { threads: 64, rows: 1, cluster, stripes, resident, ahead: 2, turns: 1, ..tiling };
            let (most, of_block) =
                (tiling.capacity() as usize, tiling.capacity() as usize / cluster as usize);
            for n in [most - 1, most - of_block + 3, of_block - 3] {
                norm_with::<bf16>(NormBackward { tiling, function }, [19, n, n, n, n], 8);
                norm_with::<f16>(NormBackward { tiling, function }, [7, n, n + 1, n + 2, n + 5], 2);
            }
        }
    }
}

/// Rows of LayerNorm whose averages are computed in one pass: far from 0, all equal, and with elements far from all others.
#[test]
fn norms_of_distant_numbers() {
    let element = |row: usize, col: usize| match (row, col) {
        (0, _) => 1000.0 + 4.0 * mixed(row, col).round(),
        (1, _) => 3.0,
        // The middle and the last element are not.
        (2, 0) => 10_000.0,
        (3, 16_391) => -10_000.0,
        _ => mixed(row, col),
    };
    let backward = NormBackward::for_rows(NormFunction::Layer, TARGET, 2, &[16_392]);
    assert!(backward.tiling.cluster > 1);
    for row in 0..4 {
        let element = |_: usize, col: usize| element(row, col);
        norm_of::<bf16>(backward, [1, 16_392, 16_392, 16_392, 16_392], 1, &element);
    }
}

/// Teams whose rows begin equally far from an aligned element, and teams whose rows do not.
#[test]
fn norms_of_unaligned_rows() {
    for (function, parts) in
        [NormFunction::Rms, NormFunction::Layer].into_iter().flat_map(|f| [(f, 8), (f, 3)])
    {
        norm::<bf16>(function, [19, 1001, 1001, 1001, 1001], parts);
        norm::<bf16>(function, [17, 4097, 4097, 4097, 4097], parts);
        norm::<f32>(function, [9, 4099, 4099, 4101, 4099], parts);
        // Rows that are loaded again for each use, in parts.
        let tiling = NormBackward::for_rows(function, TARGET, 2, &[8191]).tiling;
        let tiling = RowTiling { threads: 544, stripes: 2, ..tiling };
        norm_with::<f16>(NormBackward { tiling, function }, [11, 8191, 8191, 8191, 8193], parts);
    }
}

#[test]
fn parts_keep_the_alignment_of_rows() {
    let odd = NormBackward::for_rows(NormFunction::Rms, TARGET, 2, &[8191]);
    assert_eq!(odd.tiling.resident, 1);
    assert_eq!((odd.parts(132), odd.parts(132) % 8), (128, 0));
    let aligned = NormBackward::for_rows(NormFunction::Rms, TARGET, 2, &[8192]);
    assert_eq!(aligned.parts(132), 132);
}

#[test]
fn softmax() {
    for log in [false, true] {
        for size in [[9, 40, 40], [5, 777, 779], [2, 5000, 5000]] {
            softmax_of::<f32>(log, size, false);
            softmax_of::<f32>(log, size, true);
        }
        // In clusters, and through shared memory.
        softmax_of::<f32>(log, [2, 16_400, 16_400], false);
        softmax_of::<bf16>(log, [2, 16_400, 16_400], false);
        softmax_of::<bf16>(log, [3, 9_232, 9_240], false);
    }
}

#[test]
fn softmax_of_segments() {
    for log in [false, true] {
        let tiling = RowTiling {
            threads: 64,
            rows: 1,
            cluster: 4,
            stripes: 2,
            resident: 1,
            ahead: 2,
            turns: 4,
            ..RowTiling::for_rows(TARGET, 2, &[1])
        };
        for n in [4063, 3051, 1001] {
            softmax_with::<bf16>(SoftmaxBackward { log, tiling }, [50, n, n]);
            softmax_with::<bf16>(SoftmaxBackward { log, tiling }, [3, n, n + 2]);
        }
    }
}

/// Checks the gradient for `[m, n, pitch]`, with the chosen tiling or with one that reads rows in parts.
fn softmax_of<T: Number + Convert<f32>>(log: bool, [m, n, ld]: [usize; 3], streamed: bool)
where
    f32: Convert<T>,
{
    let chosen =
        SoftmaxBackward { log, ..SoftmaxBackward::for_rows(TARGET, T::SIZE, &[n as u32, ld as u32]) };
    let in_parts = RowTiling::for_rows(TARGET, T::SIZE, &[n as u32, ld as u32]);
    let tiling = match streamed {
        true => RowTiling { streamed, stripes: 1, ..in_parts },
        false => chosen.tiling,
    };
    softmax_with::<T>(SoftmaxBackward { tiling, ..chosen }, [m, n, ld]);
}

fn softmax_with<T: Number + Convert<f32>>(softmax: SoftmaxBackward, [m, n, ld]: [usize; 3])
where
    f32: Convert<T>,
{
    let (kernel, log) = (assembled(softmax.kernel::<T, T>(TARGET)), softmax.log);
    let shape = Shape { m, n, pitch: ld };
    let y = |row: usize, col: usize| {
        let y = (mixed(row, col) + 3.5) / (3.5 * n as f64);
        if log { y.ln() } else { y }
    };
    let (ys, dys) = (shape.filled::<T>(&y), shape.filled::<T>(&dy));
    check::<T>(
        &format!("{}: {shape:?}", kernel.name()),
        shape,
        &|device, dx| {
            let (y, dy) = (device.upload(&ys).expect("room"), device.upload(&dys).expect("room"));
            let [m, n, ld] = shape.numbers();
            let launched = device.launch(&kernel, (&y, ld, &dy, ld, dx, ld, m, n, 0.5f32));
            launched.unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            let (y, dy) = (row::<T>(n, i, &y), row::<T>(n, i, &dy));
            let sum: f64 = y.iter().zip(&dy).map(|(y, dy)| if log { *dy } else { y * dy }).sum();
            let one = |(y, dy): (&f64, &f64)| match log {
                true => 0.5 * (dy - y.exp() * sum),
                false => 0.5 * y * (dy - sum),
            };
            y.iter().zip(&dy).map(one).collect()
        },
        if log { 2e-6 } else { 2e-8 },
    );
}

fn logits(row: usize, col: usize) -> f64 {
    match (row, col) {
        (1, 3) => f64::NEG_INFINITY,
        (3, 5) => f64::NAN,
        _ => 2.0 * mixed(row, col),
    }
}

/// Targets: ordinary ones, the ignored one, and one that is not a column.
fn target(row: usize, n: usize) -> i32 {
    match row {
        2 => -100,
        4 => n as i32,
        5 => -1,
        _ => (row * 37 % n) as i32,
    }
}

#[test]
fn cross_entropy() {
    for shape in
        [[9, 50, 50], [7, 1001, 1003], [7, 1025, 1025], [7, 2048, 2048], [6, 4097, 4099], [6, 40_000, 40_000]]
    {
        cross_entropy_of::<bf16>(shape);
    }
    for shape in [[7, 1000, 1004], [7, 1025, 1025], [6, 2050, 2050], [6, 4096, 4096], [6, 9001, 9001]] {
        cross_entropy_of::<f32>(shape);
    }
}

fn cross_entropy_of<X: Number + Convert<f32>>([m, n, ld]: [usize; 3])
where
    f32: Convert<X>,
{
    let kernels = CrossEntropy::for_rows(TARGET, X::SIZE, &[n as u32, ld as u32]);
    let forward = assembled(kernels.kernel::<X>(TARGET));
    let backward = assembled(kernels.backward_kernel::<X>(TARGET));
    let shape = Shape { m, n, pitch: ld };
    let x = shape.filled::<X>(&logits);
    let targets: Vec<i32> = (0..m).map(|row| target(row, n)).collect();
    let log = |i: usize| row::<X>(n, i, &logits).iter().map(|x| x.exp()).sum::<f64>().ln();
    let loss = |i: usize| match targets[i] {
        -100 => 0.0,
        target if !(0..n as i32).contains(&target) => f64::NAN,
        target => log(i) - row::<X>(n, i, &logits)[target as usize],
    };
    let of_rows = Shape { m: 1, n: m, pitch: m };
    let [rows, cols, ld] = shape.numbers();
    check_with::<f32, f32>(
        &format!("{}: {shape:?}", forward.name()),
        (of_rows, of_rows),
        &|device, losses, logs| {
            let (x, targets) = (device.upload(&x).expect("room"), device.upload(&targets).expect("room"));
            let arguments = (&x, ld, &targets, losses, logs, rows, cols, -100);
            device.launch(&forward, arguments).unwrap_or_else(|error| panic!("{error}"));
        },
        &|_| ((0..m).map(loss).collect(), (0..m).map(log).collect()),
        4e-6,
    );
    let logs: Vec<f32> = (0..m).map(|i| log(i) as f32).collect();
    let dlosses: Vec<f32> = (0..m).map(|i| 1.0 + i as f32).collect();
    check::<X>(
        &format!("{}: {shape:?}", backward.name()),
        shape,
        &|device, dx| {
            let x = device.upload(&x).expect("room");
            let targets = device.upload(&targets).expect("room");
            let (logs, dlosses) =
                (device.upload(&logs).expect("room"), device.upload(&dlosses).expect("room"));
            let arguments = (&x, ld, &targets, &logs, &dlosses, dx, ld, rows, cols, -100);
            device.launch(&backward, arguments).unwrap_or_else(|error| panic!("{error}"));
        },
        &|i| {
            let (x, log) = (row::<X>(n, i, &logits), log(i));
            let derivative = |(col, x): (usize, &f64)| {
                let hit = f64::from(u8::from(targets[i] == col as i32));
                if targets[i] == -100 { 0.0 } else { ((x - log).exp() - hit) * (1.0 + i as f64) }
            };
            x.iter().enumerate().map(derivative).collect()
        },
        1e-7,
    );
}
