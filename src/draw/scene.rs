//! The positions of the cells and lines of text in a picture, for rendering in other formats. The unit is one pixel at scale 1.

use super::grid::{Cell, Picture, Table, Tint};
use super::theme::Paint;

/// The width of a character.
pub(super) const CHAR: i32 = 7;
/// The height of a line of text.
pub(super) const LINE: i32 = 13;
/// The margin around the picture and between tables.
const MARGIN: i32 = 14;
/// The padding between the text of a cell and its edge.
const PAD: (i32, i32) = (4, 4);

/// The positions of all cells and lines of text in a picture, as computed by [`Picture::scene`].
#[derive(Clone, Debug, Default)]
pub struct Scene {
    /// The width and the height of the picture.
    pub size: (i32, i32),
    /// The cells, in the order in which they are painted.
    pub boxes: Vec<Rect>,
    /// The lines of text, which are painted after the cells.
    pub texts: Vec<Text>,
}

/// A filled cell.
#[derive(Clone, Debug)]
pub struct Rect {
    /// The x and y coordinates of the upper-left corner.
    pub at: (i32, i32),
    /// The width and the height.
    pub size: (i32, i32),
    /// The fill of the cell.
    pub paint: Paint,
    /// Whether the cell has a frame of [`Paint::Alarm`].
    pub alarm: bool,
}

/// A line of text.
#[derive(Clone, Debug)]
pub struct Text {
    /// The x coordinate of the anchor, and the y coordinate of the top of the line.
    pub at: (i32, i32),
    /// The point of the line that is aligned with the x coordinate of `at`.
    pub anchor: Anchor,
    /// The color of the text.
    pub paint: Paint,
    /// Whether the text is bold.
    pub bold: bool,
    /// The text.
    pub text: String,
}

/// The point of a line of text that is aligned with the x coordinate of [`Text::at`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Anchor {
    /// The left end.
    Start,
    /// The middle.
    Middle,
    /// The right end.
    End,
}

impl Picture {
    /// Computes the positions of all cells and lines of text.
    pub fn scene(&self) -> Scene {
        Scene::new(self)
    }
}

impl Scene {
    fn new(picture: &Picture) -> Scene {
        let mut scene = Scene::default();
        let cell = cell_size(picture);
        let mut y = MARGIN;
        if !picture.title.is_empty() {
            scene.text((MARGIN, y), Anchor::Start, Paint::Ink, true, &picture.title);
            y += LINE + MARGIN / 2;
        }
        let columns = picture.tables.iter().map(Vec::len).max().unwrap_or(0);
        let in_column =
            |column: usize| picture.tables.iter().filter_map(move |row| row.get(column)?.as_ref());
        let frames: Vec<Frame> = (0..columns)
            .map(|column| {
                in_column(column).map(|table| Frame::of(table, cell)).fold(Frame::default(), Frame::max)
            })
            .collect();
        for row in &picture.tables {
            let tallest =
                row.iter().flatten().map(|table| Frame::of(table, cell)).fold(Frame::default(), Frame::max);
            let mut x = MARGIN;
            for (table, frame) in row.iter().zip(&frames) {
                if let Some(table) = table {
                    // Tables in the same column have the same x; tables in the same row have the same y.
                    scene.table(table, (x + frame.before.0, y + tallest.before.1), cell);
                }
                x += frame.before.0 + frame.cells.0 + MARGIN;
            }
            y += tallest.before.1 + tallest.cells.1 + MARGIN;
        }
        for note in &picture.notes {
            scene.text((MARGIN, y), Anchor::Start, Paint::Faint, false, note);
            y += LINE + 2;
        }
        scene.size = (scene.right() + MARGIN, y + if picture.notes.is_empty() { 0 } else { MARGIN / 2 });
        scene
    }

    fn right(&self) -> i32 {
        let boxes = self.boxes.iter().map(|rect| rect.at.0 + rect.size.0);
        let texts = self.texts.iter().map(|text| {
            let width = width(&text.text);
            text.at.0
                + match text.anchor {
                    Anchor::Start => width,
                    Anchor::Middle => width / 2,
                    Anchor::End => 0,
                }
        });
        boxes.chain(texts).max().unwrap_or(0)
    }

