//! Pictures as plain text.

use std::fmt;

use super::grid::{Cell, Picture, Table, Tint};

/// Prints the tables one below the other. A dimmed cell that has text is printed as `·`, and a marked cell ends with `!`.
impl fmt::Display for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        for table in self.all_tables() {
            if !std::mem::take(&mut first) {
                writeln!(f)?;
            }
            write!(f, "{table}")?;
        }
        if !self.notes.is_empty() && !first {
            writeln!(f)?;
        }
        self.notes.iter().try_for_each(|note| writeln!(f, "{note}"))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.title.is_empty() {
            writeln!(f, "{}", self.title)?;
        }
        let texts: Vec<String> = self.cells.iter().map(text).collect();
        let length = |text: &String| text.chars().count();
        let width = texts.iter().chain(&self.col_labels).map(length).max().unwrap_or(1);
        let corner = self.corner();
        let margin = self.row_labels.iter().chain([&corner]).map(length).max().unwrap_or(0);
        write!(f, "{corner:>margin$} ")?;
        for label in &self.col_labels {
            write!(f, "  {label:>width$}")?;
        }
        writeln!(f)?;
        for (row, label) in self.row_labels.iter().enumerate() {
            write!(f, "{label:>margin$} ")?;
            for text in &texts[row * self.cols()..(row + 1) * self.cols()] {
                write!(f, "  {text:>width$}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn text(cell: &Cell) -> String {
    let mark = if cell.alarm { "!" } else { "" };
    match cell.tint {
        Tint::Dim if !cell.lines.is_empty() => format!("·{mark}"),
        _ => cell.lines.join("") + mark,
    }
}
