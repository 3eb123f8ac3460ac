//! Speed of the simulator: parsing, loops of one kind of instruction with and without checks, matrix products.
//!
//! Rates of loops are in thread-instructions per second, those of products in multiply-adds per second.

use std::hint::black_box;

use criterion::{
    BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main, measurement::WallTime,
};
use warpwright::{
    kernels::matmul,
    ptx::{Target, bf16},
    run::{Device, Simulator},
    sim::{Arg, Checks, Launch, Memory, Module, Sim},
};

fn parse(criterion: &mut Criterion) {
    let kernel = matmul::<bf16>(Target::SM_80, 8).expect("the kernel is right").ptx();
    let (head, body) = kernel.split_once(".visible").expect("a kernel");
    let kernels =
        |n: u32| (0..n).map(|i| format!(".visible{}", body.replace(".entry ", &format!(".entry k{i}_"))));
    let module: String = std::iter::once(head.to_string()).chain(kernels(50)).collect();
    let calls: String = (1..2000).rev().fold(String::new(), |text, i| {
        let call = if i < 1999 { format!("call.uni f{};", i + 1) } else { String::new() };
        text + &format!(
            ".func f{i}() {{\n.reg .b32 %r;\nmov.u32 %r, 0;\nadd.u32 %r, %r, 1;\n{call}\nret;\n}}\n"
        )
    });
    let entries: String =
        (0..1000).map(|i| format!(".visible .entry k{i}() {{ call.uni f1; ret; }}\n")).collect();
    let functions = format!(".version 8.0\n.target sm_80\n.address_size 64\n{calls}{entries}");
    let mut group = criterion.benchmark_group("parse");
    for (name, text) in
        [("one kernel", kernel.as_str()), ("50 kernels", &module), ("2,000 functions", &functions)]
    {
        Module::parse(text).unwrap_or_else(|error| panic!("{error}"));
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |bencher| bencher.iter(|| Module::parse(black_box(text))));
    }
    group.finish();
}

/// Returns a kernel that repeats `body` 200 times; %r2 is the address of the thread's word in shared memory, %r35 is free.
fn repeated(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {{
         .reg .b32 %r<40>; .reg .f32 %f<40>; .reg .pred %p; .reg .b64 %rd<4>; .shared .align 16 .b8 s[4096];
         mov.u32 %r0, %tid.x; shl.b32 %r2, %r0, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; mov.u32 %r1, 0; mov.u32 %r35, %r0;
         mov.f32 %f32, 0f3F7FFFFE; mov.f32 %f33, 0f3A83126F; cvt.rn.f32.u32 %f0, %r0;
         {} L: {body} add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 200; @%p bra L;
         ld.param.u64 %rd0, [out]; mul.wide.u32 %rd1, %r0, 4; add.u64 %rd0, %rd0, %rd1; st.global.f32 [%rd0], %f0; ret; }}",
        (1..32).map(|i| format!("mov.f32 %f{i}, %f0;\n")).collect::<String>()
    );
    Module::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn time(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, body: &str) {
    let module = repeated(body);
    let launch = Launch { grid: [64, 1, 1], block: [256, 1, 1], ..Launch::default() };
    for (checked, checks) in [("no checks", Checks::empty()), ("all checks", Checks::all())] {
        let mut memory = Memory::new();
        let args = [Arg::from(memory.alloc(4 * 256))];
        let sim = Sim::new().checks(checks);
        let mut run = || sim.launch(&module, "k", &launch, &args, &mut memory).expect("it runs");
        group.throughput(Throughput::Elements(32 * run().counts.warp_instructions));
        group.bench_function(format!("{name}, {checked}"), |bencher| bencher.iter(&mut run));
    }
}

