//! The types of instructions and registers (PTX ISA, "Types").

use crate::arith::{Float, Int, Ty};

/// An instruction or register type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Type {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    Int(Int),
    F16,
    Bf16,
    F32,
    F64,
    Tf32,
    F16x2,
    Bf16x2,
    U16x2,
    S16x2,
    /// An 8-bit floating-point number; only as an element of a packed operand.
    E4m3,
    E5m2,
    /// Two 8-bit floating-point numbers in 16 bits.
    E4m3x2,
    E5m2x2,
    Ue8m0x2,
    /// Two 6-bit floating-point numbers, each in the low bits of a byte.
    E2m3x2,
    E3m2x2,
    /// Two 4-bit floating-point numbers in 8 bits.
    E2m1x2,
    /// Four floating-point numbers; only as a result of `cvt.rs`.
    E4m3x4,
    E5m2x4,
    E2m3x4,
    E3m2x4,
    E2m1x4,
}

/// The interpretation of the bits of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    Pred,
    Bits,
    Int,
    Float,
}

impl Type {
    /// Returns the type named `word`.
    pub(crate) fn parse(word: &str) -> Option<Type> {
        Some(match word {
            "pred" => Type::Pred,
            "b8" => Type::B8,
            "b16" => Type::B16,
            "b32" => Type::B32,
            "b64" => Type::B64,
            "b128" => Type::B128,
            "u8" => Type::Int(Int::U8),
            "u16" => Type::Int(Int::U16),
            "u32" => Type::Int(Int::U32),
            "u64" => Type::Int(Int::U64),
            "s8" => Type::Int(Int::S8),
            "s16" => Type::Int(Int::S16),
            "s32" => Type::Int(Int::S32),
            "s64" => Type::Int(Int::S64),
            "f16" => Type::F16,
            "bf16" => Type::Bf16,
            "f32" => Type::F32,
            "f64" => Type::F64,
            "tf32" => Type::Tf32,
            "f16x2" => Type::F16x2,
            "bf16x2" => Type::Bf16x2,
            "u16x2" => Type::U16x2,
            "s16x2" => Type::S16x2,
            "e4m3" => Type::E4m3,
            "e5m2" => Type::E5m2,
            "e4m3x2" => Type::E4m3x2,
            "e5m2x2" => Type::E5m2x2,
            "ue8m0x2" => Type::Ue8m0x2,
            "e2m3x2" => Type::E2m3x2,
            "e3m2x2" => Type::E3m2x2,
            "e2m1x2" => Type::E2m1x2,
            "e4m3x4" => Type::E4m3x4,
            "e5m2x4" => Type::E5m2x4,
            "e2m3x4" => Type::E2m3x4,
            "e3m2x4" => Type::E3m2x4,
            "e2m1x4" => Type::E2m1x4,
            _ => return None,
        })
    }

    /// Returns the width in bits, or 1 for a predicate.
    pub(crate) fn bits(self) -> u32 {
        match self {
            Type::Pred => 1,
            Type::B8 | Type::E4m3 | Type::E5m2 | Type::E2m1x2 => 8,
            Type::B16 | Type::F16 | Type::Bf16 | Type::E4m3x2 | Type::E5m2x2 | Type::Ue8m0x2 => 16,
            Type::E2m3x2 | Type::E3m2x2 | Type::E2m1x4 => 16,
            Type::B32 | Type::F32 | Type::Tf32 => 32,
            Type::E4m3x4 | Type::E5m2x4 | Type::E2m3x4 | Type::E3m2x4 => 32,
            Type::F16x2 | Type::Bf16x2 | Type::U16x2 | Type::S16x2 => 32,
            Type::B64 | Type::F64 => 64,
            Type::B128 => 128,
            Type::Int(int) => int.bits(),
        }
    }

