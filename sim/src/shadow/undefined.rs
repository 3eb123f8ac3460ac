//! Undefined values: where they come from, how far they spread, and where they matter.
//!
//! Uninitialized values may be read and copied: compilers copy whole structures, with the gaps between their
//! members and with members that were never set. What is computed from them is undefined too, bit by bit (Seward and
//! Nethercote, "Using Valgrind to detect undefined value errors with bit-precision", 2005). A finding is reported where
//! such a value decides something or leaves the thread.

use std::ops::Range;

use crate::lanes::{FULL, lanes};
use crate::program::code::Watched;
use crate::report::FindingKind;
use crate::report::fault::Where;

/// Where something undefined comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The finding of using it.
    pub(crate) kind: FindingKind,
    /// The first instruction that read the uninitialized value.
    pub(crate) at: Where,
    /// The address that it read, if that was in memory.
    pub(crate) address: Option<u64>,
    /// It may be the padding of a structure, moved but not computed with.
    pub(crate) padding: bool,
}

/// What is undefined of a register, in one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taint {
    /// The undefined bits.
    pub(crate) bits: u64,
    /// Where they come from; nowhere, if the register was never written.
    pub(crate) origin: Option<Origin>,
}

impl Taint {
    pub(crate) const NONE: Self = Self { bits: 0, origin: None };
    pub(crate) const NEVER_WRITTEN: Self = Self { bits: u64::MAX, origin: None };
}

/// What is undefined of the watched registers of a warp.
#[derive(Debug, Default)]
pub(crate) struct Undefined {
    /// By register, the lanes in which all of it is defined.
    defined: Vec<u32>,
    /// By register, what is undefined in the other lanes, where that was ever something else than all.
    taints: Vec<Option<Box<[Taint; 32]>>>,
    /// Lanes in which the store about to be executed stores something undefined.
    pub(crate) storing: u32,
    /// Something undefined was loaded, or computed from what was never written.
    pub(crate) spreads: bool,
}

impl Undefined {
    /// Nothing was written yet; registers that are written before they are read count as defined.
    pub(crate) fn start(&mut self, watched: &Watched) {
        self.defined.clear();
        self.defined
            .extend(watched.registers.iter().map(|register| if register.unwritten { 0 } else { FULL }));
        self.taints.resize(watched.registers.len(), None);
        self.taints.iter_mut().flatten().for_each(|taints| taints.fill(Taint::NEVER_WRITTEN));
        (self.storing, self.spreads) = (0, false);
    }

    /// The lanes in which one of some registers is not wholly defined.
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

    /// One lane of some registers.
    pub(crate) fn save(&self, registers: &[u32], lane: usize) -> Box<[Taint]> {
        registers.iter().map(|&register| self.get(register, lane)).collect()
    }

    pub(crate) fn restore(&mut self, registers: &[u32], lane: usize, saved: &[Taint]) {
        for (&register, &taint) in registers.iter().zip(saved) {
            self.set(register, lane, taint);
        }
    }

    /// What is undefined of the first of some registers that is not wholly defined.
    pub(crate) fn first(&self, registers: &[u32], lane: usize) -> Option<(u32, Taint)> {
        let taints = registers.iter().map(|&register| (register, self.get(register, lane)));
        taints.into_iter().find(|(_, taint)| taint.bits != 0)
    }

    /// Returns whether all undefined bits of some registers are padding.
    pub(crate) fn is_padding(&self, registers: &[u32], lane: usize) -> bool {
        let mut taints = registers.iter().map(|&register| self.get(register, lane));
        taints.all(|taint| taint.bits == 0 || taint.origin.is_some_and(|origin| origin.padding))
    }

    /// The undefined bits of a register, by lane.
    pub(crate) fn bits(&self, register: u32, mask: u32) -> [u64; 32] {
        let mut bits = [0; 32];
        lanes(mask).for_each(|lane| bits[lane] = self.get(register, lane).bits);
        bits
    }
}

/// Memory in which something may be undefined.
pub(crate) trait Partial {
    /// The finding of using it.
    const KIND: FindingKind;

    /// The undefined bits of up to 8 bytes, and where they come from, if they were stored.
    fn undefined(&self, lane: usize, address: u64, bytes: u64) -> (u64, Option<Origin>);

    /// Returns whether some of these bytes were written.
    fn touched(&self, lane: usize, bytes: Range<u64>) -> bool;

    /// Of up to 8 bytes that were just stored, some bits are undefined.
    fn undefine(&mut self, lane: usize, at: (u64, u64), bits: u64, origin: Origin);
}
