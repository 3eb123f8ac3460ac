//! `warpwright bench gemm`.

mod ceilings;
mod contender;
mod epilogue;
mod fused;
mod kernels;
mod overhead;
mod precision;
mod problem;
mod report;
mod rivals;
mod shapes;
mod split_k;

use std::time::Duration;

use cudarc::driver::CudaSlice;
use warpwright::{
    gpu::{DeviceProperties, Gpu},
    kernels::{Gemm, GpuKind, SplitKGemm},
    ptx::Target,
};

use crate::orders::Layout;
use contender::{Boxed, Kind, Refusal};
use epilogue::Epilogue;
use overhead::Overhead;
use precision::{Dtype, Precision};
use problem::Problem;
use report::Report;
use shapes::Shapes;
pub(super) use shapes::Size;

use super::{Fallible, normals::normals, provenance::Provenance, samples::Sampling};

/// Times products of matrices of random normal numbers, alongside cuBLASLt
///
/// D = A·B, where A (m×k) and B (k×n) are row-major or column-major, and D (m×n) is row-major. All contenders are launched in turn, in a
/// different order each round, with buffers that exceed the level-2 cache: the kernel chosen for the size, algorithms of cuBLASLt, and, as
/// the ceiling, a loop of tensor-core instructions that does not access global memory.
///
/// The table shows the median time, the rate, and the 10th and 90th percentiles. It also shows the times of cuBLASLt's fastest algorithm
/// ("best"), of its default algorithm and of the ceiling, each divided by the median. Results are compared with each other, and some
/// elements with sums in f64.
///
/// With an epilogue, D = f(A·B), and the contenders are the fused kernel, the kernel chosen for the product alone, algorithms of cuBLASLt
/// if it has the epilogue, and the ceiling. For swiglu, n is the number of columns of D, and B has 2n columns.
///
/// Exit codes: 0 if all results agree, 2 otherwise or if no GPU or no cuBLASLt is available.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Sizes M,N,K, separated by semicolons; without sizes and shapes, 4096,4096,4096;8192,8192,8192
    #[arg(long, value_delimiter = ';')]
    sizes: Vec<Size>,
    /// Sets of sizes
    #[arg(long, value_delimiter = ',')]
    shapes: Vec<Shapes>,
    /// The types of the factors
    #[arg(long, value_delimiter = ',', default_value = "bf16")]
    dtype: Vec<Dtype>,
    /// The orders of A and B: n for row-major, t for column-major
    #[arg(long, value_delimiter = ',', default_value = "nt")]
    layout: Vec<Layout>,
    /// The operations that follow the product
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "none")]
    epilogue: Vec<Epilogue>,
    /// The kernels
    #[arg(long, value_delimiter = ',', default_value = "sm_90a")]
    path: Vec<Path>,
    /// For e4m3 and e5m2, time the kernel with sums promoted to f32 instead, alongside cuBLASLt without fast accumulation
    #[arg(long, conflicts_with = "path")]
    promoted: bool,
    /// Number of samples per contender
    #[arg(long, default_value_t = 30)]
    rounds: usize,
    /// Milliseconds of warm-up
    #[arg(long, default_value_t = 300)]
    warm_up_ms: u64,
    /// Maximum number of cuBLASLt algorithms to time
    #[arg(long, default_value_t = 4)]
    algorithms: usize,
    /// Also time all tile sizes, with several cluster sizes and tile orders
    #[arg(long, conflicts_with = "promoted")]
    sweep: bool,
    /// Instead of kernels, time the host: building a kernel for each type and layout, compiling it with the driver, and launching it
    #[arg(long, conflicts_with_all = ["sizes", "shapes", "epilogue", "path", "promoted", "sweep"])]
    overhead: bool,
    /// Print one JSON object per line instead of tables
    #[arg(long)]
    json: bool,
}

/// The kernels for an architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Path {
    /// `Gemm` for this GPU, with `wgmma` on Hopper
    #[value(name = "sm_90a")]
    Sm90a,
    /// `Gemm` for targets without `wgmma`, with `mma.sync`
    #[value(name = "sm_80")]
    Sm80,
}

/// Evaluates `$body` with `$p` as the types of a `Dtype`.
macro_rules! with_precision {
    ($dtype:expr, $p:ident => $body:expr) => {
        with_precision!(@ $dtype, $p, $body, Bf16 F16 Tf32 E4m3 E5m2 S8 U8)
    };
    (@ $dtype:expr, $p:ident, $body:expr, $($name:ident)*) => {
        match $dtype {
            $(Dtype::$name => {
                type $p = $crate::bench::gemm::precision::$name;
                $body
            })*
        }
    };
}

