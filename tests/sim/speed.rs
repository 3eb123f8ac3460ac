//! Throughput, printed: `cargo test --release --test sim speed -- --nocapture --ignored`.

use std::time::Instant;

use super::matmul;
use super::support::{kernel, parse};
use warpwright::sim::{Arg, Checks, Launch, Memory, Sim};

/// Thread-instructions per second of a kernel with one buffer argument.
fn rate(name: &str, text: &str) {
    let module = parse(text);
    for checks in [Checks::empty(), Checks::all()] {
        let mut memory = Memory::new();
        let buffer = memory.alloc(1 << 20);
        let launch = Launch { grid: [64, 1, 1], block: [256, 1, 1], ..Launch::default() };
        let start = Instant::now();
        let report = Sim::new()
            .checks(checks)
            .launch(&module, "k", &launch, &[Arg::from(buffer)], &mut memory)
            .unwrap_or_else(|e| panic!("{e}"));
        let seconds = start.elapsed().as_secs_f64();
        let threads = report.counts.warp_instructions as f64 * 32.0;
        println!(
            "{name}, checks {}: {:.0} M thread-instructions/s",
            !checks.is_empty(),
            threads / seconds / 1e6
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn loops() {
    let fma: String = (0..16).map(|i| format!("fma.rn.f32 %f{i}, %f{i}, %f16, %f17;\n")).collect();
    rate(
        "f32 fma",
        &kernel(
            ".param .u64 out",
            &format!(
                ".reg .f32 %f<20>; .reg .b32 %r<4>; .reg .pred %p; .reg .b64 %rd;
                 {}mov.f32 %f16, 0f3F7FFFFE; mov.f32 %f17, 0f3A83126F; mov.u32 %r1, 0;
                 L: {fma} add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 1000; @%p bra L;
                 ld.param.u64 %rd, [out]; st.global.f32 [%rd], %f0; ret;",
                (0..16).map(|i| format!("mov.f32 %f{i}, 0f3F800000;\n")).collect::<String>()
            ),
        ),
    );
    rate(
        "integer",
        &kernel(
            ".param .u64 out",
            &format!(
                ".reg .b32 %r<20>; .reg .pred %p; mov.u32 %r0, %tid.x; mov.u32 %r1, 0; mov.u32 %r2, 3;
                 L: {} add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 1000; @%p bra L; ret;",
                (4..20)
                    .map(|i| format!("mad.lo.u32 %r{i}, %r0, %r2, %r1; xor.b32 %r0, %r0, %r{i};\n"))
                    .collect::<String>()
            ),
        ),
    );
    rate(
        "shared memory",
        &kernel(
            ".param .u64 out",
            &format!(
                ".reg .b32 %r<20>; .reg .pred %p; .shared .b8 s[4096];
                 mov.u32 %r0, %tid.x; shl.b32 %r2, %r0, 2; mov.u32 %r3, s; add.u32 %r2, %r2, %r3; mov.u32 %r1, 0;
                 L: {} add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 1000; @%p bra L; ret;",
                (4..12)
                    .map(|i| format!("st.shared.u32 [%r2], %r0; ld.shared.u32 %r{i}, [%r2]; add.u32 %r0, %r0, %r{i};\n"))
                    .collect::<String>()
            ),
        ),
    );
    rate(
        "global memory",
        &kernel(
            ".param .u64 out",
            &format!(
                ".reg .b32 %r<20>; .reg .pred %p; .reg .b64 %rd<4>;
                 mov.u32 %r0, %tid.x; mov.u32 %r3, %ctaid.x; mad.lo.u32 %r3, %r3, 256, %r0;
                 ld.param.u64 %rd0, [out]; mad.wide.u32 %rd1, %r3, 4, %rd0; mov.u32 %r1, 0;
                 L: {} add.u32 %r1, %r1, 1; setp.lt.u32 %p, %r1, 300; @%p bra L; ret;",
                (4..12)
                    .map(|i| format!(
                        "st.global.u32 [%rd1], %r0; ld.global.u32 %r{i}, [%rd1]; add.u32 %r0, %r0, %r{i};\n"
                    ))
                    .collect::<String>()
            ),
        ),
    );
}

#[test]
#[ignore = "a measurement"]
fn matmul_256_and_1024() {
    let module = matmul::module();
    for n in [256, 1024] {
        for checks in [Checks::empty(), Checks::all()] {
            let start = Instant::now();
            let sim = Sim::new().checks(checks);
            let random = |i: usize, j: usize| ((i * 7919 + j * 104_729) % 1009) as f32 / 1009.0 - 0.5;
            let (_, report) = matmul::multiply(&sim, &module, n, random, random);
            println!(
                "{n}³, checks {}: {:.2} s, {} warp instructions",
                !checks.is_empty(),
                start.elapsed().as_secs_f64(),
                report.counts.warp_instructions
            );
        }
    }
}
