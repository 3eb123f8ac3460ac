//! The kernel builder: typed values and instructions, emitted as readable PTX text.

mod ascii;
mod body;
mod checked;
mod dim;
mod entry;
mod error;
mod extent;
mod facts;
mod flow;
mod fold;
mod function;
mod in_place;
mod index;
mod inst;
mod kernel;
mod lease;
mod memo;
mod mnemonic;
mod module;
mod operand;
mod params;
mod print;
mod ptr;
mod raw;
mod render;
mod scope;
pub(crate) mod sealed;
mod shared;
mod slice;
mod state;
pub mod table;
mod target;
mod text;
pub mod traits;
mod types;
mod uniform;
mod val;
mod var;
mod variable;

pub(crate) use body::RegId;
pub use checked::CheckedPtr;
pub use dim::{Dim, IntoDim};
pub use entry::{Assumption, Entry, Limit};
pub use error::{BuildError, BuildErrorKind};
pub use extent::{Extent, ExtentMode};
pub(crate) use facts::Inside;
pub(crate) use facts::divisor;
pub use flow::{Loop, Steps};
pub use fold::{Format, Mode, Rounding};
pub use index::Index;
pub(crate) use inst::{Addition, CpAsyncCache, WgmmaTail, matrix_mnemonic};
pub use inst::{
    Atomic, BufferMap, CachePolicy, Class, Comparison, CopyHints, Eviction, FULL_MASK, Hints, Load, MapField,
    MapUse, MatrixDescriptor, MatrixLayout, Mbarrier, MemoryScope, NanExtremum, Order, Permute, Prefetch,
    PrefetchSize, ProxySpace, Reduce, ReduceOp, Reduction, ShiftMode, Shuffle, Store, SwizzleMode,
    TensorMapEdit, TensorMapPtr, WgmmaA, lop3_table,
};
pub use kernel::{Builder, Kernel};
pub(crate) use lease::Lease;
pub(crate) use memo::Computation;
pub use module::{Module, ModuleError};
pub use params::{BUFFER_ALIGN, In, InOut, Out, ParamDecl, ParamKind, Params, TensorMap};
pub use print::PrintValue;
pub use ptr::{
    Const, Generic, Global, Local, Ptr, Read, ReadWrite, Readable, Shared, SharedCluster, Space, Writable,
    Write,
};
pub use raw::{Raw, RawOperand};
pub(crate) use scope::{AnyScope, Combine, pairs_of_warps, quotient, reduce, remainder, shuffle};
pub use scope::{Block, Cluster, Lane, Scope, Warp, WarpGroup, Warps};
pub use slice::Slice;
pub use state::{State, Visitor};
pub use target::{Features, Target, UnknownTarget, Version};
pub use types::*;
pub use uniform::{ConditionKind, Uniformity};
pub use val::Val;
pub use var::Var;
pub use variable::Variable;
