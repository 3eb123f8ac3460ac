//! Exports kernels for programs in other languages: PTX text, a C and C++ header, and a JSON manifest.
//!
//! [`Kernel::export`] and [`Module::export`] write `NAME.ptx`, `NAME.h` and `NAME.json`. The files are reproducible: a kernel produces
//! identical files on every machine, so they can be committed to a repository and compared. [`Export::with_source`] adds `NAME_source.h`,
//! which contains the PTX text as a C array, for programs that do not read files at run time.
//!
//! The header requires neither `cuda.h` nor the CUDA toolkit. It declares the arguments as a struct and defines functions that compute the
//! grid and the minimum length of each buffer, check the arguments, and launch the kernel through the driver API. A launch from Rust checks
//! the same conditions: alignment, divisibility, buffer lengths, buffer overlap, tensor maps of buffers, and the grid. The header does not
//! check the contents of tensor maps that the program passes.
//!
//! If a kernel accesses buffers through tensor maps, the launch function creates the maps and passes them to the kernel. The launch
//! functions of such kernels, and of kernels whose grid depends on the number of multiprocessors, take a `warpwright_extended_driver`,
//! which contains the additional driver functions that they require.
#![forbid(unsafe_code)]

mod c_name;
mod file;
mod header;
mod manifest;
mod source;
mod tensor_map;

use std::{
    collections::{HashMap, HashSet},
    io,
    path::{Path, PathBuf},
};

use thiserror::Error;

pub use manifest::{
    AssumptionManifest, FileNames, Generator, KernelManifest, Manifest, ModeManifest, ParameterManifest,
    SharedBytes, TensorMapManifest, ViewManifest,
};

use crate::ptx::{Entry, Kernel, Module};

/// An error that occurs when kernels are exported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ExportError {
    /// A file or folder could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The path of the file or folder.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// The base name of the files is not a C identifier.
    #[error("expected a C identifier as the name of the files, found `{name}`")]
    BadName {
        /// The base name.
        name: String,
    },
    /// Functions for buffers of two kernels would have the same name in C.
    #[error("expected kernels whose buffers have different names in C, found `{name}` twice")]
    NameClash {
        /// The names of the kernel and the buffer, joined by `_`.
        name: String,
    },
    /// Macros of two kernels would have the same name in C.
    #[error(
        "expected kernels whose macros have different names in C, found `{name}` for `{first}` and `{second}`"
    )]
    MacroClash {
        /// The name of the macro.
        name: String,
        /// The name of one kernel.
        first: String,
        /// The name of the other kernel.
        second: String,
    },
}

/// The contents of exported files.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Export {
    /// The base name of the files.
    pub name: String,
    /// The text of `NAME.ptx`, without source line information.
    pub ptx: String,
    /// The text of `NAME.h`.
    pub header: String,
    /// The contents of `NAME.json`.
    pub manifest: Manifest,
    /// The text of `NAME_source.h`, if requested by [`with_source`](Self::with_source).
    pub source: Option<String>,
}

/// The paths of exported files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExportedFiles {
    /// The path of `NAME.ptx`, which contains the PTX text.
    pub ptx: PathBuf,
    /// The path of `NAME.h`, the C and C++ header.
    pub header: PathBuf,
    /// The path of `NAME.json`, which contains the manifest.
    pub manifest: PathBuf,
    /// The path of `NAME_source.h`, which contains the PTX text as a C array, if [requested](Export::with_source).
    pub source: Option<PathBuf>,
}

impl Export {
    /// Creates the files of one kernel. The base name of the files is the kernel's name.
    pub fn kernel<A>(kernel: &Kernel<A>) -> Self {
        Self::new(kernel.name(), &[kernel.entry()], kernel.ptx())
    }

