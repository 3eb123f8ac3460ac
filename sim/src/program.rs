//! A module as it is executed: decoded code, the decoder, what is known about the code before it runs.

pub(crate) mod analysis;
pub(crate) mod code;
pub(crate) mod decode;
pub(crate) mod module;
pub(crate) mod spaces;
pub(crate) mod types;
