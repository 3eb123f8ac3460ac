//! PTX scalar types as Rust types.
//!
//! Rust's own types represent PTX types: `u32` is `.u32`, `i32` is `.s32`, `f32` is `.f32`, `bool` is `.pred`, and [`half::f16`] and
//! [`half::bf16`] are `.f16` and `.bf16`. [`e4m3`], [`e5m2`], [`e3m2`], [`e2m3`] and [`tf32`] are PTX types that Rust lacks. [`B16`],
//! [`B32`], [`B64`] and [`B128`] are the untyped `.b16`, `.b32`, `.b64` and `.b128`. [`f16x2`] and [`bf16x2`] are packed pairs, with the
//! first element in the lower half.

mod minifloat;
mod tensor_float;

use std::fmt::{self, Debug};

pub use half::{bf16, f16};
pub use minifloat::{Minifloat, e2m3, e3m2, e4m3, e5m2};
pub use tensor_float::tf32;

use super::operand::{write_decimal, write_hexadecimal};

/// The numeric types that Rust lacks, for the prelude and for modules that implement traits for every element type.
pub(crate) mod numbers {
    pub use super::{bf16, bf16x2, e2m3, e3m2, e4m3, e5m2, f16, f16x2, tf32};
}

/// A register class. The registers of a class share a name prefix, a width and one `.reg` declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RegClass {
    /// Predicates (`%p`).
    Pred,
    /// 16-bit integers and untyped bits (`%rs`).
    B16,
    /// f16 and bf16 (`%h`).
    Half,
    /// 32-bit integers and untyped bits, packed pairs, [minifloats](Minifloat) and tf32 (`%r`).
    B32,
    /// f32 (`%f`).
    F32,
    /// 64-bit integers, untyped bits and addresses (`%rd`).
    B64,
    /// f64 (`%fd`).
    F64,
    /// 128 untyped bits (`%rq`).
    B128,
}

impl RegClass {
    /// All classes, in the order of declaration.
    pub const ALL: [Self; 8] =
        [Self::Pred, Self::B16, Self::Half, Self::B32, Self::F32, Self::B64, Self::F64, Self::B128];

    /// Returns the prefix of the register names, such as `%r`.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Pred => "%p",
            Self::B16 => "%rs",
            Self::Half => "%h",
            Self::B32 => "%r",
            Self::F32 => "%f",
            Self::B64 => "%rd",
            Self::F64 => "%fd",
            Self::B128 => "%rq",
        }
    }

    /// Returns the type in the `.reg` declaration, such as `.b32`.
    pub const fn decl(self) -> &'static str {
        match self {
            Self::Pred => ".pred",
            Self::B16 | Self::Half => ".b16",
            Self::B32 => ".b32",
            Self::F32 => ".f32",
            Self::B64 => ".b64",
            Self::F64 => ".f64",
            Self::B128 => ".b128",
        }
    }

    /// Returns the type suffix of the `mov` that copies a register of this class, without the dot.
    pub const fn mov(self) -> &'static str {
        match self {
            Self::Pred => "pred",
            Self::B16 | Self::Half => "b16",
            Self::B32 => "b32",
            Self::F32 => "f32",
            Self::B64 => "b64",
            Self::F64 => "f64",
            Self::B128 => "b128",
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// A type that can be stored in a register.
pub trait Scalar: Copy + Debug + PartialEq + Send + Sync + 'static + sealed::Sealed {
    /// The name in PTX, without the dot, such as `"s32"`.
    const PTX: &'static str;
    /// The class of the registers that contain values of the type.
    const CLASS: RegClass;
    /// The type suffix of `ld`, `st` and `mov`, such as `"b16"` for f16.
    const MEM: &'static str;
    /// The size in a register, in bytes. For a [`Minifloat`], it differs from the size in memory: a register contains one value in its low
    /// 8 bits.
    const BYTES: u32;
    /// Whether instructions accept constants of this type as immediates. Constants of floating-point types of at most 16 bits, packed
    /// pairs, tf32 and [`B128`] must be in registers.
    const IMMEDIATE: bool;

    /// Returns the value as raw bits.
    fn to_bits(self) -> u64;
    /// Creates a value from raw bits. Excess bits are ignored.
    fn from_bits(bits: u64) -> Self;
    /// Writes the exact value as a PTX immediate.
    fn write_immediate(self, w: &mut dyn fmt::Write) -> fmt::Result;
}

