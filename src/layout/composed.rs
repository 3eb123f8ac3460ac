//! Compositions of a swizzle, an offset and a layout.

use super::construct::Layout;
use super::error::LayoutError;
use super::slice::Slicer;
use super::swizzle::Swizzle;
use super::tuple::{Coord, Shape};

/// The composition `swizzle ∘ offset ∘ layout`, which maps a coordinate `c` to `swizzle(offset + layout(c))`.
///
/// Values are byte offsets, as for TMA boxes and `wgmma` descriptors, unless the layout has been [recast](Self::recast).
///
/// A composed layout has a shape but no strides. [`slice`](Self::slice) fixes coordinates; [`try_map`](Self::try_map) applies other
/// operations, such as divisions, to the inner layout. The textual notation is CuTe's: `Sw<3,4,3> o 0 o (8,64):(128,2)`.
///
/// ```
/// use warpwright::layout::{ComposedLayout, Layout, Swizzle};
/// let rows = Layout::row_major((8, 64))?.scaled(2)?;
/// let tile = ComposedLayout::new(Swizzle::BYTES_128, 0, rows);
/// assert_eq!((tile.at((1, 0))?, tile.at((1, 8))?), (144, 128));
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ComposedLayout {
    swizzle: Swizzle,
    offset: i64,
    layout: Layout,
}

impl ComposedLayout {
    /// Creates `swizzle ∘ offset ∘ layout` from an offset and a layout in bytes.
    #[must_use]
    pub fn new(swizzle: Swizzle, offset: i64, layout: Layout) -> Self {
        ComposedLayout { swizzle, offset, layout }
    }

    /// Returns the swizzle, which is applied last.
    #[must_use]
    pub fn swizzle(&self) -> Swizzle {
        self.swizzle
    }

    /// Returns the offset that is added before the swizzle is applied, in the unit of the inner layout.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.offset
    }

    /// Returns the inner layout, in bytes unless it has been [recast](Self::recast).
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the shape of the domain.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        self.layout.shape()
    }

    /// Returns the number of coordinates.
    #[must_use]
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    /// Returns the value at linear index `index`: a byte offset, unless the layout has been [recast](Self::recast).
    #[must_use]
    pub fn index(&self, index: i64) -> i64 {
        self.swizzle.apply(self.offset.wrapping_add(self.layout.index(index)))
    }

    /// Returns the value at a coordinate: a byte offset, unless the layout has been [recast](Self::recast).
    ///
    /// # Errors
    /// Returns the same errors as [`Layout::at`].
    pub fn at(&self, coord: impl Into<Coord>) -> Result<i64, LayoutError> {
        Ok(self.swizzle.apply(self.offset.wrapping_add(self.layout.at(coord)?)))
    }

    /// Returns the values at linear indices `0..size`, in order.
    pub fn values(&self) -> impl Iterator<Item = i64> + '_ {
        (0..self.size()).map(|index| self.index(index))
    }

    /// Returns the layout of the modes that `at` keeps.
    ///
    /// The offset of the fixed coordinates is added to the offset of this layout before the swizzle is applied.
    ///
    /// Postcondition: for every coordinate `c` of the result, `result(c) = self(d)`, where `d` is `at` with the components of `c` in place
    /// of `..`.
    ///
    /// # Errors
    /// Returns the same errors as [`Layout::slice_and_offset`].
    pub fn slice(&self, at: impl Into<Slicer>) -> Result<ComposedLayout, LayoutError> {
        let (layout, offset) = self.layout.slice_and_offset(at)?;
        Ok(ComposedLayout { offset: self.offset.wrapping_add(offset), layout, ..*self })
    }

    /// Applies `change` to the inner layout and keeps the swizzle and the offset.
    ///
    /// For example, `|l| l.zipped_divide((8, 64))` divides the inner layout into tiles.
    ///
    /// # Errors
    /// Returns the error that `change` returns.
    pub fn try_map(
        &self,
        change: impl FnOnce(&Layout) -> Result<Layout, LayoutError>,
    ) -> Result<ComposedLayout, LayoutError> {
        Ok(ComposedLayout { layout: change(&self.layout)?, ..*self })
    }
}

/// Converts a layout in bytes to a composed layout without a swizzle.
impl From<Layout> for ComposedLayout {
    fn from(layout: Layout) -> Self {
        ComposedLayout::new(Swizzle::NONE, 0, layout)
    }
}

impl std::fmt::Display for ComposedLayout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} o {} o {}", self.swizzle, self.offset, self.layout)
    }
}

impl std::str::FromStr for ComposedLayout {
    type Err = LayoutError;

    /// Parses text such as `Sw<3,4,3> o 0 o (8,64):(128,2)`; an offset of 0 may be omitted.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        super::text::parse_composed(text)
    }
}
