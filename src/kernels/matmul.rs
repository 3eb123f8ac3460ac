//! Matrix product on tensor cores with `mma.sync`, for any sizes, on sm_80 and later.

use crate::{
    ptx::{BuildError, Builder, Global, In, Kernel, Out, Ptr, Read, Target, Val, Write, traits::HalfPair},
    tensor::TensorElement,
    tiles::{Col, Filled, Gl, Product, Row, Rt, Schedule, St, Stage, row_major},
};

/// `(a, b, d, m, n, k)`: A is m×k, B is k×n, and D is m×n, all row-major.
pub type MatmulArgs<T> = (In<T>, In<T>, Out<f32>, u32, u32, u32);

/// Builds the kernel of D = A·B, where A is m×k and B is k×n, of `T` (bf16 or f16), and D is m×n, of f32. All matrices are row-major, and
/// each size is at least 1. Sums are f32.
///
/// `divisor` must divide both n and k of every launch, which the launch checks: 8 allows 16-byte copies, 4 allows 8-byte copies, 2 allows
/// 4-byte copies, and 1 allows any sizes, with elementwise copies. [`pitch_divisor`] computes the divisor.
///
/// The kernel is named `matmul_bf16`, or `matmul_bf16_by8` for a divisor of 8.
///
/// Each warp computes 64×64 elements of D in registers. If 8 divides `divisor` and the target has 160 KiB of shared memory per block, a
/// block of 2×4 warps computes a 128×256 tile of D from three stages of depth 64; otherwise, a block of 2×2 warps computes a 128×128 tile
/// from stages of depth 32.
///
/// # Errors
/// Returns an error if the target is older than sm_80.
pub fn matmul<T>(target: Target, divisor: u32) -> Result<Kernel<MatmulArgs<T>>, BuildError>
where
    T: TensorElement<Word: HalfPair> + Product<T, f32>,
{
    let suffix = if divisor == 1 { String::new() } else { format!("_by{divisor}") };
    let signature = format!("matmul_{}{suffix}(a, b, d, m, n, k)", T::NAME);
    Kernel::<MatmulArgs<T>>::build(&signature, target, |k, (a, b, d, m, n, depth)| {
        let factors = format!("A m×k, B k×n ({}), D m×n (f32)", T::NAME);
        let problem = Problem::new(k, &factors, [a, b], d, [m, n, depth], divisor);
        if divisor.is_multiple_of(8) && target.max_shared_bytes() >= 160 << 10 {
            problem.emit::<8, 16, 4, 3>(true);
        } else {
            // Copies of single elements pass through registers, which leaves too few for fragments of two slices.
            problem.emit::<8, 8, 2, 3>(divisor > 1);
        }
    })
}

/// The row-major matrices of a product.
pub(super) struct Problem<'k, T: TensorElement> {
    pub(super) k: Builder<'k>,
    pub(super) a: Gl<'k, T, Read>,
    pub(super) b: Gl<'k, T, Read>,
    pub(super) d: Gl<'k, f32, Write>,
    /// m, n and k.
    pub(super) size: [Val<'k, u32>; 3],
}

impl<'k, T: TensorElement> Problem<'k, T> {
    /// Describes the kernel of a product of these `matrices`, whose n and k `divisor` must divide.
    #[track_caller]
    pub(super) fn new(
        k: Builder<'k>,
        matrices: &str,
        [a, b]: [Ptr<'k, T, Global, Read>; 2],
        d: Ptr<'k, f32, Global, Write>,
        [m, n, depth]: [Val<'k, u32>; 3],
        divisor: u32,
    ) -> Self {
        let sizes = if divisor == 1 { "any sizes".to_string() } else { format!("{divisor} divides n and k") };
        k.describe(format!("D = A·B: {matrices}, row-major; {sizes}"));
        if divisor == 0 {
            k.refuse("expected a divisor of n and k, found 0".into());
        }
        let (n, depth) = (n.multiple_of(divisor), depth.multiple_of(divisor));
        Self {
            k,
            a: k.global(a, row_major(m, depth)),
            b: k.global(b, row_major(depth, n)),
            d: k.global(d, row_major(m, n)),
            size: [m, n, depth],
        }
    }
}

impl<'k, T: TensorElement<Word: HalfPair> + Product<T, f32>> Problem<'k, T> {
    /// Emits the product in tiles of `M`×`N` subtiles, from `STAGES` stages of depth `K` subtiles. Each warp computes 4×4 subtiles. If `ahead`, it
    /// loads the fragments of the next subtile's depth while it multiplies, and stores results in accesses of 16 bytes.
    fn emit<const M: usize, const N: usize, const K: usize, const STAGES: usize>(&self, ahead: bool) {
        let Self { k, a, b, d, size: [m, n, depth] } = self;
        let [rows, cols] = [M as u32 / 4, N as u32 / 4];
        k.block([32 * rows * cols]);
        let (height, width) = (16 * M as u32, 16 * N as u32);
        k.grid([m.tiles(height) * n.tiles(width)]);
        // Blocks that run at the same time share rows of A and columns of B in the level-2 cache.
        let (bi, bj) = Schedule::grouped(8).emit(k.ctaid_x(), m.ceil_div(height), n.ceil_div(width));
        let (wi, wj) = k.warp_grid(rows, cols);

        let stages = k.pipeline::<(St<T, M, K>, St<T, K, N>), STAGES>();
        let (steps, zeros) = (depth.ceil_div(16 * K as u32), k.zeros::<Rt<f32, 4, 4>>());
        let fill = |i, stage: Stage<'k, _>| stage.fill((a.tile(bi, i), b.tile(i, bj)));
        let load = |(a, b): &(Filled<St<'k, T, M, K>>, Filled<St<'k, T, K, N>>), slice| {
            let a: Rt<T, 4, 1, Row> = a.subtile(wi * 4, slice).load();
            let b: Rt<T, 1, 4, Col> = b.subtile(slice, wj * 4).load();
            (a, b)
        };
        let sum = if ahead {
            stages.run_sliced(steps, K as u32, zeros, fill, load, |sum, (a, b)| sum.mma_ab(a, b))
        } else {
            stages.run(steps, zeros, fill, |sum, tiles| {
                (0..K as u32).map(|slice| load(tiles, slice)).fold(sum, |sum, (a, b)| sum.mma_ab(&a, &b))
            })
        };

        if !ahead {
            d.tile(bi * rows + wi, bj * cols + wj).store(&sum);
            return;
        }
        // A warp's results leave through shared memory, in rows of 128 bytes.
        let mut staged = k.shared_tile_of::<St<f32, 1, 2>>(k.warp());
        for (i, j) in (0..4).flat_map(|i| [(i, 0), (i, 1)]) {
            let part = staged.store(&sum.subtile::<1, 2>(i, 2 * j)).wait();
            let (row, col) = ((bi * rows + wi) * 4 + i as u32, (bj * cols + wj) * 2 + j as u32);
            d.tile(row, col).store_shared(&part);
            staged = part.release();
        }
    }
}

/// Returns the largest of 8, 4, 2 and 1 that divides both n and k: the `divisor` for a [`matmul`] of these sizes.
pub fn pitch_divisor(n: u32, k: u32) -> u32 {
    1 << (n | k).trailing_zeros().min(3)
}
