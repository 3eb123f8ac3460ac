//! `mma.sp` on recorded fragments and metadata.

use warpwright_sim::arith::mma::Instruction;

use crate::{
    fragments::{self, Fragment},
    matrix::{Opcode, multiply},
    truth::Entry,
};

/// An `mma.sp` with the selector of the lanes that contain metadata.
pub(crate) struct Sparse {
    opcode: Opcode,
    selector: usize,
}

impl Sparse {
    pub(crate) fn parse(entry: &Entry) -> Option<Self> {
        let selector = entry.ptx.trim_end_matches(';').rsplit(", ").next()?.parse().ok()?;
        Some(Self { opcode: Opcode::parse(entry)?, selector })
    }

    pub(crate) fn run(&self, words: &[u32]) -> Option<Vec<u32>> {
        let opcode = &self.opcode;
        let Opcode { m, n, k, .. } = *opcode;
        let (d_bits, a_bits, b_bits) = (opcode.bits_of(0), opcode.bits_of(1), opcode.bits_of(2));
        let words_per_lane = words.len() / 32;
        let a_words = m * k / 2 * a_bits / 1024;
        let b_words = n * k * b_bits / 1024;
        let c_words = m * n * d_bits / 1024;
        let fragment = |first, element_bits| Fragment { words, words_per_lane, first, element_bits };
        let (a_per, b_per) = (32 / a_bits, 32 / b_bits);
        let a = fragment(0, a_bits).matrix((m, k / 2), 32, |lane, i| fragments::a(m, a_per, lane, i));
        let b = fragment(a_words, b_bits).matrix((n, k), 32, |lane, i| fragments::b(b_per, lane, i));
        let c = fragment(a_words + b_words, d_bits).matrix((m, n), 32, fragments::c);
        let metadata = fragment(a_words + b_words + c_words, 32);
        let k_of = self.selected(|lane| metadata.element(lane, 0) as u32);
        let d = multiply(opcode, Instruction::Mma, &a, Some(&k_of), &b, &c)?;
        Some(fragments::store(&d, d_bits, 32, fragments::c))
    }

    /// Returns, in row order, the k of the element of B by which each element of A is multiplied (PTX ISA, "Sparse matrix storage").
    fn selected(&self, metadata: impl Fn(usize) -> u32) -> Vec<u16> {
        let Opcode { m, k, .. } = self.opcode;
        let bits_per_row = if self.opcode.types[1] == "tf32" { 2 * k } else { k };
        let mut k_of = Vec::new();
        for row in 0..m {
            let (group, half) = (row % 8, row / 8);
            let bits = match bits_per_row {
                // One lane of four provides both rows of the group.
                16 => u64::from(metadata(4 * group + self.selector) >> (16 * half) & 0xffff),
                // Two lanes: each provides one row for 8-bit elements, or half of both rows for wider ones.
                32 if self.opcode.bits_of(1) == 8 => {
                    u64::from(metadata(4 * group + 2 * self.selector + half))
                }
                32 => {
                    let part =
                        |i| u64::from(metadata(4 * group + 2 * self.selector + i) >> (16 * half) & 0xffff);
                    part(0) | part(1) << 16
                }
                // Four lanes, two for each row.
                _ => {
                    let word = |i| u64::from(metadata(4 * group + i));
                    word(half) | word(2 + half) << 32
                }
            };
            for element in 0..k / 2 {
                let k = if self.opcode.types[1] == "tf32" {
                    // Four bits for each pair: 0b1110 keeps the second, 0b0100 the first.
                    2 * element + usize::from(bits >> (4 * element) & 0xf == 0b1110)
                } else {
                    element / 2 * 4 + (bits >> (2 * element) & 3) as usize
                };
                k_of.push(k as u16);
            }
        }
        k_of
    }
}
