//! The layout algebra.

#[path = "layout/oracle.rs"]
mod oracle;
