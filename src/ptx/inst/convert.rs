//! Conversions (`cvt`) and reinterpretation of bits.

use super::{ByteSized, Half};
use crate::ptx::{
    fold::{self, Format, Integer, Numeric, Rounding},
    kernel::Builder,
    operand::Operand,
    target::Features,
    types::{RegClass, Scalar, bf16, tf32},
    val::Val,
};

fn is_bf16<T: Scalar>() -> bool {
    T::PTX == bf16::PTX
}

/// Returns whether the target can convert bf16 only to and from f32.
fn lacks_bf16(k: Builder<'_>) -> bool {
    !k.target().features().contains(Features::HOPPER)
}

/// Returns whether `from` and `to` are integer types and `to` can represent every value of `from`.
fn fits(from: Format, to: Format) -> bool {
    match (from, to) {
        (Format::Integer { signed: a, bits: m }, Format::Integer { signed: b, bits: n }) => {
            (!a || b) && m - u32::from(a) <= n - u32::from(b)
        }
        _ => false,
    }
}

/// Returns whether `U`, a floating-point type, can represent every value of `T`.
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
    /// Converts the number to the type `U`, as Rust's `as` does except for NaN:
    /// - Conversions between integers wrap around.
    /// - Conversions from floating-point numbers to integers round toward zero and saturate. NaN becomes 0 or, if either type is 64 bits
    ///   wide, the integer with only the highest bit set.
    /// - Other conversions round to nearest even.
    ///
    /// Conversions between integers of the same width emit no instruction. Conversions to bf16 require sm_80 or later.
    ///
    /// On sm_90 and later, conversions between bf16 and types other than f32 take one instruction. Older targets convert through f32 if
    /// this gives the same result. Conversions to bf16 from f64 and from 32-bit and 64-bit integers would round twice, so the builder
    /// rejects them on older targets; convert to f32 explicitly if double rounding is acceptable.
    #[doc(alias = "cvt")]
    #[track_caller]
    pub fn cast<U: Numeric>(self) -> Val<'k, U> {
        let rounding = if matches!(U::FORMAT, Format::Integer { .. }) { Rounding::Rz } else { Rounding::Rn };
        self.convert(rounding)
    }

    /// Converts the number as [`cast`](Self::cast) does, but with an explicit rounding mode for inexact results:
    /// `x.convert::<f16>(Rounding::Rz)`, `x.convert::<i32>(Rounding::Rm)`.
    #[doc(alias = "cvt")]
    #[track_caller]
    pub fn convert<U: Numeric>(self, rounding: Rounding) -> Val<'k, U> {
        let Some((_, k)) = self.reg() else {
            return self.as_constant().map_or(U::ZERO, |c| fold::convert(c, rounding)).into();
        };
        let result = match (T::FORMAT, U::FORMAT) {
            _ if T::PTX == U::PTX => self.renamed(k),
            (Format::Integer { bits: a, .. }, Format::Integer { bits: b, .. }) if a == b => self.renamed(k),
            (Format::Integer { .. }, Format::Integer { .. }) => self.cvt(k, ["", ""]),
            _ if is_bf16::<T>() && U::PTX == f32::PTX => self.widened(k),
            _ if is_bf16::<T>() && lacks_bf16(k) => self.widened::<f32>(k).convert(rounding),
            (Format::Float { .. }, Format::Integer { .. }) => self.cvt(k, [rounding.integer_suffix(), ""]),
            _ if is_bf16::<U>() && T::PTX != f32::PTX && is_exact::<T, f32>() && lacks_bf16(k) => {
                self.convert::<f32>(Rounding::Rn).convert(rounding)
            }
            (Format::Float { .. }, Format::Float { .. }) if is_exact::<T, U>() => self.cvt(k, ["", ""]),
            _ => self.cvt(k, [rounding.suffix(), ""]),
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

    /// Converts the number to the type `U` and clamps the rounded result: to the range of `U` if it is an integer type, and to the range
    /// from 0 to 1 if it is a floating-point type.
    ///
    /// If `U` is a floating-point type, NaN becomes 0. If `U` is an integer type, NaN and fractions are converted as in
    /// [`cast`](Self::cast). The builder rejects conversions to bf16, and from bf16 to other floating-point types.
    #[doc(alias = "cvt.sat")]
    #[track_caller]
    pub fn cast_saturating<U: Numeric>(self) -> Val<'k, U> {
        let to_integer = matches!(U::FORMAT, Format::Integer { .. });
        let rounding = if to_integer { Rounding::Rz } else { Rounding::Rn };
        let Some((_, k)) = self.reg() else {
            return self.as_constant().map_or(U::ZERO, |c| fold::saturate(c, rounding)).into();
        };
        match (T::FORMAT, U::FORMAT) {
            // Conversions of floating-point numbers to integers saturate in any case.
            (Format::Float { .. }, Format::Integer { .. }) => self.convert(rounding),
            (from, to) if to_integer && fits(from, to) => self.convert(rounding),
            (_, Format::Integer { .. }) => self.cvt(k, ["", ".sat"]),
            _ if is_exact::<T, U>() && matches!(T::FORMAT, Format::Float { .. }) => self.cvt(k, ["", ".sat"]),
            _ => self.cvt(k, [rounding.suffix(), ".sat"]),
        }
    }

    #[track_caller]
    fn cvt<U: Scalar>(self, k: Builder<'k>, [rounding, saturation]: [&'static str; 2]) -> Val<'k, U> {
        k.result(["cvt", rounding, saturation, ".", U::PTX, ".", T::PTX], &[self.operand(k)])
    }

    /// Converts a bf16 to f32 by shifting it to the upper half; `cvt.f32.bf16`, with the same result, requires sm_90 or later.
    #[track_caller]
    fn widened<U: Scalar>(self, k: Builder<'k>) -> Val<'k, U> {
        let halves = [Val::from(0u16).operand(k), self.operand(k)];
        k.result(format_args!("mov.b32"), &[Operand::Vector(&halves)])
    }
}

