//! Quantization to 8 bits, with a scale for each row or for each block of 128 elements of a row.

use super::{
    NormFunction, PointwiseFunction, RowTiling,
    extremum::{max_or_nan, min_or_nan},
    norm::Statistics,
    tiling::{Line, MOST_BLOCKS, Row},
};
use crate::{
    ptx::{BuildError, Builder, Features, Global, In, Kernel, Out, Ptr, Target, Val, Write, e4m3},
    tensor::TensorElement,
    tiles::{Convert, Striped},
};

/// The arguments of the kernel that [`Quantize::kernel`] builds: `(x, ldx, q, ldq, scales, lds, m, n)`. x and q are m×n, with row pitches
/// of `ldx` and `ldq` elements. `scales` has m rows with a pitch of `lds` elements. Each row contains one scale for [`ScaleGroup::Row`], or
/// ⌈n/128⌉ scales for [`ScaleGroup::Block`].
pub type QuantizeArgs<X, Q> = (In<X>, u32, Out<Q>, u32, Out<f32>, u32, u32, u32);

/// The arguments of the kernel that [`Quantize::norm_kernel`] builds: `(x, ldx, w, q, ldq, scales, lds, m, n, epsilon)`. w has n elements,
/// and `epsilon` is the ε of [`NormFunction`]; see [`QuantizeArgs`] for the other arguments.
pub type NormQuantizeArgs<X, W, Q> = (In<X>, u32, In<W>, Out<Q>, u32, Out<f32>, u32, u32, u32, f32);

/// The arguments of the kernel that [`Quantize::gated_kernel`] builds: `(x, ldx, u, ldu, q, ldq, scales, lds, m, n)`. u is m×n, with a row
/// pitch of `ldu` elements; see [`QuantizeArgs`] for the other arguments.
pub type GatedQuantizeArgs<X, Q> = (In<X>, u32, In<X>, u32, Out<Q>, u32, Out<f32>, u32, u32, u32);

/// An element type of quantized matrices.
pub trait Quantized: TensorElement {
    /// The largest magnitude in a group after quantization.
    const LARGEST: f32;
}

impl Quantized for e4m3 {
    const LARGEST: f32 = 448.0;
}

impl Quantized for i8 {
    const LARGEST: f32 = 127.0;
}

/// The elements that share a scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaleGroup {
    /// All elements of a row.
    Row,
    /// A block of 128 adjacent elements of a row; the last block of a row may be smaller.
    Block,
}

/// The number of elements in a block.
const BLOCK: u32 = 128;
/// The number of rows that a thread block quantizes if the tiling for rows does not support blocks of elements.
const ROWS_OF_BLOCK: u32 = 4;
/// The length above which rows of f32 are long.
const LONG_ROW: u32 = 2048;

impl ScaleGroup {
    /// Returns the number of scales for a row of `n` elements.
    pub const fn scales(self, n: u32) -> u32 {
        match self {
            Self::Row => 1,
            Self::Block => n.div_ceil(BLOCK),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Block => "block",
        }
    }
}

/// Kernels that quantize a matrix y to 8 bits: q = round(y / s), where the scale s of each [group](ScaleGroup) is max |y| / 448 for e4m3
/// and max |y| / 127 for i8. Depending on the kernel, y is x, norm(x) · w or f(x) · u.
///
/// Arithmetic is performed in f32, and q is rounded once, to nearest even. A group of zeros has s = 0 and q = 0. A group that contains NaN
/// has s = NaN, with q = NaN for e4m3 and q = 0 for i8. A group that contains ±∞ but no NaN has s = ∞.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Quantize {
    /// How rows are divided among threads. With [`ScaleGroup::Block`], rows must be aligned, and each group must be processed by at most 32
    /// adjacent threads.
    pub tiling: RowTiling,
    /// The elements that share a scale.
    pub group: ScaleGroup,
}

