//! What a picture is made of.

use super::error::DrawError;

/// Most cells of one table: 256×256.
pub(super) const MOST_CELLS: i64 = 1 << 16;

/// The colour of a cell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Tint {
    /// The page's own.
    #[default]
    Plain,
    /// One of eight hues; higher numbers begin again.
    Hue(u8),
    /// Greyed out, beside something that is highlighted.
    Dim,
}

/// A place of a table: lines of text on a colour.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cell {
    /// Text from top to bottom; none for an empty cell.
    pub lines: Vec<String>,
    /// The colour behind it.
    pub tint: Tint,
    /// Whether it is marked as wrong or costly.
    pub alarm: bool,
}

impl Cell {
    /// One line of text.
    #[must_use]
    pub fn new(text: impl Into<String>, tint: Tint) -> Self {
        Cell { lines: vec![text.into()], tint, alarm: false }
    }
}

/// Rows and columns of cells with labels at the left and on top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub(super) title: String,
    pub(super) axes: (String, String),
    pub(super) row_labels: Vec<String>,
    pub(super) col_labels: Vec<String>,
    /// Row by row.
    pub(super) cells: Vec<Cell>,
}

impl Table {
    /// A table whose rows and columns are numbered from 0.
    ///
    /// # Errors
    /// [`DrawError::TooLarge`] past 65 536 cells.
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

    /// With names for what rows and columns count.
    #[must_use]
    pub fn with_axes(self, rows: impl Into<String>, cols: impl Into<String>) -> Table {
        Table { axes: (rows.into(), cols.into()), ..self }
    }

    /// With labels of its own at each row; missing ones are empty.
    #[must_use]
    pub fn with_row_labels(mut self, labels: impl IntoIterator<Item = String>) -> Table {
        let rows = self.rows();
        self.row_labels = labels.into_iter().chain(std::iter::repeat(String::new())).take(rows).collect();
        self
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.row_labels.len()
    }

    /// Number of columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.col_labels.len()
    }

    /// The cell at a row and a column, if there is one.
    #[must_use]
    pub fn cell(&self, row: usize, col: usize) -> Option<&Cell> {
        if col < self.cols() { self.cells.get(row * self.cols() + col) } else { None }
    }

    /// The name of what rows count and of what columns count, as a corner shows it.
    pub(super) fn corner(&self) -> String {
        match (self.axes.0.as_str(), self.axes.1.as_str()) {
            ("", "") => String::new(),
            (rows, cols) => format!("{rows}\\{cols}"),
        }
    }
}

/// Tables in rows and columns, with a title above and notes below.
///
/// Cells have one size in the whole picture, so that rows of neighbouring tables meet.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Picture {
    /// The heading.
    pub title: String,
    /// The tables, row by row; a place may stay empty.
    pub tables: Vec<Vec<Option<Table>>>,
    /// Lines below the tables.
    pub notes: Vec<String>,
}

impl Picture {
    /// A picture of one table.
    #[must_use]
    pub fn of_table(title: impl Into<String>, table: Table) -> Picture {
        Picture { title: title.into(), tables: vec![vec![Some(table)]], notes: Vec::new() }
    }

    /// All tables, row by row.
    pub fn all_tables(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().flatten().flatten()
    }
}

pub(super) fn check_size(what: &str, rows: i64, cols: i64) -> Result<(), DrawError> {
    if rows.checked_mul(cols).is_some_and(|cells| cells <= MOST_CELLS) {
        return Ok(());
    }
    Err(DrawError::TooLarge { what: what.to_owned(), rows, cols, most: MOST_CELLS })
}
