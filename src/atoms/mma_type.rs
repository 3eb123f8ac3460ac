//! Number formats of matrix operands.

use std::fmt;

use crate::ptx::Element;

/// The number format of an operand of a matrix instruction (PTX ISA, "Alternate Floating-Point Data Formats" and the types of `mma`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum MmaType {
    /// Single bits. CuTe calls them `U1`.
    B1,
    /// Signed 4-bit integers.
    S4,
    /// Unsigned 4-bit integers.
    U4,
    /// Signed 8-bit integers.
    S8,
    /// Unsigned 8-bit integers.
    U8,
    /// Signed 16-bit integers.
    S16,
    /// Signed 32-bit integers.
    S32,
    /// 4 bits: sign, 2-bit exponent, 1-bit fraction. For `kind::f8f6f4` and `kind::mxf8f6f4`, each element is stored in bits 2 to 5 of a
    /// byte (as packed by CUTLASS).
    E2m1,
    /// 6 bits: sign, 2-bit exponent, 3-bit fraction. Each element is stored in bits 0 to 5 of a byte.
    E2m3,
    /// 6 bits: sign, 3-bit exponent, 2-bit fraction. Each element is stored in bits 0 to 5 of a byte.
    E3m2,
    /// 8 bits: sign, 4-bit exponent, 3-bit fraction.
    E4m3,
    /// 8 bits: sign, 5-bit exponent, 2-bit fraction.
    E5m2,
    /// A scale: a power of two, stored as an unsigned 8-bit exponent.
    Ue8m0,
    /// A scale: unsigned e4m3.
    Ue4m3,
    /// IEEE half precision.
    F16,
    /// bfloat16.
    Bf16,
    /// f32 with the low 13 bits ignored.
    Tf32,
    /// IEEE single precision.
    F32,
    /// IEEE double precision.
    F64,
    /// A complex number: two f64 values, the real part and the imaginary part. Each operation is implemented by several instructions on
    /// [`F64`](Self::F64).
    C64,
    /// Three f64 values that represent a complex number in Gauss's three-product method.
    Gc64,
}

impl MmaType {
    /// Returns the name in PTX, such as `"bf16"`. The complex types, which PTX lacks, are `"c64"` and `"gc64"`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            MmaType::B1 => "b1",
            MmaType::S4 => "s4",
            MmaType::U4 => "u4",
            MmaType::S8 => "s8",
            MmaType::U8 => "u8",
            MmaType::S16 => "s16",
            MmaType::S32 => "s32",
            MmaType::E2m1 => "e2m1",
            MmaType::E2m3 => "e2m3",
            MmaType::E3m2 => "e3m2",
            MmaType::E4m3 => "e4m3",
            MmaType::E5m2 => "e5m2",
            MmaType::Ue8m0 => "ue8m0",
            MmaType::Ue4m3 => "ue4m3",
            MmaType::F16 => "f16",
            MmaType::Bf16 => "bf16",
            MmaType::Tf32 => "tf32",
            MmaType::F32 => "f32",
            MmaType::F64 => "f64",
            MmaType::C64 => "c64",
            MmaType::Gc64 => "gc64",
        }
    }

    /// Returns the name of the type in CuTe's atom names, such as `"BF16"`; single bits are `"U1"`.
    pub(super) fn cute_name(self) -> String {
        if self == MmaType::B1 { "U1".to_owned() } else { self.name().to_uppercase() }
    }

    /// Returns whether `T` can store operands of this type. `T` may be the type's own Rust type, or bits of the same width (such as `B16`
    /// and `u16`, which are not operand types themselves). It may also be f32 for [`Tf32`](Self::Tf32), whose low bits are ignored.
    pub(crate) fn is_stored_in<T: Element>(self) -> bool {
        let own = match self {
            MmaType::S8 => "i8",
            MmaType::S16 => "i16",
            MmaType::S32 => "i32",
            ty => ty.name(),
        };
        let is_bits = matches!(T::NAME, "B16" | "B32" | "B64" | "u16" | "u32" | "u64");
        T::NAME == own || is_bits && self.bits() == 8 * T::SIZE || self == MmaType::Tf32 && T::NAME == "f32"
    }

    /// Returns the size of an element in bits. [`Tf32`](Self::Tf32) is stored in 32 bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            MmaType::B1 => 1,
            MmaType::S4 | MmaType::U4 | MmaType::E2m1 => 4,
            MmaType::E2m3 | MmaType::E3m2 => 6,
            MmaType::S8 | MmaType::U8 | MmaType::E4m3 | MmaType::E5m2 | MmaType::Ue8m0 | MmaType::Ue4m3 => 8,
            MmaType::S16 | MmaType::F16 | MmaType::Bf16 => 16,
            MmaType::S32 | MmaType::Tf32 | MmaType::F32 => 32,
            MmaType::F64 => 64,
            MmaType::C64 => 128,
            MmaType::Gc64 => 192,
        }
    }
}

impl fmt::Display for MmaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
