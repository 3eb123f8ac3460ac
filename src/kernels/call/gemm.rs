//! Matrix products.

use super::{
    distances::{AnyDistance, Counts, Matrices, with_copies},
    operands::{Rows, RowsMut, refused},
};
use crate::{
    kernels::{
        Activation, Epilogue, FusedGemmArgs, Gemm, GemmArgs, GemmResult, GemmSum, GpuKind, MatrixOrder,
    },
    ptx::{BuildError, Kernel, bf16, e4m3, e5m2, f16, tf32},
    run::{BufferRef, CallError, Called, Queue},
    tensor::TensorElement,
    tiles::{Convert, Product},
};

/// The sizes, matrix orders and activation of D = f(A·B), where A is m×k, B is k×n, and D is m×n and row-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GemmShape {
    /// The number of rows of A and D.
    pub m: u32,
    /// The number of columns of B and D.
    pub n: u32,
    /// The number of columns of A and rows of B.
    pub k: u32,
    /// The order of A.
    pub a: MatrixOrder,
    /// The order of B.
    pub b: MatrixOrder,
    /// The activation function f; if `None`, D = A·B.
    pub activation: Option<Activation>,
}

impl GemmShape {
    /// Returns the shape of a product of row-major matrices without an activation.
    pub const fn new(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k, a: MatrixOrder::Row, b: MatrixOrder::Row, activation: None }
    }
}

/// An element type of A and B. Products of [`bf16`], [`struct@f16`], [`tf32`], [`e4m3`] or [`e5m2`] are summed in f32, and products of `i8`
/// or `u8` in i32.
pub trait GemmOperand: TensorElement + Product<Self, Self::Sum> {
    /// The accumulator type.
    type Sum: GemmSum + Convert<f32>;
}

macro_rules! factors {
    ($($factor:ty: $sum:ty;)*) => {$(
        impl GemmOperand for $factor {
            type Sum = $sum;
        }
    )*};
}

factors! {
    bf16: f32;
    f16:  f32;
    tf32: f32;
    e4m3: f32;
    e5m2: f32;
    i8:   i32;
    u8:   i32;
}

/// The operands of an [`Epilogue`], which computes Dᵢⱼ = f((A·B)ᵢⱼ · α · rᵢ · sⱼ + β · Cᵢⱼ + biasⱼ), where f is the activation function.
/// Factors and terms whose field is `None` are omitted.
#[derive(Clone, Copy, Debug)]
pub struct EpilogueOperands<'a, D> {
    /// α, the factor of A·B.
    pub alpha: Option<f32>,
    /// r, which contains one scale for each of the m rows.
    pub row_scales: Option<BufferRef<'a, f32>>,
    /// s, which contains one scale for each of the n columns.
    pub col_scales: Option<BufferRef<'a, f32>>,
    /// The matrix C, the stride between its rows in elements, and β. The buffers of C and D must not overlap.
    pub c: Option<(BufferRef<'a, D>, u32, f32)>,
    /// The bias, which contains one element for each of the n columns.
    pub bias: Option<BufferRef<'a, f32>>,
}

impl<D> Default for EpilogueOperands<'_, D> {
    fn default() -> Self {
        Self { alpha: None, row_scales: None, col_scales: None, c: None, bias: None }
    }
}

/// The arguments of a kernel with an epilogue: `(alpha, beta, c, ldc, bias, row_scales, col_scales)`.
type EpilogueArguments<'a, D> =
    (f32, f32, BufferRef<'a, D>, u32, BufferRef<'a, f32>, BufferRef<'a, f32>, BufferRef<'a, f32>);

impl<'a, D: Copy> EpilogueOperands<'a, D> {
    /// Returns the arguments of the kernel. Buffers that the epilogue does not read are empty.
    pub(super) fn arguments(&self) -> EpilogueArguments<'a, D> {
        let Self { alpha, row_scales, col_scales, c, bias } = *self;
        let (c, ldc, beta) = c.unwrap_or((BufferRef::empty(), 0, 0.0));
        let [bias, row_scales, col_scales] =
            [bias, row_scales, col_scales].map(|operand| operand.unwrap_or(BufferRef::empty()));
        (alpha.unwrap_or(1.0), beta, c, ldc, bias, row_scales, col_scales)
    }

    /// Returns the epilogue with these operands.
    pub(super) fn epilogue(&self) -> Epilogue {
        Epilogue {
            alpha: self.alpha.is_some(),
            row_scales: self.row_scales.is_some(),
            col_scales: self.col_scales.is_some(),
            c: self.c.is_some(),
            bias: self.bias.is_some(),
        }
    }
}

/// Computes D = f(A·B). If a [table of the cache](crate::run::KernelCache::with_gemm_table) contains the problem, that table determines the
/// kernel; otherwise, [`Gemm::for_problem`] chooses it. The kernel uses `wgmma` on devices of compute capability 9.0, and `mma.sync` on
/// other devices of compute capability 8.0 or later. The strides between the rows (or columns, if column-major) of A and B may have any
/// value; the stride between the rows of D must be at least n.
///
/// If the kernel cannot read an operand in place, another kernel first copies the operand to a workspace, which `gemm` allocates and frees
/// in stream order; [`Called::copies`] lists these kernels. If elements are not 16 bits wide, a column-major A or a row-major B is copied.
/// On devices of compute capability 9.0, an operand whose stride is not a multiple of 16 bytes is also copied. On all devices, addresses
/// must be multiples of 16 bytes.
///
/// # Errors
/// Returns [`CallError`], for example if rows of D overlap.
pub fn gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    const CALL: &str = "gemm";
    let queue = on.into();
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), Counts::ONE)?;
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let called = queue.launch::<_, _, GemmArgs<T, D>>(
        CALL,
        (shape, any),
        |_| shape.picked::<T, D>(queue, shape.n, any),
        Gemm::kernel::<T, T::Sum, D>,
        (a.buffer(), a.stride(), b.buffer(), b.stride(), d, ldd, shape.m, shape.n, shape.k),
    )?;
    Ok(with_copies(called, [&a, &b]))
}

