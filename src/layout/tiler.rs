//! Tilers: what composition, divides and products take on their right.

use std::ops::RangeFull;

use super::construct::Layout;
use super::error::LayoutError;
use super::tuple::{Tuple, saturate};

/// A leaf of a [`Tiler`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tile {
    /// Leave the mode (CuTe's `_`, here `..`).
    #[doc(alias = "_")]
    Keep,
    /// The layout `n:1`.
    Extent(i64),
    /// A layout, applied to the whole mode whatever its own nesting.
    Layout(Layout),
}

/// A layout for the whole, or a tuple of tilers, one for each mode.
///
/// ```
/// use warpwright::layout::{Layout, Tiler};
/// let whole = Tiler::from(Layout::new((4, 8), (1, 4))?);
/// let by_mode = Tiler::from((Layout::new(4, 1)?, 8, ..));
/// assert_eq!((whole.to_string(), by_mode.to_string()), ("(4,8):(1,4)".into(), "(4:1,8,_)".into()));
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
pub type Tiler = Tuple<Tile>;

impl Tile {
    /// The layout this leaf stands for, or none for a mode to keep.
    pub(super) fn layout(&self) -> Result<Option<Layout>, LayoutError> {
        match self {
            Tile::Keep => Ok(None),
            Tile::Extent(extent) => Layout::column_major(*extent).map(Some),
            Tile::Layout(layout) => Ok(Some(layout.clone())),
        }
    }
}

impl From<RangeFull> for Tiler {
    fn from(_: RangeFull) -> Self {
        Tuple::Leaf(Tile::Keep)
    }
}

impl From<Layout> for Tiler {
    fn from(layout: Layout) -> Self {
        Tuple::Leaf(Tile::Layout(layout))
    }
}

impl From<&Layout> for Tiler {
    fn from(layout: &Layout) -> Self {
        Tiler::from(layout.clone())
    }
}

macro_rules! from_integers {
    ($($integer:ty)+) => {$(
        impl From<$integer> for Tiler {
            fn from(extent: $integer) -> Self {
                Tuple::Leaf(Tile::Extent(saturate(extent)))
            }
        }
    )+};
}

from_integers!(i64 i32 u32 usize);

/// Applies `whole` at the leaves of `tiler`, mode by mode; modes past the tiler's are kept or dropped.
pub(super) fn by_mode<D, F>(
    layout: &Layout<D>,
    tiler: &Tiler,
    operation: &'static str,
    rest: Rest,
    whole: &F,
) -> Result<Layout<D>, LayoutError>
where
    D: super::codomain::Codomain,
    F: Fn(&Layout<D>, &Layout) -> Result<Layout<D>, LayoutError>,
{
    let parts = match tiler {
        Tuple::Leaf(tile) => {
            return match tile.layout()? {
                Some(tile) => whole(layout, &tile),
                None => Ok(layout.clone()),
            };
        }
        Tuple::Node(parts) => parts,
    };
    if parts.len() > layout.rank() {
        let (wanted, found) = (layout.rank(), parts.len());
        return Err(LayoutError::Rank { operation, wanted, found, value: tiler.to_string() });
    }
    let mut modes = Vec::with_capacity(layout.rank());
    for (index, mode) in layout.modes().enumerate() {
        match (parts.get(index), rest) {
            (Some(part), _) => modes.push(by_mode(&mode, part, operation, rest, whole)?),
            (None, Rest::Keep) => modes.push(mode),
            (None, Rest::Drop) => break,
        }
    }
    Ok(Layout::concat(modes))
}

/// What becomes of a layout's modes past the tiler's.
#[derive(Clone, Copy)]
pub(super) enum Rest {
    Keep,
    Drop,
}
