//! `wgmma` on recorded registers and shared memory.

use warpwright_sim::arith::mma::Instruction;

use crate::{
    fragments::{self, Fragment, Matrix},
    matrix::{Opcode, multiply, negated},
    scalar::float_type,
    truth::Entry,
};

/// A `wgmma` with its immediates.
pub(crate) struct Wgmma {
    opcode: Opcode,
    a_in_registers: bool,
    /// The scales of A and B, and whether each matrix is MN-major.
    negate: [bool; 2],
    transposed: [bool; 2],
}

impl Wgmma {
    pub(crate) fn parse(entry: &Entry) -> Option<Self> {
        let opcode = Opcode::parse(entry)?;
        let a_in_registers = entry.inputs.iter().any(|o| o.name == "a");
        let (_, immediates) = entry.ptx.trim_end_matches(';').split_once("p0").unwrap_or_default();
        let immediates: Vec<i32> = immediates.split(", ").filter_map(|i| i.parse().ok()).collect();
        let negative = |i: usize| immediates.get(i).is_some_and(|&i| i < 0);
        let nonzero = |i: usize| immediates.get(i).is_some_and(|&i| i != 0);
        let transposed = if a_in_registers { [false, nonzero(2)] } else { [nonzero(2), nonzero(3)] };
        Some(Self { opcode, a_in_registers, negate: [negative(0), negative(1)], transposed })
    }

    pub(crate) fn run(&self, words: &[u32], smem: &[u8]) -> Option<Vec<u32>> {
        let opcode = &self.opcode;
        let Opcode { m, n, k, .. } = *opcode;
        let (d_bits, a_bits) = (opcode.bits_of(0), opcode.bits_of(1));
        let words_per_lane = words.len() / 128;
        let fragment = |first, element_bits| Fragment { words, words_per_lane, first, element_bits };
        let d_words = m * n * d_bits / 32 / 128;
        let c = fragment(0, d_bits).matrix((m, n), 128, fragments::c);
        let descriptor = |first: usize| fragment(first, 64).element(0, 0);
        let (a, after_a) = if self.a_in_registers {
            let per_register = 32 / a_bits;
            let a = fragment(d_words, a_bits)
                .matrix((m, k), 128, |lane, i| fragments::a(m, per_register, lane, i));
            (a, d_words + m * k * a_bits / 32 / 128)
        } else {
            (shared(smem, descriptor(d_words), (m, k), a_bits, self.transposed[0]), d_words + 2)
        };
        let b = shared(smem, descriptor(after_a), (n, k), opcode.bits_of(2), self.transposed[1]);
        let scale_d = words[after_a + 2] != 0;
        let c = if scale_d { c } else { Matrix { bits: vec![0; c.bits.len()], ..c } };
        let sign = |matrix, ty: &str, negate| match float_type(ty) {
            Some(ty) if negate => negated(&matrix, ty),
            _ => matrix,
        };
        let a = sign(a, &opcode.types[1], self.negate[0]);
        let b = sign(b, &opcode.types[2], self.negate[1]);
        let d = multiply(opcode, Instruction::Wgmma, &a, None, &b, &c)?;
        Some(fragments::store(&d, d_bits, 128, fragments::c))
    }
}

/// Returns a matrix in shared memory, `mn` rows of `k` elements (PTX ISA, "Matrix Descriptor Format", "Strides").
fn shared(smem: &[u8], descriptor: u64, (mn, k): (usize, usize), bits: usize, mn_major: bool) -> Matrix {
    let field = |low: u32| (descriptor >> low & 0x3fff) as usize * 16;
    let (start, leading, stride) = (field(0), field(16), field(32));
    // The width of a swizzled row in 16-byte units, and the mask of the exclusive or.
    let (units, mask) = match descriptor >> 62 {
        0 => (1, 0),
        1 => (8, 7),
        2 => (4, 3),
        _ => (2, 1),
    };
    let mut matrix = Matrix::zeros(mn, k);
    for i in 0..mn {
        for j in 0..k {
            // Positions in bytes along k, which may fall inside a byte for single bits.
            let address = match (mn_major, units) {
                (false, 1) => i % 8 * 16 + i / 8 * stride + j * bits / 128 * leading + j * bits / 8 % 16,
                (false, _) => i % 8 * 16 * units + i / 8 * stride + j * bits / 8,
                (true, 1) => i % 8 * 2 + i / 8 * stride + j % 8 * 16 + j / 8 * leading,
                (true, _) => {
                    let wide = 8 * units;
                    i % wide * 2 + i / wide * leading + j % 8 * 16 * units + j / 8 * stride
                }
            } + start;
            let address = address ^ (address >> 3 & mask << 4);
            let byte = |n: usize| u64::from(smem.get(address + n).copied().unwrap_or(0));
            let element = match bits {
                1 => byte(0) >> (j % 8) & 1,
                _ => (0..bits / 8).fold(0, |element, n| element | byte(n) << (8 * n)),
            };
            matrix.set(i, j, element);
        }
    }
    matrix
}