impl Quantize {
    /// Returns the kernels that quantize x or f(x) · u, for elements of at most `bytes` bytes. `sizes` contains the maximum row length,
    /// followed by the row pitches; see [`RowTiling::for_rows`]. With [`ScaleGroup::Row`], long rows are kept in the registers of a block
    /// or, if the target supports clusters, of a cluster.
    #[must_use]
    pub fn for_rows(group: ScaleGroup, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let of_rows = RowTiling::for_rows(target, bytes, sizes);
        match group {
            ScaleGroup::Row => Self { tiling: fastest_of_rows(target, bytes, of_rows, sizes), group },
            ScaleGroup::Block => {
                // The scale of a block takes two divisions in each thread. Except in long rows of f32, few threads share a block.
                let is_long = bytes >= 4 && sizes.first().is_some_and(|&n| n > LONG_ROW);
                let way = if is_long { [32, 4] } else { [16, 2] };
                Self::of_blocks(of_rows.in_parts_of_blocks(sizes), sizes, way)
            }
        }
    }

    /// Returns the kernel that quantizes norm(x) · w, for elements of at most `bytes` bytes. `sizes` contains the maximum row length,
    /// followed by the row pitches; see [`RowTiling::for_copied_rows`]. With [`ScaleGroup::Row`], or if rows are aligned, many row lengths
    /// have tilings of their own.
    #[must_use]
    pub fn for_norm_rows(group: ScaleGroup, target: Target, bytes: u32, sizes: &[u32]) -> Self {
        let tiling = RowTiling::for_copied_rows(target, bytes, sizes);
        let can_copy = bytes <= 4 && target.features().contains(Features::AMPERE);
        let fastest = match (tiling.unaligned, group) {
            (true, ScaleGroup::Row) => fastest_of_unaligned_norms(bytes, tiling, sizes),
            (true, ScaleGroup::Block) => None,
            (false, _) => fastest_of_norms(group, target, bytes, tiling, sizes),
        };
        let fastest = fastest.filter(|way| can_copy && way.fits(target, bytes, 1));
        match fastest {
            Some(tiling) => Self { tiling, group },
            None if group == ScaleGroup::Row => Self { tiling, group },
            // All threads of a row compute its norm.
            None => Self::of_blocks(tiling, sizes, [32, 4]),
        }
    }

    /// Returns the kernels for [`ScaleGroup::Block`] with the tiling `of_rows` if it supports these groups. Otherwise, returns kernels with
    /// up to `most_threads` threads per row, each of which helps to quantize up to `most_blocks` blocks of elements.
    fn of_blocks(of_rows: RowTiling, sizes: &[u32], [most_threads, most_blocks]: [u32; 2]) -> Self {
        let group = ScaleGroup::Block;
        let rows = Self { tiling: of_rows, group };
        if rows.lanes().is_some() {
            // The maximum of a group requires more registers than are available with two resident blocks of 1024 threads or three resident
            // blocks that keep or copy whole rows.
            let most = match (of_rows.streamed, of_rows.threads) {
                (true, 1024) => 1,
                (true, _) => of_rows.resident,
                (false, _) => 2,
            };
            // Without a minimum, ptxas may use so few registers that some are spilled.
            let resident = of_rows.resident.min(most).max(1);
            return Self { tiling: RowTiling { resident, ..of_rows }, group };
        }
        // In unaligned rows, adjacent elements belong to different threads and are accessed separately.
        let adjacent = if of_rows.unaligned { 1 } else { of_rows.adjacent };
        let threads = (BLOCK / adjacent).min(most_threads);
        let blocks = sizes.first().map_or(most_blocks, |n| n.div_ceil(BLOCK).clamp(1, most_blocks));
        let tiling = RowTiling {
            threads,
            rows: ROWS_OF_BLOCK,
            cluster: 1,
            adjacent,
            unaligned: false,
            stripes: blocks * BLOCK / (threads * adjacent),
            streamed: true,
            resident: 0,
            ahead: 0,
            turns: 1,
        };
        Self { tiling, group }
    }

