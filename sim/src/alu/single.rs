//! 32-bit and 16-bit arithmetic.

use crate::arith::Int;
use crate::arith::bits;
use crate::arith::bits::{Beyond, Permute};
use crate::arith::int;
use crate::machine::registers::Regs;
use crate::program::code::{DotOp, H2, R, R1, R2, R3};

/// Returns the bits of an f32 result, with the canonical NaN of f32 arithmetic (PTX ISA, "Floating Point Instructions").
#[inline(always)]
fn result(x: f32) -> u32 {
    if x.is_nan() { 0x7fff_ffff } else { x.to_bits() }
}

#[inline(always)]
fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Computes `a · b + c`, rounded once, with operations that compile to vector code on any host.
///
/// The product of two singles is exact in double precision. The sum is rounded to odd in double precision (its last bit is set if it is
/// inexact), so that the second rounding, to single precision, is correct (Boldo and Melquiond, "Emulation of a FMA and correctly rounded
/// sums", 2008).
#[inline(always)]
fn fused(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    let back = sum - product;
    let error = (product - (sum - back)) + (c - back);
    let bits = sum.to_bits();
    let inexact = u64::from(error.abs() > 0.0);
    // If the error has the opposite sign, the sum was rounded away from zero.
    let outwards = (error.to_bits() ^ bits) >> 63 & inexact;
    f64::from_bits(bits.wrapping_sub(outwards) | inexact) as f32
}

/// Returns the sign-extended low half.
#[inline(always)]
fn s16(a: u32) -> i32 {
    i32::from(a as u16 as i16)
}

#[inline(always)]
fn u16x(a: u32) -> u32 {
    a & 0xffff
}

#[inline(always)]
pub(crate) fn r1(regs: &mut Regs, m: u32, f: R1, d: R, a: R) {
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
        R1::BfindU => regs.map_r(m, d, a, |a| bits::bfind(Int::U32, false, a.into())),
        R1::BfindS => regs.map_r(m, d, a, |a| bits::bfind(Int::S32, false, a.into())),
        R1::BfindShiftU => regs.map_r(m, d, a, |a| bits::bfind(Int::U32, true, a.into())),
        R1::BfindShiftS => regs.map_r(m, d, a, |a| bits::bfind(Int::S32, true, a.into())),
        R1::Sext8 => regs.map_r(m, d, a, |a| a as i8 as u32),
        R1::Sext16 => regs.map_r(m, d, a, |a| s16(a) as u32),
        R1::Sext8To16 => regs.map_r(m, d, a, |a| u16x(a as i8 as u32)),
        R1::Zext8 => regs.map_r(m, d, a, |a| a & 0xff),
        R1::NegF32 => regs.map_r(m, d, a, |a| result(-float(a))),
        R1::AbsF32 => regs.map_r(m, d, a, |a| result(float(a).abs())),
    }
}

