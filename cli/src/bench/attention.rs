//! `warpwright bench attention`.

mod accuracy;
mod backward;
mod problem;
mod scaled;
mod tune;

use std::{fmt, str::FromStr};

use warpwright::{
    gpu::Gpu,
    kernels::{Attention, AttentionBackward, AttentionMask, AttentionProblem, AttentionTile},
    ptx::Target,
    tiles::Schedule,
};

use super::{Fallible, race::Rounds, rival::Rival};
use problem::Problem;

pub(crate) use tune::Args as TuneArgs;

/// Times attention on random normal numbers, alongside other implementations
///
/// O = softmax(Q·Kᵀ / √d)·V in bf16 for batches of heads with as many queries as keys. All contenders are timed in turn, in a different
/// order each round; the table shows the median, and the 10th and 90th percentiles. With a causal mask, half of the operations are counted.
/// Some rows of each result are compared with results in f64.
///
/// Exit codes: 0 if all results agree, 2 otherwise or if no GPU is available.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Sizes LENGTH,HEAD_SIZE or LENGTH,HEAD_SIZE,VALUE_SIZE, separated by semicolons
    #[arg(long, default_value = "4096,128;16384,128;4096,64;16384,64", value_delimiter = ';')]
    sizes: Vec<Size>,
    /// Masks: full, causal
    #[arg(long, default_value = "full,causal", value_delimiter = ',')]
    masks: Vec<Mask>,
    /// Number of elements of each matrix, which determines the number of heads
    #[arg(long, default_value_t = 1 << 26)]
    elements: usize,
    #[command(flatten)]
    rounds: Rounds,
    /// A command that times other implementations, such as "python3 benches/attention.py"
    #[arg(long)]
    rival: Option<String>,
    /// The target of the kernels: sm_90a, or sm_80 for kernels without `wgmma`
    #[arg(long, default_value_t = Target::SM_90A)]
    target: Target,
    /// Also time all tiles and several orders of tiles
    #[arg(long)]
    sweep: bool,
    /// Time the gradients with respect to Q, K and V, which require 5 products instead of 2
    #[arg(long, conflicts_with = "sweep")]
    backward: bool,
    /// Also time attention of e4m3 elements with per-head scales; with --sweep, only other kernels for e4m3 elements
    #[arg(long, conflicts_with_all = ["backward", "dropout"])]
    e4m3: bool,
    /// Instead of times, print the errors of O and of the gradients relative to f64, and those of the rival with the same inputs
    #[arg(long, conflicts_with_all = ["sweep", "backward", "e4m3", "dropout"])]
    accuracy: bool,
    /// Drop weights with this probability; results are then not compared with f64
    #[arg(long, value_name = "P", value_parser = probability)]
    dropout: Option<f32>,
}

fn probability(text: &str) -> Result<f32, String> {
    let p = text.parse().map_err(|error| format!("{text}: {error}"))?;
    if (0.0..1.0).contains(&p) {
        Ok(p)
    } else {
        Err(format!("expected a number from 0 to less than 1, found {p}"))
    }
}

#[derive(Clone, Copy, Debug)]
struct Size {
    length: usize,
    head_size: usize,
    value_size: usize,
}

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |n: &str| n.trim().parse().map_err(|error| format!("{n}: {error}"));
        let numbers = text.split(',').map(number).collect::<Result<Vec<usize>, _>>()?;
        match numbers[..] {
            [length, head_size] => Ok(Self { length, head_size, value_size: head_size }),
            [length, head_size, value_size] => Ok(Self { length, head_size, value_size }),
            _ => Err(format!("expected LENGTH,HEAD_SIZE or LENGTH,HEAD_SIZE,VALUE_SIZE, found `{text}`")),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Mask(AttentionMask);

impl FromStr for Mask {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "full" => Ok(Self(AttentionMask::Full)),
            "causal" => Ok(Self(AttentionMask::Causal)),
            _ => Err(format!("expected full or causal, found `{text}`")),
        }
    }
}

/// The sizes of a problem, which the rival also receives.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sizes {
    batches: usize,
    heads: usize,
    /// The number of KV heads per sequence; a rival has one per query head.
    kv_heads: usize,
    length: usize,
    head_size: usize,
    value_size: usize,
    mask: AttentionMask,
    dropout: Option<f32>,
}

impl Sizes {
    /// Returns the number of operations, given the number of products with columns of Q and K, and with columns of V and O.
    fn flops(&self, [of_q, of_v]: [usize; 2]) -> f64 {
        let Self { batches, heads, length, head_size, value_size, mask, .. } = *self;
        let columns = of_q * head_size + of_v * value_size;
        let all = 2.0 * (batches * heads * columns) as f64 * (length as f64).powi(2);
        if mask == AttentionMask::Full { all } else { all / 2.0 }
    }

    fn problem(&self, target: Target, multiprocessors: u32) -> AttentionProblem {
        let Self { batches, heads, kv_heads, length, head_size, value_size, mask, .. } = *self;
        let [heads, kv_heads, length, head_size, value_size] =
            [batches * heads, batches * kv_heads, length, head_size, value_size].map(|size| size as u32);
        AttentionProblem {
            target,
            head_size,
            value_size,
            mask,
            heads,
            kv_heads,
            queries: length,
            keys: length,
            multiprocessors,
        }
    }