    /// Returns the number of threads that process a group of [`BLOCK`] elements, or `None` if the tiling does not support such groups.
    fn lanes(&self) -> Option<u32> {
        let RowTiling { threads, cluster, adjacent, unaligned, stripes, .. } = self.tiling;
        let together = threads * adjacent;
        let is_row =
            cluster == 1 && threads <= 32 && together <= BLOCK && (together * stripes).is_multiple_of(BLOCK);
        let lanes = if is_row { threads } else { BLOCK.checked_div(adjacent)? };
        let is_part = lanes <= 32 && threads.is_multiple_of(lanes) && lanes * adjacent == BLOCK;
        (!unaligned && lanes.is_power_of_two() && (is_row || is_part)).then_some(lanes)
    }

    /// Builds the kernel that quantizes x. Its name contains the scale group, the types of x and q, and the tiling, as in
    /// `quantize_row_bf16_e4m3_8192_by8`.
    ///
    /// # Errors
    /// Returns an error for a tiling that is invalid or does not support the scale group, for clusters on a target older than sm_90, or for
    /// e4m3 on a target older than sm_89.
    pub fn kernel<X, Q>(&self, target: Target) -> Result<Kernel<QuantizeArgs<X, Q>>, BuildError>
    where
        X: Convert<f32>,
        Q: Quantized,
        f32: Convert<Q>,
    {
        let signature = self.signature::<X, Q>("", "x, ldx, q, ldq, scales, lds, m, n");
        self.tiling.build::<QuantizeArgs<X, Q>>(
            &signature,
            target,
            |k, (x, ldx, q, ldq, scales, lds, m, n)| {
                self.describe::<Q>(k, "x");
                let (row, part) = self.row(k, [m, n, ldq]);
                let x = row.of(x, ldx);
                let results = Results { q: row.of(q, ldq), scales, lds };
                self.emit(&row, part, &results, &|part| row.load(&x, part, 0.0));
            },
        )
    }

