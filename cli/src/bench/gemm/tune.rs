//! `warpwright tune gemm`.

use std::{
    collections::HashMap,
    fs,
    io::Write,
    path::PathBuf,
    process::ExitCode,
    rc::Rc,
    time::{Duration, Instant},
};

use cudarc::driver::CudaSlice;
use indicatif::{ProgressBar, ProgressStyle};
use warpwright::{
    gpu::Gpu,
    kernels::{Gemm, GemmEntry, GemmTable},
    ptx::Element,
    tiles::Schedule,
};

use super::{
    contender::{Boxed, Kind},
    kernels::{Shared, of_kernel, with_ldd},
    precision::{Dtype, Precision},
    problem::{Contenders, Problem},
    shapes::{Layout, Shapes, Size},
};
use crate::{
    Error,
    bench::{Failed, Fallible, normals::normals, provenance::Provenance, samples::Sampling},
};

/// Finds the fastest kernels of `Gemm` for sizes on this GPU, and writes them as a table
///
/// Every kernel that may be the fastest for a size is compiled and timed on random normal numbers; those within a few percent of the fastest
/// one are timed again with several orders of tiles. Launches alternate, so that all kernels see the same clock.
///
/// Programs read the table as `GemmTable`; `Gemm::for_problem` contains that of an H200.
///
/// Exit codes: 0 if a table is written, 2 otherwise, or without a GPU.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rows of A, or several numbers, which are combined with all of --n and --k
    #[arg(long, value_delimiter = ',', requires_all = ["n", "k"], value_parser = clap::value_parser!(u32).range(1..))]
    m: Vec<u32>,
    /// Columns of B
    #[arg(long, value_delimiter = ',', requires_all = ["m", "k"], value_parser = clap::value_parser!(u32).range(1..))]
    n: Vec<u32>,
    /// Columns of A and rows of B
    #[arg(long, value_delimiter = ',', requires_all = ["m", "n"], value_parser = clap::value_parser!(u32).range(1..))]
    k: Vec<u32>,
    /// Sets of sizes
    #[arg(long, value_delimiter = ',', required_unless_present = "m")]
    shapes: Vec<Shapes>,
    /// The types of the factors
    #[arg(long, value_delimiter = ',', default_value = "bf16")]
    dtype: Vec<Dtype>,
    /// The orders of A and B: n for rows, t for columns
    #[arg(long, value_delimiter = ',', default_value = "nt")]
    layout: Vec<Layout>,
    /// Seconds after which no other size is begun
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The file to write; standard output by default
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Samples of each kernel in the first round, and of the fastest ones with each order of tiles in the second.
const ROUNDS: [usize; 2] = [5, 11];
const WARM_UP: Duration = Duration::from_millis(10);
/// The time, relative to the fastest kernel's, up to which a kernel is in the second round, and the number of kernels there.
const NEAR: f64 = 1.05;
const MOST: usize = 3;
/// The rows of tiles in a group.
const GROUPS: [u32; 4] = [4, 8, 16, 32];

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let table = self.table().map_err(|error| Error(error.to_string()))?;
        match &self.out {
            Some(path) => {
                fs::write(path, table.to_string()).map_err(|error| Error::of(path.display(), error))?;
            }
            // The reader may close the pipe.
            None => drop(write!(std::io::stdout(), "{table}")),
        }
        Ok(ExitCode::SUCCESS)
    }

    fn sizes(&self) -> Vec<Size> {
        let of = |[m, n, k]: [u32; 3]| Size([m, n, k].map(|size| size as usize));
        let rows = self.m.iter().flat_map(|&m| self.n.iter().map(move |&n| [m, n]));
        let combined = rows.flat_map(|[m, n]| self.k.iter().map(move |&k| of([m, n, k])));
        let mut sizes = Vec::new();
        for size in combined.chain(self.shapes.iter().flat_map(|shapes| shapes.sizes())) {
            // Sets have sizes in common.
            if !sizes.contains(&size) {
                sizes.push(size);
            }
        }
        sizes
    }

    fn table(&self) -> Fallible<GemmTable> {
        let gpu = Gpu::new(0)?;
        let Provenance { gpu: name, driver, date, command, .. } = Provenance::now(gpu.properties());
        let sizes = self.sizes();
        let all = sizes.len() * self.layout.len() * self.dtype.len();
        let progress = Progress::new(all, Duration::from_secs(self.seconds));
        let mut entries = Vec::new();
        for &dtype in &self.dtype {
            with_precision!(dtype, P => {
                Tuner::<P>::new(&gpu)?.tune(&sizes, &self.layout, &progress, &mut entries)
            })?;
        }
        progress.bar.finish_and_clear();
        if entries.len() < all {
            eprintln!(
                "{} of {all} problems in {} s: raise --seconds for the others",
                entries.len(),
                self.seconds
            );
        }
        let multiprocessors = gpu.properties().multiprocessors;
        Ok(GemmTable { gpu: name, multiprocessors, driver, date, command, entries })
    }
}

