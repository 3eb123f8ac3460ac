//! Matrix product in f32 with fused multiply-adds, for matrices of any size.

mod finish;
mod share;
mod stages;
mod tile;

use super::{Activation, Epilogue, FusedGemmArgs, GemmArgs, MatrixOrder};
use crate::{
    layout::Layout,
    ptx::{BuildError, Builder, Global, Kernel, Ptr, Read, Scalar, Shared, Target, Val, Write},
    tensor::{Fragment, Tensor, copy, fill, in_order, words_of},
    tiles::{Gl, Schedule, Stage, row_major},
};

use finish::Finish;
use share::{DEPTH, STEP, Share};
use stages::{ColCol, ColRow, RowCol, RowRow, Stages};

pub use tile::SimtTile;

/// A kernel that computes D = f(A·B), where A is m×k, B is k×n and D is m×n, all with f32 elements. D is row-major, and m, n and k must be
/// at least 1. Each element of A·B is computed by a chain of `fma` instructions in ascending order along k, so the results do not depend on
/// the matrix orders, the tile or the divisor. Tensor cores are not used, because they round f32 operands to tf32.
///
/// ```
/// use warpwright::{kernels::{MatmulSimt, MatrixOrder, SimtTile}, prelude::*};
///
/// // On 132 multiprocessors, 32 tiles of 256×128 would leave 100 of them idle.
/// let simt = MatmulSimt::for_problem(Target::SM_90, MatrixOrder::Row, MatrixOrder::Col, [1000; 3], 132);
/// assert_eq!((simt.tile, simt.divisor), (SimtTile::T64x128, 4));
/// assert_eq!(simt.kernel(Target::SM_90)?.name(), "matmul_f32_row_col_64x128_by4");
/// # Ok::<(), BuildError>(())
/// ```
///
/// A block computes a tile of D with three stages, each 32 elements deep along k. Each thread multiplies its elements of two columns of A
/// by its elements of two rows of B at a time. Meanwhile, it loads its elements of the next two columns and rows.
#[doc(alias = "sgemm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatmulSimt {
    /// The order of A.
    pub a: MatrixOrder,
    /// The order of B.
    pub b: MatrixOrder,
    /// The tile of D that a block computes.
    pub tile: SimtTile,
    /// A common divisor of the leading dimensions and of the row lengths (or column lengths, if column-major) of A, B and D, which is
    /// checked at every launch. With a divisor of 4, a copy moves 16 bytes; with 2, it moves 8 bytes. With a divisor of 1, sizes and
    /// leading dimensions may have any value.
    pub divisor: u32,
    /// The activation function f; if `None`, D = A·B.
    pub activation: Option<Activation>,
}

impl MatmulSimt {
    /// Builds the kernel. Its name contains the orders, the tile, the divisor (unless it is 1) and the activation, for example
    /// `matmul_f32_row_col_256x128_by4_relu`. See [`GemmArgs`] for the parameters.
    ///
    /// # Errors
    /// Returns an error if the target is older than sm_80, if the divisor is 0, or if [`SimtTile::all`] does not return the tile for this
    /// target and divisor.
    pub fn kernel(&self, target: Target) -> Result<Kernel<GemmArgs<f32, f32>>, BuildError> {
        let signature = format!("{}(a, lda, b, ldb, d, ldd, m, n, k)", self.name(""));
        Kernel::<GemmArgs<f32, f32>>::build(&signature, target, |k, (a, lda, b, ldb, d, ldd, m, n, depth)| {
            let problem = Problem::new(k, *self, (a, lda), (b, ldb), (d, ldd), [m, n, depth]);
            problem.emit(&Finish::function(self.activation));
        })
    }

