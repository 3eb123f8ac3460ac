//! `warpwright bench simt`.

use std::{sync::Arc, time::Duration};

use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::{
    gpu::{CublasLtProduct, CublasLtTypes, Gpu, Order},
    kernels::{GemmArgs, MatmulSimt, MatrixOrder, SimtTile},
    ptx::Target,
    run::Loaded,
};

use crate::orders::Layout;

use super::{
    Failed, Fallible,
    gemm::Size,
    normals::{filled, normals},
    samples::Sampling,
};

/// Times f32 matrix products without tensor cores, alongside cuBLASLt
///
/// D = A·B for random normal numbers, where D is row-major. The kernel and the cuBLASLt algorithms with f32 sums are launched in turn, in a
/// different order each round; the table shows the median, the rate relative to the fastest algorithm, and the 10th and 90th percentiles.
/// Some elements of the result are compared with results in f64, and all elements with the results of other tiles, bit for bit.
///
/// Exit codes: 0 if all results agree, 2 otherwise or if no GPU or no cuBLASLt is available.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Sizes M,N,K, separated by semicolons
    #[arg(long, value_delimiter = ';', default_value = "2048,2048,2048;4096,4096,4096;8192,8192,8192")]
    sizes: Vec<Size>,
    /// Orders of A and B, two letters each, separated by commas: n for row-major, t for column-major
    #[arg(long, value_name = "LAYOUTS", value_delimiter = ',', default_value = "nn")]
    layout: Vec<Layout>,
    /// Also time the tiles that are not chosen
    #[arg(long)]
    sweep: bool,
    /// Number of samples per contender
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Milliseconds of warm-up
    #[arg(long, default_value_t = 300)]
    warm_up_ms: u64,
}

impl Args {
    pub(in crate::bench) fn tables(&self) -> Fallible<()> {
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        self.sizes
            .iter()
            .try_for_each(|&size| self.layout.iter().try_for_each(|&layout| self.table(&gpu, size, layout)))
    }

    fn table(&self, gpu: &Gpu, size @ Size(sizes): Size, layout: Layout) -> Fallible<()> {
        let mut problem = Problem::new(gpu, sizes, layout, self.sweep)?;
        problem.verify()?;
        let tiles = problem.kernels.iter().map(|(tile, _)| format!("warpwright {tile}"));
        let algorithms = (0..problem.rival.algorithms()).map(|i| format!("cuBLASLt, algorithm {i}"));
        let names: Vec<String> = tiles.chain(algorithms).collect();
        let sampling = Sampling { rounds: self.rounds, warm_up: Duration::from_millis(self.warm_up_ms) };
        let stream = Arc::clone(&problem.stream);
        let samples = sampling.take(&stream, names.len(), |contender, _| problem.launch(contender))?;
        let best = samples[problem.kernels.len()..]
            .iter()
            .map(|samples| samples.median())
            .fold(f64::INFINITY, f64::min);
        println!("{size}, layout {layout}");
        println!("    {:<28} {:>9} {:>9} {:>9}  10 % … 90 %", "", "µs", "TFLOP/s", "of best");
        for (name, samples) in names.iter().zip(&samples) {
            let (median, [low, high]) = (samples.median(), [0.1, 0.9].map(|part| samples.quantile(part)));
            let rate = 2.0 * sizes.iter().map(|&size| size as f64).product::<f64>() / median / 1e6;
            println!("    {name:<28} {median:>9.1} {rate:>9.2} {:>9.3}  {low:.1} … {high:.1}", best / median);
        }
        Ok(())
    }
}

/// A product that the kernels and cuBLASLt compute from the same factors.
struct Problem {
    stream: Arc<CudaStream>,
    sizes: [usize; 3],
    /// The orders of A and B.
    orders: [MatrixOrder; 2],
    /// The chosen kernel and, in a sweep, the other kernels.
    kernels: Vec<(SimtTile, Loaded<GemmArgs<f32, f32>>)>,
    rival: CublasLtProduct,
    a: CudaSlice<f32>,
    b: CudaSlice<f32>,
    d: CudaSlice<f32>,
}

