//! Assembling with ptxas, if there is one.

use std::{
    env,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use warpwright::ptx::Target;

/// Where CUDA and its PyPI packages put ptxas, besides `PATH` and `$PTXAS`.
const USUAL_PLACES: [&str; 2] = ["/opt/ptxas/nvidia/cu13/bin/ptxas", "/usr/local/cuda/bin/ptxas"];

fn ptxas() -> Option<String> {
    let runs = |path: &String| Command::new(path).arg("--version").stdout(Stdio::null()).status().is_ok_and(|s| s.success());
    let named = env::var("PTXAS").ok().into_iter().chain(["ptxas".to_string()]);
    named.chain(USUAL_PLACES.map(str::to_string)).find(runs)
}

/// Assembles `ptx`: panics if ptxas has anything to complain of, and says so if it is not there.
pub fn assemble(ptx: &str, target: Target) {
    let Some(ptxas) = ptxas() else {
        assert!(!env::var("WARPWRIGHT_REQUIRE").is_ok_and(|r| r.contains("ptxas")), "ptxas is required but not found");
        eprintln!("skipped: no ptxas");
        return;
    };
    let null = if Path::new("/dev/null").exists() { "/dev/null" } else { "NUL" };
    let mut child = Command::new(ptxas)
        .args(["-v", "-warn-spills", &format!("-arch={target}"), "-o", null, "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ptxas starts");
    child.stdin.take().expect("a pipe").write_all(ptx.as_bytes()).expect("ptxas reads");
    let output = child.wait_with_output().expect("ptxas ends");
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    let complains = !output.status.success() || ["warning", "error", "(C75"].iter().any(|w| said.contains(w));
    assert!(!complains, "ptxas on {target}:\n{said}\n{ptx}");
}
