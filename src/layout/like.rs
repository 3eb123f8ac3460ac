//! Compact layouts modeled on another layout.

use super::construct::{Layout, Ties, compact_column_major, flat_modes, strides_by_order};
use super::error::LayoutError;
use super::tuple::{Shape, Stride};

impl Layout {
    /// Returns a compact layout with the same shape and the same order of strides.
    ///
    /// Broadcast modes (stride 0) remain broadcast. Modes of equal stride share offsets in `self`, and also in the result.
    ///
    /// Postconditions: the shape is unchanged; modes with different strides keep their order; a mode of the result has stride 0 if and only
    /// if it is a broadcast mode or has extent 1; if `self` is compact, the result represents the same function.
    #[doc(alias = "make_layout_like")]
    #[must_use]
    pub fn like(&self) -> Layout {
        let filtered = filter_zeros(&self.shape, &self.stride);
        Layout { shape: self.shape.clone(), stride: strides_like(&filtered, &self.stride) }
    }

    /// Returns a compact register layout for a fragment with the elements of `self`.
    ///
    /// Mode 0, which contains the values of one instruction, varies fastest and becomes column-major; its broadcast modes are kept. The
    /// other modes follow in the order of their strides, broadcast modes first. Modes of equal stride share offsets in `self` and share
    /// registers in the result. A layout of rank 1 becomes column-major.
    ///
    /// Postcondition: for an injective layout, the result is a bijection onto registers `0..size`.
    ///
    /// # Errors
    /// Returns the same errors as [`logical_product`](Self::logical_product), which occur only on 64-bit overflow.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let partition = Layout::new(((2, 2), 7, 4), ((336, 8), 48, 1))?;
    /// assert_eq!(partition.fragment_like()?.to_string(), "((2,2),7,4):((1,2),16,4)");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[doc(alias = "make_fragment_like")]
    pub fn fragment_like(&self) -> Result<Layout, LayoutError> {
        if self.rank() < 2 {
            return Layout::column_major(&self.shape);
        }
        let first = self.mode(0)?;
        let filtered = filter_zeros(&first.shape, &first.stride);
        let first = Layout { stride: compact_column_major(&filtered, &mut 1), shape: first.shape };
        let rest = self.take(1, self.rank())?;
        let rest = Layout { stride: strides_like(&rest.shape, &rest.stride), shape: rest.shape };
        first.tiled_product(rest)
    }
}

/// Returns compact strides for `shape` in the order of `stride`, with the same nesting.
fn strides_like(shape: &Shape, stride: &Stride) -> Stride {
    let extents: Vec<i64> = shape.leaves().copied().collect();
    let keys: Vec<i64> = stride.leaves().copied().collect();
    let mut strides = strides_by_order(&extents, &keys, Ties::Share).into_iter();
    shape.map(|_| strides.next().unwrap_or(0))
}

/// Returns the shape with 1 in place of every broadcast extent.
fn filter_zeros(shape: &Shape, stride: &Stride) -> Shape {
    let mut modes = flat_modes(shape, stride).into_iter();
    shape.map(|&extent| {
        let broadcast = modes.next().is_some_and(|mode| mode.stride == 0);
        if broadcast { 1 } else { extent }
    })
}
