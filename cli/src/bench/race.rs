//! Timing of contenders in this process and in a rival's process, in turn.

use super::{
    Fallible,
    rival::Rival,
    samples::{Samples, order},
};

/// How often contenders are timed.
#[derive(clap::Args)]
pub(super) struct Rounds {
    /// Number of samples per contender
    #[arg(long, default_value_t = 20)]
    pub(super) rounds: usize,
    /// Number of warm-up rounds
    #[arg(long, default_value_t = 3)]
    warm_up: usize,
}

/// A contender in the table.
struct Row {
    name: String,
    is_rival: bool,
    samples: Samples,
}

impl Rounds {
    /// Times all contenders, in a different order each round, and prints a table with the rate, which is `work` divided by the time.
    pub(super) fn table(
        &self,
        ours: &[String],
        mut time: impl FnMut(usize) -> Fallible<f64>,
        rival: Option<(&mut Rival, &str)>,
        (unit, work): (&str, f64),
    ) -> Fallible<()> {
        let (mut rival, others) = match rival {
            Some((rival, problem)) => {
                let names = rival.begin(problem)?;
                (Some(rival), names)
            }
            None => (None, Vec::new()),
        };
        let count = ours.len() + others.len();
        let mut micros = vec![Vec::new(); count];
        for (sample, at) in order(self.warm_up + self.rounds, count).into_iter().enumerate() {
            let time = match (at.checked_sub(ours.len()), rival.as_mut()) {
                (Some(other), Some(rival)) => rival.time(other)?,
                _ => time(at)?,
            };
            if sample >= self.warm_up * count {
                micros[at].push(time);
            }
        }
        let names = ours.iter().map(|name| (name.clone(), false));
        let names = names.chain(others.into_iter().map(|name| (name, true)));
        let row = |((name, is_rival), micros)| Row { name, is_rival, samples: Samples::new(micros) };
        print(&names.zip(micros).map(row).collect::<Vec<_>>(), unit, work);
        Ok(())
    }
}

fn print(rows: &[Row], unit: &str, work: f64) {
    println!("    {:<44} {:>9} {unit:>9} {:>9}  10 % … 90 %", "", "µs", "of best");
    let rivals = rows.iter().filter(|row| row.is_rival);
    let best = rivals.map(|row| row.samples.median()).fold(f64::INFINITY, f64::min);
    for row in rows {
        let (median, [low, high]) = (row.samples.median(), [0.1, 0.9].map(|part| row.samples.quantile(part)));
        let ratio = if best.is_finite() { format!("{:.3}", best / median) } else { String::new() };
        let rate = work / median;
        println!("    {:<44} {median:>9.1} {rate:>9.3} {ratio:>9}  {low:.1} … {high:.1}", row.name);
    }
}
