//! Integers that a launch can compute: grid rules, and the extents of buffers.

use std::fmt;

use super::sealed::Sealed;
use super::{
    types::Scalar,
    val::{Repr, Val},
};

/// An integer expression over a kernel's parameters and the number of multiprocessors on the device.
///
/// Launches and the exported header evaluate the expression in 64 bits, and reject an expression that overflows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dim {
    /// A constant.
    Const(u64),
    /// The value of the parameter with this index.
    Param(usize),
    /// `CeilDiv(a, n)` is `⌈a / n⌉`. It cannot be computed if `n` is 0.
    CeilDiv(Box<Dim>, u32),
    /// `RoundDown(a, n)` is the largest multiple of `n` that is at most `a`. It cannot be computed if `n` is 0.
    RoundDown(Box<Dim>, u32),
    /// The sum of two expressions.
    Sum(Box<Dim>, Box<Dim>),
    /// The product of two expressions.
    Product(Box<Dim>, Box<Dim>),
    /// The smaller of two expressions.
    Min(Box<Dim>, Box<Dim>),
    /// The larger of two expressions.
    Max(Box<Dim>, Box<Dim>),
    /// The number of multiprocessors on the device.
    Multiprocessors,
    /// An expression that the kernel computes in a 32-bit register. Launches reject a value that does not fit in 32 bits.
    U32(Box<Dim>),
    /// A value that no launch can compute.
    Unknown,
}

impl Dim {
    /// Returns `⌈self / n⌉`. An `n` of 0 is treated as 1.
    #[must_use]
    pub fn ceil_div(self, n: u32) -> Self {
        Self::CeilDiv(self.into(), n.max(1))
    }

    /// Returns the largest multiple of `n` that is at most `self`. An `n` of 0 is treated as 1.
    #[must_use]
    pub fn round_down(self, n: u32) -> Self {
        Self::RoundDown(self.into(), n.max(1))
    }

    /// Returns whether a launch can compute the value.
    pub(crate) fn is_known(&self) -> bool {
        match self {
            Self::Const(_) | Self::Param(_) | Self::Multiprocessors => true,
            Self::CeilDiv(a, _) | Self::RoundDown(a, _) | Self::U32(a) => a.is_known(),
            Self::Sum(a, b) | Self::Product(a, b) | Self::Min(a, b) | Self::Max(a, b) => {
                a.is_known() && b.is_known()
            }
            Self::Unknown => false,
        }
    }

    /// Returns the smaller of `self` and `other`.
    #[must_use]
    pub fn min(self, other: impl IntoDim) -> Self {
        Self::Min(self.into(), other.into_dim().into())
    }

    /// Returns the larger of `self` and `other`.
    #[must_use]
    pub fn max(self, other: impl IntoDim) -> Self {
        Self::Max(self.into(), other.into_dim().into())
    }

    /// Returns the value of the expression, or `None` if any part of it overflows or cannot be computed. `parameter(i)` must return the
    /// value of the integer parameter with index `i`. [`Multiprocessors`](Self::Multiprocessors) evaluates to `u32::MAX`; use
    /// [`evaluate_on`](Self::evaluate_on) for a device with a known number of multiprocessors.
    pub fn evaluate(&self, parameter: &impl Fn(usize) -> u64) -> Option<u64> {
        self.evaluate_on(u32::MAX, parameter)
    }

    /// Evaluates the expression as [`evaluate`](Self::evaluate) does, but for a device with `multiprocessors` multiprocessors.
    pub fn evaluate_on(&self, multiprocessors: u32, parameter: &impl Fn(usize) -> u64) -> Option<u64> {
        let value = |dim: &Self| dim.evaluate_on(multiprocessors, parameter);
        match self {
            Self::Const(n) => Some(*n),
            Self::Param(i) => Some(parameter(*i)),
            Self::CeilDiv(_, 0) | Self::RoundDown(_, 0) => None,
            Self::CeilDiv(a, n) => Some(value(a)?.div_ceil((*n).into())),
            Self::RoundDown(a, n) => value(a).map(|a| a - a % u64::from(*n)),
            Self::Sum(a, b) => value(a)?.checked_add(value(b)?),
            Self::Product(a, b) => value(a)?.checked_mul(value(b)?),
            Self::Min(a, b) => Some(value(a)?.min(value(b)?)),
            Self::Max(a, b) => Some(value(a)?.max(value(b)?)),
            Self::Multiprocessors => Some(multiprocessors.into()),
            Self::U32(a) => value(a).filter(|&a| u32::try_from(a).is_ok()),
            Self::Unknown => None,
        }
    }

    /// Returns the expression in human-readable form. `names[i]` must be the name of parameter `i`.
    pub fn expression(&self, names: &[String]) -> String {
        self.expression_with(&|i| names.get(i).cloned().unwrap_or_default())
    }

