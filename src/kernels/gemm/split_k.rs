//! Split-K: products with few tiles, whose sums over k are divided among blocks that store partial sums in device memory, and the kernel
//! that adds the partial sums.

use super::{
    Epilogue, Gemm, GemmResult, GemmSum, GemmTile, GpuKind, MatrixOrder,
    activation::activated,
    model::Work,
    problem::{Batches, Matrices, Problem},
};
use crate::{
    ptx::{BuildError, Element, Features, In, Kernel, Out},
    tensor::TensorElement,
    tiles::{Convert, Product, Rt, contiguous, row_major},
};

/// The arguments of the kernel that [`Gemm::partial_kernel`] builds: `(a, lda, b, ldb, partials, ld, partial_stride, m, n, k, parts)`.
/// `partials` receives `parts` row-major m×n matrices of partial sums. `partial_stride` is the distance between their first elements, and
/// `ld` is the stride between their rows, both in elements. See [`GemmArgs`](super::GemmArgs) for the other arguments.
pub type PartialGemmArgs<T, C> = (In<T>, u32, In<T>, u32, Out<C>, u32, u32, u32, u32, u32, u32);

/// The arguments of the kernel that [`Gemm::sum_kernel`] builds:
/// `(partials, ld, partial_stride, parts, d, ldd, m, n, alpha, beta, c, ldc, bias, row_scales, col_scales)`. See [`PartialGemmArgs`] for
/// `partials`, `ld`, `partial_stride` and `parts`, and [`FusedGemmArgs`](super::FusedGemmArgs) for the other arguments.
pub type SplitKSumArgs<C, D> =
    (In<C>, u32, u32, u32, Out<D>, u32, u32, u32, f32, f32, In<D>, u32, In<f32>, In<f32>, In<f32>);

/// In the kernel that adds partial sums, the number of columns of subtiles per warp (`COLS`) and the number of warps per block (`WARPS`).
const COLS: usize = 2;
const WARPS: u32 = 4;
/// The number of partial sums that a thread loads before it adds the first one.
const AT_ONCE: usize = 4;

impl Gemm {
    /// Builds the first of the two kernels of a split-K product. The kernel divides the sum over k into any number of parts, computes them
    /// independently, and stores the partial sums in device memory. The second kernel, which [`sum_kernel`](Self::sum_kernel) builds, adds
    /// the partial sums and applies the activation. Unlike a division into [`parts`](Self::parts), this division does not require clusters.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel). Also returns an error for clusters that span several rows of tiles. The
    /// activation is not checked, because this kernel does not apply it.
    #[doc(alias = "split-K")]
    pub fn partial_kernel<T, C>(&self) -> Result<Kernel<PartialGemmArgs<T, C>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + GemmResult + Convert<C>,
    {
        let gemm = Self { activation: None, ..*self };
        let name = gemm.name::<T, C>("_partial");
        let signature = format!("{name}(a, lda, b, ldb, partials, ld, partial_stride, m, n, k, parts)");
        Kernel::<PartialGemmArgs<T, C>>::build(&signature, self.target, |k, parameters| {
            let (a, lda, b, ldb, partials, ld, partial_stride, m, n, length, parts) = parameters;
            gemm.declare_divisors::<T, C>([m, n, length], [lda, ldb, ld]);
            gemm.declare_distances::<T, C>([0.into(), 0.into(), partial_stride]);
            gemm.emit::<T, C, C>(Problem {
                k,
                gemm,
                a: Matrices::one(a, gemm.a.extents(m, length), lda),
                b: Matrices::one(b, gemm.b.extents(length, n), ldb),
                d: Matrices::many(partials, [m, n], ld, (parts, partial_stride)),
                size: [m, n, length],
                batches: Batches::SplitK(parts),
                gated: false,
                epilogue: None,
            });
        })
    }