    /// Builds the kernel that quantizes norm(x) · w. The product is not rounded before it is quantized. The kernel's name begins with the
    /// name of the norm, as in `rmsnorm_quantize_row_bf16_e4m3_8192_by8`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    pub fn norm_kernel<X, W, Q>(
        &self,
        function: NormFunction,
        target: Target,
    ) -> Result<Kernel<NormQuantizeArgs<X, W, Q>>, BuildError>
    where
        X: Convert<f32>,
        W: Convert<f32>,
        Q: Quantized,
        f32: Convert<Q>,
    {
        let name = function.name();
        let parameters = "x, ldx, w, q, ldq, scales, lds, m, n, epsilon";
        let signature = self.signature::<X, Q>(&format!("{name}_"), parameters);
        self.tiling.build::<NormQuantizeArgs<X, W, Q>>(
            &signature,
            target,
            |k, (x, ldx, w, q, ldq, scales, lds, m, n, epsilon)| {
                self.describe::<Q>(k, &format!("{name}(x)·w"));
                // Statistics are computed over the whole row.
                let turns = self.tiling.turns(k, [m, n, ldq]);
                let (x, w) = (turns.input(x, ldx), turns.weights(w));
                turns.each(&[&x], &|row| {
                    let line = row.of_input(&x);
                    let x = row.keep(|part| row.load(&line, part, 0.0));
                    let statistics = Statistics::of(row, function, &x, epsilon);
                    let results = Results { q: row.of(q, ldq), scales, lds };
                    let y = row.keep(|part| {
                        let w = row.of_weights(&w, part);
                        // The result is 0 outside the row, as the weights are.
                        statistics.normalized(row, part, &x(part)).zip(&w, |x, w| x * w)
                    });
                    match self.group {
                        ScaleGroup::Row => self.emit(row, 0.into(), &results, &y),
                        ScaleGroup::Block => {
                            row.for_parts(&|part| self.emit(row, part, &results, &y));
                        }
                    }
                });
            },
        )
    }

    /// Builds the kernel that quantizes f(x) · u (SwiGLU if f is SiLU). The product is not rounded before it is quantized. The kernel's
    /// name begins with the name of the function, as in `silu_gated_quantize_row_bf16_e4m3_8192_by8`.
    ///
    /// # Errors
    /// Returns the same errors as [`kernel`](Self::kernel).
    #[doc(alias = "SwiGLU")]
    pub fn gated_kernel<X, Q>(
        &self,
        function: PointwiseFunction,
        target: Target,
    ) -> Result<Kernel<GatedQuantizeArgs<X, Q>>, BuildError>
    where
        X: Convert<f32>,
        Q: Quantized,
        f32: Convert<Q>,
    {
        let name = function.name();
        let parameters = "x, ldx, u, ldu, q, ldq, scales, lds, m, n";
        let signature = self.signature::<X, Q>(&format!("{name}_gated_"), parameters);
        self.tiling.build::<GatedQuantizeArgs<X, Q>>(
            &signature,
            target,
            |k, (x, ldx, u, ldu, q, ldq, scales, lds, m, n)| {
                self.describe::<Q>(k, &format!("f(x)·u, where f is {name},"));
                let (row, part) = self.row(k, [m, n, ldq]);
                let (x, u) = (row.of(x, ldx), row.of(u, ldu));
                let results = Results { q: row.of(q, ldq), scales, lds };
                self.emit(&row, part, &results, &|part| {
                    let [x, u] = row.load_each([&x, &u], part, 0.0);
                    x.zip(&u, |x, u| function.of(k, x) * u)
                });
            },
        )
    }

    fn signature<X: TensorElement, Q: TensorElement>(&self, of: &str, parameters: &str) -> String {
        format!("{of}quantize_{}_{}_{}_{}({parameters})", self.group.name(), X::NAME, Q::NAME, self.tiling)
    }

    #[track_caller]
    fn describe<Q: Quantized>(&self, k: Builder<'_>, of: &str) {
        let (group, q, largest) = (self.group.name(), Q::NAME, Q::LARGEST);
        k.describe(format!(
            "q = {of} / s as {q}, where s = max / {largest} of each {group}, on m×n matrices"
        ));
        if self.group == ScaleGroup::Block && self.lanes().is_none() {
            k.refuse(format!(
                "expected a tiling of aligned rows in which up to 32 adjacent threads process {BLOCK} elements, found {self:?}"
            ));
        }
    }

    /// Returns this thread's row and, for [`ScaleGroup::Block`], the part that it processes.
    #[track_caller]
    fn row<'k>(&self, k: Builder<'k>, sizes: [Val<'k, u32>; 3]) -> (Row<'k>, Val<'k, u32>) {
        match self.group {
            ScaleGroup::Row => (self.tiling.row_of(k, sizes), 0.into()),
            ScaleGroup::Block => self.tiling.part_of_row(k, sizes),
        }
    }

    /// Quantizes a row of x, or part `part` of it.
    #[track_caller]
    fn emit<'k, Q: Quantized>(
        &self,
        row: &Row<'k>,
        part: Val<'k, u32>,
        results: &Results<'k, Q>,
        x: &dyn Fn(Val<'k, u32>) -> Striped<'k, f32>,
    ) where
        f32: Convert<Q>,
    {
        let largest = |x: &Striped<'k, f32>| [x.map(Val::abs).combined(max_or_nan)];
        let larger = |[a]: [Val<'k, f32>; 1], [b]: [Val<'k, f32>; 1]| [max_or_nan(a, b)];
        match self.group {
            ScaleGroup::Row => {
                let x = row.keep(x);
                let [most] = row.over_parts([0.0], &larger, &|part| largest(&x(part)));
                results.store_scale(row, 0.into(), most);
                row.for_parts(&|part| results.store(row, part, &x(part), most));
            }
            ScaleGroup::Block => {
                let (x, lanes) = (x(part), self.lanes().unwrap_or(1));
                let own = BLOCK / lanes;
                let starts = row.stripes.starts(part);
                let mut quantized = Vec::new();
                for (group, elements) in (0..).zip(x.registers().chunks(own as usize)) {
                    let start = starts[(group * own / self.tiling.adjacent) as usize];
                    let of_group = row.k.stripes(row.thread, lanes, own, 1).with(elements);
                    let [most] = row.team.butterfly(largest(&of_group), lanes, &larger);
                    let is_first = (row.thread % lanes).eq(0) & start.lt(row.n);
                    let scale = most / Q::LARGEST;
                    row.store_where(results.scales, results.lds, start / BLOCK, is_first, scale);
                    quantized.extend(scaled::<Q>(&of_group, most).registers());
                }
                row.store(&results.q, part, &row.stripes.with(&quantized));
            }
        }
    }
}

