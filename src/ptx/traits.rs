//! Traits in the bounds of instruction methods: they specify the types that an instruction accepts, and convert values to operands.
//!
//! The crate implements these traits for its own types; users see them only in bounds and in error messages. Traits that kernels name
//! explicitly, such as [`Element`](super::Element), [`Scope`](super::Scope) and [`State`](super::State), are in the parent module.

pub use super::dim::IntoGrid;
pub use super::flow::Counter;
pub use super::fold::{Float, Integer, Number, Numeric};
pub use super::index::{IntoIndex, IntoLength};
pub use super::inst::{
    Accumulator, AtomicAdd, AtomicInteger, AtomicSpace, Bits, ByteSized, CompareEach, Divide, Elementary,
    Extend, ExtendedPrecision, GenericWindow, Half, HalfPair, IntegerDivision, Narrow24, Packed, Pair,
    Prefetchable, Real, Root, Selector, SignBits, Signed, UnitMask, WideBits, WideProduct, Widen,
};
pub use super::params::Param;
pub use super::print::{Print, PrintArgs};
pub use super::ptr::{Access, AddressType, SafeSpace, SharedSpace};
pub use super::raw::{Append, IntoRaw};
pub use super::scope::Reducible;
pub use super::variable::VariableSpace;
