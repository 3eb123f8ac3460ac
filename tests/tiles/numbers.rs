//! The element types under test: what tiles of each support, and its numbers on the host.

use warpwright::{
    ptx::{Target, bf16, e2m3, e3m2, e4m3, e5m2, f16, tf32},
    tensor::TensorElement,
};

/// Calls a macro with the element types that have a property.
#[allow(unused_macros, reason = "each test binary uses some of the lists")]
macro_rules! element_types {
    // Buffers, views and register tiles.
    (all, $test:ident) => {
        $test! { u8 i8 e4m3 e5m2 e3m2 e2m3 u16 i16 B16 f16 bf16 u32 i32 B32 f16x2 bf16x2 tf32 f32 u64 i64 B64 f64 }
    };
    // Arithmetic and reductions.
    (computed, $test:ident) => {
        $test! { e4m3 e5m2 e3m2 e2m3 i8 u8 f16 bf16 tf32 f32 i32 u32 f64 i64 u64 }
    };
    // Conversions to each other, through f32 unless both types are in the second list.
    (converted, $test:ident) => {
        $test! { through f32: e4m3 e5m2 e3m2 e2m3 i8 u8 f16 bf16 tf32 f32; directly: f64 i32 u32 i64 u64; }
    };
}
#[allow(unused_imports, reason = "each test binary uses some of the lists")]
pub(super) use element_types;

/// A multiplicative generator with a full period.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }
}

/// An element type as numbers.
pub(super) trait Numeral: TensorElement {
    /// The lowest target of the type's arithmetic and conversions, or sm_89.
    const TARGET: Target = Target::SM_89;
    /// The element of the type that is nearest to a number; integers are rounded toward zero, and saturate.
    fn of(number: f64) -> Self;
    /// The nearest element, the even one of two.
    fn nearest(number: f64) -> Self {
        let is_integer = Self::of(0.5).number() == 0.0;
        Self::of(if is_integer { number.round_ties_even() } else { number })
    }
    /// The number, exactly.
    fn number(self) -> f64;
    /// A number of the type's range that is not special: from the normal distribution, roughly, or any integer.
    fn random(random: &mut Random) -> Self {
        let sum: f64 = (0..6).map(|_| (random.next() % 2001) as f64 / 1000.0 - 1.0).sum();
        Self::of(sum)
    }
    /// A small whole number, negative if the type has any.
    fn small(random: &mut Random) -> Self {
        Self::of((random.next() % 7) as f64 - 3.0)
    }
}

macro_rules! numerals {
    ($($type:ty: $of:expr, $number:expr $(, $target:expr)?;)*) => {$(
        impl Numeral for $type {
            $(const TARGET: Target = $target;)?
            fn of(number: f64) -> Self {
                let of: fn(f64) -> $type = $of;
                of(number)
            }

            fn number(self) -> f64 {
                let number: fn($type) -> f64 = $number;
                number(self)
            }
        }
    )*};
}

numerals! {
    bf16: bf16::from_f64, bf16::to_f64;
    f16:  f16::from_f64,  f16::to_f64;
    f32:  |x| x as f32,   f64::from;
    f64:  |x| x,          |x| x;
    tf32: |x| tf32::from_f32(x as f32), |x| x.to_f32().into();
    e4m3: |x| e4m3::from_f32(x as f32), |x| x.to_f32().into();
    e5m2: |x| e5m2::from_f32(x as f32), |x| x.to_f32().into();
    e3m2: |x| e3m2::from_f32(x as f32), |x| x.to_f32().into(), Target::SM_100A;
    e2m3: |x| e2m3::from_f32(x as f32), |x| x.to_f32().into(), Target::SM_100A;
    i32:  |x| x as i32,   f64::from;
    u32:  |x| x as u32,   f64::from;
    i16:  |x| x as i16,   f64::from;
    u16:  |x| x as u16,   f64::from;
    i64:  |x| x as i64,   |x| x as f64;
    u64:  |x| x as u64,   |x| x as f64;
}

impl Numeral for i8 {
    fn of(number: f64) -> Self {
        number as i8
    }
    fn number(self) -> f64 {
        self.into()
    }
    fn random(random: &mut Random) -> Self {
        random.next() as i8
    }
}

impl Numeral for u8 {
    fn of(number: f64) -> Self {
        number as u8
    }
    fn number(self) -> f64 {
        self.into()
    }
    fn random(random: &mut Random) -> Self {
        random.next() as u8
    }
    fn small(random: &mut Random) -> Self {
        Self::of((random.next() % 7) as f64)
    }
}
