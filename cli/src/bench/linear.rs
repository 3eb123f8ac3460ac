//! `warpwright bench linear`.

mod model;
mod problem;

use warpwright::gpu::Gpu;

use super::{Fallible, positive, race::Rounds, rival::Rival};
use model::Model;
use problem::{Problem, Sizes};

/// Times linear attention on random normal numbers, alongside other implementations
///
/// All contenders are timed in turn, in a different order each round; the table shows the median, the bytes that must be read and written
/// per second, and the 10th and 90th percentiles. Some rows of each result are compared with results in f64.
///
/// Exit codes: 0 if all results agree, 2 otherwise or if no GPU is available.
#[derive(clap::Args)]
pub(in crate::bench) struct Args {
    /// Models, separated by commas
    #[arg(value_enum, value_delimiter = ',', default_values_t = Model::ALL)]
    models: Vec<Model>,
    /// Lengths of sequences, separated by commas
    #[arg(long, default_value = "1024,2048,3072,6144,12288", value_delimiter = ',', value_parser = positive())]
    lengths: Vec<usize>,
    /// Number of sequences
    #[arg(long, default_value_t = 16, value_parser = positive())]
    batches: usize,
    /// Number of heads per sequence
    #[arg(long, default_value_t = 16, value_parser = positive())]
    heads: usize,
    #[command(flatten)]
    rounds: Rounds,
    /// A command that times other implementations, such as "python3 benches/linear.py"
    #[arg(long)]
    rival: Option<String>,
}

impl Args {
    pub(in crate::bench) fn tables(&self) -> Fallible<()> {
        let gpu = Gpu::new(0)?;
        println!("{}", gpu.properties());
        let mut rival = self.rival.as_deref().map(Rival::start).transpose()?;
        for &model in &self.models {
            for &length in &self.lengths {
                let sizes = Sizes { batches: self.batches, heads: self.heads, length };
                println!("{}, {sizes}: {} samples", model.name(), self.rounds.rounds);
                let mut problem = Problem::new(&gpu, model, sizes)?;
                let request = format!("begin {} {} {} {length}", model.name(), self.batches, self.heads);
                let rival = rival.as_mut().map(|rival| (rival, request.as_str()));
                let rate = ("TB/s", model.bytes(sizes) / 1e6);
                self.rounds.table(&["warpwright".into()], |_| problem.time(), rival, rate)?;
            }
        }
        Ok(())
    }
}
