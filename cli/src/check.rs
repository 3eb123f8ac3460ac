//! `warpwright check`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::Error;
use super::diagnostic::{Diagnostic, Span};
use warpwright_sim::{ParseError, validate};

/// Parses and validates PTX files without running them
///
/// Finds unknown and malformed instructions, operands of the wrong type or number, undefined and duplicate names, and
/// instructions that the `.version` or `.target` of the file does not support. Errors are printed to standard error in the style of
/// a compiler.
///
/// Exit codes: 0 if all files are valid, 1 if some are not, 2 if a file cannot be read.
#[derive(clap::Args)]
pub(super) struct Args {
    /// PTX files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

impl Args {
    /// Executes the command.
    pub(super) fn run(self) -> Result<ExitCode, Error> {
        let texts = self.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
        let mut valid = true;
        for (path, text) in self.files.iter().zip(&texts) {
            let file = path.display().to_string();
            let errors = validate(&file, text);
            errors.iter().for_each(|error| print(error, &file));
            valid &= errors.is_empty();
        }
        Ok(if valid { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }
}

/// Reads a file as text.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(path).map_err(|e| Error::of(path.display(), e))?;
    String::from_utf8(bytes).map_err(|_| Error::of(path.display(), "expected UTF-8 text"))
}

fn print(error: &ParseError, file: &str) {
    let primary = Span {
        file,
        text: error.text(),
        line: error.line(),
        column: error.column(),
        len: error.length(),
        label: String::new(),
    };
    Diagnostic { is_note: false, id: None, title: error.message(), primary, others: vec![], notes: &[] }
        .print();
}
