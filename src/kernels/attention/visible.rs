//! The keys that are visible to a query.

use super::AttentionMask;
use crate::{ptx::Val, tiles::Rt};

/// Which of `keys` keys are visible to which of `queries` queries, in steps of `step` keys.
#[derive(Clone, Copy)]
pub(super) struct Visible<'k> {
    pub(super) mask: AttentionMask,
    pub(super) queries: Val<'k, u32>,
    pub(super) keys: Val<'k, u32>,
    pub(super) step: u32,
}

impl<'k> Visible<'k> {
    /// Returns the number of keys that are visible to queries before `end`: those before it.
    #[track_caller]
    fn before(self, end: Val<'k, u32>) -> Val<'k, u32> {
        let Self { mask, queries, keys, .. } = self;
        match mask {
            AttentionMask::Full => keys,
            AttentionMask::Causal => end.min(keys),
            AttentionMask::CausalFromEnd => ((end + keys).max(queries) - queries).min(keys),
        }
    }

    /// Returns the number of steps with keys for queries before `end`; at least one, so that queries without keys have a result.
    #[track_caller]
    pub(super) fn steps(self, end: Val<'k, u32>) -> Val<'k, u32> {
        self.before(end).ceil_div(self.step).max(1)
    }

    /// Returns the number of steps whose keys are all visible to query `first` and later ones.
    #[track_caller]
    pub(super) fn whole_steps(self, first: Val<'k, u32>) -> Val<'k, u32> {
        self.before(first + 1) / self.step
    }

    /// Replaces the scores of keys that are not visible by −∞, in a tile that starts at this query and step.
    #[track_caller]
    pub(super) fn only<const N: usize>(
        self,
        scores: Rt<'k, f32, 1, N>,
        query: Val<'k, u32>,
        step: Val<'k, u32>,
    ) -> Rt<'k, f32, 1, N> {
        let key = step * self.step;
        let scores = scores.right_fill(self.keys - key, f32::NEG_INFINITY);
        let offset = match self.mask {
            AttentionMask::Full => return scores,
            AttentionMask::Causal => 0.into(),
            AttentionMask::CausalFromEnd => self.keys - self.queries,
        };
        scores.tril((query + offset - key).cast::<i32>(), f32::NEG_INFINITY)
    }

    /// Returns the tile of queries in a column of the schedule, of `columns`: with a causal mask, the last tiles, which take the most
    /// steps, are first.
    #[track_caller]
    pub(super) fn tile(self, column: Val<'k, u32>, columns: Val<'k, u32>) -> Val<'k, u32> {
        if self.mask == AttentionMask::Full { column } else { columns - 1 - column }
    }
}