fn loops(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("loop");
    group.sample_size(10);
    let fma: String = (0..32).map(|i| format!("fma.rn.f32 %f{i}, %f{i}, %f32, %f33;\n")).collect();
    time(&mut group, "f32 fma", &fma);
    let integer: String =
        (4..20).map(|i| format!("mad.lo.u32 %r{i}, %r35, %r2, %r1; xor.b32 %r35, %r35, %r{i};\n")).collect();
    time(&mut group, "integer", &integer);
    let shared: String = (4..12)
        .map(|i| {
            format!("st.shared.u32 [%r2], %r35; ld.shared.u32 %r{i}, [%r2]; add.u32 %r35, %r35, %r{i};\n")
        })
        .collect();
    time(&mut group, "shared memory", &shared);
    group.finish();
}

/// A kernel on three buffers; %r4 and %r5 are the thread, %r6 and %r7 the block, and shared memory is at `sa` and `sb`.
fn kernel(body: &str) -> Module {
    let text = format!(
        ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 a, .param .u64 b, .param .u64 c) {{
         .reg .b32 %r<64>; .reg .f32 %f<32>; .reg .b64 %rd<32>; .reg .pred %p<8>;
         .shared .align 16 .b8 sa[4096]; .shared .align 16 .b8 sb[4096];
         ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; ld.param.u64 %rd3, [c];
         mov.u32 %r4, %tid.x; mov.u32 %r5, %tid.y; mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ctaid.y;
         {body} ret; }}"
    );
    Module::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// A product of 256 × 256 × 256 in tiles of 16 × 16 in shared memory.
fn tiled_product() -> Module {
    let inner: String = (0..16)
        .map(|k| {
            format!(
                "ld.shared.f32 %f2, [%r20+{}]; ld.shared.f32 %f3, [%r21+{}]; fma.rn.f32 %f1, %f2, %f3, %f1;\n",
                4 * k,
                64 * k
            )
        })
        .collect();
    kernel(&format!(
        "mad.lo.u32 %r10, %r6, 16, %r4; mad.lo.u32 %r11, %r7, 16, %r5; mov.f32 %f1, 0f00000000; mov.u32 %r12, 0;
         mov.u32 %r13, sa; mov.u32 %r14, sb; mad.lo.u32 %r20, %r5, 64, %r13; mad.lo.u32 %r21, %r4, 4, %r14;
         mad.lo.u32 %r22, %r4, 4, %r20; mad.lo.u32 %r23, %r5, 64, %r21;
         L: add.u32 %r30, %r12, %r4; mad.lo.u32 %r31, %r11, 256, %r30; mad.wide.u32 %rd4, %r31, 4, %rd1;
         ld.global.f32 %f4, [%rd4]; st.shared.f32 [%r22], %f4;
         add.u32 %r32, %r12, %r5; mad.lo.u32 %r33, %r32, 256, %r10; mad.wide.u32 %rd5, %r33, 4, %rd2;
         ld.global.f32 %f5, [%rd5]; st.shared.f32 [%r23], %f5; bar.sync 0;
         {inner} bar.sync 0; add.u32 %r12, %r12, 16; setp.lt.u32 %p1, %r12, 256; @%p1 bra L;
         mad.lo.u32 %r31, %r11, 256, %r10; mad.wide.u32 %rd4, %r31, 4, %rd3; st.global.f32 [%rd4], %f1;"
    ))
}

