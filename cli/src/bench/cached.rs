//! `warpwright bench cached`.

mod problem;

use warpwright::{
    gpu::Gpu,
    kernels::{CachedAttention, CachedAttentionProblem},
};

use super::{Fallible, race::Rounds, rival::Rival};
use problem::{Contender, Problem};

/// Times attention of one or a few queries per head to a cache of keys and values
///
/// All sequences have the same length. If there are several queries, each attends to one key more than the preceding query; in PyTorch's
/// implementations, all queries attend to all keys. Rates are bytes of keys and values per second. Contenders are timed in turn, in a
/// different order each round; the table shows the median, and the 10th and 90th percentiles. If the caches are at most 4 GB, some rows of
/// each result are compared with results in f64.
///
/// Exit codes: 0 if all results agree, 2 otherwise or if no GPU is available.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Numbers of sequences
    #[arg(long, default_value = "8,16,32,64", value_delimiter = ',')]
    batches: Vec<usize>,
    /// Lengths of caches
    #[arg(long, default_value = "4096,32768,131072", value_delimiter = ',')]
    lengths: Vec<usize>,
    /// Number of query heads
    #[arg(long, default_value_t = 64)]
    heads: usize,
    /// Number of KV heads
    #[arg(long, default_value_t = 8)]
    kv_heads: usize,
    /// Number of queries per head, from 1 to 8
    #[arg(long, default_value_t = 1)]
    queries: usize,
    /// Number of elements per row of Q, K and V
    #[arg(long, default_value_t = 128)]
    head_size: usize,
    #[command(flatten)]
    rounds: Rounds,
    /// A command that times other implementations, such as "python3 benches/attention.py"
    #[arg(long)]
    rival: Option<String>,
    /// Also time caches of e4m3 elements with per-head scales; rates are then keys per second
    #[arg(long)]
    e4m3: bool,
    /// Also time every supported number of blocks per sequence
    #[arg(long)]
    sweep: bool,
}

/// The sizes of a problem, which the rival also receives.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batches: usize,
    heads: usize,
    kv_heads: usize,
    queries: usize,
    length: usize,
    head_size: usize,
}

impl Sizes {
    /// Returns the total size of keys and values in bytes.
    fn bytes(&self) -> f64 {
        (4 * self.batches * self.kv_heads * self.length * self.head_size) as f64
    }
}

impl Args {
    pub(in crate::bench) fn tables(&self) -> Fallible<()> {
        let Self { heads, kv_heads, queries, head_size, .. } = *self;
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        let mut rival = self.rival.as_deref().map(Rival::start).transpose()?;
        if let Some(length) = self.lengths.iter().find(|length| **length == 0 || !length.is_multiple_of(128))
        {
            return Err(format!("expected lengths that are multiples of 128, found {length}").into());
        }
        if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
            return Err(format!("expected a multiple of {kv_heads} KV heads, found {heads} heads").into());
        }
        for (&length, &batches) in self.lengths.iter().flat_map(|n| self.batches.iter().map(move |b| (n, b)))
        {
            let sizes = Sizes { batches, heads, kv_heads, queries, length, head_size };
            let contenders = self.contenders([batches, length], gpu.properties().multiprocessors);
            let mut problem = Problem::new(&gpu, sizes, &contenders)?;
            println!(
                "{batches} sequences of {length}, {kv_heads} heads of {head_size}, {heads} of {queries} queries: {} samples",
                self.rounds.rounds
            );
            let names: Vec<_> = contenders.iter().map(ToString::to_string).collect();
            let request = format!("cached {batches} {heads} {kv_heads} {queries} {length} {head_size}");
            let rival = rival.as_mut().map(|rival| (rival, request.as_str()));
            let rate = if self.e4m3 {
                ("Gkeys/s", (batches * kv_heads * length) as f64 / 1e3)
            } else {
                ("TB/s", sizes.bytes() / 1e6)
            };
            self.rounds.table(&names, |at| problem.time(at), rival, rate)?;
        }
        Ok(())
    }

    /// Returns the chosen kernels for contiguous and for paged caches and, in a sweep, other kernels.
    fn contenders(&self, [batches, capacity]: [usize; 2], multiprocessors: u32) -> Vec<Contender> {
        let [batches, kv_heads, queries, capacity, head_size] =
            [batches, self.kv_heads, self.queries, capacity, self.head_size].map(|size| size as u32);
        let chosen = CachedAttention::for_problem(&CachedAttentionProblem {
            head_size,
            batches,
            kv_heads,
            queries,
            capacity,
            multiprocessors,
        });
        let pages = [None, Some(128), Some(64), Some(16)];
        let mut contenders: Vec<_> =
            pages.map(|page| Contender { attention: chosen, page, e4m3: false }).into_iter().collect();
        if self.sweep {
            let others = CachedAttention::PARTS.into_iter().filter(|parts| *parts != chosen.parts);
            contenders.extend(others.map(|parts| {
                let attention = CachedAttention { parts, ..chosen };
                Contender { attention, page: None, e4m3: false }
            }));
        }
        if self.e4m3 {
            let others: Vec<_> = contenders.iter().map(|other| Contender { e4m3: true, ..*other }).collect();
            contenders.extend(others);
        }
        contenders
    }
}
