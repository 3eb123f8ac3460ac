//! Element types on the GPU and on the host.

use cudarc::driver::{DeviceRepr, ValidAsZeroBits};
use warpwright::{
    prelude::{bf16, f16},
    run::StorageFor,
    tiles::Convert,
};

/// The type of the elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(in crate::bench) enum Dtype {
    Bf16,
    F16,
    F32,
}

/// An element type and its representation on the host.
pub(super) trait Element: Convert<f32> + 'static {
    type Stored: DeviceRepr + ValidAsZeroBits + Copy + StorageFor<Self> + 'static;
    /// The maximum relative error of a computation in f32 whose result is rounded to this type.
    const TOLERANCE: f64;

    fn stored(number: f32) -> Self::Stored;
    fn number(stored: Self::Stored) -> f64;
}

macro_rules! elements {
    ($($t:ident as $stored:ident, $tolerance:literal, $to:expr, $from:expr;)*) => {$(
        impl Element for $t {
            type Stored = $stored;
            const TOLERANCE: f64 = $tolerance;

            fn stored(number: f32) -> $stored {
                $to(number)
            }
            fn number(stored: $stored) -> f64 {
                $from(stored)
            }
        }
    )*};
}

elements! {
    bf16 as u16, 0.005, |x| Self::from_f32(x).to_bits(), |x| Self::from_bits(x).to_f64();
    f16 as u16, 0.001, |x| Self::from_f32(x).to_bits(), |x| Self::from_bits(x).to_f64();
    f32 as f32, 1e-5, |x| x, f64::from;
}
