//! Outlines of large modules, which are stored in files so that each module is fully checked only once.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, process};

use warpwright_sim::{Module, Outline, ParseError};
use xxhash_rust::xxh3::xxh3_128;

use crate::config::config;

/// The minimum size in bytes of PTX text whose outline is stored. Shorter text takes at most about 10 ms to check.
const MIN_BYTES: usize = 1 << 18;

/// Parses a module, using its outline if one is stored. Failure to read or write a file is not an error: it only makes parsing slower.
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

/// Returns the path of the outline file for PTX text. Other versions of the simulator use different files, because their checks may differ.
/// Other builds of this version use the same file; if their checks differ, they find errors only in the functions that are used.
fn name(text: &str) -> PathBuf {
    format!("{:032x}-{}.outline", xxh3_128(text.as_bytes()), env!("CARGO_PKG_VERSION")).into()
}

/// Writes an outline to a temporary file and then renames the file, so that no process reads an incomplete outline.
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
