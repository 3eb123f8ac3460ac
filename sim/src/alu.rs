//! Register-only instructions: dispatch, moves, selections, comparisons.

pub(crate) mod approx;
pub(crate) mod carry;
pub(crate) mod convert;
pub(crate) mod double;
pub(crate) mod exchange;
pub(crate) mod float;
pub(crate) mod reduce;
pub(crate) mod simd;
pub(crate) mod single;
pub(crate) mod video;

use crate::arith::bits::bfi;
use crate::arith::compare::{Compare, compare, testp};
use crate::arith::{Float, Int, Ty};
use crate::lanes::{Lanes32, Lanes64, mask_of};
use crate::machine::registers::Regs;
use crate::program::code::{Alu, Clock, Kept, Logic, P, Reg, Set, Setp};
use crate::program::spaces::SHARED_BITS;

/// The mask that extracts the offset from a shared address.
const OFFSET: u64 = (1 << SHARED_BITS) - 1;

/// Copies registers that a later `fma` reads, and then executes the instruction.
#[inline(never)]
fn keep(regs: &mut Regs, kept: &Kept, m: u32, clock: u64) {
    for &(to, from) in &kept.copies {
        let values = regs.get(from);
        regs.put(to, m, &values);
    }
    execute_portably(regs, &kept.alu, m, clock);
}

/// Executes one instruction like [`execute`], on a host without fused multiply-add instructions. The function is not inlined, because it
/// takes as long to compile as a run loop.
#[inline(never)]
pub(crate) fn execute_portably(regs: &mut Regs, alu: &Alu, m: u32, clock: u64) {
    execute::<false>(regs, alu, m, clock);
}

