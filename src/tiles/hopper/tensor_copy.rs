//! Tensor copies (TMA) between matrices in global memory and shared tiles.

use std::fmt;

use super::{matrix::Blocks, schedule::Sharing};
use crate::{
    ptx::{Hints, Mbarrier, Ptr, Readable, ReduceOp, Shared, SwizzleMode, Val, Writable, sealed::Sealed},
    tensor::{Boxes, TensorElement},
    tiles::{Allocate, GlTile, SharedSwizzle, St, StageTile, StageTiles, Sv},
};

/// The maximum number of elements of a box along a dimension.
const MOST_BOX: u32 = 256;

/// The boxes that make up a shared tile: one for each block of the swizzle and each run of rows.
struct Plan {
    blocks: Blocks,
    /// The number of rows and columns of a box.
    size: [u32; 2],
    /// The number of runs of rows.
    runs: u32,
}

impl Plan {
    /// Returns the boxes that cover 1/`shares` of the rows of a tile of type `St<T, H, W, S>`.
    fn of<T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>(
        shares: u32,
    ) -> Result<Self, String> {
        let blocks = Blocks::of::<T, H, W, S>()?;
        let rows = St::<'_, T, H, W, S>::ROWS;
        if !rows.is_multiple_of(8 * shares) {
            return Err(format!(
                "expected rows that {shares} blocks of a cluster share in multiples of 8, found {rows}"
            ));
        }
        let rows = rows / shares;
        let height = if rows <= MOST_BOX { rows } else { MOST_BOX / 2 };
        if !rows.is_multiple_of(height) {
            return Err(format!("expected at most {MOST_BOX} rows or a multiple of {height}, found {rows}"));
        }
        let cols = blocks.row_bytes / T::SIZE;
        if cols > MOST_BOX {
            return Err(format!(
                "expected rows of at most {MOST_BOX} elements without a swizzle, found {cols}"
            ));
        }
        Ok(Self { blocks, size: [height, cols], runs: rows / height })
    }

    /// Calls `each` with the start of every box in shared memory, and its row and column in the tile.
    #[track_caller]
    fn each<'k>(&self, start: Ptr<'k, u8, Shared>, each: impl Fn(Ptr<'k, u8, Shared>, (u32, u32))) {
        let Self { blocks, size: [height, width], runs } = self;
        for (block, run) in (0..blocks.count).flat_map(|block| (0..*runs).map(move |run| (block, run))) {
            let bytes = block * blocks.block_bytes + run * height * blocks.row_bytes;
            each(start.byte_offset(bytes.into()), (run * height, block * width));
        }
    }
}

/// A tile in global memory that several blocks of a cluster load cooperatively; see [`GlTile::multicast`].
pub struct Multicast<'k, T: TensorElement, A> {
    tile: GlTile<'k, T, A>,
    among: Sharing<'k>,
}

/// The first rows of a tile in global memory; see [`GlTile::first_rows`].
pub struct FirstRows<'k, T: TensorElement, A> {
    tile: GlTile<'k, T, A>,
    rows: u32,
}

impl<T: TensorElement, A> fmt::Debug for FirstRows<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the first {} rows of {:?}", self.rows, self.tile)
    }
}

impl<'k, T: TensorElement, A> GlTile<'k, T, A> {
    /// Returns a source that fills only the first `rows` rows of a shared tile.
    ///
    /// The tile in global memory then has only `rows` rows, and its row index is in units of `rows`. `rows` must be a multiple of 8 that
    /// divides the height of the shared tile.
    ///
    /// Use this source if the other rows are past the edge of the matrix, because copying them would take as long as copying rows within
    /// it.
    pub fn first_rows(self, rows: u32) -> FirstRows<'k, T, A> {
        FirstRows { tile: self, rows }
    }
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    BoxSource<'k, St<'k, T, H, W, S>> for FirstRows<'k, T, A>
{
    fn bytes(&self, whole: u32) -> u32 {
        let rows = St::<'_, T, H, W, S>::ROWS;
        whole / rows * self.rows.min(rows)
    }

    #[track_caller]
    fn copy_to(&self, tile: &St<'k, T, H, W, S>, barrier: Mbarrier<'k>) {
        let [rows, cols] = whole::<T, H, W, S>();
        if self.rows == 0 || !rows.is_multiple_of(self.rows) {
            return self.tile.kernel().refuse(format!(
                "tensor copy: expected a divisor of the {rows} rows of the shared tile, found {}",
                self.rows
            ));
        }
        let size = [self.rows, cols];
        let Some((plan, boxes)) = planned::<T, A, H, W, S>(&self.tile, size, rows / self.rows, false) else {
            return;
        };
        load(&plan, &boxes, tile.address(), 0.into(), barrier, Hints::default());
    }
}

