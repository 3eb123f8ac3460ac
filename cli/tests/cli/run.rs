//! `warpwright run`.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::Command;

use super::command::{scratch, warpwright};

/// The library, which Cargo builds for this test.
fn driver() -> String {
    let exe = std::env::current_exe().expect("the test binary has a path");
    let folder = exe.parent().expect("the test binary is in a folder");
    folder.join("libwarpwright_cuda.so").display().to_string()
}

/// Builds a program of the tests of `warpwright-cuda`.
fn program(name: &str) -> PathBuf {
    let folder = scratch(&format!("run_{name}"));
    std::os::unix::fs::symlink(driver(), folder.join("libcuda.so")).expect("linked");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cuda/tests/programs").join(name);
    let built = Command::new("cc")
        .args(["-std=gnu11", "-w", "-pthread", "-o"])
        .arg(folder.join("program"))
        .arg(source.with_extension("c"))
        .args(["-L", &folder.display().to_string(), "-lcuda"])
        .status();
    assert!(built.expect("a C compiler").success());
    folder.join("program")
}

#[test]
fn findings_set_the_exit_code() {
    let (program, driver) = (program("fault"), driver());
    let report = program.with_file_name("report.json");
    let (program, path) = (program.display().to_string(), report.display().to_string());
    let ran = warpwright(["run", "--driver", &driver, "--report", &path, "--", &program]);
    assert_eq!((ran.code, ran.out.as_str()), (86, "done\n"), "{}", ran.err);
    assert!(ran.err.contains("global_out_of_bounds: launch 1"), "{}", ran.err);
    let text = std::fs::read_to_string(report).expect("written");
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(report["findings"][0]["kind"], "global_out_of_bounds");
    let ran = warpwright(["run", "--driver", &driver, "--exit-code", "0", &program]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{}", ran.err);
}

#[test]
fn options_reach_the_devices() {
    let (program, driver) = (program("devices"), driver());
    let ran = warpwright(["run", "--driver", &driver, "--devices", "2", &program.display().to_string()]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "done\n"), "{}", ran.err);
}

#[test]
fn the_exit_code_of_a_program_is_kept() {
    let ran = warpwright(["run", "--driver", &driver(), "--", "sh", "-c", "echo $1; exit 7", "sh", "--arch"]);
    assert_eq!((ran.code, ran.out.as_str()), (7, "--arch\n"), "{}", ran.err);
}

#[test]
fn what_cannot_be_started_is_named() {
    let ran = warpwright(["run", "--driver", "missing.so", "true"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: missing.so: expected the driver here"), "{}", ran.err);
    let ran = warpwright(["run", "--driver", &driver(), "no-such-program"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: no-such-program: "), "{}", ran.err);
    let ran = warpwright(["run", "--arch", "sm_42", "true"]);
    assert_eq!(ran.code, 2);
}

#[test]
fn the_folder_with_the_libraries_has_no_space() {
    let folder = scratch("run with a space");
    let ran = Command::new(env!("CARGO_BIN_EXE_warpwright"))
        .args(["run", "--driver", &driver(), "--", "true"])
        .env("TMPDIR", &folder)
        .output()
        .expect("the command runs");
    let text = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{text}");
    assert!(text.contains("whose path contains no space"), "{text}");
    assert_eq!(std::fs::read_dir(folder).expect("a folder").count(), 0);
}
