//! The known order of integers, derived from the grid rule, loop counters and branch conditions.
//!
//! A register that is computed from parameters by `ceil_div` and similar operations is identified with a [`Term`], so it is known to equal
//! a dimension of the grid rule, or another register that is computed the same way. Terms are natural numbers of unbounded size: a value
//! that may wrap around is not a term.

use rustc_hash::FxHashMap;

use super::{Body, Known, RegId};
use crate::ptx::{dim::Dim, operand::Operand};

/// The number of a term in its kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TermId(u32);

/// A number that is fixed at launch, or the value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Term {
    Constant(u64),
    /// The value of a parameter.
    Parameter(usize),
    /// The value of a special register.
    Special(&'static str),
    /// The value of a register at a version.
    Register(RegId, u32),
    /// `⌈a / n⌉`.
    CeilDiv(TermId, u64),
    /// `⌊a / n⌋`.
    Quotient(TermId, u64),
    /// `a · b`. The factors are in the order of their term numbers.
    Product(TermId, TermId),
    /// `a + b`. The summands are in the order of their term numbers.
    Sum(TermId, TermId),
}

/// `left < right` until `block` is closed.
#[derive(Clone, Copy, Debug)]
struct Below {
    block: u32,
    left: TermId,
    right: TermId,
}

/// The terms of a kernel and their known order.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Order {
    terms: Vec<Term>,
    numbers: FxHashMap<Term, TermId>,
    below: Vec<Below>,
}

impl Order {
    fn number(&mut self, term: Term) -> TermId {
        let next = TermId(self.terms.len() as u32);
        let id = *self.numbers.entry(term).or_insert(next);
        if id == next {
            self.terms.push(term);
        }
        id
    }

    fn term(&self, id: TermId) -> Term {
        self.terms[id.0 as usize]
    }

    fn ceil_div(&mut self, id: TermId, n: u64) -> TermId {
        match self.term(id) {
            _ if n == 1 => id,
            Term::Constant(c) => self.number(Term::Constant(c.div_ceil(n))),
            Term::CeilDiv(inner, m) => match m.checked_mul(n) {
                Some(n) => self.number(Term::CeilDiv(inner, n)),
                None => self.number(Term::CeilDiv(id, n)),
            },
            _ => self.number(Term::CeilDiv(id, n)),
        }
    }

    fn of_dim(&mut self, dim: &Dim) -> Option<TermId> {
        let both = |order: &mut Self, a: &Dim, b: &Dim| {
            let (a, b) = (order.of_dim(a)?, order.of_dim(b)?);
            Some(if a.0 < b.0 { (a, b) } else { (b, a) })
        };
        Some(match dim {
            Dim::Const(n) => self.number(Term::Constant(*n)),
            Dim::Param(parameter) => self.number(Term::Parameter(*parameter)),
            Dim::CeilDiv(a, n) => {
                let a = self.of_dim(a)?;
                // Launches reject a divisor of 0, so the term is irrelevant in that case.
                self.ceil_div(a, u64::from(*n).max(1))
            }
            Dim::Sum(a, b) => {
                let (a, b) = both(self, a, b)?;
                self.number(Term::Sum(a, b))
            }
            Dim::Product(a, b) => {
                let (a, b) = both(self, a, b)?;
                self.number(Term::Product(a, b))
            }
            // Values that do not fit are rejected by the launch.
            Dim::U32(a) => self.of_dim(a)?,
            Dim::RoundDown(..) | Dim::Min(..) | Dim::Max(..) | Dim::Multiprocessors | Dim::Unknown => {
                return None;
            }
        })
    }

    /// Discards the facts that hold only in a block.
    pub(in crate::ptx) fn close(&mut self, block: u32) {
        self.below.retain(|fact| fact.block != block);
    }

    /// Returns the terms that `left` is known to be less than.
    fn above(&self, left: TermId) -> impl Iterator<Item = TermId> + '_ {
        self.below.iter().filter(move |fact| fact.left == left).map(|fact| fact.right)
    }

    /// Returns whether `left <= right` follows from the terms alone: division never increases a number, nor does a larger divisor increase
    /// a quotient.
    fn is_at_most(&self, left: TermId, right: TermId) -> bool {
        left == right
            || match (self.term(left), self.term(right)) {
                (Term::Constant(a), Term::Constant(b)) => a <= b,
                (Term::CeilDiv(a, n), Term::CeilDiv(b, m)) if n >= m && a == b => true,
                (Term::CeilDiv(a, _) | Term::Quotient(a, _), _) => self.is_at_most(a, right),
                _ => false,
            }
    }
}

/// The part of a tile that is known to be within an extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Inside {
    /// No part is known to be within the extent.
    Unknown,
    /// The first element.
    First,
    /// All elements.
    Whole,
}

