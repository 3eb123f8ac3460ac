//! P and dS of the keys and queries of a tile in registers.

use std::f32::consts::LOG2_E;

use super::visible::VisibleFrom;
use crate::{
    kernels::attention::dropout::HeadDropout,
    ptx::Val,
    tensor::TensorElement,
    tiles::{Convert, RowVec, Rt},
};

/// The parameters for computing P and dS in tiles with 16 keys as rows and the queries of a step as columns.
pub(super) struct Weights<'a, 'k> {
    pub(super) visible: VisibleFrom<'k>,
    pub(super) scale: Val<'k, f32>,
    /// The dropout of tiles whose rows are keys.
    pub(super) dropout: Option<HeadDropout<'k>>,
    /// Returns the first key, which is computed where needed rather than kept in a register.
    pub(super) key: &'a dyn Fn() -> Val<'k, u32>,
}

impl<'k> Weights<'_, 'k> {
    /// Returns P of step `i`, given the scores and, for every 16 queries, the terms that are added to the exponents. If `masked` is true,
    /// some queries may not attend to some keys. With dropout, dropped weights are negative.
    #[track_caller]
    pub(super) fn p<const M: usize>(
        &self,
        i: Val<'k, u32>,
        masked: bool,
        scores: Rt<'k, f32, 1, M>,
        exponents: impl Fn(u32) -> RowVec<'k, f32, 1>,
    ) -> Rt<'k, f32, 1, M> {
        // Weights are computed as powers of two. This factor is recomputed in each step rather than kept in a register.
        let factor = self.scale * LOG2_E;
        // The terms are loaded for a few queries at a time, so that few of them occupy registers.
        let p = (0..M).fold(scores, |scores, col| {
            scores.update_subtile::<1, 1>(0, col, |scores| {
                let exponents = exponents(col as u32);
                scores.mul_add(factor, &exponents).exp2()
            })
        });
        let p = if masked { self.visible.only(p, (self.key)(), i) } else { p };
        match self.dropout {
            Some(dropout) => dropout.mark(p, [(self.key)() / 16, i * M as u32]),
            None => p,
        }
    }

    /// Returns the weights that are multiplied by dO for dV, without the dropout factor.
    #[track_caller]
    pub(super) fn kept<T, const M: usize>(&self, p: &Rt<'k, f32, 1, M>) -> Rt<'k, T, 1, M>
    where
        T: TensorElement,
        f32: Convert<T>,
    {
        match self.dropout {
            Some(_) => p.map_to::<f32>(|p| p.max(0.0)).convert::<T>(),
            None => p.convert::<T>(),
        }
    }

    /// Returns dS, given P, dP and, for every 16 queries, δ.
    #[track_caller]
    pub(super) fn ds<const M: usize>(
        &self,
        p: &Rt<'k, f32, 1, M>,
        dp: Rt<'k, f32, 1, M>,
        deltas: impl Fn(u32) -> RowVec<'k, f32, 1>,
    ) -> Rt<'k, f32, 1, M> {
        (0..M).fold(dp, |dp, col| {
            dp.update_subtile::<1, 1>(0, col, |dp| {
                let deltas = deltas(col as u32);
                let p = p.subtile::<1, 1>(0, col);
                match self.dropout {
                    Some(dropout) => dropout.of_scores(dp, &p, &deltas),
                    None => (dp - &deltas) * &p,
                }
            })
        })
    }
}
