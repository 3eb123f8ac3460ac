//! The work of a warpgroup: half of the columns of the gradients of 64 keys of one head.

use super::super::{
    key_tiles::SumsOfWarp,
    visible::{QueryRange, VisibleFrom},
    weights::Weights,
};
use crate::{
    kernels::attention::dropout::HeadDropout,
    ptx::{Scope, Val},
    tensor::TensorElement,
    tiles::{
        Assembly, Consumer, Convert, Filled, InFlight, Product, Received, RegisterOutbox, Ring, Rt,
        SharedSwizzle, St, Sv,
    },
};

/// The number of consumer warpgroups.
pub(super) const C: usize = 2;
/// The number of subtiles of keys in a tile.
pub(super) const N: usize = 4;
/// The number of subtiles of queries in a step.
pub(super) const M: usize = 4;
/// The number of subtiles of queries for which a warpgroup computes P and dS.
const P: usize = M / C;

/// Rows of Q, and the term that is added to the exponents of each row.
type QueryTiles<'k, T, S, const D: usize> = (St<'k, T, M, D, S>, Sv<'k, f32, M>);
/// Rows of dO, and δ of each row.
type GradientTiles<'k, T, V, const E: usize> = (St<'k, T, M, E, V>, Sv<'k, f32, M>);
pub(super) type QueryRing<'k, T, S, const D: usize> = Ring<'k, QueryTiles<'k, T, S, D>, 2, C>;
pub(super) type GradientRing<'k, T, V, const E: usize, const STAGES: usize> =
    Ring<'k, GradientTiles<'k, T, V, E>, STAGES, C>;
type QueryStage<'k, T, S, const D: usize> = Received<'k, QueryTiles<'k, T, S, D>>;

/// The halves of the columns of dK and dV that a warpgroup computes.
type Halves<'k, const DH: usize, const EH: usize> = (Rt<'k, f32, 1, DH>, Rt<'k, f32, 1, EH>);

/// The inputs of a warpgroup.
pub(super) struct Warpgroup<
    'a,
    'k,
    T,
    S,
    V,
    const D: usize,
    const E: usize,
    const Q: usize,
    const STAGES: usize,
> where
    T: TensorElement,
    S: SharedSwizzle,
    V: SharedSwizzle,
{
    pub(super) c: Consumer<'k, C>,
    pub(super) keys: &'a Filled<St<'k, T, N, D, S>>,
    pub(super) values: &'a Filled<St<'k, T, N, E>>,
    pub(super) queries: &'a QueryRing<'k, T, S, D>,
    pub(super) gradients: &'a GradientRing<'k, T, V, E, STAGES>,
    /// Shared memory for P and dS of both warpgroups; it contains either P or dS at any time.
    pub(super) weights: &'a Assembly<'k, T, N, M, C>,
    /// The outbox for dQ.
    pub(super) dq: Option<&'a RegisterOutbox<'k, f32, Q, C>>,
    pub(super) visible: VisibleFrom<'k>,
    pub(super) scale: Val<'k, f32>,
    /// The tile of keys.
    pub(super) tile: Val<'k, u32>,
}

impl<'k, T, S, V, const D: usize, const E: usize, const Q: usize, const STAGES: usize>
    Warpgroup<'_, 'k, T, S, V, D, E, Q, STAGES>
