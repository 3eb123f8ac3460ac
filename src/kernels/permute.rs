//! Permutation of the axes of a tensor.

mod axes;

use super::{
    rows::{RowTiling, copy_rows},
    transpose::{WIDEST, transpose_wide, wide_group, wide_tile},
};
use crate::{
    ptx::{BuildError, Builder, Global, In, IntoDim, Kernel, Out, Ptr, Read, Target, Val, Write},
    tensor::TensorElement,
    tiles::{Gl, contiguous},
};
use axes::Axes;

/// The arguments of the kernel that [`Permute::kernel`] builds: `(x, y, extents, x_strides, y_strides)`. [`Permute::arguments`] computes
/// the last three arguments. `extents` contains the extents of five axes; the last two are the rows and columns of the matrices that blocks
/// process. `x_strides` contains the strides of the first four axes of x, in elements; the column axis has stride 1. For
/// [`Permute::UnalignedRows`], these strides must be multiples of the number of columns, the product of the other extents must be less than
/// 2³², and `y_strides` is ignored, because y is contiguous. For [`Permute::Rows`],
/// `y_strides` contains the strides of the same axes of y, whose column axis also has stride 1. For [`Permute::Tiles`], the row axis of y
/// has stride 1, so the last element of `y_strides` is the stride of the column axis instead.
pub type PermuteArgs<T> = (In<T>, Out<T>, [u32; 5], [u32; 4], [u32; 4]);

/// The maximum number of axes.
const RANK: usize = 5;
/// The number of threads per block.
const THREADS: u32 = 256;
/// The minimum length in bytes of unaligned rows that are copied 16 bytes at a time.
const LONG_ROW: u64 = 512;
/// The length in bytes from which rows are too long to be copied in this way.
const LONGEST_ROW: u64 = 1 << 30;
/// The number of rows and columns of a transposed tile.
const TILE: u32 = 64;

/// A kernel that copies x to y with the axes in a different order: axis i of y is axis `order[i]` of x, as in
/// PyTorch's `permute`. x and y must be contiguous. They may have up to five axes, with strides of less than
/// 2³² elements.
///
/// Axes of extent 1 are ignored, and axes that are adjacent and in the same order in both x and y are merged into one. If x and y then have
/// the same last axis, rows are copied in groups of up to 16 bytes, even if long rows do not begin at multiples of 16 bytes. Otherwise,
/// tiles that span the last axis of x and the last axis of y are transposed in shared memory.
///
/// ```
/// use warpwright::{kernels::Permute, prelude::*, run::{Device, Simulator}};
///
/// // From [batch, position, head, column] to [batch, head, position, column].
/// let (extents, order) = ([2, 3, 4, 8], [0, 2, 1, 3]);
/// let kernel = Permute::for_axes::<f32>(&extents, &order)?.kernel::<f32>(Target::SM_80)?;
/// let (extents, x_strides, y_strides) = Permute::arguments(&extents, &order)?;
///
/// let device = Simulator::new();
/// let x = device.upload(&(0..192).map(|i| i as f32).collect::<Vec<_>>())?;
/// let mut y = device.output::<f32>(192)?;
/// device.launch(&kernel, (&x, &mut y, extents, x_strides, y_strides))?;
/// // Row (0, 1, 0) of y is row (0, 0, 1) of x.
/// assert_eq!(device.download(&y)?[3 * 8], 8.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "transpose")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permute {
    /// Copies rows.
    Rows {
        /// The number of threads per row: a power of two up to 256.
        threads: u32,
        /// The number of adjacent elements that a thread copies together. It must be a power of two that divides the number of columns and
        /// all strides. The elements must occupy at most 16 bytes in total.
        adjacent: u32,
    },
    /// Copies rows that may begin at any element, 16 bytes at a time. Elements must be at most 4 bytes wide.
    UnalignedRows {
        /// How rows are divided among threads.
        tiling: RowTiling,
    },
    /// Transposes tiles.
    Tiles {
        /// The number of adjacent elements that a thread moves together. It must be 1 or the number of elements in 16 bytes. In the latter
        /// case, elements must be at most 4 bytes wide, and `adjacent` must divide the numbers of rows and columns and all strides.
        adjacent: u32,
    },
}

/// An error in the axes or strides of a permutation.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PermuteError {
    /// There are more than five axes.
    #[error("expected up to {RANK} axes, found {found}")]
    Rank {
        /// The number of axes.
        found: usize,
    },
    /// The order does not contain each axis exactly once.
    #[error("expected each of the {axes} axes exactly once, found {order:?}")]
    Order {
        /// The number of axes.
        axes: usize,
        /// The given order.
        order: Vec<usize>,
    },
    /// A stride does not fit in 32 bits.
    #[error("expected strides of fewer than 2³² elements, found {found}")]
    Stride {
        /// The stride in elements.
        found: u64,
    },
}