/// Returns the fastest tiling on an H200 for rows that are read once and kept in registers, given the tiling of [`RowTiling::for_rows`].
fn fastest_of_rows(target: Target, bytes: u32, tiling: RowTiling, sizes: &[u32]) -> RowTiling {
    let (groups, has_clusters) = (tiling.groups(sizes), target.features().contains(Features::HOPPER));
    let in_cluster =
        |cluster| tiling.in_cluster(cluster, groups, 4).filter(|_| has_clusters).unwrap_or(tiling);
    match (tiling.unaligned, groups) {
        _ if !matches!(bytes, 2 | 4) || tiling.threads <= 32 => tiling,
        (true, ..=2240) if bytes == 4 => tiling.in_registers(groups, 5, 0).without_minimum(),
        (true, 257..=384) if bytes == 2 => tiling.in_registers(groups, 3, 0).without_minimum(),
        (true, ..=768) if bytes == 2 => tiling.in_registers(groups, 6, 0).without_minimum(),
        (true, ..=1280) if bytes == 2 => tiling.in_registers(groups, 4, 0).without_minimum(),
        (true, _) => tiling,
        (false, ..=1024) => RowTiling { resident: (2048 / tiling.threads).min(8), ..tiling },
        (false, ..=2048) => tiling.in_registers(groups, 4, 1024),
        (false, ..=3072) => tiling.in_registers(groups, 6, 1024),
        (false, ..=4096) if bytes == 4 => tiling.in_registers(groups, 8, 1024),
        (false, ..=4096) => in_cluster(4),
        (false, _) => in_cluster(MOST_BLOCKS),
    }
}

/// Returns the fastest tiling on an H200 for quantized norms of aligned rows, given the tiling of [`RowTiling::for_copied_rows`]. Most rows
/// are copied to shared memory, and several rows share the weights. Returns `None` for very short and very long rows.
fn fastest_of_norms(
    group: ScaleGroup,
    target: Target,
    bytes: u32,
    tiling: RowTiling,
    sizes: &[u32],
) -> Option<RowTiling> {
    let groups = tiling.groups(sizes);
    let (is_row, is_wide) = (group == ScaleGroup::Row, bytes == 4);
    let in_cluster = |cluster, stripes| {
        let held = tiling.in_cluster(cluster, groups, stripes)?;
        let held = RowTiling { resident: 1024 / held.threads, ..held };
        target.features().contains(Features::HOPPER).then_some(held)
    };
    // Groups per thread, rows in shared memory, rows in turn, and the maximum number of threads per multiprocessor.
    let [stripes, ahead, turns, together] = match groups {
        129..=1024 => [4, 2, if is_row { 2 } else { 4 }, 768],
        1025..=2048 if is_wide => [4, 2, if is_row { 2 } else { 4 }, 768],
        1025..=1792 if is_row => [4, 2, 4, 1024],
        1793..=2048 if is_row => [8, 1, 2, 1024],
        1793..=2048 => [8, 1, 2, 256],
        1025..=2048 => [8, 1, 2, 512],
        2049..=3072 if is_wide && is_row => return Some(tiling.in_registers(groups, 6, 1024)),
        3073..=4096 if is_wide && is_row => return Some(tiling.in_registers(groups, 8, 0).without_minimum()),
        4097..=6144 if is_wide && is_row => return Some(tiling.in_registers(groups, 8, 1024)),
        6145..=8192 if is_wide && is_row => [8, 1, 16, 1024],
        2049..=4096 if is_wide || is_row => [4, 2, 4, 1024],
        2049..=4096 => [8, 1, 4, 1024],
        4097..=8192 if !is_wide && is_row => return in_cluster(MOST_BLOCKS, 4),
        8193..=16384 if is_wide && is_row => return in_cluster(4, 8),
        _ => return None,
    };
    let copied = tiling.copied(groups, stripes, ahead, turns);
    Some(RowTiling { resident: (together / copied.threads).clamp(1, 4), ..copied })
}