impl Body {
    /// Returns the term of a register's value.
    fn term(&mut self, reg: RegId) -> TermId {
        let (known, special) = self.value(reg).map_or((None, None), |value| (value.term, value.special));
        let term = match (known, self.parameter(reg), special) {
            (Some(term), ..) => return term,
            (None, Some(parameter), _) => Term::Parameter(parameter),
            (None, None, Some(special)) if super::is_pure(special) => Term::Special(special),
            (None, None, _) => Term::Register(RegId { writes: 0, ..reg }, self.facts(reg).version),
        };
        self.order.number(term)
    }

    /// Returns the term of an operand's value, or `None` if the value may change.
    pub(in crate::ptx) fn term_of(&mut self, operand: Operand<'_>) -> Option<TermId> {
        match operand {
            Operand::Reg(reg) => (self.has_facts(reg)).then(|| self.term(reg)),
            Operand::Imm(constant) => Some(self.order.number(Term::Constant(constant.bits()))),
            _ => None,
        }
    }

    fn set_term(&mut self, reg: RegId, source: RegId, term: impl FnOnce(&mut Order, TermId) -> TermId) {
        if !self.facts(source).variable {
            let source = self.term(source);
            self.value_mut(reg).term = Some(term(&mut self.order, source));
        }
    }

    /// Records that `reg` has the same value as `source`, in a register of a different width.
    pub(in crate::ptx) fn set_same(&mut self, reg: RegId, source: RegId) {
        if self.follows_here(reg, source) {
            self.set_term(reg, source, |_, term| term);
        }
    }

    /// Records that `reg` is `⌈source / n⌉`.
    pub(in crate::ptx) fn set_ceil_div(&mut self, reg: RegId, source: RegId, n: u64) {
        if self.follows_here(reg, source) {
            self.set_term(reg, source, |order, term| order.ceil_div(term, n));
        }
    }

    /// Returns whether facts about `source` imply facts about `reg` wherever `reg` is defined: a register of an outer
    /// block, reused by value numbering, outlives the assumptions of this block.
    fn follows_here(&self, reg: RegId, source: RegId) -> bool {
        !self.is_local(source) || self.open_blocks.last() == Some(&self.facts(reg).block)
    }

    /// Records that `reg` is `⌊source / n⌋`.
    pub(in crate::ptx) fn set_quotient(&mut self, reg: RegId, source: RegId, n: u64) {
        if self.follows_here(reg, source) {
            self.set_term(reg, source, |order, term| order.number(Term::Quotient(term, n)));
        }
    }

    /// Records the grid rule: the block index is less than the number of blocks.
    pub(in crate::ptx) fn set_grid_order(&mut self, grid: &[Dim; 3]) {
        for (special, dim) in ["%ctaid.x", "%ctaid.y", "%ctaid.z"].into_iter().zip(grid) {
            if !self.is_unsigned(dim) {
                continue;
            }
            if let Some(right) = self.order.of_dim(dim) {
                let left = self.order.number(Term::Special(special));
                self.order.below.push(Below { block: 0, left, right });
            }
        }
    }

    /// Returns whether a launch and the kernel evaluate `dim` from the same numbers, which requires that all of its parameters be unsigned.
    /// A launch replaces other parameters with the largest number.
    fn is_unsigned(&self, dim: &Dim) -> bool {
        match dim {
            Dim::Param(parameter) => {
                self.entry.params.get(*parameter).is_some_and(|param| param.is_integer(false))
            }
            Dim::CeilDiv(a, _) | Dim::RoundDown(a, _) | Dim::U32(a) => self.is_unsigned(a),
            Dim::Sum(a, b) | Dim::Product(a, b) | Dim::Min(a, b) | Dim::Max(a, b) => {
                self.is_unsigned(a) && self.is_unsigned(b)
            }
            Dim::Const(_) | Dim::Multiprocessors | Dim::Unknown => true,
        }
    }

    /// Records that `left`, as an unsigned number, is less than `right` in the innermost open block.
    pub(in crate::ptx) fn assume_below(&mut self, left: Operand<'_>, right: Operand<'_>) {
        if let Operand::Reg(reg) = left {
            let width = self.known(reg).width();
            let most = self.known_of(right, width).most().saturating_sub(1);
            self.assume(reg, Known::at_most(most, width));
        }
        if let (Some(left), Some(right)) = (self.term_of(left), self.term_of(right)) {
            let block = *self.open_blocks.last().unwrap_or(&0);
            self.order.below.push(Below { block, left, right });
        }
    }