/// A type that can be stored in memory; [`Element::Reg`] is the type that a load returns.
///
/// 8-bit integers and minifloats occupy 32-bit registers: loads such as `ld.u8` extend the value, and `st.u8` truncates it.
pub trait Element: sealed::Sealed + Copy + Debug + PartialEq + Send + Sync + 'static {
    /// The type of the value that a load returns.
    type Reg: Scalar;
    /// The type suffix of `ld` and `st`, such as `"u8"`.
    const MEM: &'static str;
    /// The type suffix of a declaration, such as `"b8"`.
    const DECL: &'static str;
    /// The size and alignment in memory, in bytes.
    const SIZE: u32;
    /// The name in messages and manifests, such as `"bf16"`.
    const NAME: &'static str;
    /// Returns the value's bytes in memory as a little-endian integer. Higher bits are 0.
    fn to_mem_bits(self) -> u64;
    /// Creates a value from its bytes in memory. Excess bits are ignored.
    fn from_mem_bits(bits: u64) -> Self;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for u8 {}
    impl Sealed for i8 {}
}

macro_rules! scalars {
    ($($ty:ty, $ptx:literal, $class:ident, $mem:literal, $bytes:literal, $imm:literal, $to:expr, $from:expr, $write:expr;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Scalar for $ty {
            const PTX: &'static str = $ptx;
            const CLASS: RegClass = RegClass::$class;
            const MEM: &'static str = $mem;
            const BYTES: u32 = $bytes;
            const IMMEDIATE: bool = $imm;
            fn to_bits(self) -> u64 {
                let to: fn($ty) -> u64 = $to;
                to(self)
            }
            fn from_bits(bits: u64) -> Self {
                let from: fn(u64) -> $ty = $from;
                from(bits)
            }
            fn write_immediate(self, w: &mut dyn fmt::Write) -> fmt::Result {
                let write: fn($ty, &mut dyn fmt::Write) -> fmt::Result = $write;
                write(self, w)
            }
        }
    )*};
}

macro_rules! elements {
    ($($ty:ty, $reg:ty, $mem:literal, $decl:literal, $bytes:literal, $to:expr, $from:expr;)*) => {$(
        impl Element for $ty {
            type Reg = $reg;
            const MEM: &'static str = $mem;
            const DECL: &'static str = $decl;
            const SIZE: u32 = $bytes;
            const NAME: &'static str = stringify!($ty);
            fn to_mem_bits(self) -> u64 {
                let to: fn($ty) -> u64 = $to;
                to(self)
            }
            fn from_mem_bits(bits: u64) -> Self {
                let from: fn(u64) -> $ty = $from;
                from(bits)
            }
        }
    )*};
}

/// 16 untyped bits (`.b16`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct B16(pub u16);
/// 32 untyped bits (`.b32`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct B32(pub u32);
/// 64 untyped bits (`.b64`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct B64(pub u64);
/// 128 untyped bits (`.b128`). A constant contains the lower 64 bits; its upper 64 bits are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct B128(pub u64);

/// A pair of f16 values with the first in the lower half (`.f16x2`).
#[allow(non_camel_case_types, reason = "named like the PTX type and like half's own types")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct f16x2(pub [f16; 2]);
/// A pair of bf16 values with the first in the lower half (`.bf16x2`).
#[allow(non_camel_case_types, reason = "named like the PTX type and like half's own types")]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct bf16x2(pub [bf16; 2]);

const fn pair(lo: u16, hi: u16) -> u64 {
    lo as u64 | (hi as u64) << 16
}

