//! The happens-before relation between the warps of a cluster.
//!
//! Time is a counter that every release advances. For each pair of warps, the clocks store the time up to which the accesses of one warp
//! are ordered before all future accesses of the other. Barriers, mbarrier phases and atomics with fences pass this knowledge on. Lanes of
//! one warp are ordered by warp-wide synchronization.
//!
//! In addition to the warps, the asynchronous engines are agents: one for bulk copies, one for `cp.async` copies that an mbarrier counts,
//! and the tensor cores of each warpgroup. Warps that have waited for an engine know its accesses.

use rustc_hash::FxHashMap;

/// A point in time. Accesses are recorded with the time at which they occurred.
pub(crate) type Time = u32;

/// The latest time. Access records have 28 bits for the time, with one value reserved.
pub(crate) const END: Time = (1 << 28) - 2;

/// The knowledge of a warp or a synchronization object. For each agent, it contains the exclusive time up to which its accesses are ordered
/// before future accesses, followed, for each agent, by the time up to which a proxy fence orders its accesses before future asynchronous
/// operations.
pub(crate) type Knowledge = Vec<Time>;

/// The number of warps that compute a product together.
pub(crate) const WARPGROUP: usize = 4;

/// The clocks of all warps of a cluster and of the asynchronous engines.
#[derive(Debug, Default)]
pub(crate) struct Clocks {
    agents: usize,
    warps: usize,
    /// The number of warps and the number of warpgroups per block. Without products, there are no warpgroups.
    block_warps: usize,
    block_groups: usize,
    now: Time,
    /// The knowledge of each agent.
    known: Vec<Time>,
    /// The time before which each warp knows the accesses of all other warps and of its own lanes. Older accesses require no further
    /// comparison.
    floor: Vec<Time>,
    /// The time at which all lanes of each warp last synchronized.
    lanes: Vec<Time>,
    /// For warps in which only some lanes have synchronized, the time up to which each lane knows the accesses of each other lane.
    some_lanes: Vec<Vec<Time>>,
    /// The time at which each warp last executed a fence, and the time at which the cluster started.
    fenced: Vec<Time>,
    started: Time,
    /// The knowledge released by strong writes, by word of memory, and the knowledge that each warp has read but not yet acquired with a
    /// fence.
    released: FxHashMap<u64, Knowledge>,
    seen: Vec<Time>,
    /// The time at which each engine was last active.
    worked: Vec<Time>,
    /// Every warp knows the accesses before this time.
    oldest: Time,
}

impl Clocks {
    fn tick(&mut self) {
        self.now = (self.now + 1).min(END);
    }

    /// Returns whether the clock has overflowed. After that, no order is known.
    #[inline(always)]
    pub(crate) fn ended(&self) -> bool {
        self.now == END
    }

    /// Creates the clocks of `blocks` blocks of `warps` warps each; `products` specifies whether they may compute products.
    pub(crate) fn new(blocks: usize, warps: usize, products: bool) -> Self {
        let block_groups = if products { warps.div_ceil(WARPGROUP) } else { 0 };
        let agents = blocks * (warps + block_groups) + 2;
        Self { agents, warps: blocks * warps, block_warps: warps, block_groups, ..Self::default() }
    }

    /// Resets the clocks. All past accesses are then ordered before all future accesses.
    pub(crate) fn start(&mut self) {
        self.tick();
        let agents = self.agents;
        let all = |v: &mut Vec<Time>, n: usize, value: Time| {
            v.clear();
            v.resize(n, value);
        };
        let width = self.width();
        all(&mut self.known, agents * width, self.now);
        all(&mut self.floor, agents, self.now);
        all(&mut self.lanes, agents, self.now);
        self.some_lanes.resize(agents, vec![]);
        self.some_lanes.iter_mut().for_each(Vec::clear);
        all(&mut self.fenced, agents, self.now);
        self.started = self.now;
        self.released.clear();
        all(&mut self.seen, agents * width, 0);
        all(&mut self.worked, agents - self.warps, 0);
        for warp in 0..self.warps {
            self.refresh(warp);
        }
    }

    /// Records that an engine is now active, so that warps with older knowledge must compare times.
    pub(crate) fn work(&mut self, engine: usize) {
        self.worked[engine - self.warps] = self.now;
        for warp in 0..self.warps {
            self.floor[warp] = self.floor[warp].min(self.known(warp, engine));
        }
        self.refresh_oldest();
    }

    /// Returns whether an engine has been active.
    pub(crate) fn has_worked(&self, engine: usize) -> bool {
        self.worked[engine - self.warps] != 0
    }

