//! 32-bit and 16-bit arithmetic.

use super::lanes::{Lanes32, Regs};
use crate::sim::{
    arith,
    code::{DotOp, R, R1, R2, R3},
};

/// The bits of an f32 result, with the one NaN that f32 arithmetic gives (PTX ISA, "Floating Point Instructions").
#[inline(always)]
fn bits(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

#[inline(always)]
fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Sign-extended low half.
#[inline(always)]
fn s16(a: u32) -> i32 {
    i32::from(a as u16 as i16)
}

#[inline(always)]
fn u16x(a: u32) -> u32 {
    a & 0xffff
}

pub(super) fn r1(regs: &mut Regs, m: u32, f: R1, d: R, a: R) {
    match f {
        R1::Mov => {
            let a = *regs.r(a);
            regs.put_r(d, m, &a);
        }
        R1::Mov16 => regs.map_r(m, d, a, u16x),
        R1::Not => regs.map_r(m, d, a, |a| !a),
        R1::Not16 => regs.map_r(m, d, a, |a| u16x(!a)),
        R1::Neg => regs.map_r(m, d, a, u32::wrapping_neg),
        R1::Neg16 => regs.map_r(m, d, a, |a| u16x(a.wrapping_neg())),
        R1::Abs => regs.map_r(m, d, a, |a| (a as i32).wrapping_abs() as u32),
        R1::Abs16 => regs.map_r(m, d, a, |a| u16x(s16(a).wrapping_abs() as u32)),
        R1::Cnot => regs.map_r(m, d, a, |a| u32::from(a == 0)),
        R1::Cnot16 => regs.map_r(m, d, a, |a| u32::from(u16x(a) == 0)),
        R1::Clz => regs.map_r(m, d, a, u32::leading_zeros),
        R1::Popc => regs.map_r(m, d, a, u32::count_ones),
        R1::Brev => regs.map_r(m, d, a, u32::reverse_bits),
        R1::BfindU => regs.map_r(m, d, a, |a| bfind(u64::from(a))),
        R1::BfindS => regs.map_r(m, d, a, |a| bfind(u64::from(magnitude(a)))),
        R1::BfindShiftU => regs.map_r(m, d, a, |a| shift_amount(bfind(u64::from(a)), 31)),
        R1::BfindShiftS => regs.map_r(m, d, a, |a| shift_amount(bfind(u64::from(magnitude(a))), 31)),
        R1::Sext8 => regs.map_r(m, d, a, |a| a as i8 as u32),
        R1::Sext16 => regs.map_r(m, d, a, |a| s16(a) as u32),
        R1::Sext8To16 => regs.map_r(m, d, a, |a| u16x(a as i8 as u32)),
        R1::Zext8 => regs.map_r(m, d, a, |a| a & 0xff),
        R1::NegF32 => regs.map_r(m, d, a, |a| bits(-float(a))),
        R1::AbsF32 => regs.map_r(m, d, a, |a| bits(float(a).abs())),
    }
}

/// A negative number's bits inverted, so that its leading sign bits become zeros.
fn magnitude(a: u32) -> u32 {
    if (a as i32) < 0 { !a } else { a }
}

/// The position of the highest one bit, or all ones.
pub(super) fn bfind(a: u64) -> u32 {
    if a == 0 { u32::MAX } else { 63 - a.leading_zeros() }
}

/// `.shiftamt`: how far to shift left to bring the found bit to the top.
pub(super) fn shift_amount(found: u32, top: u32) -> u32 {
    if found == u32::MAX { u32::MAX } else { top - found }
}

pub(super) fn r2(regs: &mut Regs, m: u32, f: R2, d: R, a: R, b: R) {
    match f {
        R2::Add => regs.map_rr(m, d, a, b, u32::wrapping_add),
        R2::Sub => regs.map_rr(m, d, a, b, u32::wrapping_sub),
        R2::MulLo => regs.map_rr(m, d, a, b, u32::wrapping_mul),
        R2::MulHiU => regs.map_rr(m, d, a, b, mul_hi_u),
        R2::MulHiS => regs.map_rr(m, d, a, b, mul_hi_s),
        R2::Mul24LoU => regs.map_rr(m, d, a, b, |a, b| mul24_u(a, b) as u32),
        R2::Mul24LoS => regs.map_rr(m, d, a, b, |a, b| mul24_s(a, b) as u32),
        R2::Mul24HiU => regs.map_rr(m, d, a, b, |a, b| (mul24_u(a, b) >> 16) as u32),
        R2::Mul24HiS => regs.map_rr(m, d, a, b, |a, b| (mul24_s(a, b) >> 16) as u32),
        R2::DivU => regs.map_rr(m, d, a, b, |a, b| a.checked_div(b).unwrap_or(u32::MAX)),
        R2::DivS => regs.map_rr(m, d, a, b, div_s),
        R2::RemU => regs.map_rr(m, d, a, b, |a, b| a.checked_rem(b).unwrap_or(u32::MAX)),
        R2::RemS => regs.map_rr(m, d, a, b, rem_s),
        R2::MinU => regs.map_rr(m, d, a, b, u32::min),
        R2::MinS => regs.map_rr(m, d, a, b, |a, b| (a as i32).min(b as i32) as u32),
        R2::MaxU => regs.map_rr(m, d, a, b, u32::max),
        R2::MaxS => regs.map_rr(m, d, a, b, |a, b| (a as i32).max(b as i32) as u32),
        R2::MinSRelu => regs.map_rr(m, d, a, b, |a, b| (a as i32).min(b as i32).max(0) as u32),
        R2::MaxSRelu => regs.map_rr(m, d, a, b, |a, b| (a as i32).max(b as i32).max(0) as u32),
        R2::AddSat => regs.map_rr(m, d, a, b, |a, b| (a as i32).saturating_add(b as i32) as u32),
        R2::SubSat => regs.map_rr(m, d, a, b, |a, b| (a as i32).saturating_sub(b as i32) as u32),
        R2::And => regs.map_rr(m, d, a, b, |a, b| a & b),
        R2::Or => regs.map_rr(m, d, a, b, |a, b| a | b),
        R2::Xor => regs.map_rr(m, d, a, b, |a, b| a ^ b),
        R2::Shl => regs.map_rr(m, d, a, b, |a, b| if b > 31 { 0 } else { a << b }),
        R2::ShrU => regs.map_rr(m, d, a, b, |a, b| if b > 31 { 0 } else { a >> b }),
        R2::ShrS => regs.map_rr(m, d, a, b, |a, b| ((a as i32) >> b.min(31)) as u32),
        R2::AddF32 => regs.map_rr(m, d, a, b, |a, b| bits(float(a) + float(b))),
        R2::SubF32 => regs.map_rr(m, d, a, b, |a, b| bits(float(a) - float(b))),
        R2::MulF32 => regs.map_rr(m, d, a, b, |a, b| bits(float(a) * float(b))),
        R2::CopysignF32 => regs.map_rr(m, d, a, b, |a, b| (b & 0x7fff_ffff) | (a & 0x8000_0000)),
        R2::BmskClamp => regs.map_rr(m, d, a, b, |a, b| bmsk(a.min(32), b.min(32))),
        R2::BmskWrap => regs.map_rr(m, d, a, b, |a, b| bmsk(a & 31, b & 31)),
        R2::SzextUClamp => regs.map_rr(m, d, a, b, |a, b| zext(a, b)),
        R2::SzextUWrap => regs.map_rr(m, d, a, b, |a, b| zext(a, b & 31)),
        R2::SzextSClamp => regs.map_rr(m, d, a, b, |a, b| sext(a, b)),
        R2::SzextSWrap => regs.map_rr(m, d, a, b, |a, b| sext(a, b & 31)),
        _ => r2_half(regs, m, f, d, a, b),
    }
}

/// The forms on 16-bit values.
fn r2_half(regs: &mut Regs, m: u32, f: R2, d: R, a: R, b: R) {
    let unsigned = |regs: &mut Regs, f: fn(u32, u32) -> u32| {
        regs.map_rr(m, d, a, b, |a, b| u16x(f(u16x(a), u16x(b))));
    };
    let signed = |regs: &mut Regs, f: fn(i32, i32) -> i32| {
        regs.map_rr(m, d, a, b, |a, b| u16x(f(s16(a), s16(b)) as u32));
    };
    let pairs = |regs: &mut Regs, f: fn(u32, u32) -> u32| {
        regs.map_rr(m, d, a, b, |a, b| u16x(f(u16x(a), u16x(b))) | f(a >> 16, b >> 16) << 16);
    };
    let signed_pairs = |regs: &mut Regs, f: fn(i32, i32) -> i32| {
        regs.map_rr(m, d, a, b, |a, b| {
            u16x(f(s16(a), s16(b)) as u32) | (f(s16(a >> 16), s16(b >> 16)) as u32) << 16
        });
    };
    match f {
        R2::Add16 => unsigned(regs, u32::wrapping_add),
        R2::Sub16 => unsigned(regs, u32::wrapping_sub),
        R2::MulLo16 => unsigned(regs, u32::wrapping_mul),
        R2::MulHiU16 => unsigned(regs, |a, b| (a * b) >> 16),
        R2::MulHiS16 => signed(regs, |a, b| (a * b) >> 16),
        R2::MulWideU16 => regs.map_rr(m, d, a, b, |a, b| u16x(a) * u16x(b)),
        R2::MulWideS16 => regs.map_rr(m, d, a, b, |a, b| (s16(a) * s16(b)) as u32),
        R2::DivU16 => unsigned(regs, |a, b| a.checked_div(b).unwrap_or(u32::MAX)),
        R2::DivS16 => signed(regs, |a, b| a.checked_div(b).unwrap_or(-1)),
        R2::RemU16 => unsigned(regs, |a, b| a.checked_rem(b).unwrap_or(u32::MAX)),
        R2::RemS16 => signed(regs, |a, b| a.checked_rem(b).unwrap_or(-1)),
        R2::MinU16 => unsigned(regs, u32::min),
        R2::MinS16 => signed(regs, i32::min),
        R2::MaxU16 => unsigned(regs, u32::max),
        R2::MaxS16 => signed(regs, i32::max),
        R2::Shl16 => regs.map_rr(m, d, a, b, |a, b| if b > 15 { 0 } else { u16x(a << b) }),
        R2::ShrU16 => regs.map_rr(m, d, a, b, |a, b| if b > 15 { 0 } else { u16x(a) >> b }),
        R2::ShrS16 => regs.map_rr(m, d, a, b, |a, b| u16x((s16(a) >> b.min(15)) as u32)),
        R2::Add16x2 => pairs(regs, u32::wrapping_add),
        R2::MinU16x2 => pairs(regs, u32::min),
        R2::MaxU16x2 => pairs(regs, u32::max),
        R2::MinS16x2 => signed_pairs(regs, i32::min),
        R2::MaxS16x2 => signed_pairs(regs, i32::max),
        R2::MinS16x2Relu => signed_pairs(regs, |a, b| a.min(b).max(0)),
        R2::MaxS16x2Relu => signed_pairs(regs, |a, b| a.max(b).max(0)),
        _ => {}
    }
}

#[inline(always)]
fn mul_hi_u(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}

#[inline(always)]
fn mul_hi_s(a: u32, b: u32) -> u32 {
    ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32
}

/// The 48-bit product of the low 24 bits.
#[inline(always)]
fn mul24_u(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}

#[inline(always)]
fn mul24_s(a: u32, b: u32) -> i64 {
    let low = |x: u32| i64::from((x << 8) as i32 >> 8);
    low(a) * low(b)
}

/// Division by zero gives all ones, as an H200 does.
fn div_s(a: u32, b: u32) -> u32 {
    if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 }
}