/// Executes one instruction in the lanes of `m`; `clock` is the number of instructions that the block has executed. `FMA` specifies whether
/// the host has fused multiply-add instructions.
#[inline(always)]
pub(crate) fn execute<const FMA: bool>(regs: &mut Regs, alu: &Alu, m: u32, clock: u64) {
    match *alu {
        Alu::R1(f, d, a) => single::r1(regs, m, f, d, a),
        Alu::R2(f, d, a, b) => single::r2(regs, m, f, d, a, b),
        Alu::H2(f, d, a, b) => single::h2(regs, m, f, d, a, b),
        Alu::R3(f, d, a, b, c) => single::r3::<FMA>(regs, m, f, d, [a, b, c]),
        Alu::Lop3(d, a, b, c, lut) => regs.map_rrr(m, d, [a, b, c], |a, b, c| single::lop3(lut, a, b, c)),
        Alu::Lop3Pred { d, p, a, b, c, lut, or, q, negate } => {
            regs.map_rrr(m, d, [a, b, c], |a, b, c| single::lop3(lut, a, b, c));
            let result = *regs.r(d);
            let nonzero = mask_of(|lane| result[lane] != 0);
            let q = regs.predicate(q, negate);
            regs.put_p(p, m, if or { nonzero | q } else { nonzero & q });
        }
        Alu::Bfi(d, a, b, position, length) => {
            let (a, b, position, length) = (regs.r(a), regs.r(b), regs.r(position), regs.r(length));
            let out: Lanes32 = std::array::from_fn(|i| {
                bfi(Int::U32, a[i].into(), b[i].into(), position[i], length[i]) as u32
            });
            regs.put_r(d, m, &out);
        }
        Alu::D1(f, d, a) => double::d1(regs, m, f, d, a),
        Alu::D2(f, d, a, b) => double::d2(regs, m, f, d, a, b),
        Alu::D3(f, d, a, b, c) => double::d3(regs, m, f, d, [a, b, c]),
        Alu::DR(f, d, a, b) => double::shift(regs, m, f, d, a, b),
        Alu::BfeD { signed, d, a, position, length } => double::bfe(regs, m, signed, d, a, position, length),
        Alu::BfiD { d, a, b, position, length } => double::bfi(regs, m, d, [a, b], position, length),
        Alu::Widen(f, d, a) => double::widen(regs, m, f, d, a),
        Alu::Narrow(f, d, a) => double::narrow(regs, m, f, d, a),
        Alu::MulWide { signed, d, a, b } => double::mul_wide(regs, m, signed, d, a, b, None),
        Alu::MadWide { signed, d, a, b, c } => double::mul_wide(regs, m, signed, d, a, b, Some(c)),
        Alu::Carry(ref op) => carry::execute(regs, m, op),
        Alu::MovP { d, a, negate } => {
            let value = regs.predicate(a, negate);
            regs.put_p(d, m, value);
        }
        Alu::LogicP(logic, d, a, b) => {
            let value = combine(logic, regs.p(a), regs.p(b));
            regs.put_p(d, m, value);
        }
        Alu::MovQ { d, a } => {
            let (low, high) = (*regs.d(a), *regs.d(next(a)));
            regs.put_d(d, m, &low);
            regs.put_d(next(d), m, &high);
        }
        Alu::PackHalves(d, lo, hi) => regs.map_rr(m, d, lo, hi, |lo, hi| (lo & 0xffff) | hi << 16),
        Alu::SplitHalves(lo, hi, a) => {
            let a = *regs.r(a);
            regs.put_r(lo, m, &a.map(|a| a & 0xffff));
            regs.put_r(hi, m, &a.map(|a| a >> 16));
        }
        Alu::MovVector { d, a, half } => {
            let mask = if half { 0xffff } else { u32::MAX };
            for (d, a) in d.into_iter().zip(a) {
                let part = regs.r(a).map(|a| a & mask);
                regs.put_r(d, m, &part);
            }
        }
        Alu::PackWords(d, lo, hi) => {
            let (lo, hi) = (regs.r(lo), regs.r(hi));
            let out: Lanes64 = std::array::from_fn(|i| u64::from(lo[i]) | u64::from(hi[i]) << 32);
            regs.put_d(d, m, &out);
        }
        Alu::SplitWords(lo, hi, a) => {
            let a = *regs.d(a);
            regs.put_r(lo, m, &a.map(|a| a as u32));
            regs.put_r(hi, m, &a.map(|a| (a >> 32) as u32));
        }
        Alu::Pack { d, ref parts, bits } => pack(regs, m, d, parts, bits),
        Alu::Split { ref parts, a, bits } => split(regs, m, parts, a, bits),
        Alu::Clock(which, d) => regs.put(d, m, &[read_clock(which, clock); 32]),
        Alu::SelectR(d, a, b, p) => {
            let keep = crate::lanes::spread(regs.p(p));
            let (a, b) = (regs.r(a), regs.r(b));
            let out: Lanes32 = std::array::from_fn(|i| (a[i] & keep[i]) | (b[i] & !keep[i]));
            regs.put_r(d, m, &out);
        }
        Alu::SelectD(d, a, b, p) => {
            let (a, b, p) = (regs.d(a), regs.d(b), regs.p(p));
            let out: Lanes64 = std::array::from_fn(|i| if p >> i & 1 == 1 { a[i] } else { b[i] });
            regs.put_d(d, m, &out);
        }
        Alu::Slct { d, a, b, c, float, ftz } => {
            let (a, b, c) = (regs.get(a), regs.get(b), *regs.r(c));
            let ty = if float { Ty::Float(Float::F32) } else { Ty::Int(Int::S32) };
            let out = std::array::from_fn(|i| {
                if compare(ty, Compare::Ge, ftz, u64::from(c[i]), 0) { a[i] } else { b[i] }
            });
            regs.put(d, m, &out);
        }
        Alu::Setp(ref op) => setp(regs, m, op),
        Alu::Set(ref op) => set(regs, m, op),
        Alu::Float(ref op) => float::execute(regs, m, op),
        Alu::Kept(ref kept) => keep(regs, kept, m, clock),
        Alu::Testp { class, ty, d, a } => {
            let a = regs.get(a);
            let value = mask_of(|lane| testp(ty, class, a[lane]));
            regs.put_p(d, m, value);
        }
        Alu::Cvt(ref op) => convert::cvt(regs, m, op),
        Alu::CvtPack(ref op) => convert::pack(regs, m, op),
        Alu::CvtUnpack(ref op) => convert::unpack(regs, m, op),
        Alu::CvtStochastic(ref op) => convert::stochastic(regs, m, op),
        Alu::PackSat(ref op) => convert::pack_sat(regs, m, op),
        Alu::Dot(ref op) => single::dot(regs, m, op),
        Alu::Video(ref op) => video::video(regs, m, op),
        Alu::Mapa(ref op) => {
            let (a, rank) = (regs.get(op.a), regs.r(op.rank));
            let window = |a: u64| a & !u64::from(u32::MAX);
            // No cluster has a block with the last rank.
            let rank = |i: usize| u64::from(rank[i].min(u32::MAX >> SHARED_BITS));
            let out = std::array::from_fn(|i| window(a[i]) | a[i] & OFFSET | rank(i) << SHARED_BITS);
            regs.put(op.d, m, &out);
        }
        Alu::CtaRank { d, a } => {
            let a = regs.get(a);
            regs.put_r(d, m, &a.map(|a| a as u32 >> SHARED_BITS));
        }
    }
}