    fn text(&mut self, at: (i32, i32), anchor: Anchor, paint: Paint, bold: bool, text: &str) {
        self.texts.push(Text { at, anchor, paint, bold, text: text.to_owned() });
    }

    /// Adds a table whose first cell is at `(left, top)`.
    fn table(&mut self, table: &Table, (left, top): (i32, i32), cell: (i32, i32)) {
        let label_y = top - LINE - 1;
        if !table.title.is_empty() {
            let at = (left - label_width(table), label_y - LINE - 2);
            self.text(at, Anchor::Start, Paint::Ink, false, &table.title);
        }
        self.text((left - PAD.0, label_y), Anchor::End, Paint::Faint, false, &table.corner());
        for (col, label) in (0..).zip(&table.col_labels) {
            let at = (left + col * cell.0 + cell.0 / 2, label_y);
            self.text(at, Anchor::Middle, Paint::Faint, false, label);
        }
        for (row, label) in (0..).zip(&table.row_labels) {
            let at = (left - PAD.0, top + row * cell.1 + (cell.1 - LINE) / 2);
            self.text(at, Anchor::End, Paint::Faint, false, label);
        }
        for (index, content) in (0..).zip(&table.cells) {
            let (row, col) = (index / table.cols() as i32, index % table.cols() as i32);
            self.cell(content, (left + col * cell.0, top + row * cell.1), cell);
        }
    }

    fn cell(&mut self, cell: &Cell, at: (i32, i32), size: (i32, i32)) {
        let (paint, ink) = match cell.tint {
            Tint::Plain if cell.lines.is_empty() => (Paint::Dim, Paint::DimInk),
            Tint::Plain => (Paint::Plain, Paint::CellInk),
            Tint::Hue(hue) => (Paint::Hue(hue % 8), Paint::CellInk),
            Tint::Dim => (Paint::Dim, Paint::DimInk),
        };
        self.boxes.push(Rect { at, size, paint, alarm: cell.alarm });
        let height = LINE * cell.lines.len() as i32;
        for (line, text) in (0..).zip(&cell.lines) {
            let at = (at.0 + size.0 / 2, at.1 + (size.1 - height) / 2 + line * LINE);
            self.text(at, Anchor::Middle, ink, false, text);
        }
    }
}

/// Returns the width and height of every cell of a picture.
fn cell_size(picture: &Picture) -> (i32, i32) {
    let cells = || picture.all_tables().flat_map(|table| &table.cells);
    let texts = cells().flat_map(|cell| &cell.lines);
    let labels = picture.all_tables().flat_map(|table| &table.col_labels);
    let widest = texts.chain(labels).map(|text| width(text)).max().unwrap_or(0);
    let lines = cells().map(|cell| cell.lines.len()).max().unwrap_or(1).max(1) as i32;
    let height = lines * LINE + 2 * PAD.1;
    ((widest + 2 * PAD.0).max(height), height)
}

fn width(text: &str) -> i32 {
    CHAR * text.chars().count() as i32
}

fn label_width(table: &Table) -> i32 {
    let labels = table.row_labels.iter().map(|label| width(label));
    labels.chain([width(&table.corner())]).max().unwrap_or(0) + PAD.0
}

/// The space that a table occupies: the space before its first cell, and the size of its cells.
#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    before: (i32, i32),
    cells: (i32, i32),
}

impl Frame {
    fn of(table: &Table, cell: (i32, i32)) -> Frame {
        let title = if table.title.is_empty() { 0 } else { LINE + 2 };
        let cells = (cell.0 * table.cols() as i32, cell.1 * table.rows() as i32);
        let labels = label_width(table);
        let spill = (width(&table.title) - labels - cells.0).max(0);
        Frame { before: (labels, title + LINE + 1), cells: (cells.0 + spill, cells.1) }
    }

    fn max(self, other: Frame) -> Frame {
        let larger = |a: (i32, i32), b: (i32, i32)| (a.0.max(b.0), a.1.max(b.1));
        Frame { before: larger(self.before, other.before), cells: larger(self.cells, other.cells) }
    }
}