    /// Records that the next accesses of an engine are ordered after the accesses in `known`.
    pub(crate) fn inform(&mut self, engine: usize, known: &[Time]) {
        let start = engine * self.width();
        self.known[start..start + known.len()].copy_from_slice(known);
    }

    /// Adds the accesses of an engine to the knowledge of `object`.
    pub(crate) fn release_engine(&mut self, engine: usize, object: &mut Knowledge) {
        object.resize(self.width(), 0);
        self.tick();
        object[engine] = self.now;
    }

    /// Records that a warp knows the accesses of an engine before `time`.
    pub(crate) fn learn(&mut self, warp: usize, engine: usize, time: Time) {
        let at = warp * self.width() + engine;
        let known = &mut self.known[at];
        *known = (*known).max(time);
        self.refresh(warp);
    }

    /// Records that a warp knows all accesses of an engine.
    pub(crate) fn learn_all(&mut self, warp: usize, engine: usize) {
        self.tick();
        self.learn(warp, engine, self.now);
    }

    /// Returns the engine that performs bulk copies.
    pub(crate) fn engine(&self) -> usize {
        self.warps
    }

    /// Returns the engine that performs the `cp.async` copies that mbarriers count.
    pub(crate) fn copier(&self) -> usize {
        self.warps + 1
    }

    /// Returns the tensor cores that compute the products of a warp's warpgroup.
    pub(crate) fn tensor_cores(&self, warp: usize) -> usize {
        let (block, warp) = (warp / self.block_warps, warp % self.block_warps);
        self.warps + 2 + block * self.block_groups + warp / WARPGROUP
    }

    /// Returns the warp that represents an agent in a finding. Tensor cores are represented by the first warp of their warpgroup.
    pub(crate) fn spokesman(&self, agent: usize) -> usize {
        let Some(group) = agent.checked_sub(self.warps + 2) else { return agent };
        group / self.block_groups * self.block_warps + group % self.block_groups * WARPGROUP
    }

    /// Returns the number of warps of the cluster.
    pub(crate) fn warps(&self) -> usize {
        self.warps
    }

    /// Returns the time up to which the accesses of `other` are ordered before the current accesses of `warp`.
    pub(crate) fn known(&self, warp: usize, other: usize) -> Time {
        self.known[warp * self.width() + other]
    }

    /// Returns the number of entries in an agent's knowledge.
    fn width(&self) -> usize {
        2 * self.agents
    }

    pub(crate) fn agents(&self) -> usize {
        self.agents
    }

    #[inline(always)]
    pub(crate) fn now(&self) -> Time {
        self.now
    }

    #[inline(always)]
    pub(crate) fn floor(&self, warp: usize) -> Time {
        self.floor[warp]
    }

    /// Returns whether an access of `other` at `time` is ordered before the current accesses of `warp`.
    pub(crate) fn knows(&self, warp: usize, other: usize, time: Time) -> bool {
        time < self.known(warp, other)
    }

    /// Returns whether an access of lane `from` of the warp at `time` is ordered before the current accesses of lane `to`.
    pub(crate) fn lanes_know(&self, warp: usize, from: usize, to: usize, time: Time) -> bool {
        let among_some = || self.some_lanes[warp].get(32 * to + from).is_some_and(|&known| time < known);
        from == to || time < self.lanes[warp] || among_some()
    }

    /// Returns whether an access of any other lane of the warp at `time` is ordered before the current accesses of lane `to`.
    pub(crate) fn several_lanes_known(&self, warp: usize, to: usize, time: Time) -> bool {
        (0..32).any(|from| from != to && self.lanes_know(warp, from, to, time))
    }

    /// Returns whether an access of a lane at `time` is ordered before the current accesses of another lane (both given as warp and lane).
    pub(crate) fn ordered(&self, from: (usize, usize), time: Time, to: (usize, usize)) -> bool {
        if self.ended() {
            return true;
        }
        match from.0 == to.0 {
            true => self.lanes_know(to.0, from.1, to.1, time),
            false => self.knows(to.0, from.0, time),
        }
    }

    /// Returns the time at which the warp's lanes last synchronized.
    pub(crate) fn lanes_synced(&self, warp: usize) -> Time {
        self.lanes[warp]
    }

    /// Returns whether a proxy fence orders an access of `other` at `time` before the current asynchronous operations of `warp`.
    pub(crate) fn proxy_fenced(&self, warp: usize, other: usize, time: Time) -> bool {
        self.ended() || time < self.known(warp, self.agents + other)
    }

