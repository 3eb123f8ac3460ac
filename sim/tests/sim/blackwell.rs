//! Instructions of sm_100 and later.

use pretty_assertions::assert_eq;

use super::support::{one_block, parse};
use warpwright_sim::{Arg, Launch, Memory, Sim};

/// Returns the value of `%rd3` in each of 32 threads after `body`, given `%rd0` to `%rd2` of each.
fn pairs(body: &str, inputs: &[[u64; 3]; 32]) -> [u64; 32] {
    let text = format!(
        ".version 8.8\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p) {{
            .reg .b64 %rd<4>; .reg .b64 %a<4>; .reg .b32 %r<4>; .reg .f32 %f<4>;
            ld.param.u64 %a0, [p]; mov.u32 %r0, %tid.x; mad.wide.u32 %a1, %r0, 32, %a0;
            ld.global.b64 %rd0, [%a1]; ld.global.b64 %rd1, [%a1+8]; ld.global.b64 %rd2, [%a1+16];
            {body}
            st.global.b64 [%a1+24], %rd3; ret;
        }}"
    );
    let mut memory = Memory::new();
    let buffer = memory.alloc(32 * 32);
    let rows = inputs.iter().flat_map(|[a, b, c]| [*a, *b, *c, 0]);
    memory.write(buffer, &rows.flat_map(u64::to_le_bytes).collect::<Vec<_>>()).expect("in bounds");
    Sim::new()
        .launch(&parse(&text), "k", &one_block(32), &[Arg::from(buffer)], &mut memory)
        .unwrap_or_else(|error| panic!("{error}"))
        .assert_clean();
    let mut out = [0; 32 * 32];
    memory.read(buffer, &mut out).expect("in bounds");
    std::array::from_fn(|i| u64::from_le_bytes(out[32 * i + 24..32 * i + 32].try_into().expect("8 bytes")))
}

fn pair(low: f32, high: f32) -> u64 {
    u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32
}

/// Returns a generator of numbers of many magnitudes and of both signs.
fn numbers(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let magnitude =
            ((state >> 40) as f32 / 1e6).mul_add(1.0, 0.1) * 2f32.powi((state >> 33) as i32 % 20 - 10);
        if state >> 32 & 1 == 0 { magnitude } else { -magnitude }
    }
}

/// `add`, `sub` and `fma` of f32 with halves (PTX ISA, "Mixed Precision Floating-Point Instructions").
#[test]
fn halves_are_widened_before_they_are_added() {
    let mut next = numbers(2);
    // Both signs of zero, subnormal, normal and infinite halves.
    let halves: [u16; 32] =
        std::array::from_fn(|i| [0, 0x8000, 1, 0x83ff, 0x7bff, 0xfc00, 0x3c01][i % 7] ^ (i as u16 / 7) << 10);
    let singles: [f32; 32] = std::array::from_fn(|_| next());
    let inputs: [[u64; 3]; 32] =
        std::array::from_fn(|i| [halves[i].into(), halves[31 - i].into(), pair(singles[i], 0.0)]);
    let run = |instruction: &str| {
        let body = format!(
            ".reg .b16 %h<2>; cvt.u16.u64 %h0, %rd0; cvt.u16.u64 %h1, %rd1; cvt.u32.u64 %r1, %rd2; mov.b32 %f2, %r1;
             {instruction} mov.b32 %r2, %f3; cvt.u64.u32 %rd3, %r2;"
        );
        pairs(&body, &inputs)
    };
    let f16 = |bits: u16| half::f16::from_bits(bits).to_f32();
    let bf16 = |bits: u16| half::bf16::from_bits(bits).to_f32();
    let expected = |f: &dyn Fn(usize) -> f32| -> [u64; 32] {
        let canonical = |x: f32| if x.is_nan() { 0x7fff_ffff } else { x.to_bits() };
        std::array::from_fn(|i| canonical(f(i)).into())
    };
    assert_eq!(run("add.f32.f16 %f3, %h0, %f2;"), expected(&|i| f16(halves[i]) + singles[i]));
    assert_eq!(run("sub.rn.f32.bf16 %f3, %h0, %f2;"), expected(&|i| bf16(halves[i]) - singles[i]));
    assert_eq!(
        run("fma.rn.f32.f16 %f3, %h0, %h1, %f2;"),
        expected(&|i| f16(halves[i]).mul_add(f16(halves[31 - i]), singles[i]))
    );
    let clamped = |i: usize| match f16(halves[i]) + singles[i] {
        sum if sum.is_nan() => 0.0,
        sum => sum.clamp(0.0, 1.0) + 0.0,
    };
    assert_eq!(run("add.sat.f32.f16 %f3, %h0, %f2;"), expected(&clamped));
    // The sum of a half and a single of such magnitudes fits in a double.
    let toward_zero = |i: usize| {
        let (exact, near) = (f64::from(f16(halves[i])) + f64::from(singles[i]), f16(halves[i]) + singles[i]);
        if f64::from(near).abs() > exact.abs() { f32::from_bits(near.to_bits() - 1) } else { near }
    };
    assert_eq!(run("add.rz.f32.f16 %f3, %h0, %f2;"), expected(&toward_zero));
}

