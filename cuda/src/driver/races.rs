//! Races: unordered operations that access the same memory.
//!
//! Operations are executed one after the other, so races are determined from the order of operations, not from their times. Two operations
//! race if neither follows the other and one of them writes bytes that the other accesses.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use warpwright_sim::Footprint;

use crate::config::config;
use crate::driver::operation::Execution;
use crate::driver::order::Position;
use crate::driver::{memory, order};
use crate::report;

/// The accesses of an operation.
#[derive(Debug)]
struct Record {
    execution: Execution,
    /// A description of the operation, such as "a copy".
    what: String,
    footprint: Footprint,
}

/// The recorded operations that may be concurrent with later ones.
static RECORDS: Mutex<Vec<Arc<Record>>> = Mutex::new(vec![]);

/// The number of new records after which records that can no longer race are removed, and the maximum number of records that are kept.
const PRUNE: usize = 64;
const MOST: usize = 512;

/// Returns whether the accesses of an operation must be recorded.
pub(crate) fn is_watched(execution: &Execution) -> bool {
    execution.is_concurrent() && config().checks.stream_races
}

/// Records an operation that writes `bytes` bytes at `address`.
pub(crate) fn record_write(execution: &Execution, what: &str, address: u64, bytes: u64) {
    if bytes != 0 && is_watched(execution) {
        let written = Some(address..address + bytes).into_iter().collect();
        record(execution, what, Footprint { written, ..Footprint::default() });
    }
}

/// Records the accesses of an operation, and compares them with the accesses of operations that may be concurrent with it.
pub(crate) fn record(execution: &Execution, what: &str, footprint: Footprint) {
    if !is_watched(execution) {
        return;
    }
    let new = Arc::new(Record { execution: execution.clone(), what: what.to_string(), footprint });
    let others: Vec<Arc<Record>> = {
        let mut records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
        let others = records.iter().filter(|old| !execution.follows(&old.execution)).cloned().collect();
        if records.len() % PRUNE == PRUNE - 1 {
            prune(&mut records);
        }
        records.push(Arc::clone(&new));
        others
    };
    for old in others {
        if let Some((bytes, [first, second])) = conflict(&old.footprint, &new.footprint) {
            finding(&old, &new, &bytes, [first, second]);
        }
    }
}

/// Returns the positions of the recorded operations that have written any of `bytes`.
pub(crate) fn writers(bytes: &Range<u64>) -> Vec<Arc<Position>> {
    let bytes = std::slice::from_ref(bytes);
    let writes =
        |f: &Footprint| overlap(&f.written, bytes).or_else(|| overlap(&f.strongly_written, bytes)).is_some();
    let records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
    let written = records.iter().filter(|record| writes(&record.footprint));
    written.map(|record| Arc::clone(&record.execution.position)).collect()
}

/// Removes the records of operations that all later operations follow.
fn prune(records: &mut Vec<Arc<Record>>) {
    if order::is_idle() {
        records.retain(|record| !record.execution.position.is_known_to_host());
    }
    let excess = records.len().saturating_sub(MOST);
    records.drain(..excess);
}

fn finding(old: &Record, new: &Record, bytes: &Range<u64>, verbs: [&str; 2]) {
    let message = format!(
        "stream race: {} and {} access the same {} bytes and nothing orders them, at {}",
        old.what,
        new.what,
        bytes.end - bytes.start,
        memory::describe(bytes.start)
    );
    let side = |record: &Record, verb: &str| {
        format!("{} {verb} them in stream {}", record.what, record.execution.position.stream)
    };
    let [first, second] = [side(old, verbs[0]), side(new, verbs[1])];
    let sides = [(&*first, &old.execution.origin), (&*second, &new.execution.origin)];
    report::update(|run| run.host_finding("stream_race", message, &sides));
}

/// Returns the first range of bytes that both operations access and at least one writes, and the kind of each access. Two strong accesses
/// do not conflict.
fn conflict(a: &Footprint, b: &Footprint) -> Option<(Range<u64>, [&'static str; 2])> {
    const VERBS: [&str; 4] = ["reads", "writes", "reads", "writes"];
    let [a, b] = [a, b].map(|f| [&f.read, &f.written, &f.strongly_read, &f.strongly_written]);
    // Ordinary and strong writes, each with the kinds of accesses that race with it.
    let pairs = [(1, 1), (1, 0), (0, 1), (1, 2), (2, 1), (1, 3), (3, 1), (3, 0), (0, 3)];
    pairs.into_iter().find_map(|(i, j)| Some((overlap(a[i], b[j])?, [VERBS[i], VERBS[j]])))
}

/// Returns the first range that two ascending lists of ranges have in common.
fn overlap(a: &[Range<u64>], b: &[Range<u64>]) -> Option<Range<u64>> {
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let common = a[i].start.max(b[j].start)..a[i].end.min(b[j].end);
        if !common.is_empty() {
            return Some(common);
        }
        if a[i].end <= b[j].end { i += 1 } else { j += 1 }
    }
    None
}
