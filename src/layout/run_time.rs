//! Extents and strides that only a launch knows.
//!
//! Tiles are static, matrices are not: in `m × k` with `m`, `k` and the pitch in registers, a tile of 128×64 is still a layout of
//! constants. The algebra never needs those registers. An extent that is not known is [`RUN_TIME_EXTENT`], which bounds
//! nothing but the size; a stride that is not known is a dimension of its own in a [`BasisVector`], so that an offset is a
//! linear form: so many elements, plus so many of each unknown stride. Who emits code adds the products up; what is constant
//! has been folded by then.

use super::basis::BasisVector;
use super::codomain::Codomain;
use super::construct::Layout;
use super::error::LayoutError;

/// Stands for an extent that only a launch knows, in a mode of its own: every power of two up to it divides it, and any other
/// tile rounds up. Edges are for predicates to cut off, by the coordinates of an [identity](Layout::identity).
///
/// ```
/// use warpwright::layout::{BasisVector, Layout, RUN_TIME_EXTENT};
/// // Row-major m×k: dimension 0 counts elements, dimension 1 the unknown pitch.
/// let (element, pitch) = (BasisVector::along(0, 1), BasisVector::along(1, 1));
/// let matrix = Layout::with_stride((RUN_TIME_EXTENT, RUN_TIME_EXTENT), [pitch, element].into_iter().collect())?;
/// let tiles = matrix.zipped_divide((128, 64))?;
/// assert_eq!(tiles.mode(0)?.to_string(), "(128,64):(1@1,1@0)");
/// // Element (5, 7) of tile (2, 3): 64·3 + 7 elements and 128·2 + 5 pitches.
/// assert_eq!(tiles.at(((5, 7), (2, 3)))?.to_string(), "(199,261)");
/// assert_eq!(tiles.bind(&[1, 1000])?.at(((5, 7), (2, 3)))?, 261 * 1000 + 199);
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
pub const RUN_TIME_EXTENT: i64 = 1 << 31;

impl BasisVector {
    /// The number that a linear form has when its dimensions count `units`: missing ones are 0, sums past 64 bits wrap.
    #[must_use]
    pub fn bind(&self, units: &[i64]) -> i64 {
        let terms =
            units.iter().enumerate().map(|(dimension, unit)| self.component(dimension).wrapping_mul(*unit));
        terms.fold(0, i64::wrapping_add)
    }
}

impl Layout<BasisVector> {
    /// The layout of offsets that this one is when its dimensions count `units`, as a launch would tell.
    ///
    /// Post-condition: `result(i) = self(i).bind(units)` for all `i`.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] if the farthest offset passes 64 bits.
    pub fn bind(&self, units: &[i64]) -> Result<Layout, LayoutError> {
        let mut wraps = false;
        let stride = self.stride.map(|stride| {
            let terms =
                units.iter().enumerate().map(|(dimension, unit)| stride.component(dimension).scaled(*unit));
            let exact = terms.into_iter().try_fold(0_i64, |sum, term| sum.checked_add(term?));
            wraps |= exact.is_none();
            exact.unwrap_or(0)
        });
        if wraps {
            return Err(LayoutError::Overflow { what: format!("a stride of {self}") });
        }
        Layout::new(self.shape.clone(), stride)
    }
}