impl<T: TensorElement, A> fmt::Debug for Multicast<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} for {} blocks of the cluster", self.tile, self.among.count)
    }
}

impl<'k, T: TensorElement, A> GlTile<'k, T, A> {
    /// Returns the tile as a source that the blocks in `among` load cooperatively.
    ///
    /// Each of these blocks loads an equal share of the tile's rows into the stages of all these blocks. All blocks in `among` must pass
    /// the same tile. The height of the tile must be a multiple of 8 times the number of blocks.
    #[doc(alias = ".multicast::cluster")]
    pub fn multicast(self, among: Sharing<'k>) -> Multicast<'k, T, A> {
        Multicast { tile: self, among }
    }
}

impl<T: TensorElement, A> Sealed for Multicast<'_, T, A> {}
impl<T: TensorElement, A> Sealed for FirstRows<'_, T, A> {}
impl<T: TensorElement, A> Sealed for Joined<'_, T, A> {}
impl<T: TensorElement, A> Sealed for Source<'_, T, A> {}

/// A source in global memory from which tensor copies fill a shared `Tile`: a [`GlTile`], [`Multicast`], [`FirstRows`] or [`Joined`].
///
/// A shared vector can be filled only from one row of a `GlTile`, and must have at most 256 elements.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not loaded into `{Tile}` by a tensor copy",
    note = "a tile of a matrix, `a.tile(i, j)`, fills an `St` of the same element type"
)]
pub trait BoxSource<'k, Tile: StageTile<'k>>: Sealed {
    /// Returns the number of bytes, out of `whole`, that arrive in the tile.
    #[doc(hidden)]
    fn bytes(&self, whole: u32) -> u32 {
        whole
    }
    /// Starts the copies to the tile, which signal completion at `barrier`. Only one thread may execute the emitted code.
    #[doc(hidden)]
    #[track_caller]
    fn copy_to(&self, tile: &Tile, barrier: Mbarrier<'k>);
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    BoxSource<'k, St<'k, T, H, W, S>> for GlTile<'k, T, A>
{
    #[track_caller]
    fn copy_to(&self, tile: &St<'k, T, H, W, S>, barrier: Mbarrier<'k>) {
        let Some((plan, boxes)) = planned::<T, A, H, W, S>(self, whole::<T, H, W, S>(), 1, false) else {
            return;
        };
        load(&plan, &boxes, tile.address(), 0.into(), barrier, Hints::default());
    }
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    BoxSource<'k, St<'k, T, H, W, S>> for Multicast<'k, T, A>
{
    #[track_caller]
    fn copy_to(&self, tile: &St<'k, T, H, W, S>, barrier: Mbarrier<'k>) {
        let Sharing { rank, count, blocks } = self.among;
        if count == 1 {
            return self.tile.copy_to(tile, barrier);
        }
        let Some((plan, boxes)) = planned::<T, A, H, W, S>(&self.tile, whole::<T, H, W, S>(), count, false)
        else {
            return;
        };
        let rows = St::<'_, T, H, W, S>::ROWS / count;
        let start = tile.address().advance(rank * (rows * plan.blocks.row_bytes));
        load(&plan, &boxes, start, rank * rows, barrier, Hints::default().multicast(blocks));
    }
}

/// Tiles in global memory that fill equal parts of one shared tile; see [`GlTile::above`], [`GlTile::left_of`] and [`GlTile::stacked`].
pub struct Joined<'k, T: TensorElement, A> {
    tiles: Vec<GlTile<'k, T, A>>,
    axis: usize,
}

impl<T: TensorElement, A> fmt::Debug for Joined<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = format!(" {} ", ["above", "left of"][self.axis]);
        let tiles: Vec<_> = self.tiles.iter().map(|tile| format!("{tile:?}")).collect();
        f.write_str(&tiles.join(&between))
    }
}