where
    T: TensorElement + Product<T, f32>,
    S: SharedSwizzle,
    V: SharedSwizzle,
    f32: Convert<T>,
{
    /// Adds the products of a head to dK and dV, and to this head's sums of dQ.
    #[track_caller]
    pub(super) fn head<const DH: usize, const EH: usize>(
        &self,
        range: QueryRange<'k>,
        sums: Option<SumsOfWarp<'_, 'k>>,
        dropout: Option<HeadDropout<'k>>,
        (dk, dv): Halves<'k, DH, EH>,
    ) -> Halves<'k, DH, EH> {
        let (k, group) = (self.c.group().kernel(), self.c.group());
        let visible = VisibleFrom { step: 16 * P as u32, ..self.visible };
        let key = || self.tile * super::KEYS + self.c.warp() * 16;
        let weights = Weights { visible, scale: self.scale, dropout, key: &key };
        let q = self.c.receive(self.queries);
        let scores = self.scores(group.accumulate_from_zero(), &q).wait();
        let last = range.before_last(k, (scores, q, (dk, dv)), |i, masked, state| {
            let next = |p| {
                let q = self.c.receive(self.queries);
                (self.scores(group.accumulate_from_zero_in(p), &q), q)
            };
            let (halves, (scores, q)) =
                self.step(i, masked, state, (sums, &weights), next, |(scores, q)| (scores.wait(), q));
            (scores, q, halves)
        });
        let (halves, ()) = self.step(range.end - 1, true, last, (sums, &weights), |_| (), |()| ());
        halves
    }

    /// Adds the products of step `i`. `next` starts computing the scores of the next step, and `wait` waits for them.
    #[track_caller]
    fn step<X, Y, const DH: usize, const EH: usize>(
        &self,
        i: Val<'k, u32>,
        masked: bool,
        (scores, q, (dk, dv)): (Rt<'k, f32, 1, P>, QueryStage<'k, T, S, D>, Halves<'k, DH, EH>),
        (sums, weights): (Option<SumsOfWarp<'_, 'k>>, &Weights<'_, 'k>),
        next: impl FnOnce(Rt<'k, f32, 1, P>) -> X,
        wait: impl FnOnce(X) -> Y,
    ) -> (Halves<'k, DH, EH>, Y) {
        let (c, group) = (self.c, self.c.group());
        let half = c.rank();
        let (queries, exponents) = q.tiles();
        let stage = c.receive(self.gradients);
        let (d_o, deltas) = stage.tiles();

        let dp = group.accumulate_from_zero::<Rt<f32, 1, P>>();
        let dp = dp.mma_abt(self.values, d_o.rows::<P>(half));
        let exponents = |col| exponents.tile(half * P as u32 + col).load();
        let p = weights.p(i * C as u32 + half, masked, scores, exponents);
        let own = c.contribute(self.weights, &weights.kept::<T, P>(&p));
        let all = c.assembled(self.weights, own);
        let dv = group.accumulate(dv).mma_ab(&all, d_o.cols::<EH>(half));
        let deltas = |col| deltas.tile(half * P as u32 + col).load();
        let ds = weights.ds(&p, dp.wait(), deltas).convert::<T>();
        let dv = dv.wait();
        // The products that read P are complete; the fence of the contribution follows all loads of the stages.
        let own = c.contribute(self.weights, &ds);
        c.release(self.gradients, stage);
        let next = next(p);
        let ds = c.assembled(self.weights, own);
        let dk = group.accumulate(dk).mma_ab(&ds, queries.cols::<DH>(half));
        let dq = self.dq.map(|_| self.queries(&ds, 0));
        let dk = dk.wait();
        c.release(self.queries, q);
        let next = wait(next);
        // dQ is computed in two halves, because there are not enough registers for both.
        self.add(dq, i, 0, sums);
        let dq = self.dq.map(|_| self.queries(&ds, 1));
        self.add(dq, i, 1, sums);
        ((dk, dv), next)
    }

    /// Starts computing the scores of a step.
    #[track_caller]
    fn scores(
        &self,
        to: InFlight<'k, Rt<'k, f32, 1, P>>,
        q: &QueryStage<'k, T, S, D>,
    ) -> InFlight<'k, Rt<'k, f32, 1, P>> {
        to.mma_abt(self.keys, q.tiles().0.rows::<P>(self.c.rank()))
    }

    /// Starts computing one half of this warpgroup's columns of dQ: dS·K. The rows of `ds` are keys.
    #[track_caller]
    fn queries(&self, ds: &Filled<St<'k, T, N, M>>, part: u32) -> InFlight<'k, Rt<'k, f32, 1, Q>> {
        let products = self.c.group().accumulate_from_zero::<Rt<f32, 1, Q>>();
        products.mma_atb(ds, self.keys.cols::<Q>(self.c.rank() * 2 + part))
    }

    /// Adds one half of this warpgroup's columns of dQ for step `i` to the sums.
    #[track_caller]
    fn add(
        &self,
        dq: Option<InFlight<'k, Rt<'k, f32, 1, Q>>>,
        i: Val<'k, u32>,
        part: u32,
        sums: Option<SumsOfWarp<'_, 'k>>,
    ) {
        if let Some(((outbox, dq), (sums, first))) = self.dq.zip(dq).zip(sums) {
            self.c.add_by_register(outbox, &dq.wait(), &sums.tile(first + part, i * M as u32));
        }
    }
}
