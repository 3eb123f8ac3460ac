//! `mma` on recorded fragments: the fragment maps of the PTX ISA, and the arithmetic of each element.

use warpwright_sim::arith::{
    Float, Round,
    mma::{
        Accumulator, Instruction, Shape, TensorArch, TensorOp, dot_f64, dot_quad_pair,
        integer::{self, BitOp},
    },
};

use crate::{
    fragments::{self, Fragment, Matrix},
    scalar::float_type,
    truth::Entry,
};

/// The parts of an `mma`, `mma.sp` or `wgmma` opcode.
#[derive(Clone, Debug)]
pub(crate) struct Opcode {
    pub(crate) parts: Vec<String>,
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
    /// The types of D, A, B.
    pub(crate) types: [String; 3],
}

impl Opcode {
    pub(crate) fn parse(entry: &Entry) -> Option<Self> {
        let parts: Vec<String> = entry.ptx.split(' ').next()?.split('.').map(str::to_owned).collect();
        let is_shape = |p: &&String| p.starts_with('m') && p.ends_with(|c: char| c.is_ascii_digit());
        let (m, rest) = parts.iter().find(is_shape)?[1..].split_once('n')?;
        let (n, k) = rest.split_once('k')?;
        let (m, n, k) = (m.parse().ok()?, n.parse().ok()?, k.parse().ok()?);
        let is_type = |p: &&String| element_bits(p).is_some();
        let mut types = parts.iter().filter(is_type).cloned();
        let types = [types.next()?, types.next()?, types.next()?];
        Some(Self { m, n, k, types, parts })
    }

    pub(crate) fn has(&self, part: &str) -> bool {
        self.parts.iter().any(|p| p == part)
    }

    pub(crate) fn bits_of(&self, operand: usize) -> usize {
        element_bits(&self.types[operand]).expect("a known type")
    }
}

pub(crate) fn element_bits(ty: &str) -> Option<usize> {
    Some(match ty {
        "b1" => 1,
        "s4" | "u4" => 4,
        "s8" | "u8" | "e4m3" | "e5m2" => 8,
        "f16" | "bf16" => 16,
        "tf32" | "f32" | "s32" => 32,
        "f64" => 64,
        _ => return None,
    })
}

/// Returns D for given A (rows), B (columns) and C, with the element types of an opcode.
pub(crate) fn multiply(
    opcode: &Opcode,
    instruction: Instruction,
    a: &Matrix,
    k_of: Option<&[u16]>,
    b: &Matrix,
    c: &Matrix,
) -> Option<Matrix> {
    let shape = Shape { n: opcode.n, k: opcode.k };
    let [d_ty, a_ty, b_ty] = opcode.types.each_ref().map(String::as_str);
    let satfinite = opcode.has("satfinite");
    let mut out = c.clone();
    match (d_ty, a_ty) {
        ("f64", _) => {
            for (i, out) in out.bits.iter_mut().enumerate() {
                let (row, column) = (i / shape.n, i % shape.n);
                let line = |m: &Matrix, i: usize| m.bits[i * shape.k..][..shape.k].to_vec();
                *out = dot_f64(Round::Rn, &line(a, row), &line(b, column), *out);
            }
        }
        ("s32", "b1") => {
            let pack = |m: &Matrix| -> Vec<u32> {
                let word = |bits: &[u64]| bits.iter().rev().fold(0, |word, bit| word << 1 | *bit as u32);
                m.bits.chunks(32).map(word).collect()
            };
            let op = if opcode.has("xor") { BitOp::Xor } else { BitOp::And };
            let mut sums = c.signed();
            integer::bit_rows(op, Shape { n: shape.n, k: shape.k / 32 }, &pack(a), &pack(b), &mut sums);
            out.bits = sums.iter().map(|&s| s as u32 as u64).collect();
        }
        ("s32", _) => {
            let numbers = |m: &Matrix, ty: &str, bits| m.small(bits as u32, ty.starts_with('s'));
            let a = numbers(a, a_ty, opcode.bits_of(1));
            let b = numbers(b, b_ty, opcode.bits_of(2));
            let mut sums = c.signed();
            match k_of {
                None => integer::rows(satfinite, shape, &a, &b, &mut sums),
                Some(k_of) => integer::sparse_rows(satfinite, shape, &a, k_of, &b, &mut sums),
            }
            out.bits = sums.iter().map(|&s| s as u32 as u64).collect();
        }
        _ => {
            let acc = accumulator(d_ty)?;
            let ty = (float_type(a_ty)?, float_type(b_ty)?);
            let op = TensorOp { arch: TensorArch::Sm90, instruction, ty, acc };
            let mut sums = c.words();
            match k_of {
                None => op.rows(shape, &a.words(), &b.words(), &mut sums),
                Some(k_of) => op.sparse_rows(shape, &a.words(), k_of, &b.words(), &mut sums),
            }
            out.bits = sums.iter().map(|&s| s.into()).collect();
        }
    }
    Some(out)
}

