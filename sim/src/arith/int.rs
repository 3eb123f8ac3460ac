//! Integer arithmetic that the host's operators do not provide.
//!
//! See PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer Arithmetic Instructions". Operands are read from the low
//! bits of a register; results have zeros above the bits of their type.

use super::format::Int;

/// Returns `a + b`, wrapped or, with `sat` (`.s32` only), clamped.
pub fn add(ty: Int, sat: bool, a: u64, b: u64) -> u64 {
    fit(ty, sat, ty.value(a) + ty.value(b))
}

/// Returns `a - b`, wrapped or, with `sat` (`.s32` only), clamped.
pub fn sub(ty: Int, sat: bool, a: u64, b: u64) -> u64 {
    fit(ty, sat, ty.value(a) - ty.value(b))
}

/// Returns the low half of `a · b`.
#[doc(alias = "mul.lo")]
pub fn mul_lo(ty: Int, a: u64, b: u64) -> u64 {
    a.wrapping_mul(b) & ty.mask()
}

/// Returns the high half of `a · b`.
#[doc(alias = "mul.hi")]
pub fn mul_hi(ty: Int, a: u64, b: u64) -> u64 {
    ty.wrap(product(ty, a, b) >> ty.bits())
}

/// Returns `a · b` with twice the width, for 16-bit and 32-bit types.
#[doc(alias = "mul.wide")]
pub fn mul_wide(ty: Int, a: u64, b: u64) -> u64 {
    product(ty, a, b) as u64 & double_mask(ty)
}

/// Returns the low half of `a · b`, plus `c`.
#[doc(alias = "mad.lo")]
pub fn mad_lo(ty: Int, a: u64, b: u64, c: u64) -> u64 {
    a.wrapping_mul(b).wrapping_add(c) & ty.mask()
}

/// Returns the high half of `a · b`, plus `c`; with `sat` (`.s32` only), the sum is clamped.
#[doc(alias = "mad.hi")]
pub fn mad_hi(ty: Int, sat: bool, a: u64, b: u64, c: u64) -> u64 {
    fit(ty, sat, ty.value(mul_hi(ty, a, b)) + ty.value(c))
}

/// Returns `a · b + c` for 16-bit and 32-bit types, where the product and `c` have twice the width.
#[doc(alias = "mad.wide")]
pub fn mad_wide(ty: Int, a: u64, b: u64, c: u64) -> u64 {
    (product(ty, a, b) as u64).wrapping_add(c) & double_mask(ty)
}

/// Returns the low 32 bits of the product of two 24-bit numbers (`.u32` or `.s32`).
#[doc(alias = "mul24.lo")]
pub fn mul24_lo(ty: Int, a: u64, b: u64) -> u64 {
    ty.wrap(product24(ty, a, b))
}

/// Returns bits 16 to 47 of the product of two 24-bit numbers (`.u32` or `.s32`).
#[doc(alias = "mul24.hi")]
pub fn mul24_hi(ty: Int, a: u64, b: u64) -> u64 {
    ty.wrap(product24(ty, a, b) >> 16)
}

/// Returns [`mul24_lo`] plus `c`.
#[doc(alias = "mad24.lo")]
pub fn mad24_lo(ty: Int, a: u64, b: u64, c: u64) -> u64 {
    ty.wrap(product24(ty, a, b) + ty.value(c))
}

/// Returns [`mul24_hi`] plus `c`; with `sat` (`.s32` only), the sum is clamped.
#[doc(alias = "mad24.hi")]
pub fn mad24_hi(ty: Int, sat: bool, a: u64, b: u64, c: u64) -> u64 {
    fit(ty, sat, ty.value(mul24_hi(ty, a, b)) + ty.value(c))
}

/// Returns `a / b`, rounded toward zero. Division by zero returns all ones (unspecified by the ISA); the smallest number divided by −1
/// wraps to itself.
pub fn div(ty: Int, a: u64, b: u64) -> u64 {
    ty.value(a).checked_div(ty.value(b)).map_or(ty.mask(), |quotient| ty.wrap(quotient))
}

/// Returns the remainder of [`div`], with the sign of `a`. Division by zero returns all ones (unspecified by the ISA).
pub fn rem(ty: Int, a: u64, b: u64) -> u64 {
    ty.value(a).checked_rem(ty.value(b)).map_or(ty.mask(), |remainder| ty.wrap(remainder))
}

/// Returns the magnitude of a signed number; the smallest one wraps to itself.
pub fn abs(ty: Int, a: u64) -> u64 {
    ty.wrap(ty.value(a).abs())
}

/// Returns `-a`; the smallest number wraps to itself.
pub fn neg(ty: Int, a: u64) -> u64 {
    ty.wrap(-ty.value(a))
}

/// Returns the smaller number. With `relu` (signed types), returns 0 if this number is negative.
pub fn min(ty: Int, relu: bool, a: u64, b: u64) -> u64 {
    ty.wrap(rectify(relu, ty.value(a).min(ty.value(b))))
}

