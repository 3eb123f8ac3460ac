//! Reductions of rows.

use super::{
    RowTiling,
    extremum::{max_or_nan, min_or_nan},
};
use crate::{
    ptx::{BuildError, Builder, In, Kernel, Out, Target, Val},
    tiles::Convert,
};

/// The arguments of the kernel that [`RowReduction::kernel`] builds: `(x, ldx, y, m, n)`. x is m×n, with a row pitch of `ldx` elements; y
/// has m elements.
pub type RowReductionArgs<X> = (In<X>, u32, Out<f32>, u32, u32);

/// A function that reduces the elements of a row or column to one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reduction {
    /// The sum.
    Sum,
    /// The sum, divided by the number of elements.
    Mean,
    /// The maximum; NaN if any element is NaN, and −∞ if there are no elements.
    Max,
    /// The minimum; NaN if any element is NaN, and ∞ if there are no elements.
    Min,
    /// √(Σ x²).
    #[doc(alias = "L2 norm")]
    Norm,
}

impl Reduction {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Mean => "mean",
            Self::Max => "max",
            Self::Min => "min",
            Self::Norm => "norm",
        }
    }

    /// Returns the identity element of [`combine`](Self::combine).
    pub(super) const fn neutral(self) -> f32 {
        match self {
            Self::Sum | Self::Mean | Self::Norm => 0.0,
            Self::Max => f32::NEG_INFINITY,
            Self::Min => f32::INFINITY,
        }
    }

    /// Returns the contribution of an element, to which [`combine`](Self::combine) is applied.
    #[track_caller]
    pub(super) fn term(self, x: Val<'_, f32>) -> Val<'_, f32> {
        if self == Self::Norm { x * x } else { x }
    }

    /// Returns the function that combines two results.
    pub(super) fn combine<'k>(self) -> impl Fn(Val<'k, f32>, Val<'k, f32>) -> Val<'k, f32> {
        move |a, b| match self {
            Self::Sum | Self::Mean | Self::Norm => a + b,
            Self::Max => max_or_nan(a, b),
            Self::Min => min_or_nan(a, b),
        }
    }

    /// Returns the result for `count` elements, given their combined contributions.
    #[track_caller]
    pub(super) fn result<'k>(self, k: Builder<'k>, total: Val<'k, f32>, count: Val<'k, u32>) -> Val<'k, f32> {
        match self {
            Self::Mean => total / count.cast::<f32>(),
            Self::Norm => k.sqrt(total),
            Self::Sum | Self::Max | Self::Min => total,
        }
    }
}

/// A kernel that reduces each row of a matrix to one f32 value. Arithmetic is performed in f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowReduction {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
    /// The function that reduces rows.
    pub function: Reduction,
}

impl RowReduction {
    /// Returns the kernel for elements of at most `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches; see
    /// [`RowTiling::for_reductions`]. Small blocks read long unaligned rows in parts.
    #[must_use]
    pub fn for_rows(function: Reduction, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling::for_reductions(target, bytes, sizes);
        let groups = tiling.groups(sizes);
        let tiling = match (tiling.unaligned, bytes) {
            (true, 4) if groups > 64 => tiling.read_in_parts(64, 8, 8),
            (true, 2) if groups > 256 => tiling.read_in_parts(64, 1, 32),
            (true, 2) if groups > 32 => RowTiling { rows: 4, ..tiling.in_registers(groups, 8, 128) },
            _ => tiling,
        };
        Self { tiling, function }
    }

    /// Builds the kernel. Its name contains the function, the type and the tiling, as in `row_sum_bf16_8192_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, or for clusters on a target older than sm_90.
    pub fn kernel<X: Convert<f32>>(&self, target: Target) -> Result<Kernel<RowReductionArgs<X>>, BuildError> {
        let name = self.function.name();
        let signature = format!("row_{name}_{}_{}(x, ldx, y, m, n)", X::NAME, self.tiling);
        self.tiling.build::<RowReductionArgs<X>>(&signature, target, |k, (x, ldx, y, m, n)| {
            k.describe(format!("the {name} of each row of an m×n matrix"));
            let row = self.tiling.row_of(k, [m, n, ldx]);
            let (x, neutral, combine) = (row.of(x, ldx), self.function.neutral(), self.function.combine());
            let [total] = row.over_parts([neutral], &|[a], [b]| [combine(a, b)], &|part| {
                [row.load(&x, part, neutral).map(|x| self.function.term(x)).combined(&combine)]
            });
            row.store_element(y, self.function.result(k, total, n));
        })
    }
}
