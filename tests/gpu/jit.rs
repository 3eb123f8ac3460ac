//! The compiler's log, as recorded from drivers and as printed by the installed ptxas.

use crate::require;
use pretty_assertions::assert_eq;
use std::io::Write as _;
use std::process::{Command, Stdio};
use warpwright::gpu::{JitInfo, JitKernel, JitMessage, Severity};

fn message(line: Option<u32>, severity: Severity, text: &str) -> JitMessage {
    JitMessage { line, severity, text: text.to_owned() }
}

#[test]
fn messages_of_the_driver() {
    let log = "\
ptxas application ptx input, line 7; error   : Arguments mismatch for instruction 'add'
ptxas application ptx input, line 8; error   : Not a name of any known instruction: 'frobnicate'
ptxas application ptx input, line 9; error   : Unknown symbol '%r9'
ptxas application ptx input, line 10; error   : Instruction 'wgmma.fence' not supported on .target 'sm_80'
ptxas application ptx input, line 11; warning : Double is not supported. Demoting to float
ptxas fatal   : Ptx assembly aborted due to errors";
    assert_eq!(
        JitMessage::parse_all(log),
        [
            message(Some(7), Severity::Error, "Arguments mismatch for instruction 'add'"),
            message(Some(8), Severity::Error, "Not a name of any known instruction: 'frobnicate'"),
            message(Some(9), Severity::Error, "Unknown symbol '%r9'"),
            message(Some(10), Severity::Error, "Instruction 'wgmma.fence' not supported on .target 'sm_80'"),
            message(Some(11), Severity::Warning, "Double is not supported. Demoting to float"),
            message(None, Severity::Fatal, "Ptx assembly aborted due to errors"),
        ]
    );
}

#[test]
fn messages_may_contain_colons_and_semicolons() {
    let version =
        "ptxas application ptx input, line 1; fatal   : Unsupported .version 9.3; current version is '9.0'";
    assert_eq!(
        JitMessage::parse(version),
        Some(message(Some(1), Severity::Fatal, "Unsupported .version 9.3; current version is '9.0'"))
    );
    let file = "ptxas /some; folder/a, line 3.ptx, line 12; error   : Parsing error near '.x': syntax error";
    assert_eq!(
        JitMessage::parse(file),
        Some(message(Some(12), Severity::Error, "Parsing error near '.x': syntax error"))
    );
}

#[test]
fn other_lines_are_not_messages() {
    for line in [
        "",
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "ptxas         .     0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
        "ptxas: NVIDIA (R) Ptx optimizing assembler",
        "ptxas a.ptx, line x; error   : no number",
        "error   : not from ptxas",
    ] {
        assert_eq!(JitMessage::parse(line), None, "{line}");
    }
}

#[test]
fn facts_of_each_kernel() {
    // As printed by the driver, with a called function's statistics after the kernel's own.
    let info = JitInfo::parse(
        "\
ptxas info    : 64 bytes gmem
ptxas info    : Compiling entry function 'tma' for 'sm_90a'
ptxas info    : Function properties for 'tma'
ptxas         .     16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Function properties for 'helper'
ptxas         .     8 bytes stack frame, 1 bytes spill stores, 2 bytes spill loads
ptxas info    : Used 10 registers, used 1 barriers, 24 bytes cumulative stack size, 2048 bytes smem, 400 bytes cmem[0]
ptxas info    : Compile time = 2.650 ms
ptxas info    : Compiling entry function 'empty' for 'sm_90a'
ptxas info    : Used 4 registers
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to …",
    );
    let tma = JitKernel {
        name: "tma".to_owned(),
        target: "sm_90a".to_owned(),
        registers: 10,
        barriers: 1,
        stack_bytes: 24,
        spill_store_bytes: 5,
        spill_load_bytes: 10,
        shared_bytes: 2048,
    };
    let empty = JitKernel {
        name: "empty".to_owned(),
        target: "sm_90a".to_owned(),
        registers: 4,
        ..JitKernel::default()
    };
    assert_eq!(info.kernels, [tma, empty.clone()]);
    assert_eq!(info.kernel("empty"), Some(&empty));
    let complaints: Vec<_> = info.warnings().map(JitMessage::advisory).collect();
    assert_eq!(complaints, [Some("C7510")]);
}

/// Advisory notes as ptxas 13.0 prints them; those about functions name the kernel, and some have a line in their text.
#[test]
fn advisories_about_wgmma_and_registers() {
    let note = |text: &str| JitMessage::parse(&format!("ptxas info    : {text}")).expect("a message");
    let serialized = note(
        "(C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to insufficient register resources for the function 'a'",
    );
    let waits = note(
        "(C7517) warpgroup.wait is injected in around line 427 by compiler to allow use of registers defined by GMMA in function 'b'",
    );
    let ignored = note(
        "(C7504) Potential Performance Loss: 'setmaxnreg' ignored to maintain compatibility across compilation units.",
    );
    let facts =
        [&serialized, &waits, &ignored].map(|note| (note.is_hopper_advisory(), note.line, note.kernel()));
    assert_eq!(facts, [(true, None, Some("a")), (true, Some(427), Some("b")), (true, None, None)]);

    for other in ["(C7602) Insufficient registers (64)", "(C75) x", "(C75100) x", "0 bytes gmem"] {
        assert!(!note(other).is_hopper_advisory(), "{other}");
    }
}

#[test]
fn an_empty_log_has_no_facts() {
    assert_eq!(JitInfo::parse(""), JitInfo::default());
}

/// Runs the installed ptxas on a text; returns its stderr and stdout.
fn ptxas(text: &str) -> Option<String> {
    let mut child = Command::new(require::ptxas()?)
        .args(["-v", "-arch=sm_90a", "-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ptxas runs");
    child.stdin.take().expect("piped").write_all(text.as_bytes()).expect("ptxas reads");
    let output = child.wait_with_output().expect("ptxas ends");
    Some(String::from_utf8_lossy(&[output.stderr, output.stdout].concat()).into_owned())
}

#[test]
fn the_installed_ptxas_is_understood() {
    let good = super::on_device::SCALE;
    let Some(log) = ptxas(good) else { return };
    let info = JitInfo::parse(&log);
    let kernel = info.kernel("scale").unwrap_or_else(|| panic!("no kernel in: {log}"));
    assert!(kernel.registers > 0, "{log}");
    assert_eq!((kernel.target.as_str(), kernel.shared_bytes, kernel.spill_store_bytes), ("sm_90a", 512, 0));
    assert_eq!(info.warnings().next(), None);

    let Some(log) = ptxas(super::on_device::SHAPE) else { return };
    let info = JitInfo::parse(&log);
    assert!(info.kernel("shape").is_some() && info.warnings().next().is_none(), "{log}");

    let (bad, line) = super::on_device::broken();
    let Some(log) = ptxas(&bad) else { return };
    let messages = JitMessage::parse_all(&log);
    let lines: Vec<_> = messages.iter().map(|m| (m.line, m.severity)).collect();
    assert_eq!(lines, [(Some(line), Severity::Error), (None, Severity::Fatal)], "{log}");
}
