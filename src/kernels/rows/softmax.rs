//! Softmax and its logarithm.

use std::f32::consts::LOG2_E;

use super::{
    RowTiling,
    exponent::{Exponent, Total},
    tiling::{Line, MOST_BLOCKS, Row, same_or},
};
use crate::{
    ptx::{BuildError, Builder, Features, In, Kernel, Out, Readable, Target, Val, Writable},
    tensor::TensorElement,
    tiles::{Convert, vector},
};

/// The arguments of the kernel that [`Softmax::kernel`] builds: `(x, ldx, y, ldy, m, n, scale)`. x and y are m×n, with row pitches of `ldx`
/// and `ldy` elements.
pub type SoftmaxArgs<X, Y> = (In<X>, u32, Out<Y>, u32, u32, u32, f32);

/// The arguments of the kernel that [`Softmax::causal_kernel`] builds: `(x, ldx, y, ldy, m, n, scale, queries, first)`. Only the first
/// `first + i % queries` columns of row i are visible. See [`SoftmaxArgs`] for the other arguments.
pub type CausalSoftmaxArgs<X, Y> = (In<X>, u32, Out<Y>, u32, u32, u32, f32, u32, i32);

/// The arguments of the kernel that [`Softmax::lengths_kernel`] builds: `(x, ldx, y, ldy, m, n, scale, lengths, count, rows)`. `lengths`
/// has `count` elements. Only the first `lengths[i / rows]` columns of row i are visible, or none if `i / rows` is at least `count`. See
/// [`SoftmaxArgs`] for the other arguments.
pub type LengthsSoftmaxArgs<X, Y> = (In<X>, u32, Out<Y>, u32, u32, u32, f32, In<u32>, u32, u32);

/// Kernels that compute y = softmax(`scale` · x) along rows, or its natural logarithm. `scale` must be positive; it is the reciprocal of
/// the temperature.
///
/// [`causal_kernel`](Self::causal_kernel) and [`lengths_kernel`](Self::lengths_kernel) apply a mask: only the first columns of each row are
/// visible. In the other columns, y is 0, or −∞ if y is the logarithm. As in PyTorch, the visible columns of y are NaN if the visible
/// columns of x contain NaN or +∞, or only −∞.
///
/// Exponentials and sums are computed in f32. Each launch checks that the row length n and the pitches `ldx` and `ldy` fit the
/// [tiling](RowTiling).
#[doc(alias = "log_softmax")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Softmax {
    /// How rows are divided among threads.
    pub tiling: RowTiling,
    /// Whether y is the natural logarithm of the softmax.
    pub log: bool,
}

