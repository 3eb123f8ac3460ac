//! A reference implementation of the fused dot-add, written for readability.

use super::arch::{Accumulator, Datapath};
use crate::arith::unpacked::{Exact, Unpacked};
use crate::arith::{Float, Round};

/// The lowest exponent to which terms are aligned.
pub(super) const LOWEST_ALIGNMENT: i16 = -133;

/// A term of the sum: `(-1)^sign · significand · 2^(exponent - fraction_bits)`, not normalized.
#[derive(Clone, Copy)]
pub(super) struct Term {
    pub(super) sign: bool,
    pub(super) significand: u64,
    pub(super) fraction_bits: i32,
    pub(super) exponent: i32,
}

/// Computes a fused dot-add: aligns to the largest exponent, truncates, sums and rounds once.
pub(super) fn fused_dot_add(
    datapath: Datapath,
    ty: (Float, Float),
    acc: Accumulator,
    a: &[u32],
    b: &[u32],
    c: u32,
) -> u32 {
    let c = operand(acc.float(), c).map(|x| x.map(Term::from));
    let products = a.iter().zip(b).map(|(&a, &b)| product(operand(ty.0, a), operand(ty.1, b)));
    match special_sum(acc, [c].into_iter().chain(products)) {
        Ok(terms) => round_sum(datapath, acc, &terms),
        Err(special) => special,
    }
}

/// Returns the finite nonzero terms; if the sum is infinite or NaN, returns its bits as an error.
pub(super) fn special_sum(
    acc: Accumulator,
    all: impl IntoIterator<Item = Operand<Term>>,
) -> Result<Vec<Term>, u32> {
    let all = all.into_iter();
    let mut terms = Vec::with_capacity(all.size_hint().0);
    let (mut number, mut infinity) = (true, None);
    for term in all {
        match term {
            Ok(term) => terms.extend(term),
            Err(Some(sign)) => number &= infinity.replace(sign).is_none_or(|other| other == sign),
            Err(None) => number = false,
        }
    }
    match (number, infinity) {
        (false, _) => Err(acc.float().canonical_nan() as u32),
        (true, Some(sign)) => {
            Err((acc.float().infinity() | if sign { acc.float().sign_bit() } else { 0 }) as u32)
        }
        (true, None) => Ok(terms),
    }
}

/// A finite operand (`None` is zero), an infinity with its sign, or a NaN.
pub(super) type Operand<T = Scaled> = Result<Option<T>, Option<bool>>;

/// A finite nonzero operand with its unnormalized exponent.
pub(super) struct Scaled {
    sign: bool,
    significand: u64,
    fraction_bits: i32,
    exponent: i32,
}

impl From<Scaled> for Term {
    fn from(x: Scaled) -> Self {
        Self {
            sign: x.sign,
            significand: x.significand,
            fraction_bits: x.fraction_bits,
            exponent: x.exponent,
        }
    }
}

pub(super) fn operand(ty: Float, bits: u32) -> Operand {
    let kept = u64::from(bits) & !((1 << ty.padding()) - 1);
    match Unpacked::new(ty, kept) {
        Unpacked::Nan => Err(None),
        Unpacked::Inf { sign } => Err(Some(sign)),
        Unpacked::Zero { .. } => Ok(None),
        Unpacked::Finite(x) => Ok(Some(Scaled {
            sign: x.sign,
            significand: x.significand as u64,
            fraction_bits: ty.fraction_bits() as i32,
            exponent: x.exponent + ty.fraction_bits() as i32,
        })),
    }
}

pub(super) fn product(a: Operand, b: Operand) -> Operand<Term> {
    match (a, b) {
        (Err(None), _) | (_, Err(None)) => Err(None),
        // 0 · ∞
        (Err(Some(_)), Ok(None)) | (Ok(None), Err(Some(_))) => Err(None),
        (Err(Some(a)), Err(Some(b))) => Err(Some(a != b)),
        (Err(Some(a)), Ok(Some(b))) | (Ok(Some(b)), Err(Some(a))) => Err(Some(a != b.sign)),
        (Ok(None), Ok(_)) | (Ok(_), Ok(None)) => Ok(None),
        (Ok(Some(a)), Ok(Some(b))) => Ok(Some(Term {
            sign: a.sign != b.sign,
            significand: a.significand * b.significand,
            fraction_bits: a.fraction_bits + b.fraction_bits,
            exponent: a.exponent + b.exponent,
        })),
    }
}

pub(super) fn round_sum(datapath: Datapath, acc: Accumulator, terms: &[Term]) -> u32 {
    let largest = terms.iter().map(|t| t.exponent).fold(LOWEST_ALIGNMENT.into(), i32::max);
    let sum: i64 = terms
        .iter()
        .map(|t| {
            let up = datapath.aligned_bits - t.fraction_bits - (largest - t.exponent);
            let magnitude = match up {
                0.. => t.significand << up,
                -63..0 => t.significand >> -up,
                _ => 0,
            } as i64;
            if t.sign { -magnitude } else { magnitude }
        })
        .sum();
    if sum == 0 {
        return 0;
    }
    let exact = Exact::new(sum < 0, largest - datapath.aligned_bits, u128::from(sum.unsigned_abs()));
    let bits = match acc {
        Accumulator::F16 => exact.pack(Float::F16, Round::Rn, false),
        Accumulator::F32 => {
            // Sums of 2^128 or more become infinity; truncation would return the largest finite number.
            let round = if exact.top() >= 128 { Round::Rn } else { Round::Rz };
            let dropped = (23 - datapath.result_bits) as u32;
            exact.pack(Float::F32, round, false) >> dropped << dropped
        }
    };
    let zero = bits & !acc.float().sign_bit() == 0;
    if zero { 0 } else { bits as u32 }
}
