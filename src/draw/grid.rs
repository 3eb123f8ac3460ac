//! The components of a picture.

use super::error::DrawError;

/// The maximum number of cells of one table: 256×256.
pub(super) const MOST_CELLS: i64 = 1 << 16;

/// The color of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Tint {
    /// No hue: white, or light gray on a dark page. Empty cells are dimmed, except in Typst.
    #[default]
    Plain,
    /// One of eight hues. Numbers above 7 wrap around.
    Hue(u8),
    /// Gray, because other cells are highlighted.
    Dim,
}

/// A cell of a table: lines of text on a colored background.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// The lines of text, from top to bottom. An empty cell has no lines.
    pub lines: Vec<String>,
    /// The background color.
    pub tint: Tint,
    /// Whether the cell is marked as a problem, such as a bank conflict.
    pub alarm: bool,
}

impl Cell {
    /// Creates a cell with one line of text.
    #[must_use]
    pub fn new(text: impl Into<String>, tint: Tint) -> Self {
        Cell { lines: vec![text.into()], tint, alarm: false }
    }
}

/// A table of cells with row and column labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub(super) title: String,
    pub(super) axes: (String, String),
    pub(super) row_labels: Vec<String>,
    pub(super) col_labels: Vec<String>,
    /// The cells in row-major order.
    pub(super) cells: Vec<Cell>,
}

impl Table {
    /// Creates a table with rows and columns numbered from 0. `cell` receives the row and column of a cell and returns the cell.
    ///
    /// # Errors
    /// Returns [`DrawError::TooLarge`] if the table has more than 65,536 cells.
    pub fn new(
        title: impl Into<String>,
        (rows, cols): (usize, usize),
        mut cell: impl FnMut(usize, usize) -> Cell,
    ) -> Result<Table, DrawError> {
        let title = title.into();
        check_size(&title, rows as i64, cols as i64)?;
        let places = (0..rows).flat_map(|row| (0..cols).map(move |col| (row, col)));
        let cells = places.map(|(row, col)| cell(row, col)).collect();
        let numbers = |count: usize| (0..count).map(|number| number.to_string()).collect();
        Ok(Table {
            title,
            axes: Default::default(),
            row_labels: numbers(rows),
            col_labels: numbers(cols),
            cells,
        })
    }

    /// Sets the names of the row and column axes.
    #[must_use]
    pub fn with_axes(self, rows: impl Into<String>, cols: impl Into<String>) -> Table {
        Table { axes: (rows.into(), cols.into()), ..self }
    }

    /// Replaces the row labels. If there are fewer labels than rows, the remaining rows are unlabeled; excess labels are ignored.
    #[must_use]
    pub fn with_row_labels(mut self, labels: impl IntoIterator<Item = String>) -> Table {
        let rows = self.rows();
        self.row_labels = labels.into_iter().chain(std::iter::repeat(String::new())).take(rows).collect();
        self
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.row_labels.len()
    }

    /// Returns the number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.col_labels.len()
    }

    /// Returns the cell in the given row and column, or `None` if the table has no such cell.
    #[must_use]
    pub fn cell(&self, row: usize, col: usize) -> Option<&Cell> {
        if col < self.cols() { self.cells.get(row * self.cols() + col) } else { None }
    }

    /// Returns the names of the row and column axes, as shown in the corner.
    pub(super) fn corner(&self) -> String {
        match (self.axes.0.as_str(), self.axes.1.as_str()) {
            ("", "") => String::new(),
            (rows, cols) => format!("{rows}\\{cols}"),
        }
    }
}

/// A grid of tables, with a title above it and notes below it.
///
/// In a [scene](Self::scene), and therefore in SVG, all cells of a picture have the same size, so that the rows of adjacent tables align.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// The title.
    pub title: String,
    /// The rows of tables. `None` leaves a position of the grid empty.
    pub tables: Vec<Vec<Option<Table>>>,
    /// The lines of text below the tables.
    pub notes: Vec<String>,
}

impl Picture {
    /// Creates a picture of one table.
    #[must_use]
    pub fn of_table(title: impl Into<String>, table: Table) -> Picture {
        Picture { title: title.into(), tables: vec![vec![Some(table)]], notes: Vec::new() }
    }

    /// Returns all tables, row by row.
    pub fn all_tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().flatten().flatten()
    }
}

pub(super) fn check_size(what: &str, rows: i64, cols: i64) -> Result<(), DrawError> {
    if rows.checked_mul(cols).is_some_and(|cells| cells <= MOST_CELLS) {
        return Ok(());
    }
    Err(DrawError::TooLarge { what: what.to_owned(), rows, cols, max: MOST_CELLS })
}
