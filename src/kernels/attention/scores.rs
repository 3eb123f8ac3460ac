//! Transformations of the scores before softmax.

use std::f32::consts::LOG2_E;

use super::visible::Visible;
use crate::{ptx::Val, tiles::Rt};

/// Returns `scale`, or the smallest positive normal number if `scale` is 0, as it is for a head whose
/// elements are all 0. With a scale of 0, the score of an invisible key would be −∞ · 0, which is NaN.
#[track_caller]
pub(super) fn nonzero<'k>(scale: Val<'k, f32>) -> Val<'k, f32> {
    scale.eq(0.0).select(f32::MIN_POSITIVE, scale)
}

/// The computation of scores: products times `scale`, optionally with a cap and a bias.
#[derive(Clone, Copy)]
pub(super) struct Scores<'k> {
    pub(super) scale: Val<'k, f32>,
    pub(super) soft_cap: Option<f32>,
    /// The slope: the decrease of a score per position of distance between the query and the key.
    pub(super) slope: Option<Val<'k, f32>>,
}

impl<'k> Scores<'k> {
    /// Returns the factor by which the results of [`of`](Self::of) are multiplied to obtain the base-2 exponents of weights.
    #[track_caller]
    pub(super) fn factor(self) -> Val<'k, f32> {
        if self.is_scaled_later() { self.scale * LOG2_E } else { LOG2_E.into() }
    }

    fn is_scaled_later(self) -> bool {
        self.soft_cap.is_none() && self.slope.is_none()
    }

    /// Replaces the products in a tile that starts at query `query` and step `step` with scores.
    #[track_caller]
    pub(super) fn of<const H: usize, const N: usize>(
        self,
        products: Rt<'k, f32, H, N>,
        visible: Visible<'k>,
        query: Val<'k, u32>,
        step: Val<'k, u32>,
    ) -> Rt<'k, f32, H, N> {
        if self.is_scaled_later() {
            return products;
        }
        let mut scores = products * self.scale;
        if let Some(cap) = self.soft_cap {
            scores = capped(scores, cap);
        }
        if let Some(slope) = self.slope {
            let distance = visible.position(query, step);
            scores = scores.map_distance(distance, |distance, score| score - distance.abs() * slope);
        }
        scores
    }
}

/// Returns cap·tanh(score/cap), computed as tanh x = 2·sigmoid(2x) − 1, with an absolute error of about 10⁻⁶ times the cap; `tanh.approx`
/// would have an error of 5·10⁻⁴ times the cap.
#[track_caller]
fn capped<'k, const H: usize, const N: usize>(scores: Rt<'k, f32, H, N>, cap: f32) -> Rt<'k, f32, H, N> {
    (scores * (2.0 / cap)).sigmoid().mul_add(2.0 * cap, -cap)
}
