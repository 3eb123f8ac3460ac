//! The variants of `cvt`.

use crate::arith::cvt::{cvt as convert, cvt_stochastic, extend, packed_bits};
use crate::arith::{Float, Int, Round, Ty};
use crate::lanes::{Lanes32, Lanes64, lanes};
use crate::machine::registers::Regs;
use crate::program::code::{Cvt, CvtPack, CvtStochastic, CvtUnpack, PackSat, Reg};

pub(crate) fn cvt(regs: &mut Regs, m: u32, op: &Cvt) {
    if fast(regs, m, op) {
        return;
    }
    let a = regs.get(op.a);
    let mut out: Lanes64 = [0; 32];
    for lane in lanes(m) {
        let bits = convert(op.to, op.from, op.mode, a[lane]);
        let bits = match op.to {
            Ty::Int(int) => extend(int, bits),
            Ty::Float(_) => bits,
        };
        out[lane] = bits & op.mask;
    }
    regs.put(op.d, m, &out);
}

/// Executes the most common conversions with host instructions. Returns `false` for all other conversions.
fn fast(regs: &mut Regs, m: u32, op: &Cvt) -> bool {
    let plain =
        op.mode.round == Round::Rn && !op.mode.ftz && !op.mode.sat && !op.mode.satfinite && !op.mode.relu;
    if !plain || op.mode.integer {
        return false;
    }
    let (Reg::R(d), Reg::R(a)) = (op.d, op.a) else { return false };
    match (op.to, op.from) {
        (Ty::Float(Float::F32), Ty::Int(Int::S32)) => regs.map_r(m, d, a, |a| (a as i32 as f32).to_bits()),
        (Ty::Float(Float::F32), Ty::Int(Int::U32)) => regs.map_r(m, d, a, |a| (a as f32).to_bits()),
        (Ty::Float(Float::F32), Ty::Float(Float::Bf16)) => {
            regs.map_r(m, d, a, |a| a << 16);
        }
        _ => return false,
    }
    true
}

pub(crate) fn pack(regs: &mut Regs, m: u32, op: &CvtPack) {
    let a = *regs.r(op.a);
    let b = op.b.map(|b| *regs.r(b));
    let width = packed_bits(op.to);
    let mut out: Lanes32 = [0; 32];
    for lane in lanes(m) {
        let (high, low) = match b {
            Some(b) => (a[lane], b[lane]),
            None => (a[lane] >> 16, a[lane] & 0xffff),
        };
        let one = |x: u32| convert(Ty::Float(op.to), Ty::Float(op.from), op.mode, u64::from(x)) as u32;
        out[lane] = one(high) << width | one(low);
    }
    regs.put_r(op.d, m, &out);
}

pub(crate) fn unpack(regs: &mut Regs, m: u32, op: &CvtUnpack) {
    let a = *regs.r(op.a);
    let (width, mask) = (packed_bits(op.from), op.from.mask() as u32);
    let mut out: Lanes32 = [0; 32];
    for lane in lanes(m) {
        let one = |x: u32| convert(Ty::Float(op.to), Ty::Float(op.from), op.mode, u64::from(x & mask)) as u32;
        out[lane] = one(a[lane] >> width) << 16 | one(a[lane]);
    }
    regs.put_r(op.d, m, &out);
}

/// Executes `cvt.rs`. The upper half of the random bits is used to round the first half of the numbers, and the lower half to round the
/// others. If two numbers share 16 bits, the first uses them in reverse order. The PTX ISA specifies the behavior for two numbers; the
/// behavior for four was measured on a B200 with e4m3.
pub(crate) fn stochastic(regs: &mut Regs, m: u32, op: &CvtStochastic) {
    let random = *regs.r(op.random);
    let (width, each) = (packed_bits(op.to), op.numbers.len() / 2);
    let mut out: Lanes32 = [0; 32];
    for (i, &number) in op.numbers.iter().enumerate() {
        let number = *regs.r(number);
        for lane in lanes(m) {
            let half = if i < each { random[lane] >> 16 } else { random[lane] & 0xffff };
            let bits = if i % each + 1 < each { half.reverse_bits() >> 16 } else { half };
            out[lane] = out[lane] << width | cvt_stochastic(op.to, op.relu, number[lane], bits) as u32;
        }
    }
    regs.put_r(op.d, m, &out);
}

/// Executes `cvt.pack.sat`: a is packed into the upper position, b into the lower position, and c is shifted up.
pub(crate) fn pack_sat(regs: &mut Regs, m: u32, op: &PackSat) {
    let (a, b) = (*regs.r(op.a), *regs.r(op.b));
    let c = op.c.map(|c| *regs.r(c));
    let width = op.bits;
    let (least, most) =
        if op.signed { (-(1 << (width - 1)), (1 << (width - 1)) - 1) } else { (0, (1 << width) - 1) };
    let clamp = |x: u32| (x as i32).clamp(least, most) as u32 & ((1 << width) - 1);
    let out: Lanes32 = std::array::from_fn(|lane| {
        let pair = clamp(a[lane]) << width | clamp(b[lane]);
        match c {
            Some(c) => c[lane] << (2 * width) | pair,
            None => pair,
        }
    });
    regs.put_r(op.d, m, &out);
}