    /// Returns the width in bytes.
    pub(crate) fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// Returns the interpretation of the bits.
    pub(crate) fn meaning(self) -> Meaning {
        match self {
            Type::Pred => Meaning::Pred,
            Type::Int(_) => Meaning::Int,
            Type::F16 | Type::Bf16 | Type::F32 | Type::F64 => Meaning::Float,
            _ => Meaning::Bits,
        }
    }

    /// Returns the number format, if the type is a single number.
    pub(crate) fn number(self) -> Option<Ty> {
        Some(match self {
            Type::Int(int) => Ty::Int(int),
            Type::F16 => Ty::Float(Float::F16),
            Type::Bf16 => Ty::Float(Float::Bf16),
            Type::F32 => Ty::Float(Float::F32),
            Type::F64 => Ty::Float(Float::F64),
            Type::Tf32 => Ty::Float(Float::Tf32),
            Type::B8 => Ty::Int(Int::U8),
            Type::B16 => Ty::Int(Int::U16),
            Type::B32 => Ty::Int(Int::U32),
            Type::B64 => Ty::Int(Int::U64),
            _ => return None,
        })
    }

    /// Returns the floating-point format of a scalar, or of each part of a packed type.
    pub(crate) fn float(self) -> Option<Float> {
        Some(match self {
            Type::F16 | Type::F16x2 => Float::F16,
            Type::Bf16 | Type::Bf16x2 => Float::Bf16,
            Type::F32 => Float::F32,
            Type::F64 => Float::F64,
            Type::Tf32 => Float::Tf32,
            Type::E4m3 | Type::E4m3x2 | Type::E4m3x4 => Float::E4m3,
            Type::E5m2 | Type::E5m2x2 | Type::E5m2x4 => Float::E5m2,
            Type::E2m3x2 | Type::E2m3x4 => Float::E2m3,
            Type::E3m2x2 | Type::E3m2x4 => Float::E3m2,
            Type::E2m1x2 | Type::E2m1x4 => Float::E2m1,
            Type::Ue8m0x2 => Float::Ue8m0,
            Type::Pred | Type::B8 | Type::B16 | Type::B32 | Type::B64 | Type::B128 => return None,
            Type::Int(_) | Type::U16x2 | Type::S16x2 => return None,
        })
    }

    /// Returns whether the type is a pair of 16-bit values.
    pub(crate) fn is_pair(self) -> bool {
        matches!(self, Type::F16x2 | Type::Bf16x2 | Type::U16x2 | Type::S16x2)
    }

    /// Returns whether the type packs floating-point numbers of at most 8 bits. Registers cannot be declared with such types.
    pub(crate) fn packs_small_floats(self) -> bool {
        use Type::{E2m1x2, E2m1x4, E2m3x2, E2m3x4, E3m2x2, E3m2x4, E4m3x2, E4m3x4, E5m2x2, E5m2x4, Ue8m0x2};
        let pairs = matches!(self, E4m3x2 | E5m2x2 | Ue8m0x2 | E2m3x2 | E3m2x2 | E2m1x2);
        pairs || matches!(self, E4m3x4 | E5m2x4 | E2m3x4 | E3m2x4 | E2m1x4)
    }

    /// Returns whether an operand of this type may be a register of type `register` (PTX ISA, "Operand Types"). The sizes must be equal;
    /// `.b` types match any type, integer types match integer types, and floating-point types match floating-point types.
    pub(crate) fn accepts(self, register: Type) -> bool {
        if self.bits() != register.bits() {
            return false;
        }
        match (self.meaning(), register.meaning()) {
            (Meaning::Pred, other) | (other, Meaning::Pred) => other == Meaning::Pred,
            (Meaning::Bits, _) | (_, Meaning::Bits) => true,
            (a, b) => a == b,
        }
    }
}

impl std::fmt::Display for Type {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = format!("{self:?}").to_lowercase();
        let inner = text.strip_prefix("int(").map_or(&*text, |t| t.trim_end_matches(')'));
        write!(f, ".{inner}")
    }
}
