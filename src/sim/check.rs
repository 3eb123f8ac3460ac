//! Checkers: what a checked run watches beyond the rules that every run enforces.

pub(super) mod registers;
