//! Extended-precision integer arithmetic with the carry flag (PTX ISA, "Extended-Precision Integer Arithmetic").

use crate::arith::Int;
use crate::arith::int::{add_with_carry, mad_with_carry, sub_with_carry};
use crate::machine::registers::Regs;
use crate::program::code::{Carry, CarryKind};

/// Computes `madc.hi.sat.s32`.
fn mad_hi_saturated(a: u64, b: u64, c: u64, carry: bool) -> u64 {
    let value = |bits: u64| i64::from(bits as i32);
    let sum = ((value(a) * value(b)) >> 32) + value(c) + i64::from(carry);
    u64::from(sum.clamp(i32::MIN.into(), i32::MAX.into()) as i32 as u32)
}

pub(crate) fn execute(regs: &mut Regs, m: u32, op: &Carry) {
    let (a, b, c) = (regs.get(op.a), regs.get(op.b), regs.get(op.c));
    let (unsigned, signed) = match op.bits {
        16 => (Int::U16, Int::S16),
        32 => (Int::U32, Int::S32),
        _ => (Int::U64, Int::S64),
    };
    let flag = match (op.read, op.kind) {
        (true, _) => regs.p(op.flag),
        // In subtractions, the flag is set if there is no borrow.
        (false, CarryKind::Sub) => u32::MAX,
        (false, _) => 0,
    };
    let mut out = [0; 32];
    let mut carries = 0;
    for lane in 0..32 {
        let (a, b, c, carry) = (a[lane], b[lane], c[lane], flag >> lane & 1 == 1);
        let (value, carry) = match op.kind {
            CarryKind::Add => add_with_carry(unsigned, a, b, carry),
            CarryKind::Sub => sub_with_carry(unsigned, a, b, carry),
            CarryKind::MadLo => mad_with_carry(unsigned, false, a, b, c, carry),
            CarryKind::MadHiU => mad_with_carry(unsigned, true, a, b, c, carry),
            CarryKind::MadHiS if op.sat => (mad_hi_saturated(a, b, c, carry), false),
            CarryKind::MadHiS => mad_with_carry(signed, true, a, b, c, carry),
        };
        out[lane] = value;
        carries |= u32::from(carry) << lane;
    }
    regs.put(op.d, m, &out);
    if op.write {
        regs.put_p(op.flag, m, carries);
    }
}