#[inline(always)]
pub(crate) fn r2(regs: &mut Regs, m: u32, f: R2, d: R, a: R, b: R) {
    match f {
        R2::Add => regs.map_rr(m, d, a, b, u32::wrapping_add),
        R2::Sub => regs.map_rr(m, d, a, b, u32::wrapping_sub),
        R2::MulLo => regs.map_rr(m, d, a, b, u32::wrapping_mul),
        R2::MulHiU => regs.map_rr(m, d, a, b, mul_hi_u),
        R2::MulHiS => regs.map_rr(m, d, a, b, mul_hi_s),
        R2::Mul24LoU => regs.map_rr(m, d, a, b, |a, b| int::mul24_lo(Int::U32, a.into(), b.into()) as u32),
        R2::Mul24LoS => regs.map_rr(m, d, a, b, |a, b| int::mul24_lo(Int::S32, a.into(), b.into()) as u32),
        R2::Mul24HiU => regs.map_rr(m, d, a, b, |a, b| int::mul24_hi(Int::U32, a.into(), b.into()) as u32),
        R2::Mul24HiS => regs.map_rr(m, d, a, b, |a, b| int::mul24_hi(Int::S32, a.into(), b.into()) as u32),
        R2::DivU => regs.map_rr(m, d, a, b, |a, b| a.checked_div(b).unwrap_or(u32::MAX)),
        R2::DivS => {
            regs.map_rr(
                m,
                d,
                a,
                b,
                |a, b| if b == 0 { u32::MAX } else { (a as i32).wrapping_div(b as i32) as u32 },
            );
        }
        R2::RemU => regs.map_rr(m, d, a, b, |a, b| a.checked_rem(b).unwrap_or(u32::MAX)),
        R2::RemS => {
            regs.map_rr(
                m,
                d,
                a,
                b,
                |a, b| if b == 0 { u32::MAX } else { (a as i32).wrapping_rem(b as i32) as u32 },
            );
        }
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
        R2::AddF32 => regs.map_rr(m, d, a, b, |a, b| result(float(a) + float(b))),
        R2::SubF32 => regs.map_rr(m, d, a, b, |a, b| result(float(a) - float(b))),
        R2::MulF32 => regs.map_rr(m, d, a, b, |a, b| result(float(a) * float(b))),
        R2::CopysignF32 => regs.map_rr(m, d, a, b, |a, b| (b & 0x7fff_ffff) | (a & 0x8000_0000)),
        R2::BmskClamp => regs.map_rr(m, d, a, b, |a, b| bits::bmsk(Beyond::Clamp, a, b)),
        R2::BmskWrap => regs.map_rr(m, d, a, b, |a, b| bits::bmsk(Beyond::Wrap, a, b)),
        R2::SzextUClamp => regs.map_rr(m, d, a, b, |a, b| bits::szext(Int::U32, Beyond::Clamp, a, b)),
        R2::SzextUWrap => regs.map_rr(m, d, a, b, |a, b| bits::szext(Int::U32, Beyond::Wrap, a, b)),
        R2::SzextSClamp => regs.map_rr(m, d, a, b, |a, b| bits::szext(Int::S32, Beyond::Clamp, a, b)),
        R2::SzextSWrap => regs.map_rr(m, d, a, b, |a, b| bits::szext(Int::S32, Beyond::Wrap, a, b)),
    }
}

