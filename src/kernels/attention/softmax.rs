//! The running softmax: weights of keys relative to the largest score so far.

use std::f32::consts::{LN_2, LOG2_E};

use crate::{
    ptx::{Builder, State, Val, Visitor},
    tiles::{ColVec, Rt},
};

/// The maximum of a warp's 16 rows of scores so far, and the sums of their weights exp(scale · (score − maximum)).
pub(super) struct Softmax<'k> {
    /// `scale` · log₂ e: weights are powers of two.
    factor: Val<'k, f32>,
    max: ColVec<'k, f32, 1>,
    /// In each lane, the sums of its own elements.
    sums: Rt<'k, f32, 1, 1>,
}

impl<'k> State<'k> for Softmax<'k> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.max.visit(visitor);
        self.sums.visit(visitor);
    }
}

impl<'k> Softmax<'k> {
    /// Starts without keys.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, scale: Val<'k, f32>) -> Self {
        Self { factor: scale * LOG2_E, max: k.filled(f32::NEG_INFINITY), sums: k.zeros() }
    }

    /// Replaces the scores of more keys by their weights, in place, and returns the factors of all weights so far, whose maximum was
    /// another one.
    #[track_caller]
    pub(super) fn weigh<const N: usize>(
        self,
        scores: Rt<'k, f32, 1, N>,
    ) -> (Self, Rt<'k, f32, 1, N>, ColVec<'k, f32, 1>) {
        let Self { factor, max, mut sums } = self;
        let new_max = scores.row_max().max(&max);
        // Without a key, the maximum is −∞, and so is every score: the differences would be NaN instead of −∞.
        let shift = new_max.map(|max| max.eq(f32::NEG_INFINITY).select(0.0, max)) * factor;
        let rescale = (max * factor - &shift).exp2();
        let weights = scores.mul_add(factor, &shift.map(|shift| -shift)).exp2().hsplit::<1, N>();
        sums *= &rescale;
        weights.iter().for_each(|part| sums += part);
        (Self { factor, max: new_max, sums }, Rt::hconcat(weights), rescale)
    }

    /// Returns the sums of the weights of each row, and the logarithms of the sums of exp(scale · score).
    #[track_caller]
    pub(super) fn finish(self, k: Builder<'k>) -> (ColVec<'k, f32, 1>, ColVec<'k, f32, 1>) {
        let sums = self.sums.row_sum();
        let logs = sums.map(|sum| k.log2(sum)) + self.max * self.factor;
        (sums, logs * LN_2)
    }
}