    fn refresh(&mut self, warp: usize) {
        let start = warp * self.width();
        let row = &self.known[start..start + self.agents];
        let (warps, engines) = row.split_at(self.warps);
        let least = |known: &[Time]| known.iter().fold(Time::MAX, |least, &time| least.min(time));
        // A warp that knows all accesses of an engine does not have to compare times with it.
        let engines = engines.iter().zip(&self.worked);
        let engines = engines.fold(
            Time::MAX,
            |least, (&known, &worked)| if known <= worked { least.min(known) } else { least },
        );
        let others = least(&warps[..warp]).min(least(&warps[warp + 1..]));
        self.floor[warp] = others.min(engines).min(self.lanes[warp]);
        self.refresh_oldest();
    }

    fn refresh_oldest(&mut self) {
        self.oldest = self.floor[..self.warps].iter().copied().min().unwrap_or(0);
    }

    /// Returns the time before which all accesses are ordered before all future accesses of all warps.
    #[inline(always)]
    pub(crate) fn oldest(&self) -> Time {
        self.oldest
    }

    /// Records that the warp's lanes have synchronized with each other.
    pub(crate) fn sync_lanes(&mut self, warp: usize) {
        self.tick();
        self.lanes[warp] = self.now;
        self.refresh(warp);
    }

    /// Records that some of the warp's lanes have synchronized with each other.
    pub(crate) fn sync_some_lanes(&mut self, warp: usize, members: u32) {
        self.tick();
        let all = &mut self.some_lanes[warp];
        all.resize(32 * 32, 0);
        let is_member = |lane: usize| members >> lane & 1 == 1;
        let known: [Time; 32] = std::array::from_fn(|of| match is_member(of) {
            true => self.now,
            false => {
                (0..32).filter(|&lane| is_member(lane)).map(|lane| all[32 * lane + of]).max().unwrap_or(0)
            }
        });
        for lane in (0..32).filter(|&lane| is_member(lane)) {
            all[32 * lane..32 * (lane + 1)].copy_from_slice(&known);
        }
    }

    /// Updates the knowledge of `object` about the waiting warps, which have released their knowledge to it.
    pub(crate) fn complete(&mut self, warps: impl Iterator<Item = usize>, object: &mut [Time]) {
        self.tick();
        warps.for_each(|warp| object[warp] = self.now);
    }

    /// Adds the accesses and the knowledge of the warp to `object`.
    pub(crate) fn release(&mut self, warp: usize, object: &mut Knowledge) {
        object.resize(self.width(), 0);
        self.tick();
        for (other, time) in object.iter_mut().enumerate() {
            let mine = if other == warp { self.now } else { self.known(warp, other) };
            *time = (*time).max(mine);
        }
    }

    /// Updates `object` like [`release`](Self::release), but for a relaxed arrival, which releases only the accesses before the warp's last
    /// fence.
    pub(crate) fn release_relaxed(&self, warp: usize, object: &mut Knowledge) {
        object.resize(self.width(), 0);
        for (other, time) in object.iter_mut().enumerate() {
            *time = (*time).max(self.fenced_knowledge(warp, other));
        }
    }

    /// Returns the knowledge about another agent that a warp can release because of its last fence.
    fn fenced_knowledge(&self, warp: usize, other: usize) -> Time {
        let fenced = self.fenced[warp];
        if other == warp { fenced } else { self.known(warp, other).min(fenced) }
    }

    /// Adds the knowledge of `object` to the warp.
    pub(crate) fn acquire(&mut self, warp: usize, object: &[Time]) {
        let start = warp * self.width();
        for (mine, &theirs) in self.known[start..start + 2 * self.agents].iter_mut().zip(object) {
            *mine = (*mine).max(theirs);
        }
        // Accesses that lanes of this warp have released are now ordered for all of its lanes.
        let own = object.get(warp).copied().unwrap_or(0);
        self.lanes[warp] = self.lanes[warp].max(own);
        self.refresh(warp);
    }

    /// Records a fence. Later atomics release the accesses before it, and knowledge that earlier atomics observed is acquired.
    pub(crate) fn fence(&mut self, warp: usize) {
        self.tick();
        self.fenced[warp] = self.now;
        let seen: Knowledge = self.seen[warp * self.width()..][..self.width()].to_vec();
        self.acquire(warp, &seen);
    }

    /// Records a `fence.proxy.async`, which orders the accesses that the warp knows.
    pub(crate) fn proxy_fence(&mut self, warp: usize) {
        self.tick();
        let start = warp * self.width();
        let (known, fenced) = self.known[start..start + 2 * self.agents].split_at_mut(self.agents);
        for (fenced, &known) in fenced.iter_mut().zip(&*known) {
            *fenced = (*fenced).max(known);
        }
        fenced[warp] = self.now;
    }

