//! Transformations of the sums of a product before they are rounded and stored.

use crate::{
    ptx::{Global, In, Out, Ptr, Read, Val},
    tensor::TensorElement,
    tiles::{Convert, Gl, Row, Rt, row_major, vector},
};

/// The arguments of the kernels that [`Gemm::fused_kernel`](super::Gemm::fused_kernel),
/// [`Gemm::fused_promoted_kernel`](super::Gemm::fused_promoted_kernel) and
/// [`MatmulSimt::fused_kernel`](crate::kernels::MatmulSimt::fused_kernel) build:
/// `(a, lda, b, ldb, d, ldd, m, n, k, alpha, beta, c, ldc, bias, row_scales, col_scales)`. See [`GemmArgs`](super::GemmArgs) for the
/// arguments up to `k`, and [`Epilogue`] for the others. Arguments that the epilogue does not use are ignored, and their buffers may be
/// empty. The buffers of C and D must not overlap.
pub type FusedGemmArgs<T, D> =
    (In<T>, u32, In<T>, u32, Out<D>, u32, u32, u32, u32, f32, f32, In<D>, u32, In<f32>, In<f32>, In<f32>);

/// The operations that a kernel applies to a product A·B in f32: Dᵢⱼ = f((A·B)ᵢⱼ · α · rᵢ · sⱼ + β · Cᵢⱼ + biasⱼ), where f is the kernel's
/// activation function. The expression is evaluated from left to right. Factors and terms whose fields are `false` are omitted.
#[doc(alias = "CUBLASLT_MATMUL_DESC_EPILOGUE")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Epilogue {
    /// Whether to multiply by α, the argument `alpha`.
    pub alpha: bool,
    /// Whether to multiply each row i by rᵢ, where r is the argument `row_scales`, which has m elements.
    pub row_scales: bool,
    /// Whether to multiply each column j by sⱼ, where s is the argument `col_scales`, which has n elements.
    pub col_scales: bool,
    /// Whether to add β · C, where β is the argument `beta` and C is an m×n matrix with a row pitch of `ldc` elements.
    pub c: bool,
    /// Whether to add biasⱼ to each column j, where bias is the argument `bias`, which has n elements.
    pub bias: bool,
}

impl Epilogue {
    /// Returns the part of a kernel's name that describes the epilogue.
    pub(in crate::kernels) fn suffix(&self) -> String {
        let parts = [
            (self.alpha, "_alpha"),
            (self.row_scales, "_rows"),
            (self.col_scales, "_cols"),
            (self.c, "_c"),
            (self.bias, "_bias"),
        ];
        let names: String = parts.iter().filter(|(present, _)| *present).map(|(_, name)| *name).collect();
        if names.is_empty() { "_fused".into() } else { names }
    }

    /// Declares the operands of the epilogue of an m×n result.
    #[track_caller]
    pub(super) fn operands<'k, D: TensorElement>(
        &self,
        parameters: Parameters<'k, D>,
        [m, n]: [Val<'k, u32>; 2],
    ) -> Operands<'k, D> {
        let (alpha, beta, c, ldc, bias, row_scales, col_scales) = parameters;
        let k = bias.kernel();
        let vector_of = |pointer, length, present: bool| present.then(|| k.global(pointer, vector(length)));
        Operands {
            alpha: self.alpha.then_some(alpha),
            row_scales: vector_of(row_scales, m, self.row_scales),
            col_scales: vector_of(col_scales, n, self.col_scales),
            c: self.c.then(|| (beta, k.global(c, row_major(m, n).with_row_stride(ldc)))),
            bias: vector_of(bias, n, self.bias),
        }
    }
}

/// The parameters of an epilogue: `(alpha, beta, c, ldc, bias, row_scales, col_scales)`.
pub(in crate::kernels) type Parameters<'k, D> = (
    Val<'k, f32>,
    Val<'k, f32>,
    Ptr<'k, D, Global, Read>,
    Val<'k, u32>,
    Ptr<'k, f32, Global, Read>,
    Ptr<'k, f32, Global, Read>,
    Ptr<'k, f32, Global, Read>,
);

/// The operands of an epilogue.
pub(super) struct Operands<'k, D: TensorElement> {
    pub(super) alpha: Option<Val<'k, f32>>,
    pub(super) row_scales: Option<Gl<'k, f32, Read, 1>>,
    pub(super) col_scales: Option<Gl<'k, f32, Read, 1>>,
    pub(super) c: Option<(Val<'k, f32>, Gl<'k, D, Read>)>,
    pub(super) bias: Option<Gl<'k, f32, Read, 1>>,
}

impl<'k, D: TensorElement + Convert<f32>> Operands<'k, D> {
    /// Applies the epilogue to `sum`, which contains the sums of tile (`row`, `col`) of the result. All tiles have the size of `sum`.
    #[track_caller]
    pub(super) fn applied<C: Convert<f32>, const W: usize>(
        &self,
        sum: &Rt<'k, C, 1, W, Row>,
        [row, col]: [Val<'k, u32>; 2],
    ) -> Rt<'k, f32, 1, W, Row> {
        let mut result = sum.convert::<f32>();
        if let Some(alpha) = self.alpha {
            result *= alpha;
        }
        if let Some(scales) = &self.row_scales {
            result *= &scales.col_vector(row);
        }
        if let Some(scales) = &self.col_scales {
            result *= &scales.row_vector(col);
        }
        if let Some((beta, c)) = &self.c {
            let mut term: Rt<'k, f32, 1, W> = c.tile(row, col).load();
            term *= *beta;
            result += &term;
        }
        if let Some(bias) = &self.bias {
            result += &bias.row_vector(col);
        }
        result
    }
}