    /// Returns the expression in human-readable form. `name(i)` must return the name of parameter `i`.
    fn expression_with(&self, name: &impl Fn(usize) -> String) -> String {
        let text = |dim: &Self| dim.expression_with(name);
        match self {
            Self::Const(n) => n.to_string(),
            Self::Param(i) => name(*i),
            Self::CeilDiv(a, n) => format!("({} + {}) / {n}", text(a), n.saturating_sub(1)),
            Self::RoundDown(a, n) => format!("({}) / {n} * {n}", text(a)),
            Self::Sum(a, b) => format!("{} + {}", text(a), text(b)),
            Self::Product(a, b) => format!("({}) * ({})", text(a), text(b)),
            Self::Min(a, b) => format!("min({}, {})", text(a), text(b)),
            Self::Max(a, b) => format!("max({}, {})", text(a), text(b)),
            Self::Multiprocessors => "multiprocessors".into(),
            Self::U32(a) => text(a),
            Self::Unknown => String::new(),
        }
    }
}

impl<D: IntoDim> std::ops::Mul<D> for Dim {
    type Output = Self;

    fn mul(self, other: D) -> Self {
        Self::Product(self.into(), other.into_dim().into())
    }
}

impl<D: IntoDim> std::ops::Add<D> for Dim {
    type Output = Self;

    fn add(self, other: D) -> Self {
        Self::Sum(self.into(), other.into_dim().into())
    }
}

impl From<u32> for Dim {
    fn from(n: u32) -> Self {
        Self::Const(n.into())
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.expression_with(&|i| format!("p{i}")))
    }
}

/// A value that can be converted to a [`Dim`]: a `u32`, `u64`, `usize` or `i32` constant, a `Val<u32>`, a `Val<u64>`, or another `Dim`.
///
/// A launch can compute a [`Val`] that is a constant, an unsigned integer parameter, or an expression of these, such as a sum or a product.
pub trait IntoDim: Sealed {
    /// Returns the expression, or [`Dim::Unknown`] for a negative constant or a value that a launch cannot compute.
    fn into_dim(self) -> Dim;
}

impl Sealed for Dim {}

impl IntoDim for Dim {
    fn into_dim(self) -> Dim {
        self
    }
}

macro_rules! constants {
    ($($t:ty)*) => {$(
        impl IntoDim for $t {
            fn into_dim(self) -> Dim {
                u64::try_from(self).map_or(Dim::Unknown, Dim::Const)
            }
        }
    )*};
}

constants! { u32 u64 usize i32 }

macro_rules! values {
    ($($t:ty)*) => {$(
        impl IntoDim for Val<'_, $t> {
            fn into_dim(self) -> Dim {
                self.dim().unwrap_or(Dim::Unknown)
            }
        }
    )*};
}

values! { u32 u64 }

impl<T: Scalar> Val<'_, T> {
    /// Returns the value as an expression that a launch can evaluate, if it is constant or known to depend only on the parameters.
    pub(crate) fn dim(&self) -> Option<Dim> {
        if !matches!(T::PTX, "u32" | "u64") {
            return None;
        }
        match self.0 {
            Repr::Const(value) => Some(Dim::Const(value.to_bits())),
            Repr::Reg(reg, k) => k.body().dim(reg),
        }
    }

    /// Records the expression, if any, that a launch evaluates to compute the value, and returns the value.
    #[must_use]
    pub(crate) fn with_dim(self, dim: impl FnOnce() -> Option<Dim>) -> Self {
        if let (Repr::Reg(reg, k), "u32" | "u64") = (self.0, T::PTX)
            && let Some(dim) = dim()
        {
            k.body().set_dim(reg, if T::BYTES == 4 { Dim::U32(dim.into()) } else { dim });
        }
        self
    }
}

/// A grid rule: the number of blocks in each of up to three dimensions, as an array or, if the types differ, as a tuple.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a grid rule",
    note = "expected up to three numbers of blocks: an array of one type, `[m.tiles(64), n.tiles(64)]`, or a tuple, `(rows, cols.tiles(64))`"
)]
pub trait IntoGrid: Sealed {
    /// Returns the rule, with 1 for each missing dimension.
    ///
    /// # Errors
    /// Returns the number of dimensions if there are more than three.
    #[doc(hidden)]
    fn into_grid(self) -> Result<[Dim; 3], usize>;
}

fn filled<const N: usize>(blocks: [Dim; N]) -> Result<[Dim; 3], usize> {
    let mut blocks = blocks.into_iter();
    let grid = std::array::from_fn(|_| blocks.next().unwrap_or(Dim::Const(1)));
    if N > 3 { Err(N) } else { Ok(grid) }
}

impl<D: IntoDim, const N: usize> IntoGrid for [D; N] {
    fn into_grid(self) -> Result<[Dim; 3], usize> {
        filled(self.map(IntoDim::into_dim))
    }
}

macro_rules! tuples {
    ($($dim:ident)*) => {
        #[allow(non_snake_case, reason = "one name serves as type and binding")]
        impl<$($dim: IntoDim),*> IntoGrid for ($($dim,)*) {
            fn into_grid(self) -> Result<[Dim; 3], usize> {
                let ($($dim,)*) = self;
                filled([$($dim.into_dim()),*])
            }
        }
    };
}

tuples! { X }
tuples! { X Y }
tuples! { X Y Z }
