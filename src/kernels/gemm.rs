//! Matrix products on Hopper (sm_90a), with tensor copies and `wgmma`.

mod activation;
mod check;
mod choice;
mod epilogue;
mod gpu_kind;
mod kernel;
mod problem;
mod promoted;
mod result;
mod stages;
mod table;
mod tile;

use crate::{
    ptx::{BuildError, In, Kernel, Out, Target},
    tensor::TensorElement,
    tiles::{Convert, Product, Schedule, row_major, vector},
};
use epilogue::Operands;
use kernel::{gated, in_turns, split};
use problem::{Batches, Matrices, Problem};
use stages::{ColCol, ColRow, RowCol, RowRow};

pub use activation::{Activation, GemmSum};
pub use epilogue::{Epilogue, FusedGemmArgs};
pub use gpu_kind::GpuKind;
pub use promoted::BlockScaledGemmArgs;
pub use result::GemmResult;
pub use table::{GemmEntry, GemmTable, GemmTableError};
pub use tile::GemmTile;

/// `(a, lda, b, ldb, d, ldd, m, n, k)`: A is m×k, B is k×n, and D is m×n. `lda`, `ldb` and `ldd` are the leading dimensions in elements:
/// the strides between the rows (or columns, in column order) of A and B, and between the rows of D. They must be multiples of 16 bytes,
/// except `ldd` with [`Gemm::any_ldd`]. If rows of D overlap, the values of D are unspecified.
pub type GemmArgs<T, D> = (In<T>, u32, In<T>, u32, Out<D>, u32, u32, u32, u32);

/// `(a, lda, a_distance, b, ldb, b_distance, d, ldd, d_distance, m, n, k, batches)`: the parameters of [`GemmArgs`] for `batches` products,
/// and the distances between consecutive matrices, in elements. These must be multiples of 16 bytes, or 0 for an operand that all products
/// share.
pub type BatchedGemmArgs<T, D> = (In<T>, u32, u32, In<T>, u32, u32, Out<D>, u32, u32, u32, u32, u32, u32);

/// `(a, lda, b, ldb, b_distance, d, ldd, groups, m, n, k, count)`: the parameters of [`GemmArgs`] for `count` matrices B that are
/// `b_distance` elements apart, and `groups`, which contains the index of a B for each row of tiles.
pub type GroupedGemmArgs<T, D> = (In<T>, u32, In<T>, u32, u32, Out<D>, u32, In<u32>, u32, u32, u32, u32);

/// The order of an operand in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MatrixOrder {
    /// Rows are contiguous.
    Row,
    /// Columns are contiguous.
    Col,
}

impl MatrixOrder {
    /// Both orders.
    pub const ALL: [Self; 2] = [Self::Row, Self::Col];

    const fn plural(self) -> &'static str {
        match self {
            Self::Row => "rows",
            Self::Col => "columns",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Col => "col",
        }
    }
}

