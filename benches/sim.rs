//! How fast the simulator is: decoding the matrix product, and running it on 256×256×256 with all checks.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use warpwright::{
    kernels::matmul,
    ptx::{Target, bf16},
    run::{Device, Simulator},
    sim,
};

fn decode(criterion: &mut Criterion) {
    let text = matmul::<bf16>(Target::SM_80, 8).expect("the kernel is right").ptx();
    let lines = text.lines().count();
    let mut group = criterion.benchmark_group("decode");
    group.throughput(Throughput::Elements(lines as u64));
    group.bench_function(format!("matmul, {lines} lines"), |bencher| {
        bencher.iter(|| sim::Module::parse(black_box(&text)));
    });
    group.finish();
}

/// The rate is in multiplications of two elements.
fn run(criterion: &mut Criterion) {
    const SIZE: u32 = 256;
    let kernel = matmul::<bf16>(Target::SM_80, 8).expect("the kernel is right");
    let device = Simulator::new();
    let elements = (SIZE * SIZE) as usize;
    // Neither zeros nor one number everywhere: every bit of the sums is at work.
    let values: Vec<bf16> =
        (0..elements).map(|i| bf16::from_f32(((i * 7919 % 1009) as f32 - 504.0) / 64.0)).collect();
    let a = device.upload(&values).expect("the simulator has room");
    let b = device.upload(&values).expect("the simulator has room");
    let mut d = device.output::<f32>(elements).expect("the simulator has room");
    let mut group = criterion.benchmark_group("run");
    group.sample_size(10).throughput(Throughput::Elements(u64::from(SIZE).pow(3)));
    group.bench_function(format!("matmul {SIZE}×{SIZE}×{SIZE}, all checks"), |bencher| {
        bencher.iter(|| device.launch(&kernel, (&a, &b, &mut d, SIZE, SIZE, SIZE)).expect("the kernel runs"));
    });
    group.finish();
}

criterion_group!(benches, decode, run);
criterion_main!(benches);