fn accumulator(ty: &str) -> Option<Accumulator> {
    match ty {
        "f32" => Some(Accumulator::F32),
        "f16" => Some(Accumulator::F16),
        _ => None,
    }
}

/// Runs a dense `mma` on the words of one case.
pub(crate) fn mma(opcode: &Opcode, words: &[u32]) -> Option<Vec<u32>> {
    if (opcode.m, opcode.n, opcode.k, opcode.types[1].as_str()) == (8, 8, 4, "f16") {
        return quad_pairs(opcode, words);
    }
    let Opcode { m, n, k, .. } = *opcode;
    let (d_bits, a_bits, b_bits) = (opcode.bits_of(0), opcode.bits_of(1), opcode.bits_of(2));
    let words_per_lane = words.len() / 32;
    let (a_words, b_words) = (m * k * a_bits / 1024, n * k * b_bits / 1024);
    let fragment = |first, element_bits| Fragment { words, words_per_lane, first, element_bits };
    let (a_per, b_per) = ((32 / a_bits).max(1), (32 / b_bits).max(1));
    let a = fragment(0, a_bits).matrix((m, k), 32, |lane, i| fragments::a(m, a_per, lane, i));
    let b = fragment(a_words, b_bits).matrix((n, k), 32, |lane, i| fragments::b(b_per, lane, i));
    let c = fragment(a_words + b_words, d_bits).matrix((m, n), 32, fragments::c);
    let d = multiply(opcode, Instruction::Mma, &a, None, &b, &c)?;
    Some(fragments::store(&d, d_bits, 32, fragments::c))
}

/// Runs `mma.m8n8k4` on f16: four quad pairs with one product each.
fn quad_pairs(opcode: &Opcode, words: &[u32]) -> Option<Vec<u32>> {
    let [.., c_ty] = &opcode.parts[..] else { return None };
    let (c_acc, d_acc) = (accumulator(c_ty)?, accumulator(&opcode.types[0])?);
    let layouts: Vec<&str> =
        opcode.parts.iter().map(String::as_str).filter(|p| matches!(*p, "row" | "col")).collect();
    let words_per_lane = words.len() / 32;
    let fragment = |first, element_bits| Fragment { words, words_per_lane, first, element_bits };
    let upper = |lane: usize| lane / 16 * 4;
    let pair = |lane: usize| lane % 16 / 4;
    let in_f32 = |lane: usize, i: usize| (upper(lane) + (lane & 1) + (i & 2), (i & 4) + (lane & 2) + (i & 1));
    let in_f16 = |lane: usize, i: usize| (upper(lane) + lane % 4, i);
    let place = |acc, lane, i| if acc == Accumulator::F32 { in_f32(lane, i) } else { in_f16(lane, i) };
    let mut results = vec![vec![0u32; 64]; 4];
    for (q, results) in results.iter_mut().enumerate() {
        let lanes = || (0..32).filter(|&lane| pair(lane) == q);
        let (mut a, mut b, mut c) = ([[0; 4]; 8], [[0; 4]; 8], [[0; 8]; 8]);
        for lane in lanes() {
            for i in 0..4 {
                let (outer, inner) = (upper(lane) + lane % 4, i);
                let (crossed_outer, crossed_inner) = (upper(lane) + i, lane % 4);
                let bits = fragment(0, 16).element(lane, i) as u32;
                if layouts[0] == "row" {
                    a[outer][inner] = bits;
                } else {
                    a[crossed_outer][crossed_inner] = bits;
                }
                let bits = fragment(2, 16).element(lane, i) as u32;
                if layouts[1] == "col" {
                    b[outer][inner] = bits;
                } else {
                    b[crossed_outer][crossed_inner] = bits;
                }
            }
            let c_bits = if c_acc == Accumulator::F32 { 32 } else { 16 };
            for i in 0..8 {
                let (row, column) = place(c_acc, lane, i);
                c[row][column] = fragment(4, c_bits).element(lane, i) as u32;
            }
        }
        for row in 0..8 {
            for column in 0..8 {
                results[row * 8 + column] =
                    dot_quad_pair(TensorArch::Sm90, (c_acc, d_acc), &a[row], &b[column], c[row][column]);
            }
        }
    }
    let mut out = Vec::new();
    for lane in 0..32 {
        let d: Vec<u32> = (0..8)
            .map(|i| {
                let (row, column) = place(d_acc, lane, i);
                results[pair(lane)][row * 8 + column]
            })
            .collect();
        match d_acc {
            Accumulator::F32 => out.extend(d),
            Accumulator::F16 => out.extend(d.chunks(2).map(|pair| pair[0] | pair[1] << 16)),
        }
    }
    Some(out)
}

/// Returns a matrix with the signs of all elements flipped, for a negative `imm-scale`.
pub(crate) fn negated(matrix: &Matrix, ty: Float) -> Matrix {
    let bits = matrix.bits.iter().map(|bits| bits ^ ty.sign_bit()).collect();
    Matrix { columns: matrix.columns, bits }
}
