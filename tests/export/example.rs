//! The C++ examples: compiled as in their Makefile, on a stand-in driver and on a GPU if one is available.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pretty_assertions::assert_eq;

use warpwright::{
    export::Export,
    ptx::{Module, Target},
};

use super::{
    compiler::{compile, folder, run, text},
    mapped_kernels,
};
#[cfg(feature = "cuda")]
use crate::require;

/// A file of this project.
fn project(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file)
}

/// Compiles a program against the exported kernels in a folder; `None` without a compiler.
fn program(dir: &Path, name: &str, exports: &Path) -> Option<PathBuf> {
    let program = dir.join(name);
    let source = project(&format!("examples/cpp/{}.cpp", if name == "matmul" { "main" } else { name }));
    let include = format!("-I{}", text(exports));
    compile("c++", &["-std=c++17", "-O1", &include, "-o", text(&program), text(&source), "-ldl"])?;
    Some(program)
}

/// Writes a kernel with tensor maps as `gemm.ptx` and `gemm.h`; returns the program that runs it.
fn gemm(dir: &Path) -> Option<PathBuf> {
    let kernel = mapped_kernels::product();
    let mut module = Module::new(Target::SM_90A);
    module.add(&kernel).expect("the only kernel");
    Export::module(&module, "gemm").and_then(|export| export.write(dir)).expect("it is written");
    program(dir, "gemm", dir)
}

/// Builds a driver in `dir/NAME` with these macros.
fn stand_in(dir: &Path, name: &str, macros: &[&str]) -> Option<PathBuf> {
    let source = dir.join("fake_cuda.c");
    let library = dir.join(name);
    fs::create_dir_all(&library).expect("a folder");
    fs::write(&source, include_str!("fake_cuda.c")).expect("written");
    let output = library.join("libcuda.so.1");
    let mut arguments = vec!["-std=c11", "-O2", "-shared", "-fPIC", text(&source), "-o", text(&output)];
    arguments.extend(macros);
    compile("cc", &arguments)?;
    Some(library)
}

