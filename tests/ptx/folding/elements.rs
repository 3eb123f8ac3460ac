//! Conversions between f32 and the words of element types, as tiles use them.

use warpwright::{
    ptx::{Val, bf16, bf16x2, e4m3, e5m2, f16, f16x2, tf32},
    tensor::ConvertibleElement,
};

use super::{Operation, Word, operations};

/// The word of four elements, or of the first two.
fn word<'k, T: ConvertibleElement>(elements: &[Val<'k, f32>]) -> Val<'k, T::Word> {
    let words = T::from_f32(elements);
    assert_eq!(words.len() * T::PER_WORD, elements.len());
    words[0]
}

/// Element `slot` of a word.
fn element<T: ConvertibleElement>(word: Val<'_, T::Word>, slot: usize) -> Val<'_, f32> {
    let elements = T::to_f32(word);
    assert_eq!(elements.len(), T::PER_WORD);
    elements[slot]
}

operations! {
    word_e4m3:    a f32, b f32, c f32, d f32 => u32,    word::<e4m3>(&[a, b, c, d]);
    word_e5m2:    a f32, b f32, c f32, d f32 => u32,    word::<e5m2>(&[a, b, c, d]);
    word_i8:      a f32, b f32, c f32, d f32 => u32,    word::<i8>(&[a, b, c, d]);
    word_u8:      a f32, b f32, c f32, d f32 => u32,    word::<u8>(&[a, b, c, d]);
    word_f16:     a f32, b f32               => f16x2,  word::<f16>(&[a, b]);
    word_bf16:    a f32, b f32               => bf16x2, word::<bf16>(&[a, b]);
    word_tf32:    a f32                      => u32,    word::<tf32>(&[a]).bits();
    word_f32:     a f32                      => f32,    word::<f32>(&[a]);
    word_f64:     a f32                      => f64,    word::<f64>(&[a]);
    word_i32:     a f32                      => i32,    word::<i32>(&[a]);
    element_e4m3: a u32                      => f32,    element::<e4m3>(a, 0);
    element_e5m2: a u32                      => f32,    element::<e5m2>(a, 3);
    element_i8:   a u32                      => f32,    element::<i8>(a, 1);
    element_u8:   a u32                      => f32,    element::<u8>(a, 2);
    element_f16:  a f16x2                    => f32,    element::<f16>(a, 1);
    element_bf16: a bf16x2                   => f32,    element::<bf16>(a, 1);
    element_tf32: a u32                      => f32,    element::<tf32>(a.bits(), 0);
    element_f32:  a f32                      => f32,    element::<f32>(a, 0);
    element_f64:  a f64                      => f32,    element::<f64>(a, 0);
    element_i32:  a i32                      => f32,    element::<i32>(a, 0);
}

/// Words of all bytes in all slots: what they fold to is the host's number.
fn bytes_widen<T: ConvertibleElement<Word = u32>>(host: impl Fn(u8) -> f32) {
    for byte in 0..=u8::MAX {
        let bytes = [byte, byte ^ 0xff, byte.rotate_left(1), byte ^ 0x80];
        let elements = T::to_f32(Val::from(u32::from_le_bytes(bytes)));
        let found: Vec<u32> = elements.iter().map(|x| x.as_constant().unwrap().to_bits()).collect();
        assert_eq!(found, bytes.map(|byte| host(byte).to_bits()), "{} {byte:#x}", T::NAME);
    }
}

#[test]
fn words_of_bytes_widen_to_the_hosts_numbers() {
    bytes_widen::<u8>(f32::from);
    bytes_widen::<i8>(|byte| f32::from(byte as i8));
    bytes_widen::<e4m3>(|byte| e4m3::from_bits(byte).to_f32());
    bytes_widen::<e5m2>(|byte| e5m2::from_bits(byte).to_f32());
}

#[test]
fn words_of_bytes_round_saturate_and_are_in_order() {
    fn word<T: ConvertibleElement<Word = u32>>(numbers: [f32; 4]) -> [u8; 4] {
        let words = T::from_f32(&numbers.map(Val::from));
        words[0].as_constant().unwrap().to_le_bytes()
    }
    assert_eq!(word::<i8>([0.5, 1.5, -129.0, 1e9]), [0, 2, 0x80, 0x7f]);
    assert_eq!(word::<i8>([f32::NAN, -0.5, f32::NEG_INFINITY, -1.5]), [0, 0, 0x80, 0xfe]);
    assert_eq!(word::<u8>([254.5, 255.5, -1.0, f32::NAN]), [254, 255, 0, 0]);
    let numbers = [0.3, -1e9, 449.0, 1.0];
    assert_eq!(word::<e4m3>(numbers), numbers.map(|x| e4m3::from_f32(x).to_bits()));
    assert_eq!(word::<e5m2>(numbers), numbers.map(|x| e5m2::from_f32(x).to_bits()));
}
