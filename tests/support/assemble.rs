//! Checks of emitted modules by ptxas.
#![allow(dead_code, reason = "each test binary uses its own part")]

use std::{
    collections::HashMap,
    env, fs,
    process::{self, Command},
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use warpwright::ptx::{Kernel, Target};

use crate::require;

/// Assembles a kernel for its target, or reports that ptxas is missing.
pub(crate) fn kernel<A>(kernel: &Kernel<A>) {
    module(&kernel.ptx(), kernel.entry().target);
}

/// Assembles a module for its target and for all later ones that can run it; a target such as sm_90a has no later ones.
pub(crate) fn everywhere(ptx: &str, target: Target) {
    let specific = target.to_string().ends_with('a');
    let runs_on = |later: &Target| !specific && target.runs_on(later.sm() / 10, later.sm() % 10);
    for later in Target::ALL.into_iter().filter(|later| *later == target || runs_on(later)) {
        module(ptx, later);
    }
}

/// Assembles a kernel like [`kernel`]. Returns the registers per thread; `None` if ptxas is missing.
pub(crate) fn registers<A>(kernel: &Kernel<A>) -> Option<u32> {
    assembled(&kernel.ptx(), kernel.entry().target)
}

/// Assembles a kernel that may spill registers: any other advisory, such as that of serialized `wgmma`s, is a failure.
pub(crate) fn spilling<A>(kernel: &Kernel<A>) {
    run_ptxas(&kernel.ptx(), kernel.entry().target, |line| is_complaint(line) && !is_spill(line));
}

/// Assembles a module: a spill, a warning or an advisory such as "(C7510)", which ptxas prints without failing, is a failure.
pub(crate) fn module(ptx: &str, target: Target) {
    assembled(ptx, target);
}

/// Assembles a module, once: the cases of a test, such as lengths, often share a text, and ptxas takes half of the tests' time. Returns
/// the registers per thread of its first kernel; `None` if ptxas is missing.
fn assembled(ptx: &str, target: Target) -> Option<u32> {
    type Registers = HashMap<(String, Target), Option<u32>>;
    static KNOWN: LazyLock<Mutex<Registers>> = LazyLock::new(Mutex::default);
    let key = (ptx.to_owned(), target);
    let known = KNOWN.lock().unwrap().get(&key).copied();
    known.unwrap_or_else(|| {
        let registers = run_ptxas(ptx, target, is_complaint);
        KNOWN.lock().unwrap().insert(key, registers);
        registers
    })
}

/// Runs ptxas, whose output must not contain a line that `is_failure`. Returns what [`assembled`] does.
fn run_ptxas(ptx: &str, target: Target, is_failure: impl Fn(&str) -> bool) -> Option<u32> {
    static FILES: AtomicUsize = AtomicUsize::new(0);
    let ptxas = require::ptxas()?;
    let number = FILES.fetch_add(1, Ordering::Relaxed);
    let path = env::temp_dir().join(format!("warpwright-{}-{number}.ptx", process::id()));
    fs::write(&path, ptx).unwrap();
    let run = Command::new(ptxas)
        .args(["-v", &format!("-arch={target}"), "-o", "/dev/null"])
        .arg(&path)
        .output()
        .unwrap();
    fs::remove_file(&path).unwrap();
    let log = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{log}\n{ptx}");
    if let Some(complaint) = log.lines().find(|line| is_failure(line)) {
        panic!("{complaint}\n{log}\n{ptx}");
    }
    let used = log.split("Used ").nth(1).and_then(|used| used.split(' ').next());
    used.and_then(|used| used.parse().ok())
}

fn is_complaint(line: &str) -> bool {
    is_spill(line) || line.contains("warning") || line.contains("(C7")
}

fn is_spill(line: &str) -> bool {
    line.contains("spill") && !line.contains(" 0 bytes spill stores, 0 bytes spill loads")
}

#[test]
fn warnings_and_spills_are_complaints() {
    assert!(is_complaint("    0 bytes stack frame, 8 bytes spill stores, 8 bytes spill loads"));
    assert!(is_complaint("ptxas warning : something"));
    assert!(is_complaint(
        "ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized"
    ));
    assert!(!is_complaint("    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads"));
    assert!(!is_complaint("ptxas info    : Used 206 registers, used 1 barriers, 49152 bytes smem"));
}
