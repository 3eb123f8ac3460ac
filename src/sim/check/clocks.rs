//! Happens-before between the warps of a cluster.
//!
//! Time is one counter that every release advances. For each pair of warps it is known up to which time the
//! accesses of one are ordered before whatever the other does next: a barrier, an mbarrier phase or an atomic with
//! fences passes that knowledge on. Lanes of one warp are ordered by warp-wide synchronisation.

/// A time; accesses carry the time they were made at.
pub(in crate::sim) type Time = u32;

/// The last time; records of accesses have 28 bits for it, and one value to spare.
pub(super) const END: Time = (1 << 28) - 2;

/// What a warp or a synchronisation object knows: for each warp the time up to which (excluded) its accesses are
/// ordered before.
pub(in crate::sim) type Knowledge = Vec<Time>;

/// The clocks of all warps of a cluster and of the asynchronous engine.
#[derive(Debug, Default)]
pub(in crate::sim) struct Clocks {
    agents: usize,
    now: Time,
    /// By knower, then by warp known of.
    known: Vec<Time>,
    /// The least each warp knows of any other, and of its own lanes: what is older needs no further question.
    floor: Vec<Time>,
    /// When the lanes of each warp last synchronised.
    lanes: Vec<Time>,
    /// When each warp last executed a fence, and a proxy fence.
    fenced: Vec<Time>,
    proxy_fenced: Vec<Time>,
    /// What atomics released, and what each warp has seen of that but not yet fenced.
    atomics: Knowledge,
    seen: Vec<Time>,
    engine_used: bool,
    /// What is older than this every warp knows.
    oldest: Time,
}

impl Clocks {
    fn tick(&mut self) {
        self.now = (self.now + 1).min(END);
    }

    /// Whether time has run out, so that nothing can be told any more.
    #[inline(always)]
    pub(super) fn ended(&self) -> bool {
        self.now == END
    }

    /// Starts over with `warps` warps: everything before is ordered before everything after.
    pub(super) fn start(&mut self, warps: usize) {
        self.agents = warps + 1;
        self.tick();
        let agents = self.agents;
        let all = |v: &mut Vec<Time>, n: usize, value: Time| {
            v.clear();
            v.resize(n, value);
        };
        all(&mut self.known, agents * agents, self.now);
        all(&mut self.floor, agents, self.now);
        all(&mut self.lanes, agents, self.now);
        all(&mut self.fenced, agents, self.now);
        all(&mut self.proxy_fenced, agents, self.now);
        all(&mut self.atomics, agents, 0);
        all(&mut self.seen, agents * agents, 0);
        // The engine has done nothing that could be unknown.
        self.engine_used = false;
        for warp in 0..warps {
            self.known[warp * agents + warps] = Time::MAX;
            self.refresh(warp);
        }
    }

    /// The engine is about to write for the first time: from here on it is unknown what it did.
    pub(super) fn use_engine(&mut self) {
        if std::mem::replace(&mut self.engine_used, true) {
            return;
        }
        let engine = self.engine();
        for warp in 0..engine {
            self.known[warp * self.agents + engine] = self.now;
            self.refresh(warp);
        }
    }

    /// Adds to `object` what the engine has done.
    pub(in crate::sim) fn release_engine(&mut self, object: &mut Knowledge) {
        object.resize(self.agents, 0);
        self.tick();
        object[self.agents - 1] = self.now;
    }

    /// The number of the asynchronous engine among the warps.
    pub(in crate::sim) fn engine(&self) -> usize {
        self.agents - 1
    }

    pub(super) fn agents(&self) -> usize {
        self.agents
    }

    #[inline(always)]
    pub(super) fn now(&self) -> Time {
        self.now
    }

    #[inline(always)]
    pub(super) fn floor(&self, warp: usize) -> Time {
        self.floor[warp]
    }

    /// Whether an access of `other` at `time` is ordered before what `warp` does now.
    pub(super) fn knows(&self, warp: usize, other: usize, time: Time) -> bool {
        time < self.known[warp * self.agents + other]
    }

    /// Whether what another lane of the warp did at `time` is ordered before what its lanes do now.
    pub(super) fn lanes_know(&self, warp: usize, time: Time) -> bool {
        time < self.lanes[warp]
    }

