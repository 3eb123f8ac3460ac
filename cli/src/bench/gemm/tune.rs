//! `warpwright tune gemm`.

mod search;
mod tuner;

use std::{fs, io::Write, path::PathBuf, process::ExitCode, time::Duration};

use warpwright::{
    gpu::Gpu,
    kernels::{GemmEntry, GemmTable},
    ptx::Element,
};

use super::{
    described, gpu_kind, kernels,
    precision::{Dtype, Precision},
    shapes::{Layout, Shapes, Size},
};
use crate::{
    Error,
    bench::{Fallible, distinct, progress::Progress, provenance::Provenance},
};
use search::Outcome;
use tuner::Tuner;

/// Finds the fastest `Gemm` kernels for the given sizes on this GPU, and writes them as a table
///
/// Every kernel that may be the fastest for a size is compiled and timed on random normal numbers; kernels within a few percent of the
/// fastest are timed again with several orders of tiles. Launches alternate, so that all kernels run at the same clock. The result of the
/// fastest kernel is compared with that of cuBLASLt, and some elements with sums in f64.
///
/// Kernels that fail or compute a wrong result are reported and omitted, as are problems whose time is determined by the host, and types
/// and layouts that no kernel supports. The file is written after each problem, so that it contains all results so far if the command is
/// interrupted.
///
/// Programs read the table as `GemmTable`; `Gemm::for_problem` uses tables measured on an H100 and an H200.
///
/// Exit codes: 0 if the table contains all problems, 1 if some are missing or a kernel failed, 2 if no table is written or no GPU is
/// available.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Numbers of rows of A, separated by commas, each combined with every --n and --k
    #[arg(long, value_delimiter = ',', requires_all = ["n", "k"], value_parser = clap::value_parser!(u32).range(1..))]
    m: Vec<u32>,
    /// Numbers of columns of B
    #[arg(long, value_delimiter = ',', requires_all = ["m", "k"], value_parser = clap::value_parser!(u32).range(1..))]
    n: Vec<u32>,
    /// Numbers of columns of A and rows of B
    #[arg(long, value_delimiter = ',', requires_all = ["m", "n"], value_parser = clap::value_parser!(u32).range(1..))]
    k: Vec<u32>,
    /// Sets of sizes
    #[arg(long, value_delimiter = ',', required_unless_present = "m")]
    shapes: Vec<Shapes>,
    /// The types of the factors
    #[arg(long, value_delimiter = ',', default_value = "bf16")]
    dtype: Vec<Dtype>,
    /// The orders of A and B: n for row-major, t for column-major
    #[arg(long, value_delimiter = ',', default_value = "nt")]
    layout: Vec<Layout>,
    /// Seconds after which no further size is started
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The file to write; standard output by default
    #[arg(long)]
    out: Option<PathBuf>,
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let complete = self.tune().map_err(|error| Error(error.to_string()))?;
        Ok(if complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    fn sizes(&self) -> Vec<Size> {
        let of = |[m, n, k]: [u32; 3]| Size([m, n, k].map(|size| size as usize));
        let rows = self.m.iter().flat_map(|&m| self.n.iter().map(move |&n| [m, n]));
        let combined = rows.flat_map(|[m, n]| self.k.iter().map(move |&k| of([m, n, k])));
        // Sets may have sizes in common.
        distinct(combined.chain(self.shapes.iter().flat_map(|shapes| shapes.sizes())))
    }

    /// Writes the table, and returns whether it contains all problems and no kernel failed.
    fn tune(&self) -> Fallible<bool> {
        let gpu = Gpu::new(0)?;
        let Provenance { driver, date, command, .. } = Provenance::now(gpu.properties());
        let table = GemmTable { gpu: gpu_kind(&gpu), driver, date, command, entries: Vec::new() };
        let types = distinct(self.dtype.iter().copied());
        let problems = self.sizes().len() * distinct(self.layout.iter()).len() * types.len();
        let progress = Progress::new(problems, Duration::from_secs(self.seconds));
        let mut results = Results { table, out: self.out.as_ref(), failures: 0, progress };
        let mut each = types.into_iter();
        let tuned =
            each.try_for_each(|dtype| with_precision!(dtype, P => self.tune_type::<P>(&gpu, &mut results)));
        let complete = results.finish()?;
        tuned.map(|()| complete)
    }

    /// Tunes all problems of a type until the time limit is reached.
    fn tune_type<P: Precision>(&self, gpu: &Gpu, results: &mut Results<'_>) -> Fallible<()> {
        let mut tuner = Tuner::<P>::new(gpu)?;
        let sizes = self.sizes();
        for layout in distinct(self.layout.iter().copied()) {
            if let Err(why) = kernels::check::<P>(layout) {
                results.skip(&format!("{}, layout {layout}", P::DTYPE), &why, sizes.len());
                continue;
            }
            for &size in &sizes {
                let problem = format!("{} {layout} {size}", P::DTYPE);
                if !results.progress.begin(&problem) {
                    return Ok(());
                }
                let outcome = tuner.fastest(layout, size);
                results.add::<P>(&problem, size, outcome)?;
                // After a kernel fault, every call fails.
                gpu.synchronize().map_err(|error| format!("{problem}: {error}"))?;
            }
        }
        Ok(())
    }
}

/// The results so far.
struct Results<'a> {
    table: GemmTable,
    out: Option<&'a PathBuf>,
    /// The number of problems without an entry, and of kernels that failed.
    failures: usize,
    progress: Progress,
}

impl Results<'_> {
    /// Reports problems that no kernel can compute.
    fn skip(&mut self, problems: &str, why: &dyn std::error::Error, count: usize) {
        self.failures += count;
        self.progress.report(problems, why);
        self.progress.advance(count);
    }

    /// Adds the entry for a problem, and reports failures.
    fn add<P: Precision>(&mut self, problem: &str, size: Size, outcome: Outcome) -> Fallible<()> {
        for (gemm, why) in &outcome.failures {
            self.progress.report(&format!("{problem}: {}", described(gemm)), why);
        }
        self.failures += outcome.failures.len();
        match outcome.fastest {
            Ok((gemm, micros)) => {
                let (operand, result) = (P::Factor::NAME.into(), P::Result::NAME.into());
                let size = size.0.map(|size| size as u32);
                self.table.entries.push(GemmEntry { operand, result, size, gemm, micros });
                if let Some(path) = self.out {
                    self.write(path)?;
                }
            }
            Err(why) => {
                self.progress.report(problem, &why);
                self.failures += 1;
            }
        }
        self.progress.advance(1);
        Ok(())
    }

    fn write(&self, path: &PathBuf) -> Result<(), Error> {
        fs::write(path, self.table.to_string()).map_err(|error| Error::of(path.display(), error))
    }

    /// Prints the table unless it is written to a file, and returns whether it is complete.
    fn finish(self) -> Fallible<bool> {
        let missing = self.progress.finish();
        match self.out {
            Some(path) => self.write(path)?,
            // The reader may close the pipe.
            None => drop(write!(std::io::stdout(), "{}", self.table)),
        }
        Ok(missing == 0 && self.failures == 0)
    }
}
