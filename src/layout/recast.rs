//! Changes of unit: bits to elements, elements to vectors, and back.

use super::complement::ceil_div;
use super::composed::ComposedLayout;
use super::construct::{Layout, Mode, flat_modes};
use super::error::{LayoutError, ModePath, at_least_1};
use super::tuple::{Shape, Stride};

impl Layout {
    /// Returns the layout in units that are `factor` times as large.
    ///
    /// Strides that are multiples of `factor` are divided by it. For a smaller stride, which must divide `factor`, the extent is divided by
    /// `factor / |stride|`, rounding up, and the stride becomes ±1. Strides of 0 remain 0.
    ///
    /// Postcondition: if no extent is rounded up, a compact layout becomes a compact layout of `size / factor` elements.
    ///
    /// # Errors
    /// Returns [`LayoutError::Upcast`] if a stride neither divides `factor` nor is a multiple of it, and [`LayoutError::TooSmall`] if the
    /// factor is below 1.
    pub fn upcast(&self, factor: i64) -> Result<Layout, LayoutError> {
        at_least_1("upcast factor", factor)?;
        let mut modes = Vec::new();
        for (mode, path) in flat_modes(&self.shape, &self.stride).into_iter().zip(self.shape.leaf_paths()) {
            let Mode { extent, stride } = mode;
            let step = stride.abs();
            if stride != 0 && step % factor != 0 && factor % step != 0 {
                let layout = self.to_string();
                return Err(LayoutError::Upcast { layout, factor, mode: path, extent, stride });
            }
            modes.push(match stride {
                0 => mode,
                _ => Mode {
                    extent: ceil_div(extent, ceil_div(factor, step)),
                    stride: ceil_div(step, factor) * stride.signum(),
                },
            });
        }
        Ok(self.with_modes(modes))
    }

    /// Returns the layout in units that are smaller by a factor of `factor`.
    ///
    /// The extents of modes with stride ±1 and the strides of all other modes are multiplied by `factor`.
    ///
    /// Postcondition: `result.upcast(factor) = self`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Downcast`] if no mode has stride 1, [`LayoutError::Overflow`] on 64-bit overflow, and
    /// [`LayoutError::TooSmall`] if the factor is below 1.
    pub fn downcast(&self, factor: i64) -> Result<Layout, LayoutError> {
        at_least_1("downcast factor", factor)?;
        let modes = flat_modes(&self.shape, &self.stride);
        if modes.iter().all(|mode| mode.stride != 1) {
            return Err(self.no_unit(factor));
        }
        let finer = modes.iter().map(|&Mode { extent, stride }| match stride {
            1 | -1 => Some(Mode { extent: extent.checked_mul(factor)?, stride }),
            _ => Some(Mode { extent, stride: stride.checked_mul(factor)? }),
        });
        let overflow = || LayoutError::Overflow { what: format!("{self} in units {factor} times smaller") };
        let finer = self.with_modes(finer.collect::<Option<Vec<_>>>().ok_or_else(overflow)?);
        Layout::new(finer.shape, finer.stride)
    }

    /// Returns the layout in units of `new_bits` bits instead of `old_bits` bits.
    ///
    /// The conversion is a [`downcast`](Self::downcast) if `new_bits` divides `old_bits`, an [`upcast`](Self::upcast) if `old_bits` divides
    /// `new_bits`, and otherwise an upcast followed by a downcast.
    ///
    /// Postcondition: if no extent is rounded up, a compact layout stays compact and has the same number of bits:
    /// `size(result) · new_bits = size(self) · old_bits`.
    ///
    /// # Errors
    /// Returns the same errors as [`upcast`](Self::upcast) and [`downcast`](Self::downcast), and [`LayoutError::TooSmall`] if `old_bits` or
    /// `new_bits` is below 1.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let floats = Layout::column_major((4, 3))?;
    /// assert_eq!(floats.recast(32, 16)?.to_string(), "(8,3):(1,8)");
    /// assert_eq!(floats.recast(32, 128)?.to_string(), "(1,3):(1,1)");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[doc(alias = "recast_layout")]
    pub fn recast(&self, old_bits: i64, new_bits: i64) -> Result<Layout, LayoutError> {
        let (coarser, finer) = recast_factors(old_bits, new_bits)?;
        let coarse = if coarser > 1 { self.upcast(coarser)? } else { self.clone() };
        if finer > 1 { coarse.downcast(finer) } else { Ok(coarse) }
    }