/// Executes a function of 16-bit values.
#[inline(never)]
pub(crate) fn h2(regs: &mut Regs, m: u32, f: H2, d: R, a: R, b: R) {
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
        H2::Add16 => unsigned(regs, u32::wrapping_add),
        H2::Sub16 => unsigned(regs, u32::wrapping_sub),
        H2::MulLo16 => unsigned(regs, u32::wrapping_mul),
        H2::MulHiU16 => unsigned(regs, |a, b| (a * b) >> 16),
        H2::MulHiS16 => signed(regs, |a, b| (a * b) >> 16),
        H2::MulWideU16 => regs.map_rr(m, d, a, b, |a, b| u16x(a) * u16x(b)),
        H2::MulWideS16 => regs.map_rr(m, d, a, b, |a, b| (s16(a) * s16(b)) as u32),
        H2::DivU16 => unsigned(regs, |a, b| a.checked_div(b).unwrap_or(u32::MAX)),
        H2::DivS16 => signed(regs, |a, b| a.checked_div(b).unwrap_or(-1)),
        H2::RemU16 => unsigned(regs, |a, b| a.checked_rem(b).unwrap_or(u32::MAX)),
        H2::RemS16 => signed(regs, |a, b| a.checked_rem(b).unwrap_or(-1)),
        H2::MinU16 => unsigned(regs, u32::min),
        H2::MinS16 => signed(regs, i32::min),
        H2::MaxU16 => unsigned(regs, u32::max),
        H2::MaxS16 => signed(regs, i32::max),
        H2::Shl16 => regs.map_rr(m, d, a, b, |a, b| if b > 15 { 0 } else { u16x(a << b) }),
        H2::ShrU16 => regs.map_rr(m, d, a, b, |a, b| if b > 15 { 0 } else { u16x(a) >> b }),
        H2::ShrS16 => regs.map_rr(m, d, a, b, |a, b| u16x((s16(a) >> b.min(15)) as u32)),
        H2::Add16x2 => pairs(regs, u32::wrapping_add),
        H2::MinU16x2 => pairs(regs, u32::min),
        H2::MaxU16x2 => pairs(regs, u32::max),
        H2::MinS16x2 => signed_pairs(regs, i32::min),
        H2::MaxS16x2 => signed_pairs(regs, i32::max),
        H2::MinS16x2Relu => signed_pairs(regs, |a, b| a.min(b).max(0)),
        H2::MaxS16x2Relu => signed_pairs(regs, |a, b| a.max(b).max(0)),
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

#[inline(always)]
pub(crate) fn r3<const FMA: bool>(regs: &mut Regs, m: u32, f: R3, d: R, s: [R; 3]) {
    match f {
        R3::MadLo => regs.map_rrr(m, d, s, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        R3::FmaF32 if FMA => {
            regs.map_rrr(m, d, s, |a, b, c| result(float(a).mul_add(float(b), float(c))));
        }
        R3::FmaF32 => regs.map_rrr(m, d, s, |a, b, c| result(fused(float(a), float(b), float(c)))),
        R3::FmsF32 if FMA => regs.map_rrr(m, d, s, |a, b, c| result(float(a).mul_add(float(b), -float(c)))),
        R3::FnmaF32 if FMA => {
            regs.map_rrr(m, d, s, |a, b, c| result((-float(a)).mul_add(float(b), float(c))));
        }
        R3::FnmsF32 if FMA => {
            regs.map_rrr(m, d, s, |a, b, c| result((-float(a)).mul_add(float(b), -float(c))));
        }
        R3::FmsF32 => regs.map_rrr(m, d, s, |a, b, c| result(fused(float(a), float(b), -float(c)))),
        R3::FnmaF32 => regs.map_rrr(m, d, s, |a, b, c| result(fused(-float(a), float(b), float(c)))),
        R3::FnmsF32 => regs.map_rrr(m, d, s, |a, b, c| result(fused(-float(a), float(b), -float(c)))),
        R3::MadHiU => regs.map_rrr(m, d, s, |a, b, c| mul_hi_u(a, b).wrapping_add(c)),
        R3::MadHiS => regs.map_rrr(m, d, s, |a, b, c| mul_hi_s(a, b).wrapping_add(c)),
        R3::MadHiSSat => {
            regs.map_rrr(m, d, s, |a, b, c| (mul_hi_s(a, b) as i32).saturating_add(c as i32) as u32);
        }
        R3::Mad24LoU => {
            regs.map_rrr(m, d, s, |a, b, c| int::mad24_lo(Int::U32, a.into(), b.into(), c.into()) as u32);
        }
        R3::Mad24LoS => {
            regs.map_rrr(m, d, s, |a, b, c| int::mad24_lo(Int::S32, a.into(), b.into(), c.into()) as u32);
        }
        R3::Mad24HiU => regs
            .map_rrr(m, d, s, |a, b, c| int::mad24_hi(Int::U32, false, a.into(), b.into(), c.into()) as u32),
        R3::Mad24HiS => regs
            .map_rrr(m, d, s, |a, b, c| int::mad24_hi(Int::S32, false, a.into(), b.into(), c.into()) as u32),
        R3::Mad24HiSSat => regs
            .map_rrr(m, d, s, |a, b, c| int::mad24_hi(Int::S32, true, a.into(), b.into(), c.into()) as u32),
        R3::MadLo16 => regs.map_rrr(m, d, s, |a, b, c| u16x(a.wrapping_mul(b).wrapping_add(c))),
        R3::MadHiU16 => regs.map_rrr(m, d, s, |a, b, c| u16x(((u16x(a) * u16x(b)) >> 16).wrapping_add(c))),
        R3::MadHiS16 => {
            regs.map_rrr(m, d, s, |a, b, c| u16x((((s16(a) * s16(b)) >> 16) as u32).wrapping_add(c)));
        }
        R3::MadWideU16 => regs.map_rrr(m, d, s, |a, b, c| (u16x(a) * u16x(b)).wrapping_add(c)),
        R3::MadWideS16 => regs.map_rrr(m, d, s, |a, b, c| ((s16(a) * s16(b)) as u32).wrapping_add(c)),
        R3::SadU => regs.map_rrr(m, d, s, |a, b, c| int::sad(Int::U32, a.into(), b.into(), c.into()) as u32),
        R3::SadS => regs.map_rrr(m, d, s, |a, b, c| int::sad(Int::S32, a.into(), b.into(), c.into()) as u32),
        R3::SadU16 => {
            regs.map_rrr(m, d, s, |a, b, c| int::sad(Int::U16, a.into(), b.into(), c.into()) as u32);
        }
        R3::SadS16 => {
            regs.map_rrr(m, d, s, |a, b, c| int::sad(Int::S16, a.into(), b.into(), c.into()) as u32);
        }
        R3::BfeU => regs.map_rrr(m, d, s, |a, b, c| bits::bfe(Int::U32, a.into(), b, c) as u32),
        R3::BfeS => regs.map_rrr(m, d, s, |a, b, c| bits::bfe(Int::S32, a.into(), b, c) as u32),
        R3::ShfLClamp => regs.map_rrr(m, d, s, |a, b, c| bits::funnel_left(Beyond::Clamp, a, b, c)),
        R3::ShfLWrap => regs.map_rrr(m, d, s, |a, b, c| bits::funnel_left(Beyond::Wrap, a, b, c)),
        R3::ShfRClamp => regs.map_rrr(m, d, s, |a, b, c| bits::funnel_right(Beyond::Clamp, a, b, c)),
        R3::ShfRWrap => regs.map_rrr(m, d, s, |a, b, c| bits::funnel_right(Beyond::Wrap, a, b, c)),
        R3::Prmt => regs.map_rrr(m, d, s, |a, b, c| bits::prmt(Permute::Generic, a, b, c)),
        R3::PrmtF4e => regs.map_rrr(m, d, s, |a, b, c| bits::prmt(Permute::F4e, a, b, c)),
        R3::PrmtB4e => regs.map_rrr(m, d, s, |a, b, c| bits::prmt(Permute::B4e, a, b, c)),
        R3::PrmtRc8 => regs.map_rrr(m, d, s, |a, b, c| bits::prmt(Permute::Rc8, a, b, c)),
        R3::PrmtEcl => regs.map_rrr(m, d, s, |a, b, c| bits::prmt(Permute::Ecl, a, b, c)),
        R3::PrmtEcr => regs.map_rrr(m, d, s, |a, b, c| bits::prmt(Permute::Ecr, a, b, c)),
        R3::PrmtRc16 => regs.map_rrr(m, d, s, |a, b, c| bits::prmt(Permute::Rc16, a, b, c)),
        R3::Fns => regs.map_rrr(m, d, s, |a, b, c| bits::fns(a, b, c as i32)),
    }
}

/// Evaluates a bitwise function of three operands, given by its truth table (PTX ISA, "lop3").
#[inline(always)]
pub(crate) fn lop3(lut: u8, a: u32, b: u32, c: u32) -> u32 {
    let mut out = 0;
    for i in 0..8 {
        let term = |x: u32, bit: u32| if i & bit != 0 { x } else { !x };
        let all = 0u32.wrapping_sub(u32::from(lut >> i & 1));
        out |= all & term(a, 4) & term(b, 2) & term(c, 1);
    }
    out
}

/// Executes `dp4a` or `dp2a`.
pub(crate) fn dot(regs: &mut Regs, m: u32, op: &DotOp) {
    let signed = (op.a_signed, op.b_signed);
    regs.map_rrr(m, op.d, [op.a, op.b, op.c], |a, b, c| match op.two {
        None => int::dp4a(signed, a, b, c),
        Some(upper) => int::dp2a(signed, upper, a, b, c),
    });
}

#[cfg(test)]
mod tests {
    use super::fused;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn fused_multiply_add_rounds_once(a in any::<u32>(), b in any::<u32>(), c in any::<u32>(), near in any::<bool>()) {
            let (a, b) = (f32::from_bits(a), f32::from_bits(b));
            // Sums that nearly cancel, and halfway cases, require a c close to the negated product.
            let c = if near { f32::from_bits((a * b).to_bits().wrapping_add(c % 64) ^ 1 << 31) } else { f32::from_bits(c) };
            let (got, want) = (fused(a, b, c), a.mul_add(b, c));
            prop_assert!(got.to_bits() == want.to_bits() || (got.is_nan() && want.is_nan()), "{a:e} {b:e} {c:e}: {got:e} {want:e}");
        }
    }
}