/// Returns the fastest tiling on an H200 for quantized norms of unaligned rows with one scale per row, given the tiling of
/// [`RowTiling::for_copied_rows`]. Returns `None` for very short and long rows.
fn fastest_of_unaligned_norms(bytes: u32, tiling: RowTiling, sizes: &[u32]) -> Option<RowTiling> {
    let (groups, n) = (tiling.groups(sizes), *sizes.first()?);
    // `together` is the number of threads per multiprocessor.
    let copied = |stripes, together: u32, [least, most]: [u32; 2]| {
        let copied = tiling.copied(groups, stripes, 2, 4);
        Some(RowTiling { resident: (together / copied.threads).clamp(least, most), ..copied })
    };
    let threads = n.div_ceil(SINGLE).next_multiple_of(32);
    match (bytes, groups) {
        (2, 129..=160) => {
            let warp = tiling.in_registers(groups, 5, 0);
            Some(RowTiling { resident: 8, ahead: 1, turns: 4, ..warp })
        }
        (2, 513..=1152) => copied(3, 768, [2, 4]),
        (4, 129..=384) => copied(3, 576, [1, 6]),
        // Whole elements require no shifts; they are faster if few threads have fewer elements than the others.
        (4, 385..=2560) if 5 * threads * SINGLE < 6 * n => {
            let (stripes, resident) = (n.div_ceil(threads), (576 / threads).max(1));
            let single = RowTiling { threads, rows: 1, cluster: 1, adjacent: 1, unaligned: false, ..tiling };
            Some(RowTiling { stripes, streamed: false, resident, ahead: 0, turns: 1, ..single })
        }
        (4, 385..=2560) => copied(5, 672, [1, 3]),
        _ => None,
    }
}

/// The number of single elements per thread.
const SINGLE: u32 = 32;

/// The results of a row.
struct Results<'k, Q: TensorElement> {
    q: Line<'k, Q, Write>,
    scales: Ptr<'k, f32, Global, Write>,
    lds: Val<'k, u32>,
}

impl<'k, Q: Quantized> Results<'k, Q>
where
    f32: Convert<Q>,
{
    #[track_caller]
    fn store_scale(&self, row: &Row<'k>, at: Val<'k, u32>, most: Val<'k, f32>) {
        row.store_first(self.scales, self.lds, at, most / Q::LARGEST);
    }

    #[track_caller]
    fn store(&self, row: &Row<'k>, part: Val<'k, u32>, x: &Striped<'k, f32>, most: Val<'k, f32>) {
        row.store(&self.q, part, &scaled::<Q>(x, most));
    }
}

/// Divides elements by the scale of their group, whose largest magnitude is `most`.
#[track_caller]
fn scaled<'k, Q: Quantized>(x: &Striped<'k, f32>, most: Val<'k, f32>) -> Striped<'k, f32> {
    // The minimum keeps the reciprocal finite if the scale is 0 or almost 0.
    let per_scale = min_or_nan(Val::from(Q::LARGEST) / most, f32::MAX.into());
    x.map(|x| x * per_scale)
}
