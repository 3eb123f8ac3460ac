//! Element types of tensors and how they lie in registers.

use crate::ptx::{B16, B32, B64, Element, RegClass, bf16, bf16x2, f16, f16x2};

/// A type that tensors are made of. In registers, elements of 16 or 8 bits share words of 32, lowest bits first.
#[diagnostic::on_unimplemented(
    message = "tensors of `{Self}` do not exist",
    note = "a tensor's elements are floats or integers of 8 to 64 bits"
)]
pub trait TensorElement: Element {
    /// Class of the registers that fragments of this type have unless an instruction wants another.
    const WORD: RegClass;
}

macro_rules! elements {
    ($($class:ident: $($element:ty)*;)*) => {$($(
        impl TensorElement for $element {
            const WORD: RegClass = RegClass::$class;
        }
    )*)*};
}

elements! {
    B32: u8 i8 u16 i16 f16 bf16 B16 u32 i32 B32 f16x2 bf16x2;
    F32: f32;
    B64: u64 i64 B64;
    F64: f64;
}

/// Bytes of a word of a fragment: 4, or 8 for wider elements.
pub(super) const fn word_bytes<T: TensorElement>() -> u32 {
    if T::SIZE > 4 { T::SIZE } else { 4 }
}

/// Elements in a word of a fragment.
pub(super) const fn per_word<T: TensorElement>() -> usize {
    (word_bytes::<T>() / T::SIZE) as usize
}
