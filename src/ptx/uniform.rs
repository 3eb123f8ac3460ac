//! Uniformity: which threads are known to have the same value in a register, and therefore to take the same branch.
//!
//! Each register has a [`Uniformity`], derived from the operands of the instruction that writes it ([`rule`]). The conditions of the
//! enclosing control flow are recorded ([`condition`]); a collective instruction is rejected under a condition that may differ between the
//! threads that must execute it together. Values carried by loops are assumed to remain as uniform as at loop entry, and the assumption is
//! checked at the back edge ([`carried`]).

mod carried;
mod condition;
mod rule;
mod thread_index;
mod tracker;

use std::{cmp::Ordering, fmt};

use super::divisor::gcd;

pub use condition::ConditionKind;
pub(crate) use condition::Divergence;
pub(crate) use rule::Rule;
pub(crate) use tracker::{Facts, Tracker};

/// A level of uniformity: the threads that are known to have the same value in a register.
///
/// The levels are partially ordered: `Uniformity::Block > Uniformity::WARP`, because a value that is the same in the whole block is the
/// same in each of its warps. `Threads(32)` and `Threads(48)` are not ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Uniformity {
    /// The block is divided into runs of this many consecutive threads, starting at thread 0, and the value is the same in all threads of
    /// each run. The number is 1 if nothing is known, 32 for a warp, and 128 for a warpgroup.
    Threads(u32),
    /// The value is the same in all threads of the block.
    Block,
    /// The value is the same in all threads of the cluster.
    Cluster,
    /// The value is the same in all threads of the grid.
    Grid,
}

impl Uniformity {
    /// The value may differ between any two threads.
    pub const NONE: Self = Self::Threads(1);
    /// The value is the same in the 32 lanes of each warp.
    pub const WARP: Self = Self::Threads(32);
    /// The value is the same in the 128 threads of each warpgroup.
    pub const WARP_GROUP: Self = Self::Threads(128);

    /// Returns the uniformity of a result that is computed from two values, one with this uniformity and one with uniformity `other`.
    #[must_use]
    #[inline]
    pub fn meet(self, other: Self) -> Self {
        match (self, other) {
            (same, other) if same == other => same,
            (Self::Threads(a), Self::Threads(b)) => Self::Threads(gcd(a.into(), b.into()) as u32),
            (threads @ Self::Threads(_), _) | (_, threads @ Self::Threads(_)) => threads,
            (Self::Block, _) | (_, Self::Block) => Self::Block,
            (Self::Cluster, _) | (_, Self::Cluster) => Self::Cluster,
            (Self::Grid, Self::Grid) => Self::Grid,
        }
    }

    /// Returns whether this uniformity is at least `group`. For example, if `group` is [`WARP`](Self::WARP), returns whether a value with
    /// this uniformity is the same in all lanes of each warp.
    pub fn covers(self, group: Self) -> bool {
        self.meet(group) == group
    }
}

impl PartialOrd for Uniformity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        match (self.covers(*other), other.covers(*self)) {
            (true, true) => Some(Ordering::Equal),
            (true, false) => Some(Ordering::Greater),
            (false, true) => Some(Ordering::Less),
            (false, false) => None,
        }
    }
}

/// Formats the level as a noun phrase, such as `all lanes of the warp`.
impl fmt::Display for Uniformity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Threads(32) => f.write_str("all lanes of the warp"),
            Self::Threads(128) => f.write_str("all threads of the warpgroup"),
            Self::Threads(n) => write!(f, "all {n} threads of the group"),
            Self::Block => f.write_str("all threads of the block"),
            Self::Cluster => f.write_str("all threads of the cluster"),
            Self::Grid => f.write_str("all threads of the grid"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Uniformity::{self, *};

    #[test]
    fn levels_form_a_lattice() {
        let levels = [
            Uniformity::NONE,
            Threads(16),
            Uniformity::WARP,
            Threads(48),
            Threads(96),
            Uniformity::WARP_GROUP,
            Block,
            Cluster,
            Grid,
        ];
        for a in levels {
            assert_eq!(a.meet(a), a);
            assert!(a.covers(Uniformity::NONE) && Grid.covers(a));
            for b in levels {
                let least = a.meet(b);
                assert_eq!(least, b.meet(a));
                assert!(a.covers(least) && b.covers(least));
                for c in levels {
                    assert_eq!(a.meet(b).meet(c), a.meet(b.meet(c)));
                    assert!(!(a.covers(b) && b.covers(c)) || a.covers(c));
                }
            }
        }
        assert!(Block > Uniformity::WARP && Uniformity::WARP_GROUP > Uniformity::WARP);
        assert_eq!(Uniformity::WARP.partial_cmp(&Threads(48)), None);
    }
}