// Declared after the macro that it uses.
mod tune;
pub(crate) use tune::Args as TuneArgs;

impl Path {
    /// Returns the kind of GPU for which kernels are chosen.
    fn gpu_kind(self, gpu: &Gpu) -> GpuKind {
        let kind = gpu_kind(gpu);
        match self {
            Self::Sm90a => kind,
            // The kernels for later GPUs also run on this one.
            Self::Sm80 => GpuKind { capability: (10, 0), ..kind },
        }
    }
}

impl Args {
    pub(in crate::bench) fn tables(&self) -> Fallible<()> {
        self.check()?;
        self.reports()
    }

    /// Rejects types and orders that no kernel supports, and types without epilogues, before anything is timed.
    fn check(&self) -> Fallible<()> {
        for &dtype in &self.dtype {
            for &layout in &self.layout {
                with_precision!(dtype, P => self.check_product::<P>(layout))
                    .map_err(|error| format!("{dtype}, layout {layout}: {error}"))?;
            }
        }
        Ok(())
    }

    fn check_product<P: Precision>(&self, layout: Layout) -> Fallible<()> {
        kernels::check::<P>(layout)?;
        if self.promoted {
            kernels::check_promoted::<P>(layout)?;
        }
        self.epilogue.iter().try_for_each(|epilogue| epilogue.check(P::DTYPE, self.promoted))
    }

    fn sizes(&self) -> Vec<Size> {
        let sizes: Vec<_> =
            self.sizes.iter().copied().chain(self.shapes.iter().flat_map(|shapes| shapes.sizes())).collect();
        if sizes.is_empty() { [4096, 8192].map(|size| Size([size; 3])).to_vec() } else { sizes }
    }

    fn reports(&self) -> Fallible<()> {
        let gpu = Gpu::new(0)?;
        let provenance = Provenance::now(gpu.properties());
        if !self.json {
            let cublaslt = provenance.cublaslt.as_deref().unwrap_or("not found");
            println!("{}, cuBLASLt {cublaslt}, {}", gpu.properties(), provenance.date);
            println!("{}", provenance.command);
        }
        let mut reports = Vec::new();
        for &dtype in &self.dtype {
            with_precision!(dtype, P => self.of_precision::<P>(&gpu, &provenance, &mut reports))?;
        }
        if !self.json && !reports.is_empty() {
            report::print_means(&reports);
        }
        Ok(())
    }

    fn of_precision<P: Precision>(
        &self,
        gpu: &Gpu,
        provenance: &Provenance,
        reports: &mut Vec<Report>,
    ) -> Fallible<()> {
        if self.overhead {
            return self.overheads::<P>(gpu, provenance);
        }
        let mut ceilings = self.ceilings::<P>(gpu)?;
        for &epilogue in &self.epilogue {
            let factor = |normal: f32| P::factor(normal * epilogue.deviation());
            let numbers = gpu.stream().clone_htod(&normals(1 << 24).map(factor).collect::<Vec<_>>())?;
            for &layout in &self.layout {
                for size in self.sizes() {
                    let report = self.report::<P>(gpu, &numbers, &mut ceilings, layout, size, epilogue)?;
                    if self.json {
                        report.print_json(provenance)?;
                    } else {
                        report.print_table(provenance);
                    }
                    reports.push(report);
                }
            }
        }
        Ok(())
    }

    fn overheads<P: Precision>(&self, gpu: &Gpu, provenance: &Provenance) -> Fallible<()> {
        for &layout in &self.layout {
            let overhead = Overhead::of::<P>(gpu, layout, self.rounds)?;
            if self.json {
                overhead.print_json(provenance)?;
            } else {
                overhead.print_table(provenance);
            }
        }
        Ok(())
    }

    fn ceilings<P: Precision>(&self, gpu: &Gpu) -> Fallible<Vec<Boxed<P>>> {
        let of_path = |path: &Path| match path {
            Path::Sm90a => Some(ceilings::wgmma(gpu)),
            Path::Sm80 => P::MMA_SYNC.map(|load| load(gpu)),
        };
        self.path.iter().filter_map(of_path).collect()
    }

