//! What users see: the texts that kernels print, and the messages of errors that `main` returns.

use std::sync::{Arc, Mutex};

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::{Device, Launched, RunError, Simulator},
};

/// A kernel of two blocks that print; block `block` then stores to element `n` of a shared array of 16 elements.
fn kernel() -> Kernel<(u32, u32)> {
    let kernel = Kernel::<(u32, u32)>::build("prints(n, block)", Target::SM_80, |k, (n, block)| {
        k.block([1]);
        k.grid([2]);
        k.print("block {} of {}\n", (k.ctaid_x(), n));
        let shared = k.shared::<f32>(16);
        shared.at(k.ctaid_x().eq(block).select(n, 0)).store(1.0);
    });
    kernel.expect("it builds")
}

/// Launches the kernel, and returns the printed texts and the result.
fn launched(n: u32, block: u32) -> (Vec<String>, Result<Launched, RunError>) {
    let texts = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&texts);
    let device = Simulator::new().on_print(move |text| listener.lock().unwrap().push(text.to_string()));
    let launched = device.launch(&kernel(), (n, block));
    (std::mem::take(&mut texts.lock().unwrap()), launched)
}

#[test]
fn texts_are_printed_even_if_the_launch_fails() {
    let (texts, ended) = launched(8, 1);
    assert_eq!(texts, ["block 0 of 8\n", "block 1 of 8\n"]);
    assert_eq!(ended.expect("8 is within the array").printed(), texts);
    let (texts, failed) = launched(16, 1);
    assert_eq!(texts, ["block 0 of 16\n", "block 1 of 16\n"]);
    assert!(failed.is_err());
    // Whether block 1 has run depends on the timing of host threads.
    let (texts, failed) = launched(16, 0);
    assert_eq!(texts, ["block 0 of 16\n"]);
    assert!(failed.is_err());
}

/// `main` prints the error that it returns with `Debug`.
#[test]
fn errors_have_the_same_text_in_main() {
    let (_, failed) = launched(16, 1);
    let error = failed.expect_err("element 16 does not exist");
    assert!(error.to_string().contains("shared memory"), "{error}");
    assert_eq!(format!("{error:?}"), error.to_string());
    let refused =
        Kernel::<()>::build("f", Target::SM_80, |k, ()| _ = k.block([2048])).expect_err("too many threads");
    assert_eq!(format!("{refused:?}"), refused.to_string());
}

/// The counts of each instruction do not belong into the output of a program.
#[test]
fn launches_are_described_in_a_few_lines() {
    let (_, ended) = launched(8, 1);
    let text = format!("{:?}", ended.expect("8 is within the array"));
    assert!(text.len() < 3000, "{} bytes: {text}", text.len());
}
