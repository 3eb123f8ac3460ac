//! Errors in PTX text, with their locations.

use std::fmt;

use crate::text::lexer::Pos;

/// An error in PTX text, with its location.
///
/// `Display` prints the message, `file:line:column`, the line of text and a caret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError(Box<Inner>);

/// Boxed, so that results without an error are small.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inner {
    message: String,
    file: String,
    line: u32,
    column: u32,
    len: u32,
    text: String,
    unsupported: bool,
}

impl ParseError {
    #[cold]
    pub(crate) fn new(source: &str, pos: Pos, len: u32, message: impl Into<String>) -> Self {
        let text = source.lines().nth(pos.line.saturating_sub(1) as usize).unwrap_or("");
        Self(Box::new(Inner {
            message: message.into(),
            file: "kernel.ptx".into(),
            line: pos.line,
            column: pos.column,
            len: len.max(1),
            text: text.chars().take(400).collect(),
            unsupported: false,
        }))
    }

    /// Marks the error as caused by an instruction that is valid PTX but not supported by the simulator.
    pub(crate) fn of_unsupported(mut self) -> Self {
        self.0.unsupported = true;
        self
    }

    pub(crate) fn is_unsupported(&self) -> bool {
        self.0.unsupported
    }

    pub(crate) fn in_file(mut self, file: &str) -> Self {
        self.0.file = file.into();
        self
    }

    /// Returns the 1-based line of the error.
    pub fn line(&self) -> u32 {
        self.0.line
    }

    /// Returns the 1-based column of the error, in characters.
    pub fn column(&self) -> u32 {
        self.0.column
    }

    /// Returns the number of characters to which the error refers, at least 1.
    pub fn length(&self) -> u32 {
        self.0.len
    }

    /// Returns the text of the line that contains the error, or the beginning of a very long line.
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Returns the one-line description of the error, without its location.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.0.message)?;
        write!(f, "{}", Snippet { file: &self.0.file, pos: self.pos(), len: self.0.len, text: &self.0.text })
    }
}

impl ParseError {
    fn pos(&self) -> Pos {
        Pos { line: self.0.line, column: self.0.column }
    }
}

impl std::error::Error for ParseError {}

/// Prints ` --> file:line:column`, the line, and a caret line.
pub(crate) struct Snippet<'a> {
    pub(crate) file: &'a str,
    pub(crate) pos: Pos,
    pub(crate) len: u32,
    pub(crate) text: &'a str,
}

impl fmt::Display for Snippet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.pos.line.to_string();
        let gutter = " ".repeat(number.len());
        let before = self.pos.column.saturating_sub(1) as usize;
        let pad: String =
            self.text.chars().take(before).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
        let room = self.text.chars().count().saturating_sub(before).max(1);
        let carets = "^".repeat((self.len as usize).clamp(1, room));
        writeln!(f, "{gutter}--> {}:{}:{}", self.file, self.pos.line, self.pos.column)?;
        writeln!(f, "{gutter} |")?;
        writeln!(f, "{number} | {}", self.text)?;
        write!(f, "{gutter} | {pad}{carets}")
    }
}