/// The problems that have been tuned, and the time for them.
struct Progress {
    bar: ProgressBar,
    end: Instant,
}

impl Progress {
    fn new(problems: usize, time: Duration) -> Self {
        let bar = ProgressBar::new(problems as u64);
        if let Ok(style) =
            ProgressStyle::with_template("{bar:40} {pos} of {len} problems, {eta} to go: {msg}")
        {
            bar.set_style(style);
        }
        Self { bar, end: Instant::now() + time }
    }

    /// Returns whether there is time for another problem.
    fn begin(&self, problem: String) -> bool {
        self.bar.set_message(problem);
        Instant::now() < self.end
    }
}

/// Kernels of a type, each compiled once for all sizes.
struct Tuner<'g, P: Precision> {
    gpu: &'g Gpu,
    numbers: CudaSlice<P::StoredFactor>,
    kernels: HashMap<Gemm, Shared<P>>,
}

/// A kernel, and the median of its times in microseconds.
type Timed = (Gemm, f64);

impl<'g, P: Precision> Tuner<'g, P> {
    fn new(gpu: &'g Gpu) -> Fallible<Self> {
        let numbers: Vec<_> = normals(1 << 24).map(P::factor).collect();
        Ok(Self { gpu, numbers: gpu.stream().clone_htod(&numbers)?, kernels: HashMap::new() })
    }

    /// Adds an entry for each size in each layout, until the time is over.
    fn tune(
        &mut self,
        sizes: &[Size],
        layouts: &[Layout],
        progress: &Progress,
        entries: &mut Vec<GemmEntry>,
    ) -> Fallible<()> {
        for &layout in layouts {
            for &size in sizes {
                if !progress.begin(format!("{} {layout} {size}", P::DTYPE)) {
                    return Ok(());
                }
                let (gemm, micros) = self.fastest(layout, size)?;
                let size = size.0.map(|size| size as u32);
                entries.push(GemmEntry { dtype: P::Factor::NAME.into(), size, gemm, micros });
                progress.bar.inc(1);
            }
        }
        Ok(())
    }

    fn fastest(&mut self, layout: Layout, size: Size) -> Fallible<Timed> {
        let mut problem = Problem::<P>::new(self.gpu, &self.numbers, size, layout)?;
        let [rows, ..] = size.0.map(|size| size as u32);
        let candidates = Gemm::candidates(layout.0[0], layout.0[1], rows).collect::<Vec<_>>();
        let first = self.times(&mut problem, size, candidates, ROUNDS[0])?;
        let Some(&(_, least)) = first.first() else {
            return Err(format!("{} {layout} {size}: no kernel was launched", P::DTYPE).into());
        };
        let near = first.into_iter().take_while(|(_, micros)| *micros <= least * NEAR).take(MOST);
        let in_groups = |(gemm, _): Timed| {
            // Groups of more rows than there are do not differ.
            let tiles = rows.div_ceil(gemm.tile.size()[0]);
            let groups = GROUPS.into_iter().filter(move |&group| group == GROUPS[0] || group / 2 < tiles);
            groups.map(move |group| Gemm { schedule: Schedule::grouped(group), ..gemm })
        };
        let second = near.flat_map(in_groups).collect::<Vec<_>>();
        let second = self.times(&mut problem, size, second, ROUNDS[1])?;
        second.first().copied().ok_or_else(|| format!("{layout} {size}: no kernel was launched").into())
    }

    /// Times the kernels that accept the problem, in turn, and sorts them by time.
    fn times(
        &mut self,
        problem: &mut Problem<P>,
        size: Size,
        kernels: Vec<Gemm>,
        rounds: usize,
    ) -> Fallible<Vec<Timed>> {
        let mut contenders = Vec::new();
        for gemm in kernels {
            contenders.push((gemm, self.contender(gemm, size)?));
        }
        contenders.retain_mut(|(_, contender)| problem.accepts(&mut **contender));
        let each: Contenders<'_, P> = contenders.iter_mut().map(|(_, contender)| &mut **contender).collect();
        let timed = problem.times(each, Sampling { rounds, warm_up: WARM_UP })?;
        let medians = timed.iter().map(|timed| timed.samples.median());
        let mut timed: Vec<Timed> = contenders.iter().map(|(gemm, _)| *gemm).zip(medians).collect();
        timed.sort_by(|a, b| a.1.total_cmp(&b.1));
        Ok(timed)
    }

    fn contender(&mut self, gemm: Gemm, size: Size) -> Fallible<Boxed<P>> {
        let gemm = with_ldd::<P>(gemm, size);
        let kernel = match self.kernels.get(&gemm) {
            Some(kernel) => Rc::clone(kernel),
            None => {
                let kernel = Rc::new(self.gpu.load(&P::kernel(gemm)?).map_err(Failed::of)?);
                self.kernels.insert(gemm, Rc::clone(&kernel));
                kernel
            }
        };
        of_kernel(self.gpu, String::new(), Kind::Variant, gemm, kernel, size)
    }
}
