//! Approximations: `rcp`, `sqrt`, `rsqrt`, `sin`, `cos`, `lg2`, `ex2`, `tanh`, `div`.
//!
//! What they return is the device's own, so they never fold: they are methods of the kernel, and a constant operand
//! costs an instruction like any other.

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
    /// About 1 / x, to 1 ulp.
    rcp_approx: f32 = "rcp.approx.f32";
    /// About 1 / x, subnormals counted as zero.
    rcp_approx_ftz: f32 = "rcp.approx.ftz.f32";
    /// About 1 / x in f64, to 20 bits, subnormals counted as zero.
    rcp_approx_f64: f64 = "rcp.approx.ftz.f64";
    /// About √x.
    sqrt_approx: f32 = "sqrt.approx.f32";
    /// About √x, subnormals counted as zero.
    sqrt_approx_ftz: f32 = "sqrt.approx.ftz.f32";
    /// About 1 / √x.
    rsqrt_approx: f32 = "rsqrt.approx.f32";
    /// About 1 / √x, subnormals counted as zero.
    rsqrt_approx_ftz: f32 = "rsqrt.approx.ftz.f32";
    /// About 1 / √x in f64.
    rsqrt_approx_f64: f64 = "rsqrt.approx.f64";
    /// About 1 / √x in f64, to 20 bits, subnormals counted as zero.
    rsqrt_approx_ftz_f64: f64 = "rsqrt.approx.ftz.f64";
    /// About the sine of x radians.
    sin_approx: f32 = "sin.approx.f32";
    /// About the sine of x radians, subnormals counted as zero.
    sin_approx_ftz: f32 = "sin.approx.ftz.f32";
    /// About the cosine of x radians.
    cos_approx: f32 = "cos.approx.f32";
    /// About the cosine of x radians, subnormals counted as zero.
    cos_approx_ftz: f32 = "cos.approx.ftz.f32";
    /// About the logarithm of x to base 2.
    lg2_approx: f32 = "lg2.approx.f32";
    /// About the logarithm of x to base 2, subnormals counted as zero.
    lg2_approx_ftz: f32 = "lg2.approx.ftz.f32";
    /// About 2 to the power of x.
    ex2_approx: f32 = "ex2.approx.f32";
    /// About 2 to the power of x, subnormals counted as zero.
    ex2_approx_ftz: f32 = "ex2.approx.ftz.f32";
    /// About 2 to the power of x in f16.
    ex2_approx_f16: f16 = "ex2.approx.f16";
    /// About 2 to the power of each half.
    ex2_approx_f16x2: f16x2 = "ex2.approx.f16x2";
    /// About 2 to the power of x in bf16, subnormals counted as zero. sm_90.
    ex2_approx_bf16: bf16 = "ex2.approx.ftz.bf16";
    /// About 2 to the power of each half, subnormals counted as zero. sm_90.
    ex2_approx_bf16x2: bf16x2 = "ex2.approx.ftz.bf16x2";
    /// About the hyperbolic tangent of x.
    tanh_approx: f32 = "tanh.approx.f32";
    /// About the hyperbolic tangent of x in f16.
    tanh_approx_f16: f16 = "tanh.approx.f16";
    /// About the hyperbolic tangent of each half.
    tanh_approx_f16x2: f16x2 = "tanh.approx.f16x2";
    /// About the hyperbolic tangent of x in bf16. sm_90.
    tanh_approx_bf16: bf16 = "tanh.approx.bf16";
    /// About the hyperbolic tangent of each half. sm_90.
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
    /// About x / y, to 2 ulp for y between 2^−126 and 2^126; 0 for a larger finite y.
    div_approx = "div.approx.f32";
    /// About x / y like [`div_approx`](Self::div_approx), subnormals counted as zero.
    div_approx_ftz = "div.approx.ftz.f32";
    /// About x / y, to 2 ulp for every y.
    div_full = "div.full.f32";
    /// About x / y, to 2 ulp for every y, subnormals counted as zero.
    div_full_ftz = "div.full.ftz.f32";
}
