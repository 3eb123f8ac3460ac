//! The state of a simulated machine: memory, warps, barriers and asynchronous engines.

pub(crate) mod async_copy;
pub(crate) mod barrier;
pub(crate) mod bulk;
pub(crate) mod heap;
pub(crate) mod im2col;
pub(crate) mod initialized;
pub(crate) mod local;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod options;
pub(crate) mod printed;
pub(crate) mod registers;
pub(crate) mod reserved;
pub(crate) mod state;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod trace;
pub(crate) mod view;
pub(crate) mod warp;
pub(crate) mod wgmma;

pub(crate) use state::{Cluster, Cta, MULTIPROCESSORS, Machine, Shared};
