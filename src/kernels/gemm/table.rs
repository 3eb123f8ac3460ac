//! Tables of the fastest kernels for problems, measured on a GPU.

use std::{fmt, str::FromStr, sync::LazyLock};

use super::{Gemm, GemmTile, MatrixOrder};
use crate::{tensor::TensorElement, tiles::Schedule};

/// The fastest kernels that `warpwright tune gemm` found on a GPU, one for each problem, with the conditions of the measurement.
///
/// The text of a table has one line for each of the fields below and one line for each entry:
///
/// ```
/// use warpwright::{kernels::{GemmTable, MatrixOrder}, prelude::*};
///
/// let table: GemmTable = "\
/// gpu: NVIDIA H200
/// multiprocessors: 132
/// driver: CUDA 13.0
/// date: 2026-11-23
/// command: warpwright tune gemm --m 4096 --n 4096 --k 4096
/// type A B m n k tile cluster parts group µs
/// bf16 row col 4096 4096 4096 128x192 1x1 1 8 190.1
/// ".parse()?;
///
/// let gemm = table.for_problem::<bf16>(MatrixOrder::Row, MatrixOrder::Col, [4096; 3]);
/// assert_eq!(gemm.tile.to_string(), "128x192");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "autotuner")]
#[derive(Clone, Debug, PartialEq)]
pub struct GemmTable {
    /// The name of the GPU.
    pub gpu: String,
    /// The number of its multiprocessors.
    pub multiprocessors: u32,
    /// The version of the driver.
    pub driver: String,
    /// The date of the measurement: `2026-11-23`.
    pub date: String,
    /// The command line.
    pub command: String,
    /// The problems, with their kernels.
    pub entries: Vec<GemmEntry>,
}

/// The fastest kernel for a problem.
#[derive(Clone, Debug, PartialEq)]
pub struct GemmEntry {
    /// The type of the operands: `bf16`.
    pub dtype: String,
    /// m, n and k.
    pub size: [u32; 3],
    /// The kernel. The text of the table contains only its orders, tile, cluster, parts and the groups of its schedule.
    pub gemm: Gemm,
    /// The median time of a launch in microseconds.
    pub micros: f64,
}

/// An error in the text of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct GemmTableError {
    /// The line number, starting from 1.
    pub line: usize,
    /// The expected and the found text.
    pub problem: String,
}

/// The line between the fields of a table and its entries.
const COLUMNS: &str = "type A B m n k tile cluster parts group µs";

/// The table of an H200.
static H200: LazyLock<GemmTable> =
    LazyLock::new(|| include_str!("h200.txt").parse().expect("the crate's tests parse the table"));

impl GemmTable {
    /// Returns the table of an H200, from which [`Gemm::for_problem`] takes the kernels for 132 multiprocessors.
    pub fn h200() -> &'static Self {
        &H200
    }

    /// Returns the kernel for an m×n result of depth k, where `size` is `[m, n, k]`, with operands of `T` in these orders, if the table
    /// contains it.
    pub fn get<T: TensorElement>(&self, a: MatrixOrder, b: MatrixOrder, size: [u32; 3]) -> Option<Gemm> {
        let is_of = |entry: &&GemmEntry| {
            entry.size == size && (entry.gemm.a, entry.gemm.b) == (a, b) && entry.dtype == T::NAME
        };
        self.entries.iter().find(is_of).map(|entry| entry.gemm)
    }

    /// Returns the table's kernel for this problem, or that of [`Gemm::for_problem`] if the table does not contain the problem.
    #[must_use]
    pub fn for_problem<T: TensorElement>(&self, a: MatrixOrder, b: MatrixOrder, size: [u32; 3]) -> Gemm {
        self.get::<T>(a, b, size).unwrap_or_else(|| Gemm::for_problem::<T>(a, b, size, self.multiprocessors))
    }
}

impl fmt::Display for GemmTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { gpu, multiprocessors, driver, date, command, entries } = self;
        writeln!(f, "gpu: {gpu}\nmultiprocessors: {multiprocessors}\ndriver: {driver}\ndate: {date}")?;
        writeln!(f, "command: {command}\n{COLUMNS}")?;
        entries.iter().try_for_each(|entry| writeln!(f, "{entry}"))
    }
}