fn next(d: crate::program::code::D) -> crate::program::code::D {
    crate::program::code::D(d.0 + 1)
}

/// Returns the words of a register of up to 128 bits.
fn wide(regs: &Regs, reg: Reg, lane: usize) -> u128 {
    match reg {
        Reg::Q(d) => u128::from(regs.d(d)[lane]) | u128::from(regs.d(next(d))[lane]) << 64,
        other => u128::from(regs.lane(other, lane)),
    }
}

fn pack(regs: &mut Regs, m: u32, d: Reg, parts: &[Reg], bits: u32) {
    for lane in crate::lanes::lanes(m) {
        let value = parts.iter().enumerate().fold(0, |value, (i, &part)| {
            let mask = (1u128 << bits) - 1;
            value | (wide(regs, part, lane) & mask) << (bits * i as u32)
        });
        regs.set_lane(d, lane, value as u64);
        if let Reg::Q(d) = d {
            regs.set_lane(Reg::D(next(d)), lane, (value >> 64) as u64);
        }
    }
}

fn split(regs: &mut Regs, m: u32, parts: &[Reg], a: Reg, bits: u32) {
    for lane in crate::lanes::lanes(m) {
        let value = wide(regs, a, lane);
        for (i, &part) in parts.iter().enumerate() {
            let mask = (1u128 << bits) - 1;
            regs.set_lane(part, lane, ((value >> (bits * i as u32)) & mask) as u64);
        }
    }
}

/// Returns the value of a clock register. The clock advances with each executed instruction.
fn read_clock(which: Clock, clock: u64) -> u64 {
    match which {
        Clock::Low => clock & 0xffff_ffff,
        Clock::High => clock >> 32,
        Clock::Whole => clock,
    }
}

pub(crate) fn combine(logic: Logic, a: u32, b: u32) -> u32 {
    match logic {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
    }
}

/// Returns the lanes in which a comparison of 32-bit values holds.
#[inline(always)]
fn test32(a: &Lanes32, b: &Lanes32, f: impl Fn(u32, u32) -> bool) -> u32 {
    mask_of(|lane| f(a[lane], b[lane]))
}

#[inline(always)]
fn test64(a: &Lanes64, b: &Lanes64, f: impl Fn(u64, u64) -> bool) -> u32 {
    mask_of(|lane| f(a[lane], b[lane]))
}

