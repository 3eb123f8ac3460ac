//! Tilers: the right operands of composition, division and products.

use std::ops::RangeFull;

use super::codomain::Codomain;
use super::construct::Layout;
use super::error::LayoutError;
use super::tuple::{Tuple, saturate};

/// A leaf of a [`Tiler`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Tile {
    /// Keeps the mode (CuTe's `_`, here `..`).
    #[doc(alias = "_")]
    Keep,
    /// An extent `n`: the layout `n:1`.
    Extent(i64),
    /// A layout, applied to the whole mode regardless of the mode's nesting.
    Layout(Layout),
}

/// A single [`Tile`] for the whole domain, or a tuple of tilers, one per mode.
///
/// ```
/// use warpwright::layout::{Layout, Tiler};
/// let whole = Tiler::from(Layout::new((4, 8), (1, 4))?);
/// let by_mode = Tiler::from((Layout::new(4, 1)?, 8, ..));
/// assert_eq!((whole.to_string(), by_mode.to_string()), ("(4,8):(1,4)".into(), "(4:1,8,_)".into()));
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
pub type Tiler = Tuple<Tile>;

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

/// An operation that a tiler applies mode by mode.
pub(super) struct ByMode<F> {
    /// The operation, for errors.
    pub(super) operation: &'static str,
    /// The layout that an extent denotes.
    pub(super) extent: fn(i64) -> Result<Layout, LayoutError>,
    /// Whether modes past the end of the tiler are kept.
    pub(super) keep_rest: bool,
    /// Applies a layout to a mode.
    pub(super) whole: F,
}

impl<F> ByMode<F> {
    pub(super) fn apply<D>(&self, layout: &Layout<D>, tiler: &Tiler) -> Result<Layout<D>, LayoutError>
    where
        D: Codomain,
        F: Fn(&Layout<D>, &Layout) -> Result<Layout<D>, LayoutError>,
    {
        let parts = match tiler {
            Tuple::Leaf(Tile::Keep) => return Ok(layout.clone()),
            Tuple::Leaf(Tile::Extent(extent)) => return (self.whole)(layout, &(self.extent)(*extent)?),
            Tuple::Leaf(Tile::Layout(tile)) => return (self.whole)(layout, tile),
            Tuple::Node(parts) => parts,
        };
        if parts.len() > layout.rank() {
            let (expected, found) = (layout.rank(), parts.len());
            let operation = self.operation;
            return Err(LayoutError::Rank { operation, expected, found, value: tiler.to_string() });
        }
        let mut modes = Vec::with_capacity(layout.rank());
        for (index, mode) in layout.modes().enumerate() {
            match parts.get(index) {
                Some(part) => modes.push(self.apply(&mode, part).map_err(|fault| fault.within(index))?),
                None if self.keep_rest => modes.push(mode),
                None => break,
            }
        }
        Ok(Layout::concat(modes))
    }
}
