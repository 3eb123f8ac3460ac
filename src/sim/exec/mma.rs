//! mma.sync on 16-bit floats: where each lane's registers lie in the matrices (PTX ISA, "Matrix Fragments for
//! mma.m16n8k8" and "… for mma.m16n8k16").
//!
//! With g = lane / 4 and t = lane mod 4: A's registers hold rows g, g+8 and columns 2t, 2t+1 (then 8 further right),
//! B's rows 2t, 2t+1 (then 8 further down) of column g, C's and D's rows g, g+8 and columns 2t, 2t+1.

use super::lanes::Regs;
use crate::sim::arith::mma::{Accumulator, Shape, TensorArch, mma_rows};
use crate::sim::code::{Mma, Tensor};
use crate::sim::fault::{Fault, Outcome};
use crate::sim::report::Kind;

const M: usize = 16;
const N: usize = 8;

pub(in crate::sim) fn execute(regs: &mut Regs, tensor: &Tensor, arch: TensorArch, m: u32) -> Outcome<()> {
    if m != u32::MAX {
        return Err(Fault::new(
            Kind::AlignedDivergence,
            format!("mma runs in lanes {m:#010x} only; all 32 lanes of a warp must run it together"),
        ));
    }
    match tensor {
        Tensor::Mma(op) => mma(regs, op, arch),
    }
    Ok(())
}

fn mma(regs: &mut Regs, op: &Mma, arch: TensorArch) {
    let k = usize::from(op.k);
    let mut a = [0u16; M * 16];
    let mut b = [0u16; N * 16];
    for i in 0..k / 4 {
        let words = regs.r(op.a[i]);
        // Registers alternate between the upper and the lower rows, then move right.
        for (lane, word) in words.iter().enumerate() {
            let (row, column) = (lane / 4 + 8 * (i % 2), 2 * (lane % 4) + 8 * (i / 2));
            a[row * k + column] = *word as u16;
            a[row * k + column + 1] = (word >> 16) as u16;
        }
    }
    for i in 0..k / 8 {
        for (lane, word) in regs.r(op.b[i]).iter().enumerate() {
            let (column, row) = (lane / 4, 2 * (lane % 4) + 8 * i);
            b[column * k + row] = *word as u16;
            b[column * k + row + 1] = (word >> 16) as u16;
        }
    }
    let mut c = [0u32; M * N];
    if op.c_f16 {
        for i in 0..2 {
            for (lane, word) in regs.r(op.c[i]).iter().enumerate() {
                let at = (lane / 4 + 8 * i) * N + 2 * (lane % 4);
                c[at] = convert_c(word & 0xffff, op);
                c[at + 1] = convert_c(word >> 16, op);
            }
        }
    } else {
        for i in 0..4 {
            for (lane, word) in regs.r(op.c[i]).iter().enumerate() {
                c[(lane / 4 + 8 * (i / 2)) * N + 2 * (lane % 4) + i % 2] = *word;
            }
        }
    }
    let acc = if op.d_f16 { Accumulator::F16 } else { Accumulator::F32 };
    mma_rows(arch, op.ty, acc, Shape { n: N, k }, &a[..M * k], &b[..N * k], &mut c);
    if op.d_f16 {
        for i in 0..2 {
            let out = std::array::from_fn(|lane| {
                let at = (lane / 4 + 8 * i) * N + 2 * (lane % 4);
                (c[at] & 0xffff) | c[at + 1] << 16
            });
            regs.put_r(op.d[i], u32::MAX, &out);
        }
    } else {
        for i in 0..4 {
            let out = std::array::from_fn(|lane| c[(lane / 4 + 8 * (i / 2)) * N + 2 * (lane % 4) + i % 2]);
            regs.put_r(op.d[i], u32::MAX, &out);
        }
    }
}

/// An f16 accumulator as the arithmetic takes it: as it is for f16 results, else exactly widened to f32.
fn convert_c(half: u32, op: &Mma) -> u32 {
    if op.d_f16 { half } else { f32::from(half::f16::from_bits(half as u16)).to_bits() }
}
