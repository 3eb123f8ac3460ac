//! The conditions under which a line is reached, and the collectives that some threads may not reach because of them.

use std::{fmt, panic::Location};

use super::{Uniformity, carried::Set, tracker::Tracker};
use crate::ptx::error::BuildErrorKind;

/// The construct that makes an emitted instruction conditional.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConditionKind {
    /// The condition of `if_`, `if_else` or `if_else_with`.
    If,
    /// The guard of `when`.
    When,
    /// The number of iterations of `for_` or `fold`.
    Steps,
    /// `break_`, `break_if`, or the condition of `while_`.
    Break,
    /// `continue_` or `continue_if`.
    Continue,
    /// `return_`, `return_if` or `exit`.
    Return,
}

impl fmt::Display for ConditionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::If => "the branch",
            Self::When => "the guard",
            Self::Steps => "the number of iterations of the loop",
            Self::Break => "the exit of the loop",
            Self::Continue => "the `continue`",
            Self::Return => "the return",
        })
    }
}

/// A condition, and which threads are known to agree on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    pub(super) kind: ConditionKind,
    pub(super) level: Uniformity,
    pub(super) set: Set,
    pub(super) at: &'static Location<'static>,
}

/// A collective and its source line.
#[derive(Clone, Debug)]
pub(super) struct Collective {
    /// The threads that must participate.
    pub(super) group: Uniformity,
    pub(super) what: String,
    pub(super) at: &'static Location<'static>,
}

impl Collective {
    /// Returns the error for a `condition` that some of the threads may not satisfy.
    fn divergent(&self, condition: &Condition, varies_at: Option<&'static Location<'static>>) -> Divergence {
        let kind = BuildErrorKind::Divergent {
            collective: self.what.clone(),
            threads: self.group,
            condition: condition.kind,
            condition_at: condition.at,
            varies_at,
        };
        Divergence { kind, at: self.at }
    }
}

/// A collective that some of its threads may not reach: the error, and the collective's line.
#[derive(Debug)]
pub(crate) struct Divergence {
    pub(crate) kind: BuildErrorKind,
    pub(crate) at: &'static Location<'static>,
}

/// A collective that is correct if the assumptions of a set hold.
#[derive(Debug)]
pub(super) struct Reliance {
    pub(super) set: Set,
    collective: Collective,
    condition: Condition,
}

impl Reliance {
    /// Returns an error if the threads of the collective may not agree on the condition, which turned out to be uniform only at `level`.
    pub(super) fn violated(
        &self,
        level: Uniformity,
        varies_at: Option<&'static Location<'static>>,
    ) -> Option<Divergence> {
        (!level.covers(self.collective.group)).then(|| self.collective.divergent(&self.condition, varies_at))
    }
}

/// A loop with its body under construction.
#[derive(Debug)]
pub(super) struct OpenLoop {
    pub(super) id: u32,
    /// The number of conditions that enclose the body.
    pub(super) conditions: usize,
    /// Conditions under which threads have left the loop or the iteration.
    pub(super) left: Vec<Condition>,
    /// Collectives in the body so far, one per group of threads: threads that exit later may not reach them again.
    collectives: Vec<Collective>,
    /// Assumptions about registers that outlive the loop.
    pub(super) assumptions: Vec<u32>,
}

impl Tracker {
    /// Opens a condition of this uniformity.
    pub(super) fn push(
        &mut self,
        kind: ConditionKind,
        (level, set): (Uniformity, Set),
        at: &'static Location<'static>,
    ) {
        self.conditions.push(Condition { kind, level, set, at });
    }

    /// Closes the innermost condition.
    pub(crate) fn close_condition(&mut self) {
        self.conditions.pop();
        self.drop_assumed();
    }

    pub(crate) fn open_loop(&mut self) {
        self.loop_count += 1;
        self.loops.push(OpenLoop {
            id: self.loop_count,
            conditions: self.conditions.len(),
            left: Vec::new(),
            collectives: Vec::new(),
            assumptions: Vec::new(),
        });
    }

