//! Division: splitting a layout into tiles and the steps between tiles.

use super::codomain::Codomain;
use super::complement::ceil_div;
use super::construct::{Layout, Mode, flat_modes};
use super::error::{LayoutError, Trail};
use super::tiler::{ByMode, Tile, Tiler};
use super::tuple::{Shape, Tuple};

impl<D: Codomain> Layout<D> {
    /// Splits this layout into `(tile, rest)`: mode 0 iterates over the elements of a tile, and mode 1 iterates over the tiles.
    ///
    /// If the tiler is a tuple, each mode of this layout is split by the corresponding entry of the tuple. Modes past the end of the tuple
    /// and modes whose entry is `..` are not split.
    ///
    /// If a tile does not divide its mode, the number of tiles is rounded up. The last tile then extends past the end of the mode, and
    /// accesses to it require predicates.
    ///
    /// Postconditions if the tiler is a layout and `complement` is its complement: `result((i, 0)) = self(tiler(i))` and
    /// `result((i, j)) = self(tiler(i) + complement(j))`; every index below `size(self)` equals `tiler(i) + complement(j)` for some `i` and
    /// `j`.
    ///
    /// # Errors
    /// Returns the same errors as [`complement`](Layout::complement) and [`compose`](Self::compose). In addition, returns
    /// [`LayoutError::Complement`] if copies of the tiler leave a gap, and [`LayoutError::NegativeStride`] if the tiler has a negative
    /// stride.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// let divided = Layout::new((4, 2, 3), (2, 1, 8))?.logical_divide(Layout::new(4, 2)?)?;
    /// assert_eq!(divided.to_string(), "((2,2),(2,3)):((4,1),(2,8))");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    pub fn logical_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout<D>, LayoutError> {
        self.split_by("logical_divide", &tiler.into())
    }

    fn split_by(&self, operation: &'static str, tiler: &Tiler) -> Result<Layout<D>, LayoutError> {
        let by_mode = ByMode {
            operation,
            extent: Layout::column_major,
            keep_rest: true,
            whole: |layout: &Layout<D>, tile: &Layout| {
                if let Some(copies) = copies_of_run(&layout.shape, tile) {
                    return layout.compose_layout(&Layout::concat([tile.clone(), copies]));
                }
                refuse_backwards(tile)?;
                let copies = tile.fill(&layout.coalesce().shape)?.covering()?;
                match copies.hole {
                    Some((offset, fault)) if offset < layout.size() => Err(fault),
                    _ => layout.compose_layout(&Layout::concat([tile.clone(), copies.layout])),
                }
            },
        };
        by_mode.apply(self, tiler)
    }

    /// Divides like [`logical_divide`](Self::logical_divide), then groups the modes as `((tile, tile, …), (rest, rest, …))`.
    ///
    /// Postconditions: the rank is 2. If the tiler is a layout, the result equals that of `logical_divide`. If the tiler is a tuple, mode
    /// `(0, i)` is mode `(i, 0)` of the result of `logical_divide`, and mode `(1, i)` is mode `(i, 1)` of that result; modes past the end
    /// of the tiler follow in mode 1.
    ///
    /// # Errors
    /// Returns the same errors as [`logical_divide`](Self::logical_divide), and [`LayoutError::NotSplit`] if the tiler's entry for a mode
    /// is `..` and the rank of this mode is not 2.
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout<D>, LayoutError> {
        self.gathered_divide("zipped_divide", tiler.into())
    }

    fn gathered_divide(&self, operation: &'static str, tiler: Tiler) -> Result<Layout<D>, LayoutError> {
        self.split_by(operation, &tiler)?.tile_unzip(&tiler, operation)
    }

    /// Divides like [`zipped_divide`](Self::zipped_divide), then unpacks the rest modes: `((tile, tile, …), rest, rest, …)`.
    ///
    /// Postcondition: the values are those of `zipped_divide`, in the same order.
    ///
    /// # Errors
    /// Returns the same errors as [`zipped_divide`](Self::zipped_divide).
    pub fn tiled_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout<D>, LayoutError> {
        self.gathered_divide("tiled_divide", tiler.into())?.with_unpacked_rest()
    }

    /// Divides like [`zipped_divide`](Self::zipped_divide), then unpacks the tile modes and the rest modes:
    /// `(tile, tile, …, rest, rest, …)`.
    ///
    /// Postcondition: the values are those of `zipped_divide`, in the same order.
    ///
    /// # Errors
    /// Returns the same errors as [`zipped_divide`](Self::zipped_divide).
    pub fn flat_divide(&self, tiler: impl Into<Tiler>) -> Result<Layout<D>, LayoutError> {
        self.gathered_divide("flat_divide", tiler.into())?.with_unpacked_both()
    }

    /// Splits the pairs at the tiler's leaves: mode 0 consists of their first components and mode 1 of their second components.
    pub(super) fn tile_unzip(
        &self,
        tiler: &Tiler,
        operation: &'static str,
    ) -> Result<Layout<D>, LayoutError> {
        let (tiles, rests) = self.unzip_at(tiler, operation, &Trail::Root)?;
        Ok(Layout::concat([tiles, rests]))
    }

    fn unzip_at(
        &self,
        tiler: &Tiler,
        operation: &'static str,
        path: &Trail<'_>,
    ) -> Result<(Layout<D>, Layout<D>), LayoutError> {
        let parts = match tiler {
            Tuple::Leaf(tile) => {
                return match (self.rank(), tile) {
                    (2, _) => Ok((self.mode(0)?, self.mode(1)?)),
                    (_, Tile::Keep) => {
                        let (mode, found) = (path.to_path(), self.to_string());
                        Err(LayoutError::NotSplit { operation, mode, found })
                    }
                    (found, _) => {
                        let value = self.to_string();
                        Err(LayoutError::Rank { operation, expected: 2, found, value })
                    }
                };
            }
            Tuple::Node(parts) => parts,
        };
        let (mut tiles, mut rests) = (Vec::with_capacity(parts.len()), Vec::with_capacity(self.rank()));
        for (index, mode) in self.modes().enumerate() {
            match parts.get(index) {
                Some(part) => {
                    let (tile, rest) = mode.unzip_at(part, operation, &path.child(index))?;
                    tiles.push(tile);
                    rests.push(rest);
                }
                None => rests.push(mode),
            }
        }
        Ok((Layout::concat(tiles), Layout::concat(rests)))
    }

    pub(super) fn with_unpacked_rest(&self) -> Result<Layout<D>, LayoutError> {
        Ok(Layout::concat([self.mode(0)?].into_iter().chain(self.mode(1)?.unpacked())))
    }

    pub(super) fn with_unpacked_both(&self) -> Result<Layout<D>, LayoutError> {
        Ok(Layout::concat(self.mode(0)?.unpacked().into_iter().chain(self.mode(1)?.unpacked())))
    }
}

