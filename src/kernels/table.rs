//! The text format of tables of kernels that were measured on a GPU: lines with the measurement conditions, a line with the column names,
//! and one line for each problem.

use std::fmt;

use super::gemm::GpuKind;

/// An error in the text of a [`GemmTable`](super::GemmTable) or an [`AttentionTable`](super::AttentionTable).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct TableError {
    /// The line number, starting from 1.
    pub line: usize,
    /// A description of the problem, including what was expected and what was found.
    pub problem: String,
}

/// The conditions of a measurement.
pub(super) struct Conditions {
    pub(super) gpu: GpuKind,
    pub(super) driver: String,
    pub(super) date: String,
    pub(super) command: String,
}

/// Writes the lines before the entries.
pub(super) fn write_head(
    f: &mut fmt::Formatter<'_>,
    (gpu, driver, date, command): (&GpuKind, &str, &str, &str),
    columns: &str,
) -> fmt::Result {
    let GpuKind { name, capability: (major, minor), multiprocessors } = gpu;
    writeln!(f, "gpu: {name}\ncapability: {major}.{minor}\nmultiprocessors: {multiprocessors}")?;
    writeln!(f, "driver: {driver}\ndate: {date}\ncommand: {command}\n{columns}")
}

/// Parses a table with the given columns. Rejects a table in which two entries have the same problem.
pub(super) fn parse<E>(
    text: &str,
    columns: &str,
    entry: impl Fn(&str, &GpuKind) -> Result<E, String>,
    have_same_problem: impl Fn(&E, &E) -> bool,
) -> Result<(Conditions, Vec<E>), TableError> {
    let mut lines = Lines { lines: text.lines().zip(1..), last: 0 };
    let gpu = GpuKind {
        name: lines.field("gpu")?.into(),
        capability: lines.parsed("capability", capability)?,
        multiprocessors: lines.parsed("multiprocessors", number)?,
    };
    let [driver, date, command] = [lines.field("driver")?, lines.field("date")?, lines.field("command")?];
    let found = lines.next(columns)?;
    if found != columns {
        return lines.error(expected(&format!("`{columns}`"), found));
    }
    let mut entries: Vec<(E, usize)> = Vec::new();
    for (text, line) in lines.lines.filter(|(text, _)| !text.trim().is_empty()) {
        let entry = entry(text, &gpu).map_err(|problem| TableError { line, problem })?;
        if let Some((_, first)) = entries.iter().find(|(other, _)| have_same_problem(other, &entry)) {
            let problem = format!("expected one entry for each problem, found another on line {first}");
            return Err(TableError { line, problem });
        }
        entries.push((entry, line));
    }
    let entries = entries.into_iter().map(|(entry, _)| entry).collect();
    Ok((Conditions { gpu, driver: driver.into(), date: date.into(), command: command.into() }, entries))
}

/// The lines of a table, numbered from 1.
struct Lines<'t> {
    lines: std::iter::Zip<std::str::Lines<'t>, std::ops::RangeFrom<usize>>,
    /// The number of the last line that was read.
    last: usize,
}

impl<'t> Lines<'t> {
    fn next(&mut self, expected: &str) -> Result<&'t str, TableError> {
        let (text, line) = self.lines.next().ok_or_else(|| TableError {
            line: self.last + 1,
            problem: format!("expected `{expected}`, found the end of the table"),
        })?;
        self.last = line;
        Ok(text)
    }

    fn error<T>(&self, problem: String) -> Result<T, TableError> {
        Err(TableError { line: self.last, problem })
    }

    /// Returns the value of the field on the next line.
    fn field(&mut self, name: &str) -> Result<&'t str, TableError> {
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
    ) -> Result<T, TableError> {
        let text = self.field(name)?;
        parse(text).or_else(|problem| self.error(problem))
    }
}

pub(super) fn expected(what: &str, found: &str) -> String {
    format!("expected {what}, found `{found}`")
}

pub(super) fn listed<'t>(names: impl IntoIterator<Item = &'t str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Parses a number of at least 1.
pub(super) fn number(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| expected("a number of at least 1", text))
}

/// Parses a time in microseconds.
pub(super) fn micros(text: &str) -> Result<f64, String> {
    let time = text.parse().ok().filter(|time: &f64| time.is_finite() && *time > 0.0);
    time.ok_or_else(|| expected("a time in microseconds", text))
}

fn capability(text: &str) -> Result<(u32, u32), String> {
    let numbers =
        text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    numbers.ok_or_else(|| expected("a compute capability such as 9.0", text))
}
