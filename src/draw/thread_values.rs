//! Tables of owners: the thread that owns each element, and the index of its value.

use super::error::DrawError;
use super::grid::{Cell, Picture, Table, Tint, check_size};
use super::layouts::hue;
use crate::layout::Layout;

/// The threads whose elements are highlighted. All other elements are dimmed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Highlight {
    /// All threads.
    #[default]
    All,
    /// One thread.
    Thread(u32),
    /// The 32 threads of one warp.
    Warp(u32),
}

impl Highlight {
    /// Returns whether a thread is highlighted.
    #[must_use]
    pub fn contains(self, thread: u32) -> bool {
        match self {
            Highlight::All => true,
            Highlight::Thread(wanted) => thread == wanted,
            Highlight::Warp(warp) => thread / 32 == warp,
        }
    }
}

impl Picture {
    /// Draws the owner of each element of a tile. In each cell, `T` is the thread, and `V` is the index of the thread's value. Colors
    /// repeat every 8 threads.
    ///
    /// `size` contains the number of rows and the number of columns of the tile, and `layout` maps (thread, value) to `row + col · rows`.
    /// For an element with several owners, the picture shows one of the owners, preferably a highlighted one, followed by `+` and the
    /// number of other owners.
    ///
    /// # Errors
    /// Returns [`DrawError::Rank`] if the layout is not of rank 2, [`DrawError::Outside`] if a value is outside the tile, or
    /// [`DrawError::TooLarge`] if there are more than 65,536 elements or the layout has more than 65,536 values in total.
    pub fn of_thread_values(
        layout: &Layout,
        size: (u32, u32),
        highlight: Highlight,
    ) -> Result<Picture, DrawError> {
        Ok(Picture::of_table(
            layout.to_string(),
            Owners::new(layout, (size.0.into(), size.1.into()), highlight).table("")?,
        ))
    }
}

/// A tile whose elements are distributed over threads.
pub(super) struct Owners<'a> {
    layout: &'a Layout,
    /// Rows and columns; elements are numbered in column-major order.
    size: (i64, i64),
    highlight: Highlight,
    transposed: bool,
    threads: Option<&'a Layout>,
}

impl<'a> Owners<'a> {
    /// Creates the tile; `layout` maps (thread, value) to `row + col · rows`.
    pub(super) fn new(layout: &'a Layout, size: (i64, i64), highlight: Highlight) -> Self {
        Owners { layout, size, highlight, transposed: false, threads: None }
    }

    /// Draws rows as columns.
    pub(super) fn transposed(self) -> Self {
        Owners { transposed: true, ..self }
    }

    /// Maps the threads of the layout through `threads` before they are shown.
    pub(super) fn with_threads(self, threads: &'a Layout) -> Self {
        Owners { threads: Some(threads), ..self }
    }

    /// Returns the table.
    pub(super) fn table(&self, title: impl Into<String>) -> Result<Table, DrawError> {
        let owners = self.owners()?;
        let (rows, cols) = (self.size.0 as usize, self.size.1 as usize);
        let cell = |row: usize, col: usize| owners[row + col * rows].cell(self.highlight);
        if self.transposed {
            return Table::new(title, (cols, rows), |row, col| cell(col, row));
        }
        Table::new(title, (rows, cols), cell)
    }

    /// Returns the owners of each element, indexed by offset.
    fn owners(&self) -> Result<Vec<CellOwners>, DrawError> {
        let Owners { layout, size: (rows, cols), highlight, .. } = *self;
        let [threads, values] = layout.shape().modes() else {
            return Err(DrawError::Rank { layout: layout.to_string() });
        };
        check_size(&layout.to_string(), rows, cols)?;
        let threads = threads.size();
        check_size(&layout.to_string(), threads, values.size())?;
        let mut owners = vec![CellOwners::default(); (rows * cols) as usize];
        for (index, offset) in (0..).zip(layout.values()) {
            let (thread, value) = (index % threads, index / threads);
            let cell = usize::try_from(offset).ok().and_then(|offset| owners.get_mut(offset));
            let Some(cell) = cell else {
                return Err(DrawError::Outside { thread, value, offset, rows, cols });
            };
            let thread = self.threads.map_or(thread, |threads| threads.index(thread));
            cell.add(thread as u32, value as u32, highlight);
        }
        Ok(owners)
    }
}

/// The owners of an element.
#[derive(Debug, Clone, Default)]
struct CellOwners {
    /// The owner shown: thread and value.
    shown: Option<(u32, u32)>,
    others: usize,
}

impl CellOwners {
    fn add(&mut self, thread: u32, value: u32, highlight: Highlight) {
        match self.shown {
            None => self.shown = Some((thread, value)),
            Some((shown, _)) => {
                self.others += 1;
                if highlight.contains(thread) && !highlight.contains(shown) {
                    self.shown = Some((thread, value));
                }
            }
        }
    }

    fn cell(&self, highlight: Highlight) -> Cell {
        let Some((thread, value)) = self.shown else { return Cell::default() };
        let mut lines = vec![format!("T{thread}"), format!("V{value}")];
        if self.others > 0 {
            lines.push(format!("+{}", self.others));
        }
        let tint = if highlight.contains(thread) { hue(thread.into()) } else { Tint::Dim };
        Cell { lines, tint, alarm: false }
    }
}