impl Softmax {
    /// Returns the kernels that compute softmax, not its logarithm, for elements of at most `bytes` bytes. `sizes` contains the maximum row
    /// length, followed by the row pitches; see [`RowTiling::for_rows`].
    #[must_use]
    pub fn for_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling::for_copied_rows(target, bytes, sizes);
        let fastest = if bytes <= 4 { fastest(target, bytes, tiling, sizes) } else { tiling };
        Self { tiling: if fastest.fits(target, bytes, 1) { fastest } else { tiling }, log: false }
    }

    /// Returns the kernels that apply a mask; see [`for_rows`](Self::for_rows) for the parameters. The tiling differs for unaligned rows of
    /// 16-bit elements.
    #[must_use]
    pub fn for_masked_rows(target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let Self { tiling, log } = Self::for_rows(target, bytes, sizes);
        let groups = tiling.groups(sizes);
        let in_registers = |stripes| tiling.in_registers(groups, stripes, 0).without_minimum();
        // Masks occupy registers. Without a minimum of resident blocks, threads have more registers.
        let tiling = match groups {
            257..=768 if tiling.unaligned && bytes == 2 => in_registers(6),
            769..=1152 if tiling.unaligned && bytes == 2 => in_registers(5),
            _ => tiling,
        };
        Self { tiling, log }
    }

    /// Builds the kernel. Its name contains the types and the tiling, as in `softmax_bf16_8192_by8`, or `log_softmax_bf16_8192_by8` for the
    /// logarithm.
    ///
    /// # Errors
    /// Returns an error for an invalid tiling, or for clusters on a target older than sm_90.
    pub fn kernel<X, Y>(&self, target: Target) -> Result<Kernel<SoftmaxArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let signature = self.signature::<X, Y>("softmax", "");
        self.tiling.build::<SoftmaxArgs<X, Y>>(&signature, target, |k, (x, ldx, y, ldy, m, n, scale)| {
            self.describe::<X, Y>(k, "");
            let turns = self.tiling.turns(k, [m, n, ldy]);
            let x = turns.input(x, ldx);
            turns.each(&[&x], &|row| self.emit(row, &row.of_input(&x), &row.of(y, ldy), scale, None));
        })
    }

    /// Builds the kernel with a causal mask: only the first `first` + i mod `queries` columns of row i are visible. If rows are queries and
    /// columns are keys, query q attends to the first q + 1 keys if `first` is 1, and the last query attends to all keys if `first` is 1 +
    /// n − `queries`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn causal_kernel<X, Y>(&self, target: Target) -> Result<Kernel<CausalSoftmaxArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let signature = self.signature::<X, Y>("causal_softmax", ", queries, first");
        self.tiling.build::<CausalSoftmaxArgs<X, Y>>(
            &signature,
            target,
            |k, (x, ldx, y, ldy, m, n, scale, queries, first)| {
                self.describe::<X, Y>(k, "; row i sees the first first + i mod queries columns");
                let turns = self.tiling.turns(k, [m, n, ldy]);
                let x = turns.input(x, ldx);
                // `first` is limited to the number of columns, so that the sum does not overflow.
                let first = first.min(n.min(i32::MAX as u32).cast::<i32>());
                turns.each(&[&x], &|row| {
                    let visible = (row.at % queries).cast::<i32>() + first;
                    let visible = visible.max(0).cast::<u32>();
                    self.emit(row, &row.of_input(&x), &row.of(y, ldy), scale, Some(visible));
                });
            },
        )
    }

    /// Builds the kernel for rows of different lengths: only the first `lengths[i / rows]` columns of row i are visible.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn lengths_kernel<X, Y>(&self, target: Target) -> Result<Kernel<LengthsSoftmaxArgs<X, Y>>, BuildError>
    where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let signature = self.signature::<X, Y>("lengths_softmax", ", lengths, count, rows");
        self.tiling.build::<LengthsSoftmaxArgs<X, Y>>(
            &signature,
            target,
            |k, (x, ldx, y, ldy, m, n, scale, lengths, count, rows)| {
                self.describe::<X, Y>(k, "; row i sees the first lengths[i / rows] columns");
                let turns = self.tiling.turns(k, [m, n, ldy]);
                let (x, lengths) = (turns.input(x, ldx), k.global(lengths, vector(count)));
                turns.each(&[&x], &|row| {
                    let visible = lengths.at(row.at / rows).load();
                    self.emit(row, &row.of_input(&x), &row.of(y, ldy), scale, Some(visible));
                });
            },
        )
    }

    fn signature<X: TensorElement, Y: TensorElement>(&self, kind: &str, more: &str) -> String {
        let log = if self.log { "log_" } else { "" };
        let to = same_or::<X, Y>();
        format!("{log}{kind}_{}{to}_{}(x, ldx, y, ldy, m, n, scale{more})", X::NAME, self.tiling)
    }

    fn describe<X: TensorElement, Y: TensorElement>(&self, k: Builder<'_>, mask: &str) {
        let function = if self.log { "log softmax" } else { "softmax" };
        let (x, y) = (X::NAME, Y::NAME);
        k.describe(format!("y = {function}(scale·x) along rows: x m×n ({x}), y m×n ({y}){mask}"));
    }

    #[track_caller]
    fn emit<'k, X, Y, A: Readable, B: Writable>(
        &self,
        row: &Row<'k>,
        x: &Line<'k, X, A>,
        y: &Line<'k, Y, B>,
        scale: Val<'k, f32>,
        visible: Option<Val<'k, u32>>,
    ) where
        X: Convert<f32>,
        Y: TensorElement,
        f32: Convert<Y>,
    {
        let k = row.k;
        let exponent = Exponent { k, scale: scale * LOG2_E };
        let visible = visible.map(|visible| visible.min(row.length()));
        let load = |part: Val<'k, u32>| {
            let x = row.load(x, part, f32::NEG_INFINITY);
            match visible {
                Some(visible) => x.until(part, visible, f32::NEG_INFINITY),
                None => x,
            }
        };
        let sees_none = |otherwise: Val<'k, f32>| match visible {
            Some(visible) => visible.eq(0).select(0.0, otherwise),
            None => otherwise,
        };
        let log = |total: Total<'k>| sees_none(k.ln(total.sum));
        if row.is_held() {
            let x = load(0.into());
            let (terms, own) = exponent.of_all(&x);
            let total = exponent.over_threads(row, own);
            let results = if self.log {
                let (base, log) = (total.base(), log(total));
                x.map(|x| (x - base).mad(scale, -log))
            } else {
                let factor = sees_none(exponent.of(own.max, total) * k.rcp_approx(total.sum));
                terms.map(|term| term * factor)
            };
            return row.store(y, 0, &results);
        }
        let total = exponent.over(row, &load);
        let (base, log) = (total.base(), log(total));
        let factor = sees_none(k.rcp_approx(total.sum));
        row.for_parts(&|part| {
            let x = load(part);
            let results = if self.log {
                x.map(|x| (x - base).mad(scale, -log))
            } else {
                x.map(|x| exponent.of(x, total) * factor)
            };
            row.store(y, part, &results);
        });
    }
}