impl Permute {
    /// Returns the kernel that permutes a tensor x with the given extents and elements of type `T`: axis i of y is axis `order[i]` of x.
    ///
    /// # Errors
    /// Returns an error if there are more than five axes, if `order` does not contain each axis exactly once, or if a stride does not fit
    /// in 32 bits.
    pub fn for_axes<T: TensorElement>(extents: &[u32], order: &[usize]) -> Result<Self, PermuteError> {
        let axes = Axes::new(extents, order)?;
        let (x_strides, y_strides) = axes.strides()?;
        let [.., rows, cols] = axes.extents;
        let strides = [x_strides, y_strides].concat();
        Ok(match axes.transposes {
            true => Self::tiles::<T>(&[&[rows, cols], strides.as_slice()].concat()),
            false => {
                Self::unaligned_rows::<T>(axes.extents).unwrap_or_else(|| Self::rows::<T>(cols, &strides))
            }
        })
    }

    /// Returns the kernel that transposes tiles of matrices. `sizes` contains the numbers of rows and columns and all strides, except those
    /// that are 1.
    pub(super) fn tiles<T: TensorElement>(sizes: &[u32]) -> Self {
        let divides_all = |group: &u32| sizes.iter().all(|size| size.is_multiple_of(*group));
        Self::Tiles { adjacent: wide_group::<T>().filter(divides_all).unwrap_or(1) }
    }

    /// Returns the kernel that copies rows of `cols` elements, given all strides except those that are 1.
    pub(super) fn rows<T: TensorElement>(cols: u32, strides: &[u32]) -> Self {
        let most = (WIDEST / T::SIZE).max(1);
        let is_wide = strides.iter().chain([&cols]).all(|size| size.is_multiple_of(most));
        let adjacent = if is_wide { most } else { 1 };
        let threads = cols.div_ceil(adjacent).clamp(1, THREADS).next_power_of_two();
        Self::Rows { threads, adjacent }
    }

    /// Returns the kernel that copies the rows of contiguous tensors if it is [`Permute::UnalignedRows`]. The last extent is the number of
    /// elements in a row.
    fn unaligned_rows<T: TensorElement>([others @ .., cols]: [u32; RANK]) -> Option<Self> {
        let rows: u64 = others.iter().fold(1, |rows: u64, &extent| rows.saturating_mul(extent.into()));
        let length = u64::from(cols) * u64::from(T::SIZE);
        let suits = T::SIZE <= 4
            && !length.is_multiple_of(WIDEST.into())
            && (LONG_ROW..LONGEST_ROW).contains(&length)
            && rows <= u32::MAX.into();
        // The tiling is the same for all targets.
        let tiling = || RowTiling::for_separate_rows(Target::SM_80, T::SIZE, &[cols]);
        suits.then(|| Self::UnalignedRows { tiling: tiling() })
    }

    /// Returns this kernel, or the one that replaces it if addresses are not multiples of 16 bytes; `are_multiples` returns whether they
    /// are multiples of a given number of bytes.
    #[cfg(any(feature = "cuda", feature = "sim"))]
    pub(super) fn for_addresses(self, are_multiples: impl Fn(u64) -> bool) -> Self {
        match self {
            _ if are_multiples(WIDEST.into()) => self,
            Self::Rows { threads, adjacent } => {
                Self::Rows { threads: (threads * adjacent).min(THREADS), adjacent: 1 }
            }
            Self::UnalignedRows { .. } => Self::Rows { threads: THREADS, adjacent: 1 },
            Self::Tiles { .. } => Self::Tiles { adjacent: 1 },
        }
    }

    /// Returns the kernel's arguments `extents`, `x_strides` and `y_strides` (see [`PermuteArgs`]). The parameters `extents` and `order`
    /// must be those passed to [`for_axes`](Self::for_axes).
    ///
    /// # Errors
    /// Returns the same errors as [`for_axes`](Self::for_axes).
    #[allow(clippy::type_complexity, reason = "they are arguments")]
    pub fn arguments(
        extents: &[u32],
        order: &[usize],
    ) -> Result<([u32; 5], [u32; 4], [u32; 4]), PermuteError> {
        let axes = Axes::new(extents, order)?;
        let (x_strides, y_strides) = axes.strides()?;
        Ok((axes.extents, x_strides, y_strides))
    }

