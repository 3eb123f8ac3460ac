//! Cases created by tests.

use std::path::{Path, PathBuf};

use npyz::{NpyFile, WriterBuilder};

use super::command::{Run, scratch, warpwright};

/// A folder with `case.json`, `kernel.ptx` and arrays.
pub(crate) struct Case {
    pub(crate) folder: PathBuf,
}

impl Case {
    /// Returns a case with these files; the module is one kernel `k` on sm_90a.
    pub(crate) fn new(name: &str, json: &str, params: &str, body: &str) -> Self {
        let folder = scratch(name);
        let ptx = format!(
            ".version 8.8\n.target sm_90a\n.address_size 64\n.global .u32 counter = 5;\n.visible .entry k({params})\n{{\n{body}\n}}\n"
        );
        std::fs::write(folder.join("kernel.ptx"), ptx).expect("written");
        std::fs::write(folder.join("case.json"), json).expect("written");
        Self { folder }
    }

    /// Adds a declaration before the kernel.
    pub(crate) fn declares(self, declaration: &str) -> Self {
        let path = self.folder.join("kernel.ptx");
        let text = std::fs::read_to_string(&path).expect("written before");
        std::fs::write(path, text.replacen(".visible", &format!("{declaration}\n.visible"), 1))
            .expect("written");
        self
    }

    /// Adds an array of 32-bit words.
    pub(crate) fn with(self, name: &str, shape: &[u64], words: &[u32]) -> Self {
        let file = std::fs::File::create(self.folder.join(name)).expect("made");
        let mut writer =
            npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd().expect("begun");
        writer.extend(words).expect("written");
        writer.finish().expect("finished");
        self
    }

    /// Runs the case; outputs are written to the folder `out` in the case's folder.
    pub(crate) fn run(&self, more: &[&str]) -> Run {
        let (folder, out) = (self.folder.display().to_string(), self.out().display().to_string());
        warpwright(["sim", &folder, "--out", &out].iter().chain(more))
    }

    pub(crate) fn out(&self) -> PathBuf {
        self.folder.join("out")
    }

    /// Returns the shape and the words of an output.
    pub(crate) fn output(&self, name: &str) -> (Vec<u64>, Vec<u32>) {
        read(&self.out().join(name))
    }
}

/// Returns the shape and the words of an array of 32-bit numbers.
pub(crate) fn read(path: &Path) -> (Vec<u64>, Vec<u32>) {
    let bytes = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let file = NpyFile::new(&bytes[..]).expect("an array");
    (file.shape().to_vec(), file.into_vec().expect("words"))
}

/// Returns a case's JSON with one block of 32 threads, these arguments and further keys.
pub(crate) fn json(args: &str, more: &str) -> String {
    format!(
        r#"{{ "name": "t", "entry": "k", "grid": [1, 1, 1], "block": [32, 1, 1], "dynamic_shared_bytes": 0,
             "args": [{args}] {more} }}"#
    )
}
