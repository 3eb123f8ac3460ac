//! PTX text: lexer, parser, syntax tree and printer.

pub(crate) mod ast;
pub(crate) mod body;
pub(crate) mod error;
pub(crate) mod lexer;
pub(crate) mod parser;
pub(crate) mod print;