    /// Builds the kernel that adds the partial sums of [`partial_kernel`](Self::partial_kernel), applies the epilogue and the activation,
    /// and stores the results. The partial sums are added in order, so results are reproducible. The stride between rows of D may have any
    /// value.
    ///
    /// # Errors
    /// Returns an error if all fields of the epilogue are `false` and the type of the sums does not support the activation. All other
    /// epilogues are computed in f32, which supports all activations. Also returns an error if the target does not support the type of D:
    /// bf16 and tf32 require sm_80 or later, and e4m3 and e5m2 require sm_89 or later.
    pub fn sum_kernel<C, D>(&self, epilogue: Epilogue) -> Result<Kernel<SplitKSumArgs<C, D>>, BuildError>
    where
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
        f32: Convert<D>,
    {
        let function = self.activation.map(|function| format!("_{function}")).unwrap_or_default();
        let is_fused = epilogue != Epilogue::default();
        let suffix = if is_fused { epilogue.suffix() } else { String::new() };
        let name = format!("gemm_sum_{}_{}{suffix}{function}", C::NAME, D::NAME);
        let signature = format!(
            "{name}(partials, ld, partial_stride, parts, d, ldd, m, n, alpha, beta, c, ldc, bias, row_scales, col_scales)"
        );
        Kernel::<SplitKSumArgs<C, D>>::build(&signature, self.target, |k, parameters| {
            let (partials, ld, partial_stride, parts, d, ldd, m, n, alpha, beta, c, ldc, bias, rows, cols) =
                parameters;
            k.describe(format!("D = sum of partial products ({}), D m×n row-major ({})", C::NAME, D::NAME));
            if let Some(function) = self.activation.filter(|&function| !is_fused && !C::has(function)) {
                return k.refuse(format!("expected an activation of {}, found {function}", C::NAME));
            }
            k.block([32 * WARPS]);
            // Rows of tiles are along x, because a grid may have more blocks along x.
            k.grid((m.tiles(16), n.tiles(16 * COLS as u32 * WARPS)));
            if k.target().features().contains(Features::HOPPER) {
                k.programmatic_launch();
            }
            let operands = epilogue.operands((alpha, beta, c, ldc, bias, rows, cols), [m, n]);
            let matrices = contiguous([parts, m, n]).with_strides([partial_stride, ld, 1.into()]);
            let partials = k.global(partials, matrices);
            let d = k.global(d, row_major(m, n).with_row_stride(ldd));
            let (_, warp) = k.warp_grid(1, WARPS);
            let (row, col) = (k.ctaid_x(), k.ctaid_y() * WARPS + warp);

            // Loads past the last part return zero.
            let rounds = parts.ceil_div(AT_ONCE as u32);
            let sum = k.fold(rounds, k.zeros::<Rt<C, 1, COLS>>(), |round, sum| {
                let part = |i| round * AT_ONCE as u32 + i as u32;
                let loaded: [Rt<C, 1, COLS>; AT_ONCE] =
                    std::array::from_fn(|i| partials.batch(part(i)).tile(row, col).load());
                loaded.iter().fold(sum, |sum, part| sum + part)
            });
            let to = d.tile(row, col);
            if is_fused {
                to.store(&activated(self.activation, operands.applied(&sum, [row, col])));
            } else {
                to.store(&activated(self.activation, sum));
            }
        })
    }
}

/// A split-K product: the kernel that computes the partial sums, and the number of parts into which the sum over k is divided.
///
/// ```
/// use warpwright::{kernels::{SplitKGemm, GpuKind, MatrixOrder}, prelude::*};
///
/// // A 16×1024 result consists of 16 tiles, which leave most multiprocessors of an H100 idle.
/// let gpu = GpuKind { name: "NVIDIA H100 80GB HBM3".into(), capability: (9, 0), multiprocessors: 132 };
/// let (a, b) = (MatrixOrder::Row, MatrixOrder::Col);
/// let split = SplitKGemm::for_problem::<bf16>(a, b, [16, 1024, 8192], &gpu);
/// assert!(split.is_some_and(|split| split.parts > 2));
/// assert_eq!(SplitKGemm::for_problem::<bf16>(a, b, [4096; 3], &gpu), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SplitKGemm {
    /// The kernel that computes the partial sums, which [`Gemm::partial_kernel`] builds.
    pub gemm: Gemm,
    /// The number of parts into which the sum over k is divided.
    pub parts: u32,
}

