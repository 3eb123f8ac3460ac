//! Cross-entropy of logits, and its gradient.

use std::f32::consts::LOG2_E;

use super::{RowTiling, exponent::Exponent};
use crate::{
    ptx::{BuildError, In, Kernel, Out, Target, Val},
    tiles::Convert,
};

/// The arguments of the kernel that [`CrossEntropy::kernel`] builds: `(x, ldx, targets, losses, logs, m, n, ignored)`. x is m×n, with a row
/// pitch of `ldx` elements; the other buffers have m elements. See [`CrossEntropy`] for their contents and for the meaning of `ignored`.
pub type CrossEntropyArgs<X> = (In<X>, u32, In<i32>, Out<f32>, Out<f32>, u32, u32, i32);

/// The arguments of the kernel that [`CrossEntropy::backward_kernel`] builds: `(x, ldx, targets, logs, dlosses, dx, lddx, m, n, ignored)`.
/// dx is m×n, with a row pitch of `lddx` elements. `dlosses` contains the gradients with respect to the m losses. See [`CrossEntropyArgs`]
/// for the other arguments.
pub type CrossEntropyBackwardArgs<X> = (In<X>, u32, In<i32>, In<f32>, In<f32>, Out<X>, u32, u32, u32, i32);

/// Kernels that compute the loss of each row of logits, ln Σₖ e^xₖ − x_target, and its gradient.
///
/// The buffer `targets` contains the target column of each row. The buffer `logs` receives the logarithm of the sum of exponentials of each
/// row. The gradient is dxⱼ = (e^(xⱼ − log) − [j = target]) · dloss, where log is this logarithm, dloss is the gradient with respect to the
/// loss of the row, and [j = target] is 1 for the target column and 0 for all other columns.
///
/// For a row whose target is `ignored`, the loss and the gradient are 0. For a row whose target is neither `ignored` nor a column index,
/// the loss is NaN.
///
/// Rows may have any length. The loss of each row is computed in one pass, with a running maximum.
#[doc(alias = "nll_loss")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CrossEntropy {
    /// How the loss kernel divides rows among threads.
    pub tiling: RowTiling,
    /// How the gradient kernel divides rows among threads.
    pub backward: RowTiling,
}

/// Returns the tiling for the gradient.
fn backward(target: Target, bytes: u32, sizes: &[u32]) -> RowTiling {
    let tiling = RowTiling::for_separate_rows(target, bytes, sizes);
    if bytes != 2 || !(tiling.unaligned && tiling.streamed) {
        return tiling;
    }
    // The parts that exceed the row the least.
    let parts = [(32, 5), (64, 3), (96, 3)];
    let groups = tiling.groups(sizes);
    let slots = |&(threads, stripes): &(u32, u32)| groups.next_multiple_of(threads * stripes);
    let (threads, stripes) = parts.into_iter().min_by_key(slots).unwrap_or(parts[0]);
    tiling.read_in_parts(threads, stripes, 0)
}

