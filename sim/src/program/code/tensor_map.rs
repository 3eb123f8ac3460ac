//! The fields of an encoded tensor map, as named by `tensormap.replace`.

use crate::arith::{Float, Int};

/// A field. The fields of a dimension contain the index of the dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Field {
    Address,
    Rank,
    Tile(usize),
    Dim(usize),
    Stride(usize),
    ElementStride(usize),
    ElementType,
    /// Fields with a single supported value, which is therefore not stored.
    Interleave,
    SwizzleAtomicity,
    Swizzle,
    Fill,
}

impl Field {
    /// Returns the offset and the size in bytes of the field in the encoded map, or `None` if it is not stored.
    pub(crate) fn place(self) -> Option<(u64, u8)> {
        let place = match self {
            Field::ElementType => (4, 1),
            Field::Rank => (5, 1),
            Field::Swizzle => (6, 1),
            Field::Fill => (7, 1),
            Field::Address => (8, 8),
            Field::Dim(i) => (16 + 8 * i, 8),
            Field::Stride(i) => (56 + 8 * i, 8),
            Field::Tile(i) => (88 + 2 * i, 2),
            Field::ElementStride(i) => (98 + i, 1),
            Field::Interleave | Field::SwizzleAtomicity => return None,
        };
        Some((place.0 as u64, place.1))
    }

    /// Returns the stored form of a value passed to `tensormap.replace`, where ranks start at 0.
    pub(crate) fn stored(self, value: u64) -> u64 {
        if self == Field::Rank { value + 1 } else { value }
    }

    /// Returns the number of dimensions for which the field exists, or 0 if the field exists only once.
    pub(crate) fn dimensions(self) -> usize {
        match self {
            Field::Tile(_) | Field::Dim(_) | Field::ElementStride(_) => 5,
            Field::Stride(_) => 4,
            _ => 0,
        }
    }

    pub(crate) fn with_dimension(self, i: usize) -> Self {
        match self {
            Field::Tile(_) => Field::Tile(i),
            Field::Dim(_) => Field::Dim(i),
            Field::Stride(_) => Field::Stride(i),
            Field::ElementStride(_) => Field::ElementStride(i),
            other => other,
        }
    }

    /// Returns the number of values of an enumerated field, or 0 if the field takes any value.
    pub(crate) fn choices(self) -> usize {
        match self {
            // The last three are packed types.
            Field::ElementType => BY_NUMBER.len() + 3,
            Field::Interleave => 3,
            Field::SwizzleAtomicity => 4,
            // The last value is the 96-byte swizzle.
            Field::Swizzle => 5,
            Field::Fill => 2,
            _ => 0,
        }
    }

    /// Returns the stored form of a value of an enumerated field, or `None` if the value is not supported.
    pub(crate) fn encoded(self, choice: usize) -> Option<u64> {
        match self {
            Field::ElementType => {
                let ty = BY_NUMBER.get(choice)?;
                TensorType::ALL.iter().position(|other| other == ty).map(|at| at as u64)
            }
            Field::Interleave | Field::SwizzleAtomicity => (choice == 0).then_some(0),
            Field::Swizzle if choice > 3 => None,
            _ => Some(choice as u64),
        }
    }
}

/// The element types in the order of their numbers in PTX (PTX ISA, "tensormap.replace").
const BY_NUMBER: [TensorType; 13] = [
    TensorType::U8,
    TensorType::U16,
    TensorType::U32,
    TensorType::S32,
    TensorType::U64,
    TensorType::S64,
    TensorType::F16,
    TensorType::F32,
    TensorType::F32Ftz,
    TensorType::F64,
    TensorType::Bf16,
    TensorType::Tf32,
    TensorType::Tf32Ftz,
];

/// The element type of a tensor map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of CUtensorMapDataType")]
pub enum TensorType {
    U8,
    U16,
    U32,
    S32,
    U64,
    S64,
    F16,
    F32,
    F64,
    Bf16,
    /// f32 with subnormal numbers flushed to zero.
    F32Ftz,
    Tf32,
    Tf32Ftz,
}

impl TensorType {
    /// All element types, in the order of `CUtensorMapDataType`.
    pub const ALL: [TensorType; 13] = [
        TensorType::U8,
        TensorType::U16,
        TensorType::U32,
        TensorType::S32,
        TensorType::U64,
        TensorType::S64,
        TensorType::F16,
        TensorType::F32,
        TensorType::F64,
        TensorType::Bf16,
        TensorType::F32Ftz,
        TensorType::Tf32,
        TensorType::Tf32Ftz,
    ];

    /// Returns the size of an element in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            TensorType::U8 => 1,
            TensorType::U16 | TensorType::F16 | TensorType::Bf16 => 2,
            TensorType::U64 | TensorType::S64 | TensorType::F64 => 8,
            _ => 4,
        }
    }

    /// Returns the floating-point format for reductions and out-of-bounds NaNs, if the type is a floating-point type.
    pub(crate) fn float(self) -> Option<Float> {
        Some(match self {
            TensorType::F16 => Float::F16,
            TensorType::Bf16 => Float::Bf16,
            TensorType::F32 | TensorType::F32Ftz | TensorType::Tf32 | TensorType::Tf32Ftz => Float::F32,
            TensorType::F64 => Float::F64,
            _ => return None,
        })
    }

    /// Returns the integer format for reductions, if the type is an integer type.
    pub(crate) fn int(self) -> Option<Int> {
        Some(match self {
            TensorType::U8 => Int::U8,
            TensorType::U16 => Int::U16,
            TensorType::U32 => Int::U32,
            TensorType::S32 => Int::S32,
            TensorType::U64 => Int::U64,
            TensorType::S64 => Int::S64,
            _ => return None,
        })
    }
}