/// Converts an integer to `i64`. A `u64` greater than `i64::MAX` becomes `i64::MAX`.
fn as_i64<T: Integer>(value: T) -> i64 {
    let unused = 64 - 8 * T::BYTES;
    let bits = value.to_bits() << unused;
    if T::SIGNED { bits as i64 >> unused } else { i64::try_from(bits >> unused).unwrap_or(i64::MAX) }
}

impl<'k, T: Integer> Val<'k, T> {
    /// Returns the low 8 bits as a value of the 8-bit type `B`, extended to 32 bits: `x.wrap_to::<i8>()`.
    #[doc(alias = "cvt.s32.s8")]
    #[track_caller]
    pub fn wrap_to<B: ByteSized>(self) -> Val<'k, B::Reg> {
        match self.reg() {
            None => self.as_constant().map_or(B::fold_wrap(0), |c| B::fold_wrap(c.to_bits() as i64)).into(),
            Some((_, k)) => {
                // Any register that is wide enough is a valid 8-bit source (PTX ISA, "Operand Size Exceeding Instruction-Type
                // Size").
                k.result(["cvt.", B::Reg::PTX, ".", B::MEM], &[self.operand(k)])
            }
        }
    }

    /// Clamps the number to the range of the 8-bit type `B` and extends the result to 32 bits: `x.clamp_to::<u8>()`.
    #[doc(alias = "cvt.sat.u8")]
    #[track_caller]
    pub fn clamp_to<B: ByteSized>(self) -> Val<'k, B::Reg> {
        match self.reg() {
            None => self.as_constant().map_or(B::fold_clamp(0), |c| B::fold_clamp(as_i64(c))).into(),
            Some((_, k)) => k.result(["cvt.sat.", B::MEM, ".", T::PTX], &[self.operand(k)]),
        }
    }
}

