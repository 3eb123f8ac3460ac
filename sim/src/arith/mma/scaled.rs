//! Products of floats of at most 8 bits on Blackwell: `.kind::f8f6f4`, `.kind::mxf8f6f4`, `.kind::mxf4`, `.kind::mxf4nvf4`.
//!
//! A factor may have scales, each of which applies to a block of elements along k. An instruction is one fused dot-add (MMA-Sim, measured
//! on Blackwell), in which the exponents of the scales are added to the exponents of the products. Products of packed 4-bit factors (eight
//! per word) are first summed exactly in groups of 16; the exponents of these sums are determined by the scales alone.

use super::arch::{Accumulator, Datapath};
use super::fused::{Operand, Term, operand, product, round_sum, special_sum};
use super::op::Shape;
use crate::arith::Float;

/// The number of products of 4-bit factors that are summed before alignment.
const GROUP: usize = 16;

/// The properties of a product of floats of at most 8 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallOp {
    /// The types of A and B: e4m3, e5m2, e2m3, e3m2 or e2m1.
    pub ty: (Float, Float),
    /// The type of C and D.
    pub acc: Accumulator,
    /// Whether the factors are 4-bit and packed eight to a word, so that 16 products are summed before alignment.
    pub grouped: bool,
    /// The type of the scales: ue8m0, or e4m3 for ue4m3.
    pub scale: Option<Float>,
}

/// The scales of a row of A and of a column of B. Each scale applies to a block along k; all blocks have the same length.
#[derive(Clone, Copy, Debug, Default)]
pub struct Scales<'s> {
    /// The scales of the row of A.
    pub a: &'s [u8],
    /// The scales of the column of B.
    pub b: &'s [u8],
}

impl SmallOp {
    /// Computes one element of `A · B + C`, where `a` is the element's row of A and `b` is its column of B.
    pub fn dot(&self, a: &[u32], b: &[u32], scales: Scales<'_>, c: u32) -> u32 {
        let (grouped, k) = (self.grouped, a.len().min(b.len()));
        let datapath =
            Datapath { aligned_bits: if grouped { 35 } else { 25 }, result_bits: 23, step: k.max(1) };
        let blocks = scales.a.len().min(scales.b.len()).max(1);
        let mut terms = vec![operand(self.acc.float(), c).map(|c| c.map(Term::from))];
        for (i, (a, b)) in a.chunks(k.div_ceil(blocks)).zip(b.chunks(k.div_ceil(blocks))).enumerate() {
            let scale = self.scale.map(|ty| {
                let one = |scales: &[u8]| {
                    let bits = scales.get(i).copied().unwrap_or_default();
                    // ue4m3 has no sign; the bit of e4m3's sign is ignored.
                    operand(ty, u32::from(if ty == Float::Ue8m0 { bits } else { bits & 0x7f }))
                };
                product(one(scales.a), one(scales.b))
            });
            if grouped {
                let groups = a.chunks(GROUP).zip(b.chunks(GROUP));
                terms.extend(groups.map(|(a, b)| scaled(self.group(a, b), scale)));
            } else {
                let products = a.iter().zip(b).map(|(&a, &b)| self.one(a, b));
                terms.extend(products.map(|term| scaled(term, scale)));
            }
        }
        let finite: Vec<Term> = match special_sum(self.acc, terms) {
            Ok(terms) => terms,
            Err(special) => return special,
        };
        round_sum(datapath, self.acc, &finite)
    }

    /// Computes `C ← A · B + C`. `a` contains the M rows of A, and `b` contains the N columns of B, with K elements each; `c` is M×N,
    /// row-major; `scales` returns the scales of a row and a column.
    pub fn rows<'s>(
        &self,
        Shape { n, k }: Shape,
        a: &[u32],
        b: &[u32],
        scales: impl Fn(usize, usize) -> Scales<'s>,
        c: &mut [u32],
    ) {
        for (row, (a, c)) in a.chunks_exact(k).zip(c.chunks_exact_mut(n)).enumerate() {
            for (column, (b, c)) in b.chunks_exact(k).zip(c).enumerate() {
                *c = self.dot(a, b, scales(row, column), *c);
            }
        }
    }

    fn one(&self, a: u32, b: u32) -> Operand<Term> {
        product(operand(self.ty.0, a), operand(self.ty.1, b))
    }

    /// Returns the exact sum of a group's products as a term with exponent 0. All 4-bit floats are finite.
    fn group(&self, a: &[u32], b: &[u32]) -> Operand<Term> {
        let mut sum = 0i64;
        let mut fraction_bits = 0;
        for term in a.iter().zip(b).filter_map(|(&a, &b)| self.one(a, b).ok().flatten()) {
            let magnitude = (term.significand << term.exponent) as i64;
            sum += if term.sign { -magnitude } else { magnitude };
            fraction_bits = term.fraction_bits;
        }
        let significand = sum.unsigned_abs();
        Ok((sum != 0).then_some(Term { sign: sum < 0, significand, fraction_bits, exponent: 0 }))
    }
}

/// Returns a term multiplied by the product of the scales.
fn scaled(term: Operand<Term>, scale: Option<Operand<Term>>) -> Operand<Term> {
    match (term, scale) {
        (term, None) => term,
        (Err(None), _) | (_, Some(Err(_))) => Err(None),
        (Err(Some(sign)), Some(Ok(scale))) => Err(scale.map(|_| sign)),
        (Ok(term), Some(Ok(scale))) => Ok(term.zip(scale).map(|(term, scale)| Term {
            sign: term.sign,
            significand: term.significand * scale.significand,
            fraction_bits: term.fraction_bits + scale.fraction_bits,
            exponent: term.exponent + scale.exponent,
        })),
    }
}
