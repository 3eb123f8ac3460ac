//! The outlines of large modules, which are stored in files, so that a module is checked as a whole only once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, process};

use warpwright_sim::{Module, Outline, ParseError};
use xxhash_rust::xxh3::xxh3_128;

use crate::config::config;

/// The minimum number of bytes of a text whose outline is stored; shorter texts take at most about 10 ms to check.
const MIN_BYTES: usize = 1 << 18;

/// Parses a module, with its outline if one is stored. Files that cannot be read or written only cost time.
pub(super) fn parse(file: &str, text: &str) -> Result<Module, ParseError> {
    let Some(folder) = config().cache.as_deref().filter(|_| text.len() >= MIN_BYTES) else {
        return Module::parse_file(file, text);
    };
    let path = folder.join(name(text));
    let stored = fs::read_to_string(&path).ok().and_then(|stored| stored.parse::<Outline>().ok());
    if let Some(Ok(module)) = stored.map(|outline| Module::parse_outlined(file, text, &outline)) {
        return Ok(module);
    }
    let module = Module::parse_file(file, text)?;
    let _ = store(&path, &module.outline());
    Ok(module)
}

/// Returns the file name for a text. Other versions of the simulator may check more, so they have other files; what this version's builds
/// check differently, they find in the functions that are used.
fn name(text: &str) -> PathBuf {
    format!("{:032x}-{}.outline", xxh3_128(text.as_bytes()), env!("CARGO_PKG_VERSION")).into()
}

/// Writes an outline under another name first, so that no process reads a part of it.
fn store(path: &Path, outline: &Outline) -> std::io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let unfinished = path.with_extension(format!("{}-{count}", process::id()));
    let stored = fs::write(&unfinished, outline.to_string()).and_then(|()| fs::rename(&unfinished, path));
    if stored.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    stored
}
