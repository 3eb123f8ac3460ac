//! Runs all clusters of a grid, concurrently if they are independent, or in turns if they communicate.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::check::counting::complete;
use crate::check::global::races_between_blocks;
use crate::machine::heap::Heap;
use crate::machine::printed::GridPrinted;
use crate::machine::{MULTIPROCESSORS, Machine};
use crate::program::code::{Code, Control, Op};
use crate::program::module::Module;
use crate::report::{Contraction, Counts, Finding, Footprint, LineCounts, Report};
use crate::schedule::cluster::{ClusterRun, Progress};
use crate::schedule::random::Random;
use crate::shadow::footprint::Touched;

/// A listener that receives the number of completed blocks and the total number of blocks.
pub(crate) type OnProgress<'a> = dyn Fn(u64, u64) + Send + Sync + 'a;

/// The maximum number of resident threads per multiprocessor.
const RESIDENT_THREADS: u32 = 2048;

/// Runs the grid.
pub(crate) fn run(
    machine: &Machine<'_>,
    module: &Module,
    progress: &OnProgress<'_>,
) -> Result<Report, Box<Finding>> {
    let clusters = machine.cluster_count();
    if machine.parallel {
        side_by_side(machine, module, clusters, progress)
    } else {
        in_turns(machine, module, clusters, progress)
    }
}

/// The results of the clusters, by index.
#[derive(Default)]
struct Results {
    printed: GridPrinted,
    warp_instructions: u64,
    profile: Vec<Counts>,
    /// Findings that did not end the run, by cluster.
    findings: BTreeMap<u64, Vec<Finding>>,
    /// Notes, by cluster.
    notes: BTreeMap<u64, Vec<Finding>>,
    /// The first cluster that failed.
    failed: Option<(u64, Box<Finding>)>,
}

impl Results {
    /// Takes over the findings and the output of a cluster.
    fn take(&mut self, cluster: &mut ClusterRun<'_>) {
        let (printed, findings) = (cluster.take_printed(), cluster.take_findings());
        self.printed.insert(cluster.number(), printed);
        if !findings.is_empty() {
            self.findings.insert(cluster.number(), findings);
        }
        let notes = cluster.take_notes();
        if !notes.is_empty() {
            self.notes.insert(cluster.number(), notes);
        }
    }

    fn failed(&mut self, index: u64, finding: Box<Finding>) {
        if self.failed.as_ref().is_none_or(|(at, _)| index < *at) {
            self.failed = Some((index, finding));
        }
    }

    fn count(&mut self, warp_instructions: u64, profile: &[Counts]) {
        self.warp_instructions += warp_instructions;
        self.profile.resize(profile.len().max(self.profile.len()), Counts::default());
        self.profile.iter_mut().zip(profile).for_each(|(all, more)| all.add(more));
    }

    fn report(self, machine: &Machine<'_>, module: &Module, blocks: u64) -> Result<Report, Box<Finding>> {
        let stopped = self.failed.is_some();
        let mut findings = vec![];
        let last = self.failed.as_ref().map_or(u64::MAX, |(at, _)| *at);
        let unordered = races_between_blocks(machine, module);
        // The findings of later clusters are omitted, because whether these clusters ran depends on the timing of host threads.
        let until_last = |lists: BTreeMap<u64, Vec<Finding>>| {
            lists.into_iter().filter(move |(at, _)| *at <= last).flat_map(|(_, found)| found)
        };
        let printed = self.printed.into_texts(last);
        if let Some(print) = machine.print {
            printed.iter().for_each(|text| print(text));
        }
        let known = until_last(self.findings);
        for finding in known.chain(self.failed.map(|(_, finding)| *finding)).chain(unordered) {
            if machine.keep_going == 0 {
                return Err(Box::new(finding));
            }
            if !finding.is_in(&findings) && findings.len() < machine.keep_going {
                findings.push(finding);
            }
        }
        let mut notes: Vec<Finding> = vec![];
        for note in until_last(self.notes) {
            if !note.is_in(&notes) {
                notes.push(note);
            }
        }
        let mut profile = self.profile;
        let mut counts = Counts::default();
        let mut statements = 0;
        for (line, instr) in profile.iter_mut().zip(&machine.code.instrs) {
            if matches!(instr.op, Op::Control(Control::Uniform(_))) {
                // Pragmas are not hardware instructions.
                statements += std::mem::take(line).warp_instructions;
            }
            complete(&instr.op, line);
            counts.add(line);
        }
        counts.warp_instructions = self.warp_instructions - statements;
        let lines = profile.iter().enumerate().filter(|(_, counts)| counts.warp_instructions != 0);
        Ok(Report {
            printed,
            blocks,
            counts,
            lines: lines.map(|(pc, counts)| line_counts(machine.code, module, pc, *counts)).collect(),
            contractions: contractions(machine.code),
            leaks: machine.memory.heap().filter(|_| machine.code.uses_heap).map_or(vec![], Heap::leaks),
            findings,
            notes,
            footprint: machine.shadow.touched.as_ref().map_or_else(Footprint::default, Touched::footprint),
            stopped,
        })
    }
}

