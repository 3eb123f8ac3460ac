//! Diagnostics in the style of compilers: a title, annotated source lines, and notes.

use std::io::{IsTerminal, Write};

use annotate_snippets::{AnnotationKind, Element, Group, Level, Renderer, Snippet};

/// A span within one line of a file.
#[derive(Clone, Debug)]
pub(super) struct Span<'a> {
    /// The file name to display.
    pub(super) file: &'a str,
    /// The text of the line.
    pub(super) text: &'a str,
    /// The 1-based line.
    pub(super) line: u32,
    /// The 1-based column in characters.
    pub(super) column: u32,
    /// The length in characters.
    pub(super) len: u32,
    /// The label below the carets.
    pub(super) label: String,
}

impl Span<'_> {
    /// Returns the byte range of the line that the carets underline.
    fn bytes(&self) -> std::ops::Range<usize> {
        let at = |n: usize| self.text.char_indices().nth(n).map_or(self.text.len(), |(i, _)| i);
        let first = self.column.saturating_sub(1) as usize;
        at(first)..at(first + self.len as usize)
    }

    fn snippet<'a>(&'a self, kind: AnnotationKind) -> Element<'a> {
        let mut annotation = kind.span(self.bytes());
        if !self.label.is_empty() {
            annotation = annotation.label(self.label.as_str());
        }
        Snippet::source(self.text)
            .line_start(self.line.max(1) as usize)
            .path(self.file)
            .annotation(annotation)
            .into()
    }
}

/// An error, or a note.
#[derive(Clone, Debug)]
pub(super) struct Diagnostic<'a> {
    /// Whether the diagnostic is a note rather than an error.
    pub(super) is_note: bool,
    /// The name of the kind of error, if it has one.
    pub(super) id: Option<&'a str>,
    /// A one-line description.
    pub(super) title: &'a str,
    /// The location.
    pub(super) primary: Span<'a>,
    /// Related locations, each with a description.
    pub(super) others: Vec<(String, Span<'a>)>,
    /// Additional information.
    pub(super) notes: &'a [String],
}

impl Diagnostic<'_> {
    /// Prints the diagnostic to standard error.
    pub(super) fn print(&self) {
        let colors = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let renderer = if colors { Renderer::styled() } else { Renderer::plain() };
        // A closed standard error is ignored, because the exit code also reports the error.
        let _ = writeln!(std::io::stderr(), "{}\n", renderer.render(&self.groups()));
    }

    fn groups(&self) -> Vec<Group<'_>> {
        let level = if self.is_note { Level::NOTE } else { Level::ERROR };
        let title = level.primary_title(self.title);
        let title = match self.id {
            Some(id) => title.id(id),
            None => title,
        };
        let mut last = title.element(self.primary.snippet(AnnotationKind::Primary));
        let mut groups = vec![];
        for (sentence, span) in &self.others {
            groups.push(last);
            last =
                Level::NOTE.secondary_title(sentence.as_str()).element(span.snippet(AnnotationKind::Primary));
        }
        for note in self.notes {
            last = last.element(Level::NOTE.message(note.as_str()));
        }
        groups.push(last);
        groups
    }
}
