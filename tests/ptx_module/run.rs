//! The effects of raw lines, variables and prints in the simulator.
#![allow(unsafe_code, reason = "raw lines")]

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{B16, B32, B64, Kernel, Variable},
    sim,
};

/// Runs a kernel with one output buffer of `N` words and these further arguments, in one block of `threads`.
fn run<A, const N: usize>(kernel: &Kernel<A>, threads: u32, args: &[sim::Arg]) -> ([u32; N], Vec<String>) {
    let module = sim::Module::parse(&kernel.ptx()).expect("the simulator reads it");
    let mut memory = sim::Memory::new();
    let out = memory.alloc(4 * N);
    let all: Vec<sim::Arg> = std::iter::once(out.into()).chain(args.iter().cloned()).collect();
    let launch = sim::Launch { block: [threads, 1, 1], ..sim::Launch::default() };
    let report = sim::Sim::new().launch(&module, kernel.name(), &launch, &all, &mut memory).expect("it runs");
    let mut bytes = vec![0; 4 * N];
    memory.read(out, &mut bytes).expect("the buffer is there");
    let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|b| bytes[4 * i + b]));
    (std::array::from_fn(word), report.printed)
}

#[test]
fn raw_lines_compute() {
    let kernel = Kernel::<(Out<u32>, u32, u64)>::build("f(p, x, wide)", Target::SM_80, |k, (p, x, wide)| {
        let (lo, hi) = unsafe { k.raw("mov.b64 {{lo}, {hi}}, {x};") }
            .out::<u32>("lo")
            .out::<u32>("hi")
            .input("x", wide)
            .emit();
        let clamped = unsafe {
            k.raw("{ .reg .pred big;\n  setp.gt.u32 big, {x}, {most};\n  selp.u32 {d}, {most}, {x}, big; }")
        }
        .out::<u32>("d")
        .input("x", x)
        .input("most", 100u32)
        .emit();
        for (i, value) in [lo, hi, clamped].into_iter().enumerate() {
            unsafe { p.at(i as u32).store(value) };
        }
    })
    .expect("it builds");
    let (words, _) = run::<_, 3>(&kernel, 1, &[200u32.into(), 0x0000_0007_0000_0009u64.into()]);
    assert_eq!(words, [9, 7, 100]);
}

#[test]
fn variables_have_their_initial_values() {
    let table = Variable::constant("table", &[1.5f32, -2.0, 0.25, 8.0]);
    let halves = Variable::global("halves", &[bf16::from_f32(3.0), bf16::from_f32(-0.5)]).aligned(16);
    let zeros = Variable::<u32, _>::zeroed("zeros", 4);
    let kernel = Kernel::<(Out<f32>,)>::build("f(p)", Target::SM_80, |k, (p,)| {
        let lane = k.tid_x();
        let scratch = k.local_array::<f32>(8);
        scratch.at(lane).store(k.variable(&table).at(lane).load());
        let half = k.variable(&halves).at(lane & 1u32).load().cast::<f32>();
        let zero = k.variable(&zeros).at(lane).load().cast::<f32>();
        unsafe { p.at(lane).store(scratch.at(lane).load() * half + zero) };
    })
    .expect("it builds");
    let (words, _) = run::<_, 4>(&kernel, 4, &[]);
    assert_eq!(words.map(f32::from_bits), [4.5, 1.0, 0.75, -4.0]);
}

#[test]
fn prints_are_formatted_as_by_rust() {
    type Args = (Out<u32>, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64);
    let kernel = Kernel::<Args>::build("f", Target::SM_80, |k, (_, a, b, c, d, e, f, g, h, i, j)| {
        k.print("{} {} {} {} {} {}", (a, b, c, d, e, f));
        k.print("{:.3} {:.3} {:.3} {:.3}\n", (g, h, i, j));
        k.print("{{{:08x}}} {:+} {:X} {:9.2} 100%", (c, d, e, i));
        k.print("{} {} {} {} {}", (c.gt(0u32), d.gt(0), B16(0xab), B32(0xab), B64(0xab)));
        k.print("nothing", ());
        k.print("{} {}", (i, 1e-9f64));
    })
    .expect("it builds");
    let (a, b, c, d, e, f) = (7u16, -7i16, 0xdead_beefu32, -70000i32, u64::MAX, i64::MIN);
    let (g, h, i, j) = (f16::from_f32(1.5), bf16::from_f32(-2.5), 2.75f32, -1234.5678f64);
    let args: [sim::Arg; 10] =
        [a.into(), b.into(), c.into(), d.into(), e.into(), f.into(), g.into(), h.into(), i.into(), j.into()];
    let (_, printed) = run::<_, 1>(&kernel, 1, &args);
    assert_eq!(
        printed,
        [
            format!("{a} {b} {c} {d} {e} {f}"),
            format!("{g:.3} {h:.3} {i:.3} {j:.3}\n"),
            format!("{{{c:08x}}} {d:+} {e:X} {i:9.2} 100%"),
            "1 0 0x00ab 0x000000ab 0x00000000000000ab".into(),
            "nothing".into(),
            "2.75 1e-09".into(),
        ]
    );
}

#[test]
fn every_active_thread_prints() {
    let kernel = Kernel::<(Out<u32>,)>::build("f(p)", Target::SM_80, |k, _| {
        let lane = k.tid_x();
        k.if_(lane.ge(2u32), || k.for_(2u32, |i| k.print("{}.{} ", (lane, i))));
    })
    .expect("it builds");
    let (_, mut printed) = run::<_, 1>(&kernel, 4, &[]);
    printed.sort();
    assert_eq!(printed, ["2.0 ", "2.1 ", "3.0 ", "3.1 "]);
}
