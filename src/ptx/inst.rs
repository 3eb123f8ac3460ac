//! Instructions as methods and operators, one file per chapter of the manual.

mod access;
mod address;
mod approx;
mod arithmetic;
mod atomic;
mod bits;
mod bulk;
mod bytes;
mod cache_policy;
mod chain;
mod cluster;
mod compare;
mod control;
mod convert;
mod cp_async;
mod division;
mod extended;
mod float;
mod functions;
mod integer;
mod logic;
mod matrix;
pub(crate) mod matrix_mnemonic;
mod mbarrier;
mod memory;
mod minifloat;
mod order;
mod pack;
mod permute;
mod product;
mod proxy;
mod reciprocal;
mod reduce_op;
mod select;
mod sign;
mod special;
mod stochastic;
mod sync;
mod warp;
mod wgmma;
mod words;

pub use address::{GenericWindow, Prefetch, Prefetchable};
pub use arithmetic::{WideProduct, Widen};
pub use atomic::{Atomic, AtomicAdd, AtomicInteger, AtomicSpace, Reduction};
pub use bits::{Extend, ShiftMode, WideBits};
pub use bulk::{BufferMap, Hints, MapField, MapUse, TensorMapEdit, TensorMapPtr};
pub(crate) use bulk::{MAP_ALIGN, MAP_BYTES};
pub use bytes::ByteSized;
pub use cache_policy::{CachePolicy, Eviction};
pub use compare::{CompareEach, Comparison, UnitMask};
pub(crate) use cp_async::CpAsyncCache;
pub use cp_async::{CopyHints, PrefetchSize};
pub use division::{Divide, IntegerDivision};
pub use extended::ExtendedPrecision;
pub use float::{Half, NanExtremum};
pub use functions::{Elementary, Root};
pub use integer::{Narrow24, Packed};
pub use logic::Bits;
pub use matrix::Accumulator;
pub use mbarrier::Mbarrier;
pub use memory::{Load, Store};
pub use order::{MemoryScope, Order};
pub use pack::{HalfPair, Pair};
pub use permute::{Permute, lop3_table};
pub(crate) use product::Addition;
pub use proxy::ProxySpace;
pub use reduce_op::ReduceOp;
pub use select::Selector;
pub use sign::{Class, Real, SignBits, Signed};
pub use warp::{FULL_MASK, Reduce, Shuffle};
pub(crate) use wgmma::WgmmaTail;
pub use wgmma::{MatrixDescriptor, MatrixLayout, SwizzleMode, WgmmaA};

use super::{
    kernel::Builder,
    types::Scalar,
    val::{Repr, Val},
};

/// Two operands: both constants, or at least one in a register of a kernel.
pub(crate) enum Operands<'k, T, U> {
    Known(T, U),
    In(Builder<'k>),
}

/// Returns the constants if an instruction on `a` and `b` can be folded, and the builder of their kernel otherwise.
pub(crate) fn operands<'k, T: Scalar, U: Scalar>(a: Val<'k, T>, b: Val<'k, U>) -> Operands<'k, T, U> {
    match (a.0, b.0) {
        (Repr::Const(a), Repr::Const(b)) => Operands::Known(a, b),
        (Repr::Reg(_, k), _) | (_, Repr::Reg(_, k)) => Operands::In(k),
    }
}