#[test]
fn halves_of_f32x2_are_computed_apart() {
    let mut next = numbers(1);
    let values: [[[f32; 2]; 3]; 32] = std::array::from_fn(|_| std::array::from_fn(|_| [next(), next()]));
    let inputs = values.map(|row| row.map(|[low, high]| pair(low, high)));
    let each =
        |f: fn([f32; 3]) -> f32| values.map(|[a, b, c]| pair(f([a[0], b[0], c[0]]), f([a[1], b[1], c[1]])));
    assert_eq!(pairs("add.rn.f32x2 %rd3, %rd0, %rd1;", &inputs), each(|[a, b, _]| a + b));
    assert_eq!(pairs("sub.f32x2 %rd3, %rd0, %rd1;", &inputs), each(|[a, b, _]| a - b));
    assert_eq!(pairs("mul.f32x2 %rd3, %rd0, %rd1;", &inputs), each(|[a, b, _]| a * b));
    assert_eq!(pairs("fma.rn.f32x2 %rd3, %rd0, %rd1, %rd2;", &inputs), each(|[a, b, c]| a.mul_add(b, c)));
    // Toward zero: the exact sum of singles of such magnitudes fits in a double.
    let toward_zero = |[a, b, _]: [f32; 3]| {
        let (exact, near) = (f64::from(a) + f64::from(b), a + b);
        if f64::from(near).abs() > exact.abs() { f32::from_bits(near.to_bits() - 1) } else { near }
    };
    assert_eq!(pairs("add.rz.f32x2 %rd3, %rd0, %rd1;", &inputs), each(toward_zero));
}

#[test]
fn products_and_sums_of_f32x2_are_fused_even_if_rounded() {
    let mut next = numbers(2);
    let values: [[[f32; 2]; 3]; 32] = std::array::from_fn(|_| std::array::from_fn(|_| [next(), next()]));
    let inputs = values.map(|row| row.map(|[low, high]| pair(low, high)));
    let fused = values.map(|[a, b, c]| pair(a[0].mul_add(b[0], c[0]), a[1].mul_add(b[1], c[1])));
    let apart = values.map(|[a, b, c]| pair(a[0] * b[0] + c[0], a[1] * b[1] + c[1]));
    assert_ne!(fused, apart);
    let body = |round: &str, ftz: &str| {
        format!("mul{round}{ftz}.f32x2 %rd3, %rd0, %rd1; add{round}.f32x2 %rd3, %rd3, %rd2;")
    };
    assert_eq!(pairs(&body("", ""), &inputs), fused);
    assert_eq!(pairs(&body(".rn", ""), &inputs), fused);
    assert_eq!(pairs(&body(".rn", ".ftz"), &inputs), apart);
}

#[test]
fn f32x2_flushes_on_demand() {
    let tiny = f32::from_bits(3);
    let inputs = [[pair(tiny, 1.0), pair(tiny, tiny), 0]; 32];
    assert_eq!(pairs("add.rn.f32x2 %rd3, %rd0, %rd1;", &inputs)[0], pair(f32::from_bits(6), 1.0));
    assert_eq!(pairs("add.rn.ftz.f32x2 %rd3, %rd0, %rd1;", &inputs)[0], pair(0.0, 1.0));
}

