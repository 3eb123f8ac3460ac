//! The models that are timed, and their definitions.

use super::problem::Sizes;

/// A model with the row lengths used in its paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Model {
    /// Based: weights 1 + s + s²/2
    Taylor,
    /// Based: the same weights, divided by their sum
    NormalizedTaylor,
    /// Lightning Attention: one decay per head
    Decayed,
    /// Hedgehog: softmax over the latest tokens, learned features for older tokens
    Hedgehog,
    /// Mamba-2 with states of 64
    StateSpace64,
    /// Mamba-2 with states of 128
    StateSpace128,
}

/// The values, in addition to queries and keys, on which the weights of each head and token depend.
pub(super) struct Steps {
    /// The logarithm of the decay of each head, per unit step.
    pub(super) logs: Vec<f32>,
    /// The step of each head and token.
    pub(super) steps: Vec<f32>,
}

impl Model {
    pub(super) const ALL: [Self; 6] = [
        Self::Taylor,
        Self::NormalizedTaylor,
        Self::Decayed,
        Self::Hedgehog,
        Self::StateSpace64,
        Self::StateSpace128,
    ];

    /// Returns the name of the model, which the rival also uses.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Taylor => "taylor",
            Self::NormalizedTaylor => "normalized-taylor",
            Self::Decayed => "decayed",
            Self::Hedgehog => "hedgehog",
            Self::StateSpace64 => "state-space64",
            Self::StateSpace128 => "state-space128",
        }
    }

    /// Returns the row length of Q and K, and the row length of V.
    pub(super) fn columns(self) -> [usize; 2] {
        match self {
            Self::Taylor | Self::NormalizedTaylor => [16, 64],
            Self::Decayed => [128, 128],
            Self::Hedgehog => [64, 64],
            Self::StateSpace64 => [64, 64],
            Self::StateSpace128 => [128, 64],
        }
    }

    /// Returns whether all heads have the same Q and K.
    pub(super) fn shares_keys(self) -> bool {
        matches!(self, Self::StateSpace64 | Self::StateSpace128)
    }

    /// Returns the number of bytes that must be read and written.
    pub(super) fn bytes(self, sizes: Sizes) -> f64 {
        let Sizes { batches, heads, length } = sizes;
        let [d, e] = self.columns();
        let rows = |heads: usize, columns: usize| (batches * heads * length * columns * 2) as f64;
        let of_keys = if self.shares_keys() { 1 } else { heads };
        let steps = if self.shares_keys() { rows(heads, 2) } else { 0.0 };
        2.0 * rows(of_keys, d) + 2.0 * rows(heads, e) + steps
    }

    /// Returns the weights of the values up to token `i` of a head, given the products of its query with all keys.
    pub(super) fn weights(self, sizes: Sizes, steps: &Steps, head: usize, products: &[f64]) -> Vec<f64> {
        if matches!(self, Self::Taylor | Self::NormalizedTaylor) {
            let weights: Vec<f64> =
                products.iter().map(|s| 1.0 + s / 4.0 + (s / 4.0).powi(2) / 2.0).collect();
            let total = if self == Self::Taylor { 1.0 } else { weights.iter().sum() };
            return weights.into_iter().map(|weight| weight / total).collect();
        }
        if self == Self::Hedgehog {
            return hedgehog(products);
        }
        let mut log = 0.0;
        let step = |token: usize| match self {
            Self::Decayed => 1.0,
            _ => f64::from(steps.steps[head * sizes.length + token]),
        };
        let of_each = products.iter().enumerate().rev().map(|(token, product)| {
            let weight = f64::exp(log) * product * step(token);
            log += step(token) * f64::from(steps.logs[head % sizes.heads]);
            weight
        });
        let mut weights: Vec<f64> = of_each.collect();
        weights.reverse();
        weights
    }
}

/// Returns the weights of Hedgehog with zero maps, for which each of the 128 features is 1/64: softmax over the tokens of the current and
/// the preceding 64-token chunk, and products of features for older tokens.
fn hedgehog(products: &[f64]) -> Vec<f64> {
    let older = ((products.len() - 1) / 64).saturating_sub(1) * 64;
    let max = products[older..].iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weight = |(j, s): (usize, &f64)| if j < older { 128.0 / 64.0 / 64.0 } else { f64::exp(s - max) };
    let weights: Vec<f64> = products.iter().enumerate().map(weight).collect();
    let total: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / total).collect()
}
