//! `warpwright layout`: a calculator for layouts.

mod arguments;
mod evaluate;
mod functions;
mod json;
mod parse;
mod report;
mod value;

use std::io::{self, BufRead, Write};
use std::process::ExitCode;

use super::Error;
use report::Tables;

pub(super) use evaluate::evaluate;
pub(super) use value::Value;

/// Evaluates expressions of the layout algebra, such as 'logical_divide((8,16):(16,1), (4:1, 8:1))'
///
/// Functions and layouts are written as in CuTe: (4,(2,2)):(2,(1,8)). Swizzles are S<3,4,3>, swizzled layouts
/// S<3,4,3> o 0 o (8,64):(128,2); `o` composes. Prints the result, its size and cosize, whether it is injective, and its table.
#[derive(clap::Args)]
pub(super) struct Args {
    /// Expressions; without any, reads one per line from standard input
    expressions: Vec<String>,

    /// Read lines {"id":…, "op":…, "in":[…]} from standard input and answer each with {"id":…, "result":…} or
    /// {"id":…, "error":…}
    #[arg(long, conflicts_with_all = ["expressions", "table", "no_table"])]
    jsonl: bool,

    /// Print tables of any size
    #[arg(long, conflicts_with = "no_table")]
    table: bool,

    /// Print no tables
    #[arg(long)]
    no_table: bool,

    /// List the functions
    #[arg(long)]
    functions: bool,
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let mut out = io::BufWriter::new(io::stdout().lock());
        let outcome = self.run_into(&mut out).and_then(|code| {
            out.flush()?;
            Ok(code)
        });
        match outcome {
            Ok(code) => Ok(code),
            Err(Failure::Output(error)) => super::written(Err(error)).map(|()| ExitCode::SUCCESS),
            Err(Failure::Other(error)) => Err(error),
        }
    }

    fn run_into(&self, out: &mut impl Write) -> Result<ExitCode, Failure> {
        if self.functions {
            for function in functions::FUNCTIONS {
                let mut names = function.names.split(' ');
                let first = names.next().unwrap_or_default();
                let others: String = names.map(|name| format!("  also {name}")).collect();
                writeln!(out, "{first}({}){others}", function.arguments)?;
            }
            return Ok(ExitCode::SUCCESS);
        }
        if self.jsonl {
            return answer_lines(out);
        }
        let tables = match (self.table, self.no_table) {
            (true, _) => Tables::All,
            (_, true) => Tables::None,
            _ => Tables::Small,
        };
        if self.expressions.is_empty() {
            return evaluate_lines(tables, out);
        }
        // Nothing is written if one of the expressions is invalid.
        let values: Result<Vec<_>, Error> = self.expressions.iter().map(|text| value(text)).collect();
        for value in values? {
            out.write_all(report::report(&value, tables).as_bytes())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The reason that the command ends early.
enum Failure {
    /// The output cannot be written.
    Output(io::Error),
    Other(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Other(error)
    }
}

/// Evaluates an expression given on the command line.
fn value(text: &str) -> Result<Value, Error> {
    evaluate(text)
        .map_err(|mistake| Error(format!("{text:?}, column {}: {}", mistake.column, mistake.problem)))
}

/// Evaluates one expression per line; after an error, continues with the next line.
fn evaluate_lines(tables: Tables, out: &mut impl Write) -> Result<ExitCode, Failure> {
    let mut code = ExitCode::SUCCESS;
    for (number, line) in (1..).zip(io::stdin().lock().lines()) {
        let line = line.map_err(unread)?;
        if line.trim().is_empty() {
            continue;
        }
        match evaluate(&line) {
            Ok(value) => {
                out.write_all(report::report(&value, tables).as_bytes())?;
                out.flush()?;
            }
            Err(mistake) => {
                eprintln!("error: line {number}, column {}: {}", mistake.column, mistake.problem);
                code = ExitCode::from(2);
            }
        }
    }
    Ok(code)
}

fn answer_lines(out: &mut impl Write) -> Result<ExitCode, Failure> {
    for line in io::stdin().lock().lines() {
        let line = line.map_err(unread)?;
        if !line.trim().is_empty() {
            writeln!(out, "{}", json::answer(&line))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn unread(error: io::Error) -> Error {
    Error::of("standard input", error)
}
