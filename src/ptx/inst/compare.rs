//! Comparisons: `setp`, `set`.

use std::cmp::Ordering;

use super::{
    Operands::{In, Known},
    arithmetic::lacks_bf16_arithmetic,
    operands,
};
use crate::ptx::{
    facts,
    fold::{Float, Number, Numeric},
    kernel::Builder,
    operand::Operand,
    types::{B16, B32, B64, RegClass, Scalar, bf16, bf16x2, f16, f16x2},
    val::Val,
};

/// A comparison of two numbers (PTX ISA, "Comparisons").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// `a == b`; false if either is NaN.
    Eq,
    /// `a != b`; false if either is NaN.
    Ne,
    /// `a < b`; false if either is NaN.
    Lt,
    /// `a <= b`; false if either is NaN.
    Le,
    /// `a > b`; false if either is NaN.
    Gt,
    /// `a >= b`; false if either is NaN.
    Ge,
    /// `a == b`, or either is NaN. This comparison and the following ones support only floating-point types.
    Equ,
    /// `a != b`, or either is NaN.
    Neu,
    /// `a < b`, or either is NaN.
    Ltu,
    /// `a <= b`, or either is NaN.
    Leu,
    /// `a > b`, or either is NaN.
    Gtu,
    /// `a >= b`, or either is NaN.
    Geu,
    /// Neither operand is NaN.
    Num,
    /// At least one operand is NaN.
    Nan,
}

impl Comparison {
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
            Self::Equ => "equ",
            Self::Neu => "neu",
            Self::Ltu => "ltu",
            Self::Leu => "leu",
            Self::Gtu => "gtu",
            Self::Geu => "geu",
            Self::Num => "num",
            Self::Nan => "nan",
        }
    }

    /// Returns the comparison `c` for which `b c a` is equivalent to `a self b`.
    const fn mirrored(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Ltu => Self::Gtu,
            Self::Leu => Self::Geu,
            Self::Gtu => Self::Ltu,
            Self::Geu => Self::Leu,
            Self::Eq | Self::Ne | Self::Equ | Self::Neu | Self::Num | Self::Nan => self,
        }
    }

    /// Returns the comparison that is true if and only if this one is false.
    pub(in crate::ptx) const fn opposite(self) -> Self {
        match self {
            Self::Eq => Self::Neu,
            Self::Ne => Self::Equ,
            Self::Lt => Self::Geu,
            Self::Le => Self::Gtu,
            Self::Gt => Self::Leu,
            Self::Ge => Self::Ltu,
            Self::Equ => Self::Ne,
            Self::Neu => Self::Eq,
            Self::Ltu => Self::Ge,
            Self::Leu => Self::Gt,
            Self::Gtu => Self::Le,
            Self::Geu => Self::Lt,
            Self::Num => Self::Nan,
            Self::Nan => Self::Num,
        }
    }

    /// Returns the equivalent comparison for numbers that are never NaN.
    pub(in crate::ptx) const fn ordered(self) -> Self {
        match self {
            Self::Equ => Self::Eq,
            Self::Neu => Self::Ne,
            Self::Ltu => Self::Lt,
            Self::Leu => Self::Le,
            Self::Gtu => Self::Gt,
            Self::Geu => Self::Ge,
            _ => self,
        }
    }

    /// Returns the result if the known facts about two natural numbers determine it.
    fn known(self, a: facts::Known, b: facts::Known) -> Option<bool> {
        let less = a.most() < b.least();
        let greater = b.most() < a.least();
        match self {
            Self::Lt | Self::Ge if less || a.least() >= b.most() => Some(less == (self == Self::Lt)),
            Self::Gt | Self::Le if greater || b.least() >= a.most() => Some(greater == (self == Self::Gt)),
            Self::Eq | Self::Ne if less || greater => Some(self == Self::Ne),
            _ => None,
        }
    }

    /// Returns whether the comparison is true for two numbers whose ordering is `order`; `None` means that at least one of them is NaN.
    fn holds(self, order: Option<Ordering>) -> bool {
        let Some(order) = order else {
            return matches!(
                self,
                Self::Equ | Self::Neu | Self::Ltu | Self::Leu | Self::Gtu | Self::Geu | Self::Nan
            );
        };
        match self {
            Self::Eq | Self::Equ => order.is_eq(),
            Self::Ne | Self::Neu => order.is_ne(),
            Self::Lt | Self::Ltu => order.is_lt(),
            Self::Le | Self::Leu => order.is_le(),
            Self::Gt | Self::Gtu => order.is_gt(),
            Self::Ge | Self::Geu => order.is_ge(),
            Self::Num => true,
            Self::Nan => false,
        }
    }
}

