//! Maps a line of PTX text to the Rust line that emitted it, using `.loc` and `.file`.

use std::fmt;

/// A position in a Rust source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The path as passed to the compiler.
    pub file: String,
    /// The 1-based line number.
    pub line: u32,
    /// The 1-based column number.
    pub column: u32,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl SourceLine {
    /// Returns the source position of 1-based `line` of `text`: the last `.loc` before it in the same kernel (PTX ISA,
    /// "Debugging Directives: .loc").
    pub(super) fn of(text: &str, line: u32) -> Option<Self> {
        let before: Vec<&str> = text.lines().take(line.saturating_sub(1) as usize).collect();
        let in_kernel = before.iter().rev().take_while(|l| !l.starts_with('}') && !l.contains(".entry"));
        let (file, line, column) = in_kernel.copied().find_map(loc)?;
        let path = text.lines().find_map(|l| path(l, file))?;
        Some(Self { file: path.to_string(), line, column })
    }
}

/// Parses `.loc 1 24 9` as file number, line and column.
fn loc(line: &str) -> Option<(u32, u32, u32)> {
    let mut numbers = line.trim().strip_prefix(".loc ")?.split_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some((next()?, next()?, next()?))
}

/// Returns the path in a line such as `.file 1 "src/a.rs"` if its file number is `number`.
fn path(line: &str, number: u32) -> Option<&str> {
    let (found, path) = line.trim().strip_prefix(".file ")?.split_once(' ')?;
    (found.parse() == Ok(number)).then(|| path.trim().trim_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
.visible .entry one()
{
    .loc 1 10 5
    mov.u32 %r1, 1;
    mov.u32 %r2, 2;
    .loc 2 20 6
    add.u32 %r1, %r1, %r2;
}
.visible .entry two()
{
    ret;
}
.file 1 \"src/a b.rs\"
.file 2 \"src/c.rs\"
";

    fn of(line: u32) -> Option<String> {
        SourceLine::of(TEXT, line).map(|at| at.to_string())
    }

    #[test]
    fn the_last_loc_before_the_line_applies() {
        assert_eq!(of(4).as_deref(), Some("src/a b.rs:10:5"));
        assert_eq!(of(5).as_deref(), Some("src/a b.rs:10:5"));
        assert_eq!(of(7).as_deref(), Some("src/c.rs:20:6"));
    }

    #[test]
    fn other_lines_have_none() {
        for line in [0, 1, 2, 3, 11, 14] {
            assert_eq!(of(line), None, "line {line}");
        }
    }
}
