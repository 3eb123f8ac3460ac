//! The layout algebra.

#[path = "layout/access.rs"]
mod access;
#[path = "layout/errors.rs"]
mod errors;
#[path = "layout/evaluation.rs"]
mod evaluation;
#[path = "layout/laws.rs"]
mod laws;
#[path = "support/lines.rs"]
mod lines;
#[path = "layout/oracle.rs"]
mod oracle;
#[path = "layout/swizzle.rs"]
mod swizzle;
#[path = "layout/text.rs"]
mod text;
#[path = "layout/tv.rs"]
mod tv;
