//! Groups of any number of rows, each with its own B.

use super::{
    Gemm, GemmResult, GemmSum, MatrixOrder,
    problem::{Batches, Matrices, Problem},
};
use crate::{
    ptx::{BuildError, Builder, In, Kernel, Out, Read, Val},
    tensor::TensorElement,
    tiles::{Convert, Gl, Product, vector},
};

/// The arguments of the kernel that [`Gemm::ragged_kernel`] builds: `(a, lda, b, ldb, b_batch_stride, d, ldd, offsets, groups, m, n, k)`.
/// There are `groups` B matrices, whose first elements are `b_batch_stride` elements apart. `offsets` has `groups` + 1 elements: the index
/// of the first row of each group in A and D, followed by the end of the last group. See [`GemmArgs`](super::GemmArgs) for the other
/// arguments.
pub type RaggedGemmArgs<T, D> = (In<T>, u32, In<T>, u32, u32, Out<D>, u32, In<u32>, u32, u32, u32, u32);

/// The groups of a launch.
///
/// Rows of tiles are numbered such that group g starts at number ⌊offsets[g] / height⌋ + g. Every group has at least as many numbers as
/// rows of tiles, and at most one additional number, which has no rows. The group of a number is found by bisection, without a table of
/// tiles.
pub(super) struct RaggedGroups<'k> {
    pub(super) k: Builder<'k>,
    /// The first row of each group, followed by the end of the last group.
    pub(super) offsets: Gl<'k, u32, Read, 1>,
    pub(super) count: Val<'k, u32>,
}

/// The rows of a group that a row of tiles covers.
#[derive(Clone, Copy)]
pub(super) struct RaggedRows<'k> {
    pub(super) group: Val<'k, u32>,
    pub(super) first: Val<'k, u32>,
    /// The number of rows from the first one to the end of the group.
    pub(super) count: Val<'k, u32>,
}

impl<'k> RaggedRows<'k> {
    /// Returns whether there is at least one row.
    #[track_caller]
    pub(super) fn any(&self) -> Val<'k, bool> {
        self.count.gt(0)
    }
}

impl<'k> RaggedGroups<'k> {
    /// Returns the rows that row `number` of tiles covers; tiles have `height` rows.
    #[track_caller]
    pub(super) fn rows(&self, number: Val<'k, u32>, height: u32) -> RaggedRows<'k> {
        let offset = |group: Val<'k, u32>| self.offsets.at(group).load_or(0);
        let start = |group: Val<'k, u32>| offset(group) / height + group;
        // The group is in low..high; there are at most 2^bisections groups.
        let bisections = 32 - self.count.leading_zeros();
        let (group, _) = self.k.fold(bisections, (Val::from(0), self.count), |_, (low, high)| {
            let middle = (low + high) >> 1;
            let is_above = start(middle).gt(number);
            (is_above.select(low, middle), is_above.select(middle, high))
        });
        let (begin, end) = (offset(group), offset(group + 1));
        let (rows, tile) = (end.max(begin) - begin, number - start(group));
        // Rows before the first group do not belong to a group.
        let has_rows = start(group).le(number) & tile.lt(rows.ceil_div(height));
        let skipped = tile * height;
        RaggedRows { group, first: begin + skipped, count: has_rows.select(rows - skipped, 0) }
    }
}

impl Gemm {
    /// Builds the kernel that multiplies groups of rows of A by different B matrices, as in a mixture of experts: rows
    /// `offsets[g]..offsets[g + 1]` of A are multiplied by B matrix g. A group may have any number of rows, including 0. The kernel reads
    /// `offsets` from device memory; its elements must be in ascending order. Rows of D outside all groups are not written. D is stored by
    /// threads, as with [`any_ldd`](Self::any_ldd). Tiles larger than 128×128 are replaced with 128×128 tiles, because their sums leave too
    /// few registers for these stores.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel). Also returns an error for a column-major A, for clusters that span several rows
    /// of tiles, and for `parts` other than 1.
    #[doc(alias = "MoE")]
    pub fn ragged_kernel<T, C, D>(&self) -> Result<Kernel<RaggedGemmArgs<T, D>>, BuildError>
    where
        T: TensorElement + Product<T, C>,
        C: GemmSum + Convert<D> + Convert<f32>,
        D: GemmResult,
    {
        let gemm = Self { any_ldd: true, ..self.of_128x128() };
        let name = gemm.name::<T, D>("_ragged");
        let signature = format!("{name}(a, lda, b, ldb, b_batch_stride, d, ldd, offsets, groups, m, n, k)");
        Kernel::<RaggedGemmArgs<T, D>>::build(&signature, self.target, |k, parameters| {
            let (a, lda, b, ldb, b_batch_stride, d, ldd, offsets, groups, m, n, length) = parameters;
            if gemm.a == MatrixOrder::Col {
                return k.refuse(
                    "expected row-major A for groups of any number of rows, found column-major A".into(),
                );
            }
            if gemm.parts != 1 {
                return k.refuse(format!(
                    "expected one part per tile for groups of any number of rows, found {}",
                    gemm.parts
                ));
            }
            gemm.declare_divisors::<T, D>([m, n, length], [lda, ldb, ldd]);
            gemm.declare_distances::<T, D>([0.into(), b_batch_stride, 0.into()]);
            gemm.emit::<T, C, D>(Problem {
                k,
                gemm,
                a: Matrices::one(a, gemm.a.extents(m, length), lda),
                b: Matrices::many(b, gemm.b.extents(length, n), ldb, (groups, b_batch_stride)),
                d: Matrices::one(d, [m, n], ldd),
                size: [m, n, length],
                batches: Batches::Ragged(RaggedGroups {
                    k,
                    offsets: k.global(offsets, vector(groups + 1)),
                    count: groups,
                }),
                gated: false,
                epilogue: None,
            });
        })
    }
}
