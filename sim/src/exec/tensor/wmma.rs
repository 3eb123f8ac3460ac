//! `wmma`, whose fragments are opaque (PTX ISA, "wmma.load": "the distribution … is unspecified").
//!
//! In the simulator, a lane owns consecutive elements of the row-major matrix. If the registers have space for several copies of the
//! matrix, they contain several copies.

use crate::arith::mma::{Instruction, dot_f64};
use crate::exec::memory::{addresses, load_elements, store_elements};
use crate::exec::tensor::product;
use crate::lanes::{FULL, Lanes64};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{Numbers, Reg, Wmma, WmmaAccess};
use crate::report::fault::Outcome;

/// Returns the number of elements of `bits` bits per register.
fn per_register(bits: u32, reg: Reg) -> usize {
    match reg {
        Reg::D(_) => (64 / bits) as usize,
        _ => (32 / bits).max(1) as usize,
    }
}

/// Returns the byte offset, and the bit in that byte, of each lane's `i`-th element.
fn place(op: &WmmaAccess, lane: usize, i: usize, per_lane: usize, stride: u64) -> (u64, u32) {
    let index = (lane * per_lane + i) % (op.rows * op.columns);
    let (row, column) = (index / op.columns, index % op.columns);
    let (major, minor) = if op.row_major { (row, column) } else { (column, row) };
    let bit = (major as u64 * stride + minor as u64) * u64::from(op.bits);
    (bit / 8, (bit % 8) as u32)
}

/// Returns the stride in elements between rows (columns) in memory.
fn stride(warp: &Warp, op: &WmmaAccess) -> u64 {
    match op.stride {
        Some(reg) => u64::from(warp.regs.r(reg)[0] / op.stride_unit),
        None => (if op.row_major { op.columns } else { op.rows }) as u64,
    }
}

pub(super) fn load<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &WmmaAccess,
) -> Outcome<()> {
    let start = addresses(warp, op.addr)[0];
    let stride = stride(warp, op);
    let per_lane: usize = op.regs.iter().map(|&reg| per_register(op.bits, reg)).sum();
    let bytes = op.bits.div_ceil(8) as u8;
    let mut i = 0;
    for &reg in &op.regs {
        let mut value: Lanes64 = [0; 32];
        for part in 0..per_register(op.bits, reg) {
            let all: Lanes64 =
                std::array::from_fn(|lane| start.wrapping_add(place(op, lane, i, per_lane, stride).0));
            load_elements::<CHECKED>(cluster, warp, op.space, bytes, &all, op.temporary, FULL)?;
            let elements = warp.regs.d(op.temporary);
            for (lane, value) in value.iter_mut().enumerate() {
                let (_, bit) = place(op, lane, i, per_lane, stride);
                let mask = u64::MAX >> (64 - op.bits);
                *value |= (elements[lane] >> bit & mask) << (op.bits as usize * part);
            }
            i += 1;
        }
        warp.regs.put(reg, FULL, &value);
    }
    Ok(())
}

pub(super) fn store<const CHECKED: bool>(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &WmmaAccess,
) -> Outcome<()> {
    let start = addresses(warp, op.addr)[0];
    let stride = stride(warp, op);
    let per_lane: usize = op.regs.iter().map(|&reg| per_register(op.bits, reg)).sum();
    let bytes = op.bits.div_ceil(8) as u8;
    let mut i = 0;
    for &reg in &op.regs {
        let values = warp.regs.get(reg);
        for part in 0..per_register(op.bits, reg) {
            let all: Lanes64 =
                std::array::from_fn(|lane| start.wrapping_add(place(op, lane, i, per_lane, stride).0));
            let elements = values.map(|value| value >> (op.bits as usize * part));
            warp.regs.put_d(op.temporary, FULL, &elements);
            store_elements::<CHECKED>(cluster, warp, op.space, bytes, &all, op.temporary, FULL)?;
            i += 1;
        }
    }
    Ok(())
}

/// Returns the elements of a fragment row by row.
fn gather(warp: &Warp, regs: &[Reg], bits: u32, total: usize) -> Vec<u64> {
    let per_lane: usize = regs.iter().map(|&reg| per_register(bits, reg)).sum();
    let values: Vec<Lanes64> = regs.iter().map(|&reg| warp.regs.get(reg)).collect();
    let per = per_register(bits, regs[0]);
    let mask = u64::MAX >> (64 - bits);
    (0..total)
        .map(|index| {
            let (lane, i) = (index / per_lane, index % per_lane);
            values[i / per][lane] >> (bits as usize * (i % per)) & mask
        })
        .collect()
}

pub(super) fn execute(cluster: &mut Cluster<'_>, warp: &mut Warp, op: &Wmma) -> Outcome<()> {
    let (m, n, k) = (op.extents.m, op.extents.n, op.extents.k);
    let (a_bits, b_bits) = op.numbers.bits();
    let (c_bits, d_bits) = op.numbers.sum_bits();
    let a = gather(warp, &op.a, a_bits, m * k);
    let b_rows = gather(warp, &op.b, b_bits, k * n);
    let c = gather(warp, &op.c, c_bits, m * n);
    let d: Vec<u64> = if op.numbers == Numbers::F64 {
        let element = |at: usize| {
            let (row, column) = (at / n, at % n);
            let b: Vec<u64> = (0..k).map(|i| b_rows[i * n + column]).collect();
            dot_f64(op.round, &a[row * k..][..k], &b, c[at])
        };
        (0..m * n).map(element).collect()
    } else {
        let scratch = &mut cluster.scratch;
        scratch.a.clear();
        scratch.a.extend(a.iter().map(|&x| x as u32));
        scratch.b.clear();
        scratch.b.extend((0..n * k).map(|i| b_rows[i % k * n + i / k] as u32));
        scratch.c.clear();
        scratch.c.extend(c.iter().map(|&x| x as u32));
        product::convert_c(&op.numbers, &mut scratch.c);
        product::multiply(scratch, &op.numbers, op.extents, cluster.machine.tensor, Instruction::Mma, None);
        scratch.c.iter().map(|&x| u64::from(x)).collect()
    };
    let per = per_register(d_bits, op.d[0]);
    let per_lane = per * op.d.len();
    let mask = u64::MAX >> (64 - d_bits);
    for (r, &reg) in op.d.iter().enumerate() {
        let out: Lanes64 = std::array::from_fn(|lane| {
            (0..per).fold(0, |out, part| {
                let element = d[lane * per_lane + r * per + part] & mask;
                out | element << (d_bits as usize * part)
            })
        });
        warp.regs.put(reg, FULL, &out);
    }
    Ok(())
}
