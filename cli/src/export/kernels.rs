//! The kernels that can be exported.

use std::fmt;

use super::{attention, linear, products, rows};
use crate::orders::Layout;
use warpwright::{
    kernels::{
        AttentionMask, MatmulSimt, MatrixOrder, NormFunction, Permute, PointwiseFunction, SimtTile,
        copy_elements, matmul, pad_rows, transpose,
    },
    ptx::{BuildError, Kernel, Module, Target, bf16, e4m3, e5m2, f16},
    tensor::TensorElement,
};

/// Builds the kernels of one element type with these options, and adds them to a module.
type Build = fn(&mut Module, &Options<'_>) -> Result<(), String>;

/// The command-line options that determine kernels, in addition to target and element type.
pub(super) struct Options<'a> {
    /// A divisor of the sizes of every launch.
    pub(super) divisor: u32,
    /// The orders of A and B. If empty, all orders that the element type supports are exported.
    pub(super) layouts: &'a [Layout],
    /// The head sizes of attention.
    pub(super) head_sizes: &'a [u32],
    /// The mask of attention that replaces the default masks.
    pub(super) window: Option<AttentionMask>,
    /// The soft cap of attention.
    pub(super) soft_cap: Option<f32>,
}

impl Options<'_> {
    /// Returns the orders of A and B given on the command line, or all orders if none are given.
    pub(super) fn layouts_or_all(&self) -> Vec<Layout> {
        match self.layouts {
            [] => {
                MatrixOrder::ALL.into_iter().flat_map(|a| MatrixOrder::ALL.map(|b| Layout([a, b]))).collect()
            }
            layouts => layouts.to_vec(),
        }
    }
}

/// The options that a kernel supports.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Selects {
    Nothing,
    /// `--layout`.
    Layouts,
    /// `--head-size`.
    HeadSizes,
    /// `--head-size` and `--window`.
    HeadSizesAndWindow,
    /// `--head-size`, `--window` and `--soft-cap`.
    HeadSizesAndExtras,
}

/// The ready-to-use kernels that are exported under one name.
pub(super) struct Ready {
    pub(super) name: &'static str,
    /// A one-line description.
    pub(super) about: &'static str,
    /// The lowest target.
    pub(super) target: Target,
    /// The values of `--divisor`; empty if the kernels have no divisor.
    pub(super) divisors: &'static [u32],
    /// The other supported options.
    pub(super) selects: Selects,
    /// The element types, with the default first.
    pub(super) builds: &'static [(&'static str, Build)],
}

/// Returns all kernels in alphabetical order.
pub(super) fn all() -> Vec<&'static Ready> {
    let mut all: Vec<_> = [KERNELS, attention::KERNELS, products::KERNELS].into_iter().flatten().collect();
    all.sort_by_key(|ready| ready.name);
    all
}

