//! Linear attention: causal attention whose past is a matrix of fixed size, the sum of φ(k)ᵀ·v over the keys so far.
//!
//! A block processes the tokens of one head in order, 64 at a time: a *chunk*. In a chunk, the products of queries and keys are computed as in
//! attention; what precedes the chunk is in the state, which the warps divide by columns of values and keep in registers.

mod chunk;
mod decay;
mod decayed;
mod inputs;
mod state_space;
mod taylor;

pub use decayed::{DecayedAttention, DecayedAttentionArgs};
pub use inputs::LinearAttentionArgs;
pub use state_space::{StateSpace, StateSpaceArgs};
pub use taylor::TaylorAttention;
