//! The exported matrix products that use tensor cores.

use super::kernels::{Options, Ready, Selects, add, add_shared};
use crate::orders::Layout;
use warpwright::{
    kernels::{Activation, Epilogue, Gemm, GemmResult, GemmTile, MatrixOrder, call::GemmOperand},
    ptx::{Module, Target, bf16, e4m3, e5m2, f16, tf32},
    tiles::Convert,
};

/// The matrix products.
#[rustfmt::skip]
pub(super) const KERNELS: &[Ready] = &[
    Ready {
        name: "gemm",
        about: "D = A·B: A m×k and B k×n in the orders of --layout, D m×n row-major, of the type of A and B (bf16 for e4m3 and e5m2, which require sm_89, f32 for tf32, s32 for s8 and u8); for sm_90a, tiles of 128×128 and 128×192; for others, the largest tiles for rows of multiples of 16 bytes, and tiles of 128×128 for any sizes",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Layouts,
        builds: &[
            ("bf16", |module, of| plain::<bf16, bf16>(module, of)),
            ("f16",  |module, of| plain::<f16, f16>(module, of)),
            ("tf32", |module, of| plain::<tf32, f32>(module, of)),
            ("e4m3", |module, of| plain::<e4m3, bf16>(module, of)),
            ("e5m2", |module, of| plain::<e5m2, bf16>(module, of)),
            ("s8",   |module, of| plain::<i8, i32>(module, of)),
            ("u8",   |module, of| plain::<u8, i32>(module, of)),
        ],
    },
    Ready {
        name: "gemm_batched",
        about: "products of the same size, whose matrices are equally spaced; types and layouts of gemm",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Layouts,
        builds: &[
            ("bf16", |module, of| batched::<bf16, bf16>(module, of)),
            ("f16",  |module, of| batched::<f16, f16>(module, of)),
            ("tf32", |module, of| batched::<tf32, f32>(module, of)),
            ("e4m3", |module, of| batched::<e4m3, bf16>(module, of)),
            ("e5m2", |module, of| batched::<e5m2, bf16>(module, of)),
            ("s8",   |module, of| batched::<i8, i32>(module, of)),
            ("u8",   |module, of| batched::<u8, i32>(module, of)),
        ],
    },
    Ready {
        name: "gemm_fused",
        about: "f(A·B + bias) with f of none, relu, gelu_tanh and silu, α·A·B + β·C, and A·B times scales of columns, plus β·C and a bias; for types of 8 bits, A·B times scales of rows and columns, with and without a bias, as bf16; layouts of gemm",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Layouts,
        builds: &[
            ("bf16", |module, of| fused::<bf16, bf16>(module, of)),
            ("f16",  |module, of| fused::<f16, f16>(module, of)),
            ("tf32", |module, of| fused::<tf32, f32>(module, of)),
            ("e4m3", |module, of| fused::<e4m3, bf16>(module, of)),
            ("e5m2", |module, of| fused::<e5m2, bf16>(module, of)),
            ("s8",   |module, of| fused::<i8, bf16>(module, of)),
            ("u8",   |module, of| fused::<u8, bf16>(module, of)),
        ],
    },
    Ready {
        name: "gemm_gated",
        about: "f(A·B₁) ⊙ (A·B₂) with f of silu (SwiGLU) and gelu_tanh (GeGLU), in tiles of 64×128 and 128×128; layouts of gemm",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::Layouts,
        builds: &[
            ("bf16", |module, of| gated::<bf16, bf16>(module, of)),
            ("f16",  |module, of| gated::<f16, f16>(module, of)),
            ("e4m3", |module, of| gated::<e4m3, bf16>(module, of)),
            ("e5m2", |module, of| gated::<e5m2, bf16>(module, of)),
        ],
    },
    Ready {
        name: "gemm_grouped",
        about: "products of groups of 64 and of 128 rows with a separate B for each group, as in a mixture of experts; types and layouts of gemm",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Layouts,
        builds: &[
            ("bf16", |module, of| grouped::<bf16, bf16>(module, of)),
            ("f16",  |module, of| grouped::<f16, f16>(module, of)),
            ("tf32", |module, of| grouped::<tf32, f32>(module, of)),
            ("e4m3", |module, of| grouped::<e4m3, bf16>(module, of)),
            ("e5m2", |module, of| grouped::<e5m2, bf16>(module, of)),
            ("s8",   |module, of| grouped::<i8, i32>(module, of)),
            ("u8",   |module, of| grouped::<u8, i32>(module, of)),
        ],
    },
    Ready {
        name: "gemm_promoted",
        about: "products of 8-bit floats with sums in f32, in tiles of 128×128 and 128×192, with scales of rows and columns, and with a scale for each block of 128 elements; row-major A, column-major B, D of bf16",
        target: Target::SM_90A,
        divisors: &[],
        selects: Selects::Nothing,
        builds: &[
            ("e4m3", |module, _| promoted::<e4m3>(module)),
            ("e5m2", |module, _| promoted::<e5m2>(module)),
        ],
    },
    Ready {
        name: "gemm_ragged",
        about: "products of groups of any number of rows with a separate B for each group, as in a mixture of experts, in tiles of 64×64 and 128×128; row-major A; types and layouts of gemm",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Layouts,
        builds: &[
            ("bf16", |module, of| ragged::<bf16, bf16>(module, of)),
            ("f16",  |module, of| ragged::<f16, f16>(module, of)),
            ("tf32", |module, of| ragged::<tf32, f32>(module, of)),
            ("e4m3", |module, of| ragged::<e4m3, bf16>(module, of)),
            ("e5m2", |module, of| ragged::<e5m2, bf16>(module, of)),
            ("s8",   |module, of| ragged::<i8, i32>(module, of)),
            ("u8",   |module, of| ragged::<u8, i32>(module, of)),
        ],
    },
    Ready {
        name: "gemm_split_k",
        about: "products whose sums over k are divided into parts: a kernel of partial products in tiles of 64×64 and 128×128, then one that adds them; types and layouts of gemm",
        target: Target::SM_80,
        divisors: &[],
        selects: Selects::Layouts,
        builds: &[
            ("bf16", |module, of| split_k::<bf16, bf16>(module, of)),
            ("f16",  |module, of| split_k::<f16, f16>(module, of)),
            ("tf32", |module, of| split_k::<tf32, f32>(module, of)),
            ("e4m3", |module, of| split_k::<e4m3, bf16>(module, of)),
            ("e5m2", |module, of| split_k::<e5m2, bf16>(module, of)),
            ("s8",   |module, of| split_k::<i8, i32>(module, of)),
            ("u8",   |module, of| split_k::<u8, i32>(module, of)),
        ],
    },
];

