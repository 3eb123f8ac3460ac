//! `mma` on recorded fragments: the fragment maps of the PTX ISA, then the arithmetic per element.

use warpwright::sim::arith::{
    Float,
    mma::{Accumulator, TensorArch, dot},
};

use crate::{scalar::float_type, truth::Entry};

/// A dense `mma` with 16-bit operands.
pub(crate) struct Mma {
    m: usize,
    n: usize,
    k: usize,
    ty: (Float, Float),
    acc: Accumulator,
}

pub(crate) fn mma(entry: &Entry) -> Option<Mma> {
    let opcode: Vec<&str> = entry.ptx.split(' ').next()?.split('.').collect();
    let shape = opcode.iter().find(|o| o.starts_with('m') && o.ends_with(|c: char| c.is_ascii_digit()))?;
    let (m, rest) = shape[1..].split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let (m, n, k) = (m.parse().ok()?, n.parse().ok()?, k.parse().ok()?);
    let [.., d, a, b, _c] = opcode[..] else { return None };
    let acc = match d {
        "f32" => Accumulator::F32,
        "f16" => Accumulator::F16,
        _ => return None,
    };
    let ty = (float_type(a)?, float_type(b)?);
    if m != 16 || !matches!(ty.0, Float::F16 | Float::Bf16) {
        return None;
    }
    Some(Mma { m, n, k, ty, acc })
}

impl Mma {
    pub(crate) fn run(&self, words: &[u32]) -> Vec<u32> {
        let (a_regs, b_regs) = (self.k / 4, self.k / 8);
        let c_regs = if self.acc == Accumulator::F32 { 4 } else { 2 };
        let per_lane = a_regs + b_regs + c_regs;
        let half = |word: u32, i: usize| word >> (16 * i) & 0xffff;
        let mut a = vec![vec![0; self.k]; self.m];
        let mut b = vec![vec![0; self.k]; self.n];
        let mut c = vec![vec![0; self.n]; self.m];
        for lane in 0..32 {
            let regs = &words[lane * per_lane..][..per_lane];
            let (group, thread) = (lane / 4, lane % 4);
            for i in 0..2 * a_regs {
                let row = group + if i / 2 % 2 == 0 { 0 } else { 8 };
                let col = thread * 2 + i % 2 + if i >= 4 { 8 } else { 0 };
                a[row][col] = half(regs[i / 2], i % 2);
            }
            for i in 0..2 * b_regs {
                let row = thread * 2 + i % 2 + if i >= 2 { 8 } else { 0 };
                b[group][row] = half(regs[a_regs + i / 2], i % 2);
            }
            for i in 0..4 {
                let word = &regs[a_regs + b_regs..];
                let value = if c_regs == 4 { word[i] } else { half(word[i / 2], i % 2) };
                c[group + 8 * (i / 2)][thread * 2 + i % 2] = value;
            }
        }
        let mut out = Vec::new();
        for lane in 0..32 {
            let (group, thread) = (lane / 4, lane % 4);
            let d: Vec<u32> = (0..4)
                .map(|i| {
                    let (row, col) = (group + 8 * (i / 2), thread * 2 + i % 2);
                    dot(TensorArch::Sm90, self.ty, self.acc, &a[row], &b[col], c[row][col])
                })
                .collect();
            if c_regs == 4 {
                out.extend(d);
            } else {
                out.extend([d[0] | d[1] << 16, d[2] | d[3] << 16]);
            }
        }
        out
    }
}
