//! The assembler: typed values and instructions in, readable PTX text out.

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
mod index;
mod inst;
mod kernel;
mod module;
mod operand;
mod params;
mod print;
mod ptr;
mod raw;
mod render;
mod scope;
mod shared;
mod slice;
mod state;
pub mod table;
mod target;
mod types;
mod uniform;
mod val;
mod var;
mod variable;

pub(crate) use body::RegId;
pub use checked::CheckedPtr;
pub use dim::{Dim, IntoDim, IntoGrid};
pub use entry::{Entry, Promise};
pub use error::{BuildError, BuildErrorKind};
pub use extent::{Extent, ExtentMode};
pub(crate) use facts::Inside;
pub(crate) use facts::divisor;
pub use flow::{Counter, Loop, Steps};
pub use fold::{Float, Format, Integer, Mode, Number, Numeric, Rounding};
pub use index::{Index, IntoIndex, IntoLength};
pub use inst::{
    Accumulator, Atomic, AtomicAdd, AtomicInteger, AtomicSpace, Bits, ByteSized, Class, CompareEach,
    Comparison, Divide, Excess, Extend, FULL_MASK, Half, HalfPair, Load, MemoryScope, NanExtremum, Narrow24,
    Order, Packed, Pair, Permute, Prefetch, Prefetchable, Real, Reduce, Reduction, Selector, Shuffle, Signed,
    Store, UnitMask, Whole, WideBits, WideProduct, Widen, Window, Word, lop3_table,
};
pub(crate) use inst::{Addition, CpAsyncCache};
pub use kernel::{Builder, Kernel};
pub use module::{Module, ModuleError};
pub use params::{BUFFER_ALIGN, In, InOut, Out, Param, ParamDecl, ParamKind, Params};
pub use print::{Print, PrintArgs, Shown};
pub use ptr::{
    Access, AddressType, Const, Generic, Global, Local, Ptr, Read, ReadWrite, Readable, SafeSpace, Shared,
    Space, Writable, Write,
};
pub use raw::{Append, IntoRaw, Raw, RawOperand};
pub use scope::{Block, Cluster, Lane, Reducible, Scope, Warp, WarpGroup, Warps};
pub(crate) use scope::{quotient, remainder};
pub use slice::Slice;
pub use state::{State, Visitor};
pub use target::{Features, Target, UnknownTarget, Version};
pub use types::{B16, B32, B64, B128, Element, RegClass, Scalar, bf16, bf16x2, f16, f16x2};
pub use uniform::{ConditionKind, Uniformity};
pub use val::Val;
pub use var::Var;
pub use variable::{Variable, VariableSpace};