    /// Builds the kernel. Its name contains the type, followed by `threads` and `adjacent` for [`Permute::Rows`], the tiling for
    /// [`Permute::UnalignedRows`], or `adjacent` (unless it is 1) for [`Permute::Tiles`], for example `permute_rows_bf16_32_by8`.
    ///
    /// # Errors
    /// Returns an error if `threads` or `adjacent` has an invalid value.
    pub fn kernel<T: TensorElement>(&self, target: Target) -> Result<Kernel<PermuteArgs<T>>, BuildError> {
        let name = match self {
            Self::Rows { threads, adjacent } => format!("permute_rows_{}_{threads}_by{adjacent}", T::NAME),
            Self::UnalignedRows { tiling } => format!("permute_unaligned_rows_{}_{tiling}", T::NAME),
            Self::Tiles { adjacent: 1 } => format!("permute_tiles_{}", T::NAME),
            Self::Tiles { adjacent } => format!("permute_tiles_{}_by{adjacent}", T::NAME),
        };
        let names =
            |prefix, axes: &[&str]| axes.iter().map(|axis| format!("{prefix}{axis}")).collect::<Vec<_>>();
        let last_of_y = if matches!(self, Self::Tiles { .. }) { "cols" } else { "rows" };
        let parameters = [
            vec!["a".into(), "b".into(), "c".into(), "rows".into(), "cols".into()],
            names("x_", &["a", "b", "c", "rows"]),
            names("y_", &["a", "b", "c", last_of_y]),
        ];
        let signature = format!("{name}(x, y, {})", parameters.concat().join(", "));
        Kernel::<PermuteArgs<T>>::build(&signature, target, |k, (x, y, extents, x_strides, y_strides)| {
            k.describe(format!("y = x with its axes in another order ({})", T::NAME));
            match *self {
                Self::Rows { threads, adjacent } => {
                    let exists = |number: u32, most| number.is_power_of_two() && number <= most;
                    if !exists(threads, THREADS) || !exists(adjacent, WIDEST / T::SIZE) {
                        k.block([THREADS]);
                        return k.refuse(format!(
                            "expected powers of two, up to {THREADS} threads of up to {WIDEST} bytes each, found {threads} of {adjacent} elements"
                        ));
                    }
                    let tensors = Tensors::new(k, (x, y), extents, (x_strides, y_strides), adjacent);
                    tensors.copy_rows(threads, adjacent);
                }
                Self::UnalignedRows { tiling } => {
                    if let Some(why) = tiling.invalid() {
                        return k.refuse(why);
                    }
                    if !tiling.unaligned || T::SIZE > 4 {
                        k.block([THREADS]);
                        return k.refuse(format!("expected an unaligned tiling and elements of at most 4 bytes, found {tiling:?} and {} bytes", T::SIZE));
                    }
                    let [of_rows @ .., n] = extents;
                    copy_rows(tiling, k, (x, y), (of_rows, n), x_strides);
                }
                Self::Tiles { adjacent } => {
                    if adjacent != 1 && Some(adjacent) != wide_group::<T>() {
                        k.block([THREADS]);
                        return k.refuse(format!("expected 1 or 16 bytes of adjacent elements of up to 4 bytes, found {adjacent} elements"));
                    }
                    let tensors = Tensors::transposed(k, (x, y), extents, (x_strides, y_strides), adjacent);
                    if adjacent == 1 { tensors.transpose_tiles() } else { tensors.transpose_wide_tiles() }
                }
            }
        })
    }
}

/// The tensors of a launch, and their extents.
struct Tensors<'k, T: TensorElement> {
    k: Builder<'k>,
    x: Gl<'k, T, Read, RANK>,
    y: Gl<'k, T, Write, RANK>,
    extents: [Val<'k, u32>; RANK],
}

type Strides<'k> = [Val<'k, u32>; RANK - 1];

/// The matrices of a block, and the row and column of its tile.
type Tile<'k, T> = (Gl<'k, T, Read>, Gl<'k, T, Write>, [Val<'k, u32>; 2]);

impl<'k, T: TensorElement> Tensors<'k, T> {
    /// Returns tensors whose column axis has stride 1. `adjacent` must divide the number of columns and all strides.
    #[track_caller]
    fn new(
        k: Builder<'k>,
        (x, y): (Ptr<'k, T, Global, Read>, Ptr<'k, T, Global, Write>),
        [a, b, c, rows, cols]: [Val<'k, u32>; RANK],
        (x_strides, y_strides): (Strides<'k>, Strides<'k>),
        adjacent: u32,
    ) -> Self {
        let extents = [a, b, c, rows, cols.multiple_of(adjacent)];
        let layout = |strides: Strides<'k>| {
            let [a, b, c, rows] = strides.map(|stride| stride.multiple_of(adjacent));
            contiguous(extents).with_strides([a, b, c, rows, 1.into()])
        };
        Self { k, x: k.global(x, layout(x_strides)), y: k.global(y, layout(y_strides)), extents }
    }

