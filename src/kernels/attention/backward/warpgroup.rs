//! The work of a warpgroup: 64 keys of one head.

use super::{
    key_tiles::SumsOfWarp,
    visible::{QueryRange, VisibleFrom},
    weights::Weights,
};
use crate::{
    kernels::attention::dropout::HeadDropout,
    ptx::{Scope, State, Val, Visitor},
    tensor::TensorElement,
    tiles::{
        Assembly, Consumer, Convert, Filled, InFlight, Product, Received, RegisterOutbox, Ring, Rt,
        SharedSwizzle, St, Sv,
    },
};

/// The number of consumer warpgroups, each of which processes 64 keys.
pub(super) const C: usize = 2;
/// The number of subtiles of keys in a tile.
pub(super) const N: usize = 4 * C;
/// The number of keys in a tile.
pub(super) const KEYS: u32 = 16 * N as u32;

/// `M` subtiles of rows of Q and of dO, and two values for each row: the term that is added to the exponents, and δ.
pub(super) type QueryTiles<'k, T, const M: usize, const D: usize> =
    (St<'k, T, M, D>, Sv<'k, f32, M>, St<'k, T, M, D>, Sv<'k, f32, M>);
pub(super) type QueryRing<'k, T, const M: usize, const D: usize, const STAGES: usize> =
    Ring<'k, QueryTiles<'k, T, M, D>, STAGES, C>;
type QueryStage<'k, T, const M: usize, const D: usize> = Received<'k, QueryTiles<'k, T, M, D>>;

/// The inputs of a warpgroup.
pub(super) struct Warpgroup<
    'a,
    'k,
    T: TensorElement,
    S,
    const D: usize,
    const M: usize,
    const Q: usize,
    const STAGES: usize,
> {
    pub(super) c: Consumer<'k, C>,
    pub(super) keys: &'a Filled<St<'k, T, N, D, S>>,
    pub(super) values: &'a Filled<St<'k, T, N, D>>,
    pub(super) queries: &'a QueryRing<'k, T, M, D, STAGES>,
    /// dS of all warpgroups, and the outbox for dQ.
    pub(super) dq: Option<(&'a Assembly<'k, T, N, M, C>, &'a RegisterOutbox<'k, f32, Q, C>)>,
    pub(super) visible: VisibleFrom<'k>,
    pub(super) scale: Val<'k, f32>,
    /// The tile of keys.
    pub(super) tile: Val<'k, u32>,
}

/// P and dS of a step while the product of P and dO is in flight.
struct Weighted<'k, T: TensorElement, const D: usize, const M: usize> {
    p: Rt<'k, f32, 1, M>,
    ds: Rt<'k, T, 1, M>,
    dv: InFlight<'k, Rt<'k, f32, 1, D>>,
}

/// The state between two steps.
struct Running<'k, T: TensorElement, const D: usize, const M: usize> {
    /// The scores of the next step.
    scores: Rt<'k, f32, 1, M>,
    /// The queries of the next step.
    q: QueryStage<'k, T, M, D>,
    dk: Rt<'k, f32, 1, D>,
    dv: Rt<'k, f32, 1, D>,
}

impl<'k, T: TensorElement, const D: usize, const M: usize> State<'k> for Running<'k, T, D, M> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        self.scores.visit(visitor);
        self.q.visit(visitor);
        self.dk.visit(visitor);
        self.dv.visit(visitor);
    }
}

impl<'k, T, S, const D: usize, const M: usize, const Q: usize, const STAGES: usize>
    Warpgroup<'_, 'k, T, S, D, M, Q, STAGES>
