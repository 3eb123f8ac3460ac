//! Attention of 8-bit floats with a scale for each head.

use warpwright::{
    kernels::{
        AttentionMask,
        call::{self, AttentionScales, AttentionShape, HeadOrder},
    },
    prelude::*,
    ptx::e4m3,
    run::{Device, KernelCache, Simulator},
};

use super::{
    attention::{Reference, lengths},
    numbers::{assert_near, downloaded_floats, downloaded_halves, numbers, on_hopper, results},
};

#[test]
fn elements_times_their_scales_agree_with_f64() {
    let shape = AttentionShape {
        kv_heads: 1,
        mask: AttentionMask::CausalFromEnd,
        order: HeadOrder::Heads,
        ..AttentionShape::new(2, 2, 150, 64)
    };
    on_hopper(|device| {
        let kernels = KernelCache::new(device);
        let lengths = lengths(&shape);
        let elements = [0, 1, 2].map(|which| {
            let numbers = numbers(lengths[which], which as u32 + 1);
            numbers.into_iter().map(|x| e4m3::from_f32(x * 4.0)).collect::<Vec<_>>()
        });
        // Two heads of queries, and one of keys, in each of two batches.
        let scales: [&[f32]; 3] = [&[0.25, 0.5, 0.125, 0.375], &[0.5, 0.25], &[2.0, 0.5]];
        let in_f64 = [0, 1, 2].map(|which| {
            let of_head = lengths[which] / scales[which].len();
            let scaled = |(at, x): (usize, &e4m3)| f64::from(x.to_f32() * scales[which][at / of_head]);
            elements[which].iter().enumerate().map(scaled).collect::<Vec<_>>()
        });
        let [on_q, on_k, on_v] = elements.each_ref().map(|elements| device.upload(elements).expect("room"));
        let on_scales = scales.map(|scales| device.upload(scales).expect("room"));
        let [q, k, v] = on_scales.each_ref().map(Into::into);
        let mut values = device.output::<e4m3>(shape.transposed_values()).expect("room");
        let (mut o, mut lse) = (results::<bf16>(device, lengths[0]), results(device, 2 * 2 * 150));
        let scales = AttentionScales { q, k, v };
        call::scaled_attention(&kernels, &shape, scales, &on_q, &on_k, &on_v, &mut values, &mut o, &mut lse)
            .expect("launched");
        let [q, k, v] = &in_f64;
        let (expected_o, expected_lse) = Reference { shape, q, k, v }.results();
        // Weights are rounded to 4 significant bits, so the error is at most 2⁻⁴ of the largest value, 8.
        assert_near("o", &downloaded_halves(device, &o), &expected_o, 0.5);
        assert_near("lse", &downloaded_floats(device, &lse), &expected_lse, 2e-3);
    });
}

/// Keys and values of a cache in `e4m3`, with the scales of their heads, and the numbers that they represent.
pub(super) struct ScaledCache {
    pub(super) elements: [Vec<e4m3>; 2],
    pub(super) scales: [Vec<f32>; 2],
    pub(super) numbers: [Vec<f64>; 2],
}

/// Rounds keys and values of `kv_heads` heads of `of_head` elements each, for each sequence or page.
pub(super) fn scaled_cache(caches: &[Vec<f64>; 2], [kv_heads, of_head]: [usize; 2]) -> ScaledCache {
    let scales =
        [0.5, 0.25].map(|first| (0..kv_heads).map(|head| first + head as f32 * 0.25).collect::<Vec<_>>());
    let scale = |which: usize, at: usize| scales[which][at / of_head % kv_heads];
    let elements = [0, 1].map(|which| {
        let rounded = |(at, x): (usize, &f64)| e4m3::from_f32(*x as f32 / scale(which, at));
        caches[which].iter().enumerate().map(rounded).collect::<Vec<_>>()
    });
    let numbers = [0, 1].map(|which| {
        let number = |(at, x): (usize, &e4m3)| f64::from(x.to_f32() * scale(which, at));
        elements[which].iter().enumerate().map(number).collect()
    });
    ScaledCache { elements, scales, numbers }
}

#[test]
fn other_head_sizes_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let q = device.upload(&[e4m3::from_f32(1.0); 256]).expect("room");
    let factors = device.upload(&[1.0f32]).expect("room");
    let refused = |shape: AttentionShape| {
        let [q_scales, k_scales, v_scales] = [&factors; 3].map(Into::into);
        let scales = AttentionScales { q: q_scales, k: k_scales, v: v_scales };
        let mut values = device.output::<e4m3>(1 << 12).expect("room");
        let (mut o, mut lse) = (device.output::<bf16>(256).expect("room"), device.output(1).expect("room"));
        call::scaled_attention(&kernels, &shape, scales, &q, &q, &q, &mut values, &mut o, &mut lse)
            .expect_err("refused")
            .to_string()
    };
    let shape = AttentionShape::new(1, 1, 1, 64);
    assert_eq!(
        refused(AttentionShape { head_size: 96, value_size: 96, ..shape }),
        "scaled_attention: expected a head size of 64 or 128, found 96"
    );
    assert_eq!(
        refused(AttentionShape { value_size: 32, ..shape }),
        "scaled_attention: expected values of 64 elements, like the keys, found 32"
    );
}
