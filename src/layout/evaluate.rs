//! Conversion between coordinates and offsets.

use super::codomain::Codomain;
use super::construct::Layout;
use super::error::{LayoutError, Trail};
use super::tuple::{Coord, IntTuple, Shape, Stride, Tuple};

impl<D: Codomain> Layout<D> {
    /// Returns the shape.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the stride, nested like the shape.
    #[must_use]
    pub fn stride(&self) -> &Stride<D> {
        &self.stride
    }

    /// Returns the number of top-level modes, which is 1 if the shape is an integer.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.shape.rank()
    }

    /// Returns the nesting depth, which is 0 if the shape is an integer.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.shape.depth()
    }

    /// Returns the size of the domain, which is the product of the extents.
    #[must_use]
    pub fn size(&self) -> i64 {
        self.shape.size()
    }

    /// Returns the value at linear index `index`.
    ///
    /// Indices past the end continue along the last mode, as in CuTe.
    #[must_use]
    pub fn index(&self, index: i64) -> D {
        let mut value = D::zero();
        accumulate(&self.shape, &self.stride, index, &mut value);
        value
    }

    /// Returns the value at a coordinate.
    ///
    /// A coordinate is an integer or a possibly nested tuple. An integer in place of a tuple is a linear index into a nested mode.
    /// Coordinates past an extent are valid; the layout is extrapolated.
    ///
    /// # Errors
    /// Returns [`LayoutError::Coordinate`] if the nesting of the coordinate does not match the shape.
    #[doc(alias = "crd2idx")]
    pub fn at(&self, coord: impl Into<Coord>) -> Result<D, LayoutError> {
        let mut value = D::zero();
        let coord = coord.into();
        accumulate_coord(&self.shape, &self.stride, &coord, &Trail::Root, &mut value)?;
        Ok(value)
    }

    /// Returns the values at linear indices `0..size`, in order.
    pub fn values(&self) -> impl Iterator<Item = D> + '_ {
        let leaves: Vec<_> = self.shape.leaves().zip(self.stride.leaves()).collect();
        let (mut digits, mut value) = (vec![0_i64; leaves.len()], D::zero());
        (0..self.size()).map(move |_| {
            let current = value.clone();
            for (digit, &(&extent, stride)) in digits.iter_mut().zip(&leaves) {
                value.step(stride, 1);
                *digit += 1;
                if *digit < extent {
                    break;
                }
                value.step(stride, -extent);
                *digit = 0;
            }
            current
        })
    }
}

impl Layout {
    /// Returns 1 plus the sum of (extent − 1) · |stride| over all modes. If no stride is negative, this is 1 plus the largest offset.
    #[must_use]
    pub fn cosize(&self) -> i64 {
        // The constructor checked that the span fits.
        self.reach().map_or(i64::MAX, |reach| reach.saturating_add(1))
    }

    /// Returns a mask of the bits that may be set in an offset.
    ///
    /// Postcondition: `self(i) & !result = 0` for all `i < size`. The mask may include bits that are not set in any offset if modes carry
    /// into one another, or if an extent or a stride is not a power of 2. If a mode with an extent above 1 has a negative stride, all bits
    /// are set.
    #[must_use]
    pub fn bits(&self) -> i64 {
        let modes: Vec<(i64, i64)> = self
            .shape
            .leaves()
            .zip(self.stride.leaves())
            .map(|(extent, stride)| (*extent - 1, *stride))
            .filter(|(steps, stride)| *steps > 0 && *stride != 0)
            .collect();
        if modes.iter().any(|(_, stride)| *stride < 0) {
            return -1;
        }
        let apart = modes.iter().try_fold(0, |bits, (steps, stride)| {
            let own = bits_between(*stride, steps * stride);
            (bits & own == 0).then_some(bits | own)
        });
        apart.unwrap_or_else(|| {
            let strides = modes.iter().fold(0, |all, (_, stride)| all | stride);
            bits_between(strides, self.cosize() - 1)
        })
    }

    /// Returns the coordinate of an offset: for each extent, `(offset / stride) mod extent`, or 0 if the stride is 0 (CuTe's `idx2crd` with
    /// a stride).
    ///
    /// Postcondition for a compact layout: `self.at(result) = offset` for every offset of the layout.
    #[doc(alias = "idx2crd")]
    #[must_use]
    pub fn coord_of_offset(&self, offset: i64) -> Coord {
        let mut extents = self.shape.leaves();
        self.stride.map(|stride| {
            let extent = extents.next().copied().unwrap_or(1);
            offset.checked_div(*stride).map_or(0, |steps| steps.wrapping_rem(extent))
        })
    }

    /// Returns whether distinct coordinates have distinct offsets. Enumerates all coordinates.
    #[must_use]
    pub fn is_injective(&self) -> bool {
        let mut offsets: Vec<i64> = self.values().collect();
        offsets.sort_unstable();
        offsets.windows(2).all(|pair| pair[0] != pair[1])
    }

    /// Returns whether the offsets are exactly `0..size`. Enumerates all coordinates.
    #[must_use]
    pub fn is_bijective(&self) -> bool {
        let mut offsets: Vec<i64> = self.values().collect();
        offsets.sort_unstable();
        offsets.iter().zip(0..).all(|(offset, index)| *offset == index)
    }
}

