//! Dynamic extents and strides, which are known only at launch.
//!
//! Tiles are static, but matrices are not: for an `m × k` matrix with `m`, `k` and the pitch in registers, a 128×64 tile is still a layout
//! of constants, and the algebra does not need those registers. A dynamic extent is represented by [`DYNAMIC_EXTENT`], which serves only as
//! a bound on sizes. A dynamic stride is represented by a dimension of a [`BasisVector`], so an offset is a linear form: a constant plus a
//! multiple of each dynamic stride. The code generator adds the products last, after all constants have been folded.

use super::basis::BasisVector;
use super::codomain::Codomain;
use super::construct::Layout;
use super::error::LayoutError;

/// The placeholder for an extent that is known only at launch.
///
/// A dynamic extent requires a mode of its own. The placeholder is a power of 2; for tile sizes that do not divide it, the number of tiles
/// is rounded up. Accesses at the edges require predicates on the coordinates of an [identity](Layout::identity) layout.
///
/// ```
/// use warpwright::layout::{BasisVector, Layout, DYNAMIC_EXTENT};
/// // Row-major m×k: dimension 0 counts elements, dimension 1 the unknown pitch.
/// let (element, pitch) = (BasisVector::along(0, 1), BasisVector::along(1, 1));
/// let matrix = Layout::with_stride((DYNAMIC_EXTENT, DYNAMIC_EXTENT), [pitch, element].into_iter().collect())?;
/// let tiles = matrix.zipped_divide((128, 64))?;
/// assert_eq!(tiles.mode(0)?.to_string(), "(128,64):(1@1,1@0)");
/// // Element (5, 7) of tile (2, 3): 64·3 + 7 elements and 128·2 + 5 pitches.
/// assert_eq!(tiles.at(((5, 7), (2, 3)))?.to_string(), "(199,261)");
/// assert_eq!(tiles.bind(&[1, 1000])?.at(((5, 7), (2, 3)))?, 261 * 1000 + 199);
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
pub const DYNAMIC_EXTENT: i64 = 1 << 31;

impl BasisVector {
    /// Returns the dot product of this vector and `units`.
    ///
    /// The shorter vector is padded with zeros. The arithmetic wraps at 64 bits.
    #[must_use]
    pub fn bind(&self, units: &[i64]) -> i64 {
        let terms =
            units.iter().enumerate().map(|(dimension, unit)| self.component(dimension).wrapping_mul(*unit));
        terms.fold(0, i64::wrapping_add)
    }
}

impl Layout<BasisVector> {
    /// Returns the layout with coordinates converted to offsets: one step along dimension `i` is `units[i]` elements.
    ///
    /// Postcondition: `result(i) = self(i).bind(units)` for all `i`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Overflow`] if a stride or the largest offset exceeds 64 bits.
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