    /// When the warp's lanes last synchronised.
    pub(super) fn lanes_synced(&self, warp: usize) -> Time {
        self.lanes[warp]
    }

    /// Whether a proxy fence lies between what `writer` did at `time` and what `warp` does now.
    pub(super) fn proxy_fenced(&self, warp: usize, writer: usize, time: Time) -> bool {
        time < self.proxy_fenced[writer] || time < self.proxy_fenced[warp]
    }

    fn refresh(&mut self, warp: usize) {
        let row = &self.known[warp * self.agents..(warp + 1) * self.agents];
        let others = row.iter().enumerate().filter(|(other, _)| *other != warp).map(|(_, &time)| time);
        self.floor[warp] = others.min().unwrap_or(Time::MAX).min(self.lanes[warp]);
        self.oldest = self.floor[..self.agents - 1].iter().copied().min().unwrap_or(0);
    }

    /// What is older than this is ordered before everything that any warp does now.
    #[inline(always)]
    pub(super) fn oldest(&self) -> Time {
        self.oldest
    }

    /// The warp's lanes have synchronised with each other.
    pub(in crate::sim) fn sync_lanes(&mut self, warp: usize) {
        self.tick();
        self.lanes[warp] = self.now;
        self.refresh(warp);
    }

    /// Adds to `object` all that the warp has done and knows.
    pub(in crate::sim) fn release(&mut self, warp: usize, object: &mut Knowledge) {
        object.resize(self.agents, 0);
        self.tick();
        for (other, time) in object.iter_mut().enumerate() {
            let mine = if other == warp { self.now } else { self.known[warp * self.agents + other] };
            *time = (*time).max(mine);
        }
    }

    /// Teaches the warp what `object` holds.
    pub(in crate::sim) fn acquire(&mut self, warp: usize, object: &[Time]) {
        let row = &mut self.known[warp * self.agents..(warp + 1) * self.agents];
        for (mine, &theirs) in row.iter_mut().zip(object) {
            *mine = (*mine).max(theirs);
        }
        // What the warp's own lanes released orders them among each other.
        let own = object.get(warp).copied().unwrap_or(0);
        self.lanes[warp] = self.lanes[warp].max(own);
        self.refresh(warp);
    }

    /// A fence: later atomics release what is before it, and what earlier atomics saw is acquired.
    pub(in crate::sim) fn fence(&mut self, warp: usize) {
        self.tick();
        self.fenced[warp] = self.now;
        let seen: Knowledge = self.seen[warp * self.agents..(warp + 1) * self.agents].to_vec();
        self.acquire(warp, &seen);
    }

    /// `fence.proxy.async`.
    pub(in crate::sim) fn proxy_fence(&mut self, warp: usize) {
        self.tick();
        self.proxy_fenced[warp] = self.now;
    }

    /// An atomic or other strong access to shared or global memory.
    pub(in crate::sim) fn atomic(&mut self, warp: usize) {
        for other in 0..self.agents {
            let at = warp * self.agents + other;
            let mine = if other == warp { self.fenced[warp] } else { self.known[at].min(self.fenced[warp]) };
            self.seen[at] = self.seen[at].max(self.atomics[other]);
            self.atomics[other] = self.atomics[other].max(mine);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clocks() -> Clocks {
        let mut clocks = Clocks::default();
        clocks.start(3);
        clocks
    }

    #[test]
    fn a_release_orders_what_was_before_it() {
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
    fn knowledge_is_passed_on() {
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
    fn atomics_order_only_with_fences() {
        let mut c = clocks();
        let before = c.now();
        c.atomic(0);
        c.atomic(1);
        c.fence(1);
        assert!(!c.knows(1, 0, before));
        c.fence(0);
        c.atomic(0);
        c.atomic(1);
        assert!(!c.knows(1, 0, before));
        c.fence(1);
        assert!(c.knows(1, 0, before));
    }

    #[test]
    fn lanes_are_ordered_by_their_own_synchronisation() {
        let mut c = clocks();
        let before = c.now();
        assert!(!c.lanes_know(0, before));
        c.sync_lanes(0);
        assert!(c.lanes_know(0, before));
        assert!(c.floor(0) <= before);
    }
}