/// The maximum number of parts.
const MOST_PARTS: u32 = 16;
/// The minimum number of elements along k in a part; with fewer, filling the stages takes longer than the products.
const LEAST_DEPTH: u32 = 512;
/// The time in microseconds of the kernel that adds partial sums; its launch overlaps with the end of the products.
const SUM: f64 = 2.8;
/// The bandwidth of writes and reads of partial sums in the L2 cache, in bytes per microsecond.
const CACHE_BANDWIDTH: f64 = 2.6e6;

impl SplitKGemm {
    /// Returns the kernel and the number of parts for the product of an m×k matrix in order `a` and a k×n matrix in order `b`, where `size`
    /// is `[m, n, k]`. The elements of the matrices have type `T`. Returns `None` if the sum over k should not be divided. There are at
    /// most 16 parts, and at most one for every 512 elements along k.
    ///
    /// On GPUs of compute capability 9.0, the sum over k is divided if the model of [`Gemm::for_problem`] predicts that this takes less
    /// time than the fastest single kernel, including the time to write, read and add the partial sums. On other GPUs of compute capability
    /// 8.0 or later, the sum is divided if k is at least 1024 and the result has at most as many 64×64 tiles as the GPU has
    /// multiprocessors. The number of parts is then the largest one, within the limits above, for which there are at most two blocks per
    /// multiprocessor.
    #[must_use]
    pub fn for_problem<T: Element>(
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
        gpu: &GpuKind,
    ) -> Option<Self> {
        let target = Gemm::target_of(gpu.capability);
        let most = MOST_PARTS.min(size[2] / LEAST_DEPTH);
        if target.features().contains(Features::WGMMA) {
            return Self::estimated(a, b, size, T::SIZE, gpu.multiprocessors, most);
        }
        let [m, n, _] = size;
        let tile = GemmTile::T64x64;
        let parts = (2 * u64::from(gpu.multiprocessors) / tile.count(m, n).max(1)).min(most.into()) as u32;
        let gemm = Gemm { a, b, ..Gemm::of_target(target, tile) };
        (parts > 1 && target.features().contains(Features::AMPERE)).then_some(Self { gemm, parts })
    }

    /// Returns the fastest division into at most `most` parts. Returns `None` if no division is faster than the fastest single kernel.
    fn estimated(
        a: MatrixOrder,
        b: MatrixOrder,
        size: [u32; 3],
        bytes: u32,
        multiprocessors: u32,
        most: u32,
    ) -> Option<Self> {
        let [m, n, _] = size;
        let candidates = || Gemm::candidates(Gemm::new(GemmTile::T64x64).target, a, b, m);
        let micros = |gemm: &Gemm, work| gemm.estimated_micros(work, bytes, multiprocessors);
        let singles = candidates().filter_map(|gemm| micros(&gemm, Work::products(size, 1)));
        let single = singles.min_by(f64::total_cmp)?;
        let timed = |gemm, parts| {
            let products = micros(&gemm, Work::split_k(size, parts))?;
            let partials = 2.0 * 4.0 * f64::from(parts) * f64::from(m) * f64::from(n);
            Some((products + SUM + partials / CACHE_BANDWIDTH, Self { gemm, parts }))
        };
        let whole = candidates().filter(|gemm| gemm.cluster == [1, 1] && gemm.parts == 1);
        let split = whole.flat_map(|gemm| (2..=most).filter_map(move |parts| timed(gemm, parts)));
        let (time, fastest) = split.min_by(|(x, _), (y, _)| x.total_cmp(y))?;
        (time < single).then_some(fastest)
    }
}