    /// Records the facts about `⌊x / divisor⌋` and `x % divisor` that follow if `x` is known to be less than a multiple of the divisor.
    pub(in crate::ptx) fn assume_divided(
        &mut self,
        x: Operand<'_>,
        divisor: Operand<'_>,
        quotient: Option<RegId>,
        remainder: Option<RegId>,
    ) {
        let (Some(x), Some(divisor)) = (self.term_of(x), self.term_of(divisor)) else { return };
        let factor = self.order.above(x).find_map(|product| match self.order.term(product) {
            Term::Product(a, b) if a == divisor => Some(b),
            Term::Product(a, b) if b == divisor => Some(a),
            _ => None,
        });
        let Some(factor) = factor else { return };
        let block = *self.open_blocks.last().unwrap_or(&0);
        for (result, right) in [(quotient, factor), (remainder, divisor)] {
            if let Some(result) = result {
                let left = self.term(result);
                self.order.below.push(Below { block, left, right });
            }
        }
    }

    /// Returns whether `left`, as an unsigned number, is known to be less than `right`.
    pub(in crate::ptx) fn is_below(&mut self, left: Operand<'_>, right: Operand<'_>) -> bool {
        if self.known_of(left, 64).most() < self.known_of(right, 64).least() {
            return true;
        }
        let (Some(left), Some(right)) = (self.term_of(left), self.term_of(right)) else { return false };
        self.order.above(left).any(|above| self.order.is_at_most(above, right))
    }

    /// Returns whether `index · by` is known to be less than some 32-bit number, and thus to fit in 32 bits.
    pub(in crate::ptx) fn is_multiple_below_32_bits(&mut self, index: Operand<'_>, by: u64) -> bool {
        let Some(index) = self.term_of(index) else { return false };
        let order = &self.order;
        let narrow = |term: TermId| match order.term(term) {
            Term::Parameter(parameter) => {
                self.entry.params.get(parameter).is_some_and(|decl| decl.bytes <= 4)
            }
            Term::Register(reg, _) => super::width(reg.class) <= 32,
            _ => false,
        };
        let mut above = order.above(index);
        above.any(|above| match order.term(above) {
            Term::CeilDiv(x, n) | Term::Quotient(x, n) => n >= by && narrow(x),
            _ => false,
        })
    }

