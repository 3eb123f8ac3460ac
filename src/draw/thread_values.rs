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
    /// As [`Table::of_thread_values`].
    pub fn of_thread_values(
        layout: &Layout,
        size: (u32, u32),
        highlight: Highlight,
    ) -> Result<Picture, DrawError> {
        Ok(Picture::of_table(layout.to_string(), Table::of_thread_values("", layout, size, highlight)?))
    }
}

impl Table {
    /// The table of [`Picture::of_thread_values`].
    ///
    /// # Errors
    /// [`DrawError::Rank`] if the layout is not of rank 2, [`DrawError::Outside`] if a value lies outside of the tile,
    /// [`DrawError::TooLarge`] past 65 536 elements.
    pub fn of_thread_values(
        title: impl Into<String>,
        layout: &Layout,
        (rows, cols): (u32, u32),
        highlight: Highlight,
    ) -> Result<Table, DrawError> {
        let owners = owners(layout, (rows.into(), cols.into()), highlight)?;
        Table::new(title, (rows as usize, cols as usize), |row, col| {
            owner_cell(&owners[row + col * rows as usize], highlight)
        })
    }
}

/// Threads and values of each element, by offset.
fn owners(layout: &Layout, (rows, cols): (i64, i64), highlight: Highlight) -> Result<Vec<Owners>, DrawError> {
    let [threads, values] = layout.shape().modes() else {
        return Err(DrawError::Rank { layout: layout.to_string() });
    };
    check_size(&layout.to_string(), rows, cols)?;
    check_size(&layout.to_string(), threads.size(), values.size())?;
    let threads = threads.size();
    let mut owners = vec![Owners::default(); (rows * cols) as usize];
    for (index, offset) in (0..).zip(layout.values()) {
        let (thread, value) = (index % threads, index / threads);
        let place = usize::try_from(offset).ok().and_then(|offset| owners.get_mut(offset));
        let Some(place) = place else { return Err(DrawError::Outside { thread, value, offset, rows, cols }) };
        place.add(thread as u32, value as u32, highlight);
    }
    Ok(owners)
}

/// Who holds an element.
#[derive(Debug, Clone, Default)]
struct Owners {
    /// The one that is shown: thread and value.
    shown: Option<(u32, u32)>,
    others: usize,
}

impl Owners {
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
}

fn owner_cell(owners: &Owners, highlight: Highlight) -> Cell {
    let Some((thread, value)) = owners.shown else { return Cell::default() };
    let mut lines = vec![format!("T{thread}"), format!("V{value}")];
    if owners.others > 0 {
        lines.push(format!("+{}", owners.others));
    }
    let tint = if highlight.contains(thread) { hue(thread.into()) } else { Tint::Dim };
    Cell { lines, tint, alarm: false }
}