    /// Returns tensors in which the column axis of x and the row axis of y have stride 1; the last two axes of y are exchanged. `adjacent`
    /// must divide the numbers of rows and columns and all strides.
    #[track_caller]
    fn transposed(
        k: Builder<'k>,
        (x, y): (Ptr<'k, T, Global, Read>, Ptr<'k, T, Global, Write>),
        [a, b, c, rows, cols]: [Val<'k, u32>; RANK],
        (x_strides, y_strides): (Strides<'k>, Strides<'k>),
        adjacent: u32,
    ) -> Self {
        let [rows, cols] = [rows, cols].map(|extent| extent.multiple_of(adjacent));
        let extents = [a, b, c, rows, cols];
        let layout = |extents, strides: Strides<'k>| {
            let [a, b, c, last] = strides.map(|stride| stride.multiple_of(adjacent));
            contiguous(extents).with_strides([a, b, c, last, 1.into()])
        };
        let y = k.global(y, layout([a, b, c, cols, rows], y_strides));
        Self { k, x: k.global(x, layout(extents, x_strides)), y, extents }
    }

    /// Declares a grid with one block for each tile of `height` rows and `width` columns of each matrix. Returns the matrices of this block
    /// and the coordinates of its tile.
    #[track_caller]
    fn tile_of_block(&self, height: u32, width: u32) -> Tile<'k, T> {
        let Self { k, extents: [a, b, c, rows, cols], .. } = *self;
        let of_matrix = rows.into_dim().ceil_div(height) * cols.into_dim().ceil_div(width);
        k.grid([of_matrix * a * b * c]);
        let (across, down) = (cols.ceil_div(width), rows.ceil_div(height));
        // Adjacent blocks have adjacent tiles of a row.
        let (index, col) = (k.ctaid_x() / across, k.ctaid_x() % across);
        let (index, row) = (index / down, index % down);
        let (index, at_c) = (index / c, index % c);
        let at = (index / b, index % b, at_c);
        (self.x.batch(at), self.y.batch(at), [row, col])
    }

    /// Copies a group of rows in each block.
    #[track_caller]
    fn copy_rows(&self, threads: u32, adjacent: u32) {
        let k = self.k;
        let thread = k.block([THREADS]).thread();
        let at_once = THREADS / threads;
        let stripes = k.stripes(thread % threads, threads, adjacent, 1);
        let (x, y, [row, col]) = self.tile_of_block(at_once * ROWS, stripes.length());
        let first = row * (at_once * ROWS) + thread / threads;
        let at = |i: u32| first + i * at_once;
        let parts: Vec<_> = (0..ROWS).map(|i| stripes.load(&x.row(at(i)), col)).collect();
        for (i, part) in (0..ROWS).zip(parts) {
            stripes.store(&y.row(at(i)), col, &part);
        }
    }

    /// Transposes a tile in each block, 16 bytes at a time.
    #[track_caller]
    fn transpose_wide_tiles(&self) {
        let [height, width] = wide_tile::<T>();
        let (x, y, [row, col]) = self.tile_of_block(height, width);
        let x = x.tensor().local_tile((height, width), (row, col));
        let y = y.transposed().tensor().local_tile((height, width), (row, col));
        transpose_wide(self.k, &x, &y);
    }

    /// Transposes a tile in each block, one element at a time.
    #[track_caller]
    fn transpose_tiles(&self) {
        const AT_ONCE: u32 = THREADS / TILE;
        let k = self.k;
        let thread = k.block([THREADS]).thread();
        let (x, y, [row, col]) = self.tile_of_block(TILE, TILE);
        // Rows are padded by one word, so that the words of a column are in distinct banks.
        let pitch = TILE + (4 / T::SIZE).max(1);
        let tile = k.shared::<T>(TILE * pitch);
        let (lane, group) = (thread % TILE, thread / TILE);
        let (top, left) = (row * TILE, col * TILE);
        let passes = || (0..TILE / AT_ONCE).map(|pass| pass * AT_ONCE);

        let held: Vec<_> = passes().map(|pass| x.at(top + group + pass, left + lane).load()).collect();
        let slot = tile.at(group * pitch + lane);
        passes().zip(held).for_each(|(pass, value)| slot.at(pass * pitch).store(value));
        k.sync_threads();
        let slot = tile.at(lane * pitch + group);
        let held: Vec<_> = passes().map(|pass| slot.at(pass).load()).collect();
        passes().zip(held).for_each(|(pass, value)| y.at(left + group + pass, top + lane).store(value));
    }
}

/// The number of rows that a thread copies.
const ROWS: u32 = 4;