impl Problem {
    fn new(
        gpu: &Gpu,
        sizes @ [m, n, k]: [usize; 3],
        Layout(orders @ [of_a, of_b]): Layout,
        sweep: bool,
    ) -> Fallible<Self> {
        let stream = gpu.stream();
        let source = stream.clone_htod(&normals(1 << 22).collect::<Vec<_>>())?;
        let target = match gpu.properties().capability {
            (8, 6 | 9) | (12, _) => Target::SM_86,
            _ => Target::SM_80,
        };
        let multiprocessors = gpu.properties().multiprocessors;
        let chosen =
            MatmulSimt::for_problem(target, of_a, of_b, sizes.map(|size| size as u32), multiprocessors);
        let others = SimtTile::all(target, chosen.divisor).filter(|&tile| sweep && tile != chosen.tile);
        let load = |tile| Ok((tile, gpu.load(&MatmulSimt { tile, ..chosen }.kernel(target)?)?));
        let of_rival = orders.map(|order| match order {
            MatrixOrder::Row => Order::Normal,
            MatrixOrder::Col => Order::Transposed,
        });
        Ok(Self {
            sizes,
            orders,
            kernels: [chosen.tile].into_iter().chain(others).map(load).collect::<Fallible<_>>()?,
            rival: CublasLtProduct::new(&stream, CublasLtTypes::F32, sizes, of_rival)?,
            a: filled(&stream, &source, m * k, 1)?,
            b: filled(&stream, &source, k * n, 2)?,
            d: stream.alloc_zeros(m * n)?,
            stream,
        })
    }

    /// Queues a kernel or a cuBLASLt algorithm.
    fn launch(&mut self, contender: usize) -> Result<(), Failed> {
        let Self { stream, sizes, orders: [of_a, of_b], kernels, rival, a, b, d } = self;
        match kernels.get(contender) {
            Some((_, kernel)) => {
                let [m, n, k] = sizes.map(|size| size as u32);
                let (lda, ldb) = (of_a.leading_dimension(m, k), of_b.leading_dimension(k, n));
                kernel.launch(stream, (&*a, lda, &*b, ldb, d, n, m, n, k)).map_err(Failed::of)
            }
            None => rival.run(contender - kernels.len(), a, b, d).map_err(Failed::of),
        }
    }

    /// Compares some elements of the chosen kernel's result with f64, and all elements with the results of the other kernels.
    fn verify(&mut self) -> Fallible<()> {
        let d = self.result(0)?;
        self.compare(&d)?;
        for other in 1..self.kernels.len() {
            let found = self.result(other)?;
            if let Some(at) = (0..d.len()).find(|&at| d[at].to_bits() != found[at].to_bits()) {
                let (tile, n) = (self.kernels[other].0, self.sizes[1]);
                let (row, col, expected, found) = (at / n, at % n, d[at], found[at]);
                return Err(
                    format!("{tile}: row {row}, column {col}: expected {expected}, found {found}").into()
                );
            }
        }
        Ok(())
    }

    /// Returns the result of a kernel.
    fn result(&mut self, kernel: usize) -> Fallible<Vec<f32>> {
        self.stream.memset_zeros(&mut self.d)?;
        self.launch(kernel)?;
        Ok(self.stream.clone_dtoh(&self.d)?)
    }

    /// Compares some elements of a result with f64.
    fn compare(&self, d: &[f32]) -> Fallible<()> {
        let [m, n, k] = self.sizes;
        let [a, b] = [self.stream.clone_dtoh(&self.a)?, self.stream.clone_dtoh(&self.b)?];
        let at = |order, [rows, cols]: [usize; 2], row, col| match order {
            MatrixOrder::Row => row * cols + col,
            MatrixOrder::Col => col * rows + row,
        };
        let [of_a, of_b] = self.orders;
        for row in [0, m / 2, m - 1] {
            for col in (0..n).step_by(97).chain([n - 1]) {
                let term = |i: usize| {
                    f64::from(a[at(of_a, [m, k], row, i)]) * f64::from(b[at(of_b, [k, n], i, col)])
                };
                let (sum, size) =
                    (0..k).map(term).fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
                let found = f64::from(d[row * n + col]);
                if (found - sum).abs() > size * f64::from(f32::EPSILON) * (k as f64).sqrt() || found.is_nan()
                {
                    return Err(format!("row {row}, column {col}: expected {sum}, found {found}").into());
                }
            }
        }
        Ok(())
    }
}
