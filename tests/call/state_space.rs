//! The state space model of Mamba-2.

use warpwright::{
    kernels::call::{self, HeadOrder, StateSpaceOperands, StateSpaceShape},
    prelude::*,
    run::{Device, KernelCache, Simulator},
};

use super::{
    attention::each,
    linear::{HeadRows, assert_sums, like},
    numbers::{downloaded_halves, halves, numbers, results},
};
use crate::devices;

#[test]
fn states_agree_with_f64() {
    let (a, skip) = ([-0.5f32, -2.0, -1.0, -4.0], [1.5f32, -0.5, 0.0, 1.0]);
    let [batches, heads, groups, positions] = [2, 4, 2, 90];
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        for (order, [p, n]) in [(HeadOrder::Positions, [64, 128]), (HeadOrder::Heads, [128, 64])] {
            let (on_x, x) = HeadRows::new(&device, order, [batches, heads, positions, p], 1);
            let (on_b, b) = HeadRows::new(&device, order, [batches, groups, positions, n], 2);
            let (on_c, c) = HeadRows::new(&device, order, [batches, groups, positions, n], 3);
            let steps: Vec<f32> =
                numbers(batches * heads * positions, 4).into_iter().map(|x| 0.05 + x.abs() / 4.0).collect();
            let dt = HeadRows {
                order,
                sizes: [heads, positions, 1],
                elements: steps.iter().map(|&x| f64::from(x)).collect(),
            };
            let start = numbers(batches * heads * p * n, 5);
            let [on_dt, on_a, on_skip] =
                [&steps[..], &a, &skip].map(|numbers| device.upload(numbers).expect("room"));
            let operands = StateSpaceOperands {
                x: (&on_x).into(),
                dt: (&on_dt).into(),
                a: (&on_a).into(),
                b: (&on_b).into(),
                c: (&on_c).into(),
                d: (&on_skip).into(),
            };
            let [batches, heads, groups, positions] = [batches, heads, groups, positions].map(|n| n as u32);
            let [head_size, state_size] = [p, n].map(|n| n as u32);
            let shape = StateSpaceShape { batches, heads, groups, positions, head_size, state_size, order };
            let mut state = device.upload(&start).expect("room");
            let mut y = results(&device, x.elements.len());
            call::state_space(&kernels, &shape, &operands, &mut y, &mut state).expect("launched");
            let y = like(&x, downloaded_halves(&device, &y));
            let end: Vec<f64> = device.download(&state).expect("copied").into_iter().map(f64::from).collect();
            for (batch, head, _) in each([batches, heads, 1]) {
                let group = head / (heads / groups) as usize;
                let own = (batch * heads as usize + head) * p * n;
                let of_head = &start[own..][..p * n];
                let mut state: Vec<[f64; 2]> =
                    of_head.iter().map(|&x| f64::from(x)).map(|x| [x, x.abs()]).collect();
                for i in 0..positions as usize {
                    let (x, step) = (x.row(batch, head, i), dt.row(batch, head, i)[0]);
                    let (b, c) = (b.row(batch, group, i), c.row(batch, group, i));
                    let decay = (step * f64::from(a[head])).exp();
                    let mut expected = Vec::new();
                    for (state, x) in state.chunks_mut(n).zip(x) {
                        let skipped = f64::from(skip[head]) * x;
                        let mut y = [skipped, skipped.abs()];
                        for ((sum, b), c) in state.iter_mut().zip(b).zip(c) {
                            let term = step * x * b;
                            *sum = [sum[0] * decay + term, sum[1] * decay + term.abs()];
                            y = [y[0] + sum[0] * c, y[1] + sum[1] * c.abs()];
                        }
                        expected.push(y);
                    }
                    let what = format!("{order:?}, {batch}, head {head}, row {i}");
                    assert_sums(&what, y.row(batch, head, i), &expected);
                }
                assert_sums("state", &end[own..][..p * n], &state);
            }
        }
    }
}

#[test]
fn other_groups_and_sizes_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let order = HeadOrder::Positions;
    let shape = StateSpaceShape {
        batches: 1,
        heads: 2,
        groups: 1,
        positions: 1,
        head_size: 64,
        state_size: 64,
        order,
    };
    let (x, numbers) =
        (device.upload(&halves(128, 1)).expect("room"), device.upload(&[-1.0f32]).expect("room"));
    let operands = StateSpaceOperands {
        x: (&x).into(),
        dt: (&numbers).into(),
        a: (&numbers).into(),
        b: (&x).into(),
        c: (&x).into(),
        d: (&numbers).into(),
    };
    let (mut y, mut state) =
        (device.output::<bf16>(128).expect("room"), device.output::<f32>(2 * 64 * 64).expect("room"));
    let mut refused = |shape: StateSpaceShape| {
        call::state_space(&kernels, &shape, &operands, &mut y, &mut state).expect_err("refused").to_string()
    };
    for (shape, expected) in [
        (StateSpaceShape { groups: 3, ..shape }, "heads that are a multiple of groups = 3, found 2"),
        (StateSpaceShape { groups: 0, ..shape }, "heads that are a multiple of groups = 0, found 2"),
        (StateSpaceShape { state_size: 32, ..shape }, "head sizes of 64 or 128, found 64 and 32"),
    ] {
        assert_eq!(refused(shape), format!("state_space: expected {expected}"));
    }
    let error = refused(shape);
    assert!(error.ends_with("`dt`: expected a buffer of at least 2 elements, found 1"), "{error}");
}
