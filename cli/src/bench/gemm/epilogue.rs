//! The operations that follow a product.

use std::{fmt, sync::Arc};

use cudarc::driver::{CudaSlice, CudaStream};
use serde::Serialize;
use warpwright::kernels::{self, Activation};

use super::{precision::Dtype, shapes::Size};
use crate::bench::{
    Fallible,
    functions::{gelu_tanh, sigmoid},
};

/// The operation that follows a product.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(super) enum Epilogue {
    /// D = A·B
    None,
    /// D = A·B + bias
    Bias,
    /// D = gelu(A·B + bias), with the tanh approximation
    Gelu,
    /// D = relu(A·B + bias)
    Relu,
    /// D = C + g ⊙ (A·B + bias), where C is a matrix and g has an element for each column
    Gate,
    /// D = silu(A·B₁) ⊙ (A·B₂), where B₁ and B₂, each with n columns, are the halves of B
    Swiglu,
}

impl fmt::Display for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Bias => "bias",
            Self::Gelu => "gelu",
            Self::Relu => "relu",
            Self::Gate => "gate",
            Self::Swiglu => "swiglu",
        })
    }
}

impl Epilogue {
    /// Checks that kernels apply the epilogue to products of this type.
    pub(super) fn check(self, dtype: Dtype, promoted: bool) -> Fallible<()> {
        if self != Self::None && matches!(dtype, Dtype::S8 | Dtype::U8) {
            return Err(
                format!("expected a floating-point type for the epilogue {self}, found {dtype}").into()
            );
        }
        if self == Self::Swiglu && promoted {
            return Err("expected an epilogue other than swiglu for promoted sums".into());
        }
        Ok(())
    }

    /// Returns the end of the description of a product with the epilogue.
    pub(super) fn suffix(self) -> String {
        if self == Self::None { String::new() } else { format!(", {self}") }
    }

    /// Returns the sizes of A·B for a result of the given size.
    pub(super) fn product(self, Size([m, n, k]): Size) -> Size {
        Size([m, if self == Self::Swiglu { 2 * n } else { n }, k])
    }

    /// Returns whether the epilogue adds a matrix C.
    pub(super) fn has_c(self) -> bool {
        self == Self::Gate
    }

    /// Returns the epilogue of the fused kernel.
    pub(super) fn of_kernel(self) -> kernels::Epilogue {
        let gate = self == Self::Gate;
        kernels::Epilogue { bias: true, col_scales: gate, c: gate, ..kernels::Epilogue::default() }
    }

    pub(super) fn activation(self) -> Option<Activation> {
        match self {
            Self::None | Self::Bias | Self::Gate => None,
            Self::Gelu => Some(Activation::GeluTanh),
            Self::Relu => Some(Activation::Relu),
            Self::Swiglu => Some(Activation::Silu),
        }
    }

    /// Returns the standard deviation of the elements of A and B. With an epilogue, sums have magnitudes near 1, where functions are not
    /// linear.
    pub(super) fn deviation(self) -> f32 {
        if self == Self::None { 1.0 } else { 0.125 }
    }

    /// Returns the magnitude of an element of the result, to which tolerances are relative if the element is smaller. `deviation` is the
    /// standard deviation of the elements of A and B.
    pub(super) fn magnitude(self, k: usize, deviation: f32) -> f32 {
        let of_sum = (k as f32).sqrt() * deviation.powi(2);
        // Functions, and factors of the sums, also multiply the errors of the sums.
        match self {
            Self::None => of_sum,
            Self::Bias | Self::Relu => of_sum.max(1.0),
            Self::Gelu | Self::Gate => 2.0 * of_sum.max(1.0),
            Self::Swiglu => 4.0 * of_sum.max(1.0),
        }
    }

    /// Returns an element of the result in column `col`, where `sum` returns the element of A·B in a column of the same row, `n` is the
    /// number of columns of the result, and `c` is the element of C.
    pub(super) fn element(self, sum: impl Fn(usize) -> f64, [col, n]: [usize; 2], c: f64) -> f64 {
        let biased = || sum(col) + f64::from(bias(col));
        match self {
            Self::None => sum(col),
            Self::Bias => biased(),
            Self::Gelu => gelu_tanh(biased()),
            Self::Relu => biased().max(0.0),
            Self::Gate => c + f64::from(scale(col)) * biased(),
            Self::Swiglu => {
                let gate = sum(col);
                gate * sigmoid(gate) * sum(n + col)
            }
        }
    }
}

/// Returns the bias of a column, which all types represent exactly.
pub(super) fn bias(col: usize) -> f32 {
    (col * 37 % 64) as f32 / 32.0 - 1.0
}

/// Returns the factor of a column.
fn scale(col: usize) -> f32 {
    0.5 + (col * 29 % 16) as f32 / 16.0
}

/// The vectors that a fused kernel reads.
pub(super) struct Vectors {
    pub(super) bias: CudaSlice<f32>,
    pub(super) scales: CudaSlice<f32>,
}

impl Vectors {
    /// Returns the vectors for a result with `n` columns.
    pub(super) fn new(stream: &Arc<CudaStream>, epilogue: Epilogue, n: usize) -> Fallible<Self> {
        let scales: Vec<_> = (0..n).map(scale).collect();
        // The kernel adds the bias to the scaled product.
        let factor = |col: usize| if epilogue == Epilogue::Gate { scales[col] } else { 1.0 };
        let bias: Vec<_> = (0..n).map(|col| bias(col) * factor(col)).collect();
        Ok(Self { bias: stream.clone_htod(&bias)?, scales: stream.clone_htod(&scales)? })
    }
}

#[cfg(test)]
mod tests {
    use super::{Epilogue, bias, scale};

    #[test]
    fn elements_are_those_of_the_formulas() {
        let (sum, col, c) = ([0.5, -1.5, 2.0, 3.0], 1, 0.25);
        let element = |epilogue: Epilogue| epilogue.element(|col| sum[col], [col, 2], c);
        let biased = -1.5 + f64::from(bias(col));
        assert_eq!(element(Epilogue::None), -1.5);
        assert_eq!(element(Epilogue::Bias), biased);
        assert_eq!(element(Epilogue::Relu), 0.0);
        assert_eq!(element(Epilogue::Gate), 0.25 + f64::from(scale(col)) * biased);
        assert!((element(Epilogue::Swiglu) - -1.5 / (1.0 + 1.5f64.exp()) * 3.0).abs() < 1e-12);
        let of_1 = Epilogue::Gelu.element(|_| 1.0 - f64::from(bias(col)), [col, 2], c);
        assert!((of_1 - 0.841_192).abs() < 1e-6, "{of_1}");
    }
}
