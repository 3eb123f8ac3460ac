//! What is known of a module that was checked before, so that its functions are parsed and checked when they are used.

use std::fmt;
use std::str::FromStr;

use crate::text::ast::{Ast, Item, Space, Statement};
use crate::text::body::Extent;
use crate::text::lexer::Pos;

/// The extents of the functions of a valid module, which [`Module::parse_outlined`](crate::Module::parse_outlined) need not parse.
///
/// It is printed and parsed as text, one function per line. Functions that declare variables of the module are not in it.
#[derive(Clone, Debug)]
pub struct Outline {
    bodies: Vec<Extent>,
}

/// The error of a text that is not an [`Outline`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an outline of a module: the number of its functions, and six numbers per function")]
pub struct NoOutline;

impl Outline {
    /// Returns the outline of a module that has been checked.
    pub(crate) fn of(ast: &Ast) -> Self {
        let bodies = ast.items.iter().filter_map(|item| match item {
            Item::Function(function) => function.body.as_ref(),
            _ => None,
        });
        let bodies = bodies.filter(|body| !declares_module_variables(body));
        Self { bodies: bodies.map(|body| body.extent()).collect() }
    }

    pub(crate) fn bodies(&self) -> &[Extent] {
        &self.bodies
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
        writeln!(f, "{}", self.bodies.len())?;
        for Extent { start, end, first, after } in &self.bodies {
            writeln!(f, "{start} {end} {} {} {} {}", first.line, first.column, after.line, after.column)?;
        }
        Ok(())
    }
}

impl FromStr for Outline {
    type Err = NoOutline;

    fn from_str(text: &str) -> Result<Self, NoOutline> {
        let mut lines = text.lines();
        let count = lines.next().and_then(|line| line.parse::<usize>().ok());
        let bodies = lines.map(extent).collect::<Option<Vec<_>>>().ok_or(NoOutline)?;
        if count == Some(bodies.len()) { Ok(Self { bodies }) } else { Err(NoOutline) }
    }
}

fn extent(line: &str) -> Option<Extent> {
    let mut words = line.split(' ');
    let mut number = || words.next()?.parse::<u32>().ok();
    let (start, end) = (number()? as usize, number()? as usize);
    let mut pos = || Some(Pos { line: number()?, column: number()? });
    let (first, after) = (pos()?, pos()?);
    words.next().is_none().then_some(Extent { start, end, first, after })
}
