//! Assembling text with ptxas.

use std::{
    collections::BTreeMap,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

/// The output of ptxas for a module.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) accepted: bool,
    /// The first error about each 1-based line.
    pub(crate) errors: BTreeMap<usize, String>,
    /// The complete output.
    pub(crate) log: String,
}

/// Assembles a module for a target, without optimizing.
pub(crate) fn assemble(ptxas: &Path, text: &str, target: &str) -> Verdict {
    run(ptxas, &["-O0", "-arch", target, "-o", "/dev/null", "-"], text)
}

fn run(ptxas: &Path, args: &[&str], text: &str) -> Verdict {
    let mut child = Command::new(ptxas)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("ptxas starts");
    child.stdin.take().expect("stdin is piped").write_all(text.as_bytes()).expect("ptxas reads its input");
    let output = child.wait_with_output().expect("ptxas ends");
    let log = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    let mut errors = BTreeMap::new();
    for line in log.lines() {
        // `ptxas FILE, line 7; error   : Feature 'x' requires …`
        let Some((_, rest)) = line.split_once(", line ") else { continue };
        let Some((number, message)) = rest.split_once(';') else { continue };
        if let Ok(number) = number.parse() {
            errors.entry(number).or_insert_with(|| message.trim().to_string());
        }
    }
    Verdict { accepted: output.status.success(), errors, log }
}

/// Returns a module with one kernel, and the line on which its body starts. The body may use registers, a kernel parameter `a`, a call
/// parameter `q`, a function `f` and a label `$L`.
pub(crate) fn module(version: &str, target: &str, directives: &str, body: &[String]) -> (String, usize) {
    let registers =
        [(".pred", "%p"), (".b16", "%rs"), (".b32", "%r"), (".f32", "%f"), (".b64", "%rd"), (".f64", "%fd")];
    let mut text = format!(
        ".version {version}\n.target {target}\n.address_size 64\n.func f {{ ret; }}\n.visible .entry k(.param .align 16 .b8 a[256])\n{directives}{{\n"
    );
    for (class, prefix) in registers {
        text += &format!(".reg {class} {prefix}<160>;\n");
    }
    if body.iter().any(|line| line.contains("%rq")) {
        text += ".reg .b128 %rq<8>;\n";
    }
    text += ".param .b64 q;\n";
    let first = text.lines().count() + 1;
    for line in body {
        text += line;
        text += "\n";
    }
    text += "$L:\nret;\n}\n";
    (text, first)
}

/// Returns a module with a kernel for each line of `body`, and the line of the first kernel's body. The accumulators of many products would
/// not fit in the registers of one kernel.
pub(crate) fn kernels(version: &str, target: &str, body: &[String]) -> (String, usize) {
    let mut text = format!(".version {version}\n.target {target}\n.address_size 64\n");
    let first = text.lines().count() + 1;
    let registers: String = [(".pred", "%p"), (".b32", "%r"), (".f32", "%f"), (".b64", "%rd")]
        .iter()
        .map(|(class, prefix)| format!(".reg {class} {prefix}<160>; "))
        .collect();
    for (i, line) in body.iter().enumerate() {
        text += &format!(".visible .entry k{i}() {{ {registers}{line} ret; }}\n");
    }
    (text, first)
}

/// Assembles a whole module with optimization, and fails on any error or warning.
#[track_caller]
pub(crate) fn check(ptxas: &Path, text: &str, target: &str) {
    let verdict = run(ptxas, &["-O3", "-arch", target, "-o", "/dev/null", "-"], text);
    assert!(verdict.accepted && verdict.log.is_empty(), "{}\n{text}", verdict.log);
}