/// The other kernels.
#[rustfmt::skip]
const KERNELS: &[Ready] = &[
    Ready {
        name: "adamw",
        about: "a step of AdamW on matrices of parameters, gradients and their averages, with rows of any length; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("f32",  |module, of| rows::adamw::<f32>(module, of.divisor)),
            ("bf16", |module, of| rows::adamw::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::adamw::<f16>(module, of.divisor)),
        ],
    },
    Ready {
        name: "add",
        about: "y = x + u along rows of any length; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::sum::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::sum::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::sum::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "cast",
        about: "y = x as the other two types of bf16, f16 and f32, along rows of any length; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::casts::<bf16, f16, f32>(module, of.divisor)),
            ("f16",  |module, of| rows::casts::<f16, bf16, f32>(module, of.divisor)),
            ("f32",  |module, of| rows::casts::<f32, bf16, f16>(module, of.divisor)),
        ],
    },
    Ready {
        name: "copy",
        about: "y = x: n elements",
        target: Target::SM_75,
        divisors: &[],
        selects: Selects::Nothing,
        builds: &[
            ("f32",  |module, _| add(module, copy_elements::<f32>)),
            ("f64",  |module, _| add(module, copy_elements::<f64>)),
            ("f16",  |module, _| add(module, copy_elements::<f16>)),
            ("bf16", |module, _| add(module, copy_elements::<bf16>)),
            ("e4m3", |module, _| add(module, copy_elements::<e4m3>)),
            ("e5m2", |module, _| add(module, copy_elements::<e5m2>)),
        ],
    },
    Ready {
        name: "cross_entropy",
        about: "losses ln Σ e^x − x[target] along rows of any length, and their gradient; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::cross_entropy::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::cross_entropy::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::cross_entropy::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "cumsum",
        about: "cumulative sums along rows of any length, with and without the element itself; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::cumulative_sum::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::cumulative_sum::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::cumulative_sum::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "decayed_attention",
        about: "causal linear attention with one decay per head: rows of 64 and 128",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, _| linear::decayed::<bf16>(module)),
            ("f16",  |module, _| linear::decayed::<f16>(module)),
        ],
    },
    Ready {
        name: "dropout",
        about: "dropout(x) along rows of any length, and rmsnorm(dropout(x) + r)·w + b and layernorm(dropout(x) + r)·w + b along rows of up to 1024, 4096 and 16384 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::dropout::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::dropout::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::dropout::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "embedding",
        about: "y = table[indices], and table[indices] += x, with rows of any length; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::embedding::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::embedding::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::embedding::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "fft_convolution",
        about: "y = F⁻¹(F(u) ∘ f): convolutions of sequences with a filter for each channel, by transforms of 1024, 4096 and 8192 numbers, and 16384 from sm_90 on",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, _| linear::fft_convolution::<bf16>(module)),
            ("f16",  |module, _| linear::fft_convolution::<f16>(module)),
        ],
    },
    Ready {
        name: "gelu",
        about: "y = gelu(x) and y = gelu(x)·u, and their gradients, along rows of any length; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::pointwise::<bf16>(module, of.divisor, PointwiseFunction::Gelu)),
            ("f16",  |module, of| rows::pointwise::<f16>(module, of.divisor, PointwiseFunction::Gelu)),
            ("f32",  |module, of| rows::pointwise::<f32>(module, of.divisor, PointwiseFunction::Gelu)),
        ],
    },
    Ready {
        name: "gelu_tanh",
        about: "y = gelu_tanh(x) and y = gelu_tanh(x)·u, and their gradients, along rows of any length; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::pointwise::<bf16>(module, of.divisor, PointwiseFunction::GeluTanh)),
            ("f16",  |module, of| rows::pointwise::<f16>(module, of.divisor, PointwiseFunction::GeluTanh)),
            ("f32",  |module, of| rows::pointwise::<f32>(module, of.divisor, PointwiseFunction::GeluTanh)),
        ],
    },
    Ready {
        name: "hedgehog",
        about: "causal attention with softmax over 64 to 128 tokens and learned features of softmax for older ones (Hedgehog): rows of 64 of Q and K, of 64 and 128 of V",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, _| linear::hedgehog::<bf16>(module)),
            ("f16",  |module, _| linear::hedgehog::<f16>(module)),
        ],
    },
    Ready {
        name: "layernorm",
        about: "y = layernorm(x)·w and layernorm(x + r)·w, with and without a bias, along rows of up to 1024, 4096 and 16384 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::norm::<bf16>(module, of.divisor, NormFunction::Layer)),
            ("f16",  |module, of| rows::norm::<f16>(module, of.divisor, NormFunction::Layer)),
            ("f32",  |module, of| rows::norm::<f32>(module, of.divisor, NormFunction::Layer)),
        ],
    },
    Ready {
        name: "layernorm_backward",
        about: "the gradients of layernorm(x)·w + b along rows of up to 1024, 4096 and 8192 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::norm_backward::<bf16>(module, of.divisor, NormFunction::Layer)),
            ("f16",  |module, of| rows::norm_backward::<f16>(module, of.divisor, NormFunction::Layer)),
            ("f32",  |module, of| rows::norm_backward::<f32>(module, of.divisor, NormFunction::Layer)),
        ],
    },
    Ready {
        name: "log_softmax",
        about: "y = log softmax(scale·x) along rows of up to 1024, 4096 and 16384 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::softmax::<bf16>(module, of.divisor, true)),
            ("f16",  |module, of| rows::softmax::<f16>(module, of.divisor, true)),
            ("f32",  |module, of| rows::softmax::<f32>(module, of.divisor, true)),
        ],
    },
    Ready {
        name: "log_softmax_backward",
        about: "dx of y = log softmax(scale·x), from y and dy, along rows of up to 1024, 4096 and 16384 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::softmax_backward::<bf16>(module, of.divisor, true)),
            ("f16",  |module, of| rows::softmax_backward::<f16>(module, of.divisor, true)),
            ("f32",  |module, of| rows::softmax_backward::<f32>(module, of.divisor, true)),
        ],
    },
    Ready {
        name: "matmul",
        about: "D = A·B in f32: A m×k, B k×n, D m×n, row-major; the divisor must divide n and k",
        target: Target::SM_80,
        divisors: &[1, 2, 4, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| add(module, |target| matmul::<bf16>(target, of.divisor))),
            ("f16",  |module, of| add(module, |target| matmul::<f16>(target, of.divisor))),
        ],
    },
    Ready {
        name: "matmul_simt",
        about: "D = A·B without tensor cores: A m×k and B k×n in the orders of --layout, D m×n row-major, in the largest tiles and in tiles of 64×64; the divisor must divide leading dimensions and the lengths of contiguous rows and columns",
        target: Target::SM_80,
        divisors: &[1, 2, 4],
        selects: Selects::Layouts,
        builds: &[("f32", add_simt)],
    },
    Ready {
        name: "pad_rows",
        about: "y = x: m×n elements in rows of any pitch",
        target: Target::SM_75,
        divisors: &[],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, _| add(module, pad_rows::<bf16>)),
            ("f16",  |module, _| add(module, pad_rows::<f16>)),
            ("f32",  |module, _| add(module, pad_rows::<f32>)),
            ("e4m3", |module, _| add(module, pad_rows::<e4m3>)),
            ("e5m2", |module, _| add(module, pad_rows::<e5m2>)),
        ],
    },
    Ready {
        name: "permute",
        about: "y = x with up to five axes in another order: copies of rows and transposed tiles, whose lengths and strides the divisor divides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| add_permute::<bf16>(module, of.divisor)),
            ("f16",  |module, of| add_permute::<f16>(module, of.divisor)),
            ("f32",  |module, of| add_permute::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "quantize_e4m3",
        about: "x, rmsnorm(x)·w, layernorm(x)·w and silu(x)·u as e4m3 with scales of rows of up to 1024, 4096 and 16384 elements, and of blocks of 128; the divisor must divide n and the row strides",
        target: Target::SM_89,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::quantize::<bf16, e4m3>(module, of.divisor)),
            ("f16",  |module, of| rows::quantize::<f16, e4m3>(module, of.divisor)),
            ("f32",  |module, of| rows::quantize::<f32, e4m3>(module, of.divisor)),
        ],
    },
    Ready {
        name: "quantize_s8",
        about: "x, rmsnorm(x)·w, layernorm(x)·w and silu(x)·u as s8 with scales of rows of up to 1024, 4096 and 16384 elements, and of blocks of 128; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::quantize::<bf16, i8>(module, of.divisor)),
            ("f16",  |module, of| rows::quantize::<f16, i8>(module, of.divisor)),
            ("f32",  |module, of| rows::quantize::<f32, i8>(module, of.divisor)),
        ],
    },
    Ready {
        name: "reductions",
        about: "sum, mean, maximum, minimum and L2 norm of each row and column of an m×n matrix; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::reductions::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::reductions::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::reductions::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "relu",
        about: "y = relu(x) and y = relu(x)·u, and their gradients, along rows of any length; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::pointwise::<bf16>(module, of.divisor, PointwiseFunction::Relu)),
            ("f16",  |module, of| rows::pointwise::<f16>(module, of.divisor, PointwiseFunction::Relu)),
            ("f32",  |module, of| rows::pointwise::<f32>(module, of.divisor, PointwiseFunction::Relu)),
        ],
    },
    Ready {
        name: "rmsnorm",
        about: "y = rmsnorm(x)·w and rmsnorm(x + r)·w, with and without a bias, along rows of up to 1024, 4096 and 16384 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::norm::<bf16>(module, of.divisor, NormFunction::Rms)),
            ("f16",  |module, of| rows::norm::<f16>(module, of.divisor, NormFunction::Rms)),
            ("f32",  |module, of| rows::norm::<f32>(module, of.divisor, NormFunction::Rms)),
        ],
    },
    Ready {
        name: "rmsnorm_backward",
        about: "the gradients of rmsnorm(x)·w + b along rows of up to 1024, 4096 and 8192 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::norm_backward::<bf16>(module, of.divisor, NormFunction::Rms)),
            ("f16",  |module, of| rows::norm_backward::<f16>(module, of.divisor, NormFunction::Rms)),
            ("f32",  |module, of| rows::norm_backward::<f32>(module, of.divisor, NormFunction::Rms)),
        ],
    },
    Ready {
        name: "rotary",
        about: "rotary position embeddings of both pairings, and their inverses; the divisor must divide half the rotated elements, n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::rotary::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::rotary::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::rotary::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "sample",
        about: "a column of each row, drawn from softmax(x / temperature), restricted to the top k and to a probability p, or the largest; the divisor must divide n and the row stride",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::sample::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::sample::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::sample::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "silu",
        about: "y = silu(x) and y = silu(x)·u, and their gradients, along rows of any length; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::pointwise::<bf16>(module, of.divisor, PointwiseFunction::Silu)),
            ("f16",  |module, of| rows::pointwise::<f16>(module, of.divisor, PointwiseFunction::Silu)),
            ("f32",  |module, of| rows::pointwise::<f32>(module, of.divisor, PointwiseFunction::Silu)),
        ],
    },
    Ready {
        name: "softmax",
        about: "y = softmax(scale·x) along rows of up to 1024, 4096 and 16384 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::softmax::<bf16>(module, of.divisor, false)),
            ("f16",  |module, of| rows::softmax::<f16>(module, of.divisor, false)),
            ("f32",  |module, of| rows::softmax::<f32>(module, of.divisor, false)),
        ],
    },
    Ready {
        name: "causal_softmax",
        about: "y = softmax(scale·x) and its logarithm along rows of up to 1024, 4096 and 16384 elements, of which a causal mask hides the last ones; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::causal_softmax::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::causal_softmax::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::causal_softmax::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "lengths_softmax",
        about: "y = softmax(scale·x) and its logarithm along rows of up to 1024, 4096 and 16384 elements, of different lengths; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::lengths_softmax::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::lengths_softmax::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::lengths_softmax::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "softmax_backward",
        about: "dx of y = softmax(scale·x), from y and dy, along rows of up to 1024, 4096 and 16384 elements; the divisor must divide n and the row strides",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::softmax_backward::<bf16>(module, of.divisor, false)),
            ("f16",  |module, of| rows::softmax_backward::<f16>(module, of.divisor, false)),
            ("f32",  |module, of| rows::softmax_backward::<f32>(module, of.divisor, false)),
        ],
    },
    Ready {
        name: "state_space",
        about: "the state space model of Mamba-2: heads of 64, states of 64 and 128",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, _| linear::state_space::<bf16>(module)),
            ("f16",  |module, _| linear::state_space::<f16>(module)),
        ],
    },
    Ready {
        name: "taylor_attention",
        about: "causal attention with weights 1 + s + s²/2, s = q·k/4 (Based): rows of 16 of Q and K, of 64 of V; as sums, and normalized",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, _| linear::taylor::<bf16>(module)),
            ("f16",  |module, _| linear::taylor::<f16>(module)),
        ],
    },
    Ready {
        name: "top_k",
        about: "the largest elements of each row and their columns: up to 32, for short rows, and up to 256, in rows of any length; the divisor must divide n and the row stride",
        target: Target::SM_80,
        divisors: &[1, 8],
        selects: Selects::Nothing,
        builds: &[
            ("bf16", |module, of| rows::top_k::<bf16>(module, of.divisor)),
            ("f16",  |module, of| rows::top_k::<f16>(module, of.divisor)),
            ("f32",  |module, of| rows::top_k::<f32>(module, of.divisor)),
        ],
    },
    Ready {
        name: "transpose",
        about: "y = xᵀ: x m×n, y n×m, row-major; the divisor must divide m and n",
        target: Target::SM_75,
        divisors: &[1, 4, 8],
        selects: Selects::Nothing,
        builds: &[
            ("f32",  |module, of| add(module, |target| transpose::<f32>(target, of.divisor))),
            ("f16",  |module, of| add(module, |target| transpose::<f16>(target, of.divisor))),
            ("bf16", |module, of| add(module, |target| transpose::<bf16>(target, of.divisor))),
        ],
    },
];

