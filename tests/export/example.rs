//! The C++ example: compiled as its Makefile does it, on a stand-in driver and on the GPU if there is one.

use std::{
    fs,
    path::{Path, PathBuf},
};

use pretty_assertions::assert_eq;
use warpwright::{kernels, prelude::*};

use super::compiler::{compile, folder, run, text};
#[cfg(feature = "cuda")]
use crate::require;

/// The program, compiled against a fresh export into `dir`; `None` without a compiler.
fn program(dir: &Path, divisor: u32) -> Option<PathBuf> {
    kernels::matmul::<bf16>(Target::SM_80, divisor).expect("it builds").export(dir).expect("it is written");
    let program = dir.join("matmul");
    let main = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/cpp/main.cpp");
    let include = format!("-I{}", text(dir));
    compile("c++", &["-std=c++17", "-O1", &include, "-o", text(&program), text(&main), "-ldl"])?;
    Some(program)
}

/// A driver in `dir/NAME` that behaves as these macros say.
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

/// Exit code, output, complaints.
fn outcome(program: &Path, arguments: &[&str], driver: &Path) -> (Option<i32>, String, String) {
    let output = run(program, arguments, driver);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn right_wrong_and_impossible() {
    let dir = folder("example");
    let Some(program) = program(&dir, 1) else { return };
    let ptx = dir.join("matmul.ptx");
    let ptx = text(&ptx);

    let Some(good) = stand_in(&dir, "good", &[]) else { return };
    let (code, said, complaints) = outcome(&program, &[ptx], &good);
    assert_eq!((code, complaints.as_str()), (Some(0), ""));
    let head = "Fake GPU: matmul (sm_80), m = 203, n = 91, k = 139: worst error ";
    assert!(said.starts_with(head) && said.ends_with(", verified\n"), "{said}");
    assert_eq!(outcome(&program, &[ptx, "1", "2", "3"], &good).0, Some(0));

    for (name, define, culprit) in [
        ("wrong", "-DWRONG_ELEMENT", "wrong: D[202][90] is "),
        ("beyond", "-DBEYOND", "wrong: element 18473, behind the end of D, was written"),
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
        (&[ptx, "1", "2", "x"], "`x` is not a size: wanted 1 to 65536"),
        (&[ptx, "0", "2", "3"], "`0` is not a size: wanted 1 to 65536"),
        (&["absent.ptx"], "cannot read absent.ptx"),
        (&[text(&dir.join("matmul.h"))], "cuModuleLoadDataEx: not the kernel: an error"),
    ] {
        let (code, said, complaints) = outcome(&program, arguments, &good);
        assert_eq!((code, said.as_str()), (Some(2), ""));
        assert_eq!(complaints, format!("matmul: {complaint}\n"));
    }
}

#[test]
fn promises_are_kept() {
    let dir = folder("example_8");
    let Some(program) = program(&dir, 8) else { return };
    let Some(driver) = stand_in(&dir, "driver", &[]) else { return };
    let ptx = dir.join("matmul.ptx");
    let (code, said, _) = outcome(&program, &[text(&ptx)], &driver);
    assert_eq!(code, Some(0));
    assert!(said.contains("m = 203, n = 96, k = 144"), "{said}");
    let (code, _, complaints) = outcome(&program, &[text(&ptx), "8", "9", "8"], &driver);
    assert_eq!(code, Some(2));
    assert_eq!(complaints, "matmul: these sizes do not suit the kernel: n is not a multiple of 8\n");
}

#[cfg(feature = "cuda")]
#[test]
fn on_the_gpu() {
    if require::gpu().is_none() {
        return;
    }
    let dir = folder("example_gpu");
    let Some(program) = program(&dir, 1) else { return };
    let ptx = dir.join("matmul.ptx");
    for sizes in [&[][..], &["1", "1", "1"], &["300", "257", "129"]] {
        let arguments: Vec<&str> = std::iter::once(text(&ptx)).chain(sizes.iter().copied()).collect();
        let (code, said, complaints) = outcome(&program, &arguments, &dir);
        assert_eq!((code, complaints.as_str()), (Some(0), ""), "{said}");
        assert!(said.ends_with("verified\n"), "{said}");
    }
}