#[test]
fn redux_of_f32() {
    let reduced = |op: &str, values: [f32; 32]| {
        let inputs = values.map(|value| [pair(value, 0.0), 0, 0]);
        let body = format!(
            "cvt.u32.u64 %r1, %rd0; mov.b32 %f0, %r1; redux.sync.{op}.f32 %f1, %f0, -1;
            mov.b32 %r2, %f1; cvt.u64.u32 %rd3, %r2;"
        );
        let out = pairs(&body, &inputs);
        assert!(out.iter().all(|value| *value == out[0]), "{op}");
        out[0] as u32
    };
    let mut values: [f32; 32] = std::array::from_fn(|i| i as f32 - 20.5);
    assert_eq!(reduced("min", values), (-20.5f32).to_bits());
    assert_eq!(reduced("max", values), 10.5f32.to_bits());
    assert_eq!(reduced("min.abs", values), 0.5f32.to_bits());
    assert_eq!(reduced("max.abs", values), 20.5f32.to_bits());
    values[3] = f32::NAN;
    assert_eq!(reduced("max", values), 10.5f32.to_bits());
    assert_eq!(reduced("max.NaN", values), 0x7fff_ffff);
    assert_eq!(reduced("max.abs.NaN", values), 0x7fff_ffff);
    assert_eq!(reduced("min", [f32::from_bits(0xffc0_1234); 32]), 0x7fff_ffff);
    let zeros: [f32; 32] = std::array::from_fn(|i| if i % 2 == 0 { 0.0 } else { -0.0 });
    assert_eq!((reduced("min", zeros), reduced("max", zeros)), ((-0.0f32).to_bits(), 0));
}

/// Returns the results of `cvt.rs` of numbers in each lane, with random bits.
fn stochastic(form: &str, [a, b, e, f]: [f32; 4], random: u32) -> u32 {
    let inputs = [[pair(a, b), pair(e, f), random.into()]; 32];
    let body = format!(
        ".reg .b16 %h<2>; mov.b64 {{%f0, %f1}}, %rd0; mov.b64 {{%f2, %f3}}, %rd1; cvt.u32.u64 %r1, %rd2;
        mov.b32 %r2, 0; {form}; cvt.u64.u32 %rd3, %r2;"
    );
    pairs(&body, &inputs)[0] as u32
}

#[test]
fn random_bits_round_up_or_down() {
    let halves =
        |x: f32, y: f32, random| stochastic("cvt.rs.f16x2.f32 %r2, %f0, %f1, %r1", [x, y, 0.0, 0.0], random);
    // One unit of f16 above 1 is 2^-10: a quarter of it is rounded up by the upper quarter of 13 random bits.
    let x = 1.0 + 2f32.powi(-12);
    assert_eq!(halves(x, x, 0x17ff_17ff), 0x3c00_3c00);
    assert_eq!(halves(x, x, 0x1800_17ff), 0x3c01_3c00);
    assert_eq!(halves(x, -x, 0xe000_1800), 0x3c00_bc01);
    // A subnormal number, and one below the smallest subnormal number.
    assert_eq!(halves(2f32.powi(-24), 2f32.powi(-25), 0x0fff), 0x0001_0000);
    assert_eq!(halves(2f32.powi(-24), 2f32.powi(-25), 0x1000), 0x0001_0001);
    assert_eq!(halves(1e9, f32::NEG_INFINITY, 0), 0x7bff_fbff);
    assert_eq!(halves(f32::NAN, -0.0, 0), 0x7fff_8000);

    let bf16s =
        |x: f32, random| stochastic("cvt.rs.relu.bf16x2.f32 %r2, %f0, %f1, %r1", [x, -x, 0.0, 0.0], random);
    assert_eq!(bf16s(f32::from_bits(0x3f80_0001), 0xfffe_ffff), 0x3f80_0000);
    assert_eq!(bf16s(f32::from_bits(0x3f80_0001), 0xffff_ffff), 0x3f81_0000);
}

#[test]
fn four_numbers_share_two_halves_of_the_random_bits() {
    let bytes = |numbers, random| {
        stochastic("cvt.rs.satfinite.e4m3x4.f32 %r2, {%f0, %f1, %f2, %f3}, %r1", numbers, random)
            .to_be_bytes()
    };
    // Half a unit: one random bit decides. It is the highest bit of a half or, for the first and the third number, the lowest.
    let x = 1.0 + 1.0 / 16.0;
    assert_eq!(bytes([x; 4], 0), [0x38; 4]);
    assert_eq!(bytes([x; 4], 0x0001_0000), [0x39, 0x38, 0x38, 0x38]);
    assert_eq!(bytes([x; 4], 0x8000_0000), [0x38, 0x39, 0x38, 0x38]);
    assert_eq!(bytes([x; 4], 0x0000_0001), [0x38, 0x38, 0x39, 0x38]);
    assert_eq!(bytes([x; 4], 0x0000_8000), [0x38, 0x38, 0x38, 0x39]);
    assert_eq!(bytes([1e6, f32::NEG_INFINITY, f32::NAN, 0.0], 0), [0x7e, 0xfe, 0x7f, 0]);

    let nibbles = "cvt.rs.satfinite.e2m1x4.f32 %h1, {%f0, %f1, %f2, %f3}, %r1; cvt.u32.u16 %r2, %h1";
    assert_eq!(stochastic(nibbles, [0.5, -1.0, 100.0, 6.0], 0), 0x1a77);
}

