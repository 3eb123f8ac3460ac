//! Steps along an axis of a tile, for reductions, broadcasts and masks.

use super::{TvError, TvLayout};
use crate::layout::{
    basis::BasisVector,
    construct::{Layout, Mode, flat_modes},
};

/// The bits of the thread index and the modes of the value index that vary along one axis of a tile.
///
/// Starting from any value of any thread, the combinations of these bits and modes reach all owned elements on the same line along the axis
/// (in a matrix, in the same row or column). A reduction along the axis therefore first combines the [`values`](Self::values) of each
/// thread, and then exchanges the results between threads whose indices differ in the [`thread_bits`](Self::thread_bits).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Along {
    /// The bits of the thread index, lowest first; bits 0 to 4 are the bits of the lane index.
    pub thread_bits: Vec<ThreadBit>,
    /// The values of a thread on one line, given as value indices relative to the first value on the line.
    pub values: Layout,
    /// The distance from the first value along the axis, in elements, for each index of [`values`](Self::values).
    pub offsets: Layout,
}

/// A bit of the thread index that varies along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadBit {
    /// The index of the bit; the lowest bit has index 0.
    pub bit: u32,
    /// The distance along the axis, in elements, between two threads that differ only in this bit.
    pub offset: i64,
}

impl TvLayout {
    /// Returns the bits of the thread index and the modes of the value index that vary along `axis`.
    ///
    /// An axis is a mode of the tile. In a matrix, rows extend along axis 1, and columns extend along axis 0. Bits and modes that do not
    /// vary along any axis, because several threads or values own the same element, are omitted.
    ///
    /// # Errors
    /// Returns [`TvError::Axis`] if the axis does not exist in the tile, [`TvError::Diagonal`] or [`TvError::Wraps`] if a mode of the
    /// layout varies along several axes, and [`TvError::Bits`] if the threads along the axis do not correspond to bits of the thread index.
    ///
    /// ```
    /// use warpwright::atoms::{ElementWidth, TileLayout, rt_base};
    /// // With lane = 4g + t: value e + 2p + 4q is at row g + 8p, column 2t + e + 8q.
    /// let row = rt_base(TileLayout::Row, ElementWidth::B32).along(1)?;
    /// assert_eq!(row.values.to_string(), "(2,2):(1,4)"); // e and q
    /// assert_eq!(row.offsets.to_string(), "(2,2):(1,8)");
    /// let bits: Vec<_> = row.thread_bits.iter().map(|bit| (bit.bit, bit.offset)).collect();
    /// assert_eq!(bits, [(0, 2), (1, 4)]); // t
    /// # Ok::<(), warpwright::layout::TvError>(())
    /// ```
    pub fn along(&self, axis: usize) -> Result<Along, TvError> {
        self.check_axis(axis)?;
        let coords = self.coords()?;
        let mut thread_bits = Vec::new();
        for Digit { extent, step, offset } in self.digits(&coords, 0, axis)? {
            if !(extent as u64).is_power_of_two() || !(step as u64).is_power_of_two() {
                return Err(TvError::Bits { name: self.name.clone(), axis, extent, step });
            }
            let bits = (0..extent.trailing_zeros()).map(|bit| (step.trailing_zeros() + bit, offset << bit));
            thread_bits.extend(bits.map(|(bit, offset)| ThreadBit { bit, offset }));
        }
        let values = self.digits(&coords, 1, axis)?;
        let modes = |stride: fn(&Digit) -> i64| {
            Layout::from_flat(values.iter().map(|d| Mode { extent: d.extent, stride: stride(d) }).collect())
        };
        Ok(Along { thread_bits, values: modes(|digit| digit.step), offsets: modes(|digit| digit.offset) })
    }

    pub(super) fn check_axis(&self, axis: usize) -> Result<(), TvError> {
        if axis < self.shape.rank() {
            return Ok(());
        }
        let (name, shape) = (self.name.clone(), self.shape.to_string());
        Err(TvError::Axis { name, shape, axis })
    }

    /// Returns the layout that maps (thread, value) to a coordinate, with one dimension per mode of the tile. Steps that would carry from
    /// one mode to the next are rejected.
    pub(super) fn coords(&self) -> Result<Layout<BasisVector>, TvError> {
        let identity = Layout::identity(self.shape.product_each())?;
        let composed = identity.compose_layout(&self.layout);
        composed.map_err(|fault| TvError::Wraps { name: self.name.clone(), fault: Box::new(fault) })
    }

    /// Returns the modes of the thread index (`mode` 0) or the value index (`mode` 1) that vary along an axis.
    fn digits(&self, coords: &Layout<BasisVector>, mode: usize, axis: usize) -> Result<Vec<Digit>, TvError> {
        let (mut step, mut digits) = (1, Vec::new());
        for Mode { extent, stride } in flat_modes(&coords.shape.modes()[mode], &coords.stride.modes()[mode]) {
            let offset = stride.component(axis);
            if extent > 1 && offset != 0 {
                if stride != BasisVector::along(axis, offset) {
                    let (name, displacement) =
                        (self.name.clone(), stride.coord(self.shape.rank()).to_string());
                    return Err(TvError::Diagonal {
                        name,
                        index: ["thread", "value"][mode],
                        step,
                        displacement,
                    });
                }
                digits.push(Digit { extent, step, offset });
            }
            step *= extent;
        }
        Ok(digits)
    }
}

/// A digit of the thread index or of the value index.
struct Digit {
    extent: i64,
    /// The step of the digit in the index.
    step: i64,
    /// The step of the digit along the axis, in elements.
    offset: i64,
}
