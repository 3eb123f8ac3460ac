//! Runs PTX text on the CPU, bit for bit, and finds what is wrong with it.
#![forbid(unsafe_code)]

pub mod arith;
pub mod ast;
mod code;
mod decode;
mod error;
mod lexer;
mod parser;
mod print;
mod types;

pub use error::ParseError;