#[test]
fn floats_of_four_and_six_bits_convert_both_ways() {
    let inputs: [[u64; 3]; 32] = std::array::from_fn(|i| [i as u64 * 0x0101, 0, 0]);
    let there_and_back = |ty: &str, bits: u32| {
        let body = format!(
            ".reg .b{bits} %c<2>; .reg .b16 %h<3>; cvt.u{bits}.u64 %c0, %rd0;
            cvt.rn.f16x2.{ty}x2 %r2, %c0; mov.b32 {{%h1, %h2}}, %r2; cvt.f32.f16 %f0, %h1; cvt.f32.f16 %f1, %h2;
            cvt.rn.satfinite.{ty}x2.f32 %c1, %f1, %f0; cvt.u64.u{bits} %rd3, %c1;"
        );
        pairs(&body, &inputs)
    };
    for ty in ["e2m3", "e3m2"] {
        assert_eq!(there_and_back(ty, 16), inputs.map(|[x, ..]| x));
    }
    assert_eq!(there_and_back("e2m1", 8), inputs.map(|[x, ..]| x & 0xff));
}

/// Persistent blocks: each block takes over blocks that have not started until none remain, and counts the index of each block.
const WORK_STEALING: &str =
    ".version 8.6\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 p) {
    .reg .b64 %rd<4>; .reg .b32 %r<12>; .reg .pred %p<4>; .reg .b128 %q;
    .shared .align 16 .b8 response[16]; .shared .align 8 .b64 barrier;
    ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 0; mov.u32 %r9, 0;
    mov.u32 %r5, %ctaid.x; mov.u32 %r6, %ctaid.y;
    @%p0 mbarrier.init.shared.b64 [barrier], 1;
    bar.sync 0;
work:
    @!%p0 bra wait;
    mbarrier.arrive.expect_tx.shared.b64 %rd3, [barrier], 16;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [response], [barrier];
    mad.lo.u32 %r1, %r6, 20, %r5; mad.wide.u32 %rd1, %r1, 4, %rd0;
    atom.global.add.u32 %r2, [%rd1], 1;
wait:
    mbarrier.try_wait.parity.shared.b64 %p1, [barrier], %r9;
    @!%p1 bra wait;
    xor.b32 %r9, %r9, 1;
    ld.shared.b128 %q, [response];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r5, %r7, %r8, _}, %q;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 %r6, %q;
    fence.proxy.async.shared::cta;
    bar.sync 0;
    @%p2 bra work;
    ret;
}";

#[test]
fn canceled_blocks_do_not_start() {
    for seed in [None, Some(1), Some(2)] {
        let mut memory = Memory::new();
        let counts = memory.alloc(400 * 4);
        // More blocks than can be resident at a time.
        let launch = Launch { grid: [20, 20, 1], ..one_block(1024) };
        let sim = match seed {
            Some(seed) => Sim::new().seed(seed),
            None => Sim::new(),
        };
        let report = sim
            .launch(&parse(WORK_STEALING), "k", &launch, &[Arg::from(counts)], &mut memory)
            .unwrap_or_else(|error| panic!("{error}"));
        report.assert_clean();
        let mut out = [0; 400 * 4];
        memory.read(counts, &mut out).expect("in bounds");
        // Each block's work is done once, although fewer blocks have started.
        assert_eq!(out.chunks(4).map(|word| word[0]).collect::<Vec<_>>(), [1; 400]);
        let starts = report.lines.iter().find(|line| line.mnemonic.starts_with("mbarrier.init"));
        let started = starts.expect("counted").counts.thread_instructions;
        assert!((1..400).contains(&started), "{started} blocks have started");
    }
}
