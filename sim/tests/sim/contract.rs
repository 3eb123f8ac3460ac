//! Products and sums without rounding modifiers: which pairs are contracted, and their results.

use super::support::{kernel, one_block, parse, run_on};
use pretty_assertions::assert_eq;
use warpwright_sim::{Arg, Contract, Contraction, Memory, Sim};

/// The code that ptxas generates for some bodies.
const RECORDED: &str = include_str!("../data/contracted.tsv");

const DECLARATIONS: &str = ".reg .f32 %f<64>; .reg .f64 %d<64>; .reg .b16 %h<64>; .reg .b32 %r<64>; .reg .b64 %rd<16>; .reg .pred %p<16>;
ld.param.u64 %rd1, [p]; ld.param.u32 %r60, [n]; mov.u32 %r9, 0; mov.u32 %r10, 0;
ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd1]; ld.global.f32 %f4, [%rd1+16];
ld.global.v2.f64 {%d0, %d1}, [%rd1]; ld.global.v2.f64 {%d2, %d3}, [%rd1+16];
ld.global.v4.b16 {%h0, %h1, %h2, %h3}, [%rd1]; ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd1];
setp.gt.u32 %p0, %r60, 5;";

#[test]
fn contraction_matches_ptxas() {
    let mut contracted = 0;
    for case in RECORDED.lines().filter(|line| !line.starts_with('#')) {
        let (body, wanted) = case.split_once('\t').expect("two columns");
        let lines: Vec<String> = body
            .split(" | ")
            .map(
                |statement| if statement.ends_with(':') { statement.into() } else { format!("{statement};") },
            )
            .collect();
        let text =
            kernel(".param .u64 p, .param .u32 n", &format!("{DECLARATIONS}\n{}\nret;", lines.join("\n")));
        let first = text.lines().position(|line| line == lines[0]).expect("the body is in the text") as u32;
        let mut memory = Memory::new();
        let buffer = memory.alloc(1024);
        let args = [Arg::from(buffer), Arg::from(7u32)];
        let report = Sim::new()
            .launch(&parse(&text), "k", &one_block(1), &args, &mut memory)
            .unwrap_or_else(|e| panic!("{body}\n{e}"));
        let mut found: Vec<String> = vec![];
        for Contraction { product, sum } in report.contractions {
            found.push(format!("{}+{}", product - first, sum - first));
        }
        let mut wanted: Vec<String> = wanted.split_whitespace().map(String::from).collect();
        contracted += wanted.len();
        found.sort();
        wanted.sort();
        assert_eq!(found, wanted, "{}", lines.join("\n"));
    }
    assert!(contracted > 300, "{contracted}");
}

/// Returns the first of the words that a body leaves in `%r9`, given words in `%r0` to `%r3`.
fn result(contract: Contract, body: &str, input: [u32; 4]) -> u32 {
    let text = kernel(
        ".param .u64 to, .param .u64 from",
        &format!(
            ".reg .b32 %r<16>; .reg .b64 %rd<3>; .reg .f32 %f<16>; .reg .pred %p<2>;
            ld.param.u64 %rd1, [to]; ld.param.u64 %rd2, [from]; ld.global.v4.b32 {{%r0, %r1, %r2, %r3}}, [%rd2];
            {body}
            st.global.b32 [%rd1], %r9; ret;"
        ),
    );
    run_on(&Sim::new().contract(contract), &text, &one_block(1), &input, 1).expect("runs").0[0]
}

/// 1 + 2⁻¹², whose square does not have a significand of 24 bits.
const A: f32 = 1.000_244_1;

#[test]
fn a_contracted_sum_is_rounded_once() {
    let input = [A, A, 0.25, 3.0].map(f32::to_bits);
    let square = A * A;
    for (sum, once, twice) in [
        ("sub.f32 %r9, %r4, %r5", A.mul_add(A, -square), 0.0),
        ("sub.f32 %r9, %r5, %r4", (-A).mul_add(A, square), 0.0),
        ("neg.f32 %r4, %r4; add.f32 %r9, %r4, %r5", (-A).mul_add(A, square), 0.0),
        ("neg.f32 %r4, %r4; sub.f32 %r9, %r4, %r2", (-A).mul_add(A, -0.25), -square - 0.25),
        ("add.ftz.sat.f32 %r9, %r4, %r2", 1.0, 1.0),
    ] {
        let product = if sum.contains("ftz") { "mul.ftz.f32" } else { "mul.f32" };
        // The rounded product is in `%r5`.
        let body = format!("mul.rn.f32 %r5, %r0, %r1; {product} %r4, %r0, %r1; {sum};");
        assert_eq!(result(Contract::Ptxas, &body, input), once.to_bits(), "{sum}");
        assert_eq!(result(Contract::Never, &body, input), f32::to_bits(twice), "{sum}");
    }
    assert!(A.mul_add(A, -square) != 0.0);
}

#[test]
fn factors_outlive_their_registers() {
    // The sum comes after both factors were overwritten, as in a loop that loads the next ones.
    let body = "mul.rn.f32 %r5, %r0, %r1; mul.f32 %r4, %r0, %r1; mov.f32 %r0, %r3; mov.f32 %r1, %r3; sub.f32 %r9, %r4, %r5;";
    let input = [A, A, 0.0, 3.0].map(f32::to_bits);
    assert_eq!(result(Contract::Ptxas, body, input), A.mul_add(A, -(A * A)).to_bits());
    assert_eq!(result(Contract::Never, body, input), 0);
}

#[test]
fn halves_are_contracted_each() {
    // 1 + 2⁻¹⁰, and its square less what it rounds to: 2⁻²⁰.
    let body = "mul.rn.f16x2 %r5, %r0, %r1; mul.f16x2 %r4, %r0, %r1; sub.f16x2 %r9, %r4, %r5;";
    let input = [0x3c01_3c01, 0x3c01_3c00, 0, 0];
    assert_eq!(result(Contract::Ptxas, body, input), 0x0010_0000);
    assert_eq!(result(Contract::Never, body, input), 0);
}

#[test]
fn the_report_lists_contracted_instructions() {
    let text = kernel(
        ".param .u64 to, .param .u64 from",
        ".reg .f32 %f<9>; .reg .b64 %rd<3>;
        ld.param.u64 %rd1, [to];
        ld.param.u64 %rd2, [from];
        ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%rd2];
        mul.f32 %f4, %f0, %f1;
        add.f32 %f5, %f4, %f2;
        st.global.f32 [%rd1], %f5; ret;",
    );
    let report = |contract| {
        let sim = Sim::new().contract(contract);
        run_on(&sim, &text, &one_block(1), &[0; 4], 1).expect("runs").1.contractions
    };
    assert_eq!(report(Contract::Ptxas), [Contraction { product: 10, sum: 11 }]);
    assert_eq!(report(Contract::Never), []);
}
