//! The work of a warpgroup: 64 queries of one head.

use std::marker::PhantomData;

use super::{
    dropout::HeadDropout, overlap::ProductOrder, scores::Scores, softmax::Softmax, values::Values,
    visible::Visible,
};
use crate::{
    ptx::{Builder, Scope, State, Val, Visitor},
    tensor::TensorElement,
    tiles::{
        Baton, ColVec, Consumer, Filled, Frozen, InFlight, Product, Received, Ring, Rt, SharedMatrix, St,
    },
};

/// Stages of `N`×`D` subtiles of keys or values.
pub(super) type FactorRing<'k, T, const N: usize, const D: usize, const STAGES: usize, const C: usize> =
    Ring<'k, (St<'k, T, N, D>,), STAGES, C>;

/// The queries of a warpgroup, in shared memory or in registers.
pub(super) enum Queries<'k, T: TensorElement, const D: usize> {
    Shared(SharedMatrix<'k, T, 4, D>),
    Registers(Frozen<'k, T, D>),
}

/// The order in which warpgroups start products.
pub(super) enum Order<'k, const C: usize> {
    Free,
    InTurn(Baton<'k, C>),
    Staggered(Baton<'k, C>),
}

impl<'k, const C: usize> Order<'k, C> {
    /// Creates the barriers of an order. All threads of the block must execute the emitted code.
    #[track_caller]
    pub(super) fn new(k: Builder<'k>, order: ProductOrder) -> Self {
        match order {
            ProductOrder::Free => Self::Free,
            ProductOrder::InTurn => Self::InTurn(k.baton()),
            ProductOrder::Staggered => Self::Staggered(k.baton()),
        }
    }
}

/// The inputs of a warpgroup.
pub(super) struct Warpgroup<
    'a,
    'k,
    T: TensorElement,
    const D: usize,
    const E: usize,
    const N: usize,
    const STAGES: usize,
    const C: usize,
    V: Values<'k, T, E, N>,
> {
    pub(super) c: Consumer<'k, C>,
    pub(super) queries: Queries<'k, T, D>,
    pub(super) keys: &'a FactorRing<'k, T, N, D, STAGES, C>,
    pub(super) values: &'a Ring<'k, (V::Tile,), STAGES, C>,
    /// The layout of values in shared memory.
    pub(super) layout: PhantomData<V>,
    pub(super) visible: Visible<'k>,
    pub(super) scores: Scores<'k>,
    /// The score of an additional key with values of 0.
    pub(super) sink: Option<Val<'k, f32>>,
    pub(super) dropout: Option<HeadDropout<'k>>,
    /// The scale factor for the results, if any.
    pub(super) factor: Option<Val<'k, f32>>,
    /// The first query of the warp.
    pub(super) query: Val<'k, u32>,
    /// Whether values after the last key are loaded and must be cleared, because they may be NaN, and a NaN multiplied by a weight of 0 is
    /// NaN.
    pub(super) clears_values: bool,
    pub(super) order: &'a Order<'k, C>,
    /// Whether the weights of a step are rounded before the product of the preceding step's weights and values is complete.
    pub(super) rounds_early: bool,
}

/// The weights of a step, before or after they are rounded.
enum Weights<R, W> {
    Exact(R),
    Rounded(W),
}

/// The state between two steps.
pub(super) struct Running<'k, Values, Weights, const E: usize> {
    /// The values of the last step.
    values: Values,
    /// The weighted sum of the values of the steps before the last one.
    sum: Rt<'k, f32, 1, E>,
    /// The weights of the last step.
    weights: Weights,
    softmax: Softmax<'k>,
}

/// The state between two steps of values with the layout `V`.
type OfStep<'k, T, V, const E: usize, const N: usize> =
    Running<'k, Received<'k, (<V as Values<'k, T, E, N>>::Tile,)>, <V as Values<'k, T, E, N>>::Weights, E>;

impl<'k, Values: State<'k>, Weights: State<'k>, const E: usize> State<'k>
    for Running<'k, Values, Weights, E>
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

    /// Starts products, and waits for Q·Kᵀ. Each warpgroup must call this function or [`pass`](Self::pass) once per step.
    #[track_caller]
    fn multiply<S>(
        &self,
        start: impl FnOnce() -> (InFlight<'k, Rt<'k, f32, 1, N>>, S),
    ) -> (Rt<'k, f32, 1, N>, S) {
        let (products, others) = match self.order {
            Order::Free => start(),
            Order::InTurn(baton) => self.c.hold(baton, start),
            Order::Staggered(baton) => {
                return self.c.hold(baton, || {
                    let (products, others) = start();
                    (products.wait(), others)
                });
            }
        };
        (products.wait(), others)
    }

    /// Passes the turn to the next warpgroup without starting products.
    #[track_caller]
    fn pass(&self) {
        if let Order::InTurn(baton) | Order::Staggered(baton) = self.order {
            self.c.hold(baton, || ());
        }
    }

    /// Replaces the products of step `j` with scores. If `masked` is true, some keys may not be visible.
    #[track_caller]
    fn scores(&self, products: Rt<'k, f32, 1, N>, j: Val<'k, u32>, masked: bool) -> Rt<'k, f32, 1, N> {
        let Self { visible, query, .. } = *self;
        let scores = self.scores.of(products, visible, query, j);
        if masked { visible.only(scores, query, j) } else { scores }
    }

    /// Replaces the dropped weights of step `j` with zeros.
    #[track_caller]
    fn kept(&self, weights: Rt<'k, f32, 1, N>, j: Val<'k, u32>) -> Rt<'k, f32, 1, N> {
        match self.dropout {
            Some(dropout) => dropout.keep(weights, [self.query / 16, j * N as u32]),
            None => weights,
        }
    }

    /// Computes the weights of the first step.
    #[track_caller]
    pub(super) fn start(&self, first: Val<'k, u32>) -> OfStep<'k, T, V, E, N> {
        let Self { c, keys, .. } = *self;
        let k = c.group().kernel();
        let sum = k.zeros();
        let step = c.receive(keys);
        let (products, ()) = self.multiply(|| (self.products(&step.tiles().0), ()));
        c.release(keys, step);
        let scores = self.scores(products, first, true);
        let (softmax, weights) = Softmax::start(k, self.scores.factor(), V::LIFT, scores);
        let weights = self.kept(weights, first);
        Running { values: self.receive_values(first, true), sum, weights: V::rounded(k, weights), softmax }
    }

    /// Computes the weights of step `j` while the values of the preceding step are multiplied. If `masked` is true, some keys may not be
    /// visible.
    #[track_caller]
    pub(super) fn advance(
        &self,
        j: Val<'k, u32>,
        masked: bool,
        Running { values: previous, sum, weights, softmax }: OfStep<'k, T, V, E, N>,
    ) -> OfStep<'k, T, V, E, N> {
        let Self { c, keys, values, .. } = *self;
        let k = c.group().kernel();
        let step = c.receive(keys);
        let (products, sum) = self.multiply(|| {
            let products = self.products(&step.tiles().0);
            (products, V::add(c.group().accumulate(sum), weights, &previous.tiles().0))
        });
        c.release(keys, step);
        let scores = self.scores(products, j, masked);
        let (softmax, weights, rescale) = softmax.weigh(scores);
        let weights = self.kept(weights, j);
        let weights = if self.rounds_early {
            Weights::Rounded(V::rounded(k, weights))
        } else {
            Weights::Exact(weights)
        };
        // This wait also keeps ptxas from moving the next wait ahead of the weights.
        let next = self.receive_values(j, masked);
        let sum = sum.wait();
        c.release(values, previous);
        let sum = rescale.apply(sum);
        let weights = match weights {
            Weights::Rounded(weights) => weights,
            Weights::Exact(weights) => V::rounded(k, weights),
        };
        Running { values: next, sum, weights, softmax }
    }

    /// Waits for the values of step `j`. If `masked` is true, some values may be past the last key.
    #[track_caller]
    fn receive_values(&self, j: Val<'k, u32>, masked: bool) -> Received<'k, (V::Tile,)> {
        let step = self.c.receive(self.values);
        if masked {
            self.clear_values(&step.tiles().0, j);
        }
        step
    }

    /// Together with the other warpgroups, clears the values of step `j` that are past the last key.
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
            // Some warpgroups may skip a step that others process, but all warpgroups take part in clearing a step that extends past the
            // last key.
            self.c.group().kernel().if_(rows.lt(step), || V::clear(self.c, values, rows));
        }
    }

    /// Skips step `j`, in which only queries of other warpgroups have visible keys.
    #[track_caller]
    pub(super) fn skip(&self, j: Val<'k, u32>) {
        let Self { c, keys, values, .. } = *self;
        let step = c.receive(keys);
        self.pass();
        c.release(keys, step);
        let step = c.receive(values);
        self.clear_values(&step.tiles().0, j);
        c.release(values, step);
    }

    /// Multiplies the values of the last step, and returns the rows of O and the logarithms.
    #[track_caller]
    pub(super) fn finish(
        &self,
        Running { values: previous, sum, weights, softmax }: OfStep<'k, T, V, E, N>,
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
