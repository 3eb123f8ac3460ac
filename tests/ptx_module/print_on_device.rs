//! Printing by a kernel on a GPU. The driver writes to the process's standard output, so a child process runs the kernel.

use std::{env, process::Command};

use warpwright::{
    prelude::*,
    run::{AnyDevice, Details, Device, DeviceChoice, open},
};

use crate::require;

/// One thread prints numbers of every kind.
fn print(device: &AnyDevice) -> Vec<String> {
    let kernel = Kernel::<(u32, f32)>::build("talk(i, x)", Target::SM_80, |k, (i, x)| {
        k.block([32]);
        k.grid([1]);
        k.if_(k.laneid().eq(3), || {
            k.print("i = {}, x = {:.3}, both = {}\n", (i, x, i.cast::<f32>() * x));
            k.print(
                "half {}, signed {}, wide {:x}, {}, narrow {:x} {}\n",
                (x.cast::<f16>(), -5i32, 0xdead_beef_u64, i.eq(7), -2i16, -2i16),
            );
        });
    })
    .expect("it builds");
    let launched = device.launch(&kernel, (7, 0.375)).expect("it runs");
    match launched.details {
        Details::Simulated(report) => report.printed,
        _ => Vec::new(),
    }
}

#[test]
#[ignore = "the child process of `gpu_and_simulator_print_the_same_text`"]
fn child() {
    print(&open(DeviceChoice::Gpu).expect("the parent has looked"));
}

#[test]
fn gpu_and_simulator_print_the_same_text() {
    let simulated = print(&open(DeviceChoice::Sim).expect("the simulator needs nothing")).concat();
    assert_eq!(
        simulated,
        "i = 7, x = 0.375, both = 2.625\nhalf 0.375, signed -5, wide deadbeef, 1, narrow fffe -2\n"
    );
    if require::gpu().is_none() {
        return;
    }
    let arguments = ["ptx_module::print_on_device::child", "--exact", "--ignored", "--nocapture"];
    let child =
        Command::new(env::current_exe().expect("a path")).args(arguments).output().expect("it starts");
    let printed = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success() && printed.contains(&simulated), "{printed}");
}
