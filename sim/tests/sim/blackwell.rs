//! Instructions of sm_100 and later.

use pretty_assertions::assert_eq;

use super::support::{one_block, parse};
use warpwright_sim::{Arg, Memory, Sim};

/// What `body` leaves in `%rd3` of each of 32 threads, given `%rd0` … `%rd2` of each.
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

/// Numbers of many magnitudes and signs.
fn numbers(seed: u64) -> impl FnMut() -> f32 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let magnitude =
            ((state >> 40) as f32 / 1e6).mul_add(1.0, 0.1) * 2f32.powi((state >> 33) as i32 % 20 - 10);
        if state >> 32 & 1 == 0 { magnitude } else { -magnitude }
    }
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
