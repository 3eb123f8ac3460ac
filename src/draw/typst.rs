//! Pictures as Typst source.

use std::fmt::Write;

use super::grid::{Cell, Picture, Table, Tint};
use super::theme::{Paint, Theme, hex};

impl Picture {
    /// Renders a Typst document with the light theme. The document has a single page, which has the size of the picture.
    #[must_use]
    pub fn typst(&self) -> String {
        let mut out = String::from(
            "#set page(width: auto, height: auto, margin: 12pt)\n\
             #set text(font: (\"DejaVu Sans Mono\", \"Menlo\", \"Consolas\"), size: 8pt)\n\
             #set table(align: center + horizon, inset: 3pt, stroke: 0.4pt + rgb(\"8b949e\"))\n",
        );
        if !self.title.is_empty() {
            let _ = writeln!(out, "#strong({})\n", quoted(&self.title));
        }
        let columns = self.tables.iter().map(Vec::len).max().unwrap_or(1);
        let _ = writeln!(out, "#grid(columns: {columns}, gutter: 12pt, align: bottom,");
        for row in &self.tables {
            for place in 0..columns {
                match row.get(place).and_then(Option::as_ref) {
                    Some(table) => write_table(table, &mut out),
                    None => out.push_str("  [],\n"),
                }
            }
        }
        out.push_str(")\n");
        for note in &self.notes {
            let _ = writeln!(out, "\n#text({})", quoted(note));
        }
        out
    }
}

fn write_table(table: &Table, out: &mut String) {
    let faint = hex(Paint::Faint.rgb(Theme::Light));
    let label =
        |text: &str| format!("table.cell(stroke: none, text(fill: rgb(\"{faint}\"), {})), ", quoted(text));
    let _ = writeln!(
        out,
        "  stack(spacing: 4pt, {},\n  table(columns: {},",
        quoted(&table.title),
        table.cols() + 1
    );
    let _ = write!(out, "    {}", label(&table.corner()));
    table.col_labels.iter().for_each(|text| out.push_str(&label(text)));
    for (row, text) in table.row_labels.iter().enumerate() {
        let _ = write!(out, "\n    {}", label(text));
        for cell in &table.cells[row * table.cols()..(row + 1) * table.cols()] {
            write_cell(cell, out);
        }
    }
    out.push_str("\n  )),\n");
}

fn write_cell(cell: &Cell, out: &mut String) {
    let (fill, ink) = match cell.tint {
        Tint::Plain => (Paint::Plain, Paint::CellInk),
        Tint::Hue(hue) => (Paint::Hue(hue), Paint::CellInk),
        Tint::Dim => (Paint::Dim, Paint::DimInk),
    };
    let [fill, ink, alarm] = [fill, ink, Paint::Alarm].map(|paint| hex(paint.rgb(Theme::Light)));
    let stroke = if cell.alarm { format!(", stroke: 1.2pt + rgb(\"{alarm}\")") } else { String::new() };
    let lines: Vec<String> = cell.lines.iter().map(|line| quoted(line)).collect();
    let body = if lines.is_empty() { "[]".to_owned() } else { lines.join(" + linebreak() + ") };
    let _ = write!(out, "table.cell(fill: rgb(\"{fill}\"){stroke}, text(fill: rgb(\"{ink}\"), {body})), ");
}

/// Returns a Typst string literal.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
