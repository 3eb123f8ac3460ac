//! Products whose depth is divided into parts, and the kernel that adds the parts.

use super::problem::{Entry, Matrix, assert_same, entry, product};
use crate::{assemble, devices};
use warpwright::{
    kernels::{
        Activation, Epilogue, Gemm, GemmResult, GemmSum, GemmTile, GpuKind, MatrixOrder, SplitKGemm, call,
    },
    prelude::*,
    run::{Device, KernelCache},
    tiles::{Convert, Product},
};

/// Checks a product in parts, bit for bit, with an activation and without other operands.
fn check<T, C, D>(gemm: &Gemm, [m, n, k]: [usize; 3], parts: u32)
where
    T: Entry + Product<T, C>,
    C: Entry + GemmSum + GemmResult + Convert<C> + Convert<D>,
    D: Entry + GemmResult,
    f32: Convert<D>,
{
    let partial = gemm.partial_kernel::<T, C>().unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
    let sum = gemm.sum_kernel::<C, D>(Epilogue::default()).expect("it builds");
    assemble::kernel(&partial);
    assemble::kernel(&sum);
    let signed = T::NAME != "u8";
    let (at_a, at_b) = (entry(signed, 1), entry(signed, 2));
    let (a, b) = (Matrix::new(m, k, gemm.a, 16), Matrix::new(k, n, gemm.b, 0));
    let d = Matrix::new(m, n, MatrixOrder::Row, 1);
    let exact = product([m, n, k], at_a, at_b);
    let expected: Vec<D> = d.elements(|row, col| match gemm.activation {
        Some(Activation::Relu) => exact(row, col).max(0),
        _ => exact(row, col),
    });
    let ld = n.next_multiple_of(4) as u32;
    let distance = m as u32 * ld;
    for device in devices::all() {
        let (major, minor) = device.capability();
        if !gemm.target.runs_on(major as u16, minor as u16) {
            continue;
        }
        let on_a = device.upload(&a.elements::<T>(at_a)).expect("room");
        let on_b = device.upload(&b.elements::<T>(at_b)).expect("room");
        let mut partials = device.upload(&vec![C::of(C::GAP); (distance * parts) as usize]).expect("room");
        let mut on_d = device.upload(&vec![D::of(D::GAP); d.len()]).expect("room");
        let [lda, ldb, ldd] = [&a, &b, &d].map(|matrix| matrix.stride as u32);
        let [m, n, k] = [m, n, k].map(|size| size as u32);
        let arguments = (&on_a, lda, &on_b, ldb, &mut partials, ld, distance, m, n, k, parts);
        device.launch(&partial, arguments).unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
        let (none, no_c) = (device.upload::<f32>(&[]).expect("room"), device.upload::<D>(&[]).expect("room"));
        let arguments =
            (&partials, ld, distance, parts, &mut on_d, ldd, m, n, 1.0, 0.0, &no_c, 0, &none, &none, &none);
        device.launch(&sum, arguments).unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
        let found = device.download(&on_d).expect("copied");
        let what = format!("{gemm:?}, {m}×{n}×{k} in {parts} parts, {}", device.name());
        assert_same(&what, &found, &expected, d.stride);
    }
}

/// Depths with more and with fewer steps than parts, and parts that are not equally deep.
#[test]
fn parts_of_the_depth_are_added() {
    use GemmTile::{T16x64, T64x64, T64x128, T128x128};
    for (parts, k) in [(1, 80), (3, 40), (5, 1000), (8, 512)] {
        for tile in [T16x64, T64x128] {
            check::<bf16, f32, bf16>(&Gemm { b: MatrixOrder::Col, ..Gemm::new(tile) }, [10, 200, k], parts);
        }
        for tile in [T64x64, T128x128] {
            let gemm = Gemm { target: Target::SM_80, ..Gemm::new(tile) };
            check::<bf16, f32, f32>(&gemm, [70, 136, k], parts);
        }
    }
    let gemm = Gemm { target: Target::SM_80, a: MatrixOrder::Col, b: MatrixOrder::Col, ..Gemm::new(T64x64) };
    check::<f16, f32, f32>(&gemm, [72, 136, 600], 4);
    check::<f16, f32, f32>(&Gemm { target: Target::SM_90A, ..gemm }, [72, 136, 600], 4);
}

