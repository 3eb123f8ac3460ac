//! Attention heads: their order in memory and the scale of their scores.

use super::{
    operands::{product, refused},
    softmax::check_scale,
};
use crate::run::CallError;

/// The axis order of the contiguous arrays Q, K, V and O. The last axis varies fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HeadOrder {
    /// `[batch][position][head][column]`, the order in which linear projections usually produce Q, K and V.
    Positions,
    /// `[batch][head][position][column]`.
    Heads,
}

impl HeadOrder {
    /// Returns the strides between batches, heads and rows, given the number of heads, rows and columns.
    pub(super) fn strides(
        self,
        call: &'static str,
        [heads, rows, columns]: [u32; 3],
    ) -> Result<[u32; 3], CallError> {
        let batch = product(call, &[heads, rows, columns])?;
        let [head, row] = self.strides_of_one(call, [heads, rows, columns])?;
        Ok([batch, head, row])
    }

    /// Returns the strides between heads and rows of one batch.
    pub(super) fn strides_of_one(
        self,
        call: &'static str,
        [heads, rows, columns]: [u32; 3],
    ) -> Result<[u32; 2], CallError> {
        Ok(match self {
            Self::Positions => [columns, product(call, &[heads, columns])?],
            Self::Heads => [product(call, &[rows, columns])?, columns],
        })
    }
}

/// Returns the error for head sizes that no kernel supports.
pub(super) fn refused_sizes(
    call: &'static str,
    expected: &str,
    [head_size, value_size]: [u32; 2],
) -> CallError {
    refused(call, expected, format!("{head_size} and {value_size}"))
}

/// Checks the number of query heads and KV heads, and returns the scale factor for the scores.
pub(super) fn scale_of_heads(
    call: &'static str,
    [heads, kv_heads]: [u32; 2],
    head_size: u32,
    scale: Option<f32>,
) -> Result<f32, CallError> {
    if kv_heads == 0 || !heads.is_multiple_of(kv_heads) {
        return Err(refused(call, format!("heads that are a multiple of kv_heads = {kv_heads}"), heads));
    }
    positive_scale(call, head_size, scale)
}

/// Checks and returns the scale factor for the scores, by default 1/√`head_size`.
pub(super) fn positive_scale(
    call: &'static str,
    head_size: u32,
    scale: Option<f32>,
) -> Result<f32, CallError> {
    let scale = scale.unwrap_or_else(|| 1.0 / (head_size as f32).sqrt());
    check_scale(call, scale).map(|()| scale)
}