    /// Records a strong access to a word of memory. Writes without a preceding fence release nothing.
    pub(crate) fn strong(&mut self, warp: usize, address: u64, reads: bool, writes: bool) {
        let start = warp * self.width();
        if reads && let Some(released) = self.released.get(&address) {
            for (seen, &released) in self.seen[start..].iter_mut().zip(released) {
                *seen = (*seen).max(released);
            }
        }
        if writes && self.fenced[warp] > self.started {
            let mut released = self.released.remove(&address).unwrap_or_default();
            self.release_relaxed(warp, &mut released);
            self.released.insert(address, released);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks() -> Clocks {
        let mut clocks = Clocks::new(1, 3, false);
        clocks.start();
        clocks
    }

    #[test]
    fn a_release_orders_preceding_accesses() {
        let mut c = clocks();
        let before = c.now();
        let mut barrier = vec![];
        c.release(0, &mut barrier);
        let after = c.now();
        assert!(!c.knows(1, 0, before));
        c.acquire(1, &barrier);
        assert!(c.knows(1, 0, before));
        assert!(!c.knows(1, 0, after));
        assert!(!c.knows(2, 0, before));
    }

    #[test]
    fn ordering_is_transitive() {
        let mut c = clocks();
        let before = c.now();
        let (mut first, mut second) = (vec![], vec![]);
        c.release(0, &mut first);
        c.acquire(1, &first);
        c.release(1, &mut second);
        c.acquire(2, &second);
        assert!(c.knows(2, 0, before));
    }

    #[test]
    fn a_barrier_does_not_order_later_work_of_an_engine() {
        let mut c = clocks();
        let mut barrier = vec![];
        c.release(0, &mut barrier);
        let engine = c.engine();
        c.work(engine);
        let copied = c.now();
        c.acquire(1, &barrier);
        assert!(!c.knows(1, engine, copied) && c.floor(1) <= copied);
        c.release_engine(engine, &mut barrier);
        c.acquire(1, &barrier);
        assert!(c.knows(1, engine, copied));
    }

    #[test]
    fn strong_accesses_order_only_with_fences() {
        let mut c = clocks();
        let before = c.now();
        let atomic = |c: &mut Clocks, warp| c.strong(warp, 64, true, true);
        atomic(&mut c, 0);
        atomic(&mut c, 1);
        c.fence(1);
        assert!(!c.knows(1, 0, before));
        c.fence(0);
        atomic(&mut c, 0);
        atomic(&mut c, 1);
        assert!(!c.knows(1, 0, before));
        c.fence(1);
        assert!(c.knows(1, 0, before));
    }

    #[test]
    fn strong_loads_and_other_addresses_order_nothing() {
        let mut c = clocks();
        let before = c.now();
        c.fence(0);
        c.strong(0, 64, true, false);
        c.strong(0, 68, false, true);
        c.strong(1, 64, true, true);
        c.fence(1);
        assert!(!c.knows(1, 0, before));
        c.strong(1, 68, true, false);
        c.fence(1);
        assert!(c.knows(1, 0, before));
    }

    #[test]
    fn a_proxy_fence_orders_accesses_ordered_before_its_warp() {
        let mut c = clocks();
        let before = c.now();
        let mut barrier = vec![];
        c.proxy_fence(1);
        c.release(0, &mut barrier);
        c.acquire(1, &barrier);
        assert!(!c.proxy_fenced(1, 0, before));
        c.proxy_fence(1);
        assert!(c.proxy_fenced(1, 0, before) && !c.proxy_fenced(2, 0, before));
        c.release(1, &mut barrier);
        c.acquire(2, &barrier);
        assert!(c.proxy_fenced(2, 0, before));
    }

    #[test]
    fn lanes_are_ordered_by_their_own_synchronization() {
        let mut c = clocks();
        let before = c.now();
        assert!(!c.lanes_know(0, 1, 2, before));
        c.sync_lanes(0);
        assert!(c.lanes_know(0, 1, 2, before));
        assert!(c.floor(0) <= before);
    }

    #[test]
    fn ordering_of_some_lanes_is_transitive() {
        let mut c = clocks();
        c.sync_lanes(0);
        let before = c.now();
        c.sync_some_lanes(0, 0b0011);
        assert!(c.lanes_know(0, 0, 1, before) && !c.lanes_know(0, 0, 2, before));
        c.sync_some_lanes(0, 0b0110);
        assert!(c.lanes_know(0, 0, 2, before) && !c.lanes_know(0, 0, 3, before));
        assert!(c.several_lanes_known(0, 2, before) && !c.several_lanes_known(0, 3, before));
    }
}