    /// Returns which part of tile `index`, the elements from `index·tile` to `index·tile + tile − 1`, is known to be within `extent`.
    pub(in crate::ptx) fn inside(&mut self, index: Operand<'_>, tile: u64, extent: Operand<'_>) -> Inside {
        let (start, end) = (self.known_of(index, 64), self.known_of(extent, 64));
        let most = start.most().checked_mul(tile);
        if most.and_then(|most| most.checked_add(tile)).is_some_and(|past| past <= end.least()) {
            return Inside::Whole;
        }
        let divides = end.divisor().is_multiple_of(tile);
        let first = if divides { Inside::Whole } else { Inside::First };
        if most.is_some_and(|most| most < end.least()) {
            return first;
        }
        let (Some(index), Some(extent)) = (self.term_of(index), self.term_of(extent)) else {
            return Inside::Unknown;
        };
        let order = &self.order;
        let found = order.above(index).map(|above| match order.term(above) {
            // index < ⌊x / n⌋: index·n + n <= x.
            Term::Quotient(x, n) if n >= tile && order.is_at_most(x, extent) => Inside::Whole,
            // index < ⌈x / n⌉: index·n < x.
            Term::CeilDiv(x, n) if n >= tile && order.is_at_most(x, extent) => first,
            _ if tile == 1 && order.is_at_most(above, extent) => Inside::Whole,
            _ => Inside::Unknown,
        });
        found.max().unwrap_or(Inside::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::Inside;
    use crate::ptx::{Builder, Kernel, Target, Val};

    fn build(write: impl for<'k> FnOnce(Builder<'k>, Val<'k, u32>, Val<'k, u32>)) {
        let kernel = Kernel::<(u32, u32)>::build("f(m, n)", Target::SM_80, |k, (m, n)| write(k, m, n));
        kernel.expect("the kernel is right");
    }

    #[test]
    fn the_grid_rule_bounds_the_blocks() {
        build(|k, m, n| {
            let (bi, bj) = (k.ctaid_x(), k.ctaid_y());
            assert_eq!(bi.tile_is_inside(64, m), Inside::Unknown);
            k.grid([m.tiles(64), n.tiles(32)]);
            assert_eq!(bi.tile_is_inside(64, m), Inside::First);
            assert_eq!(bi.tile_is_inside(32, m), Inside::First);
            assert_eq!(bi.tile_is_inside(65, m), Inside::Unknown);
            assert_eq!(bi.tile_is_inside(64, n), Inside::Unknown);
            assert!(bi.is_below(&m.ceil_div(64)) && bi.is_below(&m) && !bi.is_below(&n) && !m.is_below(&m));
            let n = n.multiple_of(32);
            assert_eq!(bj.tile_is_inside(32, n), Inside::Whole);
            assert_eq!(bj.cast::<u64>().cast::<u32>().tile_is_inside(32, n), Inside::Whole);
            assert_eq!((bj + 1).tile_is_inside(32, n), Inside::Unknown);
        });
    }

    #[test]
    fn blocks_numbered_in_a_row_are_bounded_by_either_factor() {
        build(|k, m, n| {
            k.grid([m.tiles(64) * n.tiles(64)]);
            let (block, columns) = (k.ctaid_x(), n.ceil_div(64));
            assert_eq!((block / columns).tile_is_inside(64, m), Inside::First);
            assert_eq!((block % columns).tile_is_inside(64, n), Inside::First);
            assert_eq!((block % columns).tile_is_inside(64, m), Inside::Unknown);
        });
    }

    #[test]
    fn counters_are_less_than_their_end() {
        build(|k, m, n| {
            let escaped = k.var(0u32);
            k.for_(m.ceil_div(16), |i| {
                assert_eq!(i.tile_is_inside(16, m), Inside::First);
                assert!(i.is_below(&m) && !i.is_below(&n));
                escaped.set(i);
            });
            assert!(!escaped.get().is_below(&m));
            k.for_(n / 16, |i| assert_eq!(i.tile_is_inside(16, n), Inside::Whole));
            k.for_(10, |i| {
                assert_eq!(i.upper_bound(), Some(9));
                assert_eq!((i * 4 + 3).upper_bound(), Some(39));
                assert_eq!(i.tile_is_inside(16, 160.into()), Inside::Whole);
                assert_eq!(i.tile_is_inside(16, 159.into()), Inside::First);
                assert_eq!(i.tile_is_inside(16, 140.into()), Inside::Unknown);
            });
        });
    }

    #[test]
    fn comparisons_hold_in_their_branch() {
        build(|k, m, n| {
            let i = k.ctaid_x() * 128 + k.tid_x();
            k.if_else(
                i.lt(m) & n.ge(i),
                || {
                    assert!(i.is_below(&m) && !i.is_below(&n));
                    k.if_(!n.le(i), || assert!(i.is_below(&n)));
                    assert!(!i.is_below(&n));
                },
                || assert!(!i.is_below(&m)),
            );
            assert!(!i.is_below(&m));
            k.when(m.gt(i), || assert!(i.is_below(&m)));
            k.if_else(
                i.lt(100u32),
                || assert_eq!(i.upper_bound(), Some(99)),
                || assert_eq!(i.upper_bound(), None),
            );
            k.return_if(i.ge(n));
            assert!(i.is_below(&n));
        });
    }

    /// `(n + 63) / 64` may wrap around, so it is known to equal `ceil_div` only in the branch, not after it.
    #[test]
    fn facts_of_a_register_in_a_branch_end_with_it() {
        build(|k, m, n| {
            let blocks = (n + 63) / 64;
            // The register of this `ceil_div` is defined in the branch and cannot be used after it.
            k.if_(n.lt(1000), || assert!(!n.ceil_div(64).is_same(&blocks)));
            k.if_(m.lt(blocks), || assert_eq!(m.tile_is_inside(64, n), Inside::Unknown));
            let up = n.ceil_div(64);
            k.if_(m.lt(up), || assert_eq!(m.tile_is_inside(64, n), Inside::First));
        });
    }

    #[test]
    fn bounds_of_loop_state_do_not_hold_after_an_update() {
        build(|k, m, n| {
            let last = k.fold(8, m, |_, state| {
                k.if_(state.lt(n), || assert!(state.is_below(&n)));
                let next = state + 1;
                assert!(!next.is_below(&n));
                next
            });
            assert!(!last.is_below(&n));
        });
    }

    #[test]
    fn threads_are_bounded_by_the_block() {
        build(|k, _, n| {
            assert_eq!(k.tid_x().upper_bound(), Some(1023));
            k.block([64, 2]);
            let (x, y) = (k.tid_x(), k.tid_y());
            assert_eq!((x.upper_bound(), y.upper_bound()), (Some(63), Some(1)));
            assert_eq!((y * 64 + x).upper_bound(), Some(127));
            assert_eq!(k.tid_z().as_constant(), Some(0));
            assert_eq!((x & 3).max(n & 1).upper_bound(), Some(3));
            assert_eq!(n.min(7).upper_bound(), Some(7));
            assert_eq!((n.upper_bound(), (x - 1).upper_bound()), (None, None));
        });
    }
}