/// Returns the lanes in which `a op b` holds.
fn compared(regs: &Regs, op: Compare, ty: Ty, ftz: bool, a: Reg, b: Reg) -> u32 {
    match (ty, a, b) {
        (Ty::Int(int), Reg::R(a), Reg::R(b)) if int.bits() == 32 => {
            let (a, b) = (regs.r(a), regs.r(b));
            match (op, int.signed()) {
                (Compare::Eq, _) => test32(a, b, |a, b| a == b),
                (Compare::Ne, _) => test32(a, b, |a, b| a != b),
                (Compare::Lt, true) => test32(a, b, |a, b| (a as i32) < b as i32),
                (Compare::Lt, false) => test32(a, b, |a, b| a < b),
                (Compare::Le, true) => test32(a, b, |a, b| a as i32 <= b as i32),
                (Compare::Le, false) => test32(a, b, |a, b| a <= b),
                (Compare::Gt, true) => test32(a, b, |a, b| a as i32 > b as i32),
                (Compare::Gt, false) => test32(a, b, |a, b| a > b),
                (_, true) => test32(a, b, |a, b| a as i32 >= b as i32),
                (_, false) => test32(a, b, |a, b| a >= b),
            }
        }
        (Ty::Int(int), Reg::D(a), Reg::D(b)) => {
            let (a, b) = (regs.d(a), regs.d(b));
            match (op, int.signed()) {
                (Compare::Eq, _) => test64(a, b, |a, b| a == b),
                (Compare::Ne, _) => test64(a, b, |a, b| a != b),
                (Compare::Lt, true) => test64(a, b, |a, b| (a as i64) < b as i64),
                (Compare::Lt, false) => test64(a, b, |a, b| a < b),
                (Compare::Le, true) => test64(a, b, |a, b| a as i64 <= b as i64),
                (Compare::Le, false) => test64(a, b, |a, b| a <= b),
                (Compare::Gt, true) => test64(a, b, |a, b| a as i64 > b as i64),
                (Compare::Gt, false) => test64(a, b, |a, b| a > b),
                (_, true) => test64(a, b, |a, b| a as i64 >= b as i64),
                (_, false) => test64(a, b, |a, b| a >= b),
            }
        }
        (Ty::Float(Float::F32), Reg::R(a), Reg::R(b)) if !ftz => {
            let (a, b) = (regs.r(a), regs.r(b));
            let f = |f: fn(f32, f32) -> bool| mask_of(|i| f(f32::from_bits(a[i]), f32::from_bits(b[i])));
            match op {
                Compare::Eq => f(|a, b| a == b),
                Compare::Lt => f(|a, b| a < b),
                Compare::Le => f(|a, b| a <= b),
                Compare::Gt => f(|a, b| a > b),
                Compare::Ge => f(|a, b| a >= b),
                _ => test32(a, b, |a, b| compare(ty, op, false, u64::from(a), u64::from(b))),
            }
        }
        _ => {
            let (a, b) = (regs.get(a), regs.get(b));
            test64(&a, &b, |a, b| compare(ty, op, ftz, a, b))
        }
    }
}

/// Returns the lanes in which `a op b` holds for the upper halves of pairs.
fn compared_upper(regs: &Regs, op: Compare, ty: Ty, ftz: bool, a: Reg, b: Reg) -> u32 {
    let (a, b) = (regs.get(a), regs.get(b));
    test64(&a, &b, |a, b| compare(ty, op, ftz, a >> 16 & 0xffff, b >> 16 & 0xffff))
}

fn compared_lower(regs: &Regs, op: Compare, ty: Ty, ftz: bool, a: Reg, b: Reg) -> u32 {
    let (a, b) = (regs.get(a), regs.get(b));
    test64(&a, &b, |a, b| compare(ty, op, ftz, a & 0xffff, b & 0xffff))
}

fn combined(regs: &Regs, value: u32, with: Option<(Logic, P, bool)>) -> u32 {
    match with {
        None => value,
        Some((logic, p, negated)) => combine(logic, value, regs.predicate(p, negated)),
    }
}

fn setp(regs: &mut Regs, m: u32, op: &Setp) {
    let (lower, upper) = if op.pair {
        (
            compared_lower(regs, op.compare, op.ty, op.ftz, op.a, op.b),
            compared_upper(regs, op.compare, op.ty, op.ftz, op.a, op.b),
        )
    } else {
        let value = compared(regs, op.compare, op.ty, op.ftz, op.a, op.b);
        (value, !value)
    };
    let (d, q) = (combined(regs, lower, op.combine), combined(regs, upper, op.combine));
    regs.put_p(op.d, m, d);
    regs.put_p(op.q, m, q);
}

fn set(regs: &mut Regs, m: u32, op: &Set) {
    let one = op.one;
    if !op.pair {
        let value = compared(regs, op.compare, op.ty, op.ftz, op.a, op.b);
        let value = combined(regs, value, op.combine);
        let out: Lanes32 = std::array::from_fn(|i| if value >> i & 1 == 1 { one } else { 0 });
        regs.put_r(op.d, m, &out);
        return;
    }
    let lower = compared_lower(regs, op.compare, op.ty, op.ftz, op.a, op.b);
    let upper = compared_upper(regs, op.compare, op.ty, op.ftz, op.a, op.b);
    let (lower, upper) = (combined(regs, lower, op.combine), combined(regs, upper, op.combine));
    let out: Lanes32 = std::array::from_fn(|i| {
        let half = |value: u32| if value >> i & 1 == 1 { one & 0xffff } else { 0 };
        half(lower) | half(upper) << 16
    });
    regs.put_r(op.d, m, &out);
}
