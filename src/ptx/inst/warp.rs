//! Operations between the lanes of a warp: `shfl`, `vote`, `match`, `redux`, `activemask`, `elect`.
//!
//! The argument `mask` specifies the participating lanes. Each of them must execute the same instruction with the same mask.

use super::logic::Bits;
use crate::ptx::{
    body::RegId,
    kernel::Builder,
    operand::Operand,
    types::{RegClass, Scalar},
    val::Val,
};

/// The mask of all lanes of a warp.
pub const FULL_MASK: u32 = u32::MAX;

/// The rule by which [`Builder::shfl_with`] selects the source lane (PTX ISA, "shfl.sync").
///
/// In the descriptions of the variants, `i` is the index of this lane, and `n` is the argument `lane` modulo 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shuffle {
    /// Lane `i − n`.
    Up,
    /// Lane `i + n`.
    Down,
    /// Lane `i ^ n`.
    Bfly,
    /// Lane `n`, except that the index bits that identify the segment are those of `i`.
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

    /// Returns the clamp operand that makes the whole warp one segment.
    const fn clamp(self) -> u32 {
        match self {
            Self::Up => 0,
            Self::Down | Self::Bfly | Self::Idx => 31,
        }
    }
}

impl<'k> Builder<'k> {
    /// Returns the `value` of lane `i − delta % 32`, where `i` is the index of this lane. Lanes without a source lane keep their own value.
    /// `value` must be 32 bits wide. All lanes of the warp must execute the instruction.
    #[doc(alias = "shfl.sync.up")]
    #[track_caller]
    pub fn shfl_up<T: Scalar>(self, value: Val<'k, T>, delta: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        self.shfl(Shuffle::Up, value, delta.into())
    }

    /// Returns the `value` of lane `i + delta % 32`, where `i` is the index of this lane. Lanes without a source lane keep their own value.
    /// `value` must be 32 bits wide. All lanes of the warp must execute the instruction.
    #[doc(alias = "shfl.sync.down")]
    #[track_caller]
    pub fn shfl_down<T: Scalar>(self, value: Val<'k, T>, delta: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        self.shfl(Shuffle::Down, value, delta.into())
    }

    /// Returns the `value` of lane `i ^ bits`, where `i` is the index of this lane. Only the low 5 bits of `bits` are used. `value` must be
    /// 32 bits wide. All lanes of the warp must execute the instruction.
    #[doc(alias = "shfl.sync.bfly")]
    #[track_caller]
    pub fn shfl_bfly<T: Scalar>(self, value: Val<'k, T>, bits: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        self.shfl(Shuffle::Bfly, value, bits.into())
    }

    /// Returns the `value` of lane `lane % 32`. `value` must be 32 bits wide. All lanes of the warp must execute the instruction.
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

    /// Shuffles the 32-bit register `value` among all lanes of the warp, and writes the results to `result`.
    #[track_caller]
    pub(crate) fn emit_shuffle(self, how: Shuffle, result: RegId, value: RegId, lane: Operand<'_>) {
        let [clamp, mask] = [how.clamp(), FULL_MASK].map(|bits| Val::from(bits).operand(self));
        let operands = [Operand::Reg(result), Operand::Reg(value), lane, clamp, mask];
        self.emit(["shfl.sync.", how.suffix(), ".b32"], &operands);
    }