impl<'k> Builder<'k> {
    /// Emits `setp` on operands of the PTX type `ptx` and records the comparison that defines the predicate.
    #[track_caller]
    pub(super) fn compare(
        self,
        comparison: Comparison,
        ptx: &'static str,
        operands: [Operand<'static>; 2],
    ) -> Val<'k, bool> {
        let result = self.result(["setp.", comparison.suffix(), ".", ptx], &operands);
        if let Some((predicate, _)) = result.reg() {
            self.body().set_compared(predicate, comparison, ptx, operands);
        }
        result
    }
}

macro_rules! comparisons {
    ($bound:ident: $($(#[$doc:meta])* $name:ident, $comparison:ident, $ptx:literal;)*) => {
        impl<'k, T: $bound> Val<'k, T> {
            $(
                $(#[$doc])*
                #[doc(alias = $ptx)]
                #[track_caller]
                pub fn $name(self, other: impl Into<Self>) -> Val<'k, bool> {
                    self.compare(Comparison::$comparison, other)
                }
            )*
        }
    };
}

comparisons! { Number:
    /// Returns whether `self == other`; false if either operand is NaN.
    eq, Eq, "setp.eq";
    /// Returns whether `self != other`; false if either operand is NaN, as in PTX. [`neu`](Self::neu) is true in that case, like Rust's
    /// `!=`.
    ne, Ne, "setp.ne";
    /// Returns whether `self < other`; false if either operand is NaN.
    lt, Lt, "setp.lt";
    /// Returns whether `self <= other`; false if either operand is NaN.
    le, Le, "setp.le";
    /// Returns whether `self > other`; false if either operand is NaN.
    gt, Gt, "setp.gt";
    /// Returns whether `self >= other`; false if either operand is NaN.
    ge, Ge, "setp.ge";
}

comparisons! { Float:
    /// Returns whether `self == other` or either operand is NaN.
    equ, Equ, "setp.equ";
    /// Returns whether `self != other` or either operand is NaN.
    neu, Neu, "setp.neu";
    /// Returns whether `self < other` or either operand is NaN.
    ltu, Ltu, "setp.ltu";
    /// Returns whether `self <= other` or either operand is NaN.
    leu, Leu, "setp.leu";
    /// Returns whether `self > other` or either operand is NaN.
    gtu, Gtu, "setp.gtu";
    /// Returns whether `self >= other` or either operand is NaN.
    geu, Geu, "setp.geu";
    /// Returns whether neither operand is NaN.
    num, Num, "setp.num";
    /// Returns whether at least one operand is NaN.
    nan, Nan, "setp.nan";
}

/// Returns whether `ptx` is the name of a pair type, such as `f16x2`, whose halves are compared separately.
const fn is_pair(ptx: &str) -> bool {
    matches!(ptx.as_bytes(), [.., b'x', b'2'])
}

impl<'k, T: Number> Val<'k, T> {
    /// Returns whether `comparison` is true for `self` and `other`: `x.compare(Comparison::Ltu, y)`. For pairs, use
    /// [`compare_each`](Self::compare_each).
    ///
    /// On targets older than sm_90, bf16 is compared in f32, which gives the same result.
    #[doc(alias = "setp")]
    #[track_caller]
    pub fn compare(self, comparison: Comparison, other: impl Into<Self>) -> Val<'k, bool> {
        const { assert!(!is_pair(T::PTX), "expected a single number, found a packed pair: use `compare_each`") };
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => comparison.holds(a.fold_compare(b)).into(),
            // Constants must be on the right.
            In(_) if self.as_constant().is_some() => other.compare(comparison.mirrored(), self),
            In(k) if lacks_bf16_arithmetic::<T>(k) => {
                self.upper_half(k).compare(comparison, other.upper_half(k))
            }
            In(k) => {
                if let Some(answer) = self
                    .is_natural_everywhere(other)
                    .then(|| comparison.known(self.settled(), other.settled()))
                    .flatten()
                {
                    return answer.into();
                }
                k.compare(comparison, T::PTX, [self.operand(k), other.operand(k)])
            }
        }
    }

    /// Returns the f32 whose upper half is this bf16.
    #[track_caller]
    fn upper_half(self, k: Builder<'k>) -> Val<'k, f32> {
        let halves = [Val::from(0u16).operand(k), self.operand(k)];
        k.result(format_args!("mov.b32"), &[Operand::Vector(&halves)])
    }
}

impl<'k, T: Numeric> Val<'k, T> {
    /// Returns `u32::MAX` if `comparison` is true for `self` and `other`, and 0 otherwise. bf16 requires sm_90 or later.
    #[doc(alias = "set")]
    #[track_caller]
    pub fn compare_mask(self, comparison: Comparison, other: impl Into<Self>) -> Val<'k, u32> {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => if comparison.holds(a.fold_compare(b)) { u32::MAX } else { 0 }.into(),
            In(k) => {
                let mnemonic = ["set.", comparison.suffix(), ".u32.", T::PTX];
                k.result(mnemonic, &[self.operand(k), other.operand(k)])
            }
        }
    }
}

