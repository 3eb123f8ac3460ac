//! 64-bit arithmetic.

use crate::arith::{Float, Int, Round, bits, float};
use crate::lanes::{Lanes64, lanes};
use crate::machine::registers::Regs;
use crate::program::code::{D, D1, D2, D3, DR, Narrow, R, Widen};
use crate::program::spaces::{LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW};

/// The remainder of a 64-bit division by zero on an H200.
const ALL_ONES: u64 = u64::MAX;

#[inline(always)]
pub(crate) fn d1(regs: &mut Regs, m: u32, f: D1, d: D, a: D) {
    match f {
        D1::Mov => {
            let a = *regs.d(a);
            regs.put_d(d, m, &a);
        }
        D1::Not => regs.map_d(m, d, a, |a| !a),
        D1::Neg => regs.map_d(m, d, a, u64::wrapping_neg),
        D1::Abs => regs.map_d(m, d, a, |a| (a as i64).wrapping_abs() as u64),
        D1::Cnot => regs.map_d(m, d, a, |a| u64::from(a == 0)),
        D1::Brev => regs.map_d(m, d, a, u64::reverse_bits),
        D1::Sext8 => regs.map_d(m, d, a, |a| a as i8 as u64),
        D1::Sext16 => regs.map_d(m, d, a, |a| a as i16 as u64),
        D1::Sext32 => regs.map_d(m, d, a, |a| a as i32 as u64),
        D1::Zext8 => regs.map_d(m, d, a, |a| a & 0xff),
        D1::Zext16 => regs.map_d(m, d, a, |a| a & 0xffff),
        D1::Zext32 => regs.map_d(m, d, a, |a| a & 0xffff_ffff),
        D1::SharedToGeneric => regs.map_d(m, d, a, |a| a.wrapping_add(SHARED_WINDOW)),
        D1::GenericToShared => regs.map_d(m, d, a, |a| a.wrapping_sub(SHARED_WINDOW)),
        D1::LocalToGeneric => regs.map_d(m, d, a, |a| a.wrapping_add(LOCAL_WINDOW)),
        D1::GenericToLocal => regs.map_d(m, d, a, |a| a.wrapping_sub(LOCAL_WINDOW)),
        D1::ParamToGeneric => regs.map_d(m, d, a, |a| a.wrapping_add(PARAM_WINDOW)),
        D1::GenericToParam => regs.map_d(m, d, a, |a| a.wrapping_sub(PARAM_WINDOW)),
    }
}

#[inline(always)]
pub(crate) fn d2(regs: &mut Regs, m: u32, f: D2, d: D, a: D, b: D) {
    match f {
        D2::Add => regs.map_dd(m, d, a, b, u64::wrapping_add),
        D2::Sub => regs.map_dd(m, d, a, b, u64::wrapping_sub),
        D2::MulLo => regs.map_dd(m, d, a, b, u64::wrapping_mul),
        D2::MulHiU => regs.map_dd(m, d, a, b, mul_hi_u),
        D2::MulHiS => regs.map_dd(m, d, a, b, mul_hi_s),
        D2::DivU => regs.map_dd(m, d, a, b, |a, b| a.checked_div(b).unwrap_or(u64::MAX)),
        D2::DivS => {
            regs.map_dd(
                m,
                d,
                a,
                b,
                |a, b| {
                    if b == 0 { u64::MAX } else { (a as i64).wrapping_div(b as i64) as u64 }
                },
            );
        }
        D2::RemU => regs.map_dd(m, d, a, b, |a, b| a.checked_rem(b).unwrap_or(ALL_ONES)),
        D2::RemS => {
            regs.map_dd(
                m,
                d,
                a,
                b,
                |a, b| if b == 0 { ALL_ONES } else { (a as i64).wrapping_rem(b as i64) as u64 },
            );
        }
        D2::MinU => regs.map_dd(m, d, a, b, u64::min),
        D2::MinS => regs.map_dd(m, d, a, b, |a, b| (a as i64).min(b as i64) as u64),
        D2::MaxU => regs.map_dd(m, d, a, b, u64::max),
        D2::MaxS => regs.map_dd(m, d, a, b, |a, b| (a as i64).max(b as i64) as u64),
        D2::And => regs.map_dd(m, d, a, b, |a, b| a & b),
        D2::Or => regs.map_dd(m, d, a, b, |a, b| a | b),
        D2::Xor => regs.map_dd(m, d, a, b, |a, b| a ^ b),
        D2::AddF64 => native(
            regs,
            m,
            d,
            [a, b, b],
            |a, b, _| a + b,
            |a, b, _| float::add(Float::F64, Round::Rn, false, false, a, b),
        ),
        D2::SubF64 => native(
            regs,
            m,
            d,
            [a, b, b],
            |a, b, _| a - b,
            |a, b, _| float::sub(Float::F64, Round::Rn, false, false, a, b),
        ),
        D2::MulF64 => native(
            regs,
            m,
            d,
            [a, b, b],
            |a, b, _| a * b,
            |a, b, _| float::mul(Float::F64, Round::Rn, false, false, a, b),
        ),
    }
}

