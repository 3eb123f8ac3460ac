//! Build time of kernels: the builder alone, in lines of PTX per second, without a device.

#[path = "../examples/support/product.rs"]
#[allow(dead_code, reason = "the example runs the product too")]
mod product;
#[path = "../examples/softmax.rs"]
#[allow(dead_code, reason = "the example runs the kernel too")]
mod softmax;
#[path = "../examples/matmul_tensor_core/kernel.rs"]
mod tensor_core;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warpwright::{
    kernels::matmul,
    ptx::{BuildError, Kernel, Target, bf16},
};

/// A function that builds the softmax of rows.
type Softmax = fn(Target) -> Result<Kernel<softmax::Args>, BuildError>;

/// Benchmarks the matrix product, with copies of 16 bytes and of single elements, which has the most lines; a product of tensors; and the
/// softmax of rows in a register tile.
fn build(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("build");
    for divisor in [8, 1] {
        let kernel = matmul::<bf16>(Target::SM_80, divisor).expect("the kernel is right");
        let lines = kernel.ptx().lines().count();
        group.throughput(Throughput::Elements(lines as u64));
        group.bench_function(format!("matmul, sizes divisible by {divisor}, {lines} lines"), |bencher| {
            bencher.iter(|| matmul::<bf16>(black_box(Target::SM_80), divisor));
        });
    }
    let lines = tensor_core::matmul(Target::SM_80).expect("the kernel is right").ptx().lines().count();
    group.throughput(Throughput::Elements(lines as u64));
    group.bench_function(format!("tf32 product of tensors, {lines} lines"), |bencher| {
        bencher.iter(|| tensor_core::matmul(black_box(Target::SM_80)));
    });
    for (cols, softmax) in [(64, softmax::softmax::<4> as Softmax), (256, softmax::softmax::<16>)] {
        let lines = softmax(Target::SM_80).expect("the kernel is right").ptx().lines().count();
        group.throughput(Throughput::Elements(lines as u64));
        group.bench_function(format!("softmax of {cols} columns, {lines} lines"), |bencher| {
            bencher.iter(|| softmax(black_box(Target::SM_80)));
        });
    }
    group.finish();
}

/// Benchmarks the rendering of a kernel's text.
fn text(criterion: &mut Criterion) {
    let kernel = matmul::<bf16>(Target::SM_80, 8).expect("the kernel is right");
    let lines = kernel.ptx().lines().count();
    let mut group = criterion.benchmark_group("text");
    group.throughput(Throughput::Elements(lines as u64));
    group.bench_function(format!("matmul, {lines} lines"), |bencher| {
        bencher.iter(|| black_box(&kernel).ptx());
    });
    group.finish();
}

criterion_group!(benches, build, text);
criterion_main!(benches);
