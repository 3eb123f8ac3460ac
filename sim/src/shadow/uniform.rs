//! Values that a pragma declares to be uniform: the values of the threads of a group at each execution of the pragma.

use rustc_hash::FxHashMap;

use crate::report::fault::Where;

/// A pragma and a group of threads of the cluster.
type Key = (u32, u64);

/// The value of the first thread of a group at an execution.
#[derive(Debug)]
struct First {
    value: u64,
    of: Where,
    /// The number of threads that have not yet executed the pragma.
    left: u32,
}

/// The values of the threads of the running cluster.
#[derive(Debug, Default)]
pub(crate) struct UniformValues {
    /// The number of times that each thread has executed each pragma, by pragma and warp.
    executed: FxHashMap<(u32, usize), [u32; 32]>,
    /// For each group, the first values of the executions that not all threads have reached.
    first: FxHashMap<(Key, u32), First>,
}

impl UniformValues {
    /// Records the value of a thread in a group of `size` threads. If it differs from the group's first value at this execution, returns
    /// the first value and its thread.
    pub(crate) fn note(&mut self, at: Where, group: u64, size: u32, value: u64) -> Option<(u64, Where)> {
        let executed = &mut self.executed.entry((at.pc, at.warp)).or_default()[at.lane];
        let key = ((at.pc, group), *executed);
        *executed += 1;
        let first = self.first.entry(key).or_insert(First { value, of: at, left: size });
        first.left -= 1;
        let differs = (first.value != value).then_some((first.value, first.of));
        if first.left == 0 {
            self.first.remove(&key);
        }
        differs
    }
}