scalars! {
    // type   PTX       class  mov     B   imm    bits                                        from bits                              immediate
    bool,   "pred",   Pred,  "pred", 1,  true,  |v| v.into(),                               |b| b & 1 == 1,                        |v, w| write!(w, "{}", u8::from(v));
    u16,    "u16",    B16,   "u16",  2,  true,  |v| v.into(),                               |b| b as u16,                          |v, w| write!(w, "{v}");
    i16,    "s16",    B16,   "s16",  2,  true,  |v| (v as u16).into(),                      |b| b as i16,                          |v, w| write!(w, "{v}");
    u32,    "u32",    B32,   "u32",  4,  true,  |v| v.into(),                               |b| b as u32,                          |v, w| write_decimal(w, v.into());
    i32,    "s32",    B32,   "s32",  4,  true,  |v| (v as u32).into(),                      |b| b as i32,                          |v, w| write!(w, "{v}");
    u64,    "u64",    B64,   "u64",  8,  true,  |v| v,                                      |b| b,                                 |v, w| write_decimal(w, v);
    i64,    "s64",    B64,   "s64",  8,  true,  |v| v as u64,                               |b| b as i64,                          |v, w| write!(w, "{v}");
    B16,    "b16",    B16,   "b16",  2,  true,  |v| v.0.into(),                             |b| B16(b as u16),                     |v, w| write!(w, "{:#06x}", v.0);
    B32,    "b32",    B32,   "b32",  4,  true,  |v| v.0.into(),                             |b| B32(b as u32),                     |v, w| write!(w, "{:#010x}", v.0);
    B64,    "b64",    B64,   "b64",  8,  true,  |v| v.0,                                    B64,                                   |v, w| write!(w, "{:#018x}", v.0);
    B128,   "b128",   B128,  "b128", 16, false, |v| v.0,                                    B128,                                  |v, w| write!(w, "{:#x}", v.0);
    f16,    "f16",    Half,  "b16",  2,  false, |v| v.to_bits().into(),                     |b| f16::from_bits(b as u16),          |v, w| write!(w, "{:#06x}", v.to_bits());
    bf16,   "bf16",   Half,  "b16",  2,  false, |v| v.to_bits().into(),                     |b| bf16::from_bits(b as u16),         |v, w| write!(w, "{:#06x}", v.to_bits());
    f32,    "f32",    F32,   "f32",  4,  true,  |v| v.to_bits().into(),                     |b| f32::from_bits(b as u32),          |v, w| write_hexadecimal(w, "0f", v.to_bits().into(), 8);
    f64,    "f64",    F64,   "f64",  8,  true,  |v| v.to_bits(),                            f64::from_bits,                        |v, w| write_hexadecimal(w, "0d", v.to_bits(), 16);
    f16x2,  "f16x2",  B32,   "b32",  4,  false, |v| pair(v.0[0].to_bits(), v.0[1].to_bits()), |b| f16x2([f16::from_bits(b as u16), f16::from_bits((b >> 16) as u16)]),    |v, w| write!(w, "{:#010x}", v.to_bits());
    bf16x2, "bf16x2", B32,   "b32",  4,  false, |v| pair(v.0[0].to_bits(), v.0[1].to_bits()), |b| bf16x2([bf16::from_bits(b as u16), bf16::from_bits((b >> 16) as u16)]), |v, w| write!(w, "{:#010x}", v.to_bits());
    e4m3,   "e4m3",   B32,   "b32",  4,  false, |v| v.to_bits().into(),                     |b| e4m3::from_bits(b as u8),          |v, w| write!(w, "{:#04x}", v.to_bits());
    e5m2,   "e5m2",   B32,   "b32",  4,  false, |v| v.to_bits().into(),                     |b| e5m2::from_bits(b as u8),          |v, w| write!(w, "{:#04x}", v.to_bits());
    e3m2,   "e3m2",   B32,   "b32",  4,  false, |v| v.to_bits().into(),                     |b| e3m2::from_bits(b as u8),          |v, w| write!(w, "{:#04x}", v.to_bits());
    e2m3,   "e2m3",   B32,   "b32",  4,  false, |v| v.to_bits().into(),                     |b| e2m3::from_bits(b as u8),          |v, w| write!(w, "{:#04x}", v.to_bits());
    tf32,   "tf32",   B32,   "b32",  4,  false, |v| v.to_bits().into(),                     |b| tf32::from_bits(b as u32),         |v, w| write!(w, "{:#010x}", v.to_bits());
}

