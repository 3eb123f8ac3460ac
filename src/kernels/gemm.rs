//! Matrix products on tensor cores, with tensor copies and `wgmma` on Hopper (sm_90a), and with `cp.async` and `mma.sync` on other targets.

mod activation;
mod check;
mod choice;
mod dispatch;
mod divided;
mod epilogue;
mod forms;
mod gpu_kind;
mod kernel;
mod mma_sync;
mod model;
mod order;
mod problem;
mod promoted;
mod ragged;
mod result;
mod stages;
mod table;
mod tile;

use crate::{
    ptx::{In, Out, Target},
    tensor::TensorElement,
    tiles::Schedule,
};

pub use activation::{Activation, GemmSum};
pub use divided::{DividedGemm, PartialGemmArgs, SumOfPartsArgs};
pub(super) use epilogue::Parameters;
pub use epilogue::{Epilogue, FusedGemmArgs};
pub use gpu_kind::GpuKind;
pub(super) use mma_sync::product_of_rows;
pub use order::MatrixOrder;
pub use promoted::BlockScaledGemmArgs;
pub use ragged::RaggedGemmArgs;
pub use result::GemmResult;
pub use table::{GemmEntry, GemmTable};
pub use tile::GemmTile;

/// The arguments of the kernel that [`Gemm::kernel`] builds: `(a, lda, b, ldb, d, ldd, m, n, k)`. A is m×k, B is k×n, and D is m×n. `lda`,
/// `ldb` and `ldd` are the leading dimensions in elements: the strides between the rows (or columns, in column order) of A and B, and
/// between the rows of D. They must be multiples of 16 bytes, except `ldd` with [`Gemm::any_ldd`], and `lda` and `ldb` with
/// [`Gemm::any_size`]. If rows of D overlap, the values of D are unspecified. [`Gemm::promoted_kernel`] and [`Gemm::gated_kernel`] build
/// kernels with the same parameters; for gated kernels, B has 2n columns. The kernels of [`MatmulSimt::kernel`](super::MatmulSimt::kernel)
/// also have these parameters, and their [divisor](super::MatmulSimt::divisor) must divide the leading dimensions.
pub type GemmArgs<T, D> = (In<T>, u32, In<T>, u32, Out<D>, u32, u32, u32, u32);

/// The arguments of the kernel that [`Gemm::batched_kernel`] builds:
/// `(a, lda, a_distance, b, ldb, b_distance, d, ldd, d_distance, m, n, k, batches)`. These are the parameters of [`GemmArgs`] for `batches`
/// products, with the distances between consecutive matrices, in elements. The distances must be multiples of 16 bytes, with the same
/// exceptions as the leading dimensions. If all products share an operand, its distance is 0.
pub type BatchedGemmArgs<T, D> = (In<T>, u32, u32, In<T>, u32, u32, Out<D>, u32, u32, u32, u32, u32, u32);

/// The arguments of the kernel that [`Gemm::grouped_kernel`] builds: `(a, lda, b, ldb, b_distance, d, ldd, groups, m, n, k, count)`. These
/// are the parameters of [`GemmArgs`], for `count` B matrices that are `b_distance` elements apart, and `groups`, which contains the index
/// of a B matrix for each row of tiles.
pub type GroupedGemmArgs<T, D> = (In<T>, u32, In<T>, u32, u32, Out<D>, u32, In<u32>, u32, u32, u32, u32);

