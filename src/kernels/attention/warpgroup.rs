//! The work of a warpgroup: 64 queries of one head.

use super::{dropout::HeadDropout, scores::Scores, softmax::Softmax, values::Values, visible::Visible};
use crate::{
    ptx::{Scope, State, Val, Visitor},
    tensor::TensorElement,
    tiles::{ColVec, Consumer, Filled, Frozen, InFlight, Product, Received, Ring, Rt, SharedMatrix, St},
};

/// Stages of `N`×`D` subtiles of keys or values.
pub(super) type FactorRing<'k, T, const N: usize, const D: usize, const STAGES: usize, const C: usize> =
    Ring<'k, (St<'k, T, N, D>,), STAGES, C>;

/// The location of the queries.
pub(super) enum Queries<'k, T: TensorElement, const D: usize> {
    Shared(SharedMatrix<'k, T, 4, D>),
    Registers(Frozen<'k, T, D>),
}

/// The inputs of a warpgroup.
pub(super) struct Warpgroup<
    'a,
    'k,
    T,
    const D: usize,
    const E: usize,
    const N: usize,
    const STAGES: usize,
    const C: usize,
    V: Values<'k, T, E, N>,
> where
    T: TensorElement,
{
    pub(super) c: Consumer<'k, C>,
    pub(super) queries: Queries<'k, T, D>,
    pub(super) keys: &'a FactorRing<'k, T, N, D, STAGES, C>,
    pub(super) values: &'a Ring<'k, (V::Tile,), STAGES, C>,
    pub(super) visible: Visible<'k>,
    pub(super) scores: Scores<'k>,
    /// The score of an additional key that is added to the softmax.
    pub(super) sink: Option<Val<'k, f32>>,
    pub(super) dropout: Option<HeadDropout<'k>>,
    /// A factor of the results.
    pub(super) factor: Option<Val<'k, f32>>,
    /// The first query of the warp.
    pub(super) query: Val<'k, u32>,
    /// Whether values after the last key are loaded. They may be NaN, which a weight of 0 does not remove.
    pub(super) clears_values: bool,
}

/// The state between two steps.
pub(super) struct Running<'k, T: TensorElement, const E: usize, const N: usize, V: Values<'k, T, E, N>> {
    /// The values of the last step.
    pub(super) values: Received<'k, (V::Tile,)>,
    /// The weighted sum of the values of the steps before the last one.
    pub(super) sum: Rt<'k, f32, 1, E>,
    /// The weights of the last step.
    pub(super) weights: V::Weights,
    pub(super) softmax: Softmax<'k>,
}

impl<'k, T: TensorElement, const E: usize, const N: usize, V: Values<'k, T, E, N>> State<'k>
    for Running<'k, T, E, N, V>
{
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.values.visit(visitor);
        self.sum.visit(visitor);
        self.weights.visit(visitor);
        self.softmax.visit(visitor);
    }
}

impl<'k, T, const D: usize, const E: usize, const N: usize, const STAGES: usize, const C: usize, V>
    Warpgroup<'_, 'k, T, D, E, N, STAGES, C, V>
