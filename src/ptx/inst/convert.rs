//! Conversion: `cvt`, and bits seen as another type.

use std::fmt;

use super::Half;
use crate::ptx::{
    fold::{self, Format, Integer, Numeric, Rounding},
    kernel::Builder,
    operand::Operand,
    target::Features,
    types::{B32, Element, RegClass, Scalar, bf16},
    val::Val,
};

fn is_bf16<T: Scalar>() -> bool {
    T::PTX == bf16::PTX
}

/// Whether the target's only conversion to and from bf16 is the one with f32.
fn lacks_bf16(k: Builder<'_>) -> bool {
    !k.target().features().contains(Features::HOPPER)
}

/// Whether every value of an integer type is one of another.
fn fits(from: Format, to: Format) -> bool {
    match (from, to) {
        (Format::Integer { signed: a, bits: m }, Format::Integer { signed: b, bits: n }) => {
            (!a || b) && m - u32::from(a) <= n - u32::from(b)
        }
        _ => false,
    }
}

/// Whether every value of `T` is one of `U`, which must be a float type.
fn is_exact<T: Numeric, U: Numeric>() -> bool {
    match (T::FORMAT, U::FORMAT) {
        (Format::Integer { signed, bits }, Format::Float { significand, exponent }) => {
            bits - u32::from(signed) <= significand + 1 && bits < 1 << (exponent - 1)
        }
        (Format::Float { significand: a, exponent: b }, Format::Float { significand: c, exponent: d }) => {
            a <= c && b <= d
        }
        (_, Format::Integer { .. }) => false,
    }
}

