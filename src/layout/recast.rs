//! Changes of unit: bits to elements, elements to vectors, and back.

use super::complement::ceil_div;
use super::construct::{Layout, Mode, flat_modes};
use super::error::{LayoutError, ModePath};
use super::tuple::{IntTuple, Shape, Stride, Tuple};

impl Layout {
    /// In units of `factor` old ones: strides divided by it, and the extents of finer modes with them, rounded up.
    ///
    /// Post-condition: a compact layout whose finer modes divide becomes a compact one of `size / factor` elements, and its
    /// value at `i` is `self(j) / factor` at the `j` that `i` stands for.
    ///
    /// # Errors
    /// [`LayoutError::Upcast`] if a stride neither divides `factor` nor is a multiple of it, [`LayoutError::Extent`] for a
    /// factor below 1.
    pub fn upcast(&self, factor: i64) -> Result<Layout, LayoutError> {
        IntTuple::Leaf(factor).check_extents()?;
        let mut modes = Vec::new();
        for (mode, path) in flat_modes(&self.shape, &self.stride).into_iter().zip(leaf_paths(&self.shape)) {
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

    /// In units that are `factor` times smaller: modes of stride 1 get longer, the others' strides grow.
    ///
    /// Post-condition: `result.upcast(factor) = self`, but for strides of extent-1 modes.
    ///
    /// # Errors
    /// [`LayoutError::Downcast`] if no mode has stride 1, [`LayoutError::Overflow`] past 64 bits, [`LayoutError::Extent`] for
    /// a factor below 1.
    pub fn downcast(&self, factor: i64) -> Result<Layout, LayoutError> {
        IntTuple::Leaf(factor).check_extents()?;
        let modes = flat_modes(&self.shape, &self.stride);
        if modes.iter().all(|mode| mode.stride != 1) {
            return Err(LayoutError::Downcast { layout: self.to_string(), factor });
        }
        let finer = modes.iter().map(|&Mode { extent, stride }| match stride {
            1 | -1 => Some(Mode { extent: extent.checked_mul(factor)?, stride }),
            _ => Some(Mode { extent, stride: stride.checked_mul(factor)? }),
        });
        let overflow = || LayoutError::Overflow { what: format!("{self} in units {factor} times smaller") };
        let finer = self.with_modes(finer.collect::<Option<Vec<_>>>().ok_or_else(overflow)?);
        Layout::new(finer.shape, finer.stride)
    }

    /// From elements of `old_bits` to elements of `new_bits`.
    ///
    /// # Errors
    /// As [`upcast`](Self::upcast) and [`downcast`](Self::downcast).
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
        IntTuple::from((old_bits, new_bits)).check_extents()?;
        let shared = super::inverse::gcd(old_bits, new_bits);
        let (coarser, finer) = (new_bits / shared, old_bits / shared);
        match (coarser, finer) {
            (1, 1) => Ok(self.clone()),
            (1, _) => self.downcast(finer),
            (_, 1) => self.upcast(coarser),
            _ => self.upcast(coarser)?.downcast(finer),
        }
    }

    /// All strides times `factor`: from elements to bytes.
    ///
    /// # Errors
    /// [`LayoutError::Overflow`] past 64 bits.
    pub fn scaled(&self, factor: i64) -> Result<Layout, LayoutError> {
        let scaled = flat_modes(&self.shape, &self.stride)
            .into_iter()
            .map(|Mode { extent, stride }| Some(Mode { extent, stride: stride.checked_mul(factor)? }));
        let overflow = || LayoutError::Overflow { what: format!("{self} times {factor}") };
        let scaled = self.with_modes(scaled.collect::<Option<Vec<_>>>().ok_or_else(overflow)?);
        Layout::new(scaled.shape, scaled.stride)
    }

    /// The same nesting with other leaves.
    fn with_modes(&self, modes: Vec<Mode>) -> Layout {
        let (mut extents, mut strides) = (Vec::new(), Vec::new());
        for Mode { extent, stride } in modes {
            extents.push(extent);
            strides.push(stride);
        }
        Layout { shape: refill(&self.shape, extents), stride: refill(&self.shape, strides) }
    }
}

fn refill(shape: &Shape, leaves: Vec<i64>) -> Stride {
    let mut leaves = leaves.into_iter();
    shape.map(|_| leaves.next().unwrap_or(0))
}

fn leaf_paths(shape: &Shape) -> Vec<ModePath> {
    fn walk(shape: &Shape, path: &ModePath, paths: &mut Vec<ModePath>) {
        match shape {
            Tuple::Leaf(_) => paths.push(path.clone()),
            Tuple::Node(modes) => {
                modes.iter().enumerate().for_each(|(index, mode)| walk(mode, &path.child(index), paths));
            }
        }
    }
    let mut paths = Vec::new();
    walk(shape, &ModePath::default(), &mut paths);
    paths
}