/// Rows of 4096 elements less their means: loads, shuffles, shared memory, stores.
fn centered_rows() -> Module {
    let reduce: String = [16, 8, 4, 2, 1]
        .map(|step| {
            format!("mov.b32 %r40, %f1; shfl.sync.bfly.b32 %r41, %r40, {step}, 31, -1; mov.b32 %f10, %r41; add.rn.f32 %f1, %f1, %f10;\n")
        })
        .concat();
    let sum: String = (0..8)
        .map(|warp| format!("ld.shared.f32 %f11, [sa+{}]; add.rn.f32 %f3, %f3, %f11;\n", 4 * warp))
        .collect();
    kernel(&format!(
        "shl.b32 %r10, %r6, 12; add.u32 %r10, %r10, %r4; mad.wide.u32 %rd5, %r10, 4, %rd1; mad.wide.u32 %rd6, %r10, 4, %rd3;
         mov.f32 %f1, 0f00000000; mov.u32 %r11, 0; mov.u64 %rd8, %rd5;
         A: ld.global.f32 %f5, [%rd8]; add.rn.f32 %f1, %f1, %f5; add.u64 %rd8, %rd8, 1024;
         add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 16; @%p1 bra A; {reduce}
         and.b32 %r12, %r4, 31; shr.u32 %r13, %r4, 5; setp.eq.u32 %p2, %r12, 0; mov.u32 %r15, sa;
         mad.lo.u32 %r15, %r13, 4, %r15; @%p2 st.shared.f32 [%r15], %f1; bar.sync 0; mov.f32 %f3, 0f00000000; {sum}
         mul.rn.f32 %f4, %f3, 0f39800000; mov.u32 %r11, 0;
         B: ld.global.f32 %f5, [%rd5]; sub.rn.f32 %f5, %f5, %f4; st.global.f32 [%rd6], %f5; add.u64 %rd5, %rd5, 1024;
         add.u64 %rd6, %rd6, 1024; add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 16; @%p1 bra B;"
    ))
}

/// 64 atomics of each thread on random ones of 1024 words.
fn atomics() -> Module {
    kernel(
        "mad.lo.u32 %r20, %r6, 256, %r4; mov.u32 %r11, 0;
         A: mad.lo.u32 %r20, %r20, 1664525, 1013904223; shr.u32 %r21, %r20, 22; mad.wide.u32 %rd5, %r21, 4, %rd3;
         atom.global.add.u32 %r30, [%rd5], 1; add.u32 %r11, %r11, 1; setp.lt.u32 %p1, %r11, 64; @%p1 bra A;",
    )
}

fn kernels(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kernel");
    group.sample_size(10);
    let cases = [
        ("tiled product", tiled_product(), [16, 16, 1], [16, 16, 1]),
        ("centered rows", centered_rows(), [512, 1, 1], [256, 1, 1]),
        ("atomics", atomics(), [64, 1, 1], [256, 1, 1]),
    ];
    for (name, module, grid, block) in cases {
        let launch = Launch { grid, block, ..Launch::default() };
        for (checked, checks) in [("no checks", Checks::empty()), ("all checks", Checks::all())] {
            let mut memory = Memory::new();
            let args = [0; 3].map(|_| Arg::from(memory.alloc(512 * 4096 * 4)));
            let sim = Sim::new().checks(checks);
            let mut run = || sim.launch(&module, "k", &launch, &args, &mut memory).expect("it runs");
            group.throughput(Throughput::Elements(32 * run().counts.warp_instructions));
            group.bench_function(format!("{name}, {checked}"), |bencher| bencher.iter(&mut run));
        }
    }
    group.finish();
}

fn products(criterion: &mut Criterion) {
    let kernel = matmul::<bf16>(Target::SM_80, 8).expect("the kernel is right");
    let mut group = criterion.benchmark_group("matmul");
    group.sample_size(10);
    for size in [256u32, 1024] {
        let device = Simulator::new();
        let elements = (size * size) as usize;
        // Neither zeros nor a constant, so that every bit of the sums is exercised.
        let values: Vec<bf16> =
            (0..elements).map(|i| bf16::from_f32(((i * 7919 % 1009) as f32 - 504.0) / 64.0)).collect();
        let a = device.upload(&values).expect("the simulator has room");
        let b = device.upload(&values).expect("the simulator has room");
        let mut d = device.output::<f32>(elements).expect("the simulator has room");
        group.throughput(Throughput::Elements(u64::from(size).pow(3)));
        group.bench_function(format!("bf16 {size}×{size}×{size}, all checks"), |bencher| {
            bencher.iter(|| {
                device.launch(&kernel, (&a, &b, &mut d, size, size, size)).expect("the kernel runs")
            });
        });
    }
    group.finish();
}

criterion_group!(benches, parse, loops, kernels, products);
criterion_main!(benches);
