//! Extended-precision integer arithmetic with the carry flag (PTX ISA, "Extended-Precision Integer Arithmetic").

use super::lanes::Regs;
use crate::sim::code::{Carry, CarryKind};

/// The result and the carry (for subtraction, the borrow) of one lane, `bits` wide.
fn one(kind: CarryKind, bits: u32, a: u64, b: u64, c: u64, carry: bool) -> (u64, bool) {
    let mask = u64::MAX >> (64 - bits);
    let (a, b, c) = (a & mask, b & mask, c & mask);
    let extra = u128::from(carry);
    let add = |x: u64, y: u64| {
        let sum = u128::from(x) + u128::from(y) + extra;
        (sum as u64 & mask, sum >> bits != 0)
    };
    let signed = |x: u64| i128::from(((x << (64 - bits)) as i64) >> (64 - bits));
    match kind {
        CarryKind::Add => add(a, b),
        CarryKind::Sub => {
            let difference = i128::from(a) - i128::from(b) - extra as i128;
            (difference as u64 & mask, difference < 0)
        }
        CarryKind::MadLo => add(a.wrapping_mul(b) & mask, c),
        CarryKind::MadHiU => add(((u128::from(a) * u128::from(b)) >> bits) as u64 & mask, c),
        CarryKind::MadHiS => add(((signed(a) * signed(b)) >> bits) as u64 & mask, c),
    }
}

pub(super) fn execute(regs: &mut Regs, m: u32, op: &Carry) {
    let (a, b, c) = (regs.get(op.a), regs.get(op.b), regs.get(op.c));
    let flag = if op.read { regs.p(op.flag) } else { 0 };
    let bits = if op.wide { 64 } else { 32 };
    let mut out = [0; 32];
    let mut carries = 0;
    for lane in 0..32 {
        let (value, carry) = one(op.kind, bits, a[lane], b[lane], c[lane], flag >> lane & 1 == 1);
        out[lane] = value;
        carries |= u32::from(carry) << lane;
    }
    regs.put(op.d, m, &out);
    if op.write {
        regs.put_p(op.flag, m, carries);
    }
}
