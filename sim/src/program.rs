//! The executable form of a module: decoded code, the decoder, and analyses of the code.

pub(crate) mod analysis;
pub(crate) mod code;
pub(crate) mod decode;
mod initializer;
pub(crate) mod module;
pub(crate) mod outline;
pub(crate) mod spaces;
pub(crate) mod types;
