//! Elements as the little-endian bytes that devices store.

use crate::ptx::Element;

pub(super) fn to_bytes<T: Element>(values: &[T]) -> Vec<u8> {
    // With a constant size, an element is one store.
    match T::SIZE {
        1 => encode::<T, 1>(values),
        2 => encode::<T, 2>(values),
        4 => encode::<T, 4>(values),
        _ => encode::<T, 8>(values),
    }
}

fn encode<T: Element, const SIZE: usize>(values: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * SIZE];
    let (elements, _) = bytes.as_chunks_mut::<SIZE>();
    for (value, to) in values.iter().zip(elements) {
        to.copy_from_slice(&value.to_mem_bits().to_le_bytes()[..SIZE]);
    }
    bytes
}

/// Decodes elements; trailing bytes that do not form a whole element are dropped.
pub(super) fn from_bytes<T: Element>(bytes: &[u8]) -> Vec<T> {
    match T::SIZE {
        1 => decode::<T, 1>(bytes),
        2 => decode::<T, 2>(bytes),
        4 => decode::<T, 4>(bytes),
        _ => decode::<T, 8>(bytes),
    }
}

fn decode<T: Element, const SIZE: usize>(bytes: &[u8]) -> Vec<T> {
    let element = |from: &[u8; SIZE]| {
        let mut word = [0; 8];
        word[..SIZE].copy_from_slice(from);
        T::from_mem_bits(u64::from_le_bytes(word))
    };
    let (elements, _) = bytes.as_chunks::<SIZE>();
    elements.iter().map(element).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::{B64, bf16, bf16x2, f16};

    #[test]
    fn bytes_are_little_endian() {
        assert_eq!(to_bytes(&[0x0102_0304u32, 5]), [4, 3, 2, 1, 5, 0, 0, 0]);
        assert_eq!(to_bytes(&[bf16::from_f32(1.0)]), [0x80, 0x3f]);
        assert_eq!(to_bytes(&[-2i8]), [0xfe]);
        assert_eq!(to_bytes(&[bf16x2([bf16::from_f32(1.0), bf16::ZERO])]), [0x80, 0x3f, 0, 0]);
    }

    fn there_and_back<T: Element>(values: &[T]) {
        assert_eq!(from_bytes::<T>(&to_bytes(values)), values);
    }

    #[test]
    fn words_of_every_width_are_read_back() {
        there_and_back(&[0u8, 1, 255]);
        there_and_back(&[i8::MIN, -1, 0, i8::MAX]);
        there_and_back(&[i16::MIN, -1, 0, i16::MAX]);
        there_and_back(&[f16::MIN, f16::EPSILON, f16::NEG_ZERO]);
        there_and_back(&[i32::MIN, -1, i32::MAX]);
        there_and_back(&[f32::MIN_POSITIVE, -0.0, f32::INFINITY]);
        there_and_back(&[i64::MIN, -1, i64::MAX]);
        there_and_back(&[f64::MIN_POSITIVE, -1.5e300]);
        there_and_back(&[B64(u64::MAX)]);
        there_and_back::<u32>(&[]);
    }
}
