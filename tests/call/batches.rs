//! Several products of the same size.

use warpwright::{
    kernels::{
        MatrixOrder,
        call::{self, GemmBatches, GemmShape},
    },
    prelude::*,
    run::{AnyDevice, Device, KernelCache, Simulator},
    sim::Arch,
};

use super::{
    gemm::{Matrix, product, shape},
    numbers::{assert_near, downloaded_floats, on_hopper, results},
};

/// Gaps after matrices A, B and D, or one B for all products.
#[derive(Clone, Copy, Debug)]
enum Apart {
    Contiguous,
    Gaps([usize; 3]),
    SharedB,
}

/// Returns the name of the kernel of the product of three matrices of each order, compared with f64.
fn check(
    device: &AnyDevice,
    sizes @ [m, n, k]: [usize; 3],
    (a_order, b_order): (MatrixOrder, MatrixOrder),
    apart: Apart,
) -> String {
    const COUNT: usize = 3;
    let kernels = KernelCache::new(device);
    let a: Vec<_> = (1..=COUNT).map(|seed| Matrix::new(m, k, a_order, seed as u32)).collect();
    let of_b = if let Apart::SharedB = apart { 1 } else { COUNT };
    let b: Vec<_> = (1..=of_b).map(|seed| Matrix::new(k, n, b_order, 10 + seed as u32)).collect();
    let [gap_a, gap_b, gap_d] = if let Apart::Gaps(gaps) = apart { gaps } else { [0; 3] };
    let distance = |length: usize, gap: usize| (gap > 0).then_some((length + gap) as u32);
    let batches = GemmBatches {
        count: COUNT as u32,
        a_batch_stride: distance(m * k, gap_a),
        b_batch_stride: if of_b == 1 { Some(0) } else { distance(k * n, gap_b) },
        d_batch_stride: distance(m * n, gap_d),
    };
    let with_gaps = |matrices: &[Matrix], gap: usize| {
        let elements = |matrix: &Matrix| [&matrix.elements[..], &vec![bf16::NAN; gap]].concat();
        device.upload(&matrices.iter().flat_map(elements).collect::<Vec<_>>()).expect("room")
    };
    let (on_a, on_b) = (with_gaps(&a, gap_a), with_gaps(&b, gap_b));
    let mut d = results::<f32>(device, COUNT * (m * n + gap_d));
    let shape = GemmShape { a: a_order, b: b_order, ..shape(sizes) };
    let called = call::batched_gemm(&kernels, &shape, &batches, &on_a, &on_b, &mut d).expect("launched");
    let what = format!("{sizes:?} {a_order:?} {b_order:?} {apart:?} {}", called.kernel.name);
    for (i, d) in downloaded_floats(device, &d).chunks(m * n + gap_d).enumerate() {
        let (d, gap) = d.split_at(m * n);
        assert!(gap.iter().all(|d| d.is_nan()), "{what}: wrote between matrices");
        assert_near(&what, d, &product(&a[i], &b[i % of_b], sizes), 1e-5 * k as f64);
    }
    called.kernel.name.clone()
}

#[test]
fn products_of_every_order_and_distance() {
    let orders = MatrixOrder::ALL.map(|a| MatrixOrder::ALL.map(|b| (a, b))).concat();
    on_hopper(|device| {
        for (orders, apart) in orders.iter().zip([
            Apart::Contiguous,
            Apart::Gaps([8, 16, 4]),
            Apart::Gaps([16, 8, 3]),
            Apart::SharedB,
        ]) {
            let name = check(device, [40, 136, 72], *orders, apart);
            let any_ldd = matches!(apart, Apart::Gaps([.., 3]));
            assert_eq!(name.contains("any_ldd"), any_ldd, "{name}");
        }
        // Few rows, and a depth that four blocks share.
        for (sizes, part_of_name) in [([10, 136, 72], "_16x"), ([40, 64, 4096], "_split4")] {
            let name = check(device, sizes, (MatrixOrder::Row, MatrixOrder::Col), Apart::Contiguous);
            assert!(name.contains(part_of_name), "{name}");
        }
    });
    let device = AnyDevice::Sim(Simulator::new().arch(Arch::Sm80));
    for (sizes, apart, any) in [
        ([40, 136, 72], Apart::Contiguous, false),
        ([40, 136, 72], Apart::Gaps([3, 0, 1]), true),
        ([33, 45, 67], Apart::SharedB, true),
    ] {
        let name = check(&device, sizes, (MatrixOrder::Col, MatrixOrder::Row), apart);
        assert_eq!(name.contains("_any_ldd_any_size"), any, "{name}");
    }
}

#[test]
fn results_that_overlap_and_short_buffers_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let a = device.upload(&[bf16::ONE; 2 * 64 * 64]).expect("room");
    let mut d = device.output::<f32>(2 * 64 * 64).expect("room");
    let mut refused = |batches: GemmBatches| {
        call::batched_gemm(&kernels, &GemmShape::new(64, 64, 64), &batches, &a, &a, &mut d)
            .expect_err("refused")
            .to_string()
    };
    let two = GemmBatches::new(2);
    let error = refused(GemmBatches { d_batch_stride: Some(4095), ..two });
    assert_eq!(error, "batched_gemm: expected matrices D that are at least 4096 elements apart, found 4095");
    let error = refused(GemmBatches::new(3));
    assert!(error.ends_with("`a`: expected a buffer of at least 12288 elements, found 8192"), "{error}");

    // Rows of both matrices in turn, as of the heads of attention.
    let interleaved = GemmBatches { d_batch_stride: Some(16), ..two };
    let shape = GemmShape::new(8, 16, 64);
    let mut d = device.upload(&[0.0f32; 2 * 64 * 64]).expect("room");
    call::batched_gemm(&kernels, &shape, &interleaved, &a, &a, (&mut d, 32)).expect("launched");
    let found = device.download(&d).expect("copied");
    assert_eq!(found[..8 * 32], [64.0; 8 * 32]);
    assert!(found[8 * 32..].iter().all(|&element| element == 0.0));
    for (distance, stride) in [(15, 32), (16, 31)] {
        let batches = GemmBatches { d_batch_stride: Some(distance), ..two };
        let refused = call::batched_gemm(&kernels, &shape, &batches, &a, &a, (&mut d, stride));
        let end = 7 * stride + 16;
        assert_eq!(
            refused.expect_err("refused").to_string(),
            format!(
                "batched_gemm: expected matrices D that are at least {end} elements apart, found {distance}"
            )
        );
    }
}