fn contractions(code: &Code) -> Vec<Contraction> {
    let line = |at: u32| code.meta[at as usize].line;
    let one =
        |c: &crate::program::code::Contraction| Contraction { product: line(c.product), sum: line(c.sum) };
    code.contractions.iter().map(one).collect()
}

fn line_counts(code: &Code, module: &Module, pc: usize, counts: Counts) -> LineCounts {
    let meta = &code.meta[pc];
    let mnemonic = code.mnemonics[meta.mnemonic as usize].to_string();
    LineCounts {
        line: meta.line,
        column: meta.column,
        class: meta.class,
        mnemonic,
        source: module.source_of(code, meta),
        counts,
    }
}

/// Runs independent clusters on all cores. The failure of the cluster with the lowest index is reported, regardless of which thread found
/// it.
fn side_by_side(
    machine: &Machine<'_>,
    module: &Module,
    clusters: u64,
    progress: &OnProgress<'_>,
) -> Result<Report, Box<Finding>> {
    let done = AtomicU64::new(0);
    let first_failure = AtomicU64::new(u64::MAX);
    let results = Mutex::new(Results::default());
    let stuck = Mutex::new(vec![]);
    let lock = || results.lock().unwrap_or_else(|e| e.into_inner());
    let size = u64::from(machine.cluster_size());
    let tell = || progress(size * (done.fetch_add(1, Relaxed) + 1), size * clusters);
    let work = || {
        let mut cluster = ClusterRun::new(machine);
        let mut profile = machine.empty_profile();
        let mut warp_instructions = 0;
        while let Some(index) = machine.take_cluster() {
            if index > first_failure.load(Relaxed) {
                break;
            }
            cluster.start(index);
            cluster.swap_profile(&mut profile);
            let outcome = cluster.run(module);
            cluster.swap_profile(&mut profile);
            if outcome == Ok(Progress::Stuck) && cluster.looks_at_global() {
                let mut stuck = stuck.lock().unwrap_or_else(|e| e.into_inner());
                if stuck.len() < MOST_STUCK {
                    stuck.push(std::mem::replace(&mut cluster, ClusterRun::new(machine)));
                    continue;
                }
            }
            let outcome = ended(&mut cluster, outcome, module);
            warp_instructions += cluster.warp_instructions();
            if outcome.is_err() || cluster.has_news() {
                lock().take(&mut cluster);
            }
            if let Err(finding) = outcome {
                first_failure.fetch_min(index, Relaxed);
                lock().failed(index, finding);
            }
            tell();
        }
        lock().count(warp_instructions, &profile);
    };
    let workers = (rayon::current_num_threads() as u64).min(clusters);
    if workers <= 1 {
        work();
    } else {
        rayon::scope(|scope| (0..workers).for_each(|_| scope.spawn(|_| work())));
    }
    let mut results = results.into_inner().unwrap_or_else(|e| e.into_inner());
    let mut stuck = stuck.into_inner().unwrap_or_else(|e| e.into_inner());
    stuck.retain(|cluster| cluster.number() < first_failure.load(Relaxed));
    stuck.sort_by_key(|cluster| cluster.number());
    try_again(machine, module, stuck, &mut results, &tell);
    results.report(machine, module, size * clusters)
}

/// The maximum number of clusters that may be waiting for other clusters that run concurrently.
const MOST_STUCK: usize = 256;

/// Records the outcome of a cluster that has finished or is stuck.
fn ended(
    cluster: &mut ClusterRun<'_>,
    outcome: Result<Progress, Box<Finding>>,
    module: &Module,
) -> Result<(), Box<Finding>> {
    match outcome? {
        Progress::Stuck => Err(cluster.stuck(module)),
        Progress::Finished | Progress::Moved => Ok(()),
    }
}

