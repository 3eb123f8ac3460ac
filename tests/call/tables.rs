//! Tables of kernels that are added to a cache.

use warpwright::{
    kernels::{
        Activation, Gemm, GemmEntry, GemmTable, GemmTile, GpuKind, MatrixOrder,
        call::{self, FusedOperands, GemmShape},
    },
    run::{AnyDevice, Device, KernelCache, Simulator},
};

use super::{
    gemm::{Matrix, product, shape},
    numbers::{assert_near, downloaded_floats, results},
};

const SIZE: [usize; 3] = [64, 128, 64];

/// A table with one product in tiles of this size.
fn table(gpu: GpuKind, tile: GemmTile) -> GemmTable {
    let gemm = Gemm { b: MatrixOrder::Col, ..Gemm::new(tile) };
    let size = SIZE.map(|n| n as u32);
    let entry = GemmEntry { operand: "bf16".into(), result: "f32".into(), size, gemm, micros: 1.0 };
    let text = |text: &str| text.to_string();
    GemmTable {
        gpu,
        driver: text("none"),
        date: text("2026-11-26"),
        command: text("none"),
        entries: vec![entry],
    }
}

/// The table that was added last applies, and only to its GPU and its problem.
#[test]
fn calls_choose_from_tables() {
    let device = AnyDevice::Sim(Simulator::new());
    let kind = || GpuKind {
        name: device.name(),
        capability: device.capability(),
        multiprocessors: device.multiprocessors(),
    };
    let (a, b) = (Matrix::new(64, 64, MatrixOrder::Row, 1), Matrix::new(64, 128, MatrixOrder::Col, 2));
    let on_a = device.upload(&a.elements).expect("room");
    let on_b = device.upload(&b.elements).expect("room");
    let of_columns = GemmShape { b: MatrixOrder::Col, ..shape(SIZE) };
    let name = |kernels: &KernelCache<'_>, shape: &GemmShape| {
        let mut d = device.output::<f32>(64 * 128).expect("room");
        call::gemm(kernels, shape, &on_a, &on_b, &mut d).expect("launched").kernel.name.clone()
    };

    let untuned = name(&KernelCache::new(&device), &of_columns);
    let first = table(kind(), GemmTile::T128x160);
    let kernels = KernelCache::new(&device).with_gemm_table(first.clone());
    assert_ne!(untuned, "gemm_bf16_f32_row_col_128x160");
    assert_eq!(name(&kernels, &of_columns), "gemm_bf16_f32_row_col_128x160");
    let activation = Some(Activation::Relu);
    let relu = GemmShape { activation, ..of_columns };
    assert_eq!(name(&kernels, &relu), "gemm_bf16_f32_row_col_128x160_relu");
    // Other problems.
    let fewer = GemmShape { m: 63, ..of_columns };
    assert_ne!(name(&kernels, &fewer), "gemm_bf16_f32_row_col_128x160");
    let rows = GemmShape { b: MatrixOrder::Row, ..of_columns };
    assert!(!name(&kernels, &rows).contains("128x160"));

    let kernels = kernels.with_gemm_table(table(kind(), GemmTile::T128x192));
    assert_eq!(name(&kernels, &of_columns), "gemm_bf16_f32_row_col_128x192");
    // Calls with operands take the table's kernel, in a tile that has registers for them.
    let operands = FusedOperands { alpha: Some(1.0), ..FusedOperands::default() };
    let kernels = KernelCache::new(&device).with_gemm_table(first.clone());
    let mut d = results::<f32>(&device, 64 * 128);
    let called = call::fused_gemm(&kernels, &of_columns, &operands, &on_a, &on_b, &mut d).expect("launched");
    assert_eq!(called.kernel.name, "gemm_bf16_f32_row_col_128x128_alpha");
    assert_near("d", &downloaded_floats(&device, &d), &product(&a, &b, SIZE), 1e-3);

    let other = GpuKind { name: "another".into(), ..first.gpu };
    let kernels = KernelCache::new(&device).with_gemm_table(table(other, GemmTile::T128x160));
    let mut d = results::<f32>(&device, 64 * 128);
    let called = call::gemm(&kernels, &of_columns, &on_a, &on_b, &mut d).expect("launched");
    assert_eq!(called.kernel.name, untuned);
}
