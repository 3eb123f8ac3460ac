//! Integers as the bits of every type, and back.

use warpwright::{
    atoms::MmaType,
    prelude::{bf16, f16},
};

/// Returns the bits of an integer that the type represents exactly.
pub(crate) fn encode(ty: MmaType, value: i64) -> u64 {
    let float = value as f32;
    let bits = match ty {
        MmaType::F16 => f16::from_f32(float).to_bits().into(),
        MmaType::Bf16 => bf16::from_f32(float).to_bits().into(),
        MmaType::F32 | MmaType::Tf32 => float.to_bits().into(),
        MmaType::F64 => (value as f64).to_bits(),
        MmaType::E4m3 => small_float(value, 3, 7),
        MmaType::E5m2 => small_float(value, 2, 15),
        _ => value as u64 & (u64::MAX >> (64 - ty.bits())),
    };
    assert_eq!(decode(ty, bits), value, "{ty} has no {value}");
    bits
}

/// Returns the sign, the exponent and a fraction with this number of bits.
fn small_float(value: i64, fraction_bits: u32, bias: u64) -> u64 {
    let magnitude = value.unsigned_abs();
    if magnitude == 0 {
        return 0;
    }
    let exponent = u64::from(magnitude.ilog2());
    let fraction = (magnitude << fraction_bits >> exponent) & ((1 << fraction_bits) - 1);
    u64::from(value < 0) << 7 | (exponent + bias) << fraction_bits | fraction
}

/// Returns the number represented by bits, which must be an integer.
pub(crate) fn decode(ty: MmaType, bits: u64) -> i64 {
    let whole = |value: f64| {
        assert!(value.fract() == 0.0, "{ty}: {value} is not whole");
        value as i64
    };
    let small = |fraction_bits: u32, bias: i32| {
        let magnitude = bits & 0x7f;
        let fraction = (magnitude & ((1 << fraction_bits) - 1)) as f64 / f64::from(1 << fraction_bits);
        let exponent = (magnitude >> fraction_bits) as i32;
        let value = if magnitude == 0 { 0.0 } else { (1.0 + fraction) * 2.0_f64.powi(exponent - bias) };
        whole(if bits >> 7 == 1 { -value } else { value })
    };
    let signed = |bits: u64| (bits << (64 - ty.bits())) as i64 >> (64 - ty.bits());
    match ty {
        MmaType::F16 => whole(f16::from_bits(bits as u16).to_f64()),
        MmaType::Bf16 => whole(bf16::from_bits(bits as u16).to_f64()),
        MmaType::F32 | MmaType::Tf32 => whole(f32::from_bits(bits as u32).into()),
        MmaType::F64 => whole(f64::from_bits(bits)),
        MmaType::E4m3 => small(3, 7),
        MmaType::E5m2 => small(2, 15),
        MmaType::S4 | MmaType::S8 | MmaType::S16 | MmaType::S32 => signed(bits),
        MmaType::B1 | MmaType::U4 | MmaType::U8 => bits as i64,
        _ => panic!("no whole numbers of {ty}"),
    }
}

/// Returns the range of random factors: all numbers of an integer type; for floating-point types, integers small enough that sums are
/// exact.
pub(crate) fn range(ty: MmaType) -> std::ops::RangeInclusive<i64> {
    match ty {
        MmaType::B1 => 0..=1,
        MmaType::U4 => 0..=15,
        MmaType::S4 => -8..=7,
        MmaType::U8 => 0..=255,
        MmaType::S8 => -128..=127,
        MmaType::S16 => -32768..=32767,
        MmaType::S32 => -1000..=1000,
        _ => -4..=4,
    }
}