    /// Returns the number of open loops, which is the depth of the next loop.
    pub(crate) fn loop_depth(&self) -> usize {
        self.loops.len()
    }

    /// Returns the conjunction of the conditions from number `first` on and of those under which threads have left an iteration of loop
    /// `depth` or of a loop inside it; `None` if there are no such conditions.
    pub(super) fn open_conditions(&mut self, first: usize, depth: usize) -> Option<(Uniformity, Set)> {
        let left = self.loops.iter().skip(depth).flat_map(|open| &open.left);
        let open =
            left.chain(self.conditions.iter().skip(first)).map(|condition| (condition.level, condition.set));
        open.reduce(|(a, b), (level, set)| (a.meet(level), self.sets.union(b, set)))
    }

    /// Records that threads leave loop `depth`, or its iteration, if the innermost conditions hold.
    pub(crate) fn leave_loop(
        &mut self,
        depth: usize,
        kind: ConditionKind,
        at: &'static Location<'static>,
    ) -> Option<Divergence> {
        let (level, set) = self
            .open_conditions(self.loops.get(depth)?.conditions, depth)
            .unwrap_or((Uniformity::Grid, Set::EMPTY));
        let condition = Condition { kind, level, set, at };
        for inner in &mut self.loops[depth..] {
            inner.left.push(condition);
        }
        // Threads that have left do not reach the collectives of the next iteration.
        // A thread that continues with an outer loop also leaves the inner ones.
        self.keep_from_loop(if kind == ConditionKind::Break { depth } else { depth + 1 }, condition)
    }

    /// Records that threads exit if the innermost conditions hold.
    pub(crate) fn leave_kernel(&mut self, at: &'static Location<'static>) -> Option<Divergence> {
        if self.conditions.is_empty() {
            // The following lines are unreachable.
            return None;
        }
        let (level, set) = self.open_conditions(0, 0).unwrap_or((Uniformity::Grid, Set::EMPTY));
        let condition = Condition { kind: ConditionKind::Return, level, set, at };
        self.ended.push(condition);
        self.keep_from_loop(0, condition)
    }

    /// Checks the collectives emitted so far in a loop's body against the condition under which threads do not return to them.
    fn keep_from_loop(&mut self, depth: usize, condition: Condition) -> Option<Divergence> {
        let collectives = self.loops.get(depth)?.collectives.clone();
        for collective in collectives {
            if !condition.level.covers(self.normal(collective.group)) {
                return Some(collective.divergent(&condition, None));
            }
            self.rely(&collective, condition);
        }
        None
    }

    fn rely(&mut self, collective: &Collective, condition: Condition) {
        let known = |r: &Reliance| r.set == condition.set && r.collective.group == collective.group;
        if !condition.set.is_empty() && !self.reliances.iter().any(known) {
            self.reliances.push(Reliance { set: condition.set, collective: collective.clone(), condition });
        }
    }

    /// Requires that all or none of the threads of each group of this kind reach the current position.
    pub(crate) fn require(
        &mut self,
        group: Uniformity,
        what: &str,
        at: &'static Location<'static>,
    ) -> Option<Divergence> {
        let all = self.normal(group);
        let count =
            self.conditions.len() + self.loops.iter().map(|l| l.left.len()).sum::<usize>() + self.ended.len();
        if count == 0 && self.loops.is_empty() {
            return None;
        }
        let collective = || Collective { group, what: what.to_string(), at };
        let left = self.loops.iter().flat_map(|l| &l.left);
        let conditions = self.conditions.iter().chain(left).chain(&self.ended);
        let mut relied = Vec::new();
        for condition in conditions {
            if !condition.level.covers(all) {
                return Some(collective().divergent(condition, None));
            }
            if !condition.set.is_empty() {
                relied.push(*condition);
            }
        }
        for condition in relied {
            self.rely(&collective(), condition);
        }
        for open in &mut self.loops {
            if open.collectives.iter().all(|c| c.group != group) {
                open.collectives.push(collective());
            }
        }
        None
    }
}
