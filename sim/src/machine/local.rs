//! The local memory of the lanes of a warp, interleaved so that words at the same address in different lanes are adjacent.

use std::collections::HashMap;
use std::ops::Range;

use crate::lanes::{Lanes32, Lanes64, mask_of};
use crate::machine::view::View;
use crate::report::FindingKind;
use crate::shadow::undefined::{Origin, Partial};

/// The local memory of a warp.
#[derive(Clone, Debug, Default)]
pub(crate) struct Local {
    words: Vec<Lanes32>,
    /// The defined bits of each word. The list is empty if defined bits are not tracked.
    defined: Vec<Lanes32>,
    pub(crate) tracked: bool,
    /// The origins of stored undefined values, by word and lane.
    origins: HashMap<(usize, usize), Origin>,
}

impl View for Local {
    #[inline(always)]
    fn word(&self, address: u64, lane: usize) -> u32 {
        self.words.get((address >> 2) as usize).map_or(0, |row| row[lane])
    }

    #[inline(always)]
    fn set(&mut self, address: u64, lane: usize, mask: u32, bits: u32) {
        let index = (address >> 2) as usize;
        if index >= self.words.len() {
            self.words.resize(index + 1, [0; 32]);
            self.defined.resize(if self.tracked { index + 1 } else { 0 }, [0; 32]);
        }
        if let Some(row) = self.defined.get_mut(index) {
            row[lane] |= mask;
        }
        let word = &mut self.words[index][lane];
        *word = (*word & !mask) | (bits & mask);
    }
}

impl Local {
    /// Clears the memory; `tracked` specifies whether defined bits are tracked from now on.
    pub(crate) fn reset(&mut self, tracked: bool) {
        self.words.clear();
        self.defined.clear();
        self.origins.clear();
        self.tracked = tracked;
    }

    /// Returns the lanes whose words differ from those of `other`.
    pub(crate) fn differs(&self, other: &Self) -> u32 {
        if self.words.len() != other.words.len() {
            return u32::MAX;
        }
        self.words.iter().zip(&other.words).fold(0, |all, (a, b)| all | mask_of(|lane| a[lane] != b[lane]))
    }

    /// Marks bytes of a lane as unwritten, for a new frame.
    pub(crate) fn forget(&mut self, lane: usize, start: u64, bytes: u64) {
        let words = start as usize / 4..((start + bytes) as usize).div_ceil(4).min(self.defined.len());
        for word in words {
            self.defined[word][lane] = 0;
            if !self.origins.is_empty() {
                self.origins.remove(&(word, lane));
            }
        }
    }

    /// Returns the lanes of `m` in which any of `bytes` bytes is undefined.
    pub(crate) fn partial(&self, all: &Lanes64, bytes: u64, m: u32) -> u32 {
        let first = all[0];
        if all.iter().any(|&address| address != first) {
            let lacks = |lane: usize, word: usize| {
                let row = self.defined.get(word);
                row.is_none_or(|row| !row[lane] & within(all[lane], bytes) != 0)
            };
            return mask_of(|lane| words(all[lane], bytes).any(|word| lacks(lane, word))) & m;
        }
        let Some(rows) = self.defined.get(words(first, bytes)) else { return m };
        let need = within(first, bytes);
        rows.iter().fold(0, |lacking, row| lacking | mask_of(|lane| !row[lane] & need != 0)) & m
    }

    pub(crate) fn byte(&self, address: u64, lane: usize) -> u8 {
        (self.word(address & !3, lane) >> (8 * (address & 3))) as u8
    }

    /// Copies bytes of a lane, with their undefined bits, from one address to another. Both addresses must be multiples of 4.
    pub(crate) fn copy(&mut self, lane: usize, from: u64, to: u64, bytes: u64) {
        for i in (0..bytes).step_by(4) {
            let part = (bytes - i).min(4);
            let (from, to) = (from + i, to + i);
            self.set(to, lane, within(to, part), self.word(from, lane));
            match self.undefined(lane, from, part) {
                (0, _) => {}
                (bits, Some(origin)) => self.undefine(lane, (to, part), bits, origin),
                (bits, None) => {
                    self.defined[to as usize / 4][lane] &= !(bits as u32);
                    self.origins.remove(&(to as usize / 4, lane));
                }
            }
        }
    }

    pub(crate) fn set_byte(&mut self, lane: usize, address: u64, byte: u8) {
        let shift = 8 * (address & 3);
        self.set(address & !3, lane, 0xff << shift, u32::from(byte) << shift);
    }
}

impl Partial for Local {
    const KIND: FindingKind = FindingKind::UninitializedLocalRead;

    fn undefined(&self, lane: usize, address: u64, bytes: u64) -> (u64, Option<Origin>) {
        let (mut bits, mut origin) = (0, None);
        if !self.tracked {
            return (bits, origin);
        }
        for (i, word) in words(address, bytes).enumerate() {
            let missing = !self.defined.get(word).map_or(0, |row| row[lane]) & within(address, bytes);
            if missing != 0 {
                bits |= u64::from(missing >> (8 * (address & 3))) << (32 * i);
                origin = origin.or(self.origins.get(&(word, lane)).copied());
            }
        }
        (bits & u64::MAX >> (64 - 8 * bytes), origin)
    }

    fn touched(&self, lane: usize, mut bytes: Range<u64>) -> bool {
        bytes.any(|byte| {
            self.defined.get(byte as usize / 4).is_some_and(|row| row[lane] >> (8 * (byte & 3)) & 0xff != 0)
        })
    }

    fn undefine(&mut self, lane: usize, (address, bytes): (u64, u64), bits: u64, origin: Origin) {
        for (i, word) in words(address, bytes).enumerate() {
            let missing = ((bits >> (32 * i)) as u32) << (8 * (address & 3)) & within(address, bytes);
            if let (true, Some(row)) = (missing != 0, self.defined.get_mut(word)) {
                row[lane] &= !missing;
                self.origins.insert((word, lane), origin);
            }
        }
    }
}

/// Returns the words that contain a range of bytes.
fn words(address: u64, bytes: u64) -> Range<usize> {
    address as usize / 4..((address + bytes) as usize).div_ceil(4)
}

/// Returns the mask of the bits that the bytes occupy in each of the words that contain them. Fewer than four bytes occupy part of one
/// word; more fill all words.
fn within(address: u64, bytes: u64) -> u32 {
    if bytes < 4 { !(u32::MAX << (8 * bytes)) << (8 * (address & 3)) } else { u32::MAX }
}
