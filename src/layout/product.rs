//! Products: a layout that is repeated according to another layout.

use super::construct::Layout;
use super::divide::refuse_backwards;
use super::error::{LayoutError, Trail};
use super::tiler::{ByMode, Tiler};
use super::tuple::{IntTuple, Shape};

impl Layout {
    /// Returns `(self, copies)`: this layout, and the offsets of its copies in the order of the tiler. A tuple of tilers
    /// multiplies mode by mode; further modes, and those marked `..`, are unchanged.
    ///
    /// Postconditions if the tiler is a layout: mode 0 is `self`; the copies in mode 1 are disjoint if the tiler is injective, and follow
    /// its order. Copies first fill gaps between the modes of `self`, then the offsets after `self`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Complement`] if a stride is smaller than the span of the modes with smaller strides, so that copies would
    /// overlap; [`LayoutError::NegativeStride`] if the tiler has a negative stride; [`LayoutError::Overflow`] if a number exceeds 64 bits;
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

    /// Multiplies as [`logical_product`](Self::logical_product) does, and regroups the modes as `((block, block, …), (copies, copies, …))`.
    ///
    /// Postconditions: the rank is 2. If the tiler is a layout, the result is the same as that of `logical_product`. If it is a tuple,
    /// modes `(0, i)` and `(1, i)` are modes `(i, 0)` and `(i, 1)` of the result of `logical_product`, and the modes past the end of the
    /// tiler follow in mode 1.
    ///
    /// # Errors
    /// Returns the same errors as [`logical_product`](Self::logical_product); [`LayoutError::NotSplit`] if `..` marks a mode of a rank
    /// other than 2.
    pub fn zipped_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        self.gathered_product("zipped_product", tiler.into())
    }

    fn gathered_product(&self, operation: &'static str, tiler: Tiler) -> Result<Layout, LayoutError> {
        self.repeat_by(operation, &tiler)?.tile_unzip(&tiler, operation)
    }

    /// Multiplies as [`zipped_product`](Self::zipped_product) does, and unpacks the copies: `((block, block, …), copies, copies, …)`.
    ///
    /// Postcondition: the result has the same values as that of `zipped_product`, in the same order.
    ///
    /// # Errors
    /// Returns the same errors as [`zipped_product`](Self::zipped_product).
    pub fn tiled_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        self.gathered_product("tiled_product", tiler.into())?.with_unpacked_rest()
    }

    /// Multiplies as [`zipped_product`](Self::zipped_product) does, and unpacks the blocks and copies:
    /// `(block, block, …, copies, copies, …)`.
    ///
    /// Postcondition: the result has the same values as that of `zipped_product`, in the same order.
    ///
    /// # Errors
    /// Returns the same errors as [`zipped_product`](Self::zipped_product).
    pub fn flat_product(&self, tiler: impl Into<Tiler>) -> Result<Layout, LayoutError> {
        self.gathered_product("flat_product", tiler.into())?.with_unpacked_both()
    }

    /// Returns adjacent copies of this layout: mode `i` is `(self_i, copies_i)`, where `copies` is mode 1 of the
    /// [`logical_product`](Self::logical_product).
    ///
    /// Postcondition: the rank is the larger of the ranks of `self` and `tiler`; the layout of lower rank is padded with `1:0`.
    ///
    /// # Errors
    /// Returns the same errors as [`logical_product`](Self::logical_product).
    pub fn blocked_product(&self, tiler: &Layout) -> Result<Layout, LayoutError> {
        let (block, copies) = self.padded_product(tiler)?;
        Ok(block.zip(&copies))
    }

    /// Returns interleaved copies of this layout: mode `i` is `(copies_i, self_i)`, where `copies` is mode 1 of the
    /// [`logical_product`](Self::logical_product).
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

    /// Returns copies of this layout that fill the shape `target`, in the order of the modes or in the order given by `order`.
    ///
    /// Postconditions: mode `i` of the result has the size of mode `i` of `target`; mode `(i, 0)` is mode `i` of `self`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Extent`] or [`LayoutError::Overflow`] if `target` is invalid, [`LayoutError::Rank`] if `target` has fewer modes
    /// than `self`, [`LayoutError::NotDivisible`] if a mode of `self` does not divide the corresponding mode of `target`, or
    /// [`LayoutError::Order`] if `order` is neither an integer nor a tuple with one integer per mode of `target`; otherwise, the same errors
    /// as [`blocked_product`](Self::blocked_product).
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

    /// Returns this layout unless an offset exceeds 64 bits.
    fn checked(self) -> Result<Layout, LayoutError> {
        Layout::new(self.shape, self.stride)
    }
}
