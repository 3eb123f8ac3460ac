//! Merges the results of several blocks or warps, each of which processes some of the keys.

use std::f32::consts::{LN_2, LOG2_E};

use crate::{
    kernels::base::base,
    ptx::Builder,
    tiles::{ColVec, Rt},
};

/// Merges several results for the same rows. Each result consists of weighted means of values and the logarithms of the sums of the
/// weights.
#[track_caller]
pub(super) fn merged<'k, const E: usize>(
    k: Builder<'k>,
    parts: Vec<(Rt<'k, f32, 1, E>, ColVec<'k, f32, 1>)>,
) -> (Rt<'k, f32, 1, E>, ColVec<'k, f32, 1>) {
    let (means, logs): (Vec<_>, Vec<_>) = parts.into_iter().map(|(mean, logs)| (mean, logs * LOG2_E)).unzip();
    let most = logs.iter().fold(k.filled(f32::NEG_INFINITY), |most: ColVec<f32, 1>, logs| most.max(logs));
    let most = most.map(base);
    let weights: Vec<_> = logs.into_iter().map(|logs| (logs - &most).exp2()).collect();
    let total = weights.iter().fold(k.zeros(), |total: ColVec<f32, 1>, weights| total + weights);
    // Without visible keys, the means are also 0.
    let factors = total.map(|total| total.eq(0.0).select(1.0, total)).recip();
    let weighted = means.into_iter().zip(weights).map(|(mean, weights)| mean * &(weights * &factors));
    let mean = weighted.reduce(|sum, mean| sum + &mean).expect("a part");
    (mean, (total.map(|total| k.log2(total)) + &most) * LN_2)
}