    /// Creates the files of all kernels of a module. `name` is the base name of the files.
    ///
    /// # Errors
    /// - [`ExportError::BadName`] if `name` is not a C identifier.
    /// - [`ExportError::MacroClash`] if macros of two kernels would have the same name, for example because the kernels' names differ only
    ///   in case.
    /// - [`ExportError::NameClash`] if functions of two kernels would have the same name, for example those of kernel `a` with a buffer
    ///   `b_c` and of kernel `a_b` with a buffer `c`.
    pub fn module(module: &Module, name: &str) -> Result<Self, ExportError> {
        if !c_name::is_identifier(name) {
            return Err(ExportError::BadName { name: name.to_string() });
        }
        let entries: Vec<&Entry> = module.entries().iter().collect();
        let mut macros: HashMap<String, &str> = HashMap::new();
        for entry in &entries {
            for name in header::macros(entry) {
                if let Some(first) = macros.insert(name.clone(), &entry.name) {
                    let (first, second) = (first.to_string(), entry.name.clone());
                    return Err(ExportError::MacroClash { name, first, second });
                }
            }
        }
        let mut names = HashSet::new();
        for entry in &entries {
            for field in c_name::fields(&entry.param_names()) {
                let name = format!("{}_{field}", entry.name);
                if !names.insert(name.clone()) {
                    return Err(ExportError::NameClash { name });
                }
            }
        }
        Ok(Self::new(name, &entries, module.ptx()))
    }

    fn new(name: &str, entries: &[&Entry], ptx: String) -> Self {
        let manifest = Manifest::new(name, entries, &ptx);
        Self {
            name: name.to_string(),
            header: header::header(&manifest, entries),
            ptx,
            manifest,
            source: None,
        }
    }

    /// Adds `NAME_source.h`, which defines the zero-terminated C array `NAME_source`. The array contains the PTX text, for
    /// `cuModuleLoadData`.
    #[must_use]
    pub fn with_source(mut self) -> Self {
        self.source = Some(source::source(&self.manifest, &self.ptx));
        self.manifest.files.source = Some(format!("{}_source.h", self.name));
        self
    }

    /// Returns the names and contents of the files.
    pub fn files(&self) -> Vec<(&str, String)> {
        let names = &self.manifest.files;
        let mut files = vec![
            (names.ptx.as_str(), self.ptx.clone()),
            (&names.header, self.header.clone()),
            (&names.manifest, self.manifest.to_json()),
        ];
        if let (Some(name), Some(text)) = (&names.source, &self.source) {
            files.push((name, text.clone()));
        }
        files
    }

    /// Writes the files into the folder `dir`, which is created if necessary. Each file is replaced atomically.
    ///
    /// # Errors
    /// Returns [`ExportError::Write`] if a file or the folder cannot be written.
    pub fn write(&self, dir: impl AsRef<Path>) -> Result<ExportedFiles, ExportError> {
        let dir = dir.as_ref();
        file::replace(dir, &self.files())?;
        let names = &self.manifest.files;
        let path = |name: &String| dir.join(name);
        Ok(ExportedFiles {
            ptx: path(&names.ptx),
            header: path(&names.header),
            manifest: path(&names.manifest),
            source: names.source.as_ref().map(path),
        })
    }
}

impl<A> Kernel<A> {
    /// Writes `NAME.ptx`, `NAME.h` and `NAME.json` into `dir`, where `NAME` is the kernel's name; see [`crate::export`].
    ///
    /// ```
    /// use warpwright::prelude::*;
    ///
    /// let kernel = Kernel::<(In<f32>, Out<f32>, u32)>::build("double(x, y, n)", Target::SM_80, |k, (x, y, n)| {
    ///     k.block([128]);
    ///     k.grid([n.tiles(128)]);
    ///     let (x, y) = (k.slice(x, n), k.slice(y, n));
    ///     let i = k.ctaid_x() * 128 + k.tid_x();
    ///     y.at(i).store(x.at(i).load() * 2.0);
    /// })?;
    /// # let dir = std::env::temp_dir().join(format!("warpwright-doc-{}", std::process::id()));
    /// let files = kernel.export(&dir)?;
    /// assert!(std::fs::read_to_string(files.header)?.contains("double_launch"));
    /// # std::fs::remove_dir_all(dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`ExportError::Write`] if a file or the folder cannot be written.
    pub fn export(&self, dir: impl AsRef<Path>) -> Result<ExportedFiles, ExportError> {
        Export::kernel(self).write(dir)
    }
}

impl Module {
    /// Writes all kernels of the module to `NAME.ptx`, `NAME.h` and `NAME.json` in `dir`, where `NAME` is the value of `name`; see
    /// [`crate::export`].
    ///
    /// # Errors
    /// Returns an error if `name` is not a C identifier, if functions or macros of two kernels would have the same name in C, or if a file
    /// cannot be written.
    pub fn export(&self, dir: impl AsRef<Path>, name: &str) -> Result<ExportedFiles, ExportError> {
        Export::module(self, name)?.write(dir)
    }
}
