//! Matrix product of f32 with fused multiply-adds, for any sizes.

mod tile;

use super::matmul::{MatmulArgs, Problem};
use crate::{
    layout::Layout,
    ptx::{BuildError, Builder, Kernel, Read, Scalar, Shared, Target, Val},
    tensor::{Fragment, Tensor, copy, fill, in_order, words_of},
    tiles::{Schedule, St, Stage},
};

pub use tile::SimtTile;

/// A kernel that computes D = A·B, where A is m×k, B is k×n and D is m×n, all of f32. All matrices are row-major; every size is at least 1.
/// Each element of D is computed by a chain of `fma` instructions in the order of k, so the results do not depend on the tile or the
/// divisor. Tensor cores are not used, because they multiply f32 with the precision of tf32.
///
/// ```
/// use warpwright::{kernels::{MatmulSimt, SimtTile}, prelude::*};
///
/// // On 132 multiprocessors, 32 tiles of 256×128 would leave 100 of them idle.
/// let simt = MatmulSimt::for_problem(Target::SM_90, [1000; 3], 132);
/// assert_eq!((simt.tile, simt.divisor), (SimtTile::T64x128, 4));
/// assert_eq!(simt.kernel(Target::SM_90)?.name(), "matmul_f32_64x128_by4");
/// # Ok::<(), BuildError>(())
/// ```
///
/// A block computes a tile of D from three stages of depth 32. Each thread loads the next two columns of its rows of A and the next two
/// rows of its columns of B while it multiplies the previous two.
#[doc(alias = "sgemm")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MatmulSimt {
    /// The tile of a block.
    pub tile: SimtTile,
    /// A number that divides both n and k of every launch, which the launch checks: 4 allows 16-byte copies, 2 allows 8-byte copies, and 1
    /// allows any sizes. [`pitch_divisor`](super::pitch_divisor) returns a valid divisor.
    pub divisor: u32,
}

impl MatmulSimt {
    /// Builds the kernel. Its name contains the tile and the divisor, as in `matmul_f32_256x128_by4`, or `matmul_f32_128x128` for any
    /// sizes.
    ///
    /// # Errors
    /// Returns an error if the target is older than sm_80, if the divisor is 0, or if [`SimtTile::all`] does not contain the tile.
    pub fn kernel(&self, target: Target) -> Result<Kernel<MatmulArgs<f32>>, BuildError> {
        let Self { tile, divisor } = *self;
        let suffix = if divisor == 1 { String::new() } else { format!("_by{divisor}") };
        let signature = format!("matmul_f32_{tile}{suffix}(a, b, d, m, n, k)");
        Kernel::<MatmulArgs<f32>>::build(&signature, target, |k, (a, b, d, m, n, depth)| {
            let problem = Problem::new(k, "A m×k, B k×n, D m×n (f32)", [a, b], d, [m, n, depth], divisor);
            if SimtTile::all(target, divisor).all(|supported| supported != tile) {
                return k.refuse(format!(
                    "expected a divisor of 4 and a target with 160 KiB of shared memory per block for tiles of {tile}, found {divisor} and {target}"
                ));
            }
            match tile {
                //                                   M   N  rows and columns of warps
                SimtTile::T256x128 => problem.emit::<16, 8, 4, 2>(),
                SimtTile::T128x128 => problem.emit::<8, 8, 4, 2>(),
                SimtTile::T128x64 => problem.emit::<8, 4, 4, 1>(),
                SimtTile::T64x128 => problem.emit::<4, 8, 4, 2>(),
                SimtTile::T64x64 => problem.emit::<4, 4, 4, 1>(),
                SimtTile::T32x64 => problem.emit::<2, 4, 2, 1>(),
            }
        })
    }
}

/// The subtiles of a stage along k.
const DEPTH: usize = 2;
/// The depth that a thread loads at a time.
const STEP: usize = 2;
/// The stages.
const STAGES: usize = 3;
/// The lanes of a warp along m and along n.
const LANES: [usize; 2] = [4, 8];
/// The adjacent columns of a thread.
const ADJACENT: usize = 4;

/// A stage: a tile of A and one of B.
type Tiles<'k, const M: usize, const N: usize> = (St<'k, f32, M, DEPTH>, St<'k, f32, DEPTH, N>);

