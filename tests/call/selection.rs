//! The largest elements of rows, and sampling.

use warpwright::{
    kernels::call::{self, Sampling},
    prelude::*,
    run::{Device, KernelCache, Simulator},
};

use super::numbers::{halves, in_f64};
use crate::devices;

#[test]
fn the_largest_elements_and_columns_drawn_from_them() {
    let [m, n, ld, count] = [3, 1001, 1003, 5];
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        let elements = halves(m * ld, 21);
        let x = device.upload(&elements).expect("room");
        let mut values = device.output::<bf16>(m * count).expect("room");
        let mut indices = device.output::<i32>(m * count).expect("room");
        let size = [m as u32, n as u32];
        call::top_k(&kernels, size, count as u32, (&x, ld as u32), &mut values, &mut indices)
            .expect("launched");
        let (values, indices) =
            (device.download(&values).expect("copied"), device.download(&indices).expect("copied"));
        let found: Vec<_> = in_f64(&values).into_iter().zip(indices).collect();
        let expected = elements.chunks(ld).flat_map(|row| {
            let mut sorted: Vec<_> = in_f64(&row[..n]).into_iter().zip(0i32..).collect();
            sorted.sort_by(|a, b| b.0.total_cmp(&a.0));
            sorted.truncate(count);
            sorted
        });
        let expected: Vec<_> = expected.collect();
        assert_eq!(found, expected);

        // For several offsets, a column drawn among the largest elements is one of them.
        let mut tokens = device.output::<i32>(m).expect("room");
        for offset in 0..5 {
            let sampling = Sampling { top_k: count as u32, ..Sampling::new(7, offset) };
            call::sample(&kernels, size, sampling, (&x, ld as u32), &mut tokens).expect("launched");
            for (row, token) in device.download(&tokens).expect("copied").into_iter().enumerate() {
                let is_one = expected[row * count..][..count].iter().any(|(_, col)| *col == token);
                assert!(is_one, "row {row}: {token}");
            }
        }
        let greedy = Sampling { temperature: 0.0, ..Sampling::new(7, 0) };
        call::sample(&kernels, size, greedy, (&x, ld as u32), &mut tokens).expect("launched");
        let first: Vec<i32> = expected.iter().step_by(count).map(|(_, col)| *col).collect();
        assert_eq!(device.download(&tokens).expect("copied"), first);
    }
}

#[test]
fn counts_and_rules_that_do_not_exist_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let x = device.upload(&[1.0f32; 8]).expect("room");
    let (mut values, mut indices) = (device.output(8).expect("room"), device.output(8).expect("room"));
    for count in [0, 513] {
        let error = call::top_k(&kernels, [1, 8], count, &x, &mut values, &mut indices).expect_err("refused");
        assert_eq!(error.to_string(), format!("top_k: expected 1 to 512 elements of a row, found {count}"));
    }
    let rule = Sampling::new(1, 0);
    for (sampling, expected) in [
        (Sampling { temperature: -1.0, ..rule }, "sample: expected a temperature of 0 or more, found -1"),
        (
            Sampling { temperature: f32::NAN, ..rule },
            "sample: expected a temperature of 0 or more, found NaN",
        ),
        (Sampling { top_p: 1.5, ..rule }, "sample: expected a probability from 0 to 1, found 1.5"),
    ] {
        let error = call::sample(&kernels, [1, 8], sampling, &x, &mut indices).expect_err("refused");
        assert_eq!(error.to_string(), expected);
    }
}