elements! {
    // memory register ld/st   decl   B   bits                    from bits
    u8,     u32,     "u8",   "b8",  1, |v| v.into(),              |b| b as u8;
    i8,     i32,     "s8",   "b8",  1, |v| (v as u8).into(),      |b| b as i8;
    u16,    u16,     "u16",  "b16", 2, |v| v.into(),              |b| b as u16;
    i16,    i16,     "s16",  "b16", 2, |v| (v as u16).into(),     |b| b as i16;
    u32,    u32,     "u32",  "b32", 4, |v| v.into(),              |b| b as u32;
    i32,    i32,     "s32",  "b32", 4, |v| (v as u32).into(),     |b| b as i32;
    u64,    u64,     "u64",  "b64", 8, |v| v,                     |b| b;
    i64,    i64,     "s64",  "b64", 8, |v| v as u64,              |b| b as i64;
    f16,    f16,     "b16",  "b16", 2, |v| v.to_bits().into(),    |b| f16::from_bits(b as u16);
    bf16,   bf16,    "b16",  "b16", 2, |v| v.to_bits().into(),    |b| bf16::from_bits(b as u16);
    f32,    f32,     "f32",  "f32", 4, |v| v.to_bits().into(),    |b| f32::from_bits(b as u32);
    f64,    f64,     "f64",  "f64", 8, |v| v.to_bits(),           f64::from_bits;
    f16x2,  f16x2,   "b32",  "b32", 4, Scalar::to_bits,           Scalar::from_bits;
    bf16x2, bf16x2,  "b32",  "b32", 4, Scalar::to_bits,           Scalar::from_bits;
    e4m3,   e4m3,    "u8",   "b8",  1, |v| v.to_bits().into(),    |b| e4m3::from_bits(b as u8);
    e5m2,   e5m2,    "u8",   "b8",  1, |v| v.to_bits().into(),    |b| e5m2::from_bits(b as u8);
    e3m2,   e3m2,    "u8",   "b8",  1, |v| v.to_bits().into(),    |b| e3m2::from_bits(b as u8);
    e2m3,   e2m3,    "u8",   "b8",  1, |v| v.to_bits().into(),    |b| e2m3::from_bits(b as u8);
    tf32,   tf32,    "b32",  "b32", 4, |v| v.to_bits().into(),    |b| tf32::from_bits(b as u32);
    B16,    B16,     "b16",  "b16", 2, |v| v.0.into(),            |b| B16(b as u16);
    B32,    B32,     "b32",  "b32", 4, |v| v.0.into(),            |b| B32(b as u32);
    B64,    B64,     "b64",  "b64", 8, |v| v.0,                   B64;
}

/// Calls a macro with every host type and with the element types whose bits a buffer of that host type may contain.
#[cfg(feature = "cuda")]
macro_rules! storage_types {
    ($implement:ident) => {
        $implement! {
            u8:   u8 e4m3 e5m2 e3m2 e2m3;
            i8:   i8;
            u16:  u16 B16 f16 bf16;
            i16:  i16;
            u32:  u32 B32 f16x2 bf16x2 tf32;
            i32:  i32;
            u64:  u64 B64;
            i64:  i64;
            f16:  f16;
            bf16: bf16;
            f32:  f32 tf32;
            f64:  f64;
        }
    };
}
#[cfg(feature = "cuda")]
pub(crate) use storage_types;