impl CrossEntropy {
    /// Returns the kernels for logits of `bytes` bytes. `sizes` contains the maximum row length, followed by the row pitches; see
    /// [`RowTiling::for_rows`]. If all sizes are even, the actual row length must also be even.
    ///
    /// For the loss, a warp or a block keeps short rows in registers, and small blocks read long rows in parts. The tiling for the gradient
    /// is that of [`RowTiling::for_elements`], except that warps or small blocks process long unaligned rows in parts.
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling::for_reductions(target, bytes, sizes);
        let groups = tiling.groups(sizes);
        // With more parts, a thread has more elements for each reduction over the threads.
        let tiling = match (bytes, groups) {
            (5.., _) | (_, ..=128) => tiling,
            (4, ..=512) if !tiling.unaligned => tiling,
            (4, ..=2048) => tiling.narrow(sizes, 32, 1024),
            (2, ..=256) if tiling.unaligned => {
                RowTiling { rows: 4, ..tiling.in_registers(groups, 8, 128).without_minimum() }
            }
            (2, ..=640) if tiling.unaligned => tiling.read_in_parts(32, 3, 0),
            (2, ..=256) => RowTiling { rows: 4, ..tiling.in_registers(groups, 8, 128) },
            (2, ..=8192) if tiling.unaligned => tiling.read_in_parts(64, 2, 32),
            (2, _) if tiling.unaligned => tiling.read_in_parts(512, 2, 4),
            (4, _) if tiling.unaligned => tiling.read_in_parts(128, 4, 16),
            (_, ..=1024) => tiling.read_in_parts(64, 4, 8),
            _ => tiling.read_in_parts(256, 2, 8),
        };
        Self { tiling, backward: backward(target, bytes, sizes) }
    }

    /// Builds the kernel that computes the losses. Its name contains the type and the tiling, as in `cross_entropy_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, or for clusters on a target older than sm_90.
    pub fn kernel<X>(&self, target: Target) -> Result<Kernel<CrossEntropyArgs<X>>, BuildError>
    where
        X: Convert<f32>,
    {
        let parameters = "x, ldx, targets, losses, logs, m, n, ignored";
        let signature = format!("cross_entropy_{}_{}({parameters})", X::NAME, self.tiling);
        self.tiling.build::<CrossEntropyArgs<X>>(
            &signature,
            target,
            |k, (x, ldx, targets, losses, logs, m, n, ignored)| {
                k.describe(format!(
                    "losses = logs − x[targets], logs = ln Σ e^x along rows: x m×n ({})",
                    X::NAME
                ));
                let row = self.tiling.row_of(k, [m, n, ldx]);
                let line = row.of(x, ldx);
                let target = row.element(targets).load();
                let exponent = Exponent { k, scale: LOG2_E.into() };
                let total = exponent.over(&row, &|part| row.load(&line, part, f32::NEG_INFINITY));
                let log = k.ln(total.sum) + total.base();
                let col = target.cast::<u32>();
                let of_target = row.load_element(x, ldx, col);
                let of_target = col.lt(n).select(of_target, f32::NAN);
                let loss = target.eq(ignored).select(0.0, log - of_target);
                row.store_element(losses, loss);
                row.store_element(logs, log);
            },
        )
    }

    /// Builds the kernel that computes the gradient. Its name contains the type and the tiling, as in
    /// `cross_entropy_backward_bf16_any_by8`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn backward_kernel<X>(
        &self,
        target: Target,
    ) -> Result<Kernel<CrossEntropyBackwardArgs<X>>, BuildError>
    where
        X: Convert<f32>,
        f32: Convert<X>,
    {
        let parameters = "x, ldx, targets, logs, dlosses, dx, lddx, m, n, ignored";
        let signature = format!("cross_entropy_backward_{}_{}({parameters})", X::NAME, self.backward);
        self.backward.build::<CrossEntropyBackwardArgs<X>>(
            &signature,
            target,
            |k, (x, ldx, targets, logs, dlosses, dx, lddx, m, n, ignored)| {
                k.describe(format!("dx = (e^(x − logs) − [target])·dlosses along rows: x m×n ({})", X::NAME));
                let (row, part) = self.backward.part_of_row(k, [m, n, lddx]);
                let target = row.element(targets).load();
                let is_counted = target.ne(ignored);
                let (log, dloss) = (row.element(logs).load(), row.element(dlosses).load());
                let (x, dx) = (row.of(x, ldx), row.of(dx, lddx));
                row.in_part(part, || {
                    let x = row.load(&x, part, 0.0);
                    let start = part * x.stripes().length();
                    let results = x.map_indexed(|index, x| {
                        let is_target = (start + index).cast::<i32>().eq(target);
                        let softmax = k.exp2((x - log) * LOG2_E);
                        let derivative = (softmax - is_target.select(Val::from(1.0), 0.0)) * dloss;
                        is_counted.select(derivative, 0.0)
                    });
                    row.store(&dx, part, &results);
                });
            },
        )
    }
}
