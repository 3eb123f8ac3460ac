//! Programs compiled by nvcc, run with the runtime library `warpwright-cudart`.

// Used so that Cargo builds the library.
use warpwright_cudart as _;

use super::host::{Program, Ran};

/// Compiler options for PTX and machine code, for PTX alone (compressed by zstd), and for several PTX texts, the newest of which the device
/// does not support.
const BINARIES: &[&[&str]] = &[
    &["-arch=sm_80"],
    &["-gencode", "arch=compute_80,code=compute_80", "--compress-mode=size"],
    &[
        "-gencode",
        "arch=compute_80,code=compute_80",
        "-gencode",
        "arch=compute_100,code=compute_100",
        "--compress-mode=none",
    ],
];

#[test]
fn the_runtime_interface() {
    for options in BINARIES {
        let Some(program) = Program::cuda("runtime", options) else { return };
        passes(options, &program.run(&[]));
    }
}

#[test]
fn objects_of_the_runtime_interface() {
    let Some(program) = Program::cuda("objects", &["-gencode", "arch=compute_80,code=compute_80"]) else {
        return;
    };
    let ran = program.run(&[]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("done\n", Some(0)), "{}", ran.stderr);
}

#[test]
fn a_reset_device_has_new_variables() {
    let Some(program) = Program::cuda("reset", &["-arch=sm_80"]) else { return };
    let ran = program.run(&[("DEVICES", "2")]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("done\n", Some(0)), "{}", ran.stderr);
}

#[test]
fn a_program_that_contains_the_runtime_library() {
    // PTX compressed by LZ4.
    let options = ["-gencode", "arch=compute_80,code=compute_80", "--compress-mode=speed"];
    let Some(program) = Program::cuda_static("runtime", &options) else { return };
    passes(&options, &program.run(&[]));
}

/// Checks a run of `runtime.cu`.
fn passes(options: &[&str], ran: &Ran) {
    let expected = "scale of 4 bytes\nscale of 8 bytes\nscale of 4 bytes\nscale of 4 bytes\nscale of 4 bytes\nscale of 4 bytes\n\
                        cudaErrorIllegalAddress: an illegal memory access was encountered\ndone\n";
    assert_eq!((ran.stdout.as_str(), ran.status), (expected, Some(86)), "{options:?}: {}", ran.stderr);
    // The program deliberately makes two invalid launches.
    let findings = ran.stderr.matches("warpwright: invalid_launch").count();
    assert_eq!(findings, 2, "{}", ran.stderr);
    assert!(
        ran.stderr.contains("8 launches, 2 findings, 0 refused, 0 leaks, 1 unsupported"),
        "{}",
        ran.stderr
    );
    let shared = "cudaIpcGetMemHandle is not supported; it returns cudaErrorNotSupported: memory is not shared with other processes";
    assert!(ran.stderr.contains(shared), "{}", ran.stderr);
}

#[test]
fn a_library_that_contains_the_runtime_library() {
    let Some(program) = Program::c_with_library("loads", "library") else { return };
    let ran = program.run_with(&[&program.file("library.so")], &[]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("42 15\n", Some(0)), "{}", ran.stderr);
    // The folder of the program is searched for a name without a path.
    let named = program.run_with(&["library.so"], &[]);
    assert!(!named.stdout.contains("cannot open shared object file"), "{}", named.stdout);
}

#[test]
fn a_program_linked_with_versions_of_symbols_starts() {
    let Some(program) = Program::cuda_versioned("race", &["-arch=sm_80"]) else { return };
    let ran = program.run(&[]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("no error\n", Some(86)), "{}", ran.stderr);
    // The dynamic linker's message shows that the program requests symbol versions.
    assert!(ran.stderr.contains("libcudart.so.13: no version information available"), "{}", ran.stderr);
}

#[test]
fn machine_code_alone_is_refused() {
    let Some(program) = Program::cuda("race", &["-gencode", "arch=compute_90,code=sm_90"]) else { return };
    let ran = program.run(&[]);
    assert!(
        ran.stderr.contains("only machine code (cubins: 1), no PTX: build with `-gencode arch=compute_NN"),
        "{}",
        ran.stderr
    );
}

#[test]
fn findings_name_the_source_line() {
    let Some(program) = Program::cuda("race", &["-arch=sm_80"]) else { return };
    let ran = program.run(&[]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("no error\n", Some(86)), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("shared_race: launch 1") && ran.stderr.contains("race.cu:8:9"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("launched by cudaLaunchKernel, called by main (race.cu:"), "{}", ran.stderr);
    // Each finding is printed once, although three launches cause it.
    assert_eq!(ran.stderr.matches("warpwright: shared_race").count(), 1, "{}", ran.stderr);
    let unchecked = program.run(&[("CHECK", "none")]);
    assert_eq!(unchecked.status, Some(0), "{}", unchecked.stderr);
}

#[test]
fn textures_and_surfaces() {
    let Some(program) = Program::cuda("textures", &["-arch=sm_80"]) else { return };
    let ran = program.run(&[]);
    assert_eq!((ran.stdout.as_str(), ran.status), ("done\n", Some(0)), "{}", ran.stderr);
    for (bug, kind, part) in [
        (
            "surface_too_narrow",
            "global_out_of_bounds",
            "surface out of bounds: 4 bytes at byte 32 of a row, row",
        ),
        ("array_never_written", "uninitialized_global_read", "a read of 4 bytes that were never written"),
        ("texture_destroyed_early", "invalid_address", "is the handle of no texture"),
        ("array_freed_early", "global_out_of_bounds", "in a buffer of 128 bytes that was freed"),
        ("copy_during_a_fetch", "stream_race", "launch 1 of kernel `_Z5fetchPfyff` reads them"),
    ] {
        let ran = program.run_with(&[bug], &[]);
        assert_eq!(ran.status, Some(86), "{bug}: {}", ran.stderr);
        assert!(
            ran.stderr.contains(&format!("warpwright: {kind}")) && ran.stderr.contains(part),
            "{bug}: {}",
            ran.stderr
        );
    }
}
