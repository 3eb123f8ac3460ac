//! Matrices in the memory of a GPU: with canaries on both sides, and with more than 2³¹ and 2³² elements.

use super::problem::{Matrix, entry, product};
use crate::require;
use warpwright::{
    gpu::Gpu,
    kernels::{Gemm, GemmTile, MatrixOrder},
    prelude::*,
    ptx::Element,
};

/// Kernels that store by tensor copies, by threads and from warps.
fn gemms() -> [Gemm; 4] {
    let hopper = Gemm { b: MatrixOrder::Col, ..Gemm::new(GemmTile::T128x128) };
    let by_threads = Gemm { any_ldd: true, ..hopper };
    let warps = Gemm { target: Target::SM_80, ..hopper };
    [hopper, by_threads, warps, Gemm { any_size: true, any_ldd: true, ..warps }]
}

fn bits(elements: &[bf16]) -> Vec<u16> {
    elements.iter().map(|x| x.to_mem_bits() as u16).collect()
}

/// The elements before and after each matrix.
const CANARIES: usize = 128;
const CANARY: u16 = 0xFFA5;

#[test]
fn nothing_around_the_matrices_changes() {
    let Some(gpu) = require::gpu() else { return };
    let (major, minor) = gpu.properties().capability;
    let stream = gpu.stream();
    let guarded = |elements: &[u16]| [&[CANARY; CANARIES], elements, &[CANARY; CANARIES]].concat();
    for gemm in gemms().into_iter().filter(|gemm| gemm.target.runs_on(major as u16, minor as u16)) {
        let loaded = gpu.load(&gemm.kernel::<bf16, f32, bf16>().expect("it builds")).expect("loaded");
        let sizes = [[1, 8, 8], [131, 72, 40], [256, 200, 136]];
        for [m, n, k] in sizes {
            let (at_a, at_b) = (entry(true, 1), entry(true, 2));
            let (a, b) = (Matrix::new(m, k, gemm.a, 0), Matrix::new(k, n, gemm.b, 0));
            let d = Matrix::new(m, n, MatrixOrder::Row, 0);
            let (of_a, of_b) = (bits(&a.elements(at_a)), bits(&b.elements(at_b)));
            let sums = product([m, n, k], at_a, at_b);
            let mut expected = vec![CANARY; d.len()];
            for (row, col) in (0..m).flat_map(|row| (0..n).map(move |col| (row, col))) {
                expected[row * d.stride + col] = bf16::from_f32(sums(row, col) as f32).to_mem_bits() as u16;
            }
            let on_a = stream.clone_htod(&guarded(&of_a)).expect("room");
            let on_b = stream.clone_htod(&guarded(&of_b)).expect("room");
            let mut on_d = stream.clone_htod(&guarded(&vec![CANARY; d.len()])).expect("room");
            let [lda, ldb, ldd] = [&a, &b, &d].map(|matrix| matrix.stride as u32);
            let within = |len: usize| CANARIES..CANARIES + len;
            loaded
                .launch(
                    &stream,
                    (
                        &on_a.slice(within(of_a.len())),
                        lda,
                        &on_b.slice(within(of_b.len())),
                        ldb,
                        &mut on_d.slice_mut(within(d.len())),
                        ldd,
                        m as u32,
                        n as u32,
                        k as u32,
                    ),
                )
                .expect("launched");
            let what = format!("{gemm:?}, {m}×{n}×{k}");
            assert!(stream.clone_dtoh(&on_d).expect("copied") == guarded(&expected), "D of {what}");
            assert!(stream.clone_dtoh(&on_a).expect("copied") == guarded(&of_a), "A of {what}");
            assert!(stream.clone_dtoh(&on_b).expect("copied") == guarded(&of_b), "B of {what}");
        }
    }
}

/// Returns the GPU if this many bytes of its memory are free.
fn gpu_with(bytes: usize) -> Option<Gpu> {
    let gpu = require::gpu()?;
    let (free, _) = gpu.memory().expect("the driver reports it");
    if free < bytes {
        let why = format!("expected {} GiB of free memory, found {}", bytes >> 30, free >> 30);
        require::skip("memory", &why);
        return None;
    }
    Some(gpu)
}

/// A product of m×k and k×n matrices of zeros, except for some rows of A, which the kernels must read and write at their positions.
fn check(gpu: &Gpu, gemm: &Gemm, [m, n, k]: [usize; 3], rows: &[usize]) {
    let stream = gpu.stream();
    let (at_a, at_b) = (entry(true, 1), entry(true, 2));
    let b = Matrix::new(k, n, gemm.b, 0);
    let mut on_a = stream.alloc_zeros::<u16>(m * k).expect("room");
    let on_b = stream.clone_htod(&bits(&b.elements(at_b))).expect("room");
    // Poisoned rows would take longer to write than the product; unwritten rows are found among those that are compared.
    let mut on_d = stream.alloc_zeros::<u16>(m * n).expect("room");
    for &row in rows {
        let elements: Vec<bf16> = (0..k).map(|i| bf16::from_f32(at_a(row, i) as f32)).collect();
        stream.memcpy_htod(&bits(&elements), &mut on_a.slice_mut(row * k..(row + 1) * k)).expect("copied");
    }
    let loaded = gpu.load(&gemm.kernel::<bf16, f32, bf16>().expect("it builds")).expect("loaded");
    let [of_m, of_n, of_k] = [m, n, k].map(|size| size as u32);
    loaded
        .launch(&stream, (&on_a, of_k, &on_b, b.stride as u32, &mut on_d, of_n, of_m, of_n, of_k))
        .expect("launched");
    let sums = product([rows.len(), n, k], |at, i| at_a(rows[at], i), at_b);
    for (at, &row) in rows.iter().enumerate() {
        let expected: Vec<bf16> = (0..n).map(|col| bf16::from_f32(sums(at, col) as f32)).collect();
        let found = stream.clone_dtoh(&on_d.slice(row * n..(row + 1) * n)).expect("copied");
        assert!(found == bits(&expected), "{gemm:?}, {m}×{n}×{k}: row {row}");
        // The rows before it are zero.
        if row > 0 && !rows.contains(&(row - 1)) {
            let found = stream.clone_dtoh(&on_d.slice((row - 1) * n..row * n)).expect("copied");
            assert!(found.iter().all(|&x| x & 0x7FFF == 0), "{gemm:?}, {m}×{n}×{k}: row {}", row - 1);
        }
    }
}

/// A has 4.4·10⁹ elements, more than 2³², D 2.3·10⁹, more than 2³¹.
#[test]
fn matrices_of_more_than_2_to_the_31_elements() {
    const DEPTH: usize = 1 << 15;
    let Some(gpu) = gpu_with(12 << 30) else { return };
    let (major, minor) = gpu.properties().capability;
    for gemm in gemms().into_iter().filter(|gemm| gemm.target.runs_on(major as u16, minor as u16)) {
        let rows = 135_000;
        let of_a = [0, (1 << 31) / DEPTH - 1, (1 << 31) / DEPTH, (1 << 32) / DEPTH, rows - 1];
        check(&gpu, &gemm, [rows, 64, DEPTH], &of_a);
        let rows = 70_000;
        check(&gpu, &gemm, [rows, DEPTH, 64], &[0, (1 << 31) / DEPTH - 1, (1 << 31) / DEPTH, rows - 1]);
    }
}
