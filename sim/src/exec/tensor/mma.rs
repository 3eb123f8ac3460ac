//! `mma.sync` and `mma.sp`.

use crate::arith::mma::{Instruction, SmallOp, dot_f64};
use crate::exec::tensor::{fragment, product, small, sparse};
use crate::lanes::{FULL, Lanes64};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{Mma, Numbers, Reg};
use crate::report::fault::Outcome;

pub(super) fn execute(cluster: &mut Cluster<'_>, warp: &mut Warp, op: &Mma) -> Outcome<()> {
    if op.numbers == Numbers::F64 {
        double(warp, op);
        return Ok(());
    }
    let arch = cluster.machine.tensor;
    let scratch = &mut cluster.scratch;
    let regs = &warp.regs;
    let (m, n, k) = (op.extents.m, op.extents.n, op.extents.k);
    let stored_k = if op.sparse.is_some() { k / 2 } else { k };
    let (a_bits, b_bits) = op.numbers.bits();
    let (c_bits, _) = op.numbers.sum_bits();
    scratch.a.resize(m * stored_k, 0);
    scratch.b.resize(n * k, 0);
    scratch.c.resize(m * n, 0);
    for (i, &reg) in op.a.iter().enumerate() {
        fragment::put_a(regs.r(word(reg)), i, (m, stored_k), a_bits, &mut scratch.a);
    }
    for (i, &reg) in op.b.iter().enumerate() {
        fragment::put_b(regs.r(word(reg)), i, k, b_bits, &mut scratch.b);
    }
    for (i, &reg) in op.c.iter().enumerate() {
        fragment::put_c(regs.r(word(reg)), i, n, c_bits, &mut scratch.c);
    }
    if let Numbers::Small { ab, packed, acc } = op.numbers {
        small::multiply(scratch, regs, op, SmallOp { ty: ab, acc, grouped: packed, scale: None })?;
        write(warp, op, &cluster.scratch.c);
        return Ok(());
    }
    product::convert_c(&op.numbers, &mut scratch.c);
    let k_of = match &op.sparse {
        Some(sparse) => Some(sparse::k_of(regs, *sparse, op.extents, &op.numbers)?),
        None => None,
    };
    product::multiply(scratch, &op.numbers, op.extents, arch, Instruction::Mma, k_of.as_deref());
    write(warp, op, &cluster.scratch.c);
    Ok(())
}

/// Stores D in its registers.
fn write(warp: &mut Warp, op: &Mma, d: &[u32]) {
    let (_, bits) = op.numbers.sum_bits();
    for (i, &reg) in op.d.iter().enumerate() {
        let out = fragment::get_d(d, i, op.extents.n, bits);
        warp.regs.put_r(word(reg), FULL, &out);
    }
}

/// Returns the 32-bit slot of a fragment's register. Decoding has checked its class.
fn word(reg: Reg) -> crate::program::code::R {
    match reg {
        Reg::R(r) => r,
        other => unreachable!("a fragment in {other:?}"),
    }
}

/// Executes a product of f64 matrices. Their fragments have one element per register.
fn double(warp: &mut Warp, op: &Mma) {
    let (m, k) = (op.extents.m, op.extents.k);
    let groups = m / 8;
    let mut a = [[0u64; 16]; 16];
    let mut b = [[0u64; 16]; 8];
    for (i, &reg) in op.a.iter().enumerate() {
        let values = warp.regs.get(reg);
        for (lane, &value) in values.iter().enumerate() {
            a[lane / 4 + 8 * (i % groups)][lane % 4 + 4 * (i / groups)] = value;
        }
    }
    for (i, &reg) in op.b.iter().enumerate() {
        let values = warp.regs.get(reg);
        for (lane, &value) in values.iter().enumerate() {
            b[lane / 4][lane % 4 + 4 * i] = value;
        }
    }
    let results: Vec<Lanes64> = (0..op.d.len())
        .map(|i| {
            let c = warp.regs.get(op.c[i]);
            std::array::from_fn(|lane| {
                let place = fragment::place_c(lane, i, 8);
                dot_f64(op.round, &a[place / 8][..k], &b[place % 8][..k], c[lane])
            })
        })
        .collect();
    for (&reg, values) in op.d.iter().zip(&results) {
        warp.regs.put(reg, FULL, values);
    }
}
