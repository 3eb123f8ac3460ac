//! `validate` compared with ptxas on damaged kernels: one token of a compiler's kernel is changed, and both determine whether the result is
//! valid PTX.
//!
//! `WARPWRIGHT_CORPUS` names a folder of cases, `WARPWRIGHT_MUTATIONS` is the number of texts, and `WARPWRIGHT_SEED` selects them:
//! `cargo test --release --test sim -- --ignored --nocapture mutated`

use std::path::{Path, PathBuf};
use std::process::Command;

use super::mutate::{SplitMix, kernels, mutate, number, vocabulary};
use warpwright_sim::validate;

/// Returns whether ptxas accepts the text for its architecture.
fn assembles(ptxas: &Path, text: &str, file: &Path) -> (bool, String) {
    std::fs::write(file, text).expect("a temporary file");
    let target = text.split_once(".target").map_or("", |(_, rest)| rest);
    let target: String =
        target.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let known = ["75", "80", "86", "87", "88", "89", "90", "90a", "100", "103", "110", "120", "121"];
    let arch = target.strip_prefix("sm_").filter(|n| known.contains(n)).map_or("sm_90a", |_| &target);
    let output = Command::new(ptxas)
        .args(["-O0", "-arch", arch, "-o", "/dev/null"])
        .arg(file)
        .output()
        .expect("ptxas starts");
    let words = String::from_utf8_lossy(&output.stderr);
    let complaint = words.lines().find(|line| line.contains("error") || line.contains("fatal"));
    (output.status.success(), complaint.unwrap_or("").to_string())
}

#[test]
#[ignore = "needs WARPWRIGHT_PTXAS and minutes"]
fn mutated_kernels_are_accepted_where_ptxas_accepts_them() {
    let ptxas = PathBuf::from(std::env::var_os("WARPWRIGHT_PTXAS").expect("WARPWRIGHT_PTXAS"));
    let count = number("WARPWRIGHT_MUTATIONS", 2000);
    let seed = number("WARPWRIGHT_SEED", 1);
    let kernels = kernels();
    let vocabulary = vocabulary(kernels.iter().map(|(_, text)| text.as_str()));
    let file = std::env::temp_dir().join(format!("warpwright_mutated_{}.ptx", std::process::id()));
    let (mut taken, mut lax, mut strict) = (0, 0, 0);
    for i in 0..count {
        let mut random = SplitMix(seed << 32 | i);
        let (name, text) = &kernels[random.below(kernels.len())];
        let (text, how) = mutate(text, &vocabulary, &mut random);
        let errors = validate("kernel.ptx", &text);
        let (good, words) = assembles(&ptxas, &text, &file);
        taken += u32::from(good);
        match (good, errors.first()) {
            (true, Some(error)) => {
                strict += 1;
                println!("{i} {name}, {how}\n    ptxas takes it; {}: {}", error.line(), error.message());
            }
            (false, None) => {
                lax += 1;
                println!("{i} {name}, {how}\n    we take it; {words}");
            }
            _ => {}
        }
    }
    let _ = std::fs::remove_file(&file);
    let rate = |n: u32| 100.0 * f64::from(n) / count as f64;
    println!("{count} texts, of which ptxas takes {taken}");
    println!("taken by validate, refused by ptxas: {lax} ({:.2} %)", rate(lax));
    println!("refused by validate, taken by ptxas: {strict} ({:.2} %)", rate(strict));
    assert!(rate(lax) + rate(strict) < 5.0);
}
