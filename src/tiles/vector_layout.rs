//! Vector layouts as types: how the elements of a vector are distributed over the lanes of a warp.

use std::marker::PhantomData;

use super::element::{Col, RegisterLayout, Row};
use crate::{
    atoms::{ElementWidth, rt_base},
    layout::{Layout, TvLayout},
    ptx::sealed::Sealed,
    tensor::{Length16, Length32, SUBTILE_SIDE, SubtileLength},
};

/// The layout of a vector with one element per row of a [`Row`] tile, or per column of a [`Col`] tile: with lane = 4g + t, a lane owns
/// elements g and g + 8 of every 16, and the four lanes of a quad own the same elements.
#[doc(alias = "ortho")]
#[derive(Clone, Copy, Debug)]
pub enum Orthogonal {}
/// The layout of a vector with one element per column of a [`Row`] tile, or per row of a [`Col`] tile: with lane = 4g + t, a lane owns
/// elements 2t, 2t + 1, 2t + 8 and 2t + 9 of every 16, and the eight lanes with the same t own the same elements.
///
/// Subtiles of 8-bit elements have a length of 32. Vectors along that length are in layout `Aligned<Length32>` and have `N` · 32 elements:
/// a lane owns elements 4t to 4t + 3 and 4t + 16 to 4t + 19 of every 32.
#[doc(alias = "align")]
#[derive(Clone, Copy, Debug)]
pub struct Aligned<S = Length16>(PhantomData<S>);
/// The layout of a vector that does not belong to a tile: each lane owns runs of four or eight adjacent elements, in lane order. If the
/// length is a multiple of 128, each element is owned by exactly one lane; otherwise, several lanes own the same elements. A
/// `Naive<Length32>` vector has `N` · 32 elements.
#[derive(Clone, Copy, Debug)]
pub struct Naive<S = Length16>(PhantomData<S>);

/// The layout of a register vector: [`Orthogonal`], [`Aligned`] or [`Naive`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a vector layout",
    note = "layouts are `Orthogonal`, `Aligned` and `Naive`"
)]
pub trait VectorLayout: Sealed + 'static {
    /// The name of the layout in error messages.
    const NAME: &'static str;
    /// The unit of length in elements: 32 for layouts with the parameter [`Length32`], otherwise 16.
    const UNIT: u32;
    /// The number of vector elements that a lane owns.
    #[doc(hidden)]
    const OWNED: Owned;
    /// The layout, for vectors of the same length, in which elements have the fewest owners.
    #[doc(hidden)]
    type Divided: VectorLayout;
    /// Returns the (lane, value) layout of a vector of `length` · [`UNIT`](Self::UNIT) elements.
    #[doc(hidden)]
    fn layout(length: usize) -> TvLayout;
}

/// The number of vector elements that a lane owns.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum Owned {
    /// The given number of elements out of every 16.
    Of16(usize),
    /// At least four elements, which fill a register of 8-bit elements. If lanes own more elements in total than the vector has, several
    /// lanes own the same elements.
    Divided,
}

impl Owned {
    /// Returns the number of elements that a lane owns in a vector of `elements` elements.
    pub(super) const fn of(self, elements: usize) -> usize {
        match self {
            Self::Of16(count) => count * elements / 16,
            Self::Divided => elements / owners(elements) as usize,
        }
    }
}

/// Returns the number of lanes among which a [`Naive`] vector of `elements` elements is divided.
const fn owners(elements: usize) -> u32 {
    let most = (elements / 4).trailing_zeros();
    1 << if most < 5 { most } else { 5 }
}

/// Returns the layout of a vector along an axis of a row tile with subtiles of length `S`. The vector extends over `length` subtiles.
fn of_tile<S: SubtileLength>(length: usize, axis: usize) -> TvLayout {
    let (height, width) = if axis == 0 { (length as u32, 1) } else { (1, length as u32) };
    let element = if S::ELEMENTS == Length32::ELEMENTS { ElementWidth::B8 } else { ElementWidth::B32 };
    let tile = TvLayout::tiled(&rt_base(Row::LAYOUT, element), height, width);
    tile.and_then(|tile| tile.vector(axis)).expect("a register tile has few elements and two axes")
}

impl Sealed for Orthogonal {}
impl<S> Sealed for Aligned<S> {}
impl<S> Sealed for Naive<S> {}

impl VectorLayout for Orthogonal {
    const NAME: &'static str = "Orthogonal";
    const UNIT: u32 = SUBTILE_SIDE;
    const OWNED: Owned = Owned::Of16(2);
    type Divided = Naive;

    fn layout(length: usize) -> TvLayout {
        of_tile::<Length16>(length, 0)
    }
}

impl<S: SubtileLength> VectorLayout for Aligned<S> {
    const NAME: &'static str =
        if S::ELEMENTS == Length16::ELEMENTS { "Aligned" } else { "Aligned<Length32>" };
    const UNIT: u32 = S::ELEMENTS;
    const OWNED: Owned = Owned::Of16(4);
    type Divided = Naive<S>;

    fn layout(length: usize) -> TvLayout {
        of_tile::<S>(length, 1)
    }
}

/// The maximum number of adjacent elements that a lane owns: 16 bytes of 16-bit elements.
const MOST_ADJACENT: u32 = 8;

impl<S: SubtileLength> VectorLayout for Naive<S> {
    const NAME: &'static str = if S::ELEMENTS == Length16::ELEMENTS { "Naive" } else { "Naive<Length32>" };
    const UNIT: u32 = S::ELEMENTS;
    const OWNED: Owned = Owned::Divided;
    type Divided = Self;

    fn layout(length: usize) -> TvLayout {
        let elements = S::ELEMENTS * length as u32;
        let lanes = owners(elements as usize);
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

/// A layout in which a vector of `N` subtiles can be broadcast to a tile of `H`×`W` subtiles in layout `L`. `S` is the length of the tile's
/// subtiles: [`Length32`] for tiles of 8-bit elements, otherwise [`Length16`].
#[diagnostic::on_unimplemented(
    message = "a vector of {N} subtiles in layout `{Self}` belongs neither to the rows nor to the columns of a `{L}` tile of {H}×{W} subtiles",
    note = "a `Row` tile takes `Orthogonal` vectors of its height and `Aligned` vectors of its width, a `Col` tile the reverse; \
            `Rv::to_layout` converts",
    note = "tiles of 8-bit elements take `Aligned<Length32>` vectors, of 32 elements per subtile; `Rv::to_vector` converts"
)]
pub trait Broadcast<L, const H: usize, const W: usize, const N: usize, S = Length16>: VectorLayout {
    /// 0 if the vector has one element per row of the tile, 1 if it has one per column.
    const AXIS: usize;
}

impl<S, const H: usize, const W: usize> Broadcast<Row, H, W, H, S> for Orthogonal {
    const AXIS: usize = 0;
}

impl<S: SubtileLength, const H: usize, const W: usize> Broadcast<Row, H, W, W, S> for Aligned<S> {
    const AXIS: usize = 1;
}

impl<S: SubtileLength, const H: usize, const W: usize> Broadcast<Col, H, W, H, S> for Aligned<S> {
    const AXIS: usize = 0;
}

impl<S, const H: usize, const W: usize> Broadcast<Col, H, W, W, S> for Orthogonal {
    const AXIS: usize = 1;
}
