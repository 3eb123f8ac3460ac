//! Checks D = A·B against f64, within a bound that follows from the arithmetic of tensor cores.
//!
//! A tensor core adds a group of products to the accumulator c in one step (H. Xie et al., "MMA-Sim", 2025): it aligns all terms to the
//! largest exponent, truncates each F bits below it, adds exactly, and truncates the sum to f32. If M is at least every |a·b| and |c|, the
//! error of a group of n products is at most
//!
//! ```text
//! (n + 1) · 2⁻ᶠ · M  +  2⁻²³ · |sum|  +  2⁻¹⁴⁹
//! ```
//!
//! Ampere and Ada add the 16 products of an instruction in two groups of n = 8 with F = 24; Hopper and Blackwell add them in one with F =
//! 25, for which the bound of the two groups also holds: 17 · 2⁻²⁵ < 9 · 2⁻²⁴. An element's bound is therefore the sum over all groups of
//! 8, in order, with M and |sum| increased by the error so far, plus K · 2⁻⁵² · Σ|a·b| for the rounding of the reference. In M, subnormal
//! terms count as the smallest normal number, because they have its exponent in hardware.

use rayon::prelude::*;
use warpwright::ptx::bf16;

/// The number of products in a group.
const GROUP: usize = 8;
const TWO_POW_M23: f64 = 1.0 / (1 << 23) as f64;
const TWO_POW_M24: f64 = TWO_POW_M23 / 2.0;
const TWO_POW_M52: f64 = f64::EPSILON;

/// An element of D, its reference, and the bound on their difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Checked {
    pub(crate) row: usize,
    pub(crate) col: usize,
    pub(crate) found: f32,
    pub(crate) expected: f64,
    pub(crate) bound: f64,
    /// Whether a partial sum may have exceeded the range of f32, so that any result beyond it is correct.
    pub(crate) overflows: bool,
}

impl Checked {
    /// Returns the absolute error.
    pub(crate) fn error(&self) -> f64 {
        if self.is_special() { 0.0 } else { (f64::from(self.found) - self.expected).abs() }
    }

    /// Returns whether the element is correct.
    pub(crate) fn holds(&self) -> bool {
        if self.expected.is_nan() {
            self.found.is_nan()
        } else if self.expected.is_infinite() {
            f64::from(self.found) == self.expected
        } else {
            self.error() <= self.bound || self.overflows && !self.found.is_finite()
        }
    }

    /// Returns the error as a fraction of the bound; an element with a fraction above 1 is wrong.
    fn share(&self) -> f64 {
        match self.holds() {
            true if self.is_special() => 0.0,
            true => self.error() / self.bound,
            false => f64::INFINITY,
        }
    }

    /// Returns whether the reference or the element is infinite or NaN, so that their difference is not defined.
    pub(crate) fn is_special(&self) -> bool {
        !self.expected.is_finite() || self.overflows && !self.found.is_finite()
    }
}

/// The result of the check.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    /// The element with the largest error as a fraction of its bound.
    pub(crate) worst: Option<Checked>,
    /// The number of wrong elements.
    pub(crate) wrong: usize,
    /// The first wrong element.
    pub(crate) first_wrong: Option<Checked>,
}

/// The factors of D = A·B as passed to the kernel: A is m×k and B is k×n.
pub(crate) struct Factors<'a> {
    pub(crate) a: &'a [bf16],
    pub(crate) b: &'a [bf16],
    pub(crate) m: usize,
    pub(crate) n: usize,
    pub(crate) k: usize,
}

/// Checks every element of `d`.
pub(crate) fn check(factors: &Factors<'_>, d: &[f32]) -> Verdict {
    let &Factors { m, n, k, .. } = factors;
    let a: Vec<Factor> = factors.a.iter().map(|&x| Factor::new(x)).collect();
    // In column-major order, so that the factors of each sum are contiguous.
    let b: Vec<Factor> = (0..n * k).map(|i| Factor::new(factors.b[i % k * n + i / k])).collect();
    let rows = (0..m).into_par_iter().map(|row| {
        let mut verdict = Verdict { worst: None, wrong: 0, first_wrong: None };
        for col in 0..n {
            verdict.add(element(&a[row * k..][..k], &b[col * k..][..k]).at(row, col, d[row * n + col]));
        }
        verdict
    });
    rows.reduce(|| Verdict { worst: None, wrong: 0, first_wrong: None }, Verdict::and)
}

impl Verdict {
    fn add(&mut self, checked: Checked) {
        if !checked.holds() {
            self.wrong += 1;
            self.first_wrong.get_or_insert(checked);
        }
        if self.worst.is_none_or(|worst| worst.share() < checked.share()) {
            self.worst = Some(checked);
        }
    }

    /// Combines two verdicts; `other` is that of later rows.
    fn and(self, other: Self) -> Self {
        let worst = match (self.worst, other.worst) {
            (Some(a), Some(b)) => Some(if a.share() < b.share() { b } else { a }),
            (a, b) => a.or(b),
        };
        Self { worst, wrong: self.wrong + other.wrong, first_wrong: self.first_wrong.or(other.first_wrong) }
    }
}

/// A factor and the magnitude that its exponent represents: the smallest normal number for a subnormal.
#[derive(Clone, Copy)]
struct Factor {
    value: f64,
    magnitude: f64,
}

impl Factor {
    fn new(x: bf16) -> Self {
        let value = x.to_f64();
        let magnitude = if value == 0.0 { 0.0 } else { value.abs().max(f32::MIN_POSITIVE.into()) };
        Self { value, magnitude }
    }
}

/// The reference of an element, and the bound on its error.
struct Reference {
    sum: f64,
    bound: f64,
    overflows: bool,
}

impl Reference {
    fn at(self, row: usize, col: usize, found: f32) -> Checked {
        Checked { row, col, found, expected: self.sum, bound: self.bound, overflows: self.overflows }
    }
}

fn element(a: &[Factor], b: &[Factor]) -> Reference {
    let (mut sum, mut error, mut total) = (0.0f64, 0.0f64, 0.0f64);
    let mut overflows = false;
    for (a, b) in a.chunks(GROUP).zip(b.chunks(GROUP)) {
        let mut largest = (sum.abs() + error).max(f32::MIN_POSITIVE.into());
        for (a, b) in a.iter().zip(b) {
            let product = a.value * b.value;
            largest = largest.max(a.magnitude * b.magnitude);
            total += product.abs();
            sum += product;
        }
        error += (GROUP + 1) as f64 * TWO_POW_M24 * largest;
        error += TWO_POW_M23 * (sum.abs() + error) + f64::from(f32::from_bits(1));
        overflows |= sum.abs() + error > f32::MAX.into();
    }
    let bound = error + a.len() as f64 * TWO_POW_M52 * total;
    Reference { sum, bound, overflows }
}
