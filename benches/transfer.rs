//! Bandwidth of a GPU on a matrix of f32: the driver's copy, the copy kernel and the transpose, interleaved.
//!
//! Each size has enough pairs of matrices to exceed the cache; each run uses the next pair.

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
    use cudarc::driver::{CudaSlice, CudaStream};
    use warpwright::{
        gpu::{Gpu, time},
        kernels::{copy_elements, transpose},
        prelude::*,
        run::RunError,
    };

    type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

    /// Rows and columns.
    const SIZES: [(u32, u32); 3] = [(2048, 2048), (8192, 8192), (8191, 8193)];
    /// Bytes moved before a matrix is used again; larger than any cache.
    const BEYOND_CACHE: usize = 1 << 29;
    const WARM_UP: usize = 20;
    const RUNS: usize = 100;

    /// A matrix and its destination.
    struct Pair {
        from: CudaSlice<f32>,
        to: CudaSlice<f32>,
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
        println!("{:<13}{:<12}{:>10}{:>10}{:>12}{:>12}", "size", "by", "µs", "GB/s", "of memcpy", "of copy");
        for (rows, cols) in SIZES {
            size(&gpu, rows, cols)?;
        }
        Ok(())
    }

    fn size(gpu: &Gpu, rows: u32, cols: u32) -> Fallible<()> {
        let stream = gpu.stream();
        let (count, target) = (rows as usize * cols as usize, Target::SM_80);
        let bytes = 2 * 4 * count;
        let x = noise(count);
        let mut pairs: Vec<Pair> = (0..BEYOND_CACHE.div_ceil(bytes).max(2))
            .map(|_| Pair::new(&stream, &x))
            .collect::<Fallible<_>>()?;
        let copy = gpu.load(&copy_elements::<f32>(target)?)?;
        let divisor = if rows.is_multiple_of(4) && cols.is_multiple_of(4) { 4 } else { 1 };
        let transposed = gpu.load(&transpose::<f32>(target, divisor)?)?;
        let turns = pairs.len();

        let memcpy = time(&stream, WARM_UP, RUNS, |i| {
            let Pair { from, to } = &mut pairs[i % turns];
            stream.memcpy_dtod(from, to).map_err(|why| {
                warpwright::gpu::GpuError::from(warpwright::gpu::CallFailed::at("memcpy_dtod")(why))
            })
        })?;
        pairs[0].assert(&stream, "memcpy", |i| x[i])?;
        let copied = time(&stream, WARM_UP, RUNS, |i| -> Result<(), RunError> {
            let Pair { from, to } = &mut pairs[i % turns];
            copy.launch(&stream, (&*from, to, count as u32))
        })?;
        pairs[0].assert(&stream, "copy", |i| x[i])?;
        let turned = time(&stream, WARM_UP, RUNS, |i| -> Result<(), RunError> {
            let Pair { from, to } = &mut pairs[i % turns];
            transposed.launch(&stream, (&*from, to, rows, cols))
        })?;
        let (rows_, cols_) = (rows as usize, cols as usize);
        pairs[0].assert(&stream, "transpose", |i| x[i % rows_ * cols_ + i / rows_])?;

        for (name, timings) in [("memcpy", &memcpy), ("copy", &copied), ("transpose", &turned)] {
            let micros = timings.median();
            println!(
                "{:<13}{name:<12}{micros:>10.1}{:>10.0}{:>12.3}{:>12.3}",
                format!("{rows}×{cols}"),
                bytes as f64 / micros / 1e3,
                memcpy.median() / micros,
                copied.median() / micros
            );
        }
        Ok(())
    }

    impl Pair {
        fn new(stream: &std::sync::Arc<CudaStream>, x: &[f32]) -> Fallible<Self> {
            Ok(Self { from: stream.clone_htod(x)?, to: stream.alloc_zeros(x.len())? })
        }

        /// Checks every element that was written, and clears the destination.
        fn assert(
            &mut self,
            stream: &std::sync::Arc<CudaStream>,
            by: &str,
            wanted: impl Fn(usize) -> f32,
        ) -> Fallible<()> {
            let found = stream.clone_dtoh(&self.to)?;
            match (0..found.len()).find(|&i| found[i].to_bits() != wanted(i).to_bits()) {
                Some(i) => Err(format!("{by}: element {i} is {}, wanted {}", found[i], wanted(i)).into()),
                None => Ok(stream.memset_zeros(&mut self.to)?),
            }
        }
    }

    /// Returns nonrepeating numbers in [0, 1).
    fn noise(count: usize) -> Vec<f32> {
        (0..count as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / (1 << 24) as f32).collect()
    }
}