/// Returns the fastest tiling for softmax on an H200 or, for long rows, an H100, given the tiling of [`RowTiling::for_copied_rows`].
fn fastest(target: Target, bytes: u32, tiling: RowTiling, sizes: &[u32]) -> RowTiling {
    let (groups, clusters) = (tiling.groups(sizes), target.features().contains(Features::HOPPER));
    let is_even = tiling.has_even_halves(sizes);
    // The tiling with the fewest empty groups.
    let in_cluster = || {
        let cluster = if groups <= 4352 { 4 } else { MOST_BLOCKS };
        let ways = [5, 4].into_iter().filter_map(|stripes| tiling.in_cluster(cluster, groups, stripes));
        ways.filter(|_| clusters).min_by_key(|way| way.capacity())
    };
    match (tiling.unaligned, bytes) {
        (false, 2) => match groups {
            513..=1024 if target.features().contains(Features::AMPERE) => {
                let copied = tiling.copied(groups, 4, 1, 1);
                RowTiling { resident: (1024 / copied.threads).max(1), ..copied }
            }
            1025..=2048 => tiling.in_registers(groups, 4, 1024),
            2049..=3072 => tiling.in_registers(groups, 6, 1024),
            3073..=8192 => in_cluster().unwrap_or(tiling),
            _ => tiling,
        },
        (true, 2) => match groups {
            129..=256 => RowTiling { rows: 4, ..tiling.in_registers(groups, 8, 0).without_minimum() },
            257..=1536 if is_even => tiling.narrow(sizes, 32, 1152),
            257..=2560 => tiling.in_registers(groups, 5, 1024),
            2561.. => {
                let in_parts = RowTiling { streamed: true, ..tiling.in_registers(2048, 2, 2048) };
                in_cluster().unwrap_or(in_parts)
            }
            _ => tiling,
        },
        (true, 4) => match groups {
            129..=512 => tiling.in_registers(groups, 2, 2048),
            2049..=6144 => tiling.in_registers(groups, 6, 1536),
            6145..=8192 => tiling.in_registers(groups, 8, 1024),
            8193.. => tiling.in_cluster(MOST_BLOCKS, groups, 4).filter(|_| clusters).unwrap_or(tiling),
            _ => tiling,
        },
        _ => tiling,
    }
}