/// Runs the clusters that waited for stores by other clusters, after all others have ended. They run one after the other, as long as any
/// of them makes progress.
fn try_again(
    machine: &Machine<'_>,
    module: &Module,
    mut stuck: Vec<ClusterRun<'_>>,
    results: &mut Results,
    tell: &dyn Fn(),
) {
    let mut profile = machine.empty_profile();
    let mut moved = true;
    while moved && !stuck.is_empty() {
        moved = false;
        for mut cluster in std::mem::take(&mut stuck) {
            let before = cluster.events();
            cluster.swap_profile(&mut profile);
            let outcome = cluster.run(module);
            cluster.swap_profile(&mut profile);
            moved |= cluster.events() != before;
            match outcome {
                Ok(Progress::Stuck) => stuck.push(cluster),
                outcome => {
                    settle(results, &mut cluster, outcome.map(|_| ()));
                    tell();
                }
            }
        }
    }
    for cluster in &mut stuck {
        let finding = cluster.stuck(module);
        settle(results, cluster, Err(finding));
    }
    results.count(0, &profile);
}

/// Records the results of a cluster that was run again.
fn settle(results: &mut Results, cluster: &mut ClusterRun<'_>, outcome: Result<(), Box<Finding>>) {
    results.take(cluster);
    results.warp_instructions += cluster.warp_instructions();
    if let Err(finding) = outcome {
        results.failed(cluster.number(), finding);
    }
}

/// Runs communicating clusters. The clusters that would be resident on a GPU take turns in a fixed order.
fn in_turns(
    machine: &Machine<'_>,
    module: &Module,
    clusters: u64,
    progress: &OnProgress<'_>,
) -> Result<Report, Box<Finding>> {
    let size = u64::from(machine.cluster_size());
    let blocks_per_processor = (RESIDENT_THREADS / machine.threads().max(1)).clamp(1, 32);
    let resident = (u64::from(MULTIPROCESSORS * blocks_per_processor) / size).max(1);
    let mut results = Results::default();
    let mut profile = machine.empty_profile();
    let mut running: VecDeque<ClusterRun<'_>> = VecDeque::new();
    let mut spare: Vec<ClusterRun<'_>> = vec![];
    let (mut done, mut warp_instructions) = (0, 0);
    let mut random = machine.seed.map(Random::new);
    // The number of consecutive clusters that could not make progress, and the number of changes to memory so far.
    let (mut stuck, mut changes) = (0, 0);
    loop {
        if let Some(random) = &mut random
            && !running.is_empty()
        {
            running.rotate_left(random.below(running.len() as u64) as usize);
        }
        let mut cluster = match running.pop_front() {
            Some(cluster) => cluster,
            None => match begin(machine, &mut spare) {
                Some(cluster) => cluster,
                None => break,
            },
        };
        cluster.swap_profile(&mut profile);
        let outcome = cluster.round(module, &mut changes);
        cluster.swap_profile(&mut profile);
        let outcome = match outcome {
            Ok(Progress::Stuck) => {
                stuck += 1;
                let alone = running.len() as u64 + 1;
                // If turns are random, a cluster that can make progress may not be chosen for a long time.
                let patience = if random.is_some() { 64 * alone } else { alone };
                if stuck >= patience && (machine.next_cluster.load(Relaxed) >= clusters || alone >= resident)
                {
                    let others = running.iter_mut().min_by_key(|other| other.explains());
                    let cause = others.filter(|other| other.explains() < cluster.explains());
                    Err(cause.unwrap_or(&mut cluster).stuck(module))
                } else {
                    Ok(Progress::Stuck)
                }
            }
            other => {
                stuck = 0;
                other
            }
        };
        match outcome {
            Err(finding) => {
                results.take(&mut cluster);
                results.failed(u64::MAX, finding);
                for cluster in &mut running {
                    results.take(cluster);
                }
                warp_instructions += cluster.warp_instructions();
                break;
            }
            Ok(Progress::Finished) => {
                done += 1;
                warp_instructions += cluster.warp_instructions();
                results.take(&mut cluster);
                spare.push(cluster);
                progress(size * done, size * clusters);
                continue;
            }
            Ok(_) => running.push_back(cluster),
        }
        if (running.len() as u64) < resident
            && let Some(cluster) = begin(machine, &mut spare)
        {
            running.push_front(cluster);
        }
    }
    results.count(warp_instructions, &profile);
    results.report(machine, module, size * clusters)
}

/// Prepares the next cluster, if any remain.
fn begin<'a>(machine: &'a Machine<'a>, spare: &mut Vec<ClusterRun<'a>>) -> Option<ClusterRun<'a>> {
    let next = machine.take_cluster()?;
    let mut cluster = spare.pop().unwrap_or_else(|| ClusterRun::new(machine));
    cluster.start(next);
    Some(cluster)
}
