//! The calls that are rejected, and the error messages.

use warpwright::{
    kernels::{
        NormFunction, PointwiseFunction,
        call::{self, AttentionShape, CacheShape, GemmShape},
    },
    prelude::*,
    run::{Buffer, Device, KernelCache, Simulator},
    sim::Arch,
};

/// Buffers of this many elements.
fn buffers(device: &Simulator, lens: [usize; 5]) -> [Buffer<bf16>; 5] {
    lens.map(|len| device.output(len).expect("room"))
}

#[test]
fn attention() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let shape = AttentionShape::new(1, 4, 10, 64);
    let refused = |shape: AttentionShape, lens| {
        let [q, k, v, mut o, _] = buffers(&device, lens);
        let mut lse = device.output::<f32>(40).expect("room");
        call::attention(&kernels, &shape, &q, &k, &v, &mut o, &mut lse).expect_err("refused").to_string()
    };
    let enough = [4 * 10 * 64; 5];
    for (shape, expected) in [
        (
            AttentionShape { kv_heads: 3, ..shape },
            "attention: expected heads that are a multiple of kv_heads = 3, found 4",
        ),
        (
            AttentionShape { kv_heads: 0, ..shape },
            "attention: expected heads that are a multiple of kv_heads = 0, found 4",
        ),
        (
            AttentionShape { head_size: 72, ..shape },
            "attention: expected equal head sizes of 32, 64, 96, 128 or 256, or 192 for Q and K and 128 for V, found 72 and 64",
        ),
        (
            AttentionShape { scale: Some(-1.0), ..shape },
            "attention: expected a positive scale of at most 2.3e38, found -1",
        ),
        (
            AttentionShape { scale: Some(f32::NAN), ..shape },
            "attention: expected a positive scale of at most 2.3e38, found NaN",
        ),
        (
            AttentionShape { batches: 2, queries: 1 << 31, ..shape },
            "attention: expected matrices of fewer than 2³² elements, found 549755813888",
        ),
        // The distance to another sequence does not matter.
        (
            AttentionShape { queries: 1 << 31, ..shape },
            "attention: kernel `attention_bf16_64_full`: parameter `queries`: expected at most 1073741824, found 2147483648",
        ),
    ] {
        assert_eq!(refused(shape, enough), expected);
    }
    assert_eq!(
        refused(shape, [2560, 2560, 2559, 2560, 0]),
        "attention: kernel `attention_bf16_64_full`: parameter `v`: expected a buffer of at least 2560 elements, found 2559"
    );
}

#[test]
fn caches() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let refused = |shape: CacheShape| {
        let [q, k, v, mut o, _] = buffers(&device, [1 << 10; 5]);
        let (lengths, mut lse) = (device.upload(&[1u32]).expect("room"), device.output(4).expect("room"));
        let called = call::cached_attention(&kernels, &shape, &q, &k, &v, &lengths, &mut o, &mut lse);
        called.expect_err("refused").to_string()
    };
    let shape =
        CacheShape { batches: 1, heads: 4, kv_heads: 4, queries: 1, capacity: 4, head_size: 64, scale: None };
    for (shape, expected) in [
        (
            CacheShape { kv_heads: 3, ..shape },
            "cached_attention: expected heads that are a multiple of kv_heads = 3, found 4",
        ),
        (
            CacheShape { head_size: 96, ..shape },
            "cached_attention: expected a head size of 64 or 128, found 96",
        ),
        (CacheShape { queries: 0, ..shape }, "cached_attention: expected 1 to 8 queries, found 0"),
        (
            CacheShape { scale: Some(0.0), ..shape },
            "cached_attention: expected a positive scale of at most 2.3e38, found 0",
        ),
    ] {
        assert_eq!(refused(shape), expected);
    }
}

#[test]
fn products() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let [a, b, mut d, ..] = buffers(&device, [64 * 64; 5]);
    let mut refused = |shape: GemmShape, ldd: u32| {
        call::gemm(&kernels, &shape, &a, &b, (&mut d, ldd)).expect_err("refused").to_string()
    };
    let shape = GemmShape::new(16, 32, 64);
    for (shape, ldd, expected) in [
        (shape, 31, "gemm: expected rows of D that are at least 32 elements apart, found 31"),
        (
            GemmShape { m: 65, ..shape },
            32,
            "gemm: kernel `gemm_bf16_row_row_64x64`: parameter `a`: expected a buffer of at least 4160 elements, found 4096",
        ),
        // A factor that is copied first.
        (
            GemmShape { m: 66, k: 63, ..shape },
            32,
            "gemm: expected a buffer of at least 4158 elements for A, found 4096",
        ),
    ] {
        assert_eq!(refused(shape, ldd), expected);
    }

    let gated = GemmShape { n: 1 << 31, ..shape };
    let error = call::gated_gemm(&kernels, &gated, &a, &b, &mut d).expect_err("refused").to_string();
    assert_eq!(error, "gated_gemm: expected 2n below 2³², found 4294967296");
}

#[test]
fn rows() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let [x, w, mut y, ..] = buffers(&device, [64; 5]);
    let mut refused = |size: [u32; 2], ldy: u32| {
        let called = call::norm(&kernels, NormFunction::Rms, size, 1e-5, &x, &w, (&mut y, ldy));
        called.expect_err("refused").to_string()
    };
    assert_eq!(
        refused([4, 16], 15),
        "norm: expected rows of results that are at least 16 elements apart, found 15"
    );
    assert_eq!(
        refused([5, 16], 16),
        "norm: kernel `rmsnorm_bf16_16_by8`: parameter `x`: expected a buffer of at least 80 elements, found 64"
    );
    let error = call::softmax(&kernels, false, [4, 16], f32::NAN, &x, &mut y).expect_err("refused");
    assert_eq!(error.to_string(), "softmax: expected a positive scale of at most 2.3e38, found NaN");

    // Buffers of another device.
    let other = Simulator::new();
    let elsewhere = other.zeros::<bf16>(64).expect("room");
    let error = call::pointwise(&kernels, PointwiseFunction::Relu, [4, 16], &elsewhere, &mut y);
    assert_eq!(
        error.expect_err("refused").to_string(),
        "pointwise: kernel `relu_bf16_64_by8`: parameter `x`: expected a buffer on this device (simulator), found one on another device"
    );
}

/// Kernels of Hopper on another device.
#[test]
fn devices_without_the_instructions() {
    let device = Simulator::new().arch(Arch::Sm80);
    let kernels = KernelCache::new(&device);
    let [a, b, mut d, ..] = buffers(&device, [64 * 64; 5]);
    let shape = GemmShape::new(64, 32, 64);
    let error = call::promoted_gemm(&kernels, &shape, &a, &b, &mut d).expect_err("refused").to_string();
    assert!(error.ends_with("expected sm_90a for promoted sums, found sm_80"), "{error}");
    // Other kernels are built for the device.
    let called = call::gated_gemm(&kernels, &shape, &a, &b, &mut d).expect("launched");
    assert_eq!(called.kernel.target, Target::SM_80);
    let called = call::norm(&kernels, NormFunction::Rms, [4, 64], 1e-5, &a, &b, &mut d).expect("launched");
    assert_eq!(called.kernel.target, Target::SM_80);
}