/// Computes D = f(A·B₁) ⊙ (A·B₂), where ⊙ is the elementwise product. B has 2n columns: those of B₁, followed by those of B₂. D has n
/// columns (`shape.n`). With [`Activation::Silu`], this is SwiGLU. If n elements of B do not occupy a multiple of 16 bytes, a row-major B
/// is copied first, as described in [`gemm`].
///
/// # Errors
/// Returns the same errors as [`gemm`].
#[doc(alias = "SwiGLU")]
pub fn gated_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    const CALL: &str = "gated_gemm";
    let queue = on.into();
    let both = shape.n.checked_mul(2).ok_or_else(|| refused(CALL, "2n below 2³²", 2 * u64::from(shape.n)))?;
    let factors = (a.rows(), b.rows());
    let counts = Counts { is_gated: true, ..Counts::ONE };
    let matrices = Matrices::of(CALL, queue, shape, both, factors, d.rows_mut(), counts)?;
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let called = queue.launch::<_, _, GemmArgs<T, D>>(
        CALL,
        (shape, any),
        |_| shape.picked::<T, D>(queue, both, any).for_gated_products(),
        Gemm::gated_kernel::<T, T::Sum, D>,
        (a.buffer(), a.stride(), b.buffer(), b.stride(), d, ldd, shape.m, shape.n, shape.k),
    )?;
    Ok(with_copies(called, [&a, &b]))
}

/// Computes D = f(A·B) with an [`Epilogue`], which can scale the product and add another matrix and a bias. The requirements are the same
/// as for [`gemm`].
///
/// # Errors
/// Returns the same errors as [`gemm`].
pub fn fused_gemm<'a, T, D>(
    on: impl Into<Queue<'a>>,
    shape: &GemmShape,
    operands: &EpilogueOperands<'a, D>,
    a: impl Rows<'a, T>,
    b: impl Rows<'a, T>,
    d: impl RowsMut<'a, D>,
) -> Result<Called, CallError>
where
    T: GemmOperand<Sum: Convert<D>>,
    D: GemmResult,
{
    const CALL: &str = "fused_gemm";
    let queue = on.into();
    let factors = (a.rows(), b.rows());
    let matrices = Matrices::of(CALL, queue, shape, shape.n, factors, d.rows_mut(), Counts::ONE)?;
    let pick = |shape: &GemmShape, any| shape.picked::<T, D>(queue, shape.n, any).for_epilogue(shape.k);
    launch_fused(CALL, queue, operands, matrices, pick, Gemm::fused_kernel::<T, T::Sum, D>)
}

/// Launches the kernel with an epilogue that `pick` chooses and `build` builds. `call` is the name of the calling function.
pub(super) fn launch_fused<'a, T: TensorElement, D: TensorElement>(
    call: &'static str,
    queue: Queue<'_>,
    operands: &EpilogueOperands<'a, D>,
    matrices: Matrices<'a, T, D>,
    pick: impl FnOnce(&GemmShape, AnyDistance) -> Gemm,
    build: impl FnOnce(&Gemm, Epilogue) -> Result<Kernel<FusedGemmArgs<T, D>>, BuildError>,
) -> Result<Called, CallError> {
    let Matrices { shape, a, b, d, ldd, any, .. } = matrices;
    let epilogue = operands.epilogue();
    let (alpha, beta, c, ldc, bias, row_scales, col_scales) = operands.arguments();
    let GemmShape { m, n, k, .. } = shape;
    let (of_a, of_b) = (a.buffer(), b.buffer());
    let called = queue.launch::<_, _, FusedGemmArgs<T, D>>(
        call,
        (shape, any, epilogue),
        |_| (pick(&shape, any), epilogue),
        |(gemm, epilogue)| build(gemm, *epilogue),
        (
            of_a,
            a.stride(),
            of_b,
            b.stride(),
            d,
            ldd,
            m,
            n,
            k,
            alpha,
            beta,
            c,
            ldc,
            bias,
            row_scales,
            col_scales,
        ),
    )?;
    Ok(with_copies(called, [&a, &b]))
}

impl GemmShape {
    /// Returns the kernel for a B with `cols` columns.
    fn picked<T: TensorElement, D: TensorElement>(
        &self,
        queue: Queue<'_>,
        cols: u32,
        any: AnyDistance,
    ) -> Gemm {
        let gpu = gpu_of(queue);
        let (size, tables) = ([self.m, cols, self.k], queue.cache().gemm_tables());
        let mut tables = tables.iter().rev().filter(|table| table.gpu == gpu);
        let tuned = tables.find_map(|table| table.get::<T, D>(self.a, self.b, size));
        let gemm = tuned.unwrap_or_else(|| Gemm::for_problem::<T, D>(self.a, self.b, size, &gpu));
        self.for_distances(gemm, any)
    }

    /// Returns `gemm` with the activation of this shape, and with support for the matrices that `any` describes.
    pub(super) fn for_distances(&self, gemm: Gemm, any: AnyDistance) -> Gemm {
        let gemm = if any.operands { gemm.with_any_size() } else { gemm };
        Gemm { any_ldd: any.result, activation: self.activation, ..gemm }
    }
}

/// Returns the kind of GPU of a queue.
pub(super) fn gpu_of(queue: Queue<'_>) -> GpuKind {
    let cache = queue.cache();
    GpuKind { name: cache.name(), capability: cache.capability(), multiprocessors: cache.multiprocessors() }
}
