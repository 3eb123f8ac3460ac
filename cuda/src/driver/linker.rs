//! The linker, to which code is added in parts. The simulator has no object code, so the result is PTX.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use crate::code::{Code, Fallible};
use crate::driver::module::{self, Image, LoadError};
use crate::driver::registry::{Handle, Registry};

/// The state of a linker.
#[derive(Debug)]
pub(crate) struct Linker {
    pub(crate) handle: Handle,
    /// The texts that were added.
    parts: Mutex<Vec<String>>,
    /// The result, at whose address programs read it until the linker is destroyed.
    linked: Mutex<Option<CString>>,
}

static LINKERS: Registry<Linker> = Registry::new(12);

impl Linker {
    pub(crate) fn create() -> Arc<Self> {
        LINKERS.add(|handle| Self { handle, parts: Mutex::default(), linked: Mutex::default() })
    }

    pub(crate) fn of(handle: Handle) -> Fallible<Arc<Self>> {
        LINKERS.get(handle)
    }

    pub(crate) fn destroy(handle: Handle) -> Fallible {
        LINKERS.remove(handle).map(drop)
    }

    /// Adds an image, which must be valid PTX on its own.
    pub(crate) fn add(&self, image: &Image) -> Result<(), LoadError> {
        let parsed = module::parse(image)?;
        self.parts.lock().unwrap_or_else(PoisonError::into_inner).push(parsed.text().to_string());
        Ok(())
    }

    /// Returns the address and the size in bytes of the linked code.
    pub(crate) fn complete(&self) -> Result<(usize, usize), LoadError> {
        let parts = self.parts.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match &parts[..] {
            [] => return Err(LoadError { code: Code::INVALID_VALUE, log: String::new() }),
            [only] => only.clone(),
            several => join(several),
        };
        module::parse(&Image::Text(text.clone()))?;
        let mut linked = self.linked.lock().unwrap_or_else(PoisonError::into_inner);
        let linked = linked.insert(CString::new(text).unwrap_or_default());
        Ok((linked.as_ptr().expose_provenance(), linked.as_bytes_with_nul().len()))
    }
}

/// Returns one module with the contents of several: the newest version and target, and the functions that one module defines and others
/// declare. Modules with different variables or functions of the same name cannot be joined in this way.
fn join(parts: &[String]) -> String {
    let newest = |name: &str| {
        let lines =
            parts.iter().flat_map(|part| part.lines()).filter(|line| line.trim_start().starts_with(name));
        let number = |line: &&str| {
            let digits = line.chars().filter(char::is_ascii_digit).collect::<String>();
            // Versions have one digit after the point; sm_100 is newer than sm_90.
            (digits.len(), digits)
        };
        lines.max_by_key(number).unwrap_or_default().to_string()
    };
    let is_header = |line: &str| {
        [".version", ".target", ".address_size"].iter().any(|name| line.trim_start().starts_with(name))
    };
    let mut text = format!("{}\n{}\n.address_size 64\n", newest(".version"), newest(".target"));
    for line in parts.iter().flat_map(|part| part.lines()).filter(|line| !is_header(line)) {
        text += &line.replace(".extern .func", ".func");
        text.push('\n');
    }
    text
}
