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
    let folder = scratch(&format!(
        "run_{name}_{}",
        std::thread::current().name().unwrap_or("test").replace("::", "_")
    ));
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

/// Runs a program with environment variables, and returns its exit code and what it printed to standard error.
fn run_with(arguments: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_warpwright"));
    command.args(["run", "--driver", &driver()]).args(arguments).envs(variables.iter().copied());
    let ran = command.output().expect("the command runs");
    (ran.status.code(), String::from_utf8_lossy(&ran.stderr).into_owned())
}

#[test]
fn variables_of_options_that_are_not_given_are_in_effect() {
    let program = program("devices").display().to_string();
    let devices = ("WARPWRIGHT_CUDA_DEVICES", "2");
    let (code, text) = run_with(&[&program], &[devices]);
    assert_eq!(code, Some(0), "{text}");
    let (code, _) = run_with(&["--devices", "1", &program], &[devices]);
    assert_ne!(code, Some(0), "the option takes precedence");
}

/// Processes that end without exit handlers, also children.
#[test]
fn findings_of_processes_that_quit_set_the_exit_code() {
    let program = program("bugs");
    let report = program.with_file_name("report.json");
    let (program, path) = (program.display().to_string(), report.display().to_string());
    let quit = ("QUICK_EXIT", "1");
    let (code, text) = run_with(&["--report", &path, &program, "copy_after_free"], &[quit]);
    assert_eq!(code, Some(86), "{text}");
    let written = std::fs::read_to_string(&report).expect("written");
    let written: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(written["findings"][0]["kind"], "use_after_free");
    let child = ["sh", "-c", "$0 copy_after_free; true", &program];
    let (code, text) = run_with(&child, &[quit]);
    assert_eq!(code, Some(86), "{text}");
    let (code, text) = run_with(&["--exit-code", "9", &program, "copy_after_free"], &[quit]);
    assert_eq!(code, Some(9), "{text}");
    let (code, text) = run_with(&[&program, "copy_after_free", "fixed"], &[quit]);
    assert_eq!(code, Some(0), "{text}");
}

#[test]
fn a_report_of_each_process() {
    let program = program("fault");
    let pattern = program.with_file_name("report_%p.json").display().to_string();
    let (code, text) = run_with(&["--report", &pattern, &program.display().to_string()], &[]);
    assert_eq!(code, Some(86), "{text}");
    let folder = program.parent().expect("a folder");
    let names = std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    let reports = names.filter(|name| {
        let number = name.to_str().and_then(|name| name.strip_prefix("report_")?.strip_suffix(".json"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    });
    assert_eq!(reports.count(), 1);
}

#[test]
fn the_exit_code_of_a_program_is_kept() {
    let ran = warpwright(["run", "--driver", &driver(), "--", "sh", "-c", "echo $1; exit 7", "sh", "--arch"]);
    assert_eq!((ran.code, ran.out.as_str()), (7, "--arch\n"), "{}", ran.err);
}

#[test]
fn programs_and_drivers_that_cannot_be_started_are_named() {
    let ran = warpwright(["run", "--driver", "missing.so", "true"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: missing.so: expected the driver here"), "{}", ran.err);
    let ran = warpwright(["run", "--driver", &driver(), "no-such-program"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: no-such-program: "), "{}", ran.err);
    let ran = warpwright(["run", "--arch", "sm_42", "true"]);
    assert_eq!(ran.code, 2);
    let ran = warpwright(["run", "--driver", &driver(), "--report", "no/such/folder/r.json", "true"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.starts_with("error: no/such/folder/r.json: the report cannot be written"), "{}", ran.err);
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
