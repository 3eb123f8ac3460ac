//! Matrix product on tensor cores with `mma.sync`, for matrices of any size, on sm_80 and later.

use super::gemm::product_of_rows;
use crate::{
    ptx::{BuildError, In, Kernel, Out, Target, traits::HalfPair},
    tensor::TensorElement,
    tiles::{Product, row_major},
};

/// The arguments of the kernel that [`matmul`] builds: `(a, b, d, m, n, k)`. A is m×k, B is k×n, and D is m×n, all row-major.
pub type MatmulArgs<T> = (In<T>, In<T>, Out<f32>, u32, u32, u32);

/// Builds the kernel that computes D = A·B. A is m×k and B is k×n, both with elements of type `T` (bf16 or f16); D is m×n with f32
/// elements. All matrices are row-major, and m, n and k must be at least 1. Sums are computed in f32.
///
/// `divisor` must divide both n and k, which is checked at every launch. Each copy moves 16 bytes if the divisor is 8, 8 bytes if it is 4,
/// and 4 bytes if it is 2. With a divisor of 1, n and k may have any value, but elements are copied one at a time. Use [`pitch_divisor`] to
/// compute the divisor.
///
/// The kernel's name contains the type and, unless the divisor is 1, the divisor, for example `matmul_bf16_by8`.
///
/// Each warp computes 64×64 elements of D in registers. If `divisor` is a multiple of 8 and the target has at least 160 KiB of shared
/// memory per block, a block of 2×4 warps computes a 128×256 tile of D with three stages, each 64 elements deep along k. Otherwise, a block
/// of 2×2 warps computes a 128×128 tile with three stages, each 32 elements deep.
///
/// # Errors
/// Returns an error if the target is older than sm_80, or if `divisor` is 0.
pub fn matmul<T>(target: Target, divisor: u32) -> Result<Kernel<MatmulArgs<T>>, BuildError>
where
    T: TensorElement<Word: HalfPair> + Product<T, f32>,
{
    let suffix = if divisor == 1 { String::new() } else { format!("_by{divisor}") };
    let signature = format!("matmul_{}{suffix}(a, b, d, m, n, k)", T::NAME);
    Kernel::<MatmulArgs<T>>::build(&signature, target, |k, (a, b, d, m, n, depth)| {
        let sizes = if divisor == 1 { "any sizes".to_string() } else { format!("{divisor} divides n and k") };
        k.describe(format!("D = A·B: A m×k, B k×n ({}), D m×n (f32), row-major; {sizes}", T::NAME));
        if divisor == 0 {
            k.refuse("expected a divisor of n and k, found 0".into());
        }
        let (n, depth) = (n.multiple_of(divisor), depth.multiple_of(divisor));
        let [a, b] = [&k.global(a, row_major(m, depth)), &k.global(b, row_major(depth, n))];
        let (d, size) = (&k.global(d, row_major(m, n)), [m, n, depth]);
        if divisor.is_multiple_of(8) && target.max_shared_bytes() >= 160 << 10 {
            product_of_rows::<T, 8, 16, 4>(k, [a, b], d, size, true);
        } else {
            // Copies of single elements pass through registers, which leaves too few for fragments of two slices.
            product_of_rows::<T, 8, 8, 2>(k, [a, b], d, size, divisor > 1);
        }
    })
}

/// Returns the `divisor` for a [`matmul`] with the given sizes: the largest of 8, 4, 2 and 1 that divides both n and k.
pub fn pitch_divisor(n: u32, k: u32) -> u32 {
    1 << (n | k).trailing_zeros().min(3)
}
