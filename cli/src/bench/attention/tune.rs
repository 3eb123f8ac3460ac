//! `warpwright tune attention`.

mod search;

use std::{fs, io::Write, path::PathBuf, process::ExitCode, str::FromStr, time::Duration};

use warpwright::{
    gpu::Gpu,
    kernels::{AttentionTable, GpuKind},
    ptx::Target,
};

use super::{Mask, Size, Sizes};
use crate::{
    Error,
    bench::{Fallible, distinct, progress::Progress, provenance::Provenance},
};
use search::fastest;

/// Finds the fastest attention kernels for the given sizes on this GPU, and writes them as a table
///
/// All tiles are timed on random normal numbers and, for e4m3, with each order of products; tiles within a few percent of the fastest are
/// timed again with several orders of tiles. Launches alternate, so that all kernels run at the same clock. Some rows of each result are
/// compared with results in f64.
///
/// Problems with a kernel that fails or computes a wrong result are reported and omitted. The file is written after each problem, so that
/// it contains all results so far if the command is interrupted.
///
/// Programs read the table as `AttentionTable`, and pass it to a `KernelCache` with `with_attention_table`.
///
/// Exit codes: 0 if the table contains all problems, 1 if some are missing, 2 if no table is written or no GPU is available.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Sizes LENGTH,HEAD_SIZE or LENGTH,HEAD_SIZE,VALUE_SIZE, separated by semicolons
    #[arg(long, value_delimiter = ';', required = true)]
    sizes: Vec<Size>,
    /// Masks: full, causal
    #[arg(long, default_value = "full,causal", value_delimiter = ',')]
    masks: Vec<Mask>,
    /// Numbers of sequences
    #[arg(long, default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..))]
    batches: Vec<u32>,
    /// Number of query heads per sequence
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    heads: u32,
    /// Number of KV heads per sequence; by default, the number of query heads
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    kv_heads: Option<u32>,
    /// The types of Q, K and V: bf16, e4m3
    #[arg(long, default_value = "bf16", value_delimiter = ',')]
    dtype: Vec<Dtype>,
    /// Seconds after which no further problem is started
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// The file to write; standard output by default
    #[arg(long)]
    out: Option<PathBuf>,
}

/// The type of Q, K and V.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dtype {
    Bf16,
    E4m3,
}

impl FromStr for Dtype {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "bf16" => Ok(Self::Bf16),
            "e4m3" => Ok(Self::E4m3),
            _ => Err(format!("expected bf16 or e4m3, found `{text}`")),
        }
    }
}

impl Args {
    pub(crate) fn run(self) -> Result<ExitCode, Error> {
        let complete = self.tune().map_err(|error| Error(error.to_string()))?;
        Ok(if complete { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    /// Returns all problems.
    fn problems(&self) -> Fallible<Vec<(Dtype, Sizes)>> {
        let kv_heads = self.kv_heads.unwrap_or(self.heads);
        if !self.heads.is_multiple_of(kv_heads) {
            return Err(
                format!("expected a multiple of {kv_heads} KV heads, found {} heads", self.heads).into()
            );
        }
        let [heads, kv_heads] = [self.heads, kv_heads].map(|heads| heads as usize);
        let mut problems = Vec::new();
        for &dtype in &self.dtype {
            for &Size { length, head_size, value_size } in &self.sizes {
                for (&batches, &Mask(mask)) in
                    self.batches.iter().flat_map(|batches| self.masks.iter().map(move |mask| (batches, mask)))
                {
                    let batches = batches as usize;
                    let dropout = None;
                    let sizes =
                        Sizes { batches, heads, kv_heads, length, head_size, value_size, mask, dropout };
                    problems.push((dtype, sizes));
                }
            }
        }
        Ok(distinct(problems))
    }

    /// Writes the table, and returns whether it contains all problems.
    fn tune(&self) -> Fallible<bool> {
        let problems = self.problems()?;
        let gpu = Gpu::new(0)?;
        let properties = gpu.properties();
        let (name, multiprocessors) = (properties.name.clone(), properties.multiprocessors);
        let kind = GpuKind { name, capability: properties.capability, multiprocessors };
        let target = if kind.capability == (9, 0) { Target::SM_90A } else { Target::SM_80 };
        let Provenance { driver, date, command, .. } = Provenance::now(properties);
        let mut table = AttentionTable { gpu: kind, driver, date, command, entries: Vec::new() };
        let progress = Progress::new(problems.len(), Duration::from_secs(self.seconds));
        for (dtype, sizes) in problems {
            let name = format!("{dtype:?}, {sizes}");
            if !progress.begin(&name) {
                break;
            }
            match fastest(&gpu, dtype, sizes, &sizes.problem(target, multiprocessors)) {
                Ok(entry) => {
                    table.entries.push(entry);
                    if let Some(path) = &self.out {
                        write(&table, path)?;
                    }
                }
                Err(why) => progress.report(&name, why),
            }
            progress.advance(1);
            // After a kernel fault, every call fails.
            gpu.synchronize().map_err(|error| format!("{name}: {error}"))?;
        }
        let missing = progress.finish();
        match &self.out {
            Some(path) => write(&table, path)?,
            // The reader may close the pipe.
            None => drop(write!(std::io::stdout(), "{table}")),
        }
        Ok(missing == 0 && table.entries.len() == self.problems()?.len())
    }
}

fn write(table: &AttentionTable, path: &PathBuf) -> Result<(), Error> {
    fs::write(path, table.to_string()).map_err(|error| Error::of(path.display(), error))
}
