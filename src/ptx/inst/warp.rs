//! Among the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.
//!
//! `mask` names the lanes that take part; each of them must execute the same instruction with the same mask.

use super::logic::Bits;
use crate::ptx::{
    body::RegId,
    kernel::Builder,
    operand::Operand,
    types::{RegClass, Scalar},
    val::Val,
};

/// Every lane of a warp.
pub const FULL_MASK: u32 = u32::MAX;

/// Where a lane looks in [`Builder::shfl_with`] (PTX ISA, "shfl.sync").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// So many lanes down: `lane − n`.
    Up,
    /// So many lanes up: `lane + n`.
    Down,
    /// The lane whose number differs in these bits: `lane ^ n`.
    Bfly,
    /// That lane.
    Idx,
}

impl Shuffle {
    const fn suffix(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Bfly => "bfly",
            Self::Idx => "idx",
        }
    }

    /// The clamp operand for the whole warp: a lane that would look beyond keeps its own value.
    const fn clamp(self) -> u32 {
        match self {
            Self::Up => 0,
            Self::Down | Self::Bfly | Self::Idx => 31,
        }
    }
}

impl<'k> Builder<'k> {
    /// The value of the lane `delta` below, over the whole warp; lanes without one keep their own.
    #[doc(alias = "shfl.sync.up")]
    #[track_caller]
    pub fn shfl_up<T: Scalar>(self, value: Val<'k, T>, delta: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        self.shfl(Shuffle::Up, value, delta.into())
    }

    /// The value of the lane `delta` above, over the whole warp; lanes without one keep their own.
    #[doc(alias = "shfl.sync.down")]
    #[track_caller]
    pub fn shfl_down<T: Scalar>(self, value: Val<'k, T>, delta: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        self.shfl(Shuffle::Down, value, delta.into())
    }

    /// The value of the lane whose number differs in the bits of `bits`, over the whole warp.
    #[doc(alias = "shfl.sync.bfly")]
    #[track_caller]
    pub fn shfl_bfly<T: Scalar>(self, value: Val<'k, T>, bits: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        self.shfl(Shuffle::Bfly, value, bits.into())
    }

    /// The value of lane `lane`, over the whole warp.
    #[doc(alias = "shfl.sync.idx")]
    #[track_caller]
    pub fn shfl_idx<T: Scalar>(self, value: Val<'k, T>, lane: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        self.shfl(Shuffle::Idx, value, lane.into())
    }

