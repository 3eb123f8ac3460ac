//! Assumptions about values carried by loops, and the values that depend on them.
//!
//! A loop body is emitted once. When a line of the body reads a register that a later line writes, the value in the next iteration is not
//! known yet. A register that is live across iterations is therefore assumed to be as uniform in every iteration as before the first one.
//! Values derived from it record the assumption in a [`Set`]; at the back edge, the assumption is checked against the values that the body
//! wrote.

use rustc_hash::FxHashMap;

use super::Uniformity;

/// A set of assumptions: empty, a singleton, or interned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Set(u32);

impl Set {
    pub(super) const EMPTY: Self = Self(0);
    /// Marks a singleton; the other bits contain its assumption.
    const ONE: u32 = 1 << 31;

    pub(super) fn one(assumption: u32) -> Self {
        Self(Self::ONE | assumption)
    }

    pub(super) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// The sets that contain several assumptions; number 0 is the empty set.
#[derive(Debug)]
pub(super) struct Sets {
    several: Vec<Box<[u32]>>,
    numbers: FxHashMap<Box<[u32]>, u32>,
}

impl Default for Sets {
    fn default() -> Self {
        Self { several: vec![Box::default()], numbers: FxHashMap::default() }
    }
}

impl Sets {
    /// Returns the assumptions of a set, in ascending order.
    pub(super) fn members(&self, set: Set) -> impl Iterator<Item = u32> + '_ {
        let one = (set.0 & Set::ONE != 0).then_some(set.0 & !Set::ONE);
        let several = if one.is_some() { &[][..] } else { &self.several[set.0 as usize] };
        one.into_iter().chain(several.iter().copied())
    }

    #[inline]
    pub(super) fn union(&mut self, a: Set, b: Set) -> Set {
        if a == b || b.is_empty() {
            return a;
        }
        if a.is_empty() {
            return b;
        }
        self.of(self.members(a).chain(self.members(b)).collect())
    }

    /// Returns the set of these assumptions.
    pub(super) fn of(&mut self, mut members: Vec<u32>) -> Set {
        members.sort_unstable();
        members.dedup();
        match members[..] {
            [] => Set::EMPTY,
            [one] => Set::one(one),
            _ => {
                let members = members.into_boxed_slice();
                if let Some(&number) = self.numbers.get(&members) {
                    return Set(number);
                }
                let number = self.several.len() as u32;
                self.several.push(members.clone());
                self.numbers.insert(members, number);
                Set(number)
            }
        }
    }
}

/// The assumption that a register is as uniform in every iteration of a loop as before the first one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Assumption {
    /// The class and number of the register.
    pub(super) register: (usize, usize),
    pub(super) level: Uniformity,
    /// The assumptions about outer loops under which this one was made.
    pub(super) under: Set,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unions_are_interned() {
        let mut sets = Sets::default();
        let [a, b, c] = [Set::one(0), Set::one(1), Set::one(7)];
        let ab = sets.union(a, b);
        assert_eq!(sets.union(b, a), ab);
        assert_eq!(sets.union(ab, a), ab);
        let abc = sets.union(c, ab);
        assert_eq!(sets.members(abc).collect::<Vec<_>>(), [0, 1, 7]);
        assert_eq!(sets.members(c).collect::<Vec<_>>(), [7]);
        assert_eq!(sets.members(Set::EMPTY).count(), 0);
        assert_eq!((sets.union(a, Set::EMPTY), sets.union(Set::EMPTY, ab)), (a, ab));
    }
}
