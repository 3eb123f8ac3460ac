//! Extreme sizes: buffers too large for any device, extents that overflow, buffers that overlap.

use crate::devices;
use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Extent, ExtentMode, IntoDim},
    run::{Buffer, Device, RunError, Simulator},
};

fn refused<T: std::fmt::Debug>(result: Result<T, RunError>) -> String {
    result.expect_err("it must be refused").to_string()
}

#[test]
fn buffers_beyond_all_memory_are_errors() {
    let device = Simulator::new();
    let wraps = usize::MAX / 4 + 2;
    assert_eq!(
        refused(device.zeros::<f32>(wraps)),
        format!("expected a buffer that fits in simulator, found {wraps} elements of 4 bytes")
    );
    let half = usize::MAX / 2;
    assert_eq!(
        refused(device.output::<f32>(half)),
        format!("expected a buffer that fits in simulator, found {half} elements of 4 bytes")
    );
    for bytes in [1 << 50, half] {
        let most = 1_u64 << 36;
        let expected = format!(
            "an allocation of {bytes} bytes is too large: the simulator supports at most {most}, and the host may have less"
        );
        assert_eq!(refused(device.zeros::<u8>(bytes)), expected);
        assert_eq!(refused(device.output::<u8>(bytes)), expected);
    }
    let bytes = |buffer: Buffer<u8>| device.download(&buffer).expect("copied");
    assert_eq!(bytes(device.output(3).expect("room")), [0xFF; 3]);
    assert_eq!(bytes(device.zeros(3).expect("room")), [0; 3]);
}

#[test]
fn buffers_beyond_the_memory_of_a_gpu_are_errors() {
    let Some(device) = devices::gpu() else { return };
    for result in [device.zeros::<f32>(usize::MAX / 4 + 2), device.output::<f32>(usize::MAX / 2)] {
        assert!(refused(result.map(|_| ())).starts_with("expected a buffer that fits in "));
    }
    for bytes in [1 << 50, usize::MAX / 2] {
        for result in [device.zeros::<u8>(bytes), device.output::<u8>(bytes)] {
            refused(result.map(|_| ()));
        }
    }
    // The device still works.
    let three = device.zeros::<u8>(3).expect("room");
    assert_eq!(device.download(&three).expect("copied"), [0; 3]);
}

/// The kernel computes `m * n` in 32 bits, and a launch must not use the truncated product as the size.
#[test]
fn extents_do_not_wrap() {
    let device = Simulator::new();
    let kernel = Kernel::<(Out<u8>, u32, u32)>::build("fill(y, m, n)", Target::SM_80, |k, (y, m, n)| {
        k.block([32]);
        k.grid([1.into_dim()]);
        let y = k.tensor(y, [m * n], [1.into()]).local_tile((32,), (k.ctaid_x(),));
        let part =
            k.tiled_copy::<u8>("UniversalCopy<u8>", "(32):(1)", "(1):(1)").thread(k.tid_x()).partition_d(&y);
        warpwright::tensor::fill(&part, 7);
    });
    let kernel = kernel.expect("it builds");
    let size = |dim: &ExtentMode| dim.size.expression(&["y", "m", "n"].map(String::from));
    let extents: Vec<_> = kernel.entry().extents.iter().map(|e: &Extent| size(&e.modes[0])).collect();
    assert_eq!(extents, ["(m) * (n)"]);

    let launch = |len: usize, sizes: [u32; 2]| {
        let mut y = device.zeros::<u8>(len).expect("room");
        device.launch(&kernel, (&mut y, sizes[0], sizes[1])).map(|_| device.download(&y).expect("copied"))
    };
    assert_eq!(launch(6, [2, 3]).expect("just long enough"), [7; 6]);
    assert_eq!(
        refused(launch(5, [2, 3])),
        "kernel `fill`: parameter `y`: expected a buffer of at least 6 elements, found 5"
    );
    assert_eq!(
        refused(launch(5, [1 << 16, (1 << 16) + 1])),
        "kernel `fill`: parameter `y`: expected extents of less than 2⁶⁴ bytes, and sizes computed in 32 bits that are below 2³², found an overflow; `m.into_dim() * n` computes a size in 64 bits"
    );
}
