//! The online softmax: weights of keys relative to the largest score so far.

use std::f32::consts::{LN_2, LOG2_E};

use crate::{
    kernels::base::base,
    ptx::{Builder, FULL_MASK, State, Val, Visitor},
    tiles::{ColVec, Rt},
};

/// The state of the softmax of a warp's `H` subtiles of rows. For each row, it contains a maximum, which is updated when a score exceeds it
/// by more than a threshold, and the sum of the weights exp(scale · (score − maximum)).
pub(super) struct Softmax<'k, const H: usize = 1> {
    k: Builder<'k>,
    /// The factor by which scores are multiplied to obtain the base-2 exponents of weights.
    factor: Val<'k, f32>,
    /// The base-2 logarithm of the maximum's weight.
    lift: f32,
    max: ColVec<'k, f32, H>,
    /// The sums of this lane's elements.
    sums: ColVec<'k, f32, H>,
}

impl<'k, const H: usize> State<'k> for Softmax<'k, H> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.max.visit(visitor);
        self.sums.visit(visitor);
    }
}

/// The factors by which the sums so far are multiplied after the maximum has increased.
pub(super) struct Rescale<'k, const H: usize> {
    k: Builder<'k>,
    factors: ColVec<'k, f32, H>,
    /// Whether any factor differs from 1; uniform in the warp.
    needed: Val<'k, bool>,
}

impl<'k, const H: usize> Rescale<'k, H> {
    #[track_caller]
    pub(super) fn apply<const D: usize>(self, mut sum: Rt<'k, f32, H, D>) -> Rt<'k, f32, H, D> {
        self.k.if_(self.needed, || sum *= &self.factors);
        sum
    }
}

/// The base-2 logarithm of the largest weight for which the maximum is not updated. It must be greater than `lift`. Only a few steps
/// therefore update the maximum, and the other steps do not rescale the sums. The weights of a row remain within the exponent range of
/// every type.
const MOST: f32 = 8.0;

/// Returns `exponent` lowered by `lift`, so that the maximum's weight is 2 to the power of `lift`.
#[track_caller]
fn lowered(exponent: Val<'_, f32>, lift: f32) -> Val<'_, f32> {
    if lift == 0.0 { exponent } else { exponent - lift }
}

impl<'k, const H: usize> Softmax<'k, H> {
    /// Returns the state before the first key.
    #[track_caller]
    pub(super) fn empty(k: Builder<'k>, factor: Val<'k, f32>) -> Self {
        Self { k, factor, lift: 0.0, max: k.filled(f32::NEG_INFINITY), sums: k.zeros() }
    }

    /// Returns the state after the first `scores`, and replaces these scores with their weights. The largest weight of each row is 2 to the
    /// power of `lift`.
    #[track_caller]
    pub(super) fn start<const N: usize>(
        k: Builder<'k>,
        factor: Val<'k, f32>,
        lift: f32,
        scores: Rt<'k, f32, H, N>,
    ) -> (Self, Rt<'k, f32, H, N>) {
        let mut softmax = Self { k, factor, lift, max: scores.row_max(), sums: k.zeros() };
        let weights = softmax.weights(scores);
        (softmax, weights)
    }

    /// Replaces the scores with their weights relative to the maximum, and adds these weights to the sums.
    #[track_caller]
    fn weights<const N: usize>(&mut self, scores: Rt<'k, f32, H, N>) -> Rt<'k, f32, H, N> {
        let shift = shift(&self.max, self.factor).map(|shift| -lowered(shift, self.lift));
        let weights = scores.mul_add(self.factor, &shift).exp2();
        self.sums = weights.row_sum_in_lanes(self.sums.map(|sum| sum));
        weights
    }

    /// Replaces the scores of the next keys with their weights, in place, and returns the factors by which the sums so far must be
    /// multiplied.
    #[track_caller]
    pub(super) fn weigh<const N: usize>(
        self,
        scores: Rt<'k, f32, H, N>,
    ) -> (Self, Rt<'k, f32, H, N>, Rescale<'k, H>) {
        let Self { k, factor, lift, max, mut sums } = self;
        let peaks = scores.row_max_in_lanes(k.filled(f32::NEG_INFINITY));
        let excess = peaks.zip(&max, |peak, max| peak.mad(factor, -(max * factor + (MOST - lift))));
        let excess = excess.registers().into_iter().reduce(|a, b| a.max(b)).expect("a vector has elements");
        let needed = k.vote_any(excess.gt(0.0), FULL_MASK);
        let (max, factors) = k.if_else_with(
            needed,
            || {
                let new_max = Rt::<f32, H, 1>::row_max_across_lanes(&peaks).max(&max);
                let factors = (max.map(|max| max * factor) - &shift(&new_max, factor)).exp2();
                sums *= &factors;
                (new_max, factors)
            },
            || (max.map(|max| max), k.filled(1.0)),
        );
        let mut softmax = Self { k, factor, lift, max, sums };
        let weights = softmax.weights(scores);
        (softmax, weights, Rescale { k, factors, needed })
    }

    /// Adds a key with the score `sink`, if any, and with values of 0 to each row. Returns the divisors for the weighted sums of values,
    /// and the logarithms of the sums of exp(score).
    #[track_caller]
    pub(super) fn finish(self, sink: Option<Val<'k, f32>>) -> (ColVec<'k, f32, H>, ColVec<'k, f32, H>) {
        let Self { k, factor, lift, max, sums } = self;
        let sums = Rt::<f32, H, 1>::row_sum_across_lanes(&sums);
        let exponents = (max * factor).map(|exponent| lowered(exponent, lift));
        // Without visible keys, the weighted sum is also 0.
        let divisor = |sums: &ColVec<'k, f32, H>| sums.map(|sum| sum.eq(0.0).select(1.0, sum));
        let Some(sink) = sink else {
            let logs = sums.map(|sum| k.log2(sum)) + &exponents;
            return (divisor(&sums), logs * LN_2);
        };
        // Weights are relative to the greater of the two, so that neither overflows.
        let sink = sink * LOG2_E;
        let most = exponents.map(|exponent| base(exponent.max(sink)));
        let powers = (exponents - &most).exp2();
        let total = sums * &powers + &most.map(|most| k.exp2(sink - most));
        let logs = total.map(|total| k.log2(total)) + &most;
        (divisor(&total) / &powers, logs * LN_2)
    }
}

/// Returns the values to subtract from scores times `factor`.
#[track_caller]
fn shift<'k, const H: usize>(max: &ColVec<'k, f32, H>, factor: Val<'k, f32>) -> ColVec<'k, f32, H> {
    max.map(base) * factor
}
