//! The linker: code that is added piece by piece. The simulator has no object code, so the result is the PTX itself.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::module::{self, Image, LoadError};
use crate::driver::registry::{Handle, Registry};

/// The state of a linker.
#[derive(Debug)]
pub(crate) struct Linker {
    pub(crate) handle: Handle,
    /// The text, which programs read at its address until the linker is destroyed.
    text: Mutex<Option<CString>>,
}

static LINKERS: Registry<Linker> = Registry::new(12);

impl Linker {
    pub(crate) fn create() -> Arc<Self> {
        LINKERS.add(|handle| Self { handle, text: Mutex::default() })
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        LINKERS.get(handle)
    }

    pub(crate) fn destroy(handle: Handle) -> Fallible {
        LINKERS.remove(handle).map(drop)
    }

    /// Adds an image, which must be valid PTX by itself. A second one would have to be linked with the first.
    pub(crate) fn add(&self, image: &Image) -> Result<(), LoadError> {
        let parsed = module::parse(image)?;
        let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        if text.is_some() {
            return Err(LoadError {
                code: Code::NOT_SUPPORTED,
                log: "error   : several modules cannot be linked".into(),
            });
        }
        *text = CString::new(parsed.text()).ok();
        Ok(())
    }

    /// Returns the address and the size in bytes of the linked code.
    pub(crate) fn complete(&self) -> Fallible<(usize, usize)> {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        let text = text.as_ref().ok_or(Code::INVALID_VALUE)?;
        Ok((text.as_ptr().expose_provenance(), text.as_bytes_with_nul().len()))
    }
}
