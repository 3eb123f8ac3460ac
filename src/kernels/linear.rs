//! Linear attention: causal attention with a fixed-size state, the matrix Σ φ(k)ᵀ·v over all keys so far.
//!
//! A block processes the tokens of one head in order, in *chunks* of 64. Within a chunk, scores are computed as in attention. The state,
//! which represents all tokens before the chunk, is divided among the warps by columns of values and kept in registers.

mod chunk;
mod decay;
mod decayed;
mod hedgehog;
mod inputs;
mod state_space;
mod taylor;

pub use decayed::{DecayedAttention, DecayedAttentionArgs};
pub use hedgehog::{Hedgehog, HedgehogArgs};
pub use inputs::LinearAttentionArgs;
pub use state_space::{StateSpace, StateSpaceArgs};
pub use taylor::TaylorAttention;