    fn report<P: Precision>(
        &self,
        gpu: &Gpu,
        numbers: &CudaSlice<P::StoredFactor>,
        ceilings: &mut [Boxed<P>],
        layout: Layout,
        size: Size,
        epilogue: Epilogue,
    ) -> Fallible<Report> {
        let (mut contenders, mut refused) = (Vec::new(), Vec::new());
        for &rival in P::RIVALS.iter().filter(|(_, types)| !(self.promoted && rivals::is_fast(*types))) {
            match rivals::rivals(&gpu.stream(), rival, size, layout, epilogue, self.algorithms) {
                Ok(rivals) => contenders.extend(rivals),
                Err(why) => refused.push(Refusal { name: rival.0.to_string(), why: why.to_string() }),
            }
        }
        for path in &self.path {
            contenders.extend(self.kernels(gpu, *path, layout, size, epilogue)?);
        }
        let contenders = contenders.iter_mut().chain(ceilings).map(|contender| &mut **contender);
        let mut problem = Problem::<P>::new(gpu, numbers, size, layout, epilogue)?;
        let (contenders, refused_launches) = problem.verify(contenders.collect())?;
        refused.extend(refused_launches);
        let sampling = Sampling { rounds: self.rounds, warm_up: Duration::from_millis(self.warm_up_ms) };
        let timed = problem.times(contenders, sampling)?;
        Ok(Report { dtype: P::DTYPE, layout, size, epilogue, timed, refused })
    }

    /// Loads the kernels for a product.
    fn kernels<P: Precision>(
        &self,
        gpu: &Gpu,
        path: Path,
        layout: Layout,
        size: Size,
        epilogue: Epilogue,
    ) -> Fallible<Vec<Boxed<P>>> {
        if !self.promoted && epilogue == Epilogue::None {
            return self.plain(gpu, path, layout, size);
        }
        fused::contenders(gpu, &path.gpu_kind(gpu), self.promoted, self.sweep, layout, size, epilogue)
    }

    /// Loads the kernel chosen for a size and, in a sweep, the kernels with all tiles.
    fn plain<P: Precision>(
        &self,
        gpu: &Gpu,
        path: Path,
        layout: Layout,
        size: Size,
    ) -> Fallible<Vec<Boxed<P>>> {
        let problem = size.0.map(|size| size as u32);
        let [a, b] = layout.0;
        let chosen = Gemm::for_problem::<P::Factor, P::Result>(a, b, problem, &path.gpu_kind(gpu));
        let chosen = kernels::for_contiguous::<P>(chosen, size);
        let named = |gemm: &Gemm| format!("{}{}", described(gemm), instructions(gemm));
        let mut kernels =
            vec![kernels::ours(gpu, format!("warpwright {}", named(&chosen)), Kind::Chosen, chosen, size)?];
        if chosen.target == Target::SM_90A {
            kernels.extend(kernels::promoted(gpu, layout, size)?);
        }
        let of_parts = SplitKGemm::for_problem::<P::Factor>(a, b, problem, &path.gpu_kind(gpu));
        let swept = self.sweep.then_some(chosen.target);
        kernels.extend(split_k::contenders(gpu, layout, size, of_parts, swept)?);
        let others =
            if self.sweep { kernels::candidates::<P>(chosen.target, layout, size) } else { Vec::new() };
        for gemm in others {
            kernels.push(kernels::ours(gpu, named(&gemm), Kind::Variant, gemm, size)?);
        }
        Ok(kernels)
    }
}

/// Returns the kind of a GPU, which selects the table of kernels.
fn gpu_kind(gpu: &Gpu) -> GpuKind {
    let DeviceProperties { name, capability, multiprocessors, .. } = gpu.properties();
    GpuKind { name: name.clone(), capability: *capability, multiprocessors: *multiprocessors }
}

/// Returns the end of the description of a kernel: its instructions, unless it uses `wgmma`.
fn instructions(gemm: &Gemm) -> &'static str {
    if gemm.target == Target::SM_90A { "" } else { ", mma.sync" }
}

/// Returns the description of a kernel for the table: its tile, and the tiles or work that the blocks of a cluster share.
fn described(gemm: &Gemm) -> String {
    let Gemm { tile, cluster: [rows, cols], parts, .. } = gemm;
    let cluster = if [rows, cols] == [&1, &1] { String::new() } else { format!(", cluster {rows}x{cols}") };
    let parts = if *parts == 1 { String::new() } else { format!(", {parts} parts") };
    format!("{tile}{cluster}{parts}")
}
