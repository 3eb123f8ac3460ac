//! Cases recorded from Rust, run by `warpwright sim`.
#![allow(unsafe_code, reason = "plain pointers to results")]

use std::{fs, path::Path};

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::Element,
    run::{Device, RecordError, Simulator},
};

use super::command::{files, scratch, warpwright};

type Args = (In<bf16>, Out<f32>, InOut<i32>, u32, i32, f32, u64);

/// y = x·by + shift, and a counter for each element that is added to.
fn kernel() -> Kernel<Args> {
    let signature = "affine(x, y, counts, n, step, by, unused)";
    Kernel::<Args>::build(signature, Target::SM_80, |k, (x, y, counts, n, step, by, _)| {
        k.block([32]);
        k.grid([n.tiles(32)]);
        let i = k.ctaid_x() * 32 + k.tid_x();
        k.if_(i.lt(n), || {
            unsafe { y.at(i).store(x.at(i).load().cast::<f32>() * by) };
            unsafe { counts.at(i).store(counts.at(i).load() + step) };
        });
    })
    .expect("it builds")
}

/// Returns the elements of a `.npy` file as bytes: everything after its header.
fn elements(path: &Path) -> Vec<u8> {
    let bytes = fs::read(path).expect("the file exists");
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[header..].to_vec()
}

fn bytes<T: Element>(values: &[T]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_mem_bits().to_le_bytes()[..T::SIZE as usize].to_vec()).collect()
}

#[test]
fn a_recorded_case_gives_the_same_result() {
    const N: usize = 45;
    let device = Simulator::new();
    let x: Vec<bf16> = (0..N).map(|i| bf16::from_f32(i as f32 / 8.0 - 2.0)).collect();
    let x = device.upload(&x).expect("uploaded");
    // Longer than n: the kernel does not modify the rest.
    let mut y = device.output::<f32>(N + 3).expect("allocated");
    let mut counts = device.upload(&[-7_i32; N]).expect("uploaded");

    let folder = scratch("recorded");
    let case = folder.join("case");
    let n = N as u32;
    let signaling_nan = f32::from_bits(0x7f80_0001);
    for (by, name) in [(0.1_f32, "plain"), (f32::INFINITY, "infinite"), (signaling_nan, "nan")] {
        let kernel = kernel();
        device.record_case(&case, &kernel, (&x, &mut y, &mut counts, n, -3, by, u64::MAX)).expect("recorded");
        assert_eq!(files(&case), ["case.json", "in_counts.npy", "in_x.npy", "in_y.npy", "kernel.ptx"]);
        device.launch(&kernel, (&x, &mut y, &mut counts, n, -3, by, u64::MAX)).expect("it runs");

        let out = folder.join(name);
        let run = warpwright(["sim".as_ref(), case.as_os_str(), "--out".as_ref(), out.as_os_str()]);
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{name}");
        assert_eq!(files(&out), ["counts.npy", "y.npy"]);
        assert_eq!(elements(&out.join("y.npy")), bytes(&device.download(&y).expect("copied")), "{name}");
        assert_eq!(
            elements(&out.join("counts.npy")),
            bytes(&device.download(&counts).expect("copied")),
            "{name}"
        );
    }
}

/// Bugs are also found in the recorded case, at the Rust line that emitted the access.
#[test]
fn findings_name_the_rust_line() {
    let kernel = Kernel::<(Out<u32>,)>::build("past(y)", Target::SM_80, |k, (y,)| {
        k.block([32]);
        k.grid([1]);
        unsafe { y.at(k.tid_x()).store(k.tid_x()) };
    })
    .expect("it builds");
    let device = Simulator::new();
    let mut y = device.zeros::<u32>(31).expect("allocated");
    let folder = scratch("recorded_bug");
    device.record_case(&folder, &kernel, (&mut y,)).expect("recorded");
    let run =
        warpwright(["sim".as_ref(), folder.as_os_str(), "--out".as_ref(), folder.join("out").as_os_str()]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("tests/cli/record.rs:"), "{}", run.err);
}

#[test]
fn invalid_launches_and_folders_are_errors() {
    let device = Simulator::new();
    let x = device.zeros::<bf16>(1).expect("allocated");
    let mut y = Simulator::new().zeros::<f32>(1).expect("allocated");
    let mut counts = device.zeros::<i32>(1).expect("allocated");
    let folder = scratch("unrecorded");
    let args = (&x, &mut y, &mut counts, 1, 0, 0.0, 0);
    let error =
        device.record_case(folder.join("case"), &kernel(), args).expect_err("another simulator's buffer");
    assert!(matches!(error, RecordError::Run(_)), "{error}");
    assert!(files(&folder).is_empty());

    let mut y = device.zeros::<f32>(1).expect("allocated");
    fs::write(folder.join("file"), "").expect("written");
    let args = (&x, &mut y, &mut counts, 1, 0, 0.0, 0);
    let error = device.record_case(folder.join("file"), &kernel(), args).expect_err("not a folder");
    assert!(error.to_string().starts_with("cannot write "), "{error}");
}