/// Returns the layout of the copies of a contiguous tile that cover a flat mode, `⌈size / extent⌉:extent`; `None` if the tile or mode has
/// another form, or on overflow. This is the most frequent case.
fn copies_of_run(shape: &Shape, tile: &Layout) -> Option<Layout> {
    match (shape, &tile.shape, &tile.stride) {
        (Tuple::Leaf(size), Tuple::Leaf(extent), Tuple::Leaf(1)) => {
            let copies = ceil_div(*size, *extent);
            copies.checked_mul(*extent)?;
            Some(Layout {
                shape: Tuple::Leaf(copies),
                stride: Tuple::Leaf(if copies == 1 { 0 } else { *extent }),
            })
        }
        _ => None,
    }
}

/// Rejects a tiler that steps below index 0.
pub(super) fn refuse_backwards(tiler: &Layout) -> Result<(), LayoutError> {
    let mut modes = tiler.shape.leaves().zip(tiler.stride.leaves());
    match modes.position(|(&extent, &stride)| stride < 0 && extent > 1) {
        None => Ok(()),
        Some(leaf) => {
            let Mode { extent, stride } = flat_modes(&tiler.shape, &tiler.stride)[leaf];
            let mode = tiler.shape.leaf_paths()[leaf].clone();
            Err(LayoutError::NegativeStride { tiler: tiler.to_string(), mode, extent, stride })
        }
    }
}
