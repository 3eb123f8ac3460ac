//! Compact layouts in the image of another.

use super::codomain::Codomain;
use super::construct::{Layout, Mode, compact_column_major, flat_modes, strides_by_order};
use super::error::LayoutError;
use super::tuple::{IntTuple, Shape, Stride};

impl Layout {
    /// Compact, of the same shape, with strides in the same order; broadcast modes (stride 0) stay broadcast.
    #[doc(alias = "make_layout_like")]
    #[must_use]
    pub fn like(&self) -> Layout {
        let mut modes: Vec<Mode> = flat_modes(&self.shape, &self.stride);
        let kept = modes.iter().map(|mode| if mode.stride == 0 { 1 } else { mode.extent });
        let extents: Vec<i64> = kept.collect();
        let keys: Vec<i64> = modes.iter().map(|mode| mode.stride).collect();
        for (mode, stride) in modes.iter_mut().zip(strides_by_order(&extents, &keys)) {
            mode.stride = stride;
        }
        Layout { shape: self.shape.clone(), stride: refill(&self.shape, &mut modes.into_iter()) }
    }

    /// Compact, for registers that hold what this layout addresses: mode 0 (an instruction's values) fastest and
    /// column-major, broadcast modes within it kept; the other modes in the order of their strides.
    ///
    /// # Errors
    /// As [`Layout::new`].
    #[doc(alias = "make_fragment_like")]
    pub fn fragment_like(&self) -> Result<Layout, LayoutError> {
        if self.rank() < 2 {
            return Layout::column_major(&self.shape);
        }
        let first = self.mode(0)?;
        let filtered = filter_zeros(&first.shape, &first.stride);
        let first = Layout { stride: compact_column_major(&filtered, &mut 1), shape: first.shape };
        let rest_shape: IntTuple = self.shape.modes()[1..].iter().cloned().collect();
        let rest_order: IntTuple = self.stride.modes()[1..].iter().cloned().collect();
        first.tiled_product(Layout::ordered(rest_shape, rest_order)?)
    }
}

/// The shape with 1 in place of every extent that is broadcast.
fn filter_zeros<D: Codomain>(shape: &Shape, stride: &Stride<D>) -> Shape {
    let mut modes = flat_modes(shape, stride).into_iter();
    shape.map(|&extent| {
        let broadcast = modes.next().is_some_and(|mode| mode.stride == D::zero());
        if broadcast { 1 } else { extent }
    })
}

fn refill(shape: &Shape, modes: &mut impl Iterator<Item = Mode>) -> Stride {
    shape.map(|_| modes.next().map_or(0, |mode| mode.stride))
}
