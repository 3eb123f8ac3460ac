//! The processing of a chunk of tokens, each of which has a decay factor.

use super::{decay::Decays, inputs::SUBTILES};
use crate::{
    atoms::MmaOperand,
    kernels::loads::load_no_further,
    ptx::Builder,
    tensor::TensorElement,
    tiles::{Col, ColVec, Convert, Filled, Product, Row, RowVec, Rt, St, Sv},
};

/// The operands of a warp, which computes 16 columns of the results and `P` subtiles of the scores. `D` is the number of columns of
/// subtiles of Q and K.
pub(super) struct Chunk<'a, 'k, T: TensorElement, const D: usize, const E: usize, const P: usize> {
    pub(super) k: Builder<'k>,
    pub(super) q: &'a Filled<St<'k, T, SUBTILES, D>>,
    pub(super) keys: &'a Filled<St<'k, T, SUBTILES, D>>,
    pub(super) values: &'a Filled<St<'k, T, SUBTILES, E>>,
    pub(super) decays: &'a Decays<'k>,
    /// The weight of each token; `None` if all weights are 1.
    pub(super) weights: Option<&'a Filled<Sv<'k, f32, SUBTILES>>>,
}

/// The transpose of Σ kⱼᵀ·vⱼ for 16 columns of V. Each term is multiplied by the decay factor from token j to the last token.
pub(super) type Past<'k, const D: usize> = Rt<'k, f32, 1, D>;

impl<'k, T, const D: usize, const E: usize, const P: usize> Chunk<'_, 'k, T, D, E, P>
where
    T: TensorElement + Product<T, f32> + Convert<f32>,
    f32: Convert<T>,
{
    /// Returns qᵢ·kⱼ for j ≤ i, multiplied by the decay factors from token j to token i. Each warp computes some of the subtiles.
    #[track_caller]
    pub(super) fn scores(
        &self,
        scores: St<'k, T, SUBTILES, SUBTILES>,
    ) -> Filled<St<'k, T, SUBTILES, SUBTILES>> {
        let Self { k, q, keys, decays, weights, .. } = *self;
        let warp = k.warp().rank();
        let (row, part) = (warp % SUBTILES as u32, warp / SUBTILES as u32);
        let mut products = k.zeros::<Rt<f32, 1, P>>();
        for d in 0..D as u32 {
            load_no_further(k);
            let (q, keys) = (q.subtile(row, d), keys.subtile(part * P as u32, d));
            products =
                products.mma_abt(&q.load::<1, 1, Row>(), &keys.load_operand::<P, 1, Row>(MmaOperand::B));
        }
        let mut products = products * decays.between(row, part);
        if let Some(weights) = weights {
            let weights: RowVec<f32, P> = weights.tile(part).load();
            products *= &weights;
        }
        let diagonal = (row * 16).cast::<i32>() - (part * 16 * P as u32).cast::<i32>();
        let products = products.tril(diagonal, 0.0);
        scores.store_with(|all| all.subtile(row, part * P as u32).store(&products)).wait()
    }

    /// Returns the results for each group of 16 tokens: the sums of the contributions of the state before the chunk and of the tokens of
    /// the chunk.
    #[track_caller]
    pub(super) fn sums(
        &self,
        past: &Past<'k, D>,
        scores: &Filled<St<'k, T, SUBTILES, SUBTILES>>,
    ) -> impl Iterator<Item = (u32, Rt<'k, f32, 1, 1>)> {
        let Self { k, q, values, decays, .. } = *self;
        let mut sums = k.zeros::<Rt<f32, SUBTILES, 1>>();
        for d in 0..D {
            load_no_further(k);
            let past = past.subtile::<1, 1>(0, d).convert::<T>();
            sums = sums.mma_abt(&q.subtile(0, d as u32).load::<SUBTILES, 1, Row>(), &past);
        }
        (0..).zip(sums.vsplit::<1, SUBTILES>()).map(move |(i, mut sums)| {
            load_no_further(k);
            sums *= &decays.of_past(i);
            for j in 0..=i {
                let scores = scores.subtile(i, j).load::<1, 1, Row>();
                sums = sums.mma_ab(&scores, &values.subtile(j, k.warp()).load::<1, 1, Col>());
            }
            (i, sums)
        })
    }

    /// Returns the state after the chunk.
    #[track_caller]
    pub(super) fn after(&self, mut past: Past<'k, D>) -> Past<'k, D> {
        let Self { k, keys, values, decays, weights, .. } = *self;
        past *= decays.of_all();
        for j in 0..SUBTILES as u32 {
            load_no_further(k);
            let mut factors = decays.to_last(j);
            if let Some(weights) = weights {
                let weights: ColVec<f32, 1, Col> = weights.tile(j).load();
                factors *= &weights;
            }
            let values = values.subtile(j, k.warp()).load_as::<f32, 1, 1, Col>() * &factors;
            past = past.mma_atb(&values.convert::<T>(), &keys.subtile(j, 0).load::<1, D, Col>());
        }
        past
    }
}
