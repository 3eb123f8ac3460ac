//! The forms of the kernel: single products, products with an epilogue, several products, and gated products.

use super::{
    BatchedGemmArgs, Epilogue, FusedGemmArgs, Gemm, GemmArgs, GemmResult, GemmSum, GemmTile, GroupedGemmArgs,
    MatrixOrder,
    problem::{Batches, Matrices, Problem},
};
use crate::{
    ptx::{BuildError, Kernel},
    tensor::TensorElement,
    tiles::{Convert, Product, vector},
};

/// The depth from which the time to apply an epilogue is short compared with the time to multiply.
const DEEP: u32 = 8192;

impl Gemm {
    /// Returns this kernel, with 128×128 tiles if its tiles are larger.
    pub(super) fn of_128x128(&self) -> Self {
        let tile = if self.tile.size() > [128, 128] { GemmTile::T128x128 } else { self.tile };
        Self { tile, ..*self }
    }

    /// Returns this kernel, or the kernel with 128×128 tiles if that is faster for products of depth `k` with an epilogue. Tiles with more
    /// than 128 rows or 192 columns are computed by several warpgroups together, which do not multiply while they apply the epilogue. Such
    /// tiles are therefore replaced unless `k` is at least 8192.
    #[must_use]
    pub fn for_epilogue(&self, k: u32) -> Self {
        if self.tile.size() > [128, 192] && k < DEEP { self.of_128x128() } else { *self }
    }

    /// Returns this kernel, or the kernel with 128×128 tiles if the sums of its tiles leave no registers for the operands of the epilogue:
    /// larger tiles without `wgmma`, and tiles with 192 columns if C is added.
    fn with_registers_for(&self, epilogue: &Epilogue) -> Self {
        let [_, cols] = self.tile.size();
        if !self.has_wgmma() || epilogue.c && cols == 192 { self.of_128x128() } else { *self }
    }

