//! Elementary functions: square roots, reciprocals, exponentials, logarithms, trigonometric functions and activations.
//!
//! Most of these functions are approximations whose results depend on the hardware. They are therefore methods of [`Builder`] and emit
//! instructions even for constant operands. Approximate instructions on f32, except `tanh.approx`, flush subnormal operands and results to
//! zero.

use std::panic::Location;

use super::HalfPair;
use crate::ptx::{
    fold::{Numeric, Rounding},
    kernel::Builder,
    target::Features,
    types::{Scalar, bf16, bf16x2, f16, f16x2},
    val::Val,
};

/// A type that supports square roots and reciprocals: f32, f64, f16, bf16, f16x2 or bf16x2. bf16 and bf16x2 require sm_80 or later.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not support square roots and reciprocals",
    note = "f32, f64, f16, bf16, f16x2 and bf16x2 support them"
)]
pub trait Root: Scalar {
    #[doc(hidden)]
    fn emit_sqrt<'k>(k: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self>;
    #[doc(hidden)]
    fn emit_recip<'k>(k: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self>;
    #[doc(hidden)]
    fn emit_rsqrt<'k>(k: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self>;
}

/// A type that supports the elementary functions of [`Builder`], such as [`Builder::exp`]: f32, f16, bf16, f16x2 or bf16x2.
///
/// If a function of a 16-bit type is computed in f32, its documented error is that of the f32 result, which is then rounded to nearest
/// even. The approximate f32 instructions, except the one for [`tanh`](Builder::tanh), flush subnormal operands and results to zero; the
/// documented errors do not cover these cases.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no elementary functions",
    note = "f32, f16, bf16, f16x2 and bf16x2 have them; for f64, PTX has only square roots and reciprocals"
)]
pub trait Elementary: Root {
    /// Applies `f` to each element, converted to f32, and rounds the results to nearest even in the element type.
    #[doc(hidden)]
    fn in_f32<'k>(x: Val<'k, Self>, f: impl Fn(Val<'k, f32>) -> Val<'k, f32>) -> Val<'k, Self>;
    /// Returns the instruction for 2^x if the target supports it.
    #[doc(hidden)]
    fn ex2(k: Builder<'_>) -> Option<&'static str>;
    /// Returns the instruction for the hyperbolic tangent if the target supports it.
    #[doc(hidden)]
    fn tanh(k: Builder<'_>) -> Option<&'static str>;
}

macro_rules! reals {
    ($($t:ty, $rsqrt:ident;)*) => {$(
        impl Root for $t {
            #[track_caller]
            fn emit_sqrt<'k>(_: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self> {
                x.sqrt_with(Rounding::Rn)
            }
            #[track_caller]
            fn emit_recip<'k>(_: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self> {
                x.rcp_with(Rounding::Rn)
            }
            #[track_caller]
            fn emit_rsqrt<'k>(k: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self> {
                k.$rsqrt(x)
            }
        }
    )*};
}

reals! {
    f32, rsqrt_approx_ftz;
    f64, rsqrt_approx_f64;
}

impl Elementary for f32 {
    #[track_caller]
    fn in_f32<'k>(x: Val<'k, Self>, f: impl Fn(Val<'k, f32>) -> Val<'k, f32>) -> Val<'k, Self> {
        f(x)
    }
    fn ex2(_: Builder<'_>) -> Option<&'static str> {
        Some("ex2.approx.ftz.f32")
    }
    fn tanh(_: Builder<'_>) -> Option<&'static str> {
        Some("tanh.approx.f32")
    }
}

macro_rules! halves {
    ($($t:ident, $in_f32:ident, $ex2:expr, $tanh:expr;)*) => {$(
        // Rounding a root or quotient to f32 and then to 16 bits gives the same result as rounding once, because the significand of f32 has
        // more than twice as many bits.
        impl Root for $t {
            #[track_caller]
            fn emit_sqrt<'k>(k: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self> {
                $in_f32(x, |x| f32::emit_sqrt(k, x))
            }
            #[track_caller]
            fn emit_recip<'k>(k: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self> {
                $in_f32(x, |x| f32::emit_recip(k, x))
            }
            #[track_caller]
            fn emit_rsqrt<'k>(k: Builder<'k>, x: Val<'k, Self>) -> Val<'k, Self> {
                $in_f32(x, |x| f32::emit_rsqrt(k, x))
            }
        }

        impl Elementary for $t {
            #[track_caller]
            fn in_f32<'k>(x: Val<'k, Self>, f: impl Fn(Val<'k, f32>) -> Val<'k, f32>) -> Val<'k, Self> {
                $in_f32(x, f)
            }
            fn ex2(k: Builder<'_>) -> Option<&'static str> {
                $ex2(k)
            }
            fn tanh(k: Builder<'_>) -> Option<&'static str> {
                $tanh(k)
            }
        }
    )*};
}