    /// Returns the line that describes the problem to a rival.
    fn request(&self, what: &str) -> String {
        let Self { batches, heads, length, head_size, value_size, mask, dropout, .. } = *self;
        let mask = if mask == AttentionMask::Full { "full" } else { "causal" };
        let dropout = dropout.unwrap_or_default();
        format!("{what} {batches} {heads} {length} {head_size} {value_size} {mask} {dropout}")
    }

    /// Returns the probability of dropout, and its seed and offset.
    fn random(&self) -> (f32, [u64; 2]) {
        (self.dropout.unwrap_or_default(), [1, 0])
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { batches, heads, kv_heads, length, head_size, value_size, mask, dropout } = self;
        write!(
            f,
            "{batches}x{heads} heads, length {length}, rows of {head_size} and {value_size}, {mask:?}"
        )?;
        if kv_heads != heads {
            write!(f, ", {kv_heads} KV heads")?;
        }
        dropout.map_or(Ok(()), |p| write!(f, ", dropout {p}"))
    }
}

impl Args {
    pub(in crate::bench) fn tables(&self) -> Fallible<()> {
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        let multiprocessors = gpu.properties().multiprocessors;
        let mut rival = self.rival.as_deref().map(Rival::start).transpose()?;
        for &Size { length, head_size, value_size } in &self.sizes {
            for &Mask(mask) in &self.masks {
                let all = (self.elements / (length * head_size).max(1)).max(1);
                let heads = all.min(16);
                let (batches, dropout) = (all / heads, self.dropout);
                let sizes =
                    Sizes { batches, heads, kv_heads: heads, length, head_size, value_size, mask, dropout };
                println!("{sizes}: {} samples", if self.accuracy { 1 } else { self.rounds.rounds });
                if self.accuracy {
                    check_values(sizes)?;
                    accuracy::table(&gpu, sizes, rival.as_mut())?;
                    continue;
                }
                let request = sizes.request(if self.backward { "backward" } else { "begin" });
                let rival = rival.as_mut().map(|rival| (rival, request.as_str()));
                if self.backward {
                    let mut problem =
                        backward::Problem::new(&gpu, sizes, &backward_kernels(sizes, multiprocessors))?;
                    let (names, rate) = (problem.names().to_vec(), ("TFLOP/s", sizes.flops([3, 2]) / 1e6));
                    self.rounds.table(&names, |at| problem.time(at), rival, rate)?;
                } else {
                    let kernels = kernels(sizes, self.target, multiprocessors, self.sweep && !self.e4m3);
                    let mut problem = Problem::new(&gpu, sizes, &kernels)?;
                    let (mut names, rate) =
                        (problem.names().to_vec(), ("TFLOP/s", sizes.flops([1, 1]) / 1e6));
                    let of_16_bits = names.len();
                    let e4m3 = || {
                        let problem = sizes.problem(Target::SM_90A, multiprocessors);
                        scaled::Problem::new(&gpu, sizes, &scaled::kernels(&problem, self.sweep))
                    };
                    let mut scaled = self.e4m3.then(e4m3).transpose()?;
                    names.extend(scaled.iter().flat_map(scaled::Problem::names));
                    let time = |at: usize| match (at.checked_sub(of_16_bits), scaled.as_mut()) {
                        (Some(at), Some(scaled)) => scaled.time(at),
                        _ => problem.time(at),
                    };
                    self.rounds.table(&names, time, rival, rate)?;
                }
            }
        }
        Ok(())
    }
}

/// Checks that the sizes support printing errors.
fn check_values(sizes: Sizes) -> Fallible<()> {
    if sizes.value_size == sizes.head_size {
        return Ok(());
    }
    Err("--accuracy: expected a value size equal to the head size".into())
}

/// Returns the kernels for the gradients.
fn backward_kernels(sizes: Sizes, multiprocessors: u32) -> Vec<(String, AttentionBackward)> {
    let dropout = sizes.dropout.is_some();
    let chosen = AttentionBackward::for_problem(&sizes.problem(Target::SM_90A, multiprocessors));
    let backward = AttentionBackward { dropout, ..chosen };
    let other = AttentionBackward { deterministic: !backward.deterministic, ..backward };
    let of_other = if other.deterministic { "warpwright, deterministic" } else { "warpwright, atomic" };
    vec![("warpwright".into(), backward), (of_other.into(), other)]
}

/// Returns the kernel chosen for a problem and, in a sweep, other kernels.
fn kernels(sizes: Sizes, target: Target, multiprocessors: u32, sweep: bool) -> Vec<(String, Attention)> {
    let Sizes { head_size, value_size, mask, .. } = sizes;
    let [head_size, value_size] = [head_size, value_size].map(|size| size as u32);
    let chosen = Attention::for_problem(&sizes.problem(target, multiprocessors));
    let chosen = if sizes.dropout.is_some() { chosen.with_tile_for_dropout() } else { chosen };
    let AttentionTile { queries, keys } = chosen.tile;
    let mut kernels = vec![(format!("warpwright {queries}x{keys}"), chosen)];
    if sweep {
        for tile in AttentionTile::all(target, head_size, value_size) {
            let AttentionTile { queries, keys } = tile;
            kernels.push((format!("{queries}x{keys}"), Attention { tile, ..chosen }));
        }
        if mask != AttentionMask::Full {
            for group in [1, 2, 4, 8, 16, 1 << 20] {
                let schedule = Schedule::grouped(group);
                for (order, schedule) in [("", schedule), (", back and forth", schedule.back_and_forth())] {
                    kernels.push((format!("groups of {group}{order}"), Attention { schedule, ..chosen }));
                }
            }
        }
    }
    kernels
}
