//! Atomic replacement of files: a reader sees either the old or the new contents.

use std::{
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use super::ExportError;

/// A file that is removed on drop unless it was renamed.
struct Temporary {
    path: PathBuf,
    renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.renamed {
            // The error that caused the drop is more informative than a failed removal.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Writes all texts to temporary files in `dir`, then renames each.
pub(super) fn replace(dir: &Path, files: &[(&str, String)]) -> Result<(), ExportError> {
    let fault = |path: &Path| {
        let path = path.to_path_buf();
        |source| ExportError::Write { path, source }
    };
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    fs::create_dir_all(dir).map_err(fault(dir))?;
    let mut written = Vec::with_capacity(files.len());
    for (name, text) in files {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let temporary_path = dir.join(format!(".{name}.{}.{number}.tmp", process::id()));
        let temporary = Temporary { path: temporary_path, renamed: false };
        fs::write(&temporary.path, text).map_err(fault(&dir.join(name)))?;
        written.push(temporary);
    }
    let paths: Vec<PathBuf> = files.iter().map(|(name, _)| dir.join(name)).collect();
    for (temporary, path) in written.iter_mut().zip(&paths) {
        fs::rename(&temporary.path, path).map_err(fault(path))?;
        temporary.renamed = true;
    }
    Ok(())
}
