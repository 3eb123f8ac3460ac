//! The search for the fastest kernel of a problem.

use warpwright::{kernels::Gemm, tiles::Schedule};

use super::super::described;

/// A kernel, and its median time in microseconds.
pub(super) type Timed = (Gemm, f64);

/// The reason that a kernel cannot be used.
pub(super) type Failure = String;

/// Launches of kernels for one problem.
pub(super) trait Launches {
    /// Launches each kernel once, and then times the kernels that run without an error, in turn. Returns a time or an error for each
    /// kernel.
    fn times(&mut self, kernels: &[Gemm], rounds: usize) -> Vec<Result<f64, Failure>>;

    /// Compares the result of a kernel with a reference.
    fn verify(&mut self, kernel: Gemm) -> Result<(), Failure>;

    /// Returns the time in microseconds that the host takes to queue a launch of a kernel.
    fn host_micros(&mut self, kernel: Gemm) -> Result<f64, Failure>;
}

/// The result of a search.
#[derive(Debug, PartialEq)]
pub(super) struct Outcome {
    /// The fastest kernel, or the reason that there is none.
    pub(super) fastest: Result<Timed, Failure>,
    /// The kernels that cannot be used, with the reasons.
    pub(super) failures: Vec<(Gemm, Failure)>,
}

/// The number of samples of each kernel in the first round, and of the fastest kernels with each order of tiles in the second.
const ROUNDS: [usize; 2] = [5, 11];
/// The maximum time of kernels in the second round, relative to the fastest kernel, and the maximum number of these kernels.
const NEAR: f64 = 1.05;
const MOST: usize = 3;
/// The numbers of rows of tiles per group.
const GROUPS: [u32; 4] = [4, 8, 16, 32];
/// The time of a kernel, relative to the time that the host takes to queue a launch, below which the host may determine the measured time.
const HOST: f64 = 1.2;

/// Returns the fastest candidate whose result, which has `rows` rows, is correct.
pub(super) fn fastest(launches: &mut impl Launches, candidates: &[Gemm], rows: u32) -> Outcome {
    let mut failures = Vec::new();
    let first = sorted(launches, candidates, ROUNDS[0], &mut failures);
    let least = first.first().map_or(f64::NAN, |(_, micros)| *micros);
    let near = first.into_iter().take_while(|(_, micros)| *micros <= least * NEAR).take(MOST);
    let second: Vec<Gemm> = near.flat_map(|(gemm, _)| in_groups(gemm, rows)).collect();
    let second = sorted(launches, &second, ROUNDS[1], &mut failures);
    let verified = second.into_iter().find(|&(gemm, _)| match launches.verify(gemm) {
        Ok(()) => true,
        Err(why) => {
            failures.push((gemm, why));
            false
        }
    });
    let fastest = match verified {
        Some(timed) => measured(launches, timed),
        None => Err("no kernel computed the product".into()),
    };
    Outcome { fastest, failures }
}

/// Times kernels, and returns the kernels that run, fastest first.
fn sorted(
    launches: &mut impl Launches,
    kernels: &[Gemm],
    rounds: usize,
    failures: &mut Vec<(Gemm, Failure)>,
) -> Vec<Timed> {
    let mut timed = Vec::new();
    for (&gemm, time) in kernels.iter().zip(launches.times(kernels, rounds)) {
        match time {
            Ok(micros) => timed.push((gemm, micros)),
            Err(why) => failures.push((gemm, why)),
        }
    }
    timed.sort_by(|a, b| a.1.total_cmp(&b.1));
    timed
}

/// Returns a kernel with several orders of tiles, for a result with `rows` rows.
fn in_groups(gemm: Gemm, rows: u32) -> impl Iterator<Item = Gemm> {
    // A group cannot have more rows of tiles than the result, so larger groups are equivalent.
    let tiles = rows.div_ceil(gemm.tile.size()[0]);
    let groups = GROUPS.into_iter().filter(move |&group| group == GROUPS[0] || group / 2 < tiles);
    groups.map(move |group| Gemm { schedule: Schedule::grouped(group), ..gemm })
}

/// Returns a kernel with its time, unless the host may determine the time.
fn measured(launches: &mut impl Launches, (gemm, micros): Timed) -> Result<Timed, Failure> {
    let host = launches.host_micros(gemm)?;
    if micros < HOST * host {
        return Err(format!(
            "expected a kernel that takes {HOST} times as long as the host takes to queue it ({host:.1} µs), found {micros:.1} µs for {}; \
             build `warpwright` with --release for small sizes",
            described(&gemm)
        ));
    }
    Ok((gemm, micros))
}

#[cfg(test)]
mod tests {
    use super::{Failure, GROUPS, Gemm, Launches, Outcome, Schedule, fastest};
    use warpwright::{
        kernels::{GemmTile, MatrixOrder},
        ptx::Target,
    };

    /// Fake launches of kernels with the times that `micros` returns.
    struct Fake<F> {
        micros: F,
        /// The tile whose result is wrong.
        wrong: Option<GemmTile>,
        host: f64,
        /// The kernels of each round.
        rounds: Vec<Vec<Gemm>>,
    }