/// Calls `each` with the kernel that uses this tile, for each layout given on the command line, or for all layouts that the type supports
/// if none are given.
fn for_layouts<T: GemmOperand>(
    module: &mut Module,
    of: &Options<'_>,
    gemms: &[Gemm],
    each: impl Fn(&mut Module, Gemm) -> Result<(), String>,
) -> Result<(), String> {
    let is_any = |Layout([a, b]): &Layout| T::SIZE == 2 || (*a, *b) == (MatrixOrder::Row, MatrixOrder::Col);
    let is_given = !of.layouts.is_empty();
    let layouts: Vec<_> =
        of.layouts_or_all().into_iter().filter(|layout| is_given || is_any(layout)).collect();
    gemms.iter().try_for_each(|&gemm| layouts.iter().try_for_each(|layout| each(module, layout.of(gemm))))
}

/// Returns the kernel for a target that uses this tile.
fn of_tile(target: Target, tile: GemmTile) -> Gemm {
    Gemm { target, ..Gemm::new(tile) }
}

/// Returns the kernels for a target that use tiles of 64×64 and 128×128.
fn of_two_tiles(target: Target) -> [Gemm; 2] {
    [GemmTile::T64x64, GemmTile::T128x128].map(|tile| of_tile(target, tile))
}

fn largest(target: Target) -> GemmTile {
    *GemmTile::for_target(target).last().expect("every target has tiles")
}

/// Adds the products of a single A matrix and a single B matrix.
fn plain<T, D>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    let target = module.target();
    let medium = of_tile(target, GemmTile::T128x128);
    let gemms = if target == Target::SM_90A {
        [medium, of_tile(target, GemmTile::T128x192)]
    } else {
        [of_tile(target, largest(target)), Gemm { any_size: true, any_ldd: true, ..medium }]
    };
    for_layouts::<T>(module, of, &gemms, |module, gemm| add(module, |_| gemm.kernel::<T, T::Sum, D>()))
}