#[test]
fn other_types_and_rows_of_any_length() {
    let gemm =
        Gemm { b: MatrixOrder::Col, activation: Some(Activation::Relu), ..Gemm::new(GemmTile::T64x64) };
    check::<i8, i32, i32>(&gemm, [70, 130, 900], 3);
    check::<e4m3, f32, bf16>(&gemm, [70, 131, 900], 3);
    let any = Gemm { target: Target::SM_80, any_size: true, any_ldd: true, ..gemm };
    check::<bf16, f32, f32>(&any, [33, 67, 301], 3);
    check::<u8, i32, i32>(&any, [33, 67, 301], 2);
}

/// The call divides the depth, applies all operands, and leaves other problems to one kernel.
#[test]
fn calls_divide_products_of_few_tiles() {
    for (m, k, is_divided) in [(5, 4096, true), (5, 64, false)] {
        let n = 136;
        let (at_a, at_b, at_c) = (entry(true, 1), entry(true, 2), entry(true, 3));
        let (a, b) = (Matrix::new(m, k, MatrixOrder::Row, 0), Matrix::new(k, n, MatrixOrder::Row, 0));
        let (c, d) = (Matrix::new(m, n, MatrixOrder::Row, 0), Matrix::new(m, n, MatrixOrder::Row, 8));
        let exact = product([m, n, k], at_a, at_b);
        let expected: Vec<f32> = d.filled(|row, col| {
            (0.5 * exact(row, col) as f32 + 2.0 * at_c(row, col) as f32 + (col % 3) as f32).max(0.0)
        });
        let bias: Vec<f32> = (0..n).map(|col| (col % 3) as f32).collect();
        for device in devices::all() {
            let kernels = KernelCache::new(&device);
            let on_a = device.upload(&a.elements::<bf16>(at_a)).expect("room");
            let on_b = device.upload(&b.elements::<bf16>(at_b)).expect("room");
            let on_c = device.upload(&c.elements::<f32>(at_c)).expect("room");
            let on_bias = device.upload(&bias).expect("room");
            let mut on_d = device.upload(&vec![16_384.0f32; d.len()]).expect("room");
            let [lda, ldb, ldc, ldd] = [&a, &b, &c, &d].map(|matrix| matrix.stride as u32);
            let shape = call::GemmShape::new(m as u32, n as u32, k as u32);
            let shape = call::GemmShape { activation: Some(Activation::Relu), ..shape };
            let elements = call::split_k_workspace::<bf16>(&kernels, &shape).expect("a size");
            assert_eq!(elements > 0, is_divided);
            let mut workspace = device.upload(&vec![f32::NAN; elements]).expect("room");
            let operands = call::EpilogueOperands {
                alpha: Some(0.5),
                c: Some(((&on_c).into(), ldc, 2.0)),
                bias: Some((&on_bias).into()),
                ..call::EpilogueOperands::default()
            };
            let called = call::split_k_gemm(
                &kernels,
                &shape,
                &operands,
                (&on_a, lda),
                (&on_b, ldb),
                (&mut on_d, ldd),
                &mut workspace,
            );
            let called = called.unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(called.kernel.name.contains("_partial"), is_divided, "{}", called.kernel.name);
            let found = device.download(&on_d).expect("copied");
            assert_same(&device.name(), &found, &expected, d.stride);
        }
    }
}

#[test]
fn a_model_chooses_the_parts() {
    let h200 = GpuKind { name: "NVIDIA H200".into(), capability: (9, 0), multiprocessors: 132 };
    let a100 = GpuKind { name: "NVIDIA A100-SXM4-80GB".into(), capability: (8, 0), multiprocessors: 108 };
    let of =
        |size, gpu: &GpuKind| SplitKGemm::for_problem::<bf16>(MatrixOrder::Row, MatrixOrder::Col, size, gpu);
    for gpu in [&h200, &a100] {
        // Many tiles, and too little depth.
        assert_eq!(of([4096; 3], gpu), None);
        assert_eq!(of([16, 1024, 512], gpu), None);
        let split = of([16, 1024, 8192], gpu).expect("16 tiles");
        assert!((3..=16).contains(&split.parts), "{split:?}");
        assert_eq!((split.gemm.parts, split.gemm.cluster), (1, [1, 1]));
    }
    assert_eq!(of([16, 1024, 8192], &a100).map(|split| split.gemm.tile), Some(GemmTile::T64x64));
    // 216 blocks on 108 multiprocessors.
    assert_eq!(of([128, 4096, 4096], &a100).map(|split| split.parts), None);
    assert_eq!(of([64, 4096, 4096], &a100).map(|split| split.parts), Some(3));
}