impl Ready {
    /// Returns the lowest target for these element types, or for the default type if there are none.
    pub(super) fn lowest_target(&self, types: &[String]) -> Target {
        let is_fp8 = types.iter().any(|name| name == "e4m3" || name == "e5m2");
        if self.selects == Selects::Layouts && is_fp8 && self.target == Target::SM_80 {
            return Target::SM_89;
        }
        self.target
    }

    /// Returns the names of the element types.
    pub(super) fn types(&self) -> impl Iterator<Item = &'static str> {
        self.builds.iter().map(|(name, _)| *name)
    }
}

/// Formats the line printed by `--list`.
impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<_> = self.types().collect();
        let divisors: Vec<_> = self.divisors.iter().map(u32::to_string).collect();
        let target = self.target.to_string();
        f.write_str(&row(self.name, &target, &types.join(","), &divisors.join(","), self.about))
    }
}

/// Returns the heading printed by `--list`.
pub(super) fn heading() -> String {
    row("name", "target", "types", "divisors", "computes")
}

fn row(name: &str, target: &str, types: &str, divisors: &str, about: &str) -> String {
    format!("{name:<26} {target:<8} {types:<29} {divisors:<9} {about}")
}

/// Adds products with the largest tiles, and with tiles for small results, for the selected orders of A and B.
fn add_simt(module: &mut Module, of: &Options<'_>) -> Result<(), String> {
    let largest = SimtTile::all(module.target(), of.divisor).next();
    for Layout([a, b]) in of.layouts_or_all() {
        for tile in largest.into_iter().chain([SimtTile::T64x64]) {
            let simt = MatmulSimt { a, b, tile, divisor: of.divisor, activation: None };
            add(module, |target| simt.kernel(target))?;
        }
    }
    Ok(())
}

