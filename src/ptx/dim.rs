//! Grid rules: numbers of blocks as functions of a kernel's integer parameters.

use std::fmt;

use super::{types::Scalar, val::Val};

/// A number of blocks: a constant, an integer parameter of the kernel, or a function of such.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dim {
    /// So many.
    Const(u32),
    /// As many as the value of parameter number …
    Param(usize),
    /// `⌈a / n⌉`.
    CeilDiv(Box<Dim>, u32),
    /// `a + b`.
    Sum(Box<Dim>, Box<Dim>),
    /// `a · b`.
    Product(Box<Dim>, Box<Dim>),
    /// Made of a value that is no parameter: refused by [`Builder::grid`](super::Builder::grid).
    Unknown,
}

impl Dim {
    /// `⌈self / n⌉`.
    #[must_use]
    pub fn ceil_div(self, n: u32) -> Self {
        Self::CeilDiv(self.into(), n.max(1))
    }

    pub(crate) fn is_known(&self) -> bool {
        match self {
            Self::Const(_) | Self::Param(_) => true,
            Self::CeilDiv(a, _) => a.is_known(),
            Self::Sum(a, b) | Self::Product(a, b) => a.is_known() && b.is_known(),
            Self::Unknown => false,
        }
    }

    /// The number for given parameter values; `parameter(i)` is the value of integer parameter `i`.
    pub fn evaluate(&self, parameter: &impl Fn(usize) -> u64) -> u64 {
        match self {
            Self::Const(n) => (*n).into(),
            Self::Param(i) => parameter(*i),
            Self::CeilDiv(a, n) => a.evaluate(parameter).div_ceil((*n).into()),
            Self::Sum(a, b) => a.evaluate(parameter).saturating_add(b.evaluate(parameter)),
            Self::Product(a, b) => a.evaluate(parameter).saturating_mul(b.evaluate(parameter)),
            Self::Unknown => 0,
        }
    }

    /// The rule as a C expression over the named parameters; also valid Rust.
    pub fn expression(&self, names: &[String]) -> String {
        match self {
            Self::Const(n) => n.to_string(),
            Self::Param(i) => names.get(*i).cloned().unwrap_or_default(),
            Self::CeilDiv(a, n) => format!("({} + {}) / {n}", a.expression(names), n - 1),
            Self::Sum(a, b) => format!("{} + {}", a.expression(names), b.expression(names)),
            Self::Product(a, b) => format!("({}) * ({})", a.expression(names), b.expression(names)),
            Self::Unknown => String::new(),
        }
    }
}

impl std::ops::Mul for Dim {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::Product(self.into(), other.into())
    }
}

impl<D: Into<Dim>> std::ops::Add<D> for Dim {
    type Output = Self;

    fn add(self, other: D) -> Self {
        Self::Sum(self.into(), other.into().into())
    }
}

impl From<u32> for Dim {
    fn from(n: u32) -> Self {
        Self::Const(n)
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = (0..16).map(|i| format!("p{i}")).collect();
        f.write_str(&self.expression(&names))
    }
}

/// An integer value that a grid rule can be made of.
pub trait IntoDim {
    /// The rule: the constant, or the parameter that the register was loaded from.
    fn into_dim(self) -> Dim;
}

macro_rules! into_dim {
    ($($t:ty)*) => {$(
        impl IntoDim for Val<'_, $t> {
            fn into_dim(self) -> Dim {
                match (self.as_constant(), self.reg()) {
                    (Some(n), _) => u32::try_from(n.to_bits()).map_or(Dim::Unknown, Dim::Const),
                    (None, Some((reg, k))) => k.body().parameter(reg).map_or(Dim::Unknown, Dim::Param),
                    (None, None) => Dim::Unknown,
                }
            }
        }
    )*};
}

into_dim! { u32 u64 }