impl<'k, T: Numeric> Val<'k, T> {
    /// The number in another type, as Rust's `as` has it: integers wrap into integers; floats go towards zero and
    /// saturate into integers, NaN giving 0 (but 2^(width − 1) where either side has 64 bits); numbers round to the nearest
    /// float, ties to even.
    ///
    /// Between integers of one width it costs no instruction. bf16 with anything but f32 takes one instruction on sm_90
    /// and a detour through f32, with the same result, below. An integer of 32 or 64 bits, or an f64, has no way to
    /// bf16 below sm_90 that rounds once, and is refused there: go through f32 explicitly if rounding twice will do.
    #[doc(alias = "cvt")]
    #[track_caller]
    pub fn cast<U: Numeric>(self) -> Val<'k, U> {
        let rounding = if matches!(U::FORMAT, Format::Integer { .. }) { Rounding::Rz } else { Rounding::Rn };
        self.convert(rounding)
    }

    /// The number in another type with an explicit rounding, which matters wherever the result may be inexact:
    /// `x.convert::<f16>(Rounding::Rz)`, `x.convert::<i32>(Rounding::Rm)`. Otherwise like [`cast`](Self::cast).
    #[doc(alias = "cvt")]
    #[track_caller]
    pub fn convert<U: Numeric>(self, rounding: Rounding) -> Val<'k, U> {
        let Some((_, k)) = self.reg() else {
            return self.as_constant().map_or(U::ZERO, |c| fold::convert(c, rounding)).into();
        };
        let result = match (T::FORMAT, U::FORMAT) {
            _ if T::PTX == U::PTX => self.renamed(k),
            (Format::Integer { bits: a, .. }, Format::Integer { bits: b, .. }) if a == b => self.renamed(k),
            (Format::Integer { .. }, Format::Integer { .. }) => self.cvt(k, format_args!("")),
            _ if is_bf16::<T>() && U::PTX == f32::PTX => self.widened(k),
            _ if is_bf16::<T>() && lacks_bf16(k) => self.widened::<f32>(k).convert(rounding),
            (Format::Float { .. }, Format::Integer { .. }) => {
                self.cvt(k, format_args!("{}", rounding.integer_suffix()))
            }
            _ if is_bf16::<U>() && T::PTX != f32::PTX && is_exact::<T, f32>() && lacks_bf16(k) => {
                self.convert::<f32>(Rounding::Rn).convert(rounding)
            }
            (Format::Float { .. }, Format::Float { .. }) if is_exact::<T, U>() => {
                self.cvt(k, format_args!(""))
            }
            _ => self.cvt(k, format_args!("{}", rounding.suffix())),
        };
        if let (Format::Integer { signed, .. }, Format::Integer { bits, .. }) = (T::FORMAT, U::FORMAT) {
            let known = self.known();
            let resized = known.resized(bits, signed);
            result.learn(resized, self.is_local());
            let same = resized.most() >= known.most() && (!signed || known.is_nonnegative());
            if let (Some((reg, _)), Some((source, _)), true) =
                (result.reg(), self.reg(), same && bits != known.width())
            {
                k.body().set_same(reg, source);
            }
        }
        if T::PTX == "u32" && U::PTX == "u64" { result.with_dim(|| self.dim()) } else { result }
    }

    /// The number clamped into the range of another integer type, or rounded and clamped to 0 … 1 in a float type, NaN giving 0.
    #[doc(alias = "cvt.sat")]
    #[track_caller]
    pub fn cast_saturating<U: Numeric>(self) -> Val<'k, U> {
        let to_integer = matches!(U::FORMAT, Format::Integer { .. });
        let rounding = if to_integer { Rounding::Rz } else { Rounding::Rn };
        let Some((_, k)) = self.reg() else {
            return self.as_constant().map_or(U::ZERO, |c| fold::saturate(c, rounding)).into();
        };
        match (T::FORMAT, U::FORMAT) {
            // Floats saturate into integers anyway.
            (Format::Float { .. }, Format::Integer { .. }) => self.convert(rounding),
            (from, to) if to_integer && fits(from, to) => self.convert(rounding),
            (_, Format::Integer { .. }) => self.cvt(k, format_args!(".sat")),
            _ if is_exact::<T, U>() && matches!(T::FORMAT, Format::Float { .. }) => {
                self.cvt(k, format_args!(".sat"))
            }
            _ => self.cvt(k, format_args!("{}.sat", rounding.suffix())),
        }
    }

    #[track_caller]
    fn cvt<U: Scalar>(self, k: Builder<'k>, modifiers: fmt::Arguments<'_>) -> Val<'k, U> {
        k.result(format_args!("cvt{modifiers}.{}.{}", U::PTX, T::PTX), &[self.operand(k)])
    }

    /// A bf16 as the upper half of an f32, which is the same number: `cvt.f32.bf16` is for sm_90 and gives no other.
    #[track_caller]
    fn widened<U: Scalar>(self, k: Builder<'k>) -> Val<'k, U> {
        let halves = [Val::from(0u16).operand(k), self.operand(k)];
        k.result(format_args!("mov.b32"), &[Operand::Vector(&halves)])
    }
}

/// An 8-bit integer, which lives in a 32-bit register: `u8`, `i8`.
pub trait ByteSized: Element {
    #[doc(hidden)]
    fn fold_wrap(value: i64) -> Self::Reg;
    #[doc(hidden)]
    fn fold_clamp(value: i64) -> Self::Reg;
}

impl ByteSized for u8 {
    fn fold_wrap(value: i64) -> u32 {
        (value as Self).into()
    }
    fn fold_clamp(value: i64) -> u32 {
        value.clamp(0, 255) as u32
    }
}

impl ByteSized for i8 {
    fn fold_wrap(value: i64) -> i32 {
        (value as Self).into()
    }
    fn fold_clamp(value: i64) -> i32 {
        value.clamp(-128, 127) as i32
    }
}

/// An integer of at most 32 bits, or signed: what `i64` can hold.
fn as_i64<T: Integer>(value: T) -> i64 {
    let unused = 64 - 8 * T::BYTES;
    let bits = value.to_bits() << unused;
    if T::SIGNED { bits as i64 >> unused } else { i64::try_from(bits >> unused).unwrap_or(i64::MAX) }
}

