//! Diagnostics as compilers print them: a title, the lines it is about with carets, notes.

use std::io::{IsTerminal, Write};

use annotate_snippets::{AnnotationKind, Element, Group, Level, Renderer, Snippet};

/// A stretch of one line of a file.
#[derive(Clone, Debug)]
pub(super) struct Span<'a> {
    /// The file, as the user should read it.
    pub(super) file: &'a str,
    /// The whole line.
    pub(super) text: &'a str,
    /// 1-based.
    pub(super) line: u32,
    /// 1-based, in characters.
    pub(super) column: u32,
    /// Characters.
    pub(super) len: u32,
    /// What to write at the carets.
    pub(super) label: String,
}

impl Span<'_> {
    /// The bytes of the line under the carets.
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

/// One error.
#[derive(Clone, Debug)]
pub(super) struct Diagnostic<'a> {
    /// A name for the kind of error, if it has one.
    pub(super) id: Option<&'a str>,
    /// What is wrong, in a line.
    pub(super) title: &'a str,
    /// Where.
    pub(super) primary: Span<'a>,
    /// Other places that belong to it, each with a sentence.
    pub(super) others: Vec<(String, Span<'a>)>,
    /// Further facts.
    pub(super) notes: &'a [String],
}

impl Diagnostic<'_> {
    /// Writes the error to standard error.
    pub(super) fn print(&self) {
        let colours = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
        // The exit code tells of the error even if nobody reads it.
        let _ = writeln!(std::io::stderr(), "{}\n", renderer.render(&self.groups()));
    }

    fn groups(&self) -> Vec<Group<'_>> {
        let title = Level::ERROR.primary_title(self.title);
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
