//! Functions that are applied to the elements of a product.

use std::fmt;

use crate::{
    tensor::{Arithmetic, TensorElement},
    tiles::{Row, Rt},
};

/// A function that is applied to each element of a product before the element is rounded and stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activation {
    /// ReLU: max(x, 0).
    Relu,
    /// GELU: x·Φ(x), where Φ is the cumulative distribution function of the standard normal distribution, computed with the tanh
    /// approximation.
    GeluTanh,
    /// SiLU: x / (1 + e⁻ˣ).
    Silu,
}

impl fmt::Display for Activation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Relu => "relu",
            Self::GeluTanh => "gelu_tanh",
            Self::Silu => "silu",
        })
    }
}

/// An accumulator type: `f32`, or `i32` for products of integers.
pub trait GemmSum: Arithmetic + TensorElement<Word = Self> {
    /// Returns whether sums of this type support the function.
    #[doc(hidden)]
    fn has(function: Activation) -> bool;
    /// Applies a function that the type [supports](Self::has) to each element.
    #[doc(hidden)]
    #[track_caller]
    fn activated<const N: usize>(
        function: Activation,
        sum: Rt<'_, Self, 1, N, Row>,
    ) -> Rt<'_, Self, 1, N, Row>;
}

impl GemmSum for f32 {
    fn has(_: Activation) -> bool {
        true
    }

    #[track_caller]
    fn activated<const N: usize>(
        function: Activation,
        sum: Rt<'_, Self, 1, N, Row>,
    ) -> Rt<'_, Self, 1, N, Row> {
        match function {
            Activation::Relu => sum.relu(),
            Activation::GeluTanh => sum.gelu_tanh(),
            Activation::Silu => sum.silu(),
        }
    }
}

impl GemmSum for i32 {
    fn has(function: Activation) -> bool {
        function == Activation::Relu
    }

    #[track_caller]
    fn activated<const N: usize>(_: Activation, sum: Rt<'_, Self, 1, N, Row>) -> Rt<'_, Self, 1, N, Row> {
        sum.relu()
    }
}

/// Applies the activation function, if any, to each element of `sum`.
#[track_caller]
pub(super) fn activated<'k, C: GemmSum, const N: usize>(
    activation: Option<Activation>,
    sum: Rt<'k, C, 1, N, Row>,
) -> Rt<'k, C, 1, N, Row> {
    match activation {
        Some(function) => C::activated(function, sum),
        None => sum,
    }
}