impl<'k, T: TensorElement, A> GlTile<'k, T, A> {
    /// Returns a source that fills the upper half of a shared tile from this tile and the lower half from `other`. Each of the two tiles
    /// has half the height of the shared tile.
    pub fn above(self, other: Self) -> Joined<'k, T, A> {
        Self::stacked(vec![self, other])
    }

    /// Returns a source that fills the left half of a shared tile from this tile and the right half from `other`. Each of the two tiles has
    /// half the width of the shared tile. In bytes, this width must be a multiple of the swizzle's width. A shared tile without a swizzle
    /// cannot be filled this way.
    pub fn left_of(self, other: Self) -> Joined<'k, T, A> {
        Joined { tiles: vec![self, other], axis: 1 }
    }

    /// Returns a source that fills a shared tile with `tiles` from top to bottom, for example with the pages of a sequence. The height of
    /// the shared tile is divided evenly among the tiles, and the height of each must be a multiple of 8.
    pub fn stacked(tiles: Vec<Self>) -> Joined<'k, T, A> {
        Joined { tiles, axis: 0 }
    }
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    BoxSource<'k, St<'k, T, H, W, S>> for Joined<'k, T, A>
{
    #[track_caller]
    fn copy_to(&self, tile: &St<'k, T, H, W, S>, barrier: Mbarrier<'k>) {
        let (mut size, count) = (whole::<T, H, W, S>(), self.tiles.len() as u32);
        if count == 0 || !size[self.axis].is_multiple_of(count) {
            return tile.address().kernel().refuse(format!(
                "tensor copy: expected tiles in equal parts of a shared tile of {} rows and {} columns, found {count}",
                size[0], size[1]
            ));
        }
        size[self.axis] /= count;
        let shares = if self.axis == 0 { count } else { 1 };
        for (part, from) in self.tiles.iter().enumerate() {
            let Some((mut plan, boxes)) = planned::<T, A, H, W, S>(from, size, shares, false) else { return };
            let bytes = if self.axis == 0 {
                size[0] * plan.blocks.row_bytes
            } else {
                if !plan.blocks.count.is_multiple_of(count) {
                    let found = plan.blocks.count;
                    return from.kernel().refuse(format!(
                        "tensor copy: expected {count} parts of whole blocks of the swizzle, found {found} blocks"
                    ));
                }
                plan.blocks.count /= count;
                plan.blocks.count * plan.blocks.block_bytes
            };
            let start = tile.address().byte_offset((part as u32 * bytes).into());
            load(&plan, &boxes, start, 0.into(), barrier, Hints::default());
        }
    }
}

/// A tile that blocks of a cluster may share, the first rows of a tile, or several tiles that fill one shared tile.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "there is one for each copy that is emitted")]
pub(crate) enum Source<'k, T: TensorElement, A> {
    Shared(Multicast<'k, T, A>),
    FirstRows(FirstRows<'k, T, A>),
    Joined(Joined<'k, T, A>),
}

impl<'k, T: TensorElement, A: Readable, const H: usize, const W: usize, S: SharedSwizzle>
    BoxSource<'k, St<'k, T, H, W, S>> for Source<'k, T, A>
{
    fn bytes(&self, whole: u32) -> u32 {
        match self {
            Self::FirstRows(source) => BoxSource::<St<'k, T, H, W, S>>::bytes(source, whole),
            Self::Shared(_) | Self::Joined(_) => whole,
        }
    }

    #[track_caller]
    fn copy_to(&self, tile: &St<'k, T, H, W, S>, barrier: Mbarrier<'k>) {
        match self {
            Self::Shared(source) => source.copy_to(tile, barrier),
            Self::FirstRows(source) => source.copy_to(tile, barrier),
            Self::Joined(source) => source.copy_to(tile, barrier),
        }
    }
}

impl<'k, T: TensorElement, A: Readable, const N: usize> BoxSource<'k, Sv<'k, T, N>> for GlTile<'k, T, A> {
    /// Copies a row.
    #[track_caller]
    fn copy_to(&self, vector: &Sv<'k, T, N>, barrier: Mbarrier<'k>) {
        let cols = Sv::<'k, T, N>::LENGTH;
        if cols > MOST_BOX {
            return self.kernel().refuse(format!(
                "tensor copy: expected a vector of at most {MOST_BOX} elements, found {cols}"
            ));
        }
        let Some(boxes) = self.view([1, cols]).boxes(1, cols, SwizzleMode::None, false) else { return };
        boxes.load(vector.address().cast::<T>(), (0.into(), 0), barrier, Hints::default());
    }
}

/// Returns the number of rows and columns of a tile.
const fn whole<T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>() -> [u32; 2] {
    [St::<'_, T, H, W, S>::ROWS, St::<'_, T, H, W, S>::COLS]
}

/// Returns the boxes of a tile of `size` elements in global memory that is copied to or from a tile of type `St<T, H, W, S>`. Records an
/// error and returns `None` if tensor copies do not support the tile.
#[track_caller]
fn planned<'k, T: TensorElement, A, const H: usize, const W: usize, S: SharedSwizzle>(
    tile: &GlTile<'k, T, A>,
    size: [u32; 2],
    shares: u32,
    written: bool,
) -> Option<(Plan, Boxes<'k, T, A>)> {
    match Plan::of::<T, H, W, S>(shares) {
        Ok(plan) => {
            let [height, width] = plan.size;
            let boxes = tile.view(size).boxes(height, width, plan.blocks.swizzle, written)?;
            Some((plan, boxes))
        }
        Err(why) => {
            tile.kernel().refuse(format!("tensor copy: {why}"));
            None
        }
    }
}

#[track_caller]
fn load<'k, T: TensorElement, A: Readable>(
    plan: &Plan,
    boxes: &Boxes<'k, T, A>,
    start: Ptr<'k, u8, Shared>,
    row: Val<'k, u32>,
    barrier: Mbarrier<'k>,
    hints: Hints<'k>,
) {
    plan.each(start, |to, (run, col)| boxes.load(to.cast::<T>(), (row + run, col), barrier, hints));
}

