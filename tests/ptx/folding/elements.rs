//! Conversions between f32 and the words of element types, as tiles use them.

use std::fmt::Debug;

use warpwright::{
    prelude::*,
    ptx::Scalar as _,
    tensor::{ConvertibleElement, TensorElement},
};

use super::{Operation, Word};
use crate::numbers::{Numeral, element_types};

/// The first word of four elements, or of as many as it has.
fn word<'k, T: ConvertibleElement>(elements: [Val<'k, f32>; 4]) -> Val<'k, T::Word> {
    let words = T::from_f32(&elements[..T::PER_WORD]);
    assert_eq!(words.len(), 1);
    words[0]
}

/// Element `slot` of a word.
fn element<T: ConvertibleElement>(word: Val<'_, T::Word>, slot: usize) -> Val<'_, f32> {
    let elements = T::to_f32(word);
    assert_eq!(elements.len(), T::PER_WORD);
    elements[slot]
}

/// Of each type: a word from its elements, and its first and its last element.
macro_rules! conversions {
    (through f32: $($narrow:ident)*; directly: $($wide:ident)*;) => { conversions! { $($narrow)* $($wide)* } };
    ($($t:ident)*) => {
        pub(super) const OPERATIONS: &[Operation] = &[$(
            Operation {
                name: concat!("word_", stringify!($t)),
                arity: <$t as TensorElement>::PER_WORD,
                apply: |words| word::<$t>(words.map(Word::of)).word(),
            },
            Operation {
                name: concat!("first_of_", stringify!($t)),
                arity: 1,
                apply: |words| element::<$t>(Word::of(words[0]), 0).word(),
            },
            Operation {
                name: concat!("last_of_", stringify!($t)),
                arity: 1,
                apply: |words| element::<$t>(Word::of(words[0]), <$t as TensorElement>::PER_WORD - 1).word(),
            },
        )*];
    };
}

element_types! { converted, conversions }

/// Element `slot` of a word's bits.
fn host_element<T: Numeral>(word: u64, slot: usize) -> T {
    T::from_mem_bits(word >> (8 * T::SIZE as usize * slot))
}

fn assert_same<T: Numeral>(found: f64, expected: f64, what: impl Debug) {
    let is_same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
    assert!(is_same, "{} of {what:x?}: found {found}, expected {expected}", T::NAME);
}

/// Words with each byte in each position: the elements that they fold to are the host's.
fn words_widen<T: ConvertibleElement + Numeral>() {
    for byte in 0..=u8::MAX {
        let word = u32::from_le_bytes([byte, byte ^ 0xff, byte.rotate_left(1), byte ^ 0x80]).into();
        for (slot, found) in T::to_f32(T::Word::from_bits(word).into()).iter().enumerate() {
            let found = found.as_constant().unwrap().into();
            assert_same::<T>(found, host_element::<T>(word, slot).number(), (word, slot));
        }
    }
}

/// Numbers that must be rounded, saturated or replaced: the word that they fold to has the host's elements, in order.
fn elements_narrow<T: ConvertibleElement + Numeral>() {
    let (nan, infinity) = (f32::NAN, f32::INFINITY);
    let numbers = [
        [0.5, 1.5, -129.0, 1e9],
        [nan, -0.5, -infinity, -1.5],
        [254.5, 255.5, -1.0, 0.3],
        [449.0, -1e9, 1.0, 448.0],
    ];
    for numbers in numbers {
        let words = T::from_f32(&numbers.map(Val::from));
        for (word, numbers) in words.iter().zip(numbers.chunks(T::PER_WORD)) {
            let word = word.as_constant().unwrap().to_bits();
            for (slot, &number) in numbers.iter().enumerate() {
                let expected = T::nearest(number.into()).number();
                assert_same::<T>(host_element::<T>(word, slot).number(), expected, number);
            }
        }
    }
}

/// Types of several elements per word.
macro_rules! packed {
    (through f32: $($t:ident)*; directly: $($wide:ident)*;) => {$(
        if <$t as TensorElement>::PER_WORD > 1 {
            words_widen::<$t>();
            elements_narrow::<$t>();
        }
    )*};
}

#[test]
fn words_are_those_of_the_host() {
    element_types! { converted, packed }
}