halves! {
    f16,    single, |_| Some("ex2.approx.f16"),              |_| Some("tanh.approx.f16");
    f16x2,  pair,   |_| Some("ex2.approx.f16x2"),            |_| Some("tanh.approx.f16x2");
    bf16,   single, |k| on_sm_90(k, "ex2.approx.ftz.bf16"),   |k| on_sm_90(k, "tanh.approx.bf16");
    bf16x2, pair,   |k| on_sm_90(k, "ex2.approx.ftz.bf16x2"), |k| on_sm_90(k, "tanh.approx.bf16x2");
}

fn on_sm_90(k: Builder<'_>, mnemonic: &'static str) -> Option<&'static str> {
    k.target().features().contains(Features::HOPPER).then_some(mnemonic)
}

#[track_caller]
fn single<'k, T: Numeric>(x: Val<'k, T>, f: impl Fn(Val<'k, f32>) -> Val<'k, f32>) -> Val<'k, T> {
    f(x.cast()).cast()
}

#[track_caller]
fn pair<'k, T: HalfPair>(x: Val<'k, T>, f: impl Fn(Val<'k, f32>) -> Val<'k, f32>) -> Val<'k, T> {
    let (low, high) = x.unpack_f32();
    Val::pack_f32(f(low), f(high))
}

