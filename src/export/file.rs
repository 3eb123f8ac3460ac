//! Writing files so that a reader sees the old or the new, never a part.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use super::ExportError;

/// A file that is removed unless it was renamed.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // Nothing to be done about a leftover that cannot be removed; the error at hand says more.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes all texts beside their places in `dir`, then moves each there.
pub(super) fn replace<const N: usize>(
    dir: &Path,
    files: [(&str, String); N],
) -> Result<[PathBuf; N], ExportError> {
    let refuse = |path: &Path| {
        let path = path.to_path_buf();
        |source| ExportError::Write { path, source }
    };
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    fs::create_dir_all(dir).map_err(refuse(dir))?;
    let mut written = Vec::with_capacity(N);
    for (name, text) in &files {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = dir.join(format!(".{name}.{}.{number}.tmp", process::id()));
        let temporary = Temporary { path, renamed: false };
        fs::write(&temporary.path, text).map_err(refuse(&dir.join(name)))?;
        written.push(temporary);
    }
    let places = files.map(|(name, _)| dir.join(name));
    for (temporary, place) in written.iter_mut().zip(&places) {
        fs::rename(&temporary.path, place).map_err(refuse(place))?;
        temporary.renamed = true;
    }
    Ok(places)
}
