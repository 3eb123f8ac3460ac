//! Compiles programs and runs them with the library.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::skip::skip;

/// A program in its own folder, which is removed when dropped. The folder also contains the library under the driver's names.
pub(super) struct Program {
    folder: PathBuf,
}

/// The outcome of running a program.
#[derive(Debug)]
pub(super) struct Ran {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) status: Option<i32>,
}

/// Returns a library that Cargo has built with this test.
pub(super) fn library(name: &str) -> PathBuf {
    let exe = env::current_exe().expect("the test binary has a path");
    let folder = exe.parent().expect("the test binary is in a folder");
    let path = folder.join(format!("libwarpwright_{name}.so"));
    assert!(path.exists(), "cargo builds {} with its tests", path.display());
    path
}

/// Returns the folder with NVIDIA's runtime libraries in the compiler's package.
fn toolkit_libraries() -> Option<PathBuf> {
    let nvcc = env::var_os("WARPWRIGHT_NVCC").map(PathBuf::from);
    let folder = nvcc.and_then(|nvcc| Some(nvcc.parent()?.with_file_name("lib")));
    let folder = folder.filter(|folder| folder.join("libcudart.so.13").exists());
    if folder.is_none() {
        skip("nvcc", "expected libcudart.so.13 next to the compiler that WARPWRIGHT_NVCC names");
    }
    folder
}

impl Program {
    /// Creates a folder with the libraries, and returns it together with the path of a program's source.
    fn new(source: &str) -> (Self, PathBuf) {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("warpwright-cuda-{}-{count}", process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        for (name, library_name) in [
            ("libcuda.so.1", "cuda"),
            ("libcuda.so", "cuda"),
            ("libcudart.so", "cudart"),
            ("libcudart.so.13", "cudart"),
            ("libcublas.so", "cuda_math"),
            ("libcurand.so", "cuda_math"),
        ] {
            symlink(library(library_name), folder.join(name)).expect("the temporary folder can be written");
        }
        (Self { folder }, Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source))
    }

    /// Compiles `programs/NAME.c`; returns `None` if the test should be skipped.
    pub(super) fn c(name: &str) -> Option<Self> {
        let (program, source) = Self::new(&format!("{name}.c"));
        let mut cc = Command::new("cc");
        cc.args(["-std=gnu11", "-g", "-Wall", "-Wextra", "-Wno-unused-function", "-pthread", "-o"])
            .arg(program.folder.join("program"))
            .arg(source)
            .arg("-L")
            .arg(&program.folder)
            .args(["-Wl,--as-needed", "-lcuda", "-lcublas", "-lcurand"]);
        program.compiled("cc", &mut cc)
    }

    /// Compiles `programs/NAME.cu` for the runtime library, with the compiler that `WARPWRIGHT_NVCC` specifies or the one on the `PATH`.
    pub(super) fn cuda(name: &str, options: &[&str]) -> Option<Self> {
        Self::nvcc(name, &[&["--cudart", "shared"], options].concat())
    }

    /// Compiles `programs/NAME.cu` with NVIDIA's runtime library linked into it.
    pub(super) fn cuda_static(name: &str, options: &[&str]) -> Option<Self> {
        let folder = format!("-L{}", toolkit_libraries()?.display());
        Self::nvcc(name, &[&["--cudart", "static", &folder], options].concat())
    }

    /// Compiles `programs/LIBRARY.cu` to a shared library `library.so` with NVIDIA's runtime library linked into it, and `programs/NAME.c`.
    pub(super) fn c_with_library(name: &str, library: &str) -> Option<Self> {
        let folder = format!("-L{}", toolkit_libraries()?.display());
        let built = Self::nvcc(
            library,
            &["--cudart", "static", &folder, "-arch=sm_80", "-shared", "-Xcompiler", "-fPIC"],
        )?;
        fs::rename(built.folder.join("program"), built.folder.join("library.so")).expect("it was compiled");
        let (program, source) = Self::new(&format!("{name}.c"));
        fs::copy(built.folder.join("library.so"), program.folder.join("library.so"))
            .expect("it was compiled");
        let mut cc = Command::new("cc");
        cc.arg("-o").arg(program.folder.join("program")).arg(source).args(["-ldl", "-Wl,-rpath,$ORIGIN"]);
        program.compiled("cc", &mut cc)
    }

    /// Compiles `programs/NAME.cu` and links it with NVIDIA's shared library.
    pub(super) fn cuda_versioned(name: &str, options: &[&str]) -> Option<Self> {
        let library = toolkit_libraries()?.join("libcudart.so.13").display().to_string();
        Self::nvcc(name, &[&["--cudart", "none", "-Xlinker", &library], options].concat())
    }

    fn nvcc(name: &str, options: &[&str]) -> Option<Self> {
        let (program, source) = Self::new(&format!("{name}.cu"));
        let mut nvcc = Command::new(env::var_os("WARPWRIGHT_NVCC").unwrap_or_else(|| "nvcc".into()));
        nvcc.args(["-std=c++17", "-lineinfo", "-g", "--cudadevrt", "none", "-o"])
            .arg(program.folder.join("program"))
            .arg(source)
            .arg("-L")
            .arg(&program.folder)
            .args(options);
        program.compiled("nvcc", &mut nvcc)
    }

    fn compiled(self, name: &str, compiler: &mut Command) -> Option<Self> {
        match compiler.output() {
            Ok(output) => {
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert!(output.status.success(), "{name} does not compile the program: {stderr}");
                Some(self)
            }
            Err(error) => {
                skip(name, &error.to_string());
                None
            }
        }
    }

    /// Runs the program with these settings.
    pub(super) fn run(&self, settings: &[(&str, &str)]) -> Ran {
        self.run_with(&[], settings)
    }

    /// Runs the program with arguments and settings.
    pub(super) fn run_with(&self, arguments: &[&str], settings: &[(&str, &str)]) -> Ran {
        let variables: Vec<_> = settings
            .iter()
            .map(|&(name, value)| (format!("WARPWRIGHT_CUDA_{name}"), value.to_string()))
            .collect();
        self.run_in(arguments, &variables)
    }

    /// Runs the program with arguments and environment variables.
    pub(super) fn run_in(&self, arguments: &[&str], variables: &[(impl AsRef<OsStr>, String)]) -> Ran {
        let output = Command::new(self.folder.join("program"))
            .args(arguments)
            .env("LD_LIBRARY_PATH", &self.folder)
            .env("LD_PRELOAD", self.folder.join("libcuda.so.1"))
            .env("CUDA_CACHE_DISABLE", "1")
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .output()
            .expect("the program runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ran { stdout: text(output.stdout), stderr: text(output.stderr), status: output.status.code() }
    }

    /// Returns the path of a file in the program's folder.
    pub(super) fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}