/// Returns the larger number. With `relu` (signed types), returns 0 if this number is negative.
pub fn max(ty: Int, relu: bool, a: u64, b: u64) -> u64 {
    ty.wrap(rectify(relu, ty.value(a).max(ty.value(b))))
}

/// Returns `c + |a - b|`.
pub fn sad(ty: Int, a: u64, b: u64, c: u64) -> u64 {
    ty.wrap(ty.value(c) + (ty.value(a) - ty.value(b)).abs())
}

/// Returns `c` plus the products of the corresponding bytes of `a` and `b`, wrapping at 32 bits.
///
/// `signed` specifies whether the bytes of `a` and the bytes of `b` are signed (`.s32`) or unsigned (`.u32`).
pub fn dp4a(signed: (bool, bool), a: u32, b: u32, c: u32) -> u32 {
    (0..4).fold(c, |sum, i| sum.wrapping_add(byte(signed.0, a, i).wrapping_mul(byte(signed.1, b, i))))
}

/// Returns `c` plus the products of the two halves of `a` with the two lower bytes of `b` (with `high`, the two upper bytes).
#[doc(alias = "dp2a.lo")]
#[doc(alias = "dp2a.hi")]
pub fn dp2a(signed: (bool, bool), high: bool, a: u32, b: u32, c: u32) -> u32 {
    let half = |i: u32| {
        let bits = (a >> (16 * i)) as u16;
        if signed.0 { bits as i16 as u32 } else { bits.into() }
    };
    let first = if high { 2 } else { 0 };
    (0..2).fold(c, |sum, i| sum.wrapping_add(half(i).wrapping_mul(byte(signed.1, b, first + i))))
}

/// Returns `a + b + carry` and the carry out of the type's highest bit: `add.cc` (with carry 0), `addc` and `addc.cc`.
#[doc(alias = "add.cc")]
#[doc(alias = "addc")]
pub fn add_with_carry(ty: Int, a: u64, b: u64, carry: bool) -> (u64, bool) {
    let sum = u128::from(a & ty.mask()) + u128::from(b & ty.mask()) + u128::from(carry);
    (sum as u64 & ty.mask(), sum >> ty.bits() != 0)
}

/// Returns `a - b` minus the borrow, and the resulting condition code: `sub.cc`, `subc` and `subc.cc`. `carry` is the previous condition
/// code.
///
/// The hardware adds the complement of `b`, so the condition code is set if there is *no* borrow. `sub.cc` starts with the condition code
/// set, and a following `addc` adds the condition code.
#[doc(alias = "sub.cc")]
#[doc(alias = "subc")]
pub fn sub_with_carry(ty: Int, a: u64, b: u64, carry: bool) -> (u64, bool) {
    add_with_carry(ty, a, !b, carry)
}

/// Returns the low (or `high`) half of `a · b`, plus `c` and the carry, and the carry out: `mad.lo.cc`, `madc.hi.cc`, …
#[doc(alias = "mad.cc")]
#[doc(alias = "madc")]
pub fn mad_with_carry(ty: Int, high: bool, a: u64, b: u64, c: u64, carry: bool) -> (u64, bool) {
    let half = if high { mul_hi(ty, a, b) } else { mul_lo(ty, a, b) };
    add_with_carry(ty, half, c, carry)
}

fn product(ty: Int, a: u64, b: u64) -> i128 {
    // Unsigned 64-bit products fill all 128 bits; wrapping preserves every bit.
    ty.value(a).wrapping_mul(ty.value(b))
}

fn product24(ty: Int, a: u64, b: u64) -> i128 {
    let low24 = |bits: u64| {
        let bits = bits as u32;
        if ty.signed() { i128::from((bits << 8) as i32 >> 8) } else { i128::from(bits << 8 >> 8) }
    };
    low24(a) * low24(b)
}

fn double_mask(ty: Int) -> u64 {
    u64::MAX >> (64 - 2 * ty.bits().min(32))
}

fn fit(ty: Int, sat: bool, value: i128) -> u64 {
    if sat { ty.clamp(value) } else { ty.wrap(value) }
}

fn rectify(relu: bool, value: i128) -> i128 {
    if relu { value.max(0) } else { value }
}

fn byte(signed: bool, word: u32, i: u32) -> u32 {
    let bits = (word >> (8 * i)) as u8;
    if signed { bits as i8 as u32 } else { bits.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_high_half_of_an_unsigned_64_bit_product_is_not_sign_extended() {
        let all = u64::MAX;
        assert_eq!(mul_hi(Int::U64, all, all), all - 1);
        assert_eq!(mul_hi(Int::S64, all, all), 0);
    }

    #[test]
    fn a_borrow_propagates_through_a_chain_of_subtractions() {
        let a = 5u128 << 64 | 3;
        let b = 2u128 << 64 | 9;
        let (low, carry) = sub_with_carry(Int::U64, a as u64, b as u64, true);
        let (high, carry) = sub_with_carry(Int::U64, (a >> 64) as u64, (b >> 64) as u64, carry);
        assert_eq!(u128::from(high) << 64 | u128::from(low), a - b);
        assert!(carry);
    }
}