impl fmt::Display for GemmEntry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dtype, size: [m, n, k], gemm, micros } = self;
        let Gemm { a, b, tile, cluster: [rows, cols], schedule, parts, .. } = gemm;
        let (a, b, group) = (a.name(), b.name(), schedule.group());
        write!(f, "{dtype} {a} {b} {m} {n} {k} {tile} {rows}x{cols} {parts} {group} {micros:.1}")
    }
}

impl FromStr for GemmTable {
    type Err = GemmTableError;

    fn from_str(text: &str) -> Result<Self, GemmTableError> {
        let mut lines = text.lines().zip(1..);
        let mut last = 0;
        let mut next = |expected: &str| {
            let problem = || format!("expected `{expected}`, found the end of the table");
            let found = lines.next().ok_or_else(|| GemmTableError { line: last + 1, problem: problem() })?;
            last = found.1;
            Ok::<_, GemmTableError>(found)
        };
        let mut field = |name: &str| {
            let (text, line) = next(name)?;
            let value = text.strip_prefix(name).and_then(|rest| rest.strip_prefix(": "));
            let problem = || format!("expected `{name}: …`, found `{text}`");
            value.map(str::to_owned).ok_or_else(|| GemmTableError { line, problem: problem() })
        };
        let gpu = field("gpu")?;
        let multiprocessors = field("multiprocessors")?;
        let multiprocessors = multiprocessors
            .parse()
            .map_err(|_| GemmTableError { line: 2, problem: expected("a number", &multiprocessors) })?;
        let (driver, date, command) = (field("driver")?, field("date")?, field("command")?);
        let (columns, line) = next(COLUMNS)?;
        if columns != COLUMNS {
            return Err(GemmTableError { line, problem: expected(&format!("`{COLUMNS}`"), columns) });
        }
        let entry =
            |(text, line): (&str, usize)| text.parse().map_err(|problem| GemmTableError { line, problem });
        let entries =
            lines.filter(|(text, _)| !text.trim().is_empty()).map(entry).collect::<Result<_, _>>()?;
        Ok(Self { gpu, multiprocessors, driver, date, command, entries })
    }
}

impl FromStr for GemmEntry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fields: Vec<&str> = text.split_whitespace().collect();
        let [dtype, a, b, m, n, k, tile, cluster, parts, group, micros] = fields[..] else {
            return Err(format!("expected 11 fields, found {}", fields.len()));
        };
        let time = micros.parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0);
        let micros = time.ok_or_else(|| expected("a time in microseconds", micros))?;
        let (tile, parts) = (tile_of(tile)?, number(parts)?);
        if !tile.parts().contains(&parts) {
            return Err(format!("expected {:?} parts for tiles of {tile}, found {parts}", tile.parts()));
        }
        let cluster = match cluster.split_once('x') {
            Some((rows, cols)) => [number(rows)?, number(cols)?],
            None => return Err(expected("a cluster such as 2x1", cluster)),
        };
        let schedule = Schedule::grouped(number(group)?);
        let gemm = Gemm { a: order(a)?, b: order(b)?, cluster, schedule, parts, ..Gemm::new(tile) };
        Ok(Self { dtype: dtype.into(), size: [number(m)?, number(n)?, number(k)?], gemm, micros })
    }
}

fn expected(what: &str, found: &str) -> String {
    format!("expected {what}, found `{found}`")
}

/// Parses a number from 1.
fn number(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| expected("a number from 1", text))
}

fn order(text: &str) -> Result<MatrixOrder, String> {
    let order = MatrixOrder::ALL.into_iter().find(|order| order.name() == text);
    order.ok_or_else(|| expected("row or col", text))
}

fn tile_of(text: &str) -> Result<GemmTile, String> {
    let tile = GemmTile::ALL.into_iter().find(|tile| tile.to_string() == text);
    tile.ok_or_else(|| expected("a tile such as 128x192", text))
}
