//! The order of operations, which determines which operations are guaranteed to be complete before others begin.
//!
//! An operation follows the earlier operations of its stream, the operations for which its stream waits, and the operations that the host
//! knew to be complete when it submitted the operation. After a wait for a value in memory, it also follows the operations that wrote the
//! value. All host threads count as one, because a thread that waits for an operation may inform the others.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Operations that are complete.
#[derive(Clone, Debug, Default)]
struct Known {
    /// All operations with numbers up to this one are complete.
    all: u64,
    /// For each stream, the number up to which its operations are complete.
    streams: BTreeMap<u64, u64>,
}

impl Known {
    fn contains(&self, position: &Position) -> bool {
        position.number <= self.all.max(self.streams.get(&position.stream).copied().unwrap_or(0))
    }

    fn learn_stream(&mut self, stream: u64, number: u64) {
        if number > self.all {
            let known = self.streams.entry(stream).or_insert(0);
            *known = number.max(*known);
        }
    }

    /// Adds an operation, and the operations that it follows.
    fn learn(&mut self, position: &Position) {
        self.learn_known(&position.known);
        self.learn_stream(position.stream, position.number);
    }

    /// Adds all operations in `other`.
    fn learn_known(&mut self, other: &Self) {
        self.learn_all(other.all);
        other.streams.iter().for_each(|(&stream, &number)| self.learn_stream(stream, number));
    }

    fn learn_all(&mut self, number: u64) {
        if number > self.all {
            self.all = number;
            self.streams.retain(|_, known| *known > number);
        }
    }
}

/// The position of an operation in the partial order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Position {
    pub(crate) stream: u64,
    /// The 1-based number of the operation in the order of submission.
    number: u64,
    known: Known,
    /// Whether the operation may be concurrent with operations of other streams.
    pub(crate) is_concurrent: bool,
}

/// The operations that the host knows to be complete.
static HOST: Mutex<Known> = Mutex::new(Known { all: 0, streams: BTreeMap::new() });

/// A completed wait for a value, and the operations that precede its completion. These operations were unknown when the operations after
/// the wait were submitted.
#[derive(Debug)]
struct EndedWait {
    wait: Position,
    after: Known,
}

/// The most recent completed waits for values, and the maximum number that is kept.
static WAITS: Mutex<Vec<EndedWait>> = Mutex::new(vec![]);
const MOST_WAITS: usize = 512;

/// The number of the last operation submitted.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The number of operations that have been submitted but are not complete.
static PENDING: AtomicUsize = AtomicUsize::new(0);

/// The number of streams that the program has created, and whether a default stream has been used.
static CREATED: AtomicUsize = AtomicUsize::new(0);
static USED_DEFAULT: AtomicBool = AtomicBool::new(false);

fn host() -> MutexGuard<'static, Known> {
    HOST.lock().unwrap_or_else(PoisonError::into_inner)
}

fn waits() -> MutexGuard<'static, Vec<EndedWait>> {
    WAITS.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Position {
    /// Returns the position of an operation that is being submitted to a stream and follows the operations `after`.
    pub(crate) fn next<'a>(stream: u64, is_default: bool, after: impl Iterator<Item = &'a Position>) -> Self {
        let mut known = host().clone();
        after.for_each(|position| known.learn(position));
        if is_default {
            USED_DEFAULT.store(true, Ordering::Relaxed);
        }
        let streams = CREATED.load(Ordering::Relaxed) + usize::from(USED_DEFAULT.load(Ordering::Relaxed));
        let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
        PENDING.fetch_add(1, Ordering::Relaxed);
        Self { stream, number, known, is_concurrent: streams > 1 }
    }

    /// Returns whether the operation begins only after another is complete.
    pub(crate) fn follows(&self, other: &Self) -> bool {
        let ends_after = |ended: &EndedWait| self.is_at_or_after(&ended.wait) && ended.after.contains(other);
        self.known.contains(other) || waits().iter().any(ends_after)
    }

    fn is_at_or_after(&self, wait: &Self) -> bool {
        self.is_same(wait) || self.known.contains(wait)
    }

    /// Records that the operation, a wait for a value, has ended, either after the operations `writers` or after a write by the host.
    pub(crate) fn end_wait<'a>(&self, writers: impl Iterator<Item = &'a Self>) {
        let mut after = host().clone();
        let mut waits = waits();
        for writer in writers {
            after.learn(writer);
            let earlier = waits.iter().filter(|ended| writer.is_at_or_after(&ended.wait));
            earlier.for_each(|ended| after.learn_known(&ended.after));
        }
        if waits.len() == MOST_WAITS {
            waits.remove(0);
        }
        waits.push(EndedWait { wait: self.clone(), after });
    }

    /// Returns whether `other` is the position of the same operation.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.number == other.number
    }

    /// Returns whether the host knows that the operation is complete, so that operations submitted later follow it.
    pub(crate) fn is_known_to_host(&self) -> bool {
        host().contains(self)
    }

    /// Records that the operation is complete.
    pub(crate) fn complete(&self) {
        PENDING.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records that the host knows that the operation is complete.
    pub(crate) fn reach_host(&self) {
        host().learn(self);
    }
}

/// Returns whether no operation is pending other than the one being executed.
pub(crate) fn is_idle() -> bool {
    PENDING.load(Ordering::Relaxed) <= 1
}

/// Records that a stream was created.
pub(crate) fn add_stream() {
    CREATED.fetch_add(1, Ordering::Relaxed);
}

/// Returns the number of the last operation submitted.
pub(crate) fn last() -> u64 {
    LAST.load(Ordering::Relaxed)
}

/// Records that the host knows that all operations up to a number are complete.
pub(crate) fn all_reach_host(number: u64) {
    host().learn_all(number);
}