/// Adds several products of the same size.
fn batched<T, D>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    let gemm = of_tile(module.target(), GemmTile::T128x128);
    for_layouts::<T>(module, of, &[gemm], |module, gemm| {
        add(module, |_| gemm.batched_kernel::<T, T::Sum, D>())
    })
}

/// Adds grouped products, in which each group of rows has its own B matrix.
fn grouped<T, D>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    let gemms = of_two_tiles(module.target());
    for_layouts::<T>(module, of, &gemms, |module, gemm| {
        add(module, |_| gemm.grouped_kernel::<T, T::Sum, D>())
    })
}

/// Adds products of groups of any number of rows, each of which has its own B matrix.
fn ragged<T, D>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    let gemms = of_two_tiles(module.target());
    for_layouts::<T>(module, of, &gemms, |module, gemm| {
        // These products require a row-major A; other layouts on the command line are errors.
        if of.layouts.is_empty() && gemm.a == MatrixOrder::Col {
            return Ok(());
        }
        add(module, |_| gemm.ragged_kernel::<T, T::Sum, D>())
    })
}

/// Adds the partial products of split-K, and their sum.
fn split_k<T, D>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: GemmOperand<Sum: Convert<D> + GemmResult>,
    D: GemmResult,
    f32: Convert<D>,
{
    let gemms = of_two_tiles(module.target());
    for_layouts::<T>(module, of, &gemms, |module, gemm| add(module, |_| gemm.partial_kernel::<T, T::Sum>()))?;
    add_shared(module, |_| gemms[0].sum_kernel::<T::Sum, D>(Epilogue::default()))
}

/// Adds products with epilogues.
fn fused<T, D>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    let gemm = of_tile(module.target(), GemmTile::T128x128);
    let none = Epilogue::default();
    let bias = Epilogue { bias: true, ..none };
    let scales = Epilogue { row_scales: true, col_scales: true, ..none };
    let epilogues = if T::SIZE == 1 {
        vec![(scales, None), (Epilogue { bias: true, ..scales }, None)]
    } else {
        let functions = [Activation::Relu, Activation::GeluTanh, Activation::Silu].map(Some);
        let biased = [None].into_iter().chain(functions).map(|function| (bias, function));
        let scaled = Epilogue { alpha: true, c: true, ..none };
        let gate = Epilogue { col_scales: true, c: true, bias: true, ..none };
        biased.chain([(scaled, None), (gate, None)]).collect()
    };
    for_layouts::<T>(module, of, &[gemm], |module, gemm| {
        epilogues.iter().try_for_each(|&(epilogue, activation)| {
            add(module, |_| Gemm { activation, ..gemm }.fused_kernel::<T, T::Sum, D>(epilogue))
        })
    })
}

/// Adds gated products.
fn gated<T, D>(module: &mut Module, of: &Options<'_>) -> Result<(), String>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    let target = module.target();
    let gemms = [GemmTile::T64x128, GemmTile::T128x128].map(|tile| of_tile(target, tile));
    for_layouts::<T>(module, of, &gemms, |module, gemm| {
        [Activation::Silu, Activation::GeluTanh].into_iter().try_for_each(|function| {
            let gemm = Gemm { activation: Some(function), ..gemm };
            add(module, |_| gemm.gated_kernel::<T, T::Sum, D>())
        })
    })
}

/// Adds products of 8-bit floats, with promoted sums and with block scales.
fn promoted<T: GemmOperand<Sum = f32>>(module: &mut Module) -> Result<(), String> {
    let of = |tile| Gemm { b: MatrixOrder::Col, ..of_tile(module.target(), tile) };
    let [medium, large] = [of(GemmTile::T128x128), of(GemmTile::T128x192)];
    for gemm in [medium, large] {
        add(module, |_| gemm.promoted_kernel::<T, bf16>())?;
    }
    let scales = Epilogue { row_scales: true, col_scales: true, ..Epilogue::default() };
    add(module, |_| medium.fused_promoted_kernel::<T, bf16>(scales))?;
    add(module, |_| medium.block_scaled_kernel::<T, bf16>())
}
