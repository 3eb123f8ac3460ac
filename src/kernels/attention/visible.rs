//! The keys that are visible to a query.

use crate::{
    ptx::{Steps, Val},
    tiles::Rt,
};

/// The mask of an attention kernel, which determines the keys that each query attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AttentionMask {
    /// All keys.
    Full,
    /// All keys at positions up to and including that of the query. The first query has the same position as the first key.
    Causal,
    /// All keys at positions up to and including that of the query. The last query has the same position as the last key, so the queries
    /// can continue a sequence whose first keys are in a cache.
    CausalFromEnd,
    /// The keys from `before` positions before the query to `after` positions after the query, inclusive. The last query has the same
    /// position as the last key. `before` and `after` must be less than 2³⁰.
    #[doc(alias = "sliding window")]
    Window {
        /// The number of visible keys before the query's position.
        before: u32,
        /// The number of visible keys after the query's position.
        after: u32,
    },
}

impl AttentionMask {
    /// Returns whether later queries attend to more keys.
    pub(super) const fn is_causal(self) -> bool {
        matches!(self, Self::Causal | Self::CausalFromEnd)
    }

    pub(super) fn name(self) -> String {
        match self {
            Self::Full => "full".into(),
            Self::Causal => "causal".into(),
            Self::CausalFromEnd => "causal_from_end".into(),
            Self::Window { before, after } => format!("window_{before}_{after}"),
        }
    }
}

/// The keys that are visible to each of `queries` queries, among `keys` keys that are processed in steps of `step` keys.
#[derive(Clone, Copy)]
pub(super) struct Visible<'k> {
    pub(super) mask: AttentionMask,
    pub(super) queries: Val<'k, u32>,
    pub(super) keys: Val<'k, u32>,
    pub(super) step: u32,
    /// The number of adjacent rows, one per head, that belong to the same query: 1, or a power of two of at least 8. A value other than 1
    /// is supported only for the rows of one warp, with the mask [`Full`](AttentionMask::Full) or
    /// [`CausalFromEnd`](AttentionMask::CausalFromEnd).
    pub(super) heads: u32,
}

/// The steps with keys that are visible to some queries.
#[derive(Clone, Copy)]
pub(super) struct Range<'k> {
    pub(super) first: Val<'k, u32>,
    /// The end of the steps that contain keys before the window of a query; `None` if the mask is not a window.
    begin: Option<Val<'k, u32>>,
    /// The end of the steps whose keys are all visible to all queries.
    whole: Val<'k, u32>,
    pub(super) end: Val<'k, u32>,
}

impl<'k> Range<'k> {
    /// Returns the steps, other than the first one, that contain keys before the window of a query.
    pub(super) fn begun(self) -> Option<Steps<'k, u32>> {
        self.begin.map(|begin| Steps::new(self.first + 1, begin))
    }

    /// Returns the next steps, whose keys are all visible to all queries.
    pub(super) fn whole(self) -> Steps<'k, u32> {
        Steps::new(self.begin.unwrap_or(1.into()), self.whole)
    }

    /// Returns the remaining steps.
    pub(super) fn ended(self) -> Steps<'k, u32> {
        Steps::new(self.whole.max(self.begin.unwrap_or(1.into())), self.end)
    }
}

impl<'k> Range<'k> {
    /// Returns whether some keys of a step may not be visible to some queries.
    #[track_caller]
    pub(super) fn is_masked(self, step: Val<'k, u32>) -> Val<'k, bool> {
        let ended = step.ge(self.whole);
        self.begin.map_or(ended, |begin| step.lt(begin) | ended)
    }
}

impl<'k> Visible<'k> {
    /// Returns the end of the range of keys that are visible to the queries before `end`.
    #[track_caller]
    fn before(self, end: Val<'k, u32>) -> Val<'k, u32> {
        let Self { mask, queries, keys, .. } = self;
        match mask {
            AttentionMask::Full => keys,
            AttentionMask::Causal => end.min(keys),
            AttentionMask::CausalFromEnd => ((end + keys).max(queries) - queries).min(keys),
            AttentionMask::Window { after, .. } => ((end + after + keys).max(queries) - queries).min(keys),
        }
    }

    /// Returns the number of steps whose keys are all visible to all queries.
    #[track_caller]
    pub(super) fn all_see(self) -> Val<'k, u32> {
        self.before(1.into()) / self.step
    }