/// A GEMM kernel, which computes D = f(A·B) for any m, n and k, with operands of `T`, sums of `C` and results of `D`. Requires sm_90a.
///
/// | T                | C   | orders of A and B  | D              |
/// | ---              | --- | ---                | ---            |
/// | bf16, f16        | f32 | all                | bf16, f16, f32, e4m3, e5m2 |
/// | e4m3, e5m2, tf32 | f32 | A rows, B columns  | bf16, f16, f32, e4m3, e5m2 |
/// | i8, u8           | i32 | A rows, B columns  | i32, f32, bf16, f16, i8, u8 |
///
/// The kernel is persistent: the grid has as many blocks as the GPU has multiprocessors. Tiles that extend past the edges of D are clipped,
/// and elements past the edges of A and B count as zero.
///
/// ```
/// use warpwright::{kernels::{Gemm, GpuKind, MatrixOrder}, prelude::*};
///
/// // The kernel for 1000×1000 results of depth 1000 on an H100; B is stored in columns.
/// let gpu = GpuKind { name: "NVIDIA H100 80GB HBM3".into(), capability: (9, 0), multiprocessors: 132 };
/// let gemm = Gemm::for_problem::<bf16, bf16>(MatrixOrder::Row, MatrixOrder::Col, [1000; 3], &gpu);
/// let kernel = gemm.kernel::<bf16, f32, bf16>()?;
/// assert_eq!(kernel.name(), "gemm_bf16_row_col_64x128_cluster2x1");
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[doc(alias = "cublasLtMatmul")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gemm {
    /// The order of A.
    pub a: MatrixOrder,
    /// The order of B.
    pub b: MatrixOrder,
    /// The tile of a warpgroup.
    pub tile: GemmTile,
    /// The numbers of rows and columns of tiles that the blocks of a cluster, at most 8, compute together, sharing loads of A and B.
    pub cluster: [u32; 2],
    /// The order of the tiles.
    pub schedule: Schedule,
    /// The number of blocks of a cluster that compute a tile together, each of them a part of the sum over k: 1, or 2 for tiles of 64
    /// columns. With 2, a result of few tiles occupies more multiprocessors.
    pub parts: u32,
    /// Whether `ldd` may have any value. If so, D is stored by threads rather than by tensor copies, which takes longer but overlaps with
    /// the products of the next tile.
    pub any_ldd: bool,
    /// The function f, if any.
    pub activation: Option<Activation>,
}

impl Gemm {
    /// Returns the kernel for the product of row-major matrices without an activation, in tiles of this size.
    #[must_use]
    pub const fn new(tile: GemmTile) -> Self {
        Self {
            a: MatrixOrder::Row,
            b: MatrixOrder::Row,
            tile,
            cluster: [1, 1],
            schedule: Schedule::grouped(16),
            parts: 1,
            any_ldd: false,
            activation: None,
        }
    }

    /// Builds the kernel, named after the types, orders, tile, cluster and function: `gemm_bf16_row_col_128x192`.
    ///
    /// # Errors
    /// Returns an error if the table of [`Gemm`] does not contain the combination of types and orders, if the types do not support the
    /// activation (integers support only relu), if a cluster has more than 8 blocks, or if `parts` is not supported for the tile.
    pub fn kernel<T, C, D>(&self) -> Result<Kernel<GemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let kernel = format!("{}(a, lda, b, ldb, d, ldd, m, n, k)", self.name::<T, D>(""));
        Kernel::<GemmArgs<T, D>>::build(
            &kernel,
            Target::SM_90A,
            |_, (a, lda, b, ldb, d, ldd, m, n, length)| {
                self.emit::<T, C, D>(Problem::one(
                    *self,
                    false,
                    (a, lda),
                    (b, ldb),
                    (d, ldd),
                    [m, n, length],
                ));
            },
        )
    }

    /// Builds the kernel of a product with additional operands. The sums of a 128×192 tile leave no registers for these operands, so the
    /// kernel uses tiles of 128×128 instead.
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
    /// Returns the errors of [`kernel`](Self::kernel).
    pub fn fused_kernel<T, C, D>(&self, epilogue: Epilogue) -> Result<Kernel<FusedGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let tile = if self.tile == GemmTile::T128x192 { GemmTile::T128x128 } else { self.tile };
        let gemm = Self { tile, ..*self };
        let name = gemm.name::<T, D>(&epilogue.suffix());
        let signature = format!(
            "{name}(a, lda, b, ldb, d, ldd, m, n, k, alpha, beta, c, ldc, bias, row_scales, col_scales)"
        );
        Kernel::<FusedGemmArgs<T, D>>::build(&signature, Target::SM_90A, |k, parameters| {
            let (a, lda, b, ldb, d, ldd, m, n, length, alpha, beta, c, ldc, bias, row_scales, col_scales) =
                parameters;
            let vector_of =
                |pointer, length, present: bool| present.then(|| k.global(pointer, vector(length)));
            let operands = Operands {
                alpha: epilogue.alpha.then_some(alpha),
                row_scales: vector_of(row_scales, m, epilogue.row_scales),
                col_scales: vector_of(col_scales, n, epilogue.col_scales),
                c: epilogue.c.then(|| (beta, k.global(c, row_major(m, n).with_row_stride(ldc)))),
                bias: vector_of(bias, n, epilogue.bias),
            };
            let product = Problem::one(gemm, false, (a, lda), (b, ldb), (d, ldd), [m, n, length]);
            gemm.emit::<T, C, D>(Problem { epilogue: Some(operands), ..product });
        })
    }

    /// Builds the kernel of a batch of products of the same size, whose matrices are equally spaced. One launch computes all products.
    ///
    /// # Errors
    /// Returns the errors of [`kernel`](Self::kernel), and an error for clusters of several rows of tiles.
    #[doc(alias = "cublasGemmStridedBatched")]
    pub fn batched_kernel<T, C, D>(&self) -> Result<Kernel<BatchedGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let name = self.name::<T, D>("_batched");
        let signature =
            format!("{name}(a, lda, a_distance, b, ldb, b_distance, d, ldd, d_distance, m, n, k, batches)");
        Kernel::<BatchedGemmArgs<T, D>>::build(&signature, Target::SM_90A, |k, parameters| {
            let (a, lda, a_distance, b, ldb, b_distance, d, ldd, d_distance, m, n, length, batches) =
                parameters;
            self.emit::<T, C, D>(Problem {
                k,
                gemm: *self,
                a: Matrices::many(a, self.a.extents(m, length), lda, (batches, a_distance)),
                b: Matrices::many(b, self.b.extents(length, n), ldb, (batches, b_distance)),
                d: Matrices::many(d, [m, n], ldd, (batches, d_distance)),
                size: [m, n, length],
                batches: Batches::Strided(batches),
                gated: false,
                epilogue: None,
            });
        })
    }

    /// Builds the kernel of products with several B, as in a mixture of experts: the rows of A and D form groups of whole tiles, and
    /// `groups` contains, for each row of tiles ([`GemmTile::size`]), the index of the B that it is multiplied by.
    ///
    /// # Errors
    /// Returns the errors of [`kernel`](Self::kernel), and an error for clusters of several rows of tiles.
    #[doc(alias = "MoE")]
    pub fn grouped_kernel<T, C, D>(&self) -> Result<Kernel<GroupedGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let name = self.name::<T, D>("_grouped");
        let signature = format!("{name}(a, lda, b, ldb, b_distance, d, ldd, groups, m, n, k, count)");
        Kernel::<GroupedGemmArgs<T, D>>::build(&signature, Target::SM_90A, |k, parameters| {
            let (a, lda, b, ldb, b_distance, d, ldd, groups, m, n, length, count) = parameters;
            let [height, _] = self.tile.size();
            self.emit::<T, C, D>(Problem {
                k,
                gemm: *self,
                a: Matrices::one(a, self.a.extents(m, length), lda),
                b: Matrices::many(b, self.b.extents(length, n), ldb, (count, b_distance)),
                d: Matrices::one(d, [m, n], ldd),
                size: [m, n, length],
                batches: Batches::Grouped(k.global(groups, vector(m.ceil_div(height)))),
                gated: false,
                epilogue: None,
            });
        })
    }

    /// Builds the kernel of a gated product, f(A·B₁) ⊙ (A·B₂): B has 2n columns, those of B₁ followed by those of B₂, and D has n columns.
    /// With [`Activation::Silu`], this is SwiGLU ([Shazeer 2020](https://arxiv.org/abs/2002.05202)).
    ///
    /// # Errors
    /// Returns the errors of [`kernel`](Self::kernel), and an error for tiles other than 64×128 and 128×128, for `parts` other than 1, and
    /// for clusters of several rows of tiles.
    #[doc(alias = "SwiGLU")]
    #[doc(alias = "GeGLU")]
    pub fn gated_kernel<T, C, D>(&self) -> Result<Kernel<GemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<f32>,
        D: GemmResult,
    {
        let kernel = format!("{}(a, lda, b, ldb, d, ldd, m, n, k)", self.name::<T, D>("_gated"));
        Kernel::<GemmArgs<T, D>>::build(
            &kernel,
            Target::SM_90A,
            |k, (a, lda, b, ldb, d, ldd, m, n, length)| {
                let problem = Problem::one(*self, true, (a, lda), (b, ldb), (d, ldd), [m, n, length]);
                k.describe(format!("D = f(A·B₁) ⊙ (A·B₂): {}", self.matrices::<T, D>()));
                match self.check(T::SIZE) {
                    Ok(()) => D::emit_gated(self, &problem),
                    Err(why) => k.refuse(why),
                }
            },
        )
    }

    /// Emits a gated product with stages of `K` subtiles of depth, and results that are stored `W` columns of subtiles at a time.
    fn gated_of_depth<T, C, D, const K: usize, const W: usize>(&self, problem: &Problem<'_, T, D>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        use GemmTile::{T64x128, T128x128};
        use MatrixOrder::{Col, Row};
        macro_rules! kernels {
            ($($a:ident $b:ident $stages:ident;)*) => {
                match (self.a, self.b, self.tile, self.parts) {
                    //                                                               M  N  G  K  H  stages
                    $(
                        ($a, $b, T64x128, 1) => gated::<$stages, T, C, D, 4, 8, 4, K, 1, 8, W>(problem),
                        ($a, $b, T128x128, 1) => gated::<$stages, T, C, D, 8, 8, 4, K, 2, 6, W>(problem),
                    )*
                    (_, _, tile, parts) => problem.k.refuse(format!(
                        "expected whole tiles of 64×128 or 128×128 for a gated product, found {tile} in {parts} parts"
                    )),
                }
            };
        }
        // The other orders are those of types of 16 bits: for others, nothing need be compiled.
        if const { T::SIZE == 2 } {
            kernels! {
                Row Row RowRow;
                Row Col RowCol;
                Col Row ColRow;
                Col Col ColCol;
            }
        } else {
            kernels! {
                Row Col RowCol;
            }
        }
    }

    /// Describes the matrices of a product.
    fn matrices<T: TensorElement, D: TensorElement>(&self) -> String {
        let Self { a, b, activation, .. } = *self;
        let function = activation.map(|function| format!(", {function}")).unwrap_or_default();
        let (factors, result) = (T::NAME, D::NAME);
        format!(
            "A m×k in {}, B k×n in {} ({factors}), D m×n in rows ({result}){function}",
            a.plural(),
            b.plural()
        )
    }

    /// Returns the name of the kernel with this form.
    fn name<T: TensorElement, D: TensorElement>(&self, form: &str) -> String {
        let Self { a, b, tile, cluster: [rows, cols], parts, any_ldd, activation, .. } = *self;
        let mut name = format!("gemm_{}", T::NAME);
        if D::NAME != T::NAME {
            name += &format!("_{}", D::NAME);
        }
        name += &format!("_{}_{}_{tile}", a.name(), b.name());
        if [rows, cols] != [1, 1] {
            name += &format!("_cluster{rows}x{cols}");
        }
        if parts != 1 {
            name += &format!("_split{parts}");
        }
        if any_ldd {
            name += "_any_ldd";
        }
        name += form;
        activation.map_or(name.clone(), |function| format!("{name}_{function}"))
    }

    /// Emits the products of a launch.
    fn emit<T, C, D>(&self, problem: Problem<'_, T, D>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let (k, activation) = (problem.k, self.activation);
        k.describe(format!("D = A·B: {}", self.matrices::<T, D>()));
        if let Err(why) = self.check(T::SIZE) {
            return k.refuse(why);
        }
        if let Some(function) = activation.filter(|&function| problem.epilogue.is_none() && !C::has(function))
        {
            return k.refuse(format!("expected a function of {}, found {function}", C::NAME));
        }
        D::emit(self, &problem);
    }

    /// Emits the products with stages of `K` subtiles of depth, and results that are stored `W` columns of subtiles at a time, or `V`
    /// columns for tiles that several blocks compute together.
    fn of_depth<T, C, D, const K: usize, const W: usize, const V: usize>(&self, problem: &Problem<'_, T, D>)
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        use GemmTile::{T16x64, T16x128, T64x64, T64x128, T128x128, T128x192};
        use MatrixOrder::{Col, Row};
        macro_rules! kernels {
            ($($a:ident $b:ident $stages:ident;)*) => {
                match (self.a, self.b, self.tile, self.parts) {
                    //                                                                        M  N   K  H  stages W slots
                    $(
                        ($a, $b, T16x64 | T64x64, 1) => in_turns::<$stages, T, C, D, 4, 4,  K, 1, 8, W, 1>(problem),
                        ($a, $b, T16x128 | T64x128, 1) => in_turns::<$stages, T, C, D, 4, 8,  K, 1, 8, W, 2>(problem),
                        ($a, $b, T128x128, 1) => in_turns::<$stages, T, C, D, 8, 8,  K, 2, 6, W, 2>(problem),
                        ($a, $b, T128x192, 1) => in_turns::<$stages, T, C, D, 8, 12, K, 2, 4, W, 3>(problem),
                    )*
                    //                                                                  M  N  K  H  stages parts P  W
                    $(
                        ($a, $b, T16x64 | T64x64, 2) => split::<$stages, T, C, D, 4, 4, K, 1, 10, 2, 2, V>(problem),
                    )*
                    // Rejected by `check`.
                    _ => {}
                }
            };
        }
        // The other orders are those of types of 16 bits: for others, nothing need be compiled.
        if const { T::SIZE == 2 } {
            kernels! {
                Row Row RowRow;
                Row Col RowCol;
                Col Row ColRow;
                Col Col ColCol;
            }
        } else {
            kernels! {
                Row Col RowCol;
            }
        }
    }
}
