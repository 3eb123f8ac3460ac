//! Exchange of values between lanes: shuffles of all types, votes, broadcasts.

use std::panic::Location;

use super::{Block, Warp};
use crate::ptx::{
    FULL_MASK, Shuffle,
    body::RegId,
    kernel::Builder,
    operand::Operand,
    types::{Element, RegClass, Scalar},
    uniform::Uniformity,
    val::Val,
};

/// Shuffles a value of up to 64 bits within the warp, 32 bits at a time. `lane` is the lane operand of `shfl`: an index, a distance or a
/// mask, depending on `how`.
#[track_caller]
pub(crate) fn shuffle<'k, T: Scalar>(
    k: Builder<'k>,
    how: Shuffle,
    value: Val<'k, T>,
    lane: Val<'k, u32>,
) -> Val<'k, T> {
    const { assert!(T::BYTES <= 8, "lanes exchange values of up to 64 bits") };
    let _located = k.locate(Location::caller());
    let lane = lane.operand(k);
    let result = by_words(k, value.in_register(k), |word| {
        let result = k.fresh(word.class);
        k.emit_shuffle(how, result, word, lane);
        result
    });
    Val::from_reg(result, k)
}

/// Applies `exchange` to each 32-bit word of a register, and returns the result. A predicate or a 16-bit value is first widened to one
/// word.
fn by_words(k: Builder<'_>, from: RegId, exchange: impl Fn(RegId) -> RegId) -> RegId {
    let mov = |bits: u32, operands: [Operand<'_>; 2]| k.emit(format_args!("mov.b{bits}"), &operands);
    let result = match from.class {
        RegClass::B32 | RegClass::F32 => return exchange(from),
        class => k.fresh(class),
    };
    match from.class {
        RegClass::Pred => {
            let word = k.fresh(RegClass::B32);
            let [zero, one] = [0u32, 1].map(|bit| Val::from(bit).operand(k));
            k.emit(format_args!("selp.b32"), &[Operand::Reg(word), one, zero, Operand::Reg(from)]);
            k.emit(format_args!("setp.ne.b32"), &[Operand::Reg(result), Operand::Reg(exchange(word)), zero]);
        }
        RegClass::B16 | RegClass::Half => {
            let (word, unused) = (k.fresh(RegClass::B32), k.fresh(from.class));
            mov(32, [Operand::Reg(word), Operand::Vector(&[Operand::Reg(from); 2])]);
            let halves = [result, unused].map(Operand::Reg);
            mov(32, [Operand::Vector(&halves), Operand::Reg(exchange(word))]);
        }
        _ => {
            let words = [RegClass::B32; 2].map(|class| k.fresh(class));
            mov(64, [Operand::Vector(&words.map(Operand::Reg)), Operand::Reg(from)]);
            let words = words.map(|word| Operand::Reg(exchange(word)));
            mov(64, [Operand::Reg(result), Operand::Vector(&words)]);
        }
    }
    result
}

/// Data exchange between the lanes of the warp. All lanes must participate.
impl<'k> Warp<'k> {
    /// Returns `value` from the lane whose index is `delta` less than that of this lane, or this lane's own value if no such lane exists.
    /// Only the lowest 5 bits of `delta` are used. All lanes must participate. Supports types of up to 64 bits.
    #[doc(alias = "shfl.sync.up")]
    #[doc(alias = "__shfl_up_sync")]
    #[track_caller]
    pub fn shfl_up<T: Scalar>(self, value: Val<'k, T>, delta: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        shuffle(self.k, Shuffle::Up, value, delta.into())
    }

    /// Returns `value` from the lane whose index is `delta` greater than that of this lane, or this lane's own value if no such lane
    /// exists. Only the lowest 5 bits of `delta` are used. All lanes must participate. Supports types of up to 64 bits.
    #[doc(alias = "shfl.sync.down")]
    #[doc(alias = "__shfl_down_sync")]
    #[track_caller]
    pub fn shfl_down<T: Scalar>(self, value: Val<'k, T>, delta: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        shuffle(self.k, Shuffle::Down, value, delta.into())
    }

    /// Returns `value` from the lane with index `i ^ bits`, where `i` is the index of this lane. Only the lowest 5 bits of `bits` are used.
    /// All lanes must participate. Supports types of up to 64 bits.
    #[doc(alias = "shfl.sync.bfly")]
    #[doc(alias = "__shfl_xor_sync")]
    #[track_caller]
    pub fn shfl_bfly<T: Scalar>(self, value: Val<'k, T>, bits: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        shuffle(self.k, Shuffle::Bfly, value, bits.into())
    }

    /// Returns `value` from the lane with index `lane`, which may differ between lanes. Only the lowest 5 bits of `lane` are used. All
    /// lanes must participate. Supports types of up to 64 bits.
    #[doc(alias = "shfl.sync.idx")]
    #[doc(alias = "__shfl_sync")]
    #[track_caller]
    pub fn shfl_idx<T: Scalar>(self, value: Val<'k, T>, lane: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        shuffle(self.k, Shuffle::Idx, value, lane.into())
    }

    /// Broadcasts `value` from the lane with index `lane` to all lanes. `lane` must be the same in all lanes, and all lanes must
    /// participate. If `lane` is known to be uniform, the result is also known to be uniform. Supports types of up to 64 bits.
    #[track_caller]
    pub fn broadcast<T: Scalar>(self, value: Val<'k, T>, lane: impl Into<Val<'k, u32>>) -> Val<'k, T> {
        self.shfl_idx(value, lane)
    }

    /// Returns whether `predicate` holds for all lanes. All lanes must participate.
    #[doc(alias = "vote.sync.all")]
    #[track_caller]
    pub fn all(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, bool> {
        self.k.vote_all(predicate, FULL_MASK)
    }

    /// Returns whether `predicate` holds for at least one lane. All lanes must participate.
    #[doc(alias = "vote.sync.any")]
    #[track_caller]
    pub fn any(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, bool> {
        self.k.vote_any(predicate, FULL_MASK)
    }

    /// Returns a bit mask of the lanes for which `predicate` holds. All lanes must participate.
    #[doc(alias = "vote.sync.ballot")]
    #[track_caller]
    pub fn ballot(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, u32> {
        self.k.vote_ballot(predicate, FULL_MASK)
    }

    /// Returns the number of lanes for which `predicate` holds. All lanes must participate.
    #[track_caller]
    pub fn count(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, u32> {
        self.ballot(predicate).count_ones()
    }
}

/// Data exchange between the threads of the block. All threads must participate.
impl<'k> Block<'k> {
    /// Waits for all threads of the block, as [`sync_threads`](Builder::sync_threads) does, and returns whether `predicate` holds for all
    /// of them.
    #[doc(alias = "bar.red.and")]
    #[doc(alias = "__syncthreads_and")]
    #[track_caller]
    pub fn all(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, bool> {
        self.k.sync_threads_and(predicate)
    }

    /// Waits for all threads of the block, as [`sync_threads`](Builder::sync_threads) does, and returns whether `predicate` holds for at
    /// least one of them.
    #[doc(alias = "bar.red.or")]
    #[doc(alias = "__syncthreads_or")]
    #[track_caller]
    pub fn any(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, bool> {
        self.k.sync_threads_or(predicate)
    }

    /// Waits for all threads of the block, as [`sync_threads`](Builder::sync_threads) does, and returns the number of threads for which
    /// `predicate` holds.
    #[doc(alias = "bar.red.popc")]
    #[doc(alias = "__syncthreads_count")]
    #[track_caller]
    pub fn count(self, predicate: impl Into<Val<'k, bool>>) -> Val<'k, u32> {
        self.k.sync_threads_count(predicate)
    }

    /// Broadcasts `value` from the thread with index `thread` to all threads of the block, through shared memory. `thread` must be the same
    /// in all threads and less than the size of the block, and all threads must participate.
    #[track_caller]
    pub fn broadcast<T: Element<Reg = T> + Scalar>(
        self,
        value: Val<'k, T>,
        thread: impl Into<Val<'k, u32>>,
    ) -> Val<'k, T> {
        let (k, thread) = (self.k, thread.into());
        let _located = k.locate(Location::caller());
        let slot = k.shared::<T>(1);
        if k.in_loop() {
            self.sync();
        }
        k.when(self.thread().eq(thread), || slot.store(value));
        self.sync();
        slot.load().known_uniform(Uniformity::Block)
    }
}

impl<'k, T: Scalar> Val<'k, T> {
    /// Returns this value, and records that its uniformity is at least `level`. The caller must ensure that this is true.
    pub(crate) fn known_uniform(self, level: Uniformity) -> Self {
        if let Some((reg, k)) = self.reg() {
            k.body().uniform.set_level(reg, level);
        }
        self
    }
}
