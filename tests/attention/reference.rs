//! Attention in f64.

use std::ops::Range;

use warpwright::kernels::AttentionMask;

/// The softmax of a head's scores, with the values of its keys.
pub(super) struct Reference<'a> {
    pub(super) mask: AttentionMask,
    pub(super) queries: usize,
    pub(super) keys: usize,
    /// The score of a query and a key, times the scale.
    pub(super) score: &'a dyn Fn(usize, usize) -> f64,
    /// The value of a key in a column.
    pub(super) value: &'a dyn Fn(usize, usize) -> f64,
    pub(super) columns: usize,
    pub(super) soft_cap: Option<f64>,
    pub(super) slope: f64,
    pub(super) sink: Option<f64>,
}

/// The expected results for a query.
pub(super) struct Expected {
    /// The result in each column, with the sum of the weighted absolute values.
    pub(super) o: Vec<[f64; 2]>,
    pub(super) lse: f64,
}

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

    pub(super) fn row(&self, query: usize) -> Expected {
        let visible = self.visible(query);
        let scores: Vec<f64> = visible.clone().map(|key| self.score(query, key)).collect();
        let all = scores.iter().copied().chain(self.sink);
        let max = all.clone().fold(f64::NEG_INFINITY, f64::max);
        if max == f64::NEG_INFINITY && !scores.iter().any(|score| score.is_nan()) {
            return Expected { o: vec![[0.0; 2]; self.columns], lse: f64::NEG_INFINITY };
        }
        let total: f64 = all.map(|score| (score - max).exp()).sum();
        let mut o = vec![[0.0; 2]; self.columns];
        for (key, score) in visible.zip(scores) {
            let weight = (score - max).exp() / total;
            for (col, [sum, size]) in o.iter_mut().enumerate() {
                let term = weight * (self.value)(key, col);
                *sum += term;
                *size += term.abs();
            }
        }
        Expected { o, lse: max + total.ln() }
    }
}
