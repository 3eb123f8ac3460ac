//! Attention in f64.

use std::ops::Range;

use super::dropout::Dropout;
use warpwright::kernels::AttentionMask;
use warpwright_reference::{Expected, weighted_values};

/// The softmax of a head's scores, with the values of its keys.
pub(super) struct Reference<'a> {
    pub(super) mask: AttentionMask,
    pub(super) queries: usize,
    pub(super) keys: usize,
    /// The score of a query and a key, times the scale.
    pub(super) score: &'a dyn Fn(usize, usize) -> f64,
    /// The values of a key.
    pub(super) value: &'a dyn Fn(usize) -> &'a [f64],
    pub(super) columns: usize,
    pub(super) soft_cap: Option<f64>,
    pub(super) slope: f64,
    pub(super) sink: Option<f64>,
    pub(super) dropout: Option<Dropout>,
}

/// The values of a weight that is dropped.
const ZEROS: [f64; 256] = [0.0; 256];

impl Reference<'_> {
    /// Returns the position of a query among the keys.
    fn position(&self, query: usize) -> i64 {
        let offset = match self.mask {
            AttentionMask::Full | AttentionMask::Causal => 0,
            AttentionMask::CausalFromEnd | AttentionMask::Window { .. } => {
                self.keys as i64 - self.queries as i64
            }
        };
        query as i64 + offset
    }

    pub(super) fn visible(&self, query: usize) -> Range<usize> {
        let (position, keys) = (self.position(query), self.keys as i64);
        let (from, to) = match self.mask {
            AttentionMask::Full => (0, keys),
            AttentionMask::Causal | AttentionMask::CausalFromEnd => (0, position + 1),
            AttentionMask::Window { before, after } => {
                (position - i64::from(before), position + i64::from(after) + 1)
            }
        };
        let [from, to] = [from, to].map(|key| key.clamp(0, keys) as usize);
        from..to.max(from)
    }

    pub(super) fn score(&self, query: usize, key: usize) -> f64 {
        let score = (self.score)(query, key);
        let capped = self.soft_cap.map_or(score, |cap| cap * (score / cap).tanh());
        capped - self.slope * (self.position(query) - key as i64).abs() as f64
    }

    /// Computes what a kernel must compute for a query.
    pub(super) fn row(&self, query: usize) -> Expected {
        let visible = self.visible(query);
        let scores: Vec<f64> = visible.clone().map(|key| self.score(query, key)).collect();
        let factor = |key| self.dropout.map_or(1.0, |dropout| dropout.factor(query, key));
        let kept = self.dropout.map_or(1.0, |dropout| 1.0 / (1.0 - f64::from(dropout.p)));
        let values = |index| {
            let key = visible.start + index;
            if factor(key) == 0.0 { &ZEROS } else { (self.value)(key) }
        };
        let Expected { o, lse } = weighted_values(&scores, self.sink, self.columns, &values);
        Expected { o: o.into_iter().map(|numbers| numbers.map(|x| x * kept)).collect(), lse }
    }
}
