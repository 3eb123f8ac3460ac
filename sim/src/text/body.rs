//! The body of a function, parsed with its module or when it is first read.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use crate::text::ast::Statement;
use crate::text::error::ParseError;
use crate::text::lexer::Pos;
use crate::text::parser;

/// The extent of a body in the text of its module, from `{` to `}`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// The byte offset of `{`.
    pub(crate) start: usize,
    /// The byte offset after `}`.
    pub(crate) end: usize,
    /// The position of `{`.
    pub(crate) first: Pos,
    /// The position after `}`.
    pub(crate) after: Pos,
}

impl Extent {
    /// Returns whether the text has `{` and `}` at these offsets, and is long enough for the positions.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        let body = text.get(self.start..self.end).unwrap_or("");
        let can_be = |pos: Pos| pos.line.max(pos.column) as usize <= text.len() + 1;
        body.starts_with('{') && body.ends_with('}') && can_be(self.first) && can_be(self.after)
    }
}

/// The statements of a function.
#[derive(Clone)]
pub struct Body {
    extent: Extent,
    /// The text of the module, if the body is parsed only when it is first read.
    deferred: Option<Arc<str>>,
    statements: OnceLock<Result<Vec<Statement>, ParseError>>,
}

impl Body {
    pub(crate) fn new(extent: Extent, statements: Vec<Statement>) -> Self {
        Self { extent, deferred: None, statements: OnceLock::from(Ok(statements)) }
    }

    /// Returns a body that is parsed when it is first read.
    pub(crate) fn deferred(extent: Extent, text: Arc<str>) -> Self {
        Self { extent, deferred: Some(text), statements: OnceLock::new() }
    }

    pub(crate) fn is_deferred(&self) -> bool {
        self.deferred.is_some()
    }

    pub(crate) fn extent(&self) -> Extent {
        self.extent
    }

    /// Returns the statements, or the first error of a deferred body.
    pub(crate) fn statements(&self) -> Result<&[Statement], &ParseError> {
        let parsed = self.statements.get_or_init(|| match &self.deferred {
            Some(text) => parser::parse_body(text, self.extent),
            None => Ok(vec![]),
        });
        parsed.as_deref()
    }
}

/// Dereferences to the statements, or to an empty slice if a deferred body has an error, which a launch then returns.
impl Deref for Body {
    type Target = [Statement];

    fn deref(&self) -> &[Statement] {
        self.statements().unwrap_or_default()
    }
}

impl PartialEq for Body {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}
