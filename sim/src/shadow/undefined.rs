//! Undefined values: their origins, their propagation, and their uses.
//!
//! Uninitialized values may be read and copied, because compilers copy whole structures, including padding and members that were never set.
//! Values computed from uninitialized values are also undefined, bit by bit (Seward and Nethercote, "Using Valgrind to detect undefined
//! value errors with bit-precision", 2005). A finding is reported where such a value affects control flow or an address, or leaves the
//! thread.

use std::ops::Range;

use crate::lanes::{FULL, lanes};
use crate::program::code::Watched;
use crate::report::FindingKind;
use crate::report::fault::Where;

/// The origin of an undefined value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The kind of finding that a use of the value causes.
    pub(crate) kind: FindingKind,
    /// The first instruction that read the uninitialized value.
    pub(crate) at: Where,
    /// The address that this instruction read, if it read memory.
    pub(crate) address: Option<u64>,
    /// Whether the value may be the padding of a structure: it was moved, but not used in a computation.
    pub(crate) padding: bool,
}

/// The undefined part of a register in one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taint {
    /// The undefined bits.
    pub(crate) bits: u64,
    /// The origin of the undefined bits, or `None` if the register was never written.
    pub(crate) origin: Option<Origin>,
}

impl Taint {
    pub(crate) const NONE: Self = Self { bits: 0, origin: None };
    pub(crate) const NEVER_WRITTEN: Self = Self { bits: u64::MAX, origin: None };
}

/// The undefined parts of the watched registers of a warp.
#[derive(Debug, Default)]
pub(crate) struct Undefined {
    /// For each register, the lanes in which it is fully defined.
    defined: Vec<u32>,
    /// For each register, the undefined parts in the other lanes, if the register was ever partly undefined.
    taints: Vec<Option<Box<[Taint; 32]>>>,
    /// The lanes in which the next store stores an undefined value.
    pub(crate) storing: u32,
    /// Whether an undefined value was loaded, or computed from registers that were never written.
    pub(crate) spreads: bool,
}

impl Undefined {
    /// Resets the state. No register has been written, but registers that are always written before they are read are considered defined.
    pub(crate) fn start(&mut self, watched: &Watched) {
        self.defined.clear();
        self.defined
            .extend(watched.registers.iter().map(|register| if register.unwritten { 0 } else { FULL }));
        self.taints.resize(watched.registers.len(), None);
        self.taints.iter_mut().flatten().for_each(|taints| taints.fill(Taint::NEVER_WRITTEN));
        (self.storing, self.spreads) = (0, false);
    }

    /// Returns the lanes in which any of these registers is not fully defined.
    pub(crate) fn lanes(&self, registers: &[u32]) -> u32 {
        registers.iter().fold(0, |lanes, &register| lanes | !self.defined[register as usize])
    }

    pub(crate) fn define(&mut self, registers: &[u32], mask: u32) {
        registers.iter().for_each(|&register| self.defined[register as usize] |= mask);
    }

    pub(crate) fn get(&self, register: u32, lane: usize) -> Taint {
        if self.defined[register as usize] >> lane & 1 == 1 {
            return Taint::NONE;
        }
        self.taints[register as usize].as_ref().map_or(Taint::NEVER_WRITTEN, |taints| taints[lane])
    }

    pub(crate) fn set(&mut self, register: u32, lane: usize, taint: Taint) {
        let defined = &mut self.defined[register as usize];
        if taint.bits == 0 {
            *defined |= 1 << lane;
            return;
        }
        *defined &= !(1 << lane);
        self.spreads = true;
        let taints = &mut self.taints[register as usize];
        taints.get_or_insert_with(|| Box::new([Taint::NEVER_WRITTEN; 32]))[lane] = taint;
    }

    /// Returns the state of registers in one lane.
    pub(crate) fn save(&self, registers: &[u32], lane: usize) -> Box<[Taint]> {
        registers.iter().map(|&register| self.get(register, lane)).collect()
    }

    pub(crate) fn restore(&mut self, registers: &[u32], lane: usize, saved: &[Taint]) {
        for (&register, &taint) in registers.iter().zip(saved) {
            self.set(register, lane, taint);
        }
    }

    /// Returns the undefined part of the first of these registers that is not fully defined.
    pub(crate) fn first(&self, registers: &[u32], lane: usize) -> Option<(u32, Taint)> {
        let taints = registers.iter().map(|&register| (register, self.get(register, lane)));
        taints.into_iter().find(|(_, taint)| taint.bits != 0)
    }

    /// Returns whether all undefined bits of these registers are padding.
    pub(crate) fn is_padding(&self, registers: &[u32], lane: usize) -> bool {
        let mut taints = registers.iter().map(|&register| self.get(register, lane));
        taints.all(|taint| taint.bits == 0 || taint.origin.is_some_and(|origin| origin.padding))
    }

    /// Returns the undefined bits of a register, by lane.
    pub(crate) fn bits(&self, register: u32, mask: u32) -> [u64; 32] {
        let mut bits = [0; 32];
        lanes(mask).for_each(|lane| bits[lane] = self.get(register, lane).bits);
        bits
    }
}

/// Memory that may contain undefined values.
pub(crate) trait Partial {
    /// The kind of finding that a use of such a value causes.
    const KIND: FindingKind;

    /// Returns the undefined bits of up to 8 bytes and, if undefined values were stored there, their origin.
    fn undefined(&self, lane: usize, address: u64, bytes: u64) -> (u64, Option<Origin>);

    /// Returns whether any of these bytes were written.
    fn touched(&self, lane: usize, bytes: Range<u64>) -> bool;

    /// Records that some bits of up to 8 bytes that were just stored are undefined.
    fn undefine(&mut self, lane: usize, at: (u64, u64), bits: u64, origin: Origin);
}