/// A type that supports [`compare_unit`](Val::compare_unit): f16, bf16, f16x2 or bf16x2.
pub trait UnitMask: Number {
    #[doc(hidden)]
    fn fold_unit(self, other: Self, holds: impl Fn(Option<Ordering>) -> bool) -> Self;
}

/// A pair whose halves can be compared separately: f16x2 or bf16x2.
pub trait CompareEach: UnitMask {
    #[doc(hidden)]
    fn fold_each(self, other: Self, holds: impl Fn(Option<Ordering>) -> bool) -> [bool; 2];
}

macro_rules! unit_masks {
    ($($half:ident, $pair:ident;)*) => {$(
        impl UnitMask for $half {
            fn fold_unit(self, other: Self, holds: impl Fn(Option<Ordering>) -> bool) -> Self {
                if holds(self.fold_compare(other)) { Self::ONE } else { Self::ZERO }
            }
        }

        impl UnitMask for $pair {
            fn fold_unit(self, other: Self, holds: impl Fn(Option<Ordering>) -> bool) -> Self {
                Self(std::array::from_fn(|i| self.0[i].fold_unit(other.0[i], &holds)))
            }
        }

        impl CompareEach for $pair {
            fn fold_each(self, other: Self, holds: impl Fn(Option<Ordering>) -> bool) -> [bool; 2] {
                std::array::from_fn(|i| holds(self.0[i].fold_compare(other.0[i])))
            }
        }
    )*};
}

unit_masks! {
    f16,  f16x2;
    bf16, bf16x2;
}

impl<'k, T: UnitMask> Val<'k, T> {
    /// Returns 1 if `comparison` is true for `self` and `other`, and 0 otherwise, as a value of the operands' type. The halves of a pair
    /// are compared separately. bf16 and bf16x2 require sm_90 or later.
    #[doc(alias = "set")]
    #[track_caller]
    pub fn compare_unit(self, comparison: Comparison, other: impl Into<Self>) -> Self {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => a.fold_unit(b, |order| comparison.holds(order)).into(),
            In(k) => self.binary(k, format_args!("set.{}.{1}.{1}", comparison.suffix(), T::PTX), other),
        }
    }
}

impl<'k, T: CompareEach> Val<'k, T> {
    /// Compares the halves of two pairs separately, and returns the results for the low halves and for the high halves. bf16x2 requires
    /// sm_90 or later.
    #[doc(alias = "setp")]
    #[track_caller]
    pub fn compare_each(
        self,
        comparison: Comparison,
        other: impl Into<Self>,
    ) -> (Val<'k, bool>, Val<'k, bool>) {
        let other = other.into();
        match operands(self, other) {
            Known(a, b) => {
                let [low, high] = a.fold_each(b, |order| comparison.holds(order));
                (low.into(), high.into())
            }
            In(k) => {
                let (low, high) = (k.fresh(RegClass::Pred), k.fresh(RegClass::Pred));
                let operands = [Operand::Pair(low, high), self.operand(k), other.operand(k)];
                k.emit(["setp.", comparison.suffix(), ".", T::PTX], &operands);
                (Val::from_reg(low, k), Val::from_reg(high, k))
            }
        }
    }
}

macro_rules! untyped {
    ($($t:ident)*) => {$(
        impl<'k> Val<'k, $t> {
            /// Returns whether the bits are equal.
            #[doc(alias = "setp.eq")]
            #[track_caller]
            pub fn eq(self, other: impl Into<Self>) -> Val<'k, bool> {
                let other = other.into();
                match operands(self, other) {
                    Known(a, b) => (a == b).into(),
                    In(k) => k.result(["setp.eq.", $t::PTX], &[self.operand(k), other.operand(k)]),
                }
            }

            /// Returns whether the bits differ.
            #[doc(alias = "setp.ne")]
            #[track_caller]
            pub fn ne(self, other: impl Into<Self>) -> Val<'k, bool> {
                let other = other.into();
                match operands(self, other) {
                    Known(a, b) => (a != b).into(),
                    In(k) => k.result(["setp.ne.", $t::PTX], &[self.operand(k), other.operand(k)]),
                }
            }
        }
    )*};
}

untyped! { B16 B32 B64 }
