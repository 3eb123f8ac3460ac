//! `shfl`, `vote`, `match`, `redux`, `elect`, `activemask` and `movmatrix`.

use crate::alu::exchange::shuffled;
use crate::arith::Float;
use crate::arith::minmax::{MinMaxMode, minmax};
use crate::exec::matrix;
use crate::lanes::{Lanes32, Lanes64, lanes, mask_of};
use crate::machine::warp::Warp;
use crate::program::code::{R, Redux, Reg, Shfl, VoteKind, WarpOp};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// Returns the register that contains the mask of the lanes that must execute an instruction together, if the instruction has one.
pub(crate) fn member_mask(op: &WarpOp) -> Option<R> {
    match op {
        WarpOp::Shfl(shfl) => shfl.mask,
        WarpOp::Vote(.., mask) => *mask,
        WarpOp::Match { mask, .. } | WarpOp::Redux { mask, .. } | WarpOp::Elect(.., mask) => Some(*mask),
        WarpOp::ActiveMask(_) | WarpOp::MovMatrix(..) => None,
    }
}

/// Executes one instruction in the lanes of `m`, which are all live lanes of its mask.
///
/// `strict` rejects shuffles from lanes that do not participate.
pub(crate) fn execute(warp: &mut Warp, op: &WarpOp, m: u32, strict: bool) -> Outcome<()> {
    match op {
        WarpOp::Shfl(op) => return shfl(warp, op, m, strict),
        WarpOp::Vote(kind, d, a, negated, _) => vote(warp, *kind, *d, warp.regs.predicate(*a, *negated), m),
        WarpOp::Match { all, d, p, a, .. } => {
            let values = warp.regs.get(*a);
            if *all {
                let first = values[m.trailing_zeros() as usize & 31];
                let same = lanes(m).all(|lane| values[lane] == first);
                warp.regs.put_r(*d, m, &[if same { m } else { 0 }; 32]);
                if let Some(p) = p {
                    warp.regs.put_p(*p, m, if same { u32::MAX } else { 0 });
                }
            } else {
                let out: Lanes32 =
                    std::array::from_fn(|lane| mask_of(|other| values[other] == values[lane]) & m);
                warp.regs.put_r(*d, m, &out);
            }
        }
        WarpOp::Redux { f, d, a, .. } => {
            let values = *warp.regs.r(*a);
            let values = lanes(m).map(|lane| prepared(*f, values[lane]));
            let result = values.reduce(|x, y| reduce(*f, x, y)).unwrap_or(0);
            warp.regs.put_r(*d, m, &[result; 32]);
        }
        WarpOp::ActiveMask(d) => warp.regs.put_r(*d, m, &[m; 32]),
        WarpOp::Elect(d, p, _) => {
            let leader = m.trailing_zeros();
            warp.regs.put_r(*d, m, &[leader; 32]);
            warp.regs.put_p(*p, m, 1 << (leader & 31));
        }
        WarpOp::MovMatrix(d, a) => matrix::movmatrix(warp, *d, *a),
    }
    Ok(())
}

/// Returns whether two instructions have the same operation and qualifiers, regardless of their registers.
pub(crate) fn same(a: &WarpOp, b: &WarpOp) -> bool {
    use std::mem::discriminant;
    match a {
        WarpOp::Shfl(a) => matches!(b, WarpOp::Shfl(b) if a.mode == b.mode),
        WarpOp::Vote(a, ..) => matches!(b, WarpOp::Vote(b, ..) if a == b),
        WarpOp::Match { all: a, a: x, .. } => {
            matches!(b, WarpOp::Match { all: b, a: y, .. } if a == b && discriminant(x) == discriminant(y))
        }
        WarpOp::Redux { f: a, .. } => matches!(b, WarpOp::Redux { f: b, .. } if a == b),
        WarpOp::Elect(..) => matches!(b, WarpOp::Elect(..)),
        // Lanes do not wait for each other at these instructions.
        WarpOp::ActiveMask(_) | WarpOp::MovMatrix(..) => false,
    }
}

/// Returns the registers that an instruction reads, with a flag for negation, and the registers that it writes.
fn operands(op: &WarpOp) -> (Vec<(Reg, bool)>, Vec<Reg>) {
    let plain = |reg| (reg, false);
    match op {
        WarpOp::Shfl(s) => {
            let written = std::iter::once(Reg::R(s.d)).chain(s.p.map(Reg::P));
            ([s.a, s.b, s.c].into_iter().chain(s.mask).map(|r| plain(Reg::R(r))).collect(), written.collect())
        }
        WarpOp::Vote(_, d, a, negated, _) => (vec![(Reg::P(*a), *negated)], vec![*d]),
        WarpOp::Match { d, p, a, .. } => {
            (vec![plain(*a)], std::iter::once(Reg::R(*d)).chain(p.map(Reg::P)).collect())
        }
        WarpOp::Redux { d, a, .. } => (vec![plain(Reg::R(*a))], vec![Reg::R(*d)]),
        WarpOp::ActiveMask(d) => (vec![], vec![Reg::R(*d)]),
        WarpOp::Elect(d, p, _) => (vec![], vec![Reg::R(*d), Reg::P(*p)]),
        WarpOp::MovMatrix(d, a) => (vec![plain(Reg::R(*a))], vec![Reg::R(*d)]),
    }
}

