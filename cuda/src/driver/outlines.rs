//! Large modules are checked once: their outlines are stored in files, and with its outline, a module is ready at once.

use std::path::{Path, PathBuf};
use std::{fs, process};

use warpwright_sim::{Module, Outline, ParseError};
use xxhash_rust::xxh3::xxh3_128;

use crate::config::config;

/// The number of bytes of a text from which its outline is stored: about 10 ms of checks.
const LARGE: usize = 1 << 18;

/// Parses a module, with its outline if one is stored. Files that cannot be read or written only cost time.
pub(super) fn parse(file: &str, text: &str) -> Result<Module, ParseError> {
    let Some(folder) = config().cache.as_deref().filter(|_| text.len() >= LARGE) else {
        return Module::parse_file(file, text);
    };
    let path = folder.join(name(text));
    if let Some(outline) = fs::read_to_string(&path).ok().and_then(|stored| stored.parse::<Outline>().ok()) {
        return Module::parse_outlined(file, text, &outline);
    }
    let module = Module::parse_file(file, text)?;
    let _ = store(&path, &module.outline());
    Ok(module)
}

/// Returns the file name for a text. Other versions of the simulator may check more, so they have other files.
fn name(text: &str) -> PathBuf {
    format!("{:032x}-{}.outline", xxh3_128(text.as_bytes()), env!("CARGO_PKG_VERSION")).into()
}

/// Writes an outline under another name first, so that no process reads a part of it.
fn store(path: &Path, outline: &Outline) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let unfinished = path.with_extension(process::id().to_string());
    fs::write(&unfinished, outline.to_string())?;
    fs::rename(&unfinished, path)
}