    impl<F: Fn(&Gemm) -> Result<f64, Failure>> Fake<F> {
        fn new(micros: F) -> Self {
            Self { micros, wrong: None, host: 1.0, rounds: Vec::new() }
        }

        fn search(&mut self, rows: u32) -> Outcome {
            let candidates = Gemm::candidates(Target::SM_90A, MatrixOrder::Row, MatrixOrder::Col, rows);
            fastest(self, &candidates.collect::<Vec<_>>(), rows)
        }
    }

    impl<F: Fn(&Gemm) -> Result<f64, Failure>> Launches for Fake<F> {
        fn times(&mut self, kernels: &[Gemm], _: usize) -> Vec<Result<f64, Failure>> {
            self.rounds.push(kernels.to_vec());
            kernels.iter().map(&self.micros).collect()
        }

        fn verify(&mut self, kernel: Gemm) -> Result<(), Failure> {
            if self.wrong == Some(kernel.tile) { Err("wrong".into()) } else { Ok(()) }
        }

        fn host_micros(&mut self, _: Gemm) -> Result<f64, Failure> {
            Ok(self.host)
        }
    }

    /// Returns 100 µs for a 128×192 tile in groups of 16, and at least 101 µs for others.
    fn micros(gemm: &Gemm) -> f64 {
        let of_tile = match gemm.tile {
            GemmTile::T128x192 => 100.0,
            GemmTile::T128x128 => 104.0,
            _ => 200.0,
        };
        let [rows, cols] = gemm.cluster;
        let of_group = if gemm.schedule.group() == 16 { 0.0 } else { 1.0 };
        of_tile + f64::from(rows + cols - 2) + of_group
    }

    #[test]
    fn the_fastest_kernel_and_order_are_found() {
        let mut fake = Fake::new(|gemm: &Gemm| Ok(micros(gemm)));
        let Outcome { fastest, failures } = fake.search(4096);
        let (gemm, micros) = fastest.expect("one is the fastest");
        assert_eq!(
            (gemm.tile, gemm.cluster, gemm.schedule),
            (GemmTile::T128x192, [1, 1], Schedule::grouped(16))
        );
        assert_eq!((micros, failures), (100.0, vec![]));
        let [first, second] = &fake.rounds[..] else { panic!("{} rounds", fake.rounds.len()) };
        assert!(first.len() > 10);
        // The three fastest kernels, with each order.
        assert_eq!(second.len(), 3 * GROUPS.len());
        // A result with one row of tiles has only one order.
        fake.search(64);
        assert!(fake.rounds[3].iter().all(|gemm| gemm.schedule.group() == GROUPS[0]));
    }

    #[test]
    fn a_kernel_that_fails_does_not_affect_the_others() {
        let fails = |gemm: &Gemm| gemm.tile == GemmTile::T128x192 && gemm.cluster == [1, 1];
        let mut fake =
            Fake::new(|gemm: &Gemm| if fails(gemm) { Err("failed".into()) } else { Ok(micros(gemm)) });
        let Outcome { fastest, failures } = fake.search(4096);
        let (gemm, micros) = fastest.expect("the others run");
        assert_eq!((gemm.tile, micros), (GemmTile::T128x192, 101.0));
        assert_ne!(gemm.cluster, [1, 1]);
        let [(failed, why)] = &failures[..] else { panic!("{failures:?}") };
        assert!(fails(failed) && why == "failed");
    }

    #[test]
    fn a_kernel_with_a_wrong_result_is_not_the_fastest() {
        let mut fake = Fake::new(|gemm: &Gemm| Ok(micros(gemm)));
        fake.wrong = Some(GemmTile::T128x192);
        // Only the wrong kernels are near the fastest kernel.
        let Outcome { fastest, failures } = fake.search(4096);
        assert_eq!(fastest, Err("no kernel computed the product".into()));
        assert_eq!(failures.len(), 3 * GROUPS.len());
        assert!(failures.iter().all(|(gemm, why)| gemm.tile == GemmTile::T128x192 && why == "wrong"));
        let is_near = |gemm: &Gemm| gemm.tile == GemmTile::T128x128 && gemm.cluster == [1, 1];
        let mut fake = Fake::new(|gemm: &Gemm| Ok(if is_near(gemm) { 100.5 } else { micros(gemm) }));
        fake.wrong = Some(GemmTile::T128x192);
        let winner = fake.search(4096).fastest.map(|(gemm, _)| gemm.tile);
        assert_eq!(winner, Ok(GemmTile::T128x128));
    }

    #[test]
    fn without_a_kernel_that_runs_there_is_none() {
        let mut fake = Fake::new(|_: &Gemm| Err("failed".into()));
        let Outcome { fastest, failures } = fake.search(16);
        assert_eq!(fastest, Err("no kernel computed the product".into()));
        assert_eq!(failures.len(), fake.rounds[0].len());
    }

    #[test]
    fn times_of_the_host_are_rejected() {
        let mut fake = Fake::new(|gemm: &Gemm| Ok(micros(gemm)));
        fake.host = 90.0;
        let why = fake.search(4096).fastest.expect_err("the host takes as long");
        assert!(why.contains("(90.0 µs), found 100.0 µs for 128x192"), "{why}");
        fake.host = 80.0;
        assert!(fake.search(4096).fastest.is_ok());
    }
}
