//! Runs PTX text on the CPU, bit for bit, and finds what is wrong with it.
#![forbid(unsafe_code)]

pub mod arith;
