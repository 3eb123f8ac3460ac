//! Matrix product on tensor cores with `mma.sync`, for any sizes, sm_80 and later.

use crate::{
    ptx::{BuildError, In, Kernel, Out, Target, traits::HalfPair},
    tensor::TensorElement,
    tiles::{Col, Product, Row, Rt, St, row_major},
};

/// `(a, b, d, m, n, k)`: A m×k, B k×n, D m×n, all row-major.
pub type MatmulArgs<T> = (In<T>, In<T>, Out<f32>, u32, u32, u32);

/// D = A·B for A m×k and B k×n of `T` (bf16 or f16), D m×n of f32, all row-major, each size at least 1; accumulates in f32.
///
/// `divisor` must divide both n and k of every launch, which the launch checks: 8 allows copies of 16 bytes, 4 of 8, 2 of 4,
/// and 1 allows any sizes with element-wise copies ([`pitch_divisor`] computes it).
///
/// The kernel is named `matmul_bf16`, or `matmul_bf16_by8` for a divisor of 8.
///
/// A block of 2×2 warps computes a 128×128 tile of D from slices of depth 32 in three stages; each warp owns 64×64 in registers.
///
/// # Errors
/// If the target is older than sm_80.
pub fn matmul<T>(target: Target, divisor: u32) -> Result<Kernel<MatmulArgs<T>>, BuildError>
where
    T: TensorElement<Word: HalfPair> + Product<T, f32>,
{
    let suffix = if divisor == 1 { String::new() } else { format!("_by{divisor}") };
    let signature = format!("matmul_{}{suffix}(a, b, d, m, n, k)", T::NAME);
    Kernel::<MatmulArgs<T>>::build(&signature, target, |k, (a, b, d, m, n, depth)| {
        let sizes = if divisor == 1 { "any sizes".to_string() } else { format!("{divisor} divides n and k") };
        k.describe(format!("D = A·B: A m×k, B k×n ({}), D m×n (f32), row-major; {sizes}", T::NAME));
        k.block([128]);
        if divisor > 1 {
            // With asynchronous copies, register usage is low enough for ptxas to fit three blocks on a multiprocessor, by
            // loading fragments immediately before they are multiplied. With two blocks, all fragments of a stage are loaded
            // ahead.
            k.min_blocks(2);
        }
        k.grid([n.tiles(128), m.tiles(128)]);
        let (n, depth) = (n.multiple_of(divisor), depth.multiple_of(divisor));
        let a = k.global(a, row_major(m, depth));
        let b = k.global(b, row_major(depth, n));
        let d = k.global(d, row_major(m, n));
        let (bi, bj) = (k.ctaid_y(), k.ctaid_x());
        let (wi, wj) = k.warp_grid(2, 2);

        let stages = k.pipeline::<(St<T, 8, 2>, St<T, 2, 8>), 3>();
        let sum = stages.run(
            depth.ceil_div(32),
            k.zeros::<Rt<f32, 4, 4>>(),
            |i, stage| stage.fill((a.tile(bi, i), b.tile(i, bj))),
            |mut sum, (a, b)| {
                for step in 0..2 {
                    let a: Rt<T, 4, 1, Row> = a.subtile(wi * 4, step).load();
                    let b: Rt<T, 1, 4, Col> = b.subtile(step, wj * 4).load();
                    sum = sum.mma_ab(&a, &b);
                }
                sum
            },
        );
        d.tile(bi * 2 + wi, bj * 2 + wj).store(&sum);
    })
}

/// Returns the largest of 8, 4, 2 and 1 that divides both n and k: the `divisor` for a [`matmul`] of these sizes.
pub fn pitch_divisor(n: u32, k: u32) -> u32 {
    1 << (n | k).trailing_zeros().min(3)
}
