//! Kernels on the rows of a matrix of bf16, written with vectors: softmax and RMSNorm next to the driver's copy, interleaved.
//!
//! The matrix, 32,768 rows of 8192 elements, is larger than any cache. Results are compared with f64.

#[cfg(feature = "cuda")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    gpu::table()
}

#[cfg(not(feature = "cuda"))]
fn main() {
    println!("needs the feature `cuda`");
}

#[cfg(feature = "cuda")]
mod gpu {
    use std::f32::consts::LOG2_E;

    use warpwright::{
        gpu::{CallFailed, Gpu, GpuError, time},
        prelude::*,
        run::RunError,
        tiles::{Naive, vector},
    };

    type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

    const ROWS: usize = 32_768;
    const COLS: usize = 8192;
    /// Warps per block, which takes a row, and blocks per multiprocessor.
    const WARPS: u32 = 16;
    const BLOCKS: u32 = 4;
    /// A warp's part of a row.
    type Part<'k> = Rv<'k, f32, 32, Naive>;
    const EPSILON: f32 = 1e-5;
    const WARM_UP: usize = 5;
    const RUNS: usize = 10;
    const ROUNDS: usize = 7;

    type SoftmaxArgs = (In<bf16>, Out<bf16>, u32, u32);

    fn softmax(target: Target) -> Result<Kernel<SoftmaxArgs>, BuildError> {
        Kernel::<SoftmaxArgs>::build("softmax(x, y, m, n)", target, |k, (x, y, m, n)| {
            let block = k.block([32 * WARPS]);
            k.min_blocks(BLOCKS);
            k.grid([m]);
            let matrix = row_major(m, n.multiple_of(8));
            let (x, y) = (k.global(x, matrix).row(k.ctaid_x()), k.global(y, matrix).row(k.ctaid_x()));
            let mut v: Part = x.tile(k.warp()).load_or(f32::NEG_INFINITY);
            v -= v.maximum_over(block);
            v = (v * LOG2_E).exp2();
            v *= k.rcp_approx(v.sum_over(block));
            y.tile(k.warp()).store(&v);
        })
    }

    type NormArgs = (In<bf16>, In<bf16>, Out<bf16>, u32, u32);

    fn rmsnorm(target: Target) -> Result<Kernel<NormArgs>, BuildError> {
        Kernel::<NormArgs>::build("rmsnorm(x, w, y, m, n)", target, |k, (x, w, y, m, n)| {
            let block = k.block([32 * WARPS]);
            k.min_blocks(BLOCKS);
            k.grid([m]);
            let n = n.multiple_of(8);
            let (x, y) = (k.global(x, row_major(m, n)), k.global(y, row_major(m, n)));
            let (x, y, w) = (x.row(k.ctaid_x()), y.row(k.ctaid_x()), k.global(w, vector(n)));
            let mut v: Part = x.tile(k.warp()).load();
            let mean = (&v * &v).sum_over(block) / n.cast::<f32>();
            v *= k.rsqrt(mean + EPSILON);
            let w: Part = w.tile(k.warp()).load();
            y.tile(k.warp()).store(&(v * w));
        })
    }

    pub(super) fn table() -> Fallible<()> {
        let gpu = match Gpu::new(0) {
            Ok(gpu) => gpu,
            Err(why) => {
                println!("no GPU: {why}");
                return Ok(());
            }
        };
        println!("{}", gpu.properties());
        let (stream, target) = (gpu.stream(), Target::SM_80);
        let (softmax, rmsnorm) = (gpu.load(&softmax(target)?)?, gpu.load(&rmsnorm(target)?)?);
        let (x_host, w_host) = (numbers(ROWS * COLS, 1), numbers(COLS, 2));
        let (x, w) = (stream.clone_htod(&bits(&x_host))?, stream.clone_htod(&bits(&w_host))?);
        let mut y = stream.alloc_zeros::<u16>(ROWS * COLS)?;
        let (m, n) = (ROWS as u32, COLS as u32);

        let mut medians = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            let copied = time(&stream, WARM_UP, RUNS, |_| {
                stream
                    .memcpy_dtod(&x, &mut y)
                    .map_err(|why| GpuError::from(CallFailed::at("memcpy_dtod")(why)))
            })?;
            let soft = time(&stream, WARM_UP, RUNS, |_| -> Result<(), RunError> {
                softmax.launch(&stream, (&x, &mut y, m, n))
            })?;
            check(&stream.clone_dtoh(&y)?, &x_host, |row| {
                let exponentials: Vec<f64> = row.iter().map(|&x| f64::from(x).exp()).collect();
                let sum: f64 = exponentials.iter().sum();
                exponentials.iter().map(|e| e / sum).collect()
            })?;
            let norm = time(&stream, WARM_UP, RUNS, |_| -> Result<(), RunError> {
                rmsnorm.launch(&stream, (&x, &w, &mut y, m, n))
            })?;
            check(&stream.clone_dtoh(&y)?, &x_host, |row| {
                let mean = row.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / COLS as f64;
                let scale = 1.0 / (mean + f64::from(EPSILON)).sqrt();
                row.iter().zip(&w_host).map(|(&x, &w)| f64::from(x) * scale * f64::from(w)).collect()
            })?;
            for (medians, timings) in medians.iter_mut().zip([copied, soft, norm]) {
                medians.push(timings.median());
            }
        }
        println!("{:<10}{:>10}{:>10}{:>12}", "rows", "µs", "GB/s", "of memcpy");
        medians.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
        let [memcpy, ..] = medians.each_ref().map(|times| times[ROUNDS / 2]);
        for (name, times) in ["memcpy", "softmax", "rmsnorm"].into_iter().zip(medians) {
            let micros = times[ROUNDS / 2];
            let bytes = (4 * ROWS * COLS) as f64;
            println!("{name:<10}{micros:>10.1}{:>10.0}{:>12.3}", bytes / micros / 1e3, memcpy / micros);
        }
        Ok(())
    }

    /// Compares some rows of the result with f64.
    fn check(y: &[u16], x: &[bf16], expected: impl Fn(&[bf16]) -> Vec<f64>) -> Fallible<()> {
        for row in (0..ROWS).step_by(ROWS / 37) {
            let rows = row * COLS..(row + 1) * COLS;
            for (col, (&found, expected)) in y[rows.clone()].iter().zip(expected(&x[rows])).enumerate() {
                let found = bf16::from_bits(found);
                let error = (f64::from(found) - expected).abs();
                if error.is_nan() || error > expected.abs() / 250.0 {
                    return Err(format!("row {row}, column {col}: found {found}, expected {expected}").into());
                }
            }
        }
        Ok(())
    }

    /// Returns the elements as cudarc stores them.
    fn bits(elements: &[bf16]) -> Vec<u16> {
        elements.iter().map(|element| element.to_bits()).collect()
    }

    /// Returns nonrepeating numbers between −2 and 2.
    fn numbers(count: usize, seed: u32) -> Vec<bf16> {
        let number =
            |i: u32| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 8) as f32 / (1 << 22) as f32 - 2.0;
        (0..count as u32).map(number).map(bf16::from_f32).collect()
    }
}