    /// Builds the kernel that computes the product and applies an epilogue to it.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn fused_kernel(
        &self,
        target: Target,
        epilogue: Epilogue,
    ) -> Result<Kernel<FusedGemmArgs<f32, f32>>, BuildError> {
        let signature = format!(
            "{}(a, lda, b, ldb, d, ldd, m, n, k, alpha, beta, c, ldc, bias, row_scales, col_scales)",
            self.name(&epilogue.suffix())
        );
        Kernel::<FusedGemmArgs<f32, f32>>::build(&signature, target, |k, parameters| {
            let (a, lda, b, ldb, d, ldd, m, n, depth, alpha, beta, c, ldc, bias, row_scales, col_scales) =
                parameters;
            let problem = Problem::new(k, *self, (a, lda), (b, ldb), (d, ldd), [m, n, depth]);
            let operands = (alpha, beta, c, ldc, bias, row_scales, col_scales);
            let [m, n, _] = problem.size;
            problem.emit(&Finish::function(self.activation).epilogue(epilogue, operands, [m, n]));
        })
    }

    /// Returns the name of the kernel; `epilogue` is the suffix of the epilogue.
    fn name(&self, epilogue: &str) -> String {
        let Self { a, b, tile, divisor, activation } = *self;
        let mut name = format!("matmul_f32_{}_{}_{tile}", a.name(), b.name());
        if divisor != 1 {
            name += &format!("_by{divisor}");
        }
        name += epilogue;
        if let Some(function) = activation {
            name += &format!("_{function}");
        }
        name
    }
}

/// The number of stages.
const STAGES: usize = 3;

