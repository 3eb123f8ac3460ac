//! The times of contenders that are launched in turn.

use std::time::{Duration, Instant};

use cudarc::driver::CudaStream;
use warpwright::gpu::time;

use super::Failed;

/// The times of a contender in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Samples {
    sorted: Vec<f64>,
}

impl Samples {
    pub(super) fn new(mut micros: Vec<f64>) -> Self {
        micros.sort_by(f64::total_cmp);
        Self { sorted: micros }
    }

    /// Returns the median; NaN without samples.
    pub(super) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the sample nearest to the quantile `part` (0 to 1); NaN without samples.
    pub(super) fn quantile(&self, part: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1);
        self.sorted.get((last as f64 * part).round() as usize).copied().unwrap_or(f64::NAN)
    }
}

/// How often contenders are timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampling {
    pub(super) rounds: usize,
    pub(super) warm_up: Duration,
}

/// The minimum time of a sample in microseconds. Shorter launches are timed in batches, because event timestamps are coarse.
const SAMPLE: f64 = 300.0;

/// The maximum number of launches in a sample.
const BATCH: f64 = 20.0;

impl Sampling {
    /// Times `count` contenders in turn, in a different order each round, so that all run at the same clock and temperature.
    /// `launch(contender, i)` queues a launch; `i` is the number of the launch and selects buffers.
    pub(super) fn take(
        self,
        stream: &CudaStream,
        count: usize,
        mut launch: impl FnMut(usize, usize) -> Result<(), Failed>,
    ) -> Result<Vec<Samples>, Failed> {
        let one = |contender| {
            let micros = time(stream, 1, 1, |i| launch(contender, i))?.median();
            Ok::<_, Failed>((SAMPLE / micros).clamp(1.0, BATCH) as usize)
        };
        let batches = (0..count).map(one).collect::<Result<Vec<_>, _>>()?;
        let mut sample = |contender: usize, i: usize| {
            (0..batches[contender]).try_for_each(|at| launch(contender, i * batches[contender] + at))
        };
        let start = Instant::now();
        while start.elapsed() < self.warm_up {
            (0..count).try_for_each(|contender| sample(contender, contender))?;
            stream.synchronize().map_err(Failed::of)?;
        }
        let order = order(self.rounds, count);
        let timings = time(stream, 0, order.len(), |i| sample(order[i], i))?;
        let mut micros = vec![Vec::new(); count];
        for (&contender, time) in order.iter().zip(timings.micros()) {
            micros[contender].push(time / batches[contender] as f64);
        }
        Ok(micros.into_iter().map(Samples::new).collect())
    }
}

/// Returns the index of the contender for each sample. Every round contains each contender, in ascending or descending order from a varying
/// start.
pub(super) fn order(rounds: usize, count: usize) -> Vec<usize> {
    let round = |round: usize| {
        let step = if round.is_multiple_of(2) { 1 } else { count - 1 };
        (0..count).map(move |i| (i * step + round / 2) % count)
    };
    (0..rounds).flat_map(round).collect()
}

/// Returns the geometric mean; NaN if there are no numbers.
pub(super) fn geometric_mean(numbers: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        numbers.into_iter().fold((0.0, 0), |(sum, count), number| (sum + number.ln(), count + 1));
    (sum / f64::from(count)).exp()
}

#[cfg(test)]
mod tests {
    use super::{Samples, geometric_mean, order};

    #[test]
    fn quantiles_are_of_sorted_samples() {
        let samples = Samples::new(vec![5.0, 1.0, 4.0, 2.0, 3.0]);
        assert_eq!([0.0, 0.1, 0.5, 0.75, 1.0].map(|part| samples.quantile(part)), [1.0, 1.0, 3.0, 4.0, 5.0]);
        assert_eq!(Samples::new(vec![7.0]).median(), 7.0);
        assert!(Samples::new(vec![]).median().is_nan());
    }

    #[test]
    fn every_round_has_each_contender_once() {
        for count in 1..8 {
            for round in order(10, count).chunks(count) {
                let mut sorted = round.to_vec();
                sorted.sort_unstable();
                assert_eq!(sorted, (0..count).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn a_contender_has_several_predecessors() {
        let order = order(8, 5);
        let mut before_0: Vec<_> = order.windows(2).filter(|pair| pair[1] == 0).map(|pair| pair[0]).collect();
        before_0.sort_unstable();
        before_0.dedup();
        assert!(before_0.len() > 1, "{before_0:?}");
    }

    #[test]
    fn means_are_geometric() {
        assert!((geometric_mean([2.0, 8.0]) - 4.0).abs() < 1e-12);
        assert!(geometric_mean([]).is_nan());
    }
}
