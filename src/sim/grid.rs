//! Runs all clusters of a grid: side by side where they are independent, taking turns where they communicate.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::machine::{MULTIPROCESSORS, Machine};
use super::module::Module;
use super::report::{Counts, Finding, Report};
use super::unit::{Progress, Unit};

/// Reports blocks finished and blocks in all.
pub(super) type OnProgress<'a> = dyn Fn(u64, u64) + Send + Sync + 'a;

/// Threads one multiprocessor holds at a time.
const RESIDENT_THREADS: u32 = 2048;

/// Runs the grid.
pub(super) fn run(
    machine: &Machine<'_>,
    module: &Module,
    progress: &OnProgress<'_>,
) -> Result<Report, Box<Finding>> {
    let units: u64 = machine.clusters().iter().map(|&n| u64::from(n)).product();
    if machine.parallel {
        side_by_side(machine, module, units, progress)
    } else {
        in_turns(machine, module, units, progress)
    }
}

/// What the clusters left behind, by number.
#[derive(Default)]
struct Results {
    printed: BTreeMap<u64, Vec<String>>,
    counts: Counts,
    /// The first cluster that failed.
    failed: Option<(u64, Box<Finding>)>,
}

impl Results {
    fn finished(&mut self, unit: &mut Unit<'_>) {
        let printed = unit.take_printed();
        if !printed.is_empty() {
            self.printed.insert(unit.index, printed);
        }
        self.counts.add(unit.counts());
    }

    fn failed(&mut self, index: u64, finding: Box<Finding>) {
        if self.failed.as_ref().is_none_or(|(at, _)| index < *at) {
            self.failed = Some((index, finding));
        }
    }

    fn report(self, blocks: u64) -> Result<Report, Box<Finding>> {
        match self.failed {
            Some((_, finding)) => Err(finding),
            None => Ok(Report {
                printed: self.printed.into_values().flatten().collect(),
                blocks,
                counts: self.counts,
                findings: vec![],
            }),
        }
    }
}

/// Independent clusters, on all cores. The failure that is reported is that of the lowest number, whoever found it.
fn side_by_side(
    machine: &Machine<'_>,
    module: &Module,
    units: u64,
    progress: &OnProgress<'_>,
) -> Result<Report, Box<Finding>> {
    let next = AtomicU64::new(0);
    let done = AtomicU64::new(0);
    let first_failure = AtomicU64::new(u64::MAX);
    let results = Mutex::new(Results::default());
    let size = u64::from(machine.cluster_size());
    let work = || {
        let mut unit = Unit::new(machine);
        let mut counts = Counts::default();
        loop {
            let index = next.fetch_add(1, Relaxed);
            if index >= units || index > first_failure.load(Relaxed) {
                break;
            }
            unit.start(index);
            let outcome = unit.finish(module);
            counts.add(unit.counts());
            let printed = unit.take_printed();
            if outcome.is_err() || !printed.is_empty() {
                let mut results = results.lock().unwrap_or_else(|e| e.into_inner());
                if !printed.is_empty() {
                    results.printed.insert(index, printed);
                }
                if let Err(finding) = outcome {
                    first_failure.fetch_min(index, Relaxed);
                    results.failed(index, finding);
                }
            }
            progress(size * (done.fetch_add(1, Relaxed) + 1), size * units);
        }
        results.lock().unwrap_or_else(|e| e.into_inner()).counts.add(counts);
    };
    let workers = (rayon::current_num_threads() as u64).min(units);
    if workers <= 1 {
        work();
    } else {
        rayon::scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| work())));
    }
    results.into_inner().unwrap_or_else(|e| e.into_inner()).report(size * units)
}

/// Communicating clusters: as many as a GPU would hold at once take turns in a fixed order.
fn in_turns(
    machine: &Machine<'_>,
    module: &Module,
    units: u64,
    progress: &OnProgress<'_>,
) -> Result<Report, Box<Finding>> {
    let size = u64::from(machine.cluster_size());
    let blocks_per_processor = (RESIDENT_THREADS / machine.threads().max(1)).clamp(1, 32);
    let resident = (u64::from(MULTIPROCESSORS * blocks_per_processor) / size).max(1);
    let mut results = Results::default();
    let mut running: VecDeque<Unit<'_>> = VecDeque::new();
    let mut spare: Vec<Unit<'_>> = vec![];
    let (mut next, mut done) = (0, 0);
    // Units in a row that could not move.
    let mut stuck = 0;
    loop {
        let mut unit = match running.pop_front() {
            Some(unit) => unit,
            None if next < units => begin(machine, &mut spare, &mut next),
            None => break,
        };
        match unit.round(module)? {
            Progress::Finished => {
                stuck = 0;
                done += 1;
                results.finished(&mut unit);
                spare.push(unit);
                progress(size * done, size * units);
                continue;
            }
            Progress::Moved => stuck = 0,
            Progress::Stuck => stuck += 1,
        }
        let alone = running.len() as u64 + 1;
        if stuck >= alone && (next >= units || alone >= resident) {
            return Err(unit.stuck(module));
        }
        running.push_back(unit);
        if next < units && alone < resident {
            let unit = begin(machine, &mut spare, &mut next);
            running.push_front(unit);
        }
    }
    results.report(size * units)
}

fn begin<'a>(machine: &'a Machine<'a>, spare: &mut Vec<Unit<'a>>, next: &mut u64) -> Unit<'a> {
    let mut unit = spare.pop().unwrap_or_else(|| Unit::new(machine));
    unit.start(*next);
    *next += 1;
    unit
}
