//! The queries that attend to a key.

use crate::{
    kernels::attention::visible::{AttentionMask, Visible},
    ptx::{Builder, State, Steps, Val},
    tiles::Rt,
};

/// The steps with queries that attend to some keys of a tile.
#[derive(Clone, Copy)]
pub(super) struct QueryRange<'k> {
    pub(super) first: Val<'k, u32>,
    /// The range of steps in which all queries attend to all keys of the tile.
    whole: [Val<'k, u32>; 2],
    pub(super) end: Val<'k, u32>,
    is_window: bool,
}

impl<'k> QueryRange<'k> {
    /// Returns all steps.
    pub(super) fn all(self) -> Steps<'k, u32> {
        Steps::new(self.first, self.end)
    }

    /// Emits `step` for all steps before the last one. The second argument of `step` is true if some queries of the step may not attend to
    /// some of the keys.
    #[track_caller]
    pub(super) fn before_last<S: State<'k>>(
        self,
        k: Builder<'k>,
        state: S,
        step: impl Fn(Val<'k, u32>, bool, S) -> S,
    ) -> S {
        let last = self.end - 1;
        let [begin, end] = self.whole.map(|step| step.min(last));
        let state = k.fold(Steps::new(self.first, begin), state, |i, state| step(i, true, state));
        let state = k.fold(Steps::new(begin, end), state, |i, state| step(i, false, state));
        if !self.is_window {
            return state;
        }
        k.fold(Steps::new(end, last), state, |i, state| step(i, true, state))
    }
}

/// The queries that attend to each key, in steps of `step` queries.
#[derive(Clone, Copy)]
pub(super) struct VisibleFrom<'k> {
    pub(super) visible: Visible<'k>,
    pub(super) step: u32,
}

impl<'k> VisibleFrom<'k> {
    /// Returns the first query that attends to a key, ignoring the start of a window.
    #[track_caller]
    fn first(self, key: Val<'k, u32>) -> Val<'k, u32> {
        let Visible { mask, queries, keys, .. } = self.visible;
        match mask {
            AttentionMask::Full => 0.into(),
            AttentionMask::Causal => key,
            AttentionMask::CausalFromEnd => (key + queries).max(keys) - keys,
            AttentionMask::Window { after, .. } => (key + queries).max(keys + after) - (keys + after),
        }
    }

    /// Returns the end of the range of queries that attend to a key.
    #[track_caller]
    fn end(self, key: Val<'k, u32>) -> Val<'k, u32> {
        let Visible { mask, queries, keys, .. } = self.visible;
        match mask {
            AttentionMask::Window { before, .. } => {
                ((key + queries + (before + 1)).max(keys) - keys).min(queries)
            }
            _ => queries,
        }
    }

    /// Returns the steps with queries that attend to keys from `first` to `end`, exclusive. There is at least one step, so that keys to
    /// which no query attends also have results. Keys past the last one are not visible to any query.
    #[track_caller]
    pub(super) fn range(self, first: Val<'k, u32>, end: Val<'k, u32>) -> QueryRange<'k> {
        let Self { visible: Visible { mask, keys, .. }, step } = self;
        let last_step = self.end(end.min(keys).max(1) - 1).ceil_div(step).max(1);
        let first_step = (self.first(first) / step).min(last_step - 1);
        // Keys past the last one are not visible to any query.
        let is_partial = end.gt(keys);
        let begin = self.first(end - 1).ceil_div(step).max(first_step).min(last_step);
        let begin = is_partial.select(last_step, begin);
        let is_window = matches!(mask, AttentionMask::Window { .. });
        let whole_end =
            if is_window { (self.end(first) / step).max(begin).min(last_step) } else { last_step };
        QueryRange { first: first_step, whole: [begin, whole_end], end: last_step, is_window }
    }

    /// Replaces elements with 0 where the query does not attend to the key. The rows of the tile are the keys from `key` onward, and its
    /// columns are the queries of a step.
    #[track_caller]
    pub(super) fn only<const M: usize>(
        self,
        tile: Rt<'k, f32, 1, M>,
        key: Val<'k, u32>,
        step: Val<'k, u32>,
    ) -> Rt<'k, f32, 1, M> {
        let Visible { mask, keys, .. } = self.visible;
        let tile = tile.lower_fill(keys.max(key) - key, 0.0);
        // The column of the query at the position of the first key.
        let column = (key - self.visible.offset() - step * self.step).cast::<i32>();
        match mask {
            AttentionMask::Full => tile,
            AttentionMask::Causal | AttentionMask::CausalFromEnd => tile.triu(column, 0.0),
            AttentionMask::Window { before, after } => {
                tile.triu(column - after as i32, 0.0).tril(column + before as i32, 0.0)
            }
        }
    }
}
