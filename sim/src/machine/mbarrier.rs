//! The 64 bits of an mbarrier object, which is opaque (PTX ISA, "mbarrier"): pending arrivals, arrivals per phase, transaction bytes, and
//! the phase.

use crate::machine::Cluster;
use crate::shadow::place::Place;

/// The number of bits of each arrival count.
const COUNT_BITS: u32 = 20;
/// The maximum number of arrivals that an object can expect.
pub(crate) const MAX_COUNT: u32 = (1 << COUNT_BITS) - 1;
/// The number of bits of the transaction count, which is offset so that it may temporarily be negative.
const TX_BITS: u32 = 22;
const TX_ZERO: u32 = 1 << (TX_BITS - 1);

/// A decoded object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State {
    /// The number of arrivals for which the current phase still waits.
    pub(crate) pending: u32,
    /// The number of arrivals that each later phase requires.
    pub(crate) expected: u32,
    /// The number of bytes for which the current phase still waits.
    pub(crate) tx: i32,
    /// The parity of the current phase.
    pub(crate) phase: bool,
}

impl State {
    pub(crate) fn new(count: u32) -> Self {
        Self { pending: count, expected: count, tx: 0, phase: false }
    }

    pub(crate) fn unpack(bits: u64) -> Self {
        let count = |low: u32| (bits >> low) as u32 & MAX_COUNT;
        let tx = (bits >> (2 * COUNT_BITS)) as u32 & ((1 << TX_BITS) - 1);
        Self {
            pending: count(0),
            expected: count(COUNT_BITS),
            tx: tx.wrapping_sub(TX_ZERO) as i32,
            phase: bits >> 63 == 1,
        }
    }

    pub(crate) fn pack(self) -> u64 {
        let tx = (self.tx as u32).wrapping_add(TX_ZERO) & ((1 << TX_BITS) - 1);
        u64::from(self.pending)
            | u64::from(self.expected) << COUNT_BITS
            | u64::from(tx) << (2 * COUNT_BITS)
            | u64::from(self.phase) << 63
    }

    /// Starts the next phase if this phase is complete.
    pub(crate) fn advance(&mut self) {
        if self.pending == 0 && self.tx == 0 {
            self.phase = !self.phase;
            self.pending = self.expected;
        }
    }

    /// Returns whether the bits may represent an object: the number of pending arrivals must not exceed the number of expected arrivals.
    pub(crate) fn is_sound(self) -> bool {
        self.expected > 0 && self.pending <= self.expected
    }
}

/// Returns whether the object at an address has started but not completed a phase.
pub(crate) fn in_phase(cluster: &Cluster<'_>, place: Place) -> bool {
    let state = State::unpack(load(cluster, place));
    state.is_sound() && (state.pending != state.expected || state.tx != 0)
}

/// Returns the bits of the object at an address.
pub(crate) fn load(cluster: &Cluster<'_>, place: Place) -> u64 {
    let words = &cluster.ctas[place.rank].shared.words;
    u64::from(words[place.offset / 4]) | u64::from(words[place.offset / 4 + 1]) << 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packs(pending in 0..=MAX_COUNT, expected in 0..=MAX_COUNT, tx in -(1 << 20)..1 << 20, phase in any::<bool>()) {
            let state = State { pending, expected, tx, phase };
            prop_assert_eq!(State::unpack(state.pack()), state);
        }
    }

    #[test]
    fn a_phase_ends_with_its_last_arrival_and_byte() {
        let mut state = State::new(1);
        state.tx += 16;
        state.pending -= 1;
        state.advance();
        assert!(!state.phase);
        state.tx -= 16;
        state.advance();
        assert_eq!(state, State { pending: 1, expected: 1, tx: 0, phase: true });
    }
}