    /// Returns the first key of the window of a query, or `None` if the mask is not a window.
    #[track_caller]
    fn first(self, query: Val<'k, u32>) -> Option<Val<'k, u32>> {
        let Self { mask, queries, keys, .. } = self;
        let AttentionMask::Window { before, .. } = mask else { return None };
        let outside = queries + before;
        Some((query + keys).max(outside) - outside)
    }

    /// Returns the steps with keys that are visible to the queries from `first` to `end`, exclusive. There is at least one step, so that
    /// queries without visible keys also have a result.
    #[track_caller]
    pub(super) fn range(self, first: Val<'k, u32>, end: Val<'k, u32>) -> Range<'k> {
        let steps = self.before(end).ceil_div(self.step).max(1);
        let whole = self.before(first + 1) / self.step;
        match self.first(first).zip(self.first(end - 1)) {
            None => Range { first: 0.into(), begin: None, whole, end: steps },
            Some((key, last)) => {
                let first = (key / self.step).min(steps - 1);
                let begin = last.ceil_div(self.step).max(first + 1).min(steps);
                Range { first, begin: Some(begin), whole, end: steps }
            }
        }
    }

    /// Replaces the scores of keys that are not visible with −∞, in a tile that starts at row `query` and step `step`.
    #[track_caller]
    pub(super) fn only<const H: usize, const N: usize>(
        self,
        scores: Rt<'k, f32, H, N>,
        query: Val<'k, u32>,
        step: Val<'k, u32>,
    ) -> Rt<'k, f32, H, N> {
        let first = step * self.step;
        let scores = scores.right_fill(self.keys.max(first) - first, f32::NEG_INFINITY);
        if self.heads > 1 && self.mask == AttentionMask::CausalFromEnd {
            // With 16 or more heads, all rows have the same end; with 8 heads, every 8 rows have the same end.
            let end = |row: Val<'k, u32>| self.before(row / self.heads + 1).max(first) - first;
            let scores = scores.right_fill(end(query + 15), f32::NEG_INFINITY);
            if self.heads >= 16 {
                return scores;
            }
            return scores.upper_right_fill(8, end(query), f32::NEG_INFINITY);
        }
        let position = self.position(query, step);
        match self.mask {
            AttentionMask::Full => scores,
            AttentionMask::Causal | AttentionMask::CausalFromEnd => scores.tril(position, f32::NEG_INFINITY),
            AttentionMask::Window { before, after } => scores
                .tril(position + after as i32, f32::NEG_INFINITY)
                .triu(position - before as i32, f32::NEG_INFINITY),
        }
    }

    /// Returns the position of a query among the keys, relative to the first key of a step.
    #[track_caller]
    pub(super) fn position(self, query: Val<'k, u32>, step: Val<'k, u32>) -> Val<'k, i32> {
        (query + self.offset() - step * self.step).cast::<i32>()
    }

    /// Returns the position of the first query among the keys.
    #[track_caller]
    pub(super) fn offset(self) -> Val<'k, u32> {
        match self.mask {
            AttentionMask::Full | AttentionMask::Causal => 0.into(),
            AttentionMask::CausalFromEnd | AttentionMask::Window { .. } => self.keys - self.queries,
        }
    }

    /// Returns the tile of queries for column `column` of the schedule's `columns` columns. With a causal mask, the last tiles, which
    /// require the most steps, come first.
    #[track_caller]
    pub(super) fn tile(self, column: Val<'k, u32>, columns: Val<'k, u32>) -> Val<'k, u32> {
        if self.mask.is_causal() { columns - 1 - column } else { column }
    }
}