/// Returns a mask of the bits from the lowest set bit of `low` to the highest set bit of `high`, both of which must be positive.
fn bits_between(low: i64, high: i64) -> i64 {
    let below = |bits: u32| if bits == 0 { 0 } else { i64::MAX >> (63 - bits) };
    below(i64::BITS - high.leading_zeros()) & !below(low.trailing_zeros())
}

/// Returns the coordinate of linear index `index`, nested like `shape`.
///
/// The last leaf is not limited by its extent. Every extent must be at least 1; otherwise, the result is unspecified.
///
/// ```
/// use warpwright::layout::{IntTuple, coord_of_index};
/// assert_eq!(coord_of_index(9, &IntTuple::from((4, (2, 2)))).to_string(), "(1,(0,1))");
/// ```
#[doc(alias = "idx2crd")]
#[must_use]
pub fn coord_of_index(index: i64, shape: &Shape) -> Coord {
    match shape {
        Tuple::Leaf(_) => Tuple::Leaf(index),
        Tuple::Node(modes) => {
            let mut rest = index;
            let last = modes.len().saturating_sub(1);
            let split = |(position, mode): (usize, &Shape)| {
                let size = mode.size();
                let here = if position == last { rest } else { rest.checked_rem(size).unwrap_or(0) };
                rest = rest.checked_div(size).unwrap_or(0);
                coord_of_index(here, mode)
            };
            modes.iter().enumerate().map(split).collect()
        }
    }
}

/// Returns the linear index of a coordinate of `shape`.
///
/// # Errors
/// Returns [`LayoutError::Coordinate`] if the nesting of the coordinate does not match the shape.
#[doc(alias = "crd2idx")]
pub fn index_of_coord(coord: &Coord, shape: &Shape) -> Result<i64, LayoutError> {
    linear_index(coord, shape, &Trail::Root)
}

/// Converts a coordinate of `from` to the coordinate of `to` with the same linear index.
///
/// # Errors
/// Returns [`LayoutError::Coordinate`] if the nesting of the coordinate does not match `from`.
#[doc(alias = "crd2crd")]
pub fn coord_to_coord(coord: &Coord, from: &Shape, to: &Shape) -> Result<Coord, LayoutError> {
    Ok(coord_of_index(index_of_coord(coord, from)?, to))
}

fn linear_index(coord: &Coord, shape: &Shape, path: &Trail<'_>) -> Result<i64, LayoutError> {
    match (coord, shape) {
        (Tuple::Leaf(index), _) => Ok(*index),
        (Tuple::Node(c), Tuple::Node(s)) if c.len() == s.len() => {
            let (mut index, mut unit) = (0_i64, 1_i64);
            for (position, (c, s)) in c.iter().zip(s).enumerate() {
                let here = linear_index(c, s, &path.child(position))?;
                index = index.wrapping_add(here.wrapping_mul(unit));
                unit = unit.wrapping_mul(s.size());
            }
            Ok(index)
        }
        _ => Err(misfit(coord, shape, path)),
    }
}

/// Returns the number of coordinates, at least 1, or the maximum if it does not fit in 64 bits.
fn saturating_size(shape: &Shape) -> i64 {
    let size = match shape {
        Tuple::Leaf(extent) => *extent,
        Tuple::Node(modes) => {
            modes.iter().fold(1, |size: i64, mode| size.saturating_mul(saturating_size(mode)))
        }
    };
    size.max(1)
}

fn accumulate<D: Codomain>(shape: &Shape, stride: &Stride<D>, index: i64, value: &mut D) {
    match (shape, stride) {
        (_, Tuple::Leaf(stride)) => value.step(stride, index),
        (shape, Tuple::Node(strides)) => {
            let modes = shape.modes();
            let mut rest = index;
            for (position, (mode, stride)) in modes.iter().zip(strides).enumerate() {
                if position + 1 == modes.len() {
                    accumulate(mode, stride, rest, value);
                } else {
                    // The size of concatenated modes may exceed 64 bits, and then every index.
                    let size = saturating_size(mode);
                    accumulate(mode, stride, rest % size, value);
                    rest /= size;
                }
            }
        }
    }
}

fn accumulate_coord<D: Codomain>(
    shape: &Shape,
    stride: &Stride<D>,
    coord: &Coord,
    path: &Trail<'_>,
    value: &mut D,
) -> Result<(), LayoutError> {
    match (coord, shape, stride) {
        (Tuple::Leaf(index), _, _) => {
            accumulate(shape, stride, *index, value);
            Ok(())
        }
        (Tuple::Node(c), Tuple::Node(s), Tuple::Node(d)) if c.len() == s.len() => {
            for (position, ((c, s), d)) in c.iter().zip(s).zip(d).enumerate() {
                accumulate_coord(s, d, c, &path.child(position), value)?;
            }
            Ok(())
        }
        _ => Err(misfit(coord, shape, path)),
    }
}

fn misfit(coord: &IntTuple, shape: &Shape, path: &Trail<'_>) -> LayoutError {
    LayoutError::Coordinate { mode: path.to_path(), coord: coord.to_string(), shape: shape.to_string() }
}
