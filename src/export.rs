//! Kernels for programs without Rust: the PTX text, a C and C++ header, and a manifest in JSON.
//!
//! [`Kernel::export`] and [`Module::export`] write `NAME.ptx`, `NAME.h` and `NAME.json`. Nothing in them depends on the
//! machine or the time: the same kernel gives the same bytes anywhere, so they can be committed and compared.
//!
//! The header needs neither `cuda.h` nor the CUDA toolkit. It gives the arguments as a struct, the grid by the kernel's
//! own rule, a check of what the kernel was promised, and a launch through the driver API.
#![forbid(unsafe_code)]

mod c_name;
mod file;
mod header;
mod manifest;

use std::{
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

pub use manifest::{
    FileNames, Generator, KernelManifest, Manifest, ParameterManifest, PromiseManifest, SharedBytes,
};

use crate::ptx::{Entry, Kernel, Module};

/// Why an export was not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file system refused.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The files' name would not do in C.
    #[error("`{name}` cannot name exported files: wanted a C identifier")]
    BadName {
        /// The name.
        name: String,
    },
    /// Two kernels' C macros would have one name.
    #[error("kernels `{first}` and `{second}` cannot share a header: their C macros differ in case alone")]
    MacroClash {
        /// The one.
        first: String,
        /// The other.
        second: String,
    },
}

/// An export as text: what [`write`](Self::write) writes.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Export {
    /// Name of the files, without suffixes.
    pub name: String,
    /// `NAME.ptx`, without source lines.
    pub ptx: String,
    /// `NAME.h`.
    pub header: String,
    /// `NAME.json`.
    pub manifest: Manifest,
}

/// The files of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedFiles {
    /// The PTX text.
    pub ptx: PathBuf,
    /// The C and C++ header.
    pub header: PathBuf,
    /// The manifest.
    pub manifest: PathBuf,
}

impl Export {
    /// One kernel, in files that are named like it.
    pub fn kernel<A>(kernel: &Kernel<A>) -> Self {
        Self::new(kernel.name(), &[kernel.entry()], kernel.ptx())
    }

    /// All kernels of a module, in files called `name`.
    ///
    /// # Errors
    /// If `name` is no C identifier, or the names of two kernels differ in case alone.
    pub fn module(module: &Module, name: &str) -> Result<Self, ExportError> {
        if !c_name::is_identifier(name) {
            return Err(ExportError::BadName { name: name.to_string() });
        }
        let entries: Vec<&Entry> = module.entries().iter().collect();
        for (i, a) in entries.iter().enumerate() {
            if let Some(b) = entries[..i].iter().find(|b| a.name.eq_ignore_ascii_case(&b.name)) {
                let (first, second) = (b.name.clone(), a.name.clone());
                return Err(ExportError::MacroClash { first, second });
            }
        }
        Ok(Self::new(name, &entries, module.ptx()))
    }

    fn new(name: &str, entries: &[&Entry], ptx: String) -> Self {
        let manifest = Manifest::new(name, entries, &ptx);
        Self { name: name.to_string(), header: header::header(&manifest, entries), ptx, manifest }
    }

    /// The files' names and texts.
    pub fn files(&self) -> [(&str, String); 3] {
        let names = &self.manifest.files;
        [
            (&names.ptx, self.ptx.clone()),
            (&names.header, self.header.clone()),
            (&names.manifest, self.manifest.to_json()),
        ]
    }

    /// Writes the files into `dir`, which is made if it is not there. Each file is replaced whole or stays as it was.
    ///
    /// # Errors
    /// [`ExportError::Write`] with the path.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<ExportedFiles, ExportError> {
        let [ptx, header, manifest] = file::replace(dir.as_ref(), self.files())?;
        Ok(ExportedFiles { ptx, header, manifest })
    }
}

impl<A> Kernel<A> {
    /// Writes `NAME.ptx`, `NAME.h` and `NAME.json` into `dir`, for programs without Rust; see [`crate::export`].
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// let kernel = Kernel::<(In<f32>, Out<f32>, u32)>::build("double(x, y, n)", Target::SM_80, |k, (x, y, n)| {
    ///     k.block([128]);
    ///     k.grid([n.tiles(128)]);
    ///     let i = k.ctaid_x() * 128 + k.tid_x();
    ///     k.if_(i.lt(n), || y.at(i).store(x.at(i).load() * 2.0));
    /// })?;
    /// # let dir = std::env::temp_dir().join(format!("warpwright-doc-{}", std::process::id()));
    /// let files = kernel.export(&dir)?;
    /// assert!(std::fs::read_to_string(files.header)?.contains("double_launch"));
    /// # std::fs::remove_dir_all(dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the files cannot be written; what is there stays as it is or is replaced whole.
    pub fn export(&self, dir: impl AsRef<Path>) -> Result<ExportedFiles, ExportError> {
        Export::kernel(self).write(dir)
    }
}

impl Module {
    /// Writes `name.ptx`, `name.h` and `name.json` with all kernels into `dir`, for programs without Rust; see
    /// [`crate::export`].
    ///
    /// # Errors
    /// If `name` is no C identifier, if the names of two kernels differ in case alone, or if the files cannot be written.
    pub fn export(&self, dir: impl AsRef<Path>, name: &str) -> Result<ExportedFiles, ExportError> {
        Export::module(self, name)?.write(dir)
    }
}