where
    T: TensorElement + Product<T, f32>,
    V: Values<'k, T, E, N>,
{
    #[track_caller]
    fn products(&self, keys: &Filled<St<'k, T, N, D>>) -> InFlight<'k, Rt<'k, f32, 1, N>> {
        let products = self.c.group().accumulate_from_zero::<Rt<f32, 1, N>>();
        match &self.queries {
            Queries::Shared(queries) => products.mma_abt(*queries, keys),
            Queries::Registers(queries) => products.mma_abt(queries, keys),
        }
    }

    /// Replaces the products of step `j` by scores; in a `masked` step, some keys are not visible.
    #[track_caller]
    fn scores(&self, products: Rt<'k, f32, 1, N>, j: Val<'k, u32>, masked: bool) -> Rt<'k, f32, 1, N> {
        let Self { visible, query, .. } = *self;
        let scores = self.scores.of(products, visible, query, j);
        if masked { visible.only(scores, query, j) } else { scores }
    }

    /// Replaces the weights of step `j` that are dropped by zeros.
    #[track_caller]
    fn kept(&self, weights: Rt<'k, f32, 1, N>, j: Val<'k, u32>) -> Rt<'k, f32, 1, N> {
        match self.dropout {
            Some(dropout) => dropout.keep(weights, [self.query / 16, j * N as u32]),
            None => weights,
        }
    }

    /// Computes the weights of the first step.
    #[track_caller]
    pub(super) fn start(&self, first: Val<'k, u32>) -> Running<'k, T, E, N, V> {
        let Self { c, keys, .. } = *self;
        let k = c.group().kernel();
        let sum = k.zeros();
        let stage = c.receive(keys);
        let products = self.products(&stage.tiles().0).wait();
        c.release(keys, stage);
        let scores = self.scores(products, first, true);
        let (softmax, weights) = Softmax::start(k, self.scores.factor(), V::LIFT, scores);
        let weights = self.kept(weights, first);
        Running { values: self.receive_values(first, true), sum, weights: V::rounded(k, weights), softmax }
    }

    /// Computes the weights of step `j` while the values of the step before are multiplied. `masked` steps have keys that are not
    /// visible.
    #[track_caller]
    pub(super) fn advance(
        &self,
        j: Val<'k, u32>,
        masked: bool,
        Running { values: previous, sum, weights, softmax }: Running<'k, T, E, N, V>,
    ) -> Running<'k, T, E, N, V> {
        let Self { c, keys, values, .. } = *self;
        let k = c.group().kernel();
        let stage = c.receive(keys);
        let products = self.products(&stage.tiles().0);
        let sum = V::add(c.group().accumulate(sum), weights, &previous.tiles().0);
        let products = products.wait();
        c.release(keys, stage);
        let scores = self.scores(products, j, masked);
        let (softmax, weights, rescale) = softmax.weigh(scores);
        let weights = self.kept(weights, j);
        // This wait also keeps ptxas from moving the next one forward, before the weights.
        let next = self.receive_values(j, masked);
        let sum = sum.wait();
        c.release(values, previous);
        Running { values: next, sum: rescale.apply(sum), weights: V::rounded(k, weights), softmax }
    }

    /// Waits for the values of step `j`; in a `masked` step, some values do not belong to keys.
    #[track_caller]
    fn receive_values(&self, j: Val<'k, u32>, masked: bool) -> Received<'k, (V::Tile,)> {
        let stage = self.c.receive(self.values);
        if masked {
            self.clear_values(&stage.tiles().0, j);
        }
        stage
    }

    /// Clears the values of step `j` that do not belong to keys, together with the other warpgroups.
    #[track_caller]
    fn clear_values(&self, values: &Filled<V::Tile>, j: Val<'k, u32>) {
        if !self.clears_values {
            return;
        }
        let step = self.visible.step;
        let first = j * step;
        let rows = self.visible.keys.max(first) - first;
        if C == 1 {
            V::clear(self.c, values, rows);
        } else {
            // A step of some warpgroups is skipped by others; all of them take part in this one.
            self.c.group().kernel().if_(rows.lt(step), || V::clear(self.c, values, rows));
        }
    }

    /// Skips step `j`, in which only queries of other warpgroups have keys.
    #[track_caller]
    pub(super) fn skip(&self, j: Val<'k, u32>) {
        let Self { c, keys, values, .. } = *self;
        let stage = c.receive(keys);
        c.release(keys, stage);
        let stage = c.receive(values);
        self.clear_values(&stage.tiles().0, j);
        c.release(values, stage);
    }

    /// Multiplies the values of the last step; returns the rows of O, and the logarithms.
    #[track_caller]
    pub(super) fn finish(
        &self,
        Running { values: previous, sum, weights, softmax }: Running<'k, T, E, N, V>,
    ) -> (Rt<'k, f32, 1, E>, ColVec<'k, f32, 1>) {
        let Self { c, values, .. } = *self;
        let sum = V::add(c.group().accumulate(sum), weights, &previous.tiles().0);
        let (divisor, log) = softmax.finish(self.sink);
        let sum = sum.wait();
        c.release(values, previous);
        let factors = divisor.recip();
        let factors = match self.factor {
            Some(factor) => factors * factor,
            None => factors,
        };
        (sum * &factors, log)
    }
}
