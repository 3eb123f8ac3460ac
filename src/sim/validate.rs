//! Is a text valid PTX? A second opinion to ptxas, without running anything.

use super::error::ParseError;
use super::module::Module;

/// Every mistake in a text, in its order: unknown or malformed instructions, wrong operands, undefined and doubly defined
/// names, features that the module's `.version` or `.target` lack. `file` is the name that the errors give the text.
pub fn validate(file: &str, text: &str) -> Vec<ParseError> {
    let mut errors = match Module::parse_all(file, text) {
        Ok(_) => vec![],
        Err(errors) => errors,
    };
    errors.sort_by_key(|error| (error.line(), error.column()));
    errors.dedup();
    errors
}