    /// Returns the layout with all strides multiplied by `factor`, for example to convert elements to bytes.
    ///
    /// Postconditions: the shape is unchanged; `result(i) = factor · self(i)` for all `i`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Overflow`] on 64-bit overflow.
    pub fn scaled(&self, factor: i64) -> Result<Layout, LayoutError> {
        let scaled = flat_modes(&self.shape, &self.stride)
            .into_iter()
            .map(|Mode { extent, stride }| Some(Mode { extent, stride: stride.checked_mul(factor)? }));
        let overflow = || LayoutError::Overflow { what: format!("{self} times {factor}") };
        let scaled = self.with_modes(scaled.collect::<Option<Vec<_>>>().ok_or_else(overflow)?);
        Layout::new(scaled.shape, scaled.stride)
    }

    /// Returns the error that names the mode with the smallest nonzero stride.
    fn no_unit(&self, factor: i64) -> LayoutError {
        let modes = flat_modes(&self.shape, &self.stride).into_iter().zip(self.shape.leaf_paths());
        let least =
            modes.filter(|(mode, _)| mode.stride != 0).min_by_key(|(mode, _)| mode.stride.unsigned_abs());
        let (Mode { extent, stride }, mode) =
            least.unwrap_or((Mode { extent: self.size(), stride: 0 }, ModePath::default()));
        LayoutError::Downcast { layout: self.to_string(), factor, mode, extent, stride }
    }

    /// Returns a layout with the same nesting but other leaves.
    fn with_modes(&self, modes: Vec<Mode>) -> Layout {
        let (mut extents, mut strides) = (Vec::new(), Vec::new());
        for Mode { extent, stride } in modes {
            extents.push(extent);
            strides.push(stride);
        }
        Layout { shape: refill(&self.shape, extents), stride: refill(&self.shape, strides) }
    }
}

impl ComposedLayout {
    /// Converts the swizzle, the offset and the inner layout to units that are `factor` times as large; see [`Layout::upcast`].
    ///
    /// # Errors
    /// Returns the same errors as [`Layout::upcast`] and [`Swizzle::upcast`](super::Swizzle::upcast), and [`LayoutError::OffsetUnit`] if
    /// the offset is not a multiple of `factor`.
    pub fn upcast(&self, factor: i64) -> Result<ComposedLayout, LayoutError> {
        let layout = self.layout().upcast(factor)?;
        if self.offset() % factor != 0 {
            let (layout, offset) = (self.to_string(), self.offset());
            return Err(LayoutError::OffsetUnit { layout, factor, offset });
        }
        Ok(ComposedLayout::new(self.swizzle().upcast(factor)?, self.offset() / factor, layout))
    }

    /// Converts the swizzle, the offset and the inner layout to units that are smaller by a factor of `factor`; see [`Layout::downcast`].
    ///
    /// # Errors
    /// Returns the same errors as [`Layout::downcast`] and [`Swizzle::downcast`](super::Swizzle::downcast), and [`LayoutError::Overflow`]
    /// if the offset does not fit in 64 bits.
    pub fn downcast(&self, factor: i64) -> Result<ComposedLayout, LayoutError> {
        let layout = self.layout().downcast(factor)?;
        let overflow = || LayoutError::Overflow { what: format!("{self} in units {factor} times smaller") };
        let offset = self.offset().checked_mul(factor).ok_or_else(overflow)?;
        Ok(ComposedLayout::new(self.swizzle().downcast(factor)?, offset, layout))
    }

    /// Returns the layout in units of `new_bits` bits instead of `old_bits` bits; see [`Layout::recast`].
    ///
    /// # Errors
    /// Returns the same errors as [`upcast`](Self::upcast) and [`downcast`](Self::downcast), and [`LayoutError::TooSmall`] if `old_bits` or
    /// `new_bits` is below 1.
    pub fn recast(&self, old_bits: i64, new_bits: i64) -> Result<ComposedLayout, LayoutError> {
        let (coarser, finer) = recast_factors(old_bits, new_bits)?;
        let coarse = if coarser > 1 { self.upcast(coarser)? } else { self.clone() };
        if finer > 1 { coarse.downcast(finer) } else { Ok(coarse) }
    }
}

/// Returns the coarsening and refining factors of a recast, in lowest terms.
fn recast_factors(old_bits: i64, new_bits: i64) -> Result<(i64, i64), LayoutError> {
    at_least_1("recast, old bits", old_bits)?;
    at_least_1("recast, new bits", new_bits)?;
    let shared = super::inverse::gcd(old_bits, new_bits);
    Ok((new_bits / shared, old_bits / shared))
}

fn refill(shape: &Shape, leaves: Vec<i64>) -> Stride {
    let mut leaves = leaves.into_iter();
    shape.map(|_| leaves.next().unwrap_or(0))
}
