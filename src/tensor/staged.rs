//! Rows in shared memory, in the aligned groups of elements that they consist of in global memory.

use std::panic::Location;

use super::{
    element::{TensorElement, splat},
    fragment::pack,
};
use crate::ptx::{
    Builder, CopyHints, CpAsyncCache, Global, Ptr, Readable, RegId, Scalar, Shared, Val, Writable,
};