impl<'k, T: TensorElement, A: Writable> GlTile<'k, T, A> {
    /// Starts copying the first `size[0]` rows of a shared tile to this tile, starting at column `col`. If `op` is given, the rows are
    /// combined with the elements in global memory instead of overwriting them. `size` is the size of this tile in rows and columns. Only
    /// one thread may execute the emitted code; the copies are part of its next bulk group.
    #[track_caller]
    pub(super) fn store_boxes<const H: usize, const W: usize, S: SharedSwizzle>(
        &self,
        op: Option<ReduceOp>,
        tile: &St<'k, T, H, W, S>,
        size: [u32; 2],
        col: u32,
    ) {
        let shares = St::<'_, T, H, W, S>::ROWS / size[0];
        let Some((plan, boxes)) = planned::<T, A, H, W, S>(self, size, shares, true) else { return };
        plan.each(tile.address(), |from, (row, at)| {
            let (from, at) = (from.cast::<T>(), (row.into(), col + at));
            match op {
                None => boxes.store(from, at, Hints::default()),
                Some(op) => boxes.reduce(op, from, at, Hints::default()),
            }
        });
    }
}

/// A tuple of sources in global memory from which tensor copies fill a stage of `Tiles`, with one source for each tile of the stage.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not fill a stage of `{Tiles}`",
    note = "pass one global-memory tile per shared tile, of the same element type"
)]
pub trait BoxSources<'k, Tiles: StageTiles<'k>>: Sealed {
    /// Returns the number of bytes that arrive in the tiles.
    #[doc(hidden)]
    fn bytes(&self) -> u32;
    /// Starts the copies to the tiles, which signal completion at `barrier`. Only one thread may execute the emitted code.
    #[doc(hidden)]
    #[track_caller]
    fn copy_to(&self, tiles: &Tiles, barrier: Mbarrier<'k>);
}

macro_rules! sources {
    ($($tile:ident $from:ident $n:tt),*) => {
        impl<'k, $($tile: StageTile<'k>, $from: BoxSource<'k, $tile>),*> BoxSources<'k, ($($tile,)*)> for ($($from,)*) {
            fn bytes(&self) -> u32 {
                [$(self.$n.bytes($tile::BYTES)),*].into_iter().sum()
            }

            #[track_caller]
            fn copy_to(&self, tiles: &($($tile,)*), barrier: Mbarrier<'k>) {
                $(self.$n.copy_to(&tiles.$n, barrier);)*
            }
        }
    };
}

sources! { T0 G0 0 }
sources! { T0 G0 0, T1 G1 1 }
sources! { T0 G0 0, T1 G1 1, T2 G2 2 }
sources! { T0 G0 0, T1 G1 1, T2 G2 2, T3 G3 3 }