    /// Shuffles values among the lanes of `mask` with an explicit clamp operand. Returns the value of the source lane and `true`, or this
    /// lane's own value and `false` if the source lane is out of range. `how` and `lane` determine the source lane. `value` must be 32 bits
    /// wide. All lanes of `mask` must execute the instruction.
    ///
    /// `clamp` divides the warp into segments. Bits 8 to 12 are a mask of the lane index bits that identify a segment. Bits 0 to 4 contain
    /// the remaining index bits of the highest source lane in each segment or, for [`Shuffle::Up`], of the lowest. With [`Shuffle::Bfly`],
    /// the source lane may also be in a lower segment.
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
        self.emit(["shfl.sync.", how.suffix(), ".b32"], &operands);
        (Val::from_reg(result, self), Val::from_reg(in_range, self))
    }

    #[track_caller]
    fn vote<T: Scalar>(self, mode: &str, predicate: Val<'k, bool>, mask: Val<'k, u32>) -> Val<'k, T> {
        let operands = [Operand::Reg(predicate.in_register(self)), mask.operand(self)];
        self.result(format_args!("vote.sync.{mode}"), &operands)
    }

    /// Returns whether `predicate` is true for all lanes of `mask`. All lanes of `mask` must execute the instruction.
    #[doc(alias = "vote.sync.all")]
    #[track_caller]
    pub fn vote_all(
        self,
        predicate: impl Into<Val<'k, bool>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        self.vote("all.pred", predicate.into(), mask.into())
    }

    /// Returns whether `predicate` is true for any lane of `mask`. All lanes of `mask` must execute the instruction.
    #[doc(alias = "vote.sync.any")]
    #[track_caller]
    pub fn vote_any(
        self,
        predicate: impl Into<Val<'k, bool>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        self.vote("any.pred", predicate.into(), mask.into())
    }

    /// Returns whether `predicate` is the same in all lanes of `mask`. All lanes of `mask` must execute the instruction.
    #[doc(alias = "vote.sync.uni")]
    #[track_caller]
    pub fn vote_uni(
        self,
        predicate: impl Into<Val<'k, bool>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> Val<'k, bool> {
        self.vote("uni.pred", predicate.into(), mask.into())
    }

    /// Returns a bit mask of the lanes of `mask` for which `predicate` is true. All lanes of `mask` must execute the instruction.
    #[doc(alias = "vote.sync.ballot")]
    #[track_caller]
    pub fn vote_ballot(
        self,
        predicate: impl Into<Val<'k, bool>>,
        mask: impl Into<Val<'k, u32>>,
    ) -> Val<'k, u32> {
        self.vote("ballot.b32", predicate.into(), mask.into())
    }

    /// Returns a bit mask of the lanes of `mask` whose `value` equals that of this lane. All lanes of `mask` must execute the instruction.
    /// `value` must be 32 or 64 bits wide.
    #[doc(alias = "match.any.sync")]
    #[track_caller]
    pub fn match_any<T: Bits>(self, value: Val<'k, T>, mask: impl Into<Val<'k, u32>>) -> Val<'k, u32> {
        let operands = [value.operand(self), mask.into().operand(self)];
        self.result(["match.any.sync.", T::UNTYPED], &operands)
    }

    /// Returns `mask` and `true` if `value` is the same in all lanes of `mask`, and 0 and `false` otherwise. All lanes of `mask` must
    /// execute the instruction. `value` must be 32 or 64 bits wide.
    #[doc(alias = "match.all.sync")]
    #[track_caller]
    pub fn match_all<T: Bits>(
        self,
        value: Val<'k, T>,
        mask: impl Into<Val<'k, u32>>,
    ) -> (Val<'k, u32>, Val<'k, bool>) {
        let (value, mask) = (value.operand(self), mask.into().operand(self));
        let (lanes, same) = (self.fresh(RegClass::B32), self.fresh(RegClass::Pred));
        self.emit(["match.all.sync.", T::UNTYPED], &[Operand::Pair(lanes, same), value, mask]);
        (Val::from_reg(lanes, self), Val::from_reg(same, self))
    }

    /// Returns a bit mask of the lanes of the warp that execute this instruction together.
    #[track_caller]
    pub fn activemask(self) -> Val<'k, u32> {
        self.result(format_args!("activemask.b32"), &[])
    }

    /// Elects one lane of `mask`. Returns the index of the elected lane, which is the same in all lanes of `mask`, and whether this lane
    /// was elected. All lanes of `mask` must execute the instruction. Requires sm_90 or later.
    #[doc(alias = "elect.sync")]
    #[track_caller]
    pub fn elect(self, mask: impl Into<Val<'k, u32>>) -> (Val<'k, u32>, Val<'k, bool>) {
        let mask = mask.into().operand(self);
        let (lane, elected) = (self.fresh(RegClass::B32), self.fresh(RegClass::Pred));
        self.emit(format_args!("elect.sync"), &[Operand::Pair(lane, elected), mask]);
        (Val::from_reg(lane, self), Val::from_reg(elected, self))
    }
}

/// A 32-bit integer type that `redux` can reduce over the lanes of a warp: `u32` or `i32`.
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
    /// Returns the sum of `value` over the lanes of `mask`. All lanes of `mask` must execute the instruction. Requires sm_80 or later.
    redux_add, "add", PTX;
    /// Returns the minimum of `value` over the lanes of `mask`. All lanes of `mask` must execute the instruction. Requires sm_80 or later.
    redux_min, "min", PTX;
    /// Returns the maximum of `value` over the lanes of `mask`. All lanes of `mask` must execute the instruction. Requires sm_80 or later.
    redux_max, "max", PTX;
    /// Returns the bits of `value` that are 1 in all lanes of `mask`. All lanes of `mask` must execute the instruction. Requires sm_80 or
    /// later.
    redux_and, "and", UNTYPED;
    /// Returns the bits of `value` that are 1 in any lane of `mask`. All lanes of `mask` must execute the instruction. Requires sm_80 or
    /// later.
    redux_or, "or", UNTYPED;
    /// Returns the bits of `value` that are 1 in an odd number of lanes of `mask`. All lanes of `mask` must execute the instruction.
    /// Requires sm_80 or later.
    redux_xor, "xor", UNTYPED;
}