macro_rules! functions {
    ($bound:ident: $($(#[$doc:meta])* $name:ident = |$k:ident, $x:ident| $body:expr;)*) => {
        impl<'k> Builder<'k> {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $name<T: $bound>(self, x: impl Into<Val<'k, T>>) -> Val<'k, T> {
                let ($k, $x) = (self, x.into());
                let _located = self.locate(Location::caller());
                $body
            }
        )*}
    };
}

functions! { Root:
    /// Returns √x, correctly rounded. Emits `sqrt.rn` unless `x` is a constant. For 16-bit types, the root is computed in f32 and then
    /// converted, which gives the correctly rounded result.
    #[doc(alias = "sqrt.rn")]
    sqrt = |k, x| T::emit_sqrt(k, x);

    /// Returns 1 / x, correctly rounded. Emits `rcp.rn` unless `x` is a constant. For 16-bit types, the reciprocal is computed in f32 and
    /// then converted, which gives the correctly rounded result.
    #[doc(alias = "rcp.rn")]
    recip = |k, x| T::emit_recip(k, x);

    /// Approximates 1 / √x, with a relative error of at most 2^−22.4 for f32 and 2^−52 for f64. Emits `rsqrt.approx`. For 16-bit types, the
    /// result is computed in f32 and rounded to nearest even. Subnormal f32 operands are treated as zero.
    #[doc(alias = "rsqrt.approx")]
    rsqrt = |k, x| T::emit_rsqrt(k, x);
}

functions! { Elementary:
    /// Approximates 2^x, with a relative error of at most 2^−22 for f32, 2^−9.9 for f16 and 2^−7 for bf16. Emits `ex2.approx`; on targets
    /// older than sm_90, bf16 is computed in f32.
    #[doc(alias = "ex2.approx")]
    exp2 = |k, x| k.native(T::ex2(k), x, |x| k.ex2_approx_ftz(x));

    /// Approximates e^x as 2^(x · log₂ e), in f32. The relative error grows with |x|; it is at most 2^−16 if the result is a normal f32
    /// number.
    #[doc(alias = "ex2.approx")]
    exp = |k, x| T::in_f32(x, |x| k.ex2_approx_ftz(x * std::f32::consts::LOG2_E));

    /// Approximates the base-2 logarithm, in f32. The absolute error is at most 2^−22 for x between ½ and 2. For other x, the relative
    /// error is at most 2^−22.
    #[doc(alias = "lg2.approx")]
    log2 = |k, x| T::in_f32(x, |x| k.lg2_approx_ftz(x));

    /// Approximates the natural logarithm as log₂ x · ln 2, in f32. The absolute error is at most 2^−22 for x between ½ and 2. For other x,
    /// the relative error is at most 2^−21.
    #[doc(alias = "lg2.approx")]
    #[doc(alias = "log")]
    ln = |k, x| T::in_f32(x, |x| k.lg2_approx_ftz(x) * std::f32::consts::LN_2);

    /// Approximates the hyperbolic tangent. The relative error is at most 2^−11 for f32; the absolute error is at most 2^−10.9 for f16 and
    /// 2^−8 for bf16. Emits `tanh.approx`; on targets older than sm_90, bf16 is computed in f32.
    #[doc(alias = "tanh.approx")]
    tanh = |k, x| k.native(T::tanh(k), x, |x| k.tanh_approx(x));

    /// Approximates the sine of x radians, in f32. The absolute error is at most 2^−20.4 for x between −π and π; outside this range, it
    /// grows with |x|.
    #[doc(alias = "sin.approx")]
    sin = |k, x| T::in_f32(x, |x| k.sin_approx_ftz(x));

    /// Approximates the cosine of x radians, in f32. The absolute error is at most 2^−20.4 for x between −π and π; outside this range, it
    /// grows with |x|.
    #[doc(alias = "cos.approx")]
    cos = |k, x| T::in_f32(x, |x| k.cos_approx_ftz(x));

    /// Approximates the logistic function 1 / (1 + e^−x), in f32. The relative error is at most 2^−16 for x ≥ −87. The result is 0 for x
    /// below about −87.3.
    sigmoid = |k, x| T::in_f32(x, |x| k.logistic(x));

    /// Approximates x · [`sigmoid`](Self::sigmoid)(x), in f32. The relative error is at most 2^−16 for x ≥ −87. The result is −0 for finite
    /// x below about −87.3, and NaN for −∞.
    #[doc(alias = "swish")]
    silu = |k, x| T::in_f32(x, |x| x * k.logistic(x));

    /// Approximates x · Φ(x), in f32, where Φ is the cumulative distribution function of the standard normal distribution. The absolute
    /// error is at most 2^−20 · max(1, |x|). The result for −∞ is NaN.
    gelu = |k, x| T::in_f32(x, |x| x * k.normal_distribution(x));

    /// Approximates x / 2 · (1 + tanh(√(2/π) · (x + 0.044715 x³))), in f32. This function is itself an approximation of
    /// [`gelu`](Self::gelu). The relative error is at most 2^−14 for x ≥ −10. The result is −0 for finite x below about −10, and NaN for
    /// −∞.
    gelu_tanh = |k, x| T::in_f32(x, |x| {
        // (1 + tanh(u)) / 2 is the logistic function of 2u.
        let twice = 2.0 * (2.0 / std::f32::consts::PI).sqrt();
        let slope = (x * x).mad(0.044_715 * twice, twice);
        x * k.logistic(x * slope)
    });
}

impl<'k> Builder<'k> {
    /// Emits the instruction `mnemonic`, or applies `f` in f32 if the target lacks the instruction (`None`).
    #[track_caller]
    fn native<T: Elementary>(
        self,
        mnemonic: Option<&'static str>,
        x: Val<'k, T>,
        f: impl Fn(Val<'k, f32>) -> Val<'k, f32>,
    ) -> Val<'k, T> {
        match mnemonic {
            Some(mnemonic) => self.result([mnemonic], &[x.operand(self)]),
            None => T::in_f32(x, f),
        }
    }

    #[track_caller]
    fn logistic(self, x: Val<'k, f32>) -> Val<'k, f32> {
        self.rcp_approx_ftz(self.ex2_approx_ftz(x * -std::f32::consts::LOG2_E) + 1.0)
    }

    /// Approximates Φ(x) by a polynomial in 1 / (1 + p |x|/√2) (Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26).
    #[track_caller]
    fn normal_distribution(self, x: Val<'k, f32>) -> Val<'k, f32> {
        const P: f32 = 0.327_591_1;
        const A: [f32; 5] = [1.061_405_4, -1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6];
        let t = self.rcp_approx_ftz(x.abs().mad(P * std::f32::consts::FRAC_1_SQRT_2, 1.0));
        let polynomial = A[1..].iter().fold(Val::from(A[0] / 2.0), |sum, a| sum.mad(t, a / 2.0)) * t;
        let tail = polynomial * self.ex2_approx_ftz(x * x * (-std::f32::consts::LOG2_E / 2.0));
        x.lt(0.0).select(tail, Val::from(1.0) - tail)
    }
}
