//! The propagation and uses of undefined values.

mod flow;
mod follow;
mod memory;
mod sums;

pub(crate) use follow::{ShuffleAt, follow, misuse, origin, sentence, shared_operands, shuffle, tell};
pub(crate) use memory::{leave, load, load_matrices, of_local, store, store_matrices};