#[inline(always)]
pub(crate) fn d3(regs: &mut Regs, m: u32, f: D3, d: D, s: [D; 3]) {
    match f {
        D3::MadLo => regs.map_ddd(m, d, s, |a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        D3::MadHiU => regs.map_ddd(m, d, s, |a, b, c| mul_hi_u(a, b).wrapping_add(c)),
        D3::MadHiS => regs.map_ddd(m, d, s, |a, b, c| mul_hi_s(a, b).wrapping_add(c)),
        D3::SadU => regs.map_ddd(m, d, s, |a, b, c| a.abs_diff(b).wrapping_add(c)),
        D3::SadS => regs.map_ddd(m, d, s, |a, b, c| (a as i64).abs_diff(b as i64).wrapping_add(c)),
        D3::FmaF64 => native(regs, m, d, s, f64::mul_add, |a, b, c| {
            float::fma(Float::F64, Round::Rn, false, false, a, b, c)
        }),
        D3::FmsF64 => {
            native(regs, m, d, s, |a, b, c| a.mul_add(b, -c), |a, b, c| contracted([a, b, c], false, true));
        }
        D3::FnmaF64 => {
            native(regs, m, d, s, |a, b, c| (-a).mul_add(b, c), |a, b, c| contracted([a, b, c], true, false));
        }
        D3::FnmsF64 => {
            native(regs, m, d, s, |a, b, c| (-a).mul_add(b, -c), |a, b, c| contracted([a, b, c], true, true));
        }
    }
}

fn contracted(operands: [u64; 3], minus_product: bool, minus_addend: bool) -> u64 {
    float::contracted(Float::F64, false, false, operands, minus_product, minus_addend)
}

/// Computes with the host's f64 arithmetic. If the result is a NaN, uses `exact` instead, because the host produces different NaNs.
#[inline(always)]
fn native(
    regs: &mut Regs,
    m: u32,
    d: D,
    s: [D; 3],
    fast: impl Fn(f64, f64, f64) -> f64,
    exact: impl Fn(u64, u64, u64) -> u64,
) {
    let [a, b, c] = s.map(|r| regs.d(r));
    let mut out = [0; 32];
    let mut nan = false;
    for i in 0..32 {
        let x = fast(f64::from_bits(a[i]), f64::from_bits(b[i]), f64::from_bits(c[i]));
        nan |= x.is_nan();
        out[i] = x.to_bits();
    }
    if nan {
        for i in lanes(m) {
            if f64::from_bits(out[i]).is_nan() {
                out[i] = exact(a[i], b[i], c[i]);
            }
        }
    }
    regs.put_d(d, m, &out);
}

#[inline(always)]
fn mul_hi_u(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

#[inline(always)]
fn mul_hi_s(a: u64, b: u64) -> u64 {
    ((i128::from(a as i64) * i128::from(b as i64)) >> 64) as u64
}

#[inline(always)]
pub(crate) fn shift(regs: &mut Regs, m: u32, f: DR, d: D, a: D, b: R) {
    let (a, b) = (regs.d(a), regs.r(b));
    let mut out = [0; 32];
    match f {
        DR::Shl => {
            for i in 0..32 {
                out[i] = if b[i] > 63 { 0 } else { a[i] << b[i] };
            }
        }
        DR::ShrU => {
            for i in 0..32 {
                out[i] = if b[i] > 63 { 0 } else { a[i] >> b[i] };
            }
        }
        DR::ShrS => {
            for i in 0..32 {
                out[i] = ((a[i] as i64) >> b[i].min(63)) as u64;
            }
        }
    }
    regs.put_d(d, m, &out);
}

pub(crate) fn bfe(regs: &mut Regs, m: u32, signed: bool, d: D, a: D, position: R, length: R) {
    let (a, position, length) = (regs.d(a), regs.r(position), regs.r(length));
    let ty = if signed { Int::S64 } else { Int::U64 };
    let out: Lanes64 = std::array::from_fn(|i| bits::bfe(ty, a[i], position[i], length[i]));
    regs.put_d(d, m, &out);
}

pub(crate) fn bfi(regs: &mut Regs, m: u32, d: D, [a, b]: [D; 2], position: R, length: R) {
    let (a, b, position, length) = (regs.d(a), regs.d(b), regs.r(position), regs.r(length));
    let out: Lanes64 = std::array::from_fn(|i| bits::bfi(Int::U64, a[i], b[i], position[i], length[i]));
    regs.put_d(d, m, &out);
}

#[inline(always)]
pub(crate) fn widen(regs: &mut Regs, m: u32, f: Widen, d: D, a: R) {
    match f {
        Widen::U32 => regs.widen(m, d, a, u64::from),
        Widen::S32 => regs.widen(m, d, a, |a| a as i32 as u64),
        Widen::U16 => regs.widen(m, d, a, |a| u64::from(a as u16)),
        Widen::S16 => regs.widen(m, d, a, |a| a as i16 as u64),
        Widen::U8 => regs.widen(m, d, a, |a| u64::from(a as u8)),
        Widen::S8 => regs.widen(m, d, a, |a| a as i8 as u64),
    }
}

#[inline(always)]
pub(crate) fn narrow(regs: &mut Regs, m: u32, f: Narrow, d: R, a: D) {
    match f {
        Narrow::Low => regs.narrow(m, d, a, |a| a as u32),
        Narrow::Low16 => regs.narrow(m, d, a, |a| u32::from(a as u16)),
        Narrow::Low8 => regs.narrow(m, d, a, |a| u32::from(a as u8)),
        Narrow::Clz => regs.narrow(m, d, a, u64::leading_zeros),
        Narrow::Popc => regs.narrow(m, d, a, u64::count_ones),
        Narrow::BfindU => regs.narrow(m, d, a, |a| bits::bfind(Int::U64, false, a)),
        Narrow::BfindS => regs.narrow(m, d, a, |a| bits::bfind(Int::S64, false, a)),
        Narrow::BfindShiftU => regs.narrow(m, d, a, |a| bits::bfind(Int::U64, true, a)),
        Narrow::BfindShiftS => regs.narrow(m, d, a, |a| bits::bfind(Int::S64, true, a)),
    }
}

/// Executes `mul.wide` or `mad.wide`.
#[inline(always)]
pub(crate) fn mul_wide(regs: &mut Regs, m: u32, signed: bool, d: D, a: R, b: R, c: Option<D>) {
    let (a, b) = (regs.r(a), regs.r(b));
    let mut out = [0; 32];
    if signed {
        for i in 0..32 {
            out[i] = (i64::from(a[i] as i32) * i64::from(b[i] as i32)) as u64;
        }
    } else {
        for i in 0..32 {
            out[i] = u64::from(a[i]) * u64::from(b[i]);
        }
    }
    if let Some(c) = c {
        let c = regs.d(c);
        for i in 0..32 {
            out[i] = out[i].wrapping_add(c[i]);
        }
    }
    regs.put_d(d, m, &out);
}
