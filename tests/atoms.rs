//! Instructions as data.

#[path = "atoms/fragment.rs"]
mod fragment;
#[path = "atoms/oracle.rs"]
mod oracle;