/// Exit code, standard output, standard error.
fn outcome(program: &Path, arguments: &[&str], driver: &Path) -> (Option<i32>, String, String) {
    let output = run(program, arguments, driver);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn results_are_verified_and_failures_are_reported() {
    let dir = folder("example");
    let Some(program) = program(&dir, "matmul", &project("ptx")) else { return };
    let ptx = project("ptx/matmul.ptx");
    let ptx = text(&ptx);

    let Some(good) = stand_in(&dir, "good", &[]) else { return };
    let (code, said, complaints) = outcome(&program, &[ptx], &good);
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    let head = "Fake GPU: matmul_bf16 (sm_80), m = 203, n = 91, k = 139: worst error ";
    assert!(said.starts_with(head) && said.ends_with(", verified\n"), "{said}");
    for (sizes, kernel) in [(["1", "2", "3"], "matmul_bf16 "), (["7", "96", "144"], "matmul_bf16_by8 ")] {
        let (code, said, _) = outcome(&program, &[ptx, sizes[0], sizes[1], sizes[2]], &good);
        assert_eq!(code, Some(0));
        assert!(said.starts_with(&format!("Fake GPU: {kernel}")), "{said}");
    }

    for (name, define, culprit) in [
        ("wrong", "-DWRONG_ELEMENT", "wrong: D[202][90] is "),
        ("beyond", "-DBEYOND", "wrong: element 18473, past the end of D, was written"),
    ] {
        let Some(driver) = stand_in(&dir, name, &[define]) else { return };
        let (code, said, _) = outcome(&program, &[ptx], &driver);
        assert_eq!(code, Some(1));
        assert!(said.starts_with(culprit) && said.ends_with(": wrong\n"), "{said}");
    }

    let Some(none) = stand_in(&dir, "none", &["-DNO_DEVICE"]) else { return };
    let (code, said, complaints) = outcome(&program, &[ptx], &none);
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert_eq!(complaints, "matmul: cuInit: no CUDA-capable device is detected\n");

    for (arguments, complaint) in [
        (&[ptx, "1"][..], "usage: matmul [matmul.ptx [m n k]]"),
        (&[ptx, "1", "2", "x"], "expected a size of 1 to 65536, found `x`"),
        (&[ptx, "0", "2", "3"], "expected a size of 1 to 65536, found `0`"),
        (&["absent.ptx"], "cannot read absent.ptx"),
        (&[text(&project("ptx/matmul.h"))], "cuModuleLoadDataEx: not the kernel: an error"),
    ] {
        let (code, said, complaints) = outcome(&program, arguments, &good);
        assert_eq!((code, said.as_str()), (Some(2), ""));
        assert_eq!(complaints, format!("matmul: {complaint}\n"));
    }
}

#[test]
fn products_through_tensor_maps() {
    let dir = folder("example_maps");
    let Some(program) = gemm(&dir) else { return };
    let ptx = dir.join("gemm.ptx");
    let ptx = text(&ptx);
    let Some(good) = stand_in(&dir, "good", &[]) else { return };
    let head = format!("Fake GPU: {} (sm_90a), m = ", mapped_kernels::PRODUCT);
    for sizes in [&[][..], &["1", "1", "1"], &["129", "8", "64"]] {
        let arguments: Vec<&str> = [ptx].iter().chain(sizes).copied().collect();
        let (code, said, complaints) = outcome(&program, &arguments, &good);
        assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
        assert!(said.starts_with(&head) && said.ends_with(", verified\n"), "{said}");
    }
    for (name, define, culprit) in [
        ("wrong", "-DWRONG_ELEMENT", "wrong: D[202][90] is "),
        ("beyond", "-DBEYOND", "wrong: element 91, outside of D, was written"),
    ] {
        let Some(driver) = stand_in(&dir, name, &[define]) else { return };
        let (code, said, _) = outcome(&program, &[ptx], &driver);
        assert_eq!(code, Some(1));
        assert!(said.starts_with(culprit) && said.ends_with(": wrong\n"), "{said}");
    }
}

#[cfg(feature = "cuda")]
#[test]
fn products_through_tensor_maps_on_the_gpu() {
    // Only compute capability 9.0 runs code for sm_90a.
    if require::gpu().is_none_or(|gpu| gpu.properties().capability != (9, 0)) {
        return;
    }
    let dir = folder("example_maps_gpu");
    let Some(program) = gemm(&dir) else { return };
    let ptx = dir.join("gemm.ptx");
    for sizes in [&[][..], &["1", "1", "1"], &["300", "257", "129"], &["4096", "64", "72"]] {
        let arguments: Vec<&str> = std::iter::once(text(&ptx)).chain(sizes.iter().copied()).collect();
        let (code, said, complaints) = outcome(&program, &arguments, &dir);
        assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
        assert!(said.ends_with("verified\n"), "{said}");
    }
}

#[cfg(feature = "cuda")]
#[test]
fn committed_products_on_the_gpu() {
    if require::gpu().is_none_or(|gpu| gpu.properties().capability != (9, 0)) {
        return;
    }
    let dir = folder("products_gpu");
    let ptx = project("ptx");
    let Some(program) = program(&dir, "products", &ptx) else { return };
    for sizes in [&[][..], &["1", "1", "1"], &["300", "257", "129"], &["1024", "64", "1000"]] {
        let arguments: Vec<&str> = std::iter::once(text(&ptx)).chain(sizes.iter().copied()).collect();
        let (code, said, complaints) = outcome(&program, &arguments, &dir);
        assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
        assert_eq!(said.lines().filter(|line| line.ends_with("verified")).count(), 10, "{said}");
    }
}

#[cfg(feature = "cuda")]
#[test]
fn on_the_gpu() {
    if require::gpu().is_none() {
        return;
    }
    let dir = folder("example_gpu");
    let Some(program) = program(&dir, "matmul", &project("ptx")) else { return };
    let ptx = project("ptx/matmul.ptx");
    for sizes in [&[][..], &["1", "1", "1"], &["300", "257", "129"], &["128", "64", "72"]] {
        let arguments: Vec<&str> = std::iter::once(text(&ptx)).chain(sizes.iter().copied()).collect();
        let (code, said, complaints) = outcome(&program, &arguments, &dir);
        assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
        assert!(said.ends_with("verified\n"), "{said}");
    }
}