impl<'k, T: Integer> Val<'k, T> {
    /// The low 8 bits as a number, extended to a whole register: `x.wrap_to::<i8>()`.
    #[doc(alias = "cvt.s32.s8")]
    #[track_caller]
    pub fn wrap_to<B: ByteSized>(self) -> Val<'k, B::Reg> {
        match self.reg() {
            None => self.as_constant().map_or(B::fold_wrap(0), |c| B::fold_wrap(c.to_bits() as i64)).into(),
            Some((_, k)) => {
                // Any register wide enough will do as a source of 8 bits (PTX ISA, "Operand Size Exceeding Instruction-Type Size").
                k.result(format_args!("cvt.{}.{}", B::Reg::PTX, B::MEM), &[self.operand(k)])
            }
        }
    }

    /// The number clamped into the range of an 8-bit type, extended to a whole register: `x.clamp_to::<u8>()`.
    #[doc(alias = "cvt.sat.u8")]
    #[track_caller]
    pub fn clamp_to<B: ByteSized>(self) -> Val<'k, B::Reg> {
        match self.reg() {
            None => self.as_constant().map_or(B::fold_clamp(0), |c| B::fold_clamp(as_i64(c))).into(),
            Some((_, k)) => k.result(format_args!("cvt.sat.{}.{}", B::MEM, T::PTX), &[self.operand(k)]),
        }
    }
}

impl<'k> Val<'k, f32> {
    /// As f16 or bf16 with a negative number made 0: [`Rounding::Rn`] or [`Rounding::Rz`]. sm_80.
    #[doc(alias = "cvt.relu")]
    #[track_caller]
    pub fn convert_relu<U: Numeric + Half>(self, rounding: Rounding) -> Val<'k, U> {
        match self.reg() {
            None => self
                .as_constant()
                .map_or(U::ZERO, |c| fold::convert::<f32, U>(c, rounding).fold_relu())
                .into(),
            Some((_, k)) => {
                k.result(format_args!("cvt{}.relu.{}.f32", rounding.suffix(), U::PTX), &[self.operand(k)])
            }
        }
    }

    /// As tf32, in the upper 19 bits of a register: to the nearest, ties away from zero. sm_80.
    #[doc(alias = "cvt.rna.tf32")]
    #[track_caller]
    pub fn to_tf32(self) -> Val<'k, B32> {
        match self.reg() {
            None => B32(self.as_constant().map_or(0, fold_tf32)).into(),
            Some((_, k)) => k.result(format_args!("cvt.rna.tf32.f32"), &[self.operand(k)]),
        }
    }
}

/// Half a unit of the last of the ten digits is added to the magnitude, and the rest is dropped.
fn fold_tf32(x: f32) -> u32 {
    let half = if x.is_finite() { 1 << 12 } else { 0 };
    (x.to_bits() + half) & !0x1fff
}

impl<'k, T: Scalar> Val<'k, T> {
    /// The same bits as another type of the same size; no instruction if both live in registers of one class.
    #[doc(alias = "mov.b32")]
    #[track_caller]
    pub fn bits<U: Scalar>(self) -> Val<'k, U> {
        const {
            assert!(T::BYTES == U::BYTES, "bits are reinterpreted between types of one size");
            assert!(
                matches!(T::CLASS, RegClass::Pred) == matches!(U::CLASS, RegClass::Pred),
                "a predicate has no bits"
            );
        }
        match self.reg() {
            None => self.as_constant().map_or(U::from_bits(0), |c| U::from_bits(c.to_bits())).into(),
            Some((_, k)) => self.renamed(k),
        }
    }

    /// The register under another type of its size, through a `mov` if the classes differ.
    #[track_caller]
    fn renamed<U: Scalar>(self, k: Builder<'k>) -> Val<'k, U> {
        let reg = self.in_register(k);
        if T::CLASS == U::CLASS {
            return Val::from_reg(reg, k);
        }
        k.result(format_args!("mov.b{}", 8 * T::BYTES), &[Operand::Reg(reg)])
    }
}
