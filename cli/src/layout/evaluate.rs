//! Evaluates expressions. Errors include the column of the subexpression that caused them.

use super::arguments::{Arguments, Fault};
use super::functions::{self, Function};
use super::parse::{Expr, Kind, Mistake, parse};
use super::value::Value;

/// Evaluates the text of an expression.
pub(crate) fn evaluate(text: &str) -> Result<Value, Mistake> {
    value(parse(text)?)
}

fn value(expr: Expr) -> Result<Value, Mistake> {
    let column = expr.column;
    let mistake = |problem: String| Mistake { column, problem };
    match expr.kind {
        Kind::Value(value) => Ok(value),
        Kind::Tuple(parts) => Ok(Value::Tuple(values(parts)?)),
        Kind::Layout(shape, stride) => {
            let (shape, stride) = (value(*shape)?, value(*stride)?);
            match shape.with_stride(&stride) {
                Some(layout) => layout.map_err(|error| mistake(error.to_string())),
                None => {
                    let problem = format!("expected integers on both sides of `:`, found {shape}:{stride}");
                    Err(mistake(problem))
                }
            }
        }
        Kind::Chain(parts) => {
            let columns: Vec<_> = parts.iter().map(|part| part.column).collect();
            apply("o", &functions::CHAIN, columns, values(parts)?, column)
        }
        Kind::Call(name, parts) => {
            let Some(function) = functions::find(&name) else {
                return Err(mistake(format!(
                    "expected the name of a function, found `{name}`; --functions lists them"
                )));
            };
            let columns: Vec<_> = parts.iter().map(|part| part.column).collect();
            apply(&name, function, columns, values(parts)?, column)
        }
    }
}

fn values(parts: Vec<Expr>) -> Result<Vec<Value>, Mistake> {
    parts.into_iter().map(value).collect()
}

fn apply(
    name: &str,
    function: &Function,
    columns: Vec<usize>,
    values: Vec<Value>,
    column: usize,
) -> Result<Value, Mistake> {
    function.call(&Arguments(&values)).map_err(|fault| match fault {
        Fault::Argument { index, problem } => {
            let column = columns.get(index).copied().unwrap_or(column);
            Mistake { column, problem: format!("{name}: argument {}: {problem}", index + 1) }
        }
        Fault::Whole(problem) => Mistake { column, problem: Fault::whole(name, &problem) },
    })
}
