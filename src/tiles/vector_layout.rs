//! Vector layouts as types: how the elements of a vector are distributed over the lanes of a warp.

use super::element::{Col, RegisterLayout, Row};
use crate::{
    atoms::{ElementWidth, rt_base},
    layout::{Layout, TvLayout},
    ptx::sealed::Sealed,
};

/// The vector with one element per row of a [`Row`] tile, or per column of a [`Col`] tile: with lane = 4g + t, a lane owns elements g and g
/// + 8 of every 16, and the four lanes of a quad own the same elements.
#[doc(alias = "ortho")]
#[derive(Clone, Copy, Debug)]
pub enum Orthogonal {}
/// The vector with one element per column of a [`Row`] tile, or per row of a [`Col`] tile: with lane = 4g + t, a lane owns elements 2t, 2t
/// + 1, 2t + 8 and 2t + 9 of every 16, and the eight lanes with the same t own the same elements.
#[doc(alias = "align")]
#[derive(Clone, Copy, Debug)]
pub enum Aligned {}
/// A vector that is not related to a tile: each lane owns runs of four or eight adjacent elements, in the order of the lanes. No
/// element has two owners if the length is a multiple of 128.
#[derive(Clone, Copy, Debug)]
pub enum Naive {}

/// [`Orthogonal`], [`Aligned`] or [`Naive`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a vector layout",
    note = "layouts are `Orthogonal`, `Aligned` and `Naive`"
)]
pub trait VectorLayout: Sealed + 'static {
    /// The name in messages.
    const NAME: &'static str;
    /// The number of elements that a lane owns.
    #[doc(hidden)]
    const OWNED: Owned;
    /// Returns the (lane, value) layout of a vector of `length` · 16 elements.
    #[doc(hidden)]
    fn layout(length: usize) -> TvLayout;
}

/// The number of elements of a vector that a lane owns.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Owned {
    /// This many of every 16 elements.
    Of16(usize),
    /// At least four elements, which fill a register of 8-bit elements. If lanes own more elements in total than the vector has, several
    /// lanes own the same elements.
    Divided,
}

impl Owned {
    /// Returns the number for a vector of `length` · 16 elements.
    pub(super) const fn of(self, length: usize) -> usize {
        match self {
            Self::Of16(count) => count * length,
            Self::Divided => 16 * length / owners(length) as usize,
        }
    }
}

/// Returns the number of lanes among which a [`Naive`] vector of `length` · 16 elements is divided.
const fn owners(length: usize) -> u32 {
    let most = (4 * length).trailing_zeros();
    1 << if most < 5 { most } else { 5 }
}

/// Returns the layout of a vector along an axis of a row tile, which has `length` subtiles along it.
fn of_tile(length: usize, axis: usize) -> TvLayout {
    let (height, width) = if axis == 0 { (length as u32, 1) } else { (1, length as u32) };
    let tile = TvLayout::tiled(&rt_base(Row::LAYOUT, ElementWidth::B32), height, width);
    tile.and_then(|tile| tile.vector(axis)).expect("a register tile has few elements and two axes")
}

impl Sealed for Orthogonal {}
impl Sealed for Aligned {}
impl Sealed for Naive {}

impl VectorLayout for Orthogonal {
    const NAME: &'static str = "Orthogonal";
    const OWNED: Owned = Owned::Of16(2);

    fn layout(length: usize) -> TvLayout {
        of_tile(length, 0)
    }
}

impl VectorLayout for Aligned {
    const NAME: &'static str = "Aligned";
    const OWNED: Owned = Owned::Of16(4);

    fn layout(length: usize) -> TvLayout {
        of_tile(length, 1)
    }
}

/// The maximum number of adjacent elements of a lane: 16 bytes of 16-bit elements.
const MOST_ADJACENT: u32 = 8;

impl VectorLayout for Naive {
    const NAME: &'static str = "Naive";
    const OWNED: Owned = Owned::Divided;

    fn layout(length: usize) -> TvLayout {
        let elements = 16 * length as u32;
        let lanes = owners(length);
        let own = elements / lanes;
        let adjacent = (1 << own.trailing_zeros()).min(MOST_ADJACENT);
        let threads = ((lanes, 32 / lanes), (adjacent, 0));
        let values = ((adjacent, own / adjacent), (1, lanes * adjacent));
        Layout::new((threads.0, values.0), (threads.1, values.1))
            .map_err(Into::into)
            .and_then(|layout| TvLayout::new("naive vector", elements, layout))
            .expect("a vector has few elements")
    }
}

/// The axis of a tile `H`×`W` in layout `L` along which a vector of `N` subtiles in this layout has one element per row (0) or per
/// column (1).
#[diagnostic::on_unimplemented(
    message = "a vector of {N} · 16 elements in layout `{Self}` belongs neither to the rows nor to the columns of a `{L}` tile of {H}×{W} subtiles",
    note = "a `Row` tile takes `Orthogonal` vectors of its height and `Aligned` vectors of its width, a `Col` tile the reverse; \
            `Rv::to_layout` converts"
)]
pub trait Broadcast<L, const H: usize, const W: usize, const N: usize>: VectorLayout {
    /// 0 for one element per row, 1 for one per column.
    const AXIS: usize;
}

impl<const H: usize, const W: usize> Broadcast<Row, H, W, H> for Orthogonal {
    const AXIS: usize = 0;
}

impl<const H: usize, const W: usize> Broadcast<Row, H, W, W> for Aligned {
    const AXIS: usize = 1;
}

impl<const H: usize, const W: usize> Broadcast<Col, H, W, H> for Aligned {
    const AXIS: usize = 0;
}

impl<const H: usize, const W: usize> Broadcast<Col, H, W, W> for Orthogonal {
    const AXIS: usize = 1;
}