/// Executes one instruction that lanes have reached at several positions in the PTX text. The registers of the instruction at each position
/// are temporarily mapped to those of the first.
pub(crate) fn execute_parts(warp: &mut Warp, parts: &[(&WarpOp, u32)], strict: bool) -> Outcome<()> {
    // The destination predicate of a shuffle is optional.
    let Some(&(first, _)) = parts.iter().max_by_key(|(op, _)| operands(op).1.len()) else { return Ok(()) };
    let all = parts.iter().fold(0, |all, (_, m)| all | m);
    let (read, written) = operands(first);
    let lent = read.iter().map(|(reg, _)| *reg).chain(written.iter().copied());
    let kept: Vec<(Reg, Lanes64)> = lent.map(|reg| (reg, warp.regs.get(reg))).collect();
    for &(op, m) in parts {
        let own = operands(op).0.into_iter().map(|(reg, negated)| (warp.regs.get(reg), negated));
        let own: Vec<(Lanes64, bool)> = own.collect();
        for ((reg, negated), (values, other)) in read.iter().zip(own) {
            warp.regs.put(*reg, m, &values.map(|value| value ^ u64::from(*negated != other)));
        }
    }
    execute(warp, first, all, strict)?;
    let results: Vec<Lanes64> = written.iter().map(|reg| warp.regs.get(*reg)).collect();
    for (reg, values) in kept {
        warp.regs.put(reg, all, &values);
    }
    for &(op, m) in parts {
        for (reg, values) in operands(op).1.into_iter().zip(&results) {
            warp.regs.put(reg, m, values);
        }
    }
    Ok(())
}

/// Returns the contribution of a lane to a reduction.
fn prepared(f: Redux, x: u32) -> u32 {
    match f {
        Redux::Float { .. } if Float::F32.is_nan(x.into()) => Float::F32.canonical_nan() as u32,
        Redux::Float { abs: true, .. } => x & !(1 << 31),
        _ => x,
    }
}

fn reduce(f: Redux, x: u32, y: u32) -> u32 {
    match f {
        Redux::Float { which, nan, .. } => {
            minmax(Float::F32, which, MinMaxMode { nan, ..MinMaxMode::default() }, x.into(), y.into()) as u32
        }
        Redux::Add => x.wrapping_add(y),
        Redux::MinU => x.min(y),
        Redux::MinS => (x as i32).min(y as i32) as u32,
        Redux::MaxU => x.max(y),
        Redux::MaxS => (x as i32).max(y as i32) as u32,
        Redux::And => x & y,
        Redux::Or => x | y,
        Redux::Xor => x ^ y,
    }
}

fn vote(warp: &mut Warp, kind: VoteKind, d: Reg, a: u32, m: u32) {
    let yes = a & m;
    let holds = match kind {
        VoteKind::Ballot => {
            warp.regs.put(d, m, &[u64::from(yes); 32]);
            return;
        }
        VoteKind::All => yes == m,
        VoteKind::Any => yes != 0,
        VoteKind::Uni => yes == m || yes == 0,
    };
    warp.regs.put(d, m, &[u64::from(holds); 32]);
}

fn shfl(warp: &mut Warp, op: &Shfl, m: u32, strict: bool) -> Outcome<()> {
    let a = *warp.regs.r(op.a);
    let (from, inside) = shuffled(&warp.regs, op);
    let mut out = [0; 32];
    for (lane, from) in from.into_iter().enumerate() {
        if strict && m >> lane & 1 == 1 && m >> from & 1 == 0 {
            let why = match op.mask.map(|mask| warp.regs.r(mask)[lane]) {
                Some(mask) if mask >> from & 1 == 0 => format!("is not in the mask {mask:#010x}"),
                Some(_) => "has ended".to_string(),
                None => "is inactive".to_string(),
            };
            let message = format!("shfl reads lane {from}, which {why}");
            return Err(Fault::at(FindingKind::ShflInactiveLane, lane, message));
        }
        // A source lane that does not participate provides 0, as on an H200.
        out[lane] = if m >> from & 1 == 1 { a[from] } else { 0 };
    }
    warp.regs.put_r(op.d, m, &out);
    if let Some(p) = op.p {
        warp.regs.put_p(p, m, inside);
    }
    Ok(())
}
