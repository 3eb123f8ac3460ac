//! Products of matrices on Hopper (sm_90a), with tensor copies and products of warpgroups.

mod activation;
mod kernel;
mod tile;

use crate::{
    ptx::{BuildError, In, Kernel, Out},
    tensor::TensorElement,
    tiles::{Convert, Product, Schedule},
};
use kernel::Shape;

pub use activation::{Activation, GemmSum};
pub use tile::GemmTile;

/// `(a, lda, b, ldb, d, ldd, m, n, k)`: A m×k and B k×n, each in rows or columns that are `lda` and `ldb` elements apart, and D m×n in
/// rows that are `ldd` elements apart. These distances must be multiples of 16 bytes.
pub type GemmArgs<T, D> = (In<T>, u32, In<T>, u32, Out<D>, u32, u32, u32, u32);

/// The order of a factor in memory.
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

/// A kernel that computes D = f(A·B) for any m, n and k: factors of `T`, sums of `C`, results of `D`. Requires sm_90a.
///
/// | T                | C   | orders of A and B  | D              |
/// | ---              | --- | ---                | ---            |
/// | bf16, f16        | f32 | all                | bf16, f16, f32 |
/// | e4m3, e5m2, tf32 | f32 | A rows, B columns  | bf16, f16, f32 |
/// | i8, u8           | i32 | A rows, B columns  | i32, f32       |
///
/// Blocks stay resident: the grid has as many as the GPU has multiprocessors. Tiles that extend past the edges of D are clipped, and
/// elements past the edges of A and B count as zero.
///
/// ```
/// use warpwright::{kernels::{Gemm, GemmTile, MatrixOrder}, prelude::*};
///
/// // The kernel for 1000×1000 results on 132 multiprocessors; B is stored in columns.
/// let gemm = Gemm { b: MatrixOrder::Col, ..Gemm::new(GemmTile::for_result(1000, 1000, 132)) };
/// let kernel = gemm.kernel::<bf16, f32, bf16>()?;
/// assert_eq!(kernel.name(), "gemm_bf16_row_col_64x128");
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
    /// The rows and columns of tiles that the blocks of a cluster compute at the same time, sharing loads of A and B: at most 8 blocks.
    pub cluster: [u32; 2],
    /// The order of the tiles.
    pub schedule: Schedule,
    /// The function f.
    pub activation: Option<Activation>,
}

impl Gemm {
    /// Returns the product of row-major matrices without a function, in tiles of this size.
    #[must_use]
    pub const fn new(tile: GemmTile) -> Self {
        Self {
            a: MatrixOrder::Row,
            b: MatrixOrder::Row,
            tile,
            cluster: [1, 1],
            schedule: Schedule::grouped(16),
            activation: None,
        }
    }

    /// Builds the kernel, named after the types, orders, tile, cluster and function: `gemm_bf16_row_col_128x192`.
    ///
    /// # Errors
    /// For types other than those of 16 bits, orders other than A in rows and B in columns; for integers, a function other than relu; a
    /// cluster of more than 8 blocks.
    pub fn kernel<T, C, D>(&self) -> Result<Kernel<GemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D>,
        D: TensorElement,
    {
        let Self { a, b, tile, cluster, schedule, activation } = *self;
        let suffix = activation.map(|function| format!("_{function}")).unwrap_or_default();
        let result = if D::NAME == T::NAME { String::new() } else { format!("_{}", D::NAME) };
        let blocks =
            if cluster == [1, 1] { String::new() } else { format!("_cluster{}x{}", cluster[0], cluster[1]) };
        let name = format!("gemm_{}{result}_{}_{}_{tile}{blocks}{suffix}", T::NAME, a.name(), b.name());
        let function = activation.map(|function| format!(", {function}")).unwrap_or_default();
        let description = format!(
            "D = A·B: A m×k in {}, B k×n in {} ({}), D m×n in rows ({}){function}",
            a.plural(),
            b.plural(),
            T::NAME,
            D::NAME
        );
        let shape = Shape {
            name,
            description,
            cluster,
            schedule: schedule.per_cluster(cluster[0], cluster[1]),
            activation,
        };
        // Two column subtiles of 4 bytes are 128 bytes, like four of 2 or of 1.
        match (T::SIZE, D::SIZE) {
            (4, 4) => self.of_depth::<T, C, D, 2, 2>(shape),
            (4, _) => self.of_depth::<T, C, D, 2, 4>(shape),
            (_, 4) => self.of_depth::<T, C, D, 4, 2>(shape),
            _ => self.of_depth::<T, C, D, 4, 4>(shape),
        }
    }

    /// Builds the kernel for stages of `K` subtiles of depth, and results that leave `W` columns of subtiles at a time.
    fn of_depth<T, C, D, const K: usize, const W: usize>(
        &self,
        shape: Shape,
    ) -> Result<Kernel<GemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D>,
        D: TensorElement,
    {
        use GemmTile::{T64x64, T64x128, T128x128, T128x192};
        use MatrixOrder::{Col, Row};
        macro_rules! kernels {
            ($($a:ident $b:ident $kernel:ident;)*) => {
                match (self.a, self.b, self.tile) {
                    //                                                M  N   K  H  stages W slots
                    $(
                        ($a, $b, T64x64) => kernel::$kernel::<T, C, D, 4, 4,  K, 1, 8,     W, 1>(shape),
                        ($a, $b, T64x128) => kernel::$kernel::<T, C, D, 4, 8,  K, 1, 8,     W, 2>(shape),
                        ($a, $b, T128x128) => kernel::$kernel::<T, C, D, 8, 8,  K, 2, 6,     W, 2>(shape),
                        ($a, $b, T128x192) => kernel::$kernel::<T, C, D, 8, 12, K, 2, 4,     W, 3>(shape),
                    )*
                }
            };
        }
        kernels! {
            Row Row row_row;
            Row Col row_col;
            Col Row col_row;
            Col Col col_col;
        }
    }
}