/// Adds copies of rows by 8, 32 and 256 threads, and copies with transposed tiles.
fn add_permute<T: TensorElement>(module: &mut Module, divisor: u32) -> Result<(), String> {
    let adjacent = divisor.min(16 / T::SIZE);
    for threads in [8, 32, 256] {
        add(module, |target| Permute::Rows { threads, adjacent }.kernel::<T>(target))?;
    }
    add(module, |target| Permute::Tiles { adjacent }.kernel::<T>(target))
}

/// Builds a kernel for the module's target and adds it.
pub(super) fn add<A>(
    module: &mut Module,
    build: impl FnOnce(Target) -> Result<Kernel<A>, BuildError>,
) -> Result<(), String> {
    let kernel = build(module.target()).map_err(|error| error.to_string())?;
    module.add(&kernel).map(|_| ()).map_err(|error| error.to_string())
}

/// Adds a kernel unless another element type, which shares it, has added it.
pub(super) fn add_shared<A>(
    module: &mut Module,
    build: impl FnOnce(Target) -> Result<Kernel<A>, BuildError>,
) -> Result<(), String> {
    let kernel = build(module.target()).map_err(|error| error.to_string())?;
    let is_added = module.entries().iter().any(|entry| entry.name == kernel.entry().name);
    if is_added { Ok(()) } else { add(module, |_| Ok(kernel)) }
}
