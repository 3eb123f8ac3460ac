//! Products: a layout that is repeated according to another layout.

use super::construct::Layout;
use super::divide::refuse_backwards;
use super::error::{LayoutError, Trail};
use super::tiler::{ByMode, Tiler};
use super::tuple::{IntTuple, Shape};

impl Layout {
    /// Repeats this layout and returns `(self, copies)`, where mode 1 maps each coordinate of the tiler to the offset of a copy.
    ///
    /// If the tiler is a tuple, each mode of this layout is repeated by the corresponding entry of the tuple. Modes past the end of the
    /// tuple and modes whose entry is `..` are unchanged.
    ///
    /// Postconditions if the tiler is a layout: mode 0 is `self`; the copies are in the order of the tiler, and disjoint if the tiler is
    /// injective. Copies first fill the gaps between the modes of `self`, then the offsets after `self`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Complement`] if a stride is smaller than the span of the modes with smaller strides, so that copies would
    /// overlap; [`LayoutError::NegativeStride`] if the tiler has a negative stride; [`LayoutError::Overflow`] on 64-bit overflow;
    /// otherwise, the same errors as [`compose`](Self::compose).
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let product = Layout::new((2, 2), (1, 2))?.logical_product(Layout::new((3, 4), (4, 1))?)?;
    /// assert_eq!(product.to_string(), "((2,2),(3,4)):((1,2),(16,4))");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    pub fn logical_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        self.repeat_by("logical_product", &tiler.into())
    }

    fn repeat_by(&self, operation: &'static str, tiler: &Tiler) -> Result<Layout, LayoutError> {
        let by_mode =
            ByMode { operation, extent: Layout::column_major, keep_rest: true, whole: Layout::repeat_over };
        by_mode.apply(self, tiler)
    }

    fn repeat_over(&self, tiler: &Layout) -> Result<Layout, LayoutError> {
        refuse_backwards(tiler)?;
        let span = self
            .size()
            .checked_mul(tiler.cosize())
            .ok_or_else(|| LayoutError::Overflow { what: format!("the product of {self} by {tiler}") })?;
        let mut starts = self.fill(&span.into())?;
        // If padding reduces the space for copies, the span may be reached before the last copy is placed; the remaining copies
        // follow the whole layout in a last, unbounded mode.
        if span <= starts.reached && starts.layout.size() < tiler.cosize() {
            starts = self.fill(&starts.reached.saturating_add(1).into())?;
        }
        let copies = starts.layout.compose_layout(tiler)?;
        Layout::concat([self.clone(), copies]).checked()
    }

    /// Repeats this layout like [`logical_product`](Self::logical_product), then groups the modes as
    /// `((block, block, …), (copies, copies, …))`.
    ///
    /// Postconditions: the rank is 2. If the tiler is a layout, the result equals that of `logical_product`. If the tiler is a tuple, mode
    /// `(0, i)` is mode `(i, 0)` of the result of `logical_product`, and mode `(1, i)` is mode `(i, 1)` of that result; modes past the end
    /// of the tiler follow in mode 1.
    ///
    /// # Errors
    /// Returns the same errors as [`logical_product`](Self::logical_product), and [`LayoutError::NotSplit`] if the tiler's entry for a mode
    /// is `..` and the rank of this mode is not 2.
    pub fn zipped_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        self.gathered_product("zipped_product", tiler.into())
    }

    fn gathered_product(&self, operation: &'static str, tiler: Tiler) -> Result<Layout, LayoutError> {
        self.repeat_by(operation, &tiler)?.tile_unzip(&tiler, operation)
    }

    /// Repeats this layout like [`zipped_product`](Self::zipped_product), then unpacks the copies:
    /// `((block, block, …), copies, copies, …)`.
    ///
    /// Postcondition: the values are those of `zipped_product`, in the same order.
    ///
    /// # Errors
    /// Returns the same errors as [`zipped_product`](Self::zipped_product).
    pub fn tiled_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        self.gathered_product("tiled_product", tiler.into())?.with_unpacked_rest()
    }

    /// Repeats this layout like [`zipped_product`](Self::zipped_product), then unpacks the blocks and the copies:
    /// `(block, block, …, copies, copies, …)`.
    ///
    /// Postcondition: the values are those of `zipped_product`, in the same order.
    ///
    /// # Errors
    /// Returns the same errors as [`zipped_product`](Self::zipped_product).
    pub fn flat_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        self.gathered_product("flat_product", tiler.into())?.with_unpacked_both()
    }

    /// Returns a layout of adjacent copies of this layout, one per coordinate of `tiler`.
    ///
    /// Mode `i` is `(self_i, copies_i)`: mode `i` of this layout, and mode `(1, i)` of the [`logical_product`](Self::logical_product).
    ///
    /// Postcondition: the rank is the larger of the ranks of `self` and `tiler`; the layout of lower rank is padded with `1:0`.
    ///
    /// # Errors
    /// Returns the same errors as [`logical_product`](Self::logical_product).
    pub fn blocked_product(&self, tiler: &Layout) -> Result<Layout, LayoutError> {
        let (block, copies) = self.padded_product(tiler)?;
        Ok(block.zip(&copies))
    }

    /// Returns a layout of interleaved copies of this layout, one per coordinate of `tiler`.
    ///
    /// Mode `i` is `(copies_i, self_i)`: mode `(1, i)` of the [`logical_product`](Self::logical_product), and mode `i` of this layout.
    ///
    /// Postcondition: the rank is the larger of the ranks of `self` and `tiler`; the layout of lower rank is padded with `1:0`.
    ///
    /// # Errors
    /// Returns the same errors as [`logical_product`](Self::logical_product).
    pub fn raked_product(&self, tiler: &Layout) -> Result<Layout, LayoutError> {
        let (block, copies) = self.padded_product(tiler)?;
        Ok(copies.zip(&block))
    }

    fn padded_product(&self, tiler: &Layout) -> Result<(Layout, Layout), LayoutError> {
        let rank = self.rank().max(tiler.rank());
        let product = self.append(rank).logical_product(tiler.append(rank))?;
        Ok((product.mode(0)?, product.mode(1)?))
    }

    /// Repeats this layout until it fills the shape `target`.
    ///
    /// The copies are in the order given by `order` (see [`ordered`](Self::ordered)), or in column-major order if `order` is `None`.
    ///
    /// Postconditions: mode `i` of the result has the size of mode `i` of `target`; mode `(i, 0)` of the result is mode `i` of `self`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Extent`] or [`LayoutError::Overflow`] if `target` is invalid, [`LayoutError::Rank`] if `target` has fewer
    /// modes than `self`, [`LayoutError::NotDivisible`] if a mode of `self` does not divide the corresponding mode of `target`, or
    /// [`LayoutError::Order`] if `order` is neither an integer nor a tuple with one integer per mode of `target`; otherwise, the same
    /// errors as [`blocked_product`](Self::blocked_product).
    pub fn tile_to_shape(
        &self,
        target: impl Into<Shape>,
        order: Option<&IntTuple>,
    ) -> Result<Layout, LayoutError> {
        let target = target.into();
        target.check_extents()?;
        let rank = target.rank();
        if self.rank() > rank {
            let (expected, found, value) = (self.rank(), rank, target.to_string());
            return Err(LayoutError::Rank { operation: "tile_to_shape", expected, found, value });
        }
        let block = self.append(rank);
        let mut copies = Vec::with_capacity(rank);
        for (index, (block, target)) in block.shape.modes().iter().zip(target.modes()).enumerate() {
            let (found, target) = (block.size(), target.size());
            if target % found != 0 {
                let mode = Trail::Root.child(index).to_path();
                return Err(LayoutError::NotDivisible { mode, found, target });
            }
            copies.push(target / found);
        }
        let copies: Shape = copies.into_iter().collect();
        let tiler = match order {
            Some(order) => Layout::ordered(copies, order).map_err(|error| match error {
                // Report the caller's shape, not that of the copies.
                LayoutError::Order { mode, order, .. } => {
                    LayoutError::Order { mode, order, shape: target.to_string() }
                }
                other => other,
            })?,
            None => Layout::column_major(copies)?,
        };
        block.blocked_product(&tiler)
    }

    /// Returns this layout, or an error if the size or the largest offset exceeds 64 bits.
    fn checked(self) -> Result<Layout, LayoutError> {
        Layout::new(self.shape, self.stride)
    }
}