/// The matrices of a product.
struct Problem<'k> {
    k: Builder<'k>,
    simt: MatmulSimt,
    /// A and B as row-major matrices; a column-major matrix is transposed.
    factors: [Gl<'k, f32, Read>; 2],
    d: Gl<'k, f32, Write>,
    /// m, n and k.
    size: [Val<'k, u32>; 3],
}

impl<'k> Problem<'k> {
    /// Describes the product of the given matrices; each buffer is followed by its leading dimension.
    #[track_caller]
    fn new(
        k: Builder<'k>,
        simt: MatmulSimt,
        (a, lda): (Ptr<'k, f32, Global, Read>, Val<'k, u32>),
        (b, ldb): (Ptr<'k, f32, Global, Read>, Val<'k, u32>),
        (d, ldd): (Ptr<'k, f32, Global, Write>, Val<'k, u32>),
        [m, n, depth]: [Val<'k, u32>; 3],
    ) -> Self {
        let MatmulSimt { a: of_a, b: of_b, divisor, activation, .. } = simt;
        let sizes = if divisor == 1 {
            "any sizes".to_string()
        } else {
            format!(
                "{divisor} divides the lengths of rows and columns that are contiguous, and the distances between them"
            )
        };
        let function = activation.map(|function| format!(", {function}")).unwrap_or_default();
        k.describe(format!(
            "D = A·B (f32): A m×k {}, B k×n {}, D m×n row-major{function}; {sizes}",
            of_a.major(),
            of_b.major()
        ));
        if divisor == 0 {
            k.refuse("expected a divisor of sizes, found 0".into());
        }
        let whole =
            |size: Val<'k, u32>, is_length: bool| if is_length { size.multiple_of(divisor) } else { size };
        let (b_in_rows, a_in_cols) = (of_b == MatrixOrder::Row, of_a == MatrixOrder::Col);
        let m = whole(m, a_in_cols);
        let n = whole(n, true);
        let depth = whole(depth, !(b_in_rows && a_in_cols));
        let matrix = |buffer, [rows, cols]: [Val<'k, u32>; 2], stride: Val<'k, u32>| {
            k.global(buffer, row_major(rows, cols).with_row_stride(stride.multiple_of(divisor)))
        };
        Self {
            k,
            simt,
            factors: [matrix(a, of_a.extents(m, depth), lda), matrix(b, of_b.extents(depth, n), ldb)],
            d: k.global(d, row_major(m, n).with_row_stride(ldd.multiple_of(divisor))),
            size: [m, n, depth],
        }
    }

    /// Emits the product in tiles of the kernel's size.
    #[track_caller]
    fn emit(&self, finish: &Finish<'k>) {
        let Self { k, simt: MatmulSimt { tile, divisor, .. }, .. } = *self;
        let target = k.target();
        if SimtTile::all(target, divisor).all(|supported| supported != tile) {
            return k.refuse(format!(
                "expected a divisor of 4 and a target with 160 KiB of shared memory per block for tiles of {tile}, found {divisor} and {target}"
            ));
        }
        match tile {
            //                                    M   N  rows and columns of warps
            SimtTile::T256x128 => self.in_tiles::<16, 8, 4, 2>(finish),
            SimtTile::T128x128 => self.in_tiles::<8, 8, 4, 2>(finish),
            SimtTile::T128x64 => self.in_tiles::<8, 4, 4, 1>(finish),
            SimtTile::T64x128 => self.in_tiles::<4, 8, 4, 2>(finish),
            SimtTile::T64x64 => self.in_tiles::<4, 4, 4, 1>(finish),
            SimtTile::T32x64 => self.in_tiles::<2, 4, 2, 1>(finish),
        }
    }

    /// Emits the product in tiles of `M`×`N` subtiles, which `R`×`C` warps compute.
    #[track_caller]
    fn in_tiles<const M: usize, const N: usize, const R: usize, const C: usize>(&self, finish: &Finish<'k>) {
        use MatrixOrder::{Col, Row};
        match (self.simt.a, self.simt.b) {
            (Row, Row) => self.multiply::<RowRow, M, N, R, C>(finish),
            (Row, Col) => self.multiply::<RowCol, M, N, R, C>(finish),
            (Col, Row) => self.multiply::<ColRow, M, N, R, C>(finish),
            (Col, Col) => self.multiply::<ColCol, M, N, R, C>(finish),
        }
    }

    #[track_caller]
    fn multiply<S, const M: usize, const N: usize, const R: usize, const C: usize>(&self, finish: &Finish<'k>)
    where
        S: Stages<'k, M, N>,
    {
        let Self { k, simt, factors: [a, b], d, size: [m, n, depth] } = self;
        let [height, width, deep] = [M, N, DEPTH].map(|subtiles| 16 * subtiles as u32);
        let thread = k.block([32 * (R * C) as u32]).thread();
        k.grid([m.tiles(height) * n.tiles(width)]);
        // Blocks that run at the same time share rows of A and columns of B in the L2 cache.
        let (bi, bj) = Schedule::grouped(8).emit(k.ctaid_x(), m.ceil_div(height), n.ceil_div(width));

        let share = Share::new([M, N], [R, C], [simt.a, simt.b]);
        let [of_a, of_b, of_d] = share.parts().map(|part| k.layout(&part));
        let [rows, cols] = share.size();
        let sums = k.fragment::<f32>(&in_order((rows * cols) as i64));
        fill(&sums, 0.0);
        k.pipeline::<S::Tiles, STAGES>().run_sliced(
            depth.ceil_div(deep),
            deep / STEP as u32,
            (),
            |i, stage: Stage<'k, _>| S::fill(stage, [a, b], [bi, bj, i]),
            |tiles, step| {
                let [a, b] = S::tensors(tiles);
                [own(&a, &of_a, thread, step), own(&b, &of_b, thread, step)]
            },
            |(), [a, b]| share.multiply(*k, &sums, a, b),
        );
        let tile = d.tensor().local_tile((height, width), (bi, bj));
        finish.store(
            |matrix| matrix.tensor().local_tile((height, width), (bi, bj)).part_of(&of_d, thread),
            &tile.part_of(&of_d, thread),
            &sums,
            rows,
        );
    }
}

/// Loads this thread's elements of a tile for a step.
#[track_caller]
fn own<'k>(
    tile: &Tensor<'k, Shared, f32, Read>,
    part: &Layout,
    thread: Val<'k, u32>,
    step: u32,
) -> Vec<Val<'k, f32>> {
    let part = tile.part_of(part, thread).slice((.., .., step));
    let elements = Fragment::uninitialized(part.kernel(), &in_order(part.size()), f32::CLASS);
    copy(&elements, &part);
    words_of(&elements)
}
