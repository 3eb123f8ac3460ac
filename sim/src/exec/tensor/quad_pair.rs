//! The f16 `mma.m8n8k4`. Lanes 4i … 4i+3 and 16+4i … 16+4i+3 compute the i-th of four products (PTX ISA, "Matrix Fragments for mma.m8n8k4
//! with .f16 floating point type").

use crate::arith::mma::{Accumulator, dot_quad_pair};
use crate::lanes::{FULL, Lanes32, lanes};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::QuadPair;
use crate::report::fault::Outcome;

/// Returns 4 in the upper half of the warp, and 0 in the lower half.
fn upper(lane: usize) -> usize {
    lane / 16 * 4
}

/// Returns the row and column of element `i` of C or D.
fn place(accumulator: Accumulator, lane: usize, i: usize) -> (usize, usize) {
    match accumulator {
        Accumulator::F32 => (upper(lane) + (lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1)),
        Accumulator::F16 => (upper(lane) + lane % 4, i),
    }
}

/// Returns element `i` of a lane's registers.
fn element(regs: &[Lanes32], bits: u32, lane: usize, i: usize) -> u32 {
    match bits {
        32 => regs[i][lane],
        _ => regs[i / 2][lane] >> (16 * (i % 2)) & 0xffff,
    }
}

pub(super) fn execute(cluster: &mut Cluster<'_>, warp: &mut Warp, op: &QuadPair) -> Outcome<()> {
    let arch = cluster.machine.tensor;
    let read = |regs: &[crate::program::code::R]| -> Vec<Lanes32> {
        regs.iter().map(|&r| *warp.regs.r(r)).collect()
    };
    let (a_regs, b_regs, c_regs) = (read(&op.regs_a), read(&op.regs_b), read(&op.regs_c));
    let c_bits = op.c.float().bits();
    let mut results = [[[0; 8]; 8]; 4];
    for (pair, results) in results.iter_mut().enumerate() {
        let (mut a, mut b, mut c) = ([[0; 4]; 8], [[0; 4]; 8], [[0; 8]; 8]);
        for lane in (0..32).filter(|lane| lane % 16 / 4 == pair) {
            for i in 0..4 {
                let along = (upper(lane) + lane % 4, i);
                let across = (upper(lane) + i, lane % 4);
                let (row, column) = if op.a_row_major { along } else { across };
                a[row][column] = element(&a_regs, 16, lane, i);
                let (column, row) = if op.b_column_major { along } else { across };
                b[column][row] = element(&b_regs, 16, lane, i);
            }
            for i in 0..8 {
                let (row, column) = place(op.c, lane, i);
                c[row][column] = element(&c_regs, c_bits, lane, i);
            }
        }
        for (row, results) in results.iter_mut().enumerate() {
            for (column, result) in results.iter_mut().enumerate() {
                *result = dot_quad_pair(arch, (op.c, op.d), &a[row], &b[column], c[row][column]);
            }
        }
    }
    for (i, &reg) in op.regs_d.iter().enumerate() {
        let mut out = [0; 32];
        for lane in lanes(FULL) {
            let value = |i: usize| {
                let (row, column) = place(op.d, lane, i);
                results[lane % 16 / 4][row][column]
            };
            out[lane] = match op.d {
                Accumulator::F32 => value(i),
                Accumulator::F16 => (value(2 * i) & 0xffff) | value(2 * i + 1) << 16,
            };
        }
        warp.regs.put_r(reg, FULL, &out);
    }
    Ok(())
}
