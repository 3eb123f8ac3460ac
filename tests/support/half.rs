//! The 16-bit types of factors and results, and pseudo-random numbers.

use warpwright::{
    prelude::*,
    tensor::{Arithmetic, FloatElement},
    tiles::{Convert, Product},
};

/// The type of factors and results.
pub(crate) trait Half:
    Arithmetic + FloatElement + Product<Self, f32> + Convert<f32> + PartialEq
{
    const NAN: Self;
    /// The relative error of a product of a few rounded numbers.
    const ERROR: f64;
    fn of(x: f64) -> Self;
    fn number(self) -> f64;
}

macro_rules! halves {
    ($($t:ident $error:expr;)*) => {$(
        impl Half for $t {
            const NAN: Self = $t::NAN;
            const ERROR: f64 = $error;

            fn of(x: f64) -> Self {
                $t::from_f64(x)
            }

            fn number(self) -> f64 {
                self.to_f64()
            }
        }
    )*};
}

halves! {
    bf16 1.0 / 128.0;
    f16  1.0 / 1024.0;
}

/// Returns a pseudo-random number from −1 to 1.
pub(crate) fn mixed(index: usize) -> f64 {
    let mix = (index as u32).wrapping_mul(2_654_435_761).rotate_left(15).wrapping_mul(2_246_822_519);
    f64::from(mix >> 8) / f64::from(1 << 23) - 1.0
}
