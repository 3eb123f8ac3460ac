//! Sums of exponentials relative to a running maximum.

use super::tiling::Row;
use crate::{
    kernels::base::base,
    ptx::{Builder, Val},
    tiles::Striped,
};

/// Base-2 exponentials of `scale` · x.
#[derive(Clone, Copy)]
pub(super) struct Exponent<'k> {
    pub(super) k: Builder<'k>,
    /// The factor by which x is multiplied to obtain base-2 exponents.
    pub(super) scale: Val<'k, f32>,
}

/// A maximum, and a sum of exponentials relative to it.
#[derive(Clone, Copy)]
pub(super) struct Total<'k> {
    pub(super) max: Val<'k, f32>,
    pub(super) sum: Val<'k, f32>,
}

impl<'k> Total<'k> {
    /// The maximum and the sum for no elements.
    const NOTHING: [f32; 2] = [f32::NEG_INFINITY, 0.0];

    fn of([max, sum]: [Val<'k, f32>; 2]) -> Self {
        Self { max, sum }
    }

    fn values(self) -> [Val<'k, f32>; 2] {
        [self.max, self.sum]
    }

    /// Returns the value to which exponentials are relative: the maximum, or 0 if the maximum is −∞.
    #[track_caller]
    pub(super) fn base(self) -> Val<'k, f32> {
        base(self.max)
    }
}

impl<'k> Exponent<'k> {
    /// Returns the exponential of `x` relative to the maximum of `total`.
    #[track_caller]
    pub(super) fn of(self, x: Val<'k, f32>, total: Total<'k>) -> Val<'k, f32> {
        self.k.exp2((x - total.base()) * self.scale)
    }

    /// Returns the exponentials of this thread's elements relative to their maximum, and their sum.
    #[track_caller]
    pub(super) fn of_all(self, x: &Striped<'k, f32>) -> (Striped<'k, f32>, Total<'k>) {
        let maximum = Total { max: x.combined(|a, b| a.max(b)), sum: 0.0.into() };
        let terms = x.map(|x| self.of(x, maximum));
        let sum = terms.combined(|a, b| a + b);
        (terms, Total { sum, ..maximum })
    }

    /// Returns the sum of both totals, relative to the greater maximum.
    #[track_caller]
    fn combined(self, a: Total<'k>, b: Total<'k>) -> Total<'k> {
        let both = Total { max: a.max.max(b.max), ..a };
        Total { sum: a.sum * self.of(a.max, both) + b.sum * self.of(b.max, both), ..both }
    }

    /// Combines the sums of all threads of a row.
    #[track_caller]
    pub(super) fn over_threads(self, row: &Row<'k>, own: Total<'k>) -> Total<'k> {
        let (combine, team) = (|a, b| self.combined_values(a, b), &row.team);
        // Combining two totals takes two exponentials. Lanes therefore determine the common maximum first.
        let over_lanes = |[max, sum]: [Val<'k, f32>; 2], lanes| {
            let [common] = team.butterfly([max], lanes, &|[a], [b]| [a.max(b)]);
            let sum = sum * self.of(max, Total { max: common, sum });
            let [sum] = team.butterfly([sum], lanes, &|[a], [b]| [a + b]);
            [common, sum]
        };
        Total::of(team.reduce_over_lanes(own.values(), Total::NOTHING, &combine, &over_lanes))
    }

    /// Returns the maximum of a row and the sum of its exponentials.
    #[track_caller]
    pub(super) fn over(self, row: &Row<'k>, load: &dyn Fn(Val<'k, u32>) -> Striped<'k, f32>) -> Total<'k> {
        let of = |part: Val<'k, u32>| {
            if !row.is_reloaded() || row.tiling.parts_at_a_time() > 1 {
                return self.of_all(&load(part)).1.values();
            }
            let maximum = Total { max: load(part).combined(|a, b| a.max(b)), sum: 0.0.into() };
            [maximum.max, load(part).map(|x| self.of(x, maximum)).combined(|a, b| a + b)]
        };
        let own = row.over_own_parts(Total::NOTHING, &|a, b| self.combined_values(a, b), &of);
        self.over_threads(row, Total::of(own))
    }

    #[track_caller]
    fn combined_values(self, a: [Val<'k, f32>; 2], b: [Val<'k, f32>; 2]) -> [Val<'k, f32>; 2] {
        self.combined(Total::of(a), Total::of(b)).values()
    }
}