/// A GEMM kernel, which computes D = f(A·B) for any m, n and k, with operands of type `T`, sums of type `C` and results of type `D`.
/// Without `wgmma`, arbitrary sizes require [`any_size`](Self::any_size) and [`any_ldd`](Self::any_ldd). The target, sm_80 or later,
/// determines the instructions; the parameters are the same for all targets.
///
/// | T                | C   | orders of A and B  | D              |
/// | ---              | --- | ---                | ---            |
/// | bf16, f16        | f32 | all                | bf16, f16, f32, e4m3, e5m2 |
/// | e4m3, e5m2, tf32 | f32 | A rows, B columns  | bf16, f16, f32, e4m3, e5m2 |
/// | i8, u8           | i32 | A rows, B columns  | i32, f32, bf16, f16, i8, u8 |
///
/// On sm_90a, the kernel loads with tensor copies and multiplies with `wgmma`. It is persistent: the grid has at most one block per
/// multiprocessor of the GPU, and each block computes one or more tiles. On other targets, the kernel loads with `cp.async`, multiplies
/// with `mma.sync`, and has a block for each tile; e4m3 and e5m2 require sm_89 or later. Tiles that extend past the edges of D are clipped,
/// and elements past the edges of A and B count as zero.
///
/// ```
/// use warpwright::{kernels::{Gemm, GpuKind, MatrixOrder}, prelude::*};
///
/// // The kernel for m = n = k = 1000 on an H100; B is column-major.
/// let gpu = GpuKind { name: "NVIDIA H100 80GB HBM3".into(), capability: (9, 0), multiprocessors: 132 };
/// let gemm = Gemm::for_problem::<bf16, bf16>(MatrixOrder::Row, MatrixOrder::Col, [1000; 3], &gpu);
/// let kernel = gemm.kernel::<bf16, f32, bf16>()?;
/// assert_eq!(kernel.name(), "gemm_bf16_row_col_64x128_cluster2x1");
///
/// // The kernel for the same problem on an A100.
/// let gpu = GpuKind { name: "NVIDIA A100-SXM4-80GB".into(), capability: (8, 0), multiprocessors: 108 };
/// let gemm = Gemm::for_problem::<bf16, bf16>(MatrixOrder::Row, MatrixOrder::Col, [1000; 3], &gpu);
/// assert_eq!((gemm.target, gemm.tile.to_string()), (Target::SM_80, "64x64".into()));
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
#[doc(alias = "cublasLtMatmul")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Gemm {
    /// The target.
    pub target: Target,
    /// The order of A.
    pub a: MatrixOrder,
    /// The order of B.
    pub b: MatrixOrder,
    /// The part of D that a warpgroup or a block computes at a time.
    pub tile: GemmTile,
    /// The number of rows and the number of columns of tiles that the blocks of a cluster compute together, sharing loads of A and B. The
    /// product of these two numbers and `parts` is the number of blocks per cluster, which must be at most 8. For tiles of 16 rows, the
    /// number of columns must be 1; without `wgmma`, both numbers must be 1.
    pub cluster: [u32; 2],
    /// The order in which tiles are computed.
    pub schedule: Schedule,
    /// The number of blocks of a cluster that compute a tile together, each for a part of the sum over k. The tile determines the supported
    /// values ([`GemmTile::parts`]). With several parts, a result that consists of few tiles occupies more multiprocessors. Without
    /// `wgmma`, `parts` must be 1.
    pub parts: u32,
    /// Whether `ldd` may have any value. If this field is `true` and the target has `wgmma`, D is stored by threads rather than by tensor
    /// copies. This takes longer, but if warpgroups take turns on tiles, the stores overlap with the `wgmma`s of the next tile. Without
    /// `wgmma`, this field also determines whether rows of D may have any length; if it is `false`, the length must be a multiple of 16
    /// bytes.
    pub any_ldd: bool,
    /// Whether rows (or columns, in column order) of A and B may have any length and stride. If this field is `true`, elements are copied
    /// one at a time, which takes longer; otherwise, lengths and strides must be multiples of 16 bytes. With `wgmma`, this field must be
    /// `false`; strides must then be multiples of 16 bytes, but lengths may have any value.
    pub any_size: bool,
    /// The function f, if any.
    pub activation: Option<Activation>,
}

impl Gemm {
    /// Returns the kernel for sm_90a that multiplies row-major matrices, without an activation, in tiles of the given size.
    #[must_use]
    pub const fn new(tile: GemmTile) -> Self {
        Self {
            target: Target::SM_90A,
            a: MatrixOrder::Row,
            b: MatrixOrder::Row,
            tile,
            cluster: [1, 1],
            schedule: Schedule::grouped(if tile.size()[0] > 128 { 8 } else { 16 }),
            parts: 1,
            any_ldd: false,
            any_size: false,
            activation: None,
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

    /// Returns the name of the kernel; `form` is the suffix of the form, such as `_batched`.
    fn name<T: TensorElement, D: TensorElement>(&self, form: &str) -> String {
        let Self { a, b, tile, cluster: [rows, cols], parts, any_ldd, any_size, activation, .. } = *self;
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
        if any_size {
            name += "_any_size";
        }
        name += form;
        activation.map_or(name.clone(), |function| format!("{name}_{function}"))
    }
}
