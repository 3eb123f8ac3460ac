//! Findings in the style of compiler diagnostics.

use std::path::Path;

use crate::diagnostic::{Diagnostic, Span};
use warpwright_sim::{Finding, Module, Site, SourceLocation};

/// Prints a finding or a note to standard error, with its locations in the PTX and, if the text contains line information, in the source.
pub(super) fn print(finding: &Finding, module: &Module, folder: &Path) {
    let sources = [Some(&finding.site), finding.other.as_ref()]
        .map(|site| site.and_then(|site| site.source.as_ref()).map(|at| Source::read(at, folder)));
    let mut others = vec![];
    let [own, other] = &sources;
    others.extend(own.as_ref().map(Source::note));
    if let Some(site) = &finding.other {
        others.push((format!("the other side: {}", who(site)), span(site, module, String::new())));
    }
    others.extend(other.as_ref().map(Source::note));
    let diagnostic = Diagnostic {
        is_note: finding.kind.is_note(),
        id: Some(finding.kind.name()),
        title: &finding.message,
        primary: span(&finding.site, module, who(&finding.site)),
        others,
        notes: &finding.notes,
    };
    diagnostic.print();
}

/// Returns the line of PTX, with carets under the mnemonic.
fn span<'a>(site: &Site, module: &'a Module, label: String) -> Span<'a> {
    Span {
        file: module.file(),
        text: module.line(site.line),
        line: site.line,
        column: site.column,
        len: site.mnemonic.chars().count() as u32,
        label,
    }
}

/// Formats `kernel k, block (0, 0, 0), thread (1, 0, 0), warp 0, lane 1`.
fn who(site: &Site) -> String {
    let [x, y, z] = site.block;
    let mut text = format!("kernel {}, block ({x}, {y}, {z})", site.kernel);
    if let Some([x, y, z]) = site.thread {
        text += &format!(", thread ({x}, {y}, {z})");
    }
    text += &format!(", warp {}", site.warp);
    if let Some(lane) = site.lane {
        text += &format!(", lane {lane}");
    }
    text
}

/// A line of the source file from which the PTX was compiled; empty if the file does not exist.
struct Source<'a> {
    at: &'a SourceLocation,
    text: String,
}

impl<'a> Source<'a> {
    /// Reads the file at its path or, if it does not exist, in the folder of the case.
    fn read(at: &'a SourceLocation, folder: &Path) -> Self {
        let path = Path::new(&at.file);
        let beside = path.file_name().map(|name| folder.join(name));
        let found =
            std::iter::once(path.to_path_buf()).chain(beside).find_map(|p| std::fs::read_to_string(p).ok());
        let line = |text: String| text.lines().nth(at.line.saturating_sub(1) as usize).map(str::to_string);
        Self { at, text: found.and_then(line).unwrap_or_default() }
    }

    fn note(&self) -> (String, Span<'_>) {
        let span = Span {
            file: &self.at.file,
            text: &self.text,
            line: self.at.line,
            column: self.at.column.max(1),
            len: 1,
            label: String::new(),
        };
        ("compiled from here".to_string(), span)
    }
}
