//! Indices and lengths of slices: 32 or 64 bits, widened when combined, so that sums and products do not wrap around.

use super::sealed::Sealed;
use super::{
    dim::{Dim, IntoDim},
    kernel::Builder,
    ptr::{Ptr, Space},
    types::Element,
    val::Val,
};

/// A 32-bit or 64-bit index or length.
#[derive(Clone, Copy, Debug)]
pub enum Index<'k> {
    /// A 32-bit value.
    U32(Val<'k, u32>),
    /// A 64-bit value.
    U64(Val<'k, u64>),
}

/// A slice index: a `u32`, `u64`, `usize` or `i32` constant, a `Val<u32>`, a `Val<u64>` or an [`Index`]. Negative constants are out of
/// bounds.
pub trait IntoIndex<'k>: Sealed {
    /// Returns the index, or `u64::MAX` for a negative constant.
    fn into_index(self) -> Index<'k>;
}

impl Sealed for Index<'_> {}

impl<'k> IntoIndex<'k> for Index<'k> {
    fn into_index(self) -> Index<'k> {
        self
    }
}

impl<'k> IntoIndex<'k> for Val<'k, u32> {
    fn into_index(self) -> Index<'k> {
        Index::U32(self)
    }
}

impl<'k> IntoIndex<'k> for Val<'k, u64> {
    fn into_index(self) -> Index<'k> {
        Index::U64(self)
    }
}

macro_rules! constants {
    ($($t:ty)*) => {$(
        impl<'k> IntoIndex<'k> for $t {
            fn into_index(self) -> Index<'k> {
                let index = u64::try_from(self).unwrap_or(u64::MAX);
                u32::try_from(index).map_or(Index::U64(index.into()), |index| Index::U32(index.into()))
            }
        }
    )*};
}

constants! { u32 u64 usize i32 }

impl<'k> Index<'k> {
    /// Returns the value in 64 bits.
    #[track_caller]
    pub(super) fn wide(self) -> Val<'k, u64> {
        match self {
            Self::U32(index) => index.cast(),
            Self::U64(index) => index,
        }
    }

    /// Returns a known divisor of the index.
    pub(super) fn divisor(self) -> u64 {
        match self {
            Self::U32(index) => index.divisor(),
            Self::U64(index) => index.divisor(),
        }
    }

    /// Returns `self < end`. The result is a constant if it is known.
    #[track_caller]
    pub(super) fn is_below(self, end: Self) -> Val<'k, bool> {
        match (self, end) {
            (Self::U32(index), Self::U32(end)) if index.is_below(&end) => true.into(),
            (Self::U32(index), Self::U32(end)) => index.lt(end),
            _ => self.wide().lt(end.wide()),
        }
    }

    /// Returns the smaller of `self` and `other`.
    #[track_caller]
    pub(super) fn min(self, other: Self) -> Self {
        match (self, other) {
            (Self::U32(a), Self::U32(b)) => Self::U32(a.min(b)),
            _ => Self::U64(self.wide().min(other.wide())),
        }
    }

    /// Returns `self − other`. `other` must be at most `self`.
    #[track_caller]
    pub(super) fn minus(self, other: Self) -> Self {
        match (self, other) {
            (Self::U32(a), Self::U32(b)) => Self::U32(a - b),
            _ => Self::U64(self.wide() - other.wide()),
        }
    }

    /// Returns a pointer to the element with this index, counted from `start`.
    #[track_caller]
    pub(super) fn element_of<T: Element, S, A>(self, start: Ptr<'k, T, S, A>) -> Ptr<'k, T, S, A>
    where
        S: Space<Address = u64>,
    {
        match self {
            Self::U32(index) => start.at(index),
            Self::U64(index) => start.at_wide(index),
        }
    }
}

/// The length of a view: a `u32`, `u64`, `usize` or `i32` constant, a `Val<u32>`, a `Val<u64>`, or a [`Dim`].
///
/// The kernel evaluates a `Dim`, such as `m.into_dim() * n`, in 64 bits. The builder rejects a `Dim` that contains
/// [`Dim::Multiprocessors`].
pub trait IntoLength<'k>: sealed::Length {
    /// Returns the length as an expression that a launch evaluates and as a value in the kernel.
    #[doc(hidden)]
    #[track_caller]
    fn into_length(self, k: Builder<'k>) -> (Dim, Index<'k>);
}

mod sealed {
    /// Seals [`IntoLength`], because the two parts of a length must agree.
    pub trait Length {}
}

impl sealed::Length for Dim {}

macro_rules! lengths {
    ($($t:ty)*) => {$(
        impl<'k> sealed::Length for $t {}

        impl<'k> IntoLength<'k> for $t {
            fn into_length(self, _: Builder<'k>) -> (Dim, Index<'k>) {
                (self.into_dim(), self.into_index())
            }
        }
    )*};
}

lengths! { u32 u64 usize i32 Val<'k, u32> Val<'k, u64> }

impl<'k> IntoLength<'k> for Dim {
    #[track_caller]
    fn into_length(self, k: Builder<'k>) -> (Dim, Index<'k>) {
        let value = value(&self, k);
        (self, value)
    }
}

/// Returns the value of an expression in the kernel. [`Dim::Unknown`] has the value 0; [`Dim::Multiprocessors`] is rejected.
#[track_caller]
fn value<'k>(dim: &Dim, k: Builder<'k>) -> Index<'k> {
    let wide = |dim: &Dim| value(dim, k).wide();
    match dim {
        Dim::Const(n) => (*n).into_index(),
        Dim::Param(index) => k.parameter_value(*index),
        Dim::CeilDiv(a, n) => Index::U64(wide(a).ceil_div(u64::from(*n))),
        Dim::RoundDown(a, n) => Index::U64(wide(a) / u64::from(*n) * u64::from(*n)),
        Dim::Sum(a, b) => Index::U64(wide(a) + wide(b)),
        Dim::Product(a, b) => match (value(a, k), value(b, k)) {
            (Index::U32(a), Index::U32(b)) => Index::U64(a.mul_wide(b)),
            (a, b) => Index::U64(a.wide() * b.wide()),
        },
        Dim::Min(a, b) => Index::U64(wide(a).min(wide(b))),
        Dim::Max(a, b) => Index::U64(wide(a).max(wide(b))),
        Dim::Multiprocessors => {
            k.refuse(
                "expected a length that the kernel can compute, found one that depends on the number of multiprocessors"
                    .into(),
            );
            Index::U32(0.into())
        }
        Dim::U32(a) => value(a, k),
        Dim::Unknown => Index::U32(0.into()),
    }
}
