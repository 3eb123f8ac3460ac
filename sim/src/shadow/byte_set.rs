//! Sets of bytes of an allocation.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number of bytes that a page of bits covers, and the number that a word of bits covers. A page is allocated when its first bit is
/// set.
const PAGE: u64 = 1 << 16;
const WORD: u64 = 64;

type Page = Box<[AtomicU64]>;

/// A set of bytes, by offset. Several threads may add bytes concurrently.
#[derive(Debug)]
pub(crate) struct ByteSet {
    pages: Box<[OnceLock<Page>]>,
}

/// Returns the words of bits that cover a range, each with the mask of its bits in the range.
#[inline(always)]
fn words(range: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
    let (start, end) = (range.start, range.end);
    (start / WORD..end.div_ceil(WORD)).map(move |word| {
        let (first, last) = (start.max(word * WORD) % WORD, (end.min((word + 1) * WORD) - 1) % WORD);
        (word, u64::MAX << first & u64::MAX >> (WORD - 1 - last))
    })
}

impl ByteSet {
    /// Creates an empty set of bytes of an allocation of `size` bytes.
    pub(crate) fn new(size: u64) -> Self {
        Self { pages: (0..size.div_ceil(PAGE)).map(|_| OnceLock::new()).collect() }
    }

    fn page(&self, word: u64) -> Option<&Page> {
        self.pages.get((word / (PAGE / WORD)) as usize)?.get()
    }

    /// Returns the bits of a word that are in the set.
    #[inline(always)]
    fn bits(&self, word: u64) -> u64 {
        self.page(word).map_or(0, |page| page[(word % (PAGE / WORD)) as usize].load(Relaxed))
    }

    /// Adds bytes. Bytes past the end of the allocation are ignored.
    #[inline]
    pub(crate) fn insert(&self, range: Range<u64>) {
        for (word, mask) in words(range) {
            if self.bits(word) & mask == mask {
                continue;
            }
            let Some(page) = self.pages.get((word / (PAGE / WORD)) as usize) else { return };
            let page = page.get_or_init(|| (0..PAGE / WORD).map(|_| AtomicU64::new(0)).collect());
            page[(word % (PAGE / WORD)) as usize].fetch_or(mask, Relaxed);
        }
    }

    /// Removes bytes.
    pub(crate) fn remove(&self, range: Range<u64>) {
        for (word, mask) in words(range) {
            if let Some(page) = self.page(word) {
                page[(word % (PAGE / WORD)) as usize].fetch_and(!mask, Relaxed);
            }
        }
    }

    /// Returns whether all bytes of a range are in the set.
    #[inline]
    pub(crate) fn contains(&self, range: Range<u64>) -> bool {
        words(range).all(|(word, mask)| self.bits(word) & mask == mask)
    }

    /// Returns whether any byte of a range is in the set.
    #[inline]
    pub(crate) fn meets(&self, range: Range<u64>) -> bool {
        words(range).any(|(word, mask)| self.bits(word) & mask != 0)
    }

    /// Returns the runs of adjacent bytes in a range that are in the set or, if `inside` is false, that are not.
    pub(crate) fn runs(&self, range: Range<u64>, inside: bool) -> Vec<Range<u64>> {
        let mut runs: Vec<Range<u64>> = vec![];
        let mut push = |run: Range<u64>| match runs.last_mut() {
            Some(last) if last.end == run.start => last.end = run.end,
            _ => runs.push(run),
        };
        for (word, mask) in words(range) {
            let mut bits = if inside { self.bits(word) } else { !self.bits(word) } & mask;
            let mut start = word * WORD;
            while bits != 0 {
                let zeros = bits.trailing_zeros();
                start += u64::from(zeros);
                bits >>= zeros;
                let ones = bits.trailing_ones();
                push(start..start + u64::from(ones));
                start += u64::from(ones);
                bits = bits.checked_shr(ones).unwrap_or(0);
            }
        }
        runs
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of ranges may have one")]
mod tests {
    use super::{ByteSet, PAGE};

    #[test]
    fn runs_within_and_across_words_and_pages() {
        let set = ByteSet::new(4 * PAGE);
        let ranges =
            [0..1, 3..7, 63..65, 128..192, 200..264, PAGE - 5..2 * PAGE + 70, 4 * PAGE - 1..4 * PAGE];
        ranges.iter().for_each(|range| set.insert(range.clone()));
        assert_eq!(set.runs(0..4 * PAGE, true), ranges);
        let gaps: Vec<_> = ranges.windows(2).map(|pair| pair[0].end..pair[1].start).collect();
        assert_eq!(set.runs(0..4 * PAGE, false), gaps);
        assert_eq!(set.runs(4..201, true), [4..7, 63..65, 128..192, 200..201]);
        assert!(set.meets(0..3) && set.meets(6..60) && !set.meets(7..63) && !set.meets(5..5));
        assert!(set.contains(3..7) && set.contains(7..7) && !set.contains(3..8) && !set.contains(62..65));
        set.remove(64..PAGE);
        assert_eq!(set.runs(0..PAGE, true), [0..1, 3..7, 63..64]);
    }
}