impl<'k> Val<'k, f32> {
    /// Converts to f16 or bf16. Negative numbers become 0. `rounding` must be [`Rounding::Rn`] or [`Rounding::Rz`]. Requires sm_80 or
    /// later.
    #[doc(alias = "cvt.relu")]
    #[track_caller]
    pub fn convert_relu<U: Numeric + Half>(self, rounding: Rounding) -> Val<'k, U> {
        match self.reg() {
            None => self
                .as_constant()
                .map_or(U::ZERO, |c| fold::convert::<f32, U>(c, rounding).fold_relu())
                .into(),
            Some((_, k)) => {
                k.result(["cvt", rounding.suffix(), ".relu.", U::PTX, ".f32"], &[self.operand(k)])
            }
        }
    }

    /// Converts to tf32, rounding to nearest, ties away from zero. Requires sm_80 or later.
    #[doc(alias = "cvt.rna.tf32.f32")]
    #[track_caller]
    pub fn to_tf32(self) -> Val<'k, tf32> {
        match self.reg() {
            None => self.as_constant().map_or(tf32::ZERO, tf32::from_f32).into(),
            Some((_, k)) => k.result(format_args!("cvt.rna.tf32.f32"), &[self.operand(k)]),
        }
    }

    /// Converts to tf32 with the given rounding mode, which must be [`Rounding::Rn`] or [`Rounding::Rz`]. Requires sm_90 or later.
    #[doc(alias = "cvt.rn.tf32.f32")]
    #[doc(alias = "cvt.rz.tf32.f32")]
    #[track_caller]
    pub fn to_tf32_with(self, rounding: Rounding) -> Val<'k, tf32> {
        match self.reg() {
            None => self.as_constant().map_or(tf32::ZERO, |c| fold::to_tf32(c, rounding)).into(),
            Some((_, k)) => k.result(["cvt", rounding.suffix(), ".tf32.f32"], &[self.operand(k)]),
        }
    }

    /// Converts as [`to_tf32_with`](Self::to_tf32_with) does, except that negative numbers become 0. Requires sm_90 or later.
    #[doc(alias = "cvt.rn.relu.tf32.f32")]
    #[track_caller]
    pub fn to_tf32_relu(self, rounding: Rounding) -> Val<'k, tf32> {
        match self.reg() {
            None => {
                let relu = |x: tf32| if x.to_bits() >> 31 == 1 { tf32::ZERO } else { x };
                self.as_constant().map_or(tf32::ZERO, |c| relu(fold::to_tf32(c, rounding))).into()
            }
            Some((_, k)) => k.result(["cvt", rounding.suffix(), ".relu.tf32.f32"], &[self.operand(k)]),
        }
    }
}

impl<'k> Val<'k, tf32> {
    /// Converts exactly to f32. The low 13 bits of the register are ignored, as in `mma`.
    #[track_caller]
    pub fn to_f32(self) -> Val<'k, f32> {
        (self.bits::<u32>() & !0x1fff).bits()
    }
}

impl<'k, T: Scalar> Val<'k, T> {
    /// Reinterprets the bits as another type of the same size. Emits no instruction if both types use the same register class, and a `mov`
    /// otherwise.
    #[doc(alias = "mov.b32")]
    #[track_caller]
    pub fn bits<U: Scalar>(self) -> Val<'k, U> {
        const {
            assert!(T::BYTES == U::BYTES, "bits are reinterpreted between types of the same size");
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

    /// Returns the register as another type of the same size; emits a `mov` if the register classes differ.
    #[track_caller]
    fn renamed<U: Scalar>(self, k: Builder<'k>) -> Val<'k, U> {
        let reg = self.in_register(k);
        if T::CLASS == U::CLASS {
            return Val::from_reg(reg, k);
        }
        k.result(format_args!("mov.b{}", 8 * T::BYTES), &[Operand::Reg(reg)])
    }
}