where
    T: TensorElement + Product<T, f32>,
    S: SharedSwizzle,
    f32: Convert<T>,
{
    /// Adds the products of a head to dK and dV, and to this head's sums of dQ from a given tile onward.
    #[track_caller]
    pub(super) fn head(
        &self,
        range: QueryRange<'k>,
        sums: Option<SumsOfWarp<'_, 'k>>,
        dropout: Option<HeadDropout<'k>>,
        [dk, dv]: [Rt<'k, f32, 1, D>; 2],
    ) -> [Rt<'k, f32, 1, D>; 2] {
        let (k, group) = (self.c.group().kernel(), self.c.group());
        let weights = Weights { visible: self.visible, scale: self.scale, dropout, key: &|| self.key() };
        let q = self.c.receive(self.queries);
        let scores = self.scores(group.accumulate_from_zero(), &q).wait();
        let first = Running { scores, q, dk, dv };
        let last = range.before_last(k, first, |i, masked, state| {
            let next = |p| {
                let q = self.c.receive(self.queries);
                (self.scores(group.accumulate_from_zero_in(p), &q), q)
            };
            let ([dk, dv], (scores, q)) =
                self.step(i, masked, state, (sums, &weights), next, |(scores, q)| (scores.wait(), q));
            Running { scores, q, dk, dv }
        });
        let (results, ()) = self.step(range.end - 1, true, last, (sums, &weights), |_| (), |()| ());
        results
    }

    /// Adds the products of step `i`. While these are computed, `next` starts the products of the next step, and `wait` waits for them, so
    /// that the exponentials of the next step can follow immediately.
    #[track_caller]
    fn step<X, Y>(
        &self,
        i: Val<'k, u32>,
        masked: bool,
        Running { scores, q, dk, dv }: Running<'k, T, D, M>,
        (sums, weights): (Option<SumsOfWarp<'_, 'k>>, &Weights<'_, 'k>),
        next: impl FnOnce(Rt<'k, f32, 1, M>) -> X,
        wait: impl FnOnce(X) -> Y,
    ) -> ([Rt<'k, f32, 1, D>; 2], Y) {
        let c = self.c;
        let Weighted { p, ds, dv } = self.weighted(i, masked, scores, &q, dv, weights);
        let own = self.dq.map(|(assembly, _)| c.contribute(assembly, &ds));
        let dk = c.group().accumulate(dk).mma_ab(ds, &q.tiles().0);
        let next = next(p);
        let dv = dv.wait();
        let ds = self.dq.zip(own).map(|((assembly, _), own)| c.assembled(assembly, own));
        // Without this wait, there are not enough registers for dQ.
        let dk = dk.wait();
        let dq = ds.map(|ds| self.queries(&ds));
        match self.dq {
            // The fence of the contribution follows all loads from the stage.
            Some(_) => c.release(self.queries, q),
            None => c.release_loaded(self.queries, q),
        }
        let next = wait(next);
        self.add(dq, i, sums);
        ([dk, dv], next)
    }

    /// Computes P and dS of step `i`, and starts multiplying P by dO. If `masked` is true, some queries may not attend to some keys.
    #[track_caller]
    fn weighted(
        &self,
        i: Val<'k, u32>,
        masked: bool,
        scores: Rt<'k, f32, 1, M>,
        q: &QueryStage<'k, T, M, D>,
        dv: Rt<'k, f32, 1, D>,
        weights: &Weights<'_, 'k>,
    ) -> Weighted<'k, T, D, M> {
        let (c, group) = (self.c, self.c.group());
        let (_, exponents, d_o, deltas) = q.tiles();
        let dp = group.accumulate_from_zero::<Rt<f32, 1, M>>();
        let dp = dp.mma_abt(self.values.rows::<4>(c.rank()), d_o);
        let p = weights.p(i, masked, scores, |col| exponents.tile(col).load());
        let dv = group.accumulate(dv).mma_ab(weights.kept::<T, M>(&p), d_o);
        let ds = weights.ds(&p, dp.wait(), |col| deltas.tile(col).load());
        Weighted { p, ds: ds.convert(), dv }
    }

    /// Adds the share of dQ that this warpgroup computes in step `i` to the sums.
    #[track_caller]
    fn add(
        &self,
        dq: Option<InFlight<'k, Rt<'k, f32, 1, Q>>>,
        i: Val<'k, u32>,
        sums: Option<SumsOfWarp<'_, 'k>>,
    ) {
        if let Some((((_, outbox), dq), (sums, first))) = self.dq.zip(dq).zip(sums) {
            self.c.add_by_register(outbox, &dq.wait(), &sums.tile(first, i * M as u32));
        }
    }

    /// Returns the first key of this warp.
    #[track_caller]
    fn key(&self) -> Val<'k, u32> {
        self.tile * KEYS + self.c.rank() * 64 + self.c.warp() * 16
    }

    /// Starts computing the scores of a step.
    #[track_caller]
    fn scores(
        &self,
        to: InFlight<'k, Rt<'k, f32, 1, M>>,
        q: &QueryStage<'k, T, M, D>,
    ) -> InFlight<'k, Rt<'k, f32, 1, M>> {
        to.mma_abt(self.keys.rows::<4>(self.c.rank()), &q.tiles().0)
    }

    /// Starts computing this warpgroup's share of dQ: dS·K. The rows of `ds` are keys.
    #[track_caller]
    fn queries(&self, ds: &Filled<St<'k, T, N, M>>) -> InFlight<'k, Rt<'k, f32, 1, Q>> {
        let [row, col] = self.part_of_queries();
        let products = self.c.group().accumulate_from_zero::<Rt<f32, 1, Q>>();
        products.mma_atb(ds.cols::<4>(row), self.keys.cols::<Q>(col))
    }

    /// Returns the index of this warpgroup's 64 queries in a step, and the index of its columns of dQ.
    #[track_caller]
    pub(super) fn part_of_queries(&self) -> [Val<'k, u32>; 2] {
        if M == 4 { [0.into(), self.c.rank()] } else { [self.c.rank(), 0.into()] }
    }
}
