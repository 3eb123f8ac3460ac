//! The written bytes and the undefined bits of a block's shared memory.

use std::collections::HashMap;
use std::ops::Range;

use crate::report::FindingKind;
use crate::shadow::undefined::{Origin, Partial};

/// The bytes that were written, and the undefined bits in them.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Four bits for each word, one per written byte. The list is empty if writes are not tracked.
    bytes: Vec<u8>,
    /// The undefined bits that were stored, by word.
    undefined: HashMap<usize, (u32, Origin)>,
}

impl Written {
    /// Resets the record to `words` unwritten words.
    pub(crate) fn reset(&mut self, words: usize) {
        self.bytes.clear();
        self.bytes.resize(words, 0);
        self.undefined.clear();
    }

    /// Returns whether all written bytes are defined.
    #[inline(always)]
    pub(crate) fn is_sound(&self) -> bool {
        self.undefined.is_empty()
    }

    /// Returns whether all words from which lanes load `bytes` bytes each are known to be defined. A result of `false` is inconclusive.
    #[inline(always)]
    pub(crate) fn known_defined(&self, all: &[u64; 32], bytes: usize) -> bool {
        self.is_sound()
            && match bytes {
                0..=4 => self.full::<1>(all),
                8 => self.full::<2>(all),
                16 => self.full::<4>(all),
                _ => false,
            }
    }

    /// Returns whether all 16 bytes at an address are known to be written and defined.
    pub(crate) fn known_defined_unit(&self, address: u64) -> bool {
        let first = (address >> 2) as usize;
        self.is_sound()
            && self.bytes.get(first..first + 4).is_some_and(|words| words.iter().all(|&word| word == 15))
    }

    #[inline(always)]
    fn full<const WORDS: usize>(&self, all: &[u64; 32]) -> bool {
        // Looks up all words, without a branch for each.
        let full = all.iter().fold(15, |full, address| {
            let first = (address >> 2) as usize;
            let words = self.bytes.get(first..first + WORDS).unwrap_or(&[0]);
            words.iter().fold(full, |full, written| full & written)
        });
        full == 15
    }

    /// Records that one to three bytes of a word, or whole words, were written.
    pub(crate) fn mark(&mut self, address: u64, bytes: u64) {
        let first = (address >> 2) as usize;
        if bytes < 4 {
            return self.mark_bits(first, (low_bytes(bytes) as u32) << (8 * (address & 3)));
        }
        let words = first..first + (bytes / 4) as usize;
        self.bytes.get_mut(words.clone()).into_iter().for_each(|bytes| bytes.fill(15));
        if !self.is_sound() {
            words.for_each(|word| self.define(word, u32::MAX));
        }
    }

    /// Records that words were written at these addresses.
    #[inline(always)]
    pub(crate) fn mark_words(&mut self, all: &[u32; 32]) {
        if self.bytes.is_empty() {
            return;
        }
        all.iter().for_each(|address| self.bytes[(address >> 2) as usize] = 15);
        if !self.is_sound() {
            all.iter().for_each(|address| self.define((address >> 2) as usize, u32::MAX));
        }
    }

    /// Records that the bytes of a word in `mask` were written.
    pub(crate) fn mark_bits(&mut self, word: usize, mask: u32) {
        let Some(bytes) = self.bytes.get_mut(word) else { return };
        *bytes |= (0..4).filter(|i| mask >> (8 * i) & 0xff != 0).fold(0, |all, i| all | 1 << i);
        if !self.is_sound() {
            self.define(word, mask);
        }
    }

    fn define(&mut self, word: usize, mask: u32) {
        if let Some((bits, _)) = self.undefined.get_mut(&word) {
            *bits &= !mask;
            if *bits == 0 {
                self.undefined.remove(&word);
            }
        }
    }

    fn has(&self, address: u64) -> bool {
        self.bytes.get((address >> 2) as usize).is_some_and(|word| word >> (address & 3) & 1 == 1)
    }

    /// Returns the first of these words that is not fully defined in `mask` and, if undefined values were stored there, the origin of the
    /// undefined bits.
    pub(crate) fn missing(&self, mut words: Range<usize>, mask: u32) -> Option<(usize, Option<Origin>)> {
        words.find_map(|word| match self.of_word(word) {
            (bits, origin) if bits & mask != 0 => Some((word, origin)),
            _ => None,
        })
    }

    fn of_word(&self, word: usize) -> (u32, Option<Origin>) {
        let bytes = self.bytes.get(word).copied().unwrap_or(0);
        let unwritten = (0..4).filter(|i| bytes >> i & 1 == 0).fold(0, |bits, i| bits | 0xff << (8 * i));
        match self.undefined.get(&word) {
            Some(&(bits, origin)) => (bits | unwritten, Some(origin)),
            None => (unwritten, None),
        }
    }
}

impl Partial for Written {
    const KIND: FindingKind = FindingKind::UninitializedSharedRead;

    fn undefined(&self, _: usize, address: u64, bytes: u64) -> (u64, Option<Origin>) {
        let (low, origin) = self.of_word((address >> 2) as usize);
        if bytes < 8 {
            return (u64::from(low) >> (8 * (address & 3)) & low_bytes(bytes), origin);
        }
        let (high, second) = self.of_word((address >> 2) as usize + 1);
        (u64::from(low) | u64::from(high) << 32, origin.or(second))
    }

    fn touched(&self, _: usize, mut bytes: Range<u64>) -> bool {
        bytes.any(|address| self.has(address))
    }

    fn undefine(&mut self, _: usize, (address, bytes): (u64, u64), bits: u64, origin: Origin) {
        let shift = 8 * (address & 3);
        for i in 0..bytes.div_ceil(4) {
            let bits = ((bits >> (32 * i)) as u32) << shift;
            if bits != 0 && !self.bytes.is_empty() {
                let word = self.undefined.entry((address >> 2) as usize + i as usize).or_insert((0, origin));
                *word = (word.0 | bits, origin);
            }
        }
    }
}

/// Returns a mask of the low `bytes` bytes.
pub(crate) fn low_bytes(bytes: u64) -> u64 {
    u64::MAX >> (64 - 8 * bytes.min(8))
}
