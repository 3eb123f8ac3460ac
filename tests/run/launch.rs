//! Launches in the simulator, and launches rejected before they reach a device.
#![allow(unsafe_code, reason = "an access out of bounds")]

use super::kernels::{double, double_eights};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::{
    prelude::*,
    ptx::Dim,
    run::{Details, Device, RunError, Simulator},
    sim::Arch,
};

/// The error message.
fn refused<T>(outcome: Result<T, RunError>) -> String {
    match outcome {
        Ok(_) => panic!("it should have been refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_given_grid_does_not_replace_a_rule_that_overflows() {
    let kernel = Kernel::<(Out<u32>, u64)>::build("set(y, n)", Target::SM_80, |k, (y, n)| {
        k.block([1]);
        k.grid([n.into_dim() * n.into_dim()]);
        k.slice(y, 8).at(k.ctaid_x()).store(1);
    });
    let (device, kernel) = (Simulator::new(), kernel.expect("it builds"));
    let mut y = device.output::<u32>(8).expect("room");
    device.launch_grid(&kernel, [2, 1, 1], (&mut y, 3)).expect("within the rule");
    assert_eq!(
        refused(device.launch_grid(&kernel, [2, 1, 1], (&mut y, 1 << 32))),
        "kernel `set`: expected a grid of at most 2⁶⁴ − 1 blocks per axis, found an overflow"
    );
    assert!(matches!(device.launch(&kernel, (&mut y, 1 << 32)), Err(RunError::GridOverflow { .. })));
}

#[test]
fn a_kernel_runs_on_the_grid_of_its_rule() {
    let device = Simulator::new();
    let kernel = double(Target::SM_80).expect("it builds");
    let host: Vec<f32> = (0..100u8).map(f32::from).collect();
    let x = device.upload(&host).expect("room");
    let mut y = device.output::<f32>(120).expect("room");
    let launched = device.launch(&kernel, (&x, &mut y, 100)).expect("it runs");
    assert_eq!(launched.grid, [4, 1, 1]);
    assert!(!launched.time.is_zero() && !launched.load_time.is_zero());
    let Details::Simulated(report) = launched.details else { panic!("{launched:?}") };
    assert_eq!(report.blocks, 4);

    let d = device.download(&y).expect("copied");
    let doubled: Vec<f32> = host.iter().map(|x| 2.0 * x).collect();
    assert_eq!(d[..100], doubled);
    // Elements that the kernel does not write stay NaN.
    assert!(d[100..].iter().all(|d| d.is_nan()), "{d:?}");

    let again = device.launch(&kernel, (&x, &mut y, 100)).expect("it runs");
    assert!(again.load_time.is_zero());
}

#[test]
fn a_grid_given_by_the_caller() {
    let kernel = Kernel::<(Out<u32>,)>::build("ids(y)", Target::SM_80, |k, (y,)| {
        k.block([1]);
        k.slice(y, 4).at(k.ctaid_x()).store(k.ctaid_x() + 1);
    });
    let kernel = kernel.expect("it builds");
    let device = Simulator::new();
    let mut y = device.zeros::<u32>(4).expect("room");
    assert_eq!(
        refused(device.launch(&kernel, (&mut y,))),
        "kernel `ids`: expected a grid rule, found none; declare it with `k.grid([…])` or use `launch_grid`"
    );
    device.launch_grid(&kernel, [3, 1, 1], (&mut y,)).expect("it runs");
    assert_eq!(device.download(&y).expect("copied"), [1, 2, 3, 0]);
}

#[test]
fn an_empty_grid_runs_no_block() {
    let device = Simulator::new();
    let x = device.upload::<f32>(&[]).expect("room");
    let mut y = device.zeros::<f32>(1).expect("room");
    let launched =
        device.launch(&double(Target::SM_80).expect("it builds"), (&x, &mut y, 0)).expect("no error");
    assert_eq!(launched.grid, [0, 1, 1]);
    assert!(matches!(launched.details, Details::Nothing));
    assert_eq!(device.download(&y).expect("copied"), [0.0]);
    assert_eq!(device.download(&x).expect("copied"), [0.0; 0]);
}

#[test]
fn assumptions_are_checked() {
    let device = Simulator::new();
    let kernel = double_eights().expect("it builds");
    let x = device.upload(&[1.0f32; 16]).expect("room");
    let mut y = device.output(16).expect("room");
    assert_eq!(
        refused(device.launch(&kernel, (&x, &mut y, 12))),
        "kernel `kernel`: parameter `n`: expected a multiple of 8, found 12"
    );
    assert!(device.download(&y).expect("copied").iter().all(|y| y.is_nan()));
    device.launch(&kernel, (&x, &mut y, 16)).expect("it runs");
    assert_eq!(device.download(&y).expect("copied"), [2.0; 16]);
}

/// Of a negative number, only the power of two in the divisor is known about its bits as an unsigned number.
#[test]
fn negative_numbers_have_divisors_too() {
    let kernel = Kernel::<(Out<u32>, i32)>::build("quotients(y, n)", Target::SM_80, |k, (y, n)| {
        k.block([1]);
        k.grid([1]);
        let (y, n) = (k.slice(y, 6), n.multiple_of(12));
        let bits = n.bits::<u32>();
        let values =
            [(n % 12).bits(), (n / 12).bits(), (n / 6 % 2).bits(), bits % 4, bits % 3, bits / 12 * 12];
        for (i, value) in (0u32..).zip(values) {
            y.at(i).store(value);
        }
    });
    let (device, kernel) = (Simulator::new(), kernel.expect("it builds"));
    let mut y = device.output::<u32>(6).expect("room");
    for n in [0, 12, -12, -24, -36, i32::MIN + 8] {
        device.launch(&kernel, (&mut y, n)).expect("a multiple of 12");
        let bits = n as u32;
        let expected = [0, (n / 12) as u32, 0, bits % 4, bits % 3, bits / 12 * 12];
        assert_eq!(device.download(&y).expect("copied"), expected, "{n}");
    }
    for n in [-1, -6, i32::MIN] {
        let expected = format!("kernel `quotients`: parameter `n`: expected a multiple of 12, found {n}");
        assert_eq!(refused(device.launch(&kernel, (&mut y, n))), expected);
    }
}

/// Every buffer must contain the matrix that the kernel declares: here, 3 rows of 5 adjacent elements, 8 elements apart.
#[test]
fn buffers_that_are_too_short_are_refused() {
    let device = Simulator::new();
    let kernel = Kernel::<(In<f32>, Out<f32>, u32, u32, u32)>::build(
        "slab(x, y, m, n, p)",
        Target::SM_80,
        |k, (x, y, m, n, p)| {
            k.block([32]);
            k.grid([m.tiles(16), n.tiles(16)]);
            let x = k.global(x, row_major(m, n).with_row_stride(p));
            let y = k.global(y, col_major(m, n));
            let tile = Rt::<f32, 1, 1>::load(x.tile(k.ctaid_x(), k.ctaid_y()));
            y.tile(k.ctaid_x(), k.ctaid_y()).store(&tile);
        },
    );
    let kernel = kernel.expect("it builds");
    let go = |x: usize, y: usize, sizes: [u32; 2]| {
        let x = device.zeros::<f32>(x).expect("room");
        let mut y = device.zeros::<f32>(y).expect("room");
        device.launch(&kernel, (&x, &mut y, sizes[0], sizes[1], 8))
    };
    go(21, 15, [3, 5]).expect("just long enough");
    assert_eq!(
        refused(go(20, 15, [3, 5])),
        "kernel `slab`: parameter `x`: expected a buffer of at least 21 elements, found 20"
    );
    assert_eq!(
        refused(go(21, 14, [3, 5])),
        "kernel `slab`: parameter `y`: expected a buffer of at least 15 elements, found 14"
    );
    go(0, 0, [0, 5]).expect("nothing to do");
    go(0, 0, [3, 0]).expect("nothing to do");
}

#[test]
fn a_target_beyond_the_device_is_refused() {
    let device = Simulator::new();
    let kernel = double(Target::SM_100A).expect("it builds");
    let x = device.upload(&[1.0f32]).expect("room");
    let mut y = device.zeros(1).expect("room");
    assert_eq!(
        refused(device.launch(&kernel, (&x, &mut y, 1))),
        "kernel `kernel`: expected a target that simulator (sm_90) can run, found sm_100a"
    );
    let device = Simulator::new().arch(Arch::Sm100);
    let x = device.upload(&[1.0f32]).expect("room");
    let mut y = device.zeros(1).expect("room");
    device.launch(&kernel, (&x, &mut y, 1)).expect("it runs");
    assert_eq!(device.download(&y).expect("copied"), [2.0]);
}

#[test]
fn buffers_stay_on_their_device() {
    let (device, other) = (Simulator::new(), Simulator::new());
    let kernel = double(Target::SM_80).expect("it builds");
    let x = other.upload(&[1.0f32]).expect("room");
    let mut y = device.zeros(1).expect("room");
    assert_eq!(
        refused(device.launch(&kernel, (&x, &mut y, 1))),
        "kernel `kernel`: parameter `x`: expected a buffer on this device (simulator), found one on another device"
    );
    assert_eq!(
        refused(device.download(&x)),
        "expected a buffer on this device (simulator), found one on another device"
    );
}

#[test]
fn shapes_beyond_all_devices_are_refused() {
    let device = Simulator::new();
    let tall = Kernel::<(u32,)>::build("tall(n)", Target::SM_80, |k, (n,)| {
        k.block([1]);
        k.grid([Dim::Const(1), n.tiles(2)]);
    });
    assert_eq!(
        refused(device.launch(&tall.expect("it builds"), (140_000,))),
        "kernel `tall`: expected at most 65535 blocks along y, found 70000"
    );
    let paired = Kernel::<(u32,)>::build("paired(n)", Target::SM_90, |k, (n,)| {
        k.block([1]);
        k.cluster([2]);
        k.grid([n.tiles(1)]);
    });
    assert_eq!(
        refused(device.launch(&paired.expect("it builds"), (3,))),
        "kernel `paired`: expected a grid that is a multiple of the cluster [2, 1, 1], found [3, 1, 1]"
    );
    let shapeless = Kernel::<()>::build("shapeless", Target::SM_80, |k, ()| k.grid([Dim::Const(1)]));
    assert_eq!(
        refused(device.launch(&shapeless.expect("it builds"), ())),
        "kernel `shapeless`: expected a block shape, found none; declare it with `k.block([…])`"
    );
}

#[test]
fn an_access_out_of_bounds_names_the_rust_line() {
    let line = line!() + 4;
    let stray = Kernel::<(Out<u32>,)>::build("stray(y)", Target::SM_80, |k, (y,)| {
        k.block([1]);
        k.grid([Dim::Const(1)]);
        unsafe { y.at(7).store(1) };
    });
    let device = Simulator::new();
    let mut y = device.zeros(4).expect("room");
    let error = refused(device.launch(&stray.expect("it builds"), (&mut y,)));
    assert!(error.contains("`stray`") && error.contains(&format!("{}:{line}:", file!())), "{error}");
}

type Numbers = (Out<i16>, Out<f16>, Out<bf16>, Out<f64>, Out<i64>, Out<f32>, i16, f16, bf16, f64, i64, f32);

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn numbers_are_passed_unchanged(a: i16, b: u16, c: u16, d: f64, e: i64, f: f32) {
        let (b, c) = (f16::from_bits(b), bf16::from_bits(c));
        let kernel = Kernel::<Numbers>::build("numbers", Target::SM_80, |k, (ya, yb, yc, yd, ye, yf, a, b, c, d, e, f)| {
            k.block([1]);
            k.grid([Dim::Const(1)]);
            k.slice(ya, 1).at(0).store(a);
            k.slice(yb, 1).at(0).store(b);
            k.slice(yc, 1).at(0).store(c);
            k.slice(yd, 1).at(0).store(d);
            k.slice(ye, 1).at(0).store(e);
            k.slice(yf, 1).at(0).store(f);
        });
        let device = Simulator::new();
        let mut ya = device.zeros(1).expect("room");
        let mut yb = device.zeros(1).expect("room");
        let mut yc = device.zeros(1).expect("room");
        let mut yd = device.zeros(1).expect("room");
        let mut ye = device.zeros(1).expect("room");
        let mut yf = device.zeros(1).expect("room");
        let args = (&mut ya, &mut yb, &mut yc, &mut yd, &mut ye, &mut yf, a, b, c, d, e, f);
        device.launch(&kernel.expect("it builds"), args).expect("it runs");
        prop_assert_eq!(device.download(&ya).expect("copied"), [a]);
        prop_assert_eq!(device.download(&yb).expect("copied")[0].to_bits(), b.to_bits());
        prop_assert_eq!(device.download(&yc).expect("copied")[0].to_bits(), c.to_bits());
        prop_assert_eq!(device.download(&yd).expect("copied")[0].to_bits(), d.to_bits());
        prop_assert_eq!(device.download(&ye).expect("copied"), [e]);
        prop_assert_eq!(device.download(&yf).expect("copied")[0].to_bits(), f.to_bits());
    }

    #[test]
    fn buffers_are_downloaded_unchanged(bytes: Vec<u8>, words: Vec<i32>, halves: Vec<u16>) {
        let device = Simulator::new();
        let halves: Vec<f16> = halves.into_iter().map(f16::from_bits).collect();
        let (a, b) = (device.upload(&bytes).expect("room"), device.upload(&words).expect("room"));
        let c = device.upload(&halves).expect("room");
        prop_assert_eq!((a.len(), b.len()), (bytes.len(), words.len()));
        prop_assert_eq!(device.download(&a).expect("copied"), bytes);
        prop_assert_eq!(device.download(&b).expect("copied"), words);
        let bits = |v: &[f16]| v.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&device.download(&c).expect("copied")), bits(&halves));
    }
}
