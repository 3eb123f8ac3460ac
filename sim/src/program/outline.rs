//! The extents of the functions of a checked module, which allow the functions to be parsed only when they are used.

use std::fmt;
use std::str::FromStr;

use crate::text::ast::{Ast, Item, Space, Statement};
use crate::text::body::Extent;
use crate::text::lexer::Pos;

/// The positions of the functions in the text of a valid module. [`Module::parse_outlined`](crate::Module::parse_outlined) uses an outline
/// to parse these functions only when they are used.
///
/// The text form of an outline consists of a line with the length of the module's text in bytes and the number of functions, followed by
/// one line per function. Functions that declare `.global` or `.const` variables are not included.
#[derive(Clone, Debug)]
pub struct Outline {
    /// The length of the module's text in bytes.
    length: usize,
    bodies: Vec<Extent>,
}

/// An error in the text form of an [`Outline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected an outline of a module: the length of its text, a number of functions, and six numbers per function"
)]
pub struct OutlineError;

impl Outline {
    /// Returns the outline of a module that has been checked.
    pub(crate) fn of(text: &str, ast: &Ast) -> Self {
        let bodies = ast.items.iter().filter_map(|item| match item {
            Item::Function(function) => function.body.as_ref(),
            _ => None,
        });
        let bodies = bodies.filter(|body| body.is_deferred() || !declares_module_variables(body));
        Self { length: text.len(), bodies: bodies.map(|body| body.extent()).collect() }
    }

    /// Returns the extents in `text`, or no extents if the length of `text` differs.
    pub(crate) fn bodies_in(&self, text: &str) -> impl Iterator<Item = Extent> {
        let is_same = text.len() == self.length;
        self.bodies.iter().copied().filter(move |extent| is_same && extent.is_in(text))
    }
}

fn declares_module_variables(statements: &[Statement]) -> bool {
    statements.iter().any(|statement| match statement {
        Statement::Block(inner) => declares_module_variables(inner),
        Statement::Variable(variable) => matches!(variable.space, Space::Global | Space::Const),
        _ => false,
    })
}

impl fmt::Display for Outline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} {}", self.length, self.bodies.len())?;
        for Extent { start, end, first, after } in &self.bodies {
            writeln!(f, "{start} {end} {} {} {} {}", first.line, first.column, after.line, after.column)?;
        }
        Ok(())
    }
}

impl FromStr for Outline {
    type Err = OutlineError;

    fn from_str(text: &str) -> Result<Self, OutlineError> {
        let mut lines = text.lines();
        let head = lines.next().and_then(numbers::<2>).ok_or(OutlineError)?;
        let bodies = lines.map(extent).collect::<Option<Vec<_>>>().ok_or(OutlineError)?;
        let [length, count] = head.map(|number| number as usize);
        if count == bodies.len() && text.ends_with('\n') {
            Ok(Self { length, bodies })
        } else {
            Err(OutlineError)
        }
    }
}

fn extent(line: &str) -> Option<Extent> {
    let [start, end, line, column, after_line, after_column] = numbers(line)?;
    let pos = |line, column| Pos { line, column };
    Some(Extent {
        start: start as usize,
        end: end as usize,
        first: pos(line, column),
        after: pos(after_line, after_column),
    })
}

/// Returns the numbers in a line, or `None` if the line does not consist of `N` numbers.
fn numbers<const N: usize>(line: &str) -> Option<[u32; N]> {
    let numbers: Vec<u32> = line.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}
