//! Tables of owners: which thread holds an element, as which of its values.

use super::error::DrawError;
use super::grid::{Cell, Picture, Table, Tint, check_size};
use super::layouts::hue;
use crate::layout::Layout;

/// Whose elements stand out; the others' are dimmed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Highlight {
    /// Everyone's.
    #[default]
    All,
    /// One thread's.
    Thread(u32),
    /// Those of 32 threads, from a multiple of 32 on.
    Warp(u32),
}

impl Highlight {
    /// Whether a thread stands out.
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
    /// Who holds each element of a tile: `T` the thread, `V` its value. `layout` maps (thread, value) to `row + col · rows`;
    /// threads have colours in turn, and an element held several times shows one owner and `+` the number of others.
    ///
    /// # Errors
    /// [`DrawError::Rank`] if the layout is not of rank 2, [`DrawError::Outside`] if a value lies outside of the tile,
    /// [`DrawError::TooLarge`] past 65 536 elements.
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

/// A tile whose elements are spread over threads.
pub(super) struct Owners<'a> {
    layout: &'a Layout,
    /// Rows and columns, the rows counted first.
    size: (i64, i64),
    highlight: Highlight,
    transposed: bool,
    threads: Option<&'a Layout>,
}

impl<'a> Owners<'a> {
    /// `layout` maps (thread, value) to `row + col · rows`.
    pub(super) fn new(layout: &'a Layout, size: (i64, i64), highlight: Highlight) -> Self {
        Owners { layout, size, highlight, transposed: false, threads: None }
    }

    /// With rows drawn as columns.
    pub(super) fn transposed(self) -> Self {
        Owners { transposed: true, ..self }
    }

    /// With threads called by what `threads` maps them to.
    pub(super) fn with_threads(self, threads: &'a Layout) -> Self {
        Owners { threads: Some(threads), ..self }
    }

    /// The table.
    pub(super) fn table(&self, title: impl Into<String>) -> Result<Table, DrawError> {
        let places = self.places()?;
        let (rows, cols) = (self.size.0 as usize, self.size.1 as usize);
        let cell = |row: usize, col: usize| places[row + col * rows].cell(self.highlight);
        if self.transposed {
            return Table::new(title, (cols, rows), |row, col| cell(col, row));
        }
        Table::new(title, (rows, cols), cell)
    }

    /// Who holds each element, by offset.
    fn places(&self) -> Result<Vec<Place>, DrawError> {
        let Owners { layout, size: (rows, cols), highlight, .. } = *self;
        let [threads, values] = layout.shape().modes() else {
            return Err(DrawError::Rank { layout: layout.to_string() });
        };
        check_size(&layout.to_string(), rows, cols)?;
        let threads = threads.size();
        check_size(&layout.to_string(), threads, values.size())?;
        let mut places = vec![Place::default(); (rows * cols) as usize];
        for (index, offset) in (0..).zip(layout.values()) {
            let (thread, value) = (index % threads, index / threads);
            let place = usize::try_from(offset).ok().and_then(|offset| places.get_mut(offset));
            let Some(place) = place else {
                return Err(DrawError::Outside { thread, value, offset, rows, cols });
            };
            let thread = self.threads.map_or(thread, |threads| threads.index(thread));
            place.add(thread as u32, value as u32, highlight);
        }
        Ok(places)
    }
}

/// Who holds an element.
#[derive(Debug, Clone, Default)]
struct Place {
    /// The one that is shown: thread and value.
    shown: Option<(u32, u32)>,
    others: usize,
}

impl Place {
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