    /// Builds the kernel. Its name contains the types, the orders, the tile and, where set, the cluster, the parts and other options, for
    /// example `gemm_bf16_row_col_128x192`.
    ///
    /// # Errors
    /// Returns an error if
    ///
    /// - the target is older than sm_80 or, for e4m3 or e5m2 operands or results, older than sm_89;
    /// - the table of [`Gemm`] does not list the orders for the operand type;
    /// - the type of the sums does not support the activation (`i32` supports only ReLU);
    /// - the target does not support the tile, `cluster`, `parts` or `any_size`;
    /// - a cluster has no blocks or more than 8 blocks;
    /// - the tile does not support `parts`;
    /// - the tile has 16 rows, and A is column-major or clusters have more than one column of tiles;
    /// - the tile is 128×176, and the results are 8-bit; or
    /// - the tile is 128×256, and `any_size` is `true`.
    pub fn kernel<T, C, D>(&self) -> Result<Kernel<GemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let kernel = format!("{}(a, lda, b, ldb, d, ldd, m, n, k)", self.name::<T, D>(""));
        Kernel::<GemmArgs<T, D>>::build(&kernel, self.target, |_, (a, lda, b, ldb, d, ldd, m, n, length)| {
            self.emit::<T, C, D>(Problem::one(*self, false, (a, lda), (b, ldb), (d, ldd), [m, n, length]));
        })
    }

    /// Builds the kernel that computes a product and applies an epilogue to it. Tiles whose sums leave no registers for the operands of the
    /// epilogue are replaced with 128×128 tiles: on targets without `wgmma`, all larger tiles; on targets with `wgmma`, tiles with 192
    /// columns if the epilogue adds C. Use [`for_epilogue`](Self::for_epilogue) to choose the faster tile.
    ///
    /// ```
    /// use warpwright::{kernels::{Activation, Epilogue, Gemm, GemmTile, MatrixOrder}, prelude::*};
    ///
    /// // A linear layer: D = relu(A·Bᵀ + bias).
    /// let gemm = Gemm {
    ///     b: MatrixOrder::Col,
    ///     activation: Some(Activation::Relu),
    ///     ..Gemm::new(GemmTile::T128x128)
    /// };
    /// let kernel = gemm.fused_kernel::<bf16, f32, bf16>(Epilogue { bias: true, ..Epilogue::default() })?;
    /// assert_eq!(kernel.name(), "gemm_bf16_row_col_128x128_bias_relu");
    /// # Ok::<(), warpwright::ptx::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel) for the tile that the kernel uses. All activations are supported, because
    /// epilogues are computed in f32.
    pub fn fused_kernel<T, C, D>(&self, epilogue: Epilogue) -> Result<Kernel<FusedGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let gemm = self.with_registers_for(&epilogue);
        let name = gemm.name::<T, D>(&epilogue.suffix());
        let signature = format!(
            "{name}(a, lda, b, ldb, d, ldd, m, n, k, alpha, beta, c, ldc, bias, row_scales, col_scales)"
        );
        Kernel::<FusedGemmArgs<T, D>>::build(&signature, self.target, |_, parameters| {
            let (a, lda, b, ldb, d, ldd, m, n, length, alpha, beta, c, ldc, bias, row_scales, col_scales) =
                parameters;
            let operands = epilogue.operands((alpha, beta, c, ldc, bias, row_scales, col_scales), [m, n]);
            let product = Problem::one(gemm, false, (a, lda), (b, ldb), (d, ldd), [m, n, length]);
            gemm.emit::<T, C, D>(Problem { epilogue: Some(operands), ..product });
        })
    }

    /// Builds the kernel that computes a batch of products of the same size in one launch. The matrices of each operand must be equally
    /// spaced in memory.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel). Also returns an error for clusters that span several rows of tiles.
    #[doc(alias = "cublasGemmStridedBatched")]
    pub fn batched_kernel<T, C, D>(&self) -> Result<Kernel<BatchedGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let name = self.name::<T, D>("_batched");
        let signature = format!(
            "{name}(a, lda, a_batch_stride, b, ldb, b_batch_stride, d, ldd, d_batch_stride, m, n, k, batches)"
        );
        Kernel::<BatchedGemmArgs<T, D>>::build(&signature, self.target, |k, parameters| {
            let (a, lda, a_step, b, ldb, b_step, d, ldd, d_step, m, n, length, batches) = parameters;
            self.declare_divisors::<T, D>([m, n, length], [lda, ldb, ldd]);
            self.declare_distances::<T, D>([a_step, b_step, d_step]);
            self.emit::<T, C, D>(Problem {
                k,
                gemm: *self,
                a: Matrices::many(a, self.a.extents(m, length), lda, (batches, a_step)),
                b: Matrices::many(b, self.b.extents(length, n), ldb, (batches, b_step)),
                d: Matrices::many(d, [m, n], ldd, (batches, d_step)),
                size: [m, n, length],
                batches: Batches::Strided(batches),
                gated: false,
                epilogue: None,
            });
        })
    }

    /// Builds the kernel that multiplies groups of rows of A by different B matrices, as in a mixture of experts. Each group must consist
    /// of whole rows of tiles; [`GemmTile::size`] returns the number of matrix rows per row of tiles. For each row of tiles, the argument
    /// `groups` contains the index of the B matrix.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel). Also returns an error for clusters that span several rows of tiles.
    #[doc(alias = "MoE")]
    pub fn grouped_kernel<T, C, D>(&self) -> Result<Kernel<GroupedGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let name = self.name::<T, D>("_grouped");
        let signature = format!("{name}(a, lda, b, ldb, b_batch_stride, d, ldd, groups, m, n, k, count)");
        Kernel::<GroupedGemmArgs<T, D>>::build(&signature, self.target, |k, parameters| {
            let (a, lda, b, ldb, b_batch_stride, d, ldd, groups, m, n, length, count) = parameters;
            self.declare_divisors::<T, D>([m, n, length], [lda, ldb, ldd]);
            self.declare_distances::<T, D>([0.into(), b_batch_stride, 0.into()]);
            let [height, _] = self.tile.size();
            self.emit::<T, C, D>(Problem {
                k,
                gemm: *self,
                a: Matrices::one(a, self.a.extents(m, length), lda),
                b: Matrices::many(b, self.b.extents(length, n), ldb, (count, b_batch_stride)),
                d: Matrices::one(d, [m, n], ldd),
                size: [m, n, length],
                batches: Batches::Grouped(k.global(groups, vector(m.ceil_div(height)))),
                gated: false,
                epilogue: None,
            });
        })
    }

    /// Builds the kernel that computes a gated product, D = f(A·B₁) ⊙ (A·B₂), where ⊙ is the elementwise product. B has 2n columns: those
    /// of B₁, followed by those of B₂. D has n columns. With [`Activation::Silu`](super::Activation::Silu), this is SwiGLU ([Shazeer
    /// 2020](https://arxiv.org/abs/2002.05202)).
    ///
    /// On targets with `wgmma`, if B is row-major, n of its elements must occupy a multiple of 16 bytes, because tensor copies start at the
    /// first column of B₂. This is checked at every launch.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel), but all activations are supported. Also returns an error for `parts` other than
    /// 1, for clusters that span several rows of tiles, and for unsupported tiles. The supported tiles are 64×128 and 128×128 on sm_90a,
    /// and 128×128 and 128×256 on other targets.
    #[doc(alias = "SwiGLU")]
    #[doc(alias = "GeGLU")]
    pub fn gated_kernel<T, C, D>(&self) -> Result<Kernel<GemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<f32>,
        D: GemmResult,
    {
        let kernel = format!("{}(a, lda, b, ldb, d, ldd, m, n, k)", self.name::<T, D>("_gated"));
        Kernel::<GemmArgs<T, D>>::build(&kernel, self.target, |k, (a, lda, b, ldb, d, ldd, m, n, length)| {
            if self.has_wgmma() && self.b == MatrixOrder::Row {
                let _ = n.multiple_of(16 / T::SIZE);
            }
            let problem = Problem::one(*self, true, (a, lda), (b, ldb), (d, ldd), [m, n, length]);
            k.describe(format!("D = f(A·B₁) ⊙ (A·B₂): {}", self.matrices::<T, D>()));
            match self.check(T::SIZE) {
                Ok(()) => D::emit_gated(self, &problem),
                Err(why) => k.refuse(why),
            }
        })
    }
}