impl<'k> Problem<'k, f32> {
    /// Emits the product in tiles of `M`×`N` subtiles, which `R`×`C` warps compute.
    fn emit<const M: usize, const N: usize, const R: usize, const C: usize>(&self) {
        let Self { k, a, b, d, size: [m, n, depth] } = self;
        let [height, width, deep] = [M, N, DEPTH].map(|subtiles| 16 * subtiles as u32);
        let thread = k.block([32 * (R * C) as u32]).thread();
        k.grid([m.tiles(height) * n.tiles(width)]);
        // Blocks that run at the same time share rows of A and columns of B in the level-2 cache.
        let (bi, bj) = Schedule::grouped(8).emit(k.ctaid_x(), m.ceil_div(height), n.ceil_div(width));

        let share = Share::new([M, N], [R, C]);
        let [of_a, of_b, of_d] = share.parts().map(|part| k.layout(&part));
        let sums = k.fragment::<f32>(&in_order((share.rows * share.cols) as i64));
        fill(&sums, 0.0);
        k.pipeline::<Tiles<'k, M, N>, STAGES>().run_sliced(
            depth.ceil_div(deep),
            deep / STEP as u32,
            (),
            |i, stage: Stage<'k, _>| stage.fill((a.tile(bi, i), b.tile(i, bj))),
            |(a, b), step| {
                [(a.tensor(), &of_a), (b.tensor(), &of_b)].map(|(tile, part)| own(&tile, part, thread, step))
            },
            |(), [a, b]| share.multiply(*k, &sums, a, b),
        );
        let tile = d.tensor().local_tile((height, width), (bi, bj));
        copy(&tile.part_of(&of_d, thread), &sums);
    }
}

/// The elements of a tile of D that a thread computes.
#[derive(Clone, Copy)]
struct Share {
    /// The rows and columns of a thread.
    rows: usize,
    cols: usize,
    /// The rows and columns of warps.
    warps: [usize; 2],
}

impl Share {
    /// Returns the share of a thread in a tile of `height`×`width` subtiles, which `rows`×`cols` warps compute.
    fn new([height, width]: [usize; 2], warps @ [rows, cols]: [usize; 2]) -> Self {
        Self { rows: 16 * height / (LANES[0] * rows), cols: 16 * width / (LANES[1] * cols), warps }
    }

    /// Returns the (thread, value) layouts of a stage of A, a stage of B and a tile of D, whose elements are numbered by columns. The
    /// values are columns of a step, rows and steps for A; columns, rows of a step and steps for B; and columns and rows for D.
    ///
    /// The lanes of a warp read adjacent rows of A and groups of four columns of B, which are in different banks.
    fn parts(self) -> [String; 3] {
        let Self { rows, cols, warps: [warp_rows, warp_cols] } = self;
        let [lane_rows, lane_cols] = LANES;
        let (apart, groups) = (lane_rows * warp_rows, cols / ADJACENT);
        let (height, deep, steps) = (apart * rows, 16 * DEPTH, 16 * DEPTH / STEP);
        let threads = format!("({lane_cols},{lane_rows},{warp_rows},{warp_cols})");
        // The columns between groups of a thread, and between warps.
        let (group, warp) = (lane_cols * ADJACENT, lane_cols * cols);
        [
            format!(
                "({threads},({STEP},{rows},{steps})):((0,1,{lane_rows},0),({height},{apart},{}))",
                STEP * height
            ),
            format!(
                "({threads},(({ADJACENT},{groups}),{STEP},{steps})):(({},0,0,{}),(({deep},{}),1,{STEP}))",
                ADJACENT * deep,
                warp * deep,
                group * deep
            ),
            format!(
                "({threads},(({ADJACENT},{groups}),{rows})):(({},1,{lane_rows},{}),(({height},{}),{apart}))",
                ADJACENT * height,
                warp * height,
                group * height
            ),
        ]
    }

    /// Adds the products of a step.
    ///
    /// Sums are visited in squares of four, in rows back and forth: each multiply-add has a factor in common with the preceding one, so
    /// that this factor is not read from the register file again.
    #[track_caller]
    fn multiply<'k>(self, k: Builder<'k>, sums: &Fragment<'k, f32>, a: &[Val<'k, f32>], b: &[Val<'k, f32>]) {
        let Self { rows, cols, .. } = self;
        let [a, b] = [a, b].map(|factor| factor.iter().map(|x| [x.in_register(k)]).collect::<Vec<_>>());
        let sums: Vec<_> = sums.all_registers().chunks(cols).collect();
        for step in 0..STEP {
            for row in (0..rows).step_by(2) {
                for col in (0..cols).step_by(2) {
                    let col = if row % 4 == 0 { col } else { cols - 2 - col };
                    for (row, col) in [(row, col), (row + 1, col), (row + 1, col + 1), (row, col + 1)] {
                        let sum = [sums[row][col]];
                        k.product_of_words(
                            "fma.rn.f32",
                            true,
                            [&sum, &a[STEP * row + step], &b[cols * step + col], &sum],
                        );
                    }
                }
            }
        }
    }
}

/// Loads a thread's elements of a tile for a step.
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
