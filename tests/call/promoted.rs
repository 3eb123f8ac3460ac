//! Products of 8-bit floats with promoted sums, and with scales of blocks.

use warpwright::{
    kernels::{
        Activation, MatrixOrder,
        call::{self, EpilogueOperands, GemmShape},
    },
    prelude::*,
    run::{Device, KernelCache, Simulator},
    sim::Arch,
};

use super::numbers::{assert_near, downloaded_floats, numbers, on_hopper, results};

/// Sizes that are multiples of 16, as strides of 8-bit factors must be, but not of tiles or blocks.
const SIZES: [usize; 3] = [150, 200, 336];

/// Integers from −3 to 3, whose products tensor cores sum exactly in a block.
fn bytes(count: usize, seed: u32) -> Vec<e4m3> {
    numbers(count, seed).into_iter().map(|x| e4m3::from_f32((3.0 * x).round())).collect()
}

/// Powers of 2, which leave sums exact.
fn powers(count: usize, seed: u32) -> Vec<f32> {
    numbers(count, seed).into_iter().map(|x| (3.0 * x).round().exp2()).collect()
}

/// Returns the sums of the products of each block of 128, for the element of a row and a column.
fn sums<'a>(a: &'a [e4m3], b: &'a [e4m3], [row, col]: [usize; 2]) -> impl Iterator<Item = f64> + 'a {
    let k = SIZES[2];
    let [a, b] = [&a[row * k..][..k], &b[col * k..][..k]];
    let sum = |(a, b): (&[e4m3], &[e4m3])| {
        a.iter().zip(b).map(|(a, b)| f64::from(a.to_f32()) * f64::from(b.to_f32())).sum()
    };
    a.chunks(128).zip(b.chunks(128)).map(sum)
}

#[test]
fn sums_of_8_bit_floats() {
    let [m, n, k] = SIZES;
    let blocks = k.div_ceil(128);
    let (a, b) = (bytes(m * k, 1), bytes(n * k, 2));
    let (a_scales, b_scales) = (powers(blocks * m, 3), powers(n.div_ceil(128) * blocks, 4));
    let shape = GemmShape { b: MatrixOrder::Col, ..GemmShape::new(m as u32, n as u32, k as u32) };
    let at = |at: usize| [at / n, at % n];
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let [on_a, on_b] = [&a, &b].map(|bytes| device.upload(bytes).expect("room"));
        let [of_a, of_b] = [&a_scales, &b_scales].map(|scales| device.upload(scales).expect("room"));
        let mut d = results::<f32>(device, m * n);
        call::promoted_gemm(&kernels, &shape, &on_a, &on_b, &mut d).expect("launched");
        let expected: Vec<f64> = (0..m * n).map(|i| sums(&a, &b, at(i)).sum()).collect();
        assert_near("promoted", &downloaded_floats(device, &d), &expected, 0.0);

        // Rows of the result that are not multiples of 16 bytes.
        let mut d = results::<f32>(device, m * (n + 1) - 1);
        let (of_a, of_b) = ((&on_a, &of_a), (&on_b, &of_b));
        call::block_scaled_gemm(&kernels, &shape, of_a, of_b, (&mut d, n as u32 + 1)).expect("launched");
        let element = |i: usize| {
            let [row, col] = at(i);
            let scale = |s| f64::from(a_scales[s * m + row]) * f64::from(b_scales[col / 128 * blocks + s]);
            sums(&a, &b, [row, col]).enumerate().map(|(s, sum)| scale(s) * sum).sum()
        };
        let expected: Vec<f64> = (0..m * n).map(element).collect();
        let found = downloaded_floats(device, &d);
        let found: Vec<f64> = found.chunks(n + 1).flat_map(|row| &row[..n]).copied().collect();
        assert_near("scaled", &found, &expected, 0.0);
    });
}

#[test]
fn promoted_sums_have_operands_and_functions() {
    let [m, n, k] = SIZES;
    let (a, b, bias) = (bytes(m * k, 1), bytes(n * k, 2), powers(n, 5));
    let shape = GemmShape { b: MatrixOrder::Col, ..GemmShape::new(m as u32, n as u32, k as u32) };
    let shape = GemmShape { activation: Some(Activation::Relu), ..shape };
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let [on_a, on_b] = [&a, &b].map(|bytes| device.upload(bytes).expect("room"));
        let on_bias = device.upload(&bias).expect("room");
        let operands = EpilogueOperands {
            alpha: Some(0.5),
            bias: Some((&on_bias).into()),
            ..EpilogueOperands::default()
        };
        let mut d = results::<f32>(device, m * n);
        call::fused_promoted_gemm(&kernels, &shape, &operands, &on_a, &on_b, &mut d).expect("launched");
        let element = |i: usize| 0.5 * sums(&a, &b, [i / n, i % n]).sum::<f64>() + f64::from(bias[i % n]);
        let expected: Vec<f64> = (0..m * n).map(|i| element(i).max(0.0)).collect();
        assert_near("fused", &downloaded_floats(device, &d), &expected, 0.0);
    });
}

#[test]
fn other_devices_are_refused() {
    let shape = GemmShape { b: MatrixOrder::Col, ..GemmShape::new(16, 16, 32) };
    let refused = |arch, shape: GemmShape| {
        let device = Simulator::new().arch(arch);
        let kernels = KernelCache::new(&device);
        let a = device.upload(&bytes(16 * 32, 1)).expect("room");
        let mut d = device.output::<f32>(16 * 16).expect("room");
        let called = call::promoted_gemm(&kernels, &shape, &a, &a, &mut d);
        called.expect_err("refused").to_string()
    };
    let error = refused(Arch::Sm80, shape);
    assert!(error.starts_with("promoted_gemm: "), "{error}");
    assert!(error.ends_with("expected sm_90a for promoted sums, found sm_80"), "{error}");
}
