//! Tables of kernels that are added to a cache.

use warpwright::{
    kernels::{
        Activation, AttentionMask, AttentionTable, Gemm, GemmEntry, GemmTable, GemmTile, GpuKind,
        MatrixOrder,
        call::{self, AttentionScales, AttentionShape, EpilogueOperands, GemmShape},
    },
    prelude::*,
    ptx::e4m3,
    run::{AnyDevice, Device, KernelCache, Simulator},
    sim::Arch,
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

fn kind(device: &AnyDevice) -> GpuKind {
    GpuKind {
        name: device.name(),
        capability: device.capability(),
        multiprocessors: device.multiprocessors(),
    }
}

/// The table that was added last applies, and only to its GPU and its problem.
#[test]
fn calls_choose_from_tables() {
    let device = AnyDevice::Sim(Simulator::new());
    let (a, b) = (Matrix::new(64, 64, MatrixOrder::Row, 1), Matrix::new(64, 128, MatrixOrder::Col, 2));
    let on_a = device.upload(&a.elements).expect("room");
    let on_b = device.upload(&b.elements).expect("room");
    let of_columns = GemmShape { b: MatrixOrder::Col, ..shape(SIZE) };
    let name = |kernels: &KernelCache<'_>, shape: &GemmShape| {
        let mut d = device.output::<f32>(64 * 128).expect("room");
        call::gemm(kernels, shape, &on_a, &on_b, &mut d).expect("launched").kernel.name.clone()
    };

    let untuned = name(&KernelCache::new(&device), &of_columns);
    let first = table(kind(&device), GemmTile::T128x160);
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

    let kernels = kernels.with_gemm_table(table(kind(&device), GemmTile::T128x192));
    assert_eq!(name(&kernels, &of_columns), "gemm_bf16_f32_row_col_128x192");
    // Calls with operands take the table's kernel, in a tile that has registers for them.
    let mut d = results::<f32>(&device, 64 * 128);
    let zeros = device.zeros::<f32>(64 * 128).expect("room");
    let alpha = EpilogueOperands { alpha: Some(1.0), ..EpilogueOperands::default() };
    let with_c = EpilogueOperands { c: Some(((&zeros).into(), 128, 1.0)), ..EpilogueOperands::default() };
    for (operands, expected) in [(&alpha, "128x192_alpha"), (&with_c, "128x128_c")] {
        let called =
            call::fused_gemm(&kernels, &of_columns, operands, &on_a, &on_b, &mut d).expect("launched");
        assert_eq!(called.kernel.name, format!("gemm_bf16_f32_row_col_{expected}"));
        assert_near("d", &downloaded_floats(&device, &d), &product(&a, &b, SIZE), 1e-3);
    }

    let other = GpuKind { name: "another".into(), ..first.gpu };
    let kernels = KernelCache::new(&device).with_gemm_table(table(other, GemmTile::T128x160));
    let mut d = results::<f32>(&device, 64 * 128);
    let called = call::gemm(&kernels, &of_columns, &on_a, &on_b, &mut d).expect("launched");
    assert_eq!(called.kernel.name, untuned);
}

