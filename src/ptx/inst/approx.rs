//! Approximate functions: `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`, `div`.
//!
//! Their results depend on the hardware. They are therefore methods of [`Builder`] and emit an instruction even for constant operands.

use crate::ptx::{
    kernel::Builder,
    types::{bf16, bf16x2, f16, f16x2},
    val::Val,
};

macro_rules! unary {
    ($($(#[$doc:meta])* $name:ident: $t:ty = $ptx:literal;)*) => {
        impl<'k> Builder<'k> {
            $(
                $(#[$doc])*
                #[doc = ""]
                #[doc = concat!("`", $ptx, "`")]
                #[doc(alias = $ptx)]
                #[track_caller]
                pub fn $name(self, x: impl Into<Val<'k, $t>>) -> Val<'k, $t> {
                    self.result(format_args!($ptx), &[x.into().operand(self)])
                }
            )*
        }
    };
}

unary! {
    /// Approximates 1 / x with an error of at most 1 ulp.
    rcp_approx: f32 = "rcp.approx.f32";
    /// Approximates 1 / x, with subnormals flushed to zero.
    rcp_approx_ftz: f32 = "rcp.approx.ftz.f32";
    /// Approximates 1 / x in f64 to about 20 bits of precision, with subnormals flushed to zero.
    rcp_approx_f64: f64 = "rcp.approx.ftz.f64";
    /// Approximates √x.
    sqrt_approx: f32 = "sqrt.approx.f32";
    /// Approximates √x, with subnormals flushed to zero.
    sqrt_approx_ftz: f32 = "sqrt.approx.ftz.f32";
    /// Approximates 1 / √x.
    rsqrt_approx: f32 = "rsqrt.approx.f32";
    /// Approximates 1 / √x, with subnormals flushed to zero.
    rsqrt_approx_ftz: f32 = "rsqrt.approx.ftz.f32";
    /// Approximates 1 / √x in f64.
    rsqrt_approx_f64: f64 = "rsqrt.approx.f64";
    /// Approximates 1 / √x in f64 to about 20 bits of precision, with subnormals flushed to zero.
    rsqrt_approx_ftz_f64: f64 = "rsqrt.approx.ftz.f64";
    /// Approximates the sine of x radians.
    sin_approx: f32 = "sin.approx.f32";
    /// Approximates the sine of x radians, with subnormals flushed to zero.
    sin_approx_ftz: f32 = "sin.approx.ftz.f32";
    /// Approximates the cosine of x radians.
    cos_approx: f32 = "cos.approx.f32";
    /// Approximates the cosine of x radians, with subnormals flushed to zero.
    cos_approx_ftz: f32 = "cos.approx.ftz.f32";
    /// Approximates the base-2 logarithm of x.
    lg2_approx: f32 = "lg2.approx.f32";
    /// Approximates the base-2 logarithm of x, with subnormals flushed to zero.
    lg2_approx_ftz: f32 = "lg2.approx.ftz.f32";
    /// Approximates 2 to the power of x.
    ex2_approx: f32 = "ex2.approx.f32";
    /// Approximates 2 to the power of x, with subnormals flushed to zero.
    ex2_approx_ftz: f32 = "ex2.approx.ftz.f32";
    /// Approximates 2 to the power of x in f16.
    ex2_approx_f16: f16 = "ex2.approx.f16";
    /// Approximates 2 to the power of each half of x.
    ex2_approx_f16x2: f16x2 = "ex2.approx.f16x2";
    /// Approximates 2 to the power of x in bf16, with subnormals flushed to zero. Requires sm_90 or later.
    ex2_approx_bf16: bf16 = "ex2.approx.ftz.bf16";
    /// Approximates 2 to the power of each half of x, with subnormals flushed to zero. Requires sm_90 or later.
    ex2_approx_bf16x2: bf16x2 = "ex2.approx.ftz.bf16x2";
    /// Approximates the hyperbolic tangent of x.
    tanh_approx: f32 = "tanh.approx.f32";
    /// Approximates the hyperbolic tangent of x in f16.
    tanh_approx_f16: f16 = "tanh.approx.f16";
    /// Approximates the hyperbolic tangent of each half of x.
    tanh_approx_f16x2: f16x2 = "tanh.approx.f16x2";
    /// Approximates the hyperbolic tangent of x in bf16. Requires sm_90 or later.
    tanh_approx_bf16: bf16 = "tanh.approx.bf16";
    /// Approximates the hyperbolic tangent of each half of x. Requires sm_90 or later.
    tanh_approx_bf16x2: bf16x2 = "tanh.approx.bf16x2";
}

macro_rules! quotients {
    ($($(#[$doc:meta])* $name:ident = $ptx:literal;)*) => {
        impl<'k> Builder<'k> {
            $(
                $(#[$doc])*
                #[doc = ""]
                #[doc = concat!("`", $ptx, "`")]
                #[doc(alias = $ptx)]
                #[track_caller]
                pub fn $name(self, x: impl Into<Val<'k, f32>>, y: impl Into<Val<'k, f32>>) -> Val<'k, f32> {
                    self.result(format_args!($ptx), &[x.into().operand(self), y.into().operand(self)])
                }
            )*
        }
    };
}

quotients! {
    /// Approximates x / y. The error is at most 2 ulp for |y| between 2^−126 and 2^126. For larger finite |y|, the result is 0, or NaN if x
    /// is infinite.
    div_approx = "div.approx.f32";
    /// Approximates x / y as [`div_approx`](Self::div_approx) does, but with subnormals flushed to zero.
    div_approx_ftz = "div.approx.ftz.f32";
    /// Approximates x / y with an error of at most 2 ulp for all y.
    div_full = "div.full.f32";
    /// Approximates x / y with an error of at most 2 ulp for all y, with subnormals flushed to zero.
    div_full_ftz = "div.full.ftz.f32";
}