fn rem_s(a: u32, b: u32) -> u32 {
    if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 }
}

/// `b` ones from bit `a` on.
fn bmsk(a: u32, b: u32) -> u32 {
    let ones = if b > 31 { u32::MAX } else { (1 << b) - 1 };
    if a > 31 { 0 } else { ones << a }
}

/// The low `n` bits.
fn zext(a: u32, n: u32) -> u32 {
    if n > 31 { a } else { a & ((1 << n) - 1) }
}

/// The low `n` bits, sign-extended; nothing from no bits.
fn sext(a: u32, n: u32) -> u32 {
    match n {
        0 => 0,
        1..=31 => ((a << (32 - n)) as i32 >> (32 - n)) as u32,
        _ => a,
    }
}

pub(super) fn r3(regs: &mut Regs, m: u32, f: R3, d: R, s: [R; 3]) {
    match f {
        R3::MadLo => regs.map_rrr(m, d, s, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        R3::FmaF32 => regs.map_rrr(m, d, s, |a, b, c| bits(float(a).mul_add(float(b), float(c)))),
        R3::MadHiU => regs.map_rrr(m, d, s, |a, b, c| mul_hi_u(a, b).wrapping_add(c)),
        R3::MadHiS => regs.map_rrr(m, d, s, |a, b, c| mul_hi_s(a, b).wrapping_add(c)),
        R3::MadHiSSat => {
            regs.map_rrr(m, d, s, |a, b, c| (mul_hi_s(a, b) as i32).saturating_add(c as i32) as u32);
        }
        R3::Mad24LoU => regs.map_rrr(m, d, s, |a, b, c| (mul24_u(a, b) as u32).wrapping_add(c)),
        R3::Mad24LoS => regs.map_rrr(m, d, s, |a, b, c| (mul24_s(a, b) as u32).wrapping_add(c)),
        R3::Mad24HiU => regs.map_rrr(m, d, s, |a, b, c| ((mul24_u(a, b) >> 16) as u32).wrapping_add(c)),
        R3::Mad24HiSSat => {
            regs.map_rrr(m, d, s, |a, b, c| ((mul24_s(a, b) >> 16) as i32).saturating_add(c as i32) as u32);
        }
        R3::Mad24HiS => regs.map_rrr(m, d, s, |a, b, c| ((mul24_s(a, b) >> 16) as u32).wrapping_add(c)),
        R3::MadLo16 => regs.map_rrr(m, d, s, |a, b, c| u16x(a.wrapping_mul(b).wrapping_add(c))),
        R3::MadHiU16 => regs.map_rrr(m, d, s, |a, b, c| u16x(((u16x(a) * u16x(b)) >> 16).wrapping_add(c))),
        R3::MadHiS16 => {
            regs.map_rrr(m, d, s, |a, b, c| u16x((((s16(a) * s16(b)) >> 16) as u32).wrapping_add(c)));
        }
        R3::MadWideU16 => regs.map_rrr(m, d, s, |a, b, c| (u16x(a) * u16x(b)).wrapping_add(c)),
        R3::MadWideS16 => regs.map_rrr(m, d, s, |a, b, c| ((s16(a) * s16(b)) as u32).wrapping_add(c)),
        R3::SadU => regs.map_rrr(m, d, s, |a, b, c| a.abs_diff(b).wrapping_add(c)),
        R3::SadS => regs.map_rrr(m, d, s, |a, b, c| (a as i32).abs_diff(b as i32).wrapping_add(c)),
        R3::SadU16 => regs.map_rrr(m, d, s, |a, b, c| u16x(u16x(a).abs_diff(u16x(b)).wrapping_add(c))),
        R3::SadS16 => regs.map_rrr(m, d, s, |a, b, c| u16x(s16(a).abs_diff(s16(b)).wrapping_add(c))),
        R3::BfeU => regs.map_rrr(m, d, s, |a, b, c| bfe(u64::from(a), 32, b & 0xff, c & 0xff, false) as u32),
        R3::BfeS => {
            regs.map_rrr(m, d, s, |a, b, c| bfe(a as i32 as u64, 32, b & 0xff, c & 0xff, true) as u32);
        }
        R3::ShfLClamp => regs.map_rrr(m, d, s, |a, b, c| shf_left(a, b, c.min(32))),
        R3::ShfLWrap => regs.map_rrr(m, d, s, |a, b, c| shf_left(a, b, c & 31)),
        R3::ShfRClamp => regs.map_rrr(m, d, s, |a, b, c| shf_right(a, b, c.min(32))),
        R3::ShfRWrap => regs.map_rrr(m, d, s, |a, b, c| shf_right(a, b, c & 31)),
        R3::Prmt => regs.map_rrr(m, d, s, prmt),
        R3::PrmtF4e => regs.map_rrr(m, d, s, |a, b, c| pick(a, b, [0, 1, 2, 3].map(|i| (c & 3) + i))),
        R3::PrmtB4e => regs.map_rrr(m, d, s, |a, b, c| pick(a, b, [8, 7, 6, 5].map(|i| ((c & 3) + i) & 7))),
        R3::PrmtRc8 => regs.map_rrr(m, d, s, |a, b, c| pick(a, b, [c & 3; 4])),
        R3::PrmtEcl => regs.map_rrr(m, d, s, |a, b, c| pick(a, b, [0, 1, 2, 3].map(|i: u32| i.max(c & 3)))),
        R3::PrmtEcr => regs.map_rrr(m, d, s, |a, b, c| pick(a, b, [0, 1, 2, 3].map(|i: u32| i.min(c & 3)))),
        R3::PrmtRc16 => regs.map_rrr(m, d, s, |a, b, c| {
            let half = (c & 1) * 2;
            pick(a, b, [half, half + 1, half, half + 1])
        }),
        R3::Fns => regs.map_rrr(m, d, s, |a, b, c| arith::bits::fns(a, b, c as i32)),
    }
}

/// Bytes of `{b, a}` by index.
fn pick(a: u32, b: u32, bytes: [u32; 4]) -> u32 {
    let both = u64::from(a) | u64::from(b) << 32;
    bytes.iter().enumerate().fold(0, |out, (i, byte)| out | ((both >> (8 * byte)) as u32 & 0xff) << (8 * i))
}

/// `prmt.b32` in its default mode: each nibble of `c` picks a byte, or with its top bit the byte's sign.
#[inline(always)]
fn prmt(a: u32, b: u32, c: u32) -> u32 {
    let both = u64::from(a) | u64::from(b) << 32;
    let mut out = 0;
    for i in 0..4 {
        let selector = c >> (4 * i) & 15;
        let byte = (both >> (8 * (selector & 7))) as u32 & 0xff;
        let sign = if byte & 0x80 != 0 { 0xff } else { 0 };
        out |= (if selector & 8 != 0 { sign } else { byte }) << (8 * i);
    }
    out
}

fn shf_left(a: u32, b: u32, n: u32) -> u32 {
    let both = u64::from(a) | u64::from(b) << 32;
    ((both << n) >> 32) as u32
}

fn shf_right(a: u32, b: u32, n: u32) -> u32 {
    let both = u64::from(a) | u64::from(b) << 32;
    (both >> n) as u32
}

/// The `length` bits from `position` on; `a` is sign-extended for the signed form (PTX ISA, "bfe").
#[inline(always)]
pub(super) fn bfe(a: u64, width: u32, position: u32, length: u32, signed: bool) -> u64 {
    if length == 0 {
        return 0;
    }
    // Past the top there are copies of the sign, which for a field that ends beyond the top is the top bit.
    let fill = if signed && (a >> (width - 1)) & 1 == 1 { u64::MAX } else { 0 };
    let wide = if width == 32 { (a & 0xffff_ffff) | fill << 32 } else { a };
    let shifted = if position > 63 {
        fill
    } else if signed {
        ((wide as i64) >> position) as u64
    } else {
        wide >> position
    };
    if length >= width {
        return shifted;
    }
    let field = shifted & ((1 << length) - 1);
    if signed {
        let top = (position.saturating_add(length) - 1).min(width - 1);
        let sign = (a >> top) & 1 == 1;
        return if sign { field | !((1 << length) - 1) } else { field };
    }
    field
}

/// The low `length` bits of `a` put into `b` from `position` on (PTX ISA, "bfi").
#[inline(always)]
pub(super) fn bfi(a: u32, b: u32, position: u32, length: u32) -> u32 {
    if position > 31 || length == 0 {
        return b;
    }
    let ones = if length > 31 { u32::MAX } else { (1 << length) - 1 };
    let mask = ones << position;
    (b & !mask) | ((a << position) & mask)
}

/// Bitwise function of three operands by its truth table (PTX ISA, "lop3").
#[inline(always)]
pub(super) fn lop3(lut: u8, a: u32, b: u32, c: u32) -> u32 {
    let mut out = 0;
    for i in 0..8 {
        let term = |x: u32, bit: u32| if i & bit != 0 { x } else { !x };
        let all = 0u32.wrapping_sub(u32::from(lut >> i & 1));
        out |= all & term(a, 4) & term(b, 2) & term(c, 1);
    }
    out
}

/// `dp4a`, `dp2a`.
pub(super) fn dot(regs: &mut Regs, m: u32, op: &DotOp) {
    let (a, b, c) = (regs.r(op.a), regs.r(op.b), regs.r(op.c));
    let part = |x: u32, bits: u32, index: u32, signed: bool| {
        let value = x >> (bits * index);
        let spare = 32 - bits;
        if signed { (value << spare) as i32 >> spare } else { ((value << spare) >> spare) as i32 }
    };
    let out: Lanes32 = std::array::from_fn(|lane| match op.two {
        None => (0..4).fold(c[lane], |sum, i| {
            let product = part(a[lane], 8, i, op.a_signed).wrapping_mul(part(b[lane], 8, i, op.b_signed));
            sum.wrapping_add(product as u32)
        }),
        Some(upper) => (0..2).fold(c[lane], |sum, i| {
            let byte = i + 2 * u32::from(upper);
            let product = part(a[lane], 16, i, op.a_signed).wrapping_mul(part(b[lane], 8, byte, op.b_signed));
            sum.wrapping_add(product as u32)
        }),
    });
    regs.put_r(op.d, m, &out);
}
