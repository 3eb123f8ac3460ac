//! Matrix product of f32 with fused multiply-adds, for any sizes.

use super::matmul::{MatmulArgs, Problem};
use crate::{
    layout::Layout,
    ptx::{BuildError, Builder, Kernel, Read, Scalar, Shared, Target, Val},
    tensor::{Fragment, Tensor, copy, fill, in_order, words_of},
    tiles::{Schedule, St, Stage},
};

/// Builds the kernel of D = A·B, where A is m×k, B is k×n and D is m×n, of f32. All matrices are row-major, and each size is at least 1.
/// Each element of D is computed by a chain of `fma` in the order of k. Tensor cores are not used, because they multiply f32 with the
/// precision of tf32.
///
/// `divisor` must divide both n and k of every launch, which the launch checks: 4 allows 16-byte copies, 2 allows 8-byte copies, and 1
/// allows any sizes. [`pitch_divisor`](super::pitch_divisor) computes the divisor.
///
/// The kernel is named `matmul_f32`, or `matmul_f32_by4` for a divisor of 4.
///
/// A block of 256 threads computes a tile of D from three stages of depth 32. The tile is 256×128 if 4 divides `divisor` and the target has
/// 160 KiB of shared memory per block, and 128×128 otherwise. Each thread owns 16×8 or 8×8 elements of the tile. It loads the next two
/// columns of its rows of A and the next two rows of its columns of B while it multiplies the previous two.
///
/// # Errors
/// Returns an error if the target is older than sm_80.
#[doc(alias = "sgemm")]
pub fn matmul_simt(target: Target, divisor: u32) -> Result<Kernel<MatmulArgs<f32>>, BuildError> {
    let suffix = if divisor == 1 { String::new() } else { format!("_by{divisor}") };
    let signature = format!("matmul_f32{suffix}(a, b, d, m, n, k)");
    Kernel::<MatmulArgs<f32>>::build(&signature, target, |k, (a, b, d, m, n, depth)| {
        let problem = Problem::new(k, "A m×k, B k×n, D m×n (f32)", [a, b], d, [m, n, depth], divisor);
        // Copies of fewer than 16 bytes take more registers.
        if divisor.is_multiple_of(4) && target.max_shared_bytes() >= 160 << 10 {
            problem.emit_simt::<16>();
        } else {
            problem.emit_simt::<8>();
        }
    })
}

/// The subtiles of a tile of D along n, and the columns of a thread.
const N: usize = 8;
/// The subtiles of a stage along k.
const DEPTH: usize = 2;
/// The depth that a thread loads at a time.
const STEP: usize = 2;
/// The stages.
const STAGES: usize = 3;

/// A stage: a tile of A and one of B.
type Tiles<'k, const M: usize> = (St<'k, f32, M, DEPTH>, St<'k, f32, DEPTH, N>);

impl<'k> Problem<'k, f32> {
    /// Emits the product in tiles of `M` subtiles along m, of which a thread has as many rows.
    fn emit_simt<const M: usize>(&self) {
        let Self { k, a, b, d, size: [m, n, depth] } = self;
        let [height, width, deep] = [M, N, DEPTH].map(|subtiles| 16 * subtiles as u32);
        let thread = k.block([256]).thread();
        k.grid([m.tiles(height) * n.tiles(width)]);
        // Blocks that run at the same time share rows of A and columns of B in the level-2 cache.
        let (bi, bj) = Schedule::grouped(8).emit(k.ctaid_x(), m.ceil_div(height), n.ceil_div(width));

        let [of_a, of_b, of_d] = parts(M).map(|part| k.layout(&part));
        let sums = k.fragment::<f32>(&in_order((M * N) as i64));
        fill(&sums, 0.0);
        k.pipeline::<Tiles<'k, M>, STAGES>().run_sliced(
            depth.ceil_div(deep),
            deep / STEP as u32,
            (),
            |i, stage: Stage<'k, _>| stage.fill((a.tile(bi, i), b.tile(i, bj))),
            |(a, b), step| {
                [(a.tensor(), &of_a), (b.tensor(), &of_b)].map(|(tile, part)| own(&tile, part, thread, step))
            },
            |(), [a, b]| multiply(*k, &sums, a, b),
        );
        let tile = d.tensor().local_tile((height, width), (bi, bj));
        copy(&tile.part_of(&of_d, thread), &sums);
    }
}

/// Returns the layouts (thread, value) of a stage of A, of one of B, and of a tile of D, whose elements are numbered by columns. Values are, of A,
/// columns of a step, rows and steps; of B, columns, rows of a step and steps; of D, columns and rows.
///
/// The threads are 8 lanes along n, 4 lanes along m, 4 warps along m and 2 along n. The lanes of a warp read adjacent rows of A and groups of four
/// columns of B, which are in different banks.
fn parts(m: usize) -> [String; 3] {
    let (height, deep) = (16 * m, 16 * DEPTH);
    let steps = deep / STEP;
    [
        format!("((8,4,4,2),({STEP},{m},{steps})):((0,1,4,0),({height},16,{}))", STEP * height),
        format!(
            "((8,4,4,2),((4,2),{STEP},{steps})):(({},0,0,{}),(({deep},{}),1,{STEP}))",
            4 * deep,
            32 * deep,
            64 * deep
        ),
        format!(
            "((8,4,4,2),((4,2),{m})):(({},1,4,{}),(({height},{}),16))",
            4 * height,
            32 * height,
            64 * height
        ),
    ]
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

/// Adds the products of a step.
///
/// Sums are visited in squares of four, in rows back and forth: each multiply-add has a factor in common with the one before, which is then not
/// read from the register file again.
#[track_caller]
fn multiply<'k>(k: Builder<'k>, sums: &Fragment<'k, f32>, a: &[Val<'k, f32>], b: &[Val<'k, f32>]) {
    let [a, b] = [a, b].map(|factor| factor.iter().map(|x| [x.in_register(k)]).collect::<Vec<_>>());
    let sums: Vec<_> = sums.all_registers().chunks(N).collect();
    for step in 0..STEP {
        for row in (0..sums.len()).step_by(2) {
            for col in (0..N).step_by(2) {
                let col = if row % 4 == 0 { col } else { N - 2 - col };
                for (row, col) in [(row, col), (row + 1, col), (row + 1, col + 1), (row, col + 1)] {
                    let sum = [sums[row][col]];
                    k.product_of_words(
                        "fma.rn.f32",
                        true,
                        [&sum, &a[STEP * row + step], &b[N * step + col], &sum],
                    );
                }
            }
        }
    }
}