    #[track_caller]
    fn shfl<T: Scalar>(self, how: Shuffle, value: Val<'k, T>, lane: Val<'k, u32>) -> Val<'k, T> {
        const { assert!(T::BYTES == 4, "lanes exchange 32 bits at a time: pack or split the value") };
        let (value, lane) = (value.in_register(self), lane.operand(self));
        let result = self.fresh(T::CLASS);
        self.emit_shuffle(how, result, value, lane);
        Val::from_reg(result, self)
    }

    /// Shuffles a 32-bit register over the whole warp.
    #[track_caller]
    pub(crate) fn emit_shuffle(self, how: Shuffle, result: RegId, value: RegId, lane: Operand<'_>) {
        let [clamp, mask] = [how.clamp(), FULL_MASK].map(|bits| Val::from(bits).operand(self));
        let operands = [Operand::Reg(result), Operand::Reg(value), lane, clamp, mask];
        self.emit(format_args!("shfl.sync.{}.b32", how.suffix()), &operands);
    }

    /// A shuffle among the lanes of `mask` with the instruction's own clamp operand, and whether the lane looked at is
    /// in range: `clamp` has the last lane to look at in its low five bits and the bits that stay the lane's own,
    /// which split the warp, from bit 8 on.
    #[doc(alias = "shfl.sync")]
    #[track_caller]
    pub fn shfl_with<T: Scalar>(
        self,
        how: Shuffle,
        value: Val<'k, T>,
        lane: impl Into<Val<'k, u32>>,
        clamp: impl Into<Val<'k, u32>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> (Val<'k, T>, Val<'k, bool>) {
        const { assert!(T::BYTES == 4, "lanes exchange 32 bits at a time: pack or split the value") };
        let value = Operand::Reg(value.in_register(self));
        let (lane, clamp) = (lane.into().operand(self), clamp.into().operand(self));
        let mask = mask.into().operand(self);
        let (result, in_range) = (self.fresh(T::CLASS), self.fresh(RegClass::Pred));
        let operands = [Operand::Pair(result, in_range), value, lane, clamp, mask];
        self.emit(format_args!("shfl.sync.{}.b32", how.suffix()), &operands);
        (Val::from_reg(result, self), Val::from_reg(in_range, self))
    }

    #[track_caller]
    fn vote<T: Scalar>(self, mode: &str, predicate: Val<'k, bool>, mask: Val<'k, u32>) -> Val<'k, T> {
        let operands = [Operand::Reg(predicate.in_register(self)), mask.operand(self)];
        self.result(format_args!("vote.sync.{mode}"), &operands)
    }

    /// Whether `predicate` holds in every lane of `mask`.
    #[doc(alias = "vote.sync.all")]
    #[track_caller]
    pub fn vote_all(
        self,
        predicate: impl Into<Val<'k, bool>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        self.vote("all.pred", predicate.into(), mask.into())
    }

    /// Whether `predicate` holds in any lane of `mask`.
    #[doc(alias = "vote.sync.any")]
    #[track_caller]
    pub fn vote_any(
        self,
        predicate: impl Into<Val<'k, bool>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        self.vote("any.pred", predicate.into(), mask.into())
    }

    /// Whether `predicate` is the same in all lanes of `mask`.
    #[doc(alias = "vote.sync.uni")]
    #[track_caller]
    pub fn vote_uni(
        self,
        predicate: impl Into<Val<'k, bool>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        self.vote("uni.pred", predicate.into(), mask.into())
    }

    /// The lanes of `mask` in which `predicate` holds, a bit each.
    #[doc(alias = "vote.sync.ballot")]
    #[track_caller]
    pub fn vote_ballot(
        self,
        predicate: impl Into<Val<'k, bool>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> Val<'k, u32> {
        self.vote("ballot.b32", predicate.into(), mask.into())
    }

    /// The lanes of `mask` whose `value` is this lane's, a bit each. Values of 32 or 64 bits.
    #[doc(alias = "match.any.sync")]
    #[track_caller]
    pub fn match_any<T: Bits>(self, value: Val<'k, T>, mask: impl Into<Val<'k, u32>>) -> Val<'k, u32> {
        let operands = [value.operand(self), mask.into().operand(self)];
        self.result(format_args!("match.any.sync.{}", T::UNTYPED), &operands)
    }

    /// `mask` if `value` is the same in all its lanes and 0 otherwise, and whether it is. Values of 32 or 64 bits.
    #[doc(alias = "match.all.sync")]
    #[track_caller]
    pub fn match_all<T: Bits>(
        self,
        value: Val<'k, T>,
        mask: impl Into<Val<'k, u32>>,
    ) -> (Val<'k, u32>, Val<'k, bool>) {
        let (value, mask) = (value.operand(self), mask.into().operand(self));
        let (lanes, same) = (self.fresh(RegClass::B32), self.fresh(RegClass::Pred));
        self.emit(format_args!("match.all.sync.{}", T::UNTYPED), &[Operand::Pair(lanes, same), value, mask]);
        (Val::from_reg(lanes, self), Val::from_reg(same, self))
    }

    /// The lanes of the warp that are executing this, a bit each.
    #[track_caller]
    pub fn activemask(self) -> Val<'k, u32> {
        self.result(format_args!("activemask.b32"), &[])
    }

    /// One lane of `mask`, the same for all, and whether it is this one. sm_90.
    #[doc(alias = "elect.sync")]
    #[track_caller]
    pub fn elect(self, mask: impl Into<Val<'k, u32>>) -> (Val<'k, u32>, Val<'k, bool>) {
        let mask = mask.into().operand(self);
        let (lane, elected) = (self.fresh(RegClass::B32), self.fresh(RegClass::Pred));
        self.emit(format_args!("elect.sync"), &[Operand::Pair(lane, elected), mask]);
        (Val::from_reg(lane, self), Val::from_reg(elected, self))
    }
}

/// A 32-bit integer, which `redux` reduces over a warp.
pub trait Reduce: Bits {}

impl Reduce for u32 {}
impl Reduce for i32 {}

macro_rules! reductions {
    ($($(#[$doc:meta])* $name:ident, $operation:literal, $type:ident;)*) => {
        impl<'k> Builder<'k> {
            $(
                $(#[$doc])*
                #[doc(alias = "redux.sync")]
                #[track_caller]
                pub fn $name<T: Reduce>(self, value: Val<'k, T>, mask: impl Into<Val<'k, u32>>) -> Val<'k, T> {
                    let operands = [Operand::Reg(value.in_register(self)), mask.into().operand(self)];
                    self.result(format_args!("redux.sync.{}.{}", $operation, T::$type), &operands)
                }
            )*
        }
    };
}

reductions! {
    /// The sum over the lanes of `mask`. sm_80.
    redux_add, "add", PTX;
    /// The least over the lanes of `mask`. sm_80.
    redux_min, "min", PTX;
    /// The greatest over the lanes of `mask`. sm_80.
    redux_max, "max", PTX;
    /// The bits that are 1 in all lanes of `mask`. sm_80.
    redux_and, "and", UNTYPED;
    /// The bits that are 1 in any lane of `mask`. sm_80.
    redux_or, "or", UNTYPED;
    /// The bits that are 1 in an odd number of the lanes of `mask`. sm_80.
    redux_xor, "xor", UNTYPED;
}
