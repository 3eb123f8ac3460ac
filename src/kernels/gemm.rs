//! Matrix products on tensor cores, with tensor copies and `wgmma` on Hopper (sm_90a), and with `cp.async` and `mma.sync` on other targets.

mod activation;
mod check;
mod choice;
mod dispatch;
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
mod split_k;
mod stages;
mod table;
mod tile;

use crate::{
    ptx::{In, Out, Target},
    tensor::TensorElement,
    tiles::Schedule,
};

pub use activation::{Activation, GemmSum};
pub(super) use epilogue::Parameters;
pub use epilogue::{Epilogue, FusedGemmArgs};
pub use gpu_kind::GpuKind;
pub(super) use mma_sync::product_of_rows;
pub use order::MatrixOrder;
pub use promoted::BlockScaledGemmArgs;
pub use ragged::RaggedGemmArgs;
pub use result::GemmResult;
pub use split_k::{PartialGemmArgs, SplitKGemm, SplitKSumArgs};
pub use table::{GemmEntry, GemmTable};
pub use tile::GemmTile;

/// The arguments of the kernel that [`Gemm::kernel`] builds: `(a, lda, b, ldb, d, ldd, m, n, k)`. A is m×k, B is k×n, and D is m×n. `lda`,
/// `ldb` and `ldd` are the leading dimensions in elements: the strides between the rows (or columns, if column-major) of A and B, and
/// between the rows of D. They must be multiples of 16 bytes, except that [`Gemm::any_ldd`] allows any `ldd`, and [`Gemm::any_size`] allows
/// any `lda` and `ldb`. If rows of D overlap, the values of D are unspecified.
///
/// The kernels that [`Gemm::promoted_kernel`] and [`Gemm::gated_kernel`] build have the same parameters; for gated kernels, B has 2n
/// columns. The kernels that [`MatmulSimt::kernel`](super::MatmulSimt::kernel) builds also have these parameters, but their leading
/// dimensions must be multiples of [`MatmulSimt::divisor`](super::MatmulSimt::divisor) elements instead of 16 bytes.
pub type GemmArgs<T, D> = (In<T>, u32, In<T>, u32, Out<D>, u32, u32, u32, u32);

/// The arguments of the kernel that [`Gemm::batched_kernel`] builds:
/// `(a, lda, a_batch_stride, b, ldb, b_batch_stride, d, ldd, d_batch_stride, m, n, k, batches)`. There are `batches` products.
/// `a_batch_stride`, `b_batch_stride` and `d_batch_stride` are the distances between the first elements of consecutive A, B and D matrices,
/// in elements; the batch stride of an operand that all products share is 0. Batch strides must be multiples of 16 bytes, with the same
/// exceptions as leading dimensions. See [`GemmArgs`] for the other arguments.
pub type BatchedGemmArgs<T, D> = (In<T>, u32, u32, In<T>, u32, u32, Out<D>, u32, u32, u32, u32, u32, u32);

/// The arguments of the kernel that [`Gemm::grouped_kernel`] builds: `(a, lda, b, ldb, b_batch_stride, d, ldd, groups, m, n, k, count)`.
/// There are `count` B matrices, whose first elements are `b_batch_stride` elements apart. `groups` contains the index of a B matrix for
/// each row of tiles. See [`GemmArgs`] for the other arguments.
pub type GroupedGemmArgs<T, D> = (In<T>, u32, In<T>, u32, u32, Out<D>, u32, In<u32>, u32, u32, u32, u32);

/// A GEMM kernel: D = f(A·B), where A is m×k, B is k×n and D is m×n. The elements of A and B have type `T`, the accumulators have type `C`,
/// and the elements of D have type `D`. m, n and k may have any value; on targets without `wgmma`, this requires
/// [`any_size`](Self::any_size) and [`any_ldd`](Self::any_ldd). The target must be sm_80 or later. It determines which instructions the
/// kernel uses; the parameters are the same for all targets.
///
/// | T                | C   | orders of A and B           | D                           |
/// | ---              | --- | ---                         | ---                         |
/// | bf16, f16        | f32 | all                         | bf16, f16, f32, e4m3, e5m2  |
/// | e4m3, e5m2, tf32 | f32 | A row-major, B column-major | bf16, f16, f32, e4m3, e5m2  |
/// | i8, u8           | i32 | A row-major, B column-major | i32, f32, bf16, f16, i8, u8 |
///
/// On sm_90a, the kernel loads with tensor copies and multiplies with `wgmma`. It is persistent: the grid has at most one block per
/// multiprocessor of the GPU, and each block computes one or more tiles. On other targets, the kernel loads with `cp.async` and multiplies
/// with `mma.sync`, and the grid has one block per tile; e4m3 and e5m2 require sm_89 or later. Tiles that extend past the edges of D are
/// clipped, and elements past the edges of A and B are treated as zero.
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
    /// The target of the kernel.
    pub target: Target,
    /// The order of A.
    pub a: MatrixOrder,
    /// The order of B.
    pub b: MatrixOrder,
    /// The tile of D that a warpgroup or a block computes at a time.
    pub tile: GemmTile,
    /// The numbers of rows and columns of tiles that a cluster computes. The blocks of the cluster share loads of A and B. The number of
    /// blocks per cluster is rows · columns · `parts`, which must be at most 8. For tiles of 16 rows, the number of columns must be 1. On
    /// targets without `wgmma`, both numbers must be 1.
    pub cluster: [u32; 2],
    /// The order in which tiles are computed.
    pub schedule: Schedule,
    /// The number of blocks in a cluster that compute a tile together, each for a part of the sum over k. [`GemmTile::parts`] returns the
    /// supported values. If D consists of few tiles, more parts keep more multiprocessors busy. On targets without `wgmma`, `parts` must
    /// be 1.
    pub parts: u32,
    /// Whether `ldd` may have any value; if `false`, it must be a multiple of 16 bytes. On targets with `wgmma`, D is stored by threads if
    /// this field is `true`, and by tensor copies, which are faster, if it is `false`. If warpgroups take turns on tiles, stores by threads
    /// overlap with the `wgmma`s of the next tile. On targets without `wgmma`, this field also determines whether rows of D may have any
    /// length; if `false`, the length must be a multiple of 16 bytes.
    pub any_ldd: bool,
    /// On targets without `wgmma`, whether rows (or columns, if column-major) of A and B may have any length and stride. If `true`,
    /// elements are copied one at a time, which is slower; if `false`, lengths and strides must be multiples of 16 bytes. On targets with
    /// `wgmma`, this field must be `false`; strides must be multiples of 16 bytes, but lengths may have any value.
    pub any_size: bool,
    /// The activation function f; if `None`, D = A·B.
    pub activation: Option<Activation>,
}

impl Gemm {
    /// Returns the sm_90a kernel that multiplies row-major matrices with the given tile, without clusters and without an activation.
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
        format!("A m×k {}, B k×n {} ({factors}), D m×n row-major ({result}){function}", a.major(), b.major())
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
