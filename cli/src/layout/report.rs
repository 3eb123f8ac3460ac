//! The report on a value: the value, its sizes and its table.

use std::fmt::{Display, Write};

use warpwright::layout::{BasisVector, ComposedLayout, Layout, Shape};

use super::functions::MOST_VALUES;
use super::parse::MOST_DIMENSIONS;
use super::value::Value;

/// Which tables to print.
#[derive(Debug, Clone, Copy)]
pub(super) enum Tables {
    /// No tables.
    None,
    /// Tables of up to [`SMALL`] elements.
    Small,
    /// All tables that can be enumerated.
    All,
}

/// The size of the largest table that is printed by default.
const SMALL: i64 = 64 * 64;

/// Returns the value as text, with a newline at the end.
pub(super) fn report(value: &Value, tables: Tables) -> String {
    let mut out = format!("{value}\n");
    match value {
        Value::Layout(layout) | Value::Slice(layout, _) => of_layout(layout, tables, &mut out),
        Value::Coordinates(layout) | Value::CoordinateSlice(layout, _) => {
            of_coordinates(layout, tables, &mut out);
        }
        Value::Composed(layout) => of_composed(layout, tables, &mut out),
        _ => {}
    }
    out
}

fn of_layout(layout: &Layout, tables: Tables, out: &mut String) {
    let injective = listable(layout.size()).then(|| layout.is_injective());
    facts(layout.size(), Some(layout.cosize()), injective, out);
    table(layout.shape(), tables, |index| layout.index(index), out);
}

fn of_composed(layout: &ComposedLayout, tables: Tables, out: &mut String) {
    // A swizzle is a bijection, so the swizzled layout is injective if the inner layout is.
    let injective = listable(layout.size()).then(|| layout.layout().is_injective());
    let cosize = listable(layout.size()).then(|| layout.values().max().unwrap_or(0).saturating_add(1));
    facts(layout.size(), cosize, injective, out);
    table(layout.shape(), tables, |index| layout.index(index), out);
}

fn of_coordinates(layout: &Layout<BasisVector>, tables: Tables, out: &mut String) {
    let dimensions = |vector: &BasisVector| (0..MOST_DIMENSIONS).rev().find(|&d| vector.component(d) != 0);
    let rank = layout.stride().leaves().filter_map(dimensions).max().map_or(1, |last| last + 1);
    let place = |index| match rank {
        1 => layout.index(index).component(0).into(),
        _ => layout.index(index).coord(rank),
    };
    let injective = listable(layout.size()).then(|| {
        let mut places: Vec<Vec<i64>> =
            (0..layout.size()).map(|index| place(index).leaves().copied().collect()).collect();
        places.sort_unstable();
        places.windows(2).all(|pair| pair[0] != pair[1])
    });
    facts(layout.size(), None, injective, out);
    table(layout.shape(), tables, place, out);
}

fn listable(size: i64) -> bool {
    size <= MOST_VALUES
}

fn facts(size: i64, cosize: Option<i64>, injective: Option<bool>, out: &mut String) {
    let cosize = cosize.map_or_else(String::new, |cosize| format!("cosize {cosize}  "));
    let injective = match injective {
        Some(true) => "yes",
        Some(false) => "no",
        None => "too large to enumerate",
    };
    let _ = writeln!(out, "size {size}  {cosize}injective: {injective}");
}

/// Prints the table. Rows correspond to mode 0, and columns to the other modes together.
fn table<V: Display>(shape: &Shape, tables: Tables, value: impl Fn(i64) -> V, out: &mut String) {
    let size = shape.size();
    let most = match tables {
        Tables::None => return,
        Tables::Small => SMALL,
        Tables::All => MOST_VALUES,
    };
    if size > most {
        let _ = writeln!(out, "(table of {size} elements omitted)");
        return;
    }
    let rows = if shape.rank() > 1 { shape.modes()[0].size() } else { 1 };
    let cols = size / rows;
    let cells: Vec<String> = (0..size).map(|index| value(index).to_string()).collect();
    let width = cells.iter().map(String::len).max().unwrap_or(1).max(cols.to_string().len());
    let margin = rows.to_string().len().max(3);
    let _ = write!(out, "{:>margin$}", if rows > 1 { "r\\c" } else { "" });
    for col in 0..cols {
        let _ = write!(out, " {col:>width$}");
    }
    for row in 0..rows {
        let _ = write!(out, "\n{row:>margin$}");
        for col in 0..cols {
            let _ = write!(out, " {:>width$}", cells[(row + col * rows) as usize]);
        }
    }
    out.push('\n');
}
