//! The text of a table.

use std::{fmt, str::FromStr};

use super::{GemmEntry, GemmTable};
use crate::{
    kernels::gemm::{Gemm, GemmTile, GpuKind, MatrixOrder},
    ptx::{Element, Target, bf16, e4m3, e5m2, f16, tf32},
    tiles::Schedule,
};

/// An error in the text of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct GemmTableError {
    /// The line number, starting from 1.
    pub line: usize,
    /// What was expected, and the text that was found.
    pub problem: String,
}

/// The line between the fields of a table and its entries.
const COLUMNS: &str = "T D A B m n k tile cluster parts group µs";

/// The operand types of [`Gemm`], their sizes in bytes, and their result types.
const TYPES: [(&str, u32, &[&str]); 7] = [
    (bf16::NAME, bf16::SIZE, OF_FLOATS),
    (f16::NAME, f16::SIZE, OF_FLOATS),
    (tf32::NAME, tf32::SIZE, OF_FLOATS),
    (e4m3::NAME, e4m3::SIZE, OF_FLOATS),
    (e5m2::NAME, e5m2::SIZE, OF_FLOATS),
    (i8::NAME, i8::SIZE, OF_INTEGERS),
    (u8::NAME, u8::SIZE, OF_INTEGERS),
];
const OF_FLOATS: &[&str] = &[bf16::NAME, f16::NAME, f32::NAME, e4m3::NAME, e5m2::NAME];
const OF_INTEGERS: &[&str] = &[i32::NAME, f32::NAME, bf16::NAME, f16::NAME, i8::NAME, u8::NAME];

impl fmt::Display for GemmTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gpu, driver, date, command, entries } = self;
        let GpuKind { name, capability: (major, minor), multiprocessors } = gpu;
        writeln!(f, "gpu: {name}\ncapability: {major}.{minor}\nmultiprocessors: {multiprocessors}")?;
        writeln!(f, "driver: {driver}\ndate: {date}\ncommand: {command}\n{COLUMNS}")?;
        entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for GemmEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operand, result, size: [m, n, k], gemm, micros } = self;
        let Gemm { a, b, tile, cluster: [rows, cols], schedule, parts, .. } = gemm;
        let (a, b, group) = (a.name(), b.name(), schedule.group());
        write!(f, "{operand} {result} {a} {b} {m} {n} {k} {tile} {rows}x{cols} {parts} {group} {micros:.1}")
    }
}

/// The lines of a table, numbered from 1.
struct Lines<'t> {
    lines: std::iter::Zip<std::str::Lines<'t>, std::ops::RangeFrom<usize>>,
    /// The number of the last line that was read.
    last: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self, expected: &str) -> Result<&'t str, GemmTableError> {
        let (text, line) = self.lines.next().ok_or_else(|| GemmTableError {
            line: self.last + 1,
            problem: format!("expected `{expected}`, found the end of the table"),
        })?;
        self.last = line;
        Ok(text)
    }

    fn error<T>(&self, problem: String) -> Result<T, GemmTableError> {
        Err(GemmTableError { line: self.last, problem })
    }

    /// Returns the value of the field on the next line.
    fn field(&mut self, name: &str) -> Result<&'t str, GemmTableError> {
        let text = self.next(name)?;
        match text.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")) {
            Some(value) => Ok(value),
            None => self.error(format!("expected `{name}: …`, found `{text}`")),
        }
    }

    fn parsed<T>(
        &mut self,
        name: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, GemmTableError> {
        let text = self.field(name)?;
        parse(text).or_else(|problem| self.error(problem))
    }
}

impl FromStr for GemmTable {
    type Err = GemmTableError;

    fn from_str(text: &str) -> Result<Self, GemmTableError> {
        let mut lines = Lines { lines: text.lines().zip(1..), last: 0 };
        let gpu = GpuKind {
            name: lines.field("gpu")?.into(),
            capability: lines.parsed("capability", capability)?,
            multiprocessors: lines.parsed("multiprocessors", number)?,
        };
        let [driver, date, command] = [lines.field("driver")?, lines.field("date")?, lines.field("command")?];
        let columns = lines.next(COLUMNS)?;
        if columns != COLUMNS {
            return lines.error(expected(&format!("`{COLUMNS}`"), columns));
        }
        let mut entries: Vec<(GemmEntry, usize)> = Vec::new();
        for (text, line) in lines.lines.filter(|(text, _)| !text.trim().is_empty()) {
            let entry = GemmEntry::parse(text, Gemm::target_of(gpu.capability));
            let entry = entry.map_err(|problem| GemmTableError { line, problem })?;
            if let Some((_, first)) = entries.iter().find(|(other, _)| other.problem() == entry.problem()) {
                let problem = format!("expected one entry for each problem, found another on line {first}");
                return Err(GemmTableError { line, problem });
            }
            entries.push((entry, line));
        }
        let entries = entries.into_iter().map(|(entry, _)| entry).collect();
        Ok(Self { gpu, driver: driver.into(), date: date.into(), command: command.into(), entries })
    }
}

impl GemmEntry {
    /// Parses an entry of a table for this target.
    fn parse(text: &str, target: Target) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [operand, result, a, b, m, n, k, tile, cluster, parts, group, micros] = fields[..] else {
            return Err(format!("expected 12 fields, found {}", fields.len()));
        };
        let types = TYPES.iter().find(|(name, ..)| *name == operand);
        let &(_, bytes, results) = types.ok_or_else(|| {
            expected(&format!("operands of {}", listed(TYPES.map(|(name, ..)| name))), operand)
        })?;
        if !results.contains(&result) {
            return Err(expected(&format!("a result of {}", listed(results.iter().copied())), result));
        }
        let time = micros.parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0);
        let micros = time.ok_or_else(|| expected("a time in microseconds", micros))?;
        let cluster = match cluster.split_once('x') {
            Some((rows, cols)) => [number(rows)?, number(cols)?],
            None => return Err(expected("a cluster such as 2x1", cluster)),
        };
        let gemm = Gemm {
            target,
            a: order(a)?,
            b: order(b)?,
            cluster,
            schedule: Schedule::grouped(number(group)?),
            parts: number(parts)?,
            ..Gemm::new(tile_of(tile)?)
        };
        gemm.check(bytes)?;
        let size = [number(m)?, number(n)?, number(k)?];
        Ok(Self { operand: operand.into(), result: result.into(), size, gemm, micros })
    }
}

fn expected(what: &str, found: &str) -> String {
    format!("expected {what}, found `{found}`")
}

fn listed<'t>(names: impl IntoIterator<Item = &'t str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Parses a positive integer.
fn number(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| expected("a number from 1", text))
}

fn capability(text: &str) -> Result<(u32, u32), String> {
    let numbers =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    numbers.ok_or_else(|| expected("a compute capability such as 9.0", text))
}

fn order(text: &str) -> Result<MatrixOrder, String> {
    let order = MatrixOrder::ALL.into_iter().find(|order| order.name() == text);
    order.ok_or_else(|| expected("row or col", text))
}

fn tile_of(text: &str) -> Result<GemmTile, String> {
    let tile = GemmTile::ALL.into_iter().find(|tile| tile.to_string() == text);
    tile.ok_or_else(|| expected("a tile such as 128x192", text))
}