/// Calls of other forms use a tile that they support, whichever tile a table has for the product.
#[test]
fn products_in_every_tile_of_a_table_can_be_gated_and_fused() {
    for (arch, target) in [(Arch::Sm90, Target::SM_90A), (Arch::Sm80, Target::SM_80)] {
        let device = AnyDevice::Sim(Simulator::new().arch(arch));
        let (a, b) = (Matrix::new(64, 64, MatrixOrder::Row, 1), Matrix::new(64, 128, MatrixOrder::Col, 2));
        let on_a = device.upload(&a.elements).expect("room");
        let on_b = device.upload(&b.elements).expect("room");
        let both = product(&a, &b, SIZE);
        let gated: Vec<f64> =
            both.chunks(128).flat_map(|row| (0..64).map(|i| row[i].max(0.0) * row[64 + i])).collect();
        for &tile in GemmTile::for_target(target) {
            let mut tuned = table(kind(&device), tile);
            tuned.entries[0].gemm.target = target;
            let kernels = KernelCache::new(&device).with_gemm_table(tuned);
            let of_columns = GemmShape { b: MatrixOrder::Col, ..shape(SIZE) };
            let mut d = results::<f32>(&device, 64 * 128);
            let called = call::gemm(&kernels, &of_columns, &on_a, &on_b, &mut d).expect("launched");
            assert!(called.kernel.name.contains(&tile.to_string()), "{tile}: {}", called.kernel.name);
            assert_near("d", &downloaded_floats(&device, &d), &both, 1e-3);

            let operands = EpilogueOperands { alpha: Some(1.0), ..EpilogueOperands::default() };
            let mut d = results::<f32>(&device, 64 * 128);
            call::fused_gemm(&kernels, &of_columns, &operands, &on_a, &on_b, &mut d)
                .unwrap_or_else(|error| panic!("{tile}, fused: {error}"));
            assert_near("d", &downloaded_floats(&device, &d), &both, 1e-3);

            let half = GemmShape { n: 64, activation: Some(Activation::Relu), ..of_columns };
            let mut d = results::<f32>(&device, 64 * 64);
            call::gated_gemm(&kernels, &half, &on_a, &on_b, &mut d)
                .unwrap_or_else(|error| panic!("{tile}, gated: {error}"));
            assert_near("d", &downloaded_floats(&device, &d), &gated, 1e-2);
        }
    }
}

/// The table that was added last applies, for 16-bit elements and for those of 8 bits, and only to its GPU and its problem.
#[test]
fn attention_is_chosen_from_tables() {
    let device = AnyDevice::Sim(Simulator::new());
    let (name, multiprocessors) = (device.name(), device.multiprocessors());
    let table = |gpu: &str, bf16: &str, e4m3: &str| -> AttentionTable {
        let text = format!(
            "gpu: {gpu}\ncapability: 9.0\nmultiprocessors: {multiprocessors}\ndriver: none\ndate: none\ncommand: none\n\
             T d e mask heads kv_heads queries keys tile group order products rounding µs\n\
             bf16 64 64 causal 2 2 70 70 {bf16} 2 back free late 1.0\n\
             e4m3 64 64 causal 2 2 70 70 {e4m3} 1 forth staggered early 1.0\n"
        );
        text.parse().expect("a table")
    };
    let shape = AttentionShape { mask: AttentionMask::Causal, ..AttentionShape::new(1, 2, 70, 64) };
    let count = 70 * 2 * 64;
    let q = device.upload(&vec![bf16::ONE; count]).expect("room");
    let bytes = device.upload(&vec![e4m3::from_f32(1.0); count]).expect("room");
    let factors = device.upload(&[1.0f32; 2]).expect("room");
    let described = |kernels: &KernelCache<'_>, shape: &AttentionShape| {
        let (mut o, mut lse) = (results::<bf16>(&device, count), results(&device, 2 * 70));
        let halves =
            call::attention(kernels, shape, &q, &q, &q, &mut o, &mut lse).expect("launched").kernel.clone();
        let mut values = device.output::<e4m3>(shape.transposed_values()).expect("room");
        let [q_scales, k_scales, v_scales] = [&factors; 3].map(Into::into);
        let scales = AttentionScales { q: q_scales, k: k_scales, v: v_scales };
        let scaled = call::scaled_attention(
            kernels,
            shape,
            scales,
            &bytes,
            &bytes,
            &bytes,
            &mut values,
            &mut o,
            &mut lse,
        );
        [halves, scaled.expect("launched").kernel.clone()].map(|kernel| {
            let tile = kernel.description.split("tiles of ").nth(1);
            tile.expect("a description with the tile").to_string()
        })
    };
    let untuned = described(&KernelCache::new(&device), &shape);
    assert_eq!(untuned, ["192×128", "256×64"]);
    let kernels = || KernelCache::new(&device).with_attention_table(table(&name, "192x96", "128x256"));
    let first = kernels();
    assert_eq!(described(&first, &shape), ["192×96", "128×256"]);
    let second = kernels().with_attention_table(table(&name, "128x128", "256x64"));
    assert_eq!(described(&second, &shape), ["128×128", "256×64"]);
    let other_gpu = kernels().with_attention_table(table("another", "128x128", "256x64"));
    assert_eq!(described(&other_gpu, &shape), ["192×96", "128×256"]);
    // Another problem.
    let fewer = AttentionShape { queries: 69, ..shape };
    assert_eq!(described(&first, &fewer), untuned);
}
