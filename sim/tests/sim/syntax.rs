//! Parsing: the texts that are rejected, with their positions, and printing of parsed texts.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use std::path::Path;

use super::support::{kernel, parse};
use warpwright_sim::Module;

/// Returns the whole message for a kernel body that is rejected.
fn refusal(body: &str) -> String {
    Module::parse(&kernel(".param .u64 out", body)).expect_err("refused").to_string()
}

/// Returns the first line of the message.
fn reason(body: &str) -> String {
    refusal(body).lines().next().unwrap_or_default().to_string()
}

#[test]
fn an_unknown_instruction_is_shown_with_a_caret_under_all_of_it() {
    let text = refusal("    .reg .b32 %r<2>;\n    frobnicate.u32 %r1, %r0;");
    let want = "\
unknown instruction `frobnicate.u32`
 --> kernel.ptx:7:5
  |
7 |     frobnicate.u32 %r1, %r0;
  |     ^^^^^^^^^^^^^^";
    assert_eq!(text, want);
}

#[test]
fn tabs_do_not_shift_the_caret() {
    let text = refusal("\t.reg .b32 %r<2>;\n\tadd.u32 \t%r1, %x, 1;");
    let want = "\
`%x` is not declared
 --> kernel.ptx:7:16
  |
7 | \tadd.u32 \t%r1, %x, 1;
  | \t        \t     ^^";
    assert_eq!(text, want);
}

#[test]
fn a_syntax_error_names_what_was_expected() {
    let text = refusal("    .reg .b32 %r<2>;\n    add.u32 %r1 %r0, 1;");
    let want = "\
expected `,` or `;`, found `%r0`
 --> kernel.ptx:7:17
  |
7 |     add.u32 %r1 %r0, 1;
  |                 ^^^";
    assert_eq!(text, want);
}

#[test]
fn positions_are_numbers_too() {
    let error = Module::parse(".version 7.0\n.target sm_80\n.frob x;\n").expect_err("refused");
    assert_eq!((error.line(), error.column()), (3, 1));
    assert_eq!(error.message(), "unknown directive `.frob`");
}

#[test]
fn errors_are_found_before_the_launch() {
    let regs = ".reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .pred %p<4>; .reg .b16 %h<4>;";
    let cases = [
        ("add.u32 %r1, %r0;", "`add.u32` takes 3 operands, found 2"),
        ("add.u32 %r1, %f0, 1;", "`add.u32` requires a .u32 register here, found `%f0` of type .f32"),
        ("add.u32 %rd1, %r0, 1;", "`add.u32` requires a .u32 register here, found `%rd1` of type .b64"),
        ("add.u32 %r4, %r0, 1;", "`%r4` is not declared"),
        ("add.u32 %r01, %r0, 1;", "`%r01` is not declared"),
        ("add.q32 %r1, %r0, 1;", "`.q32` does not belong in `add.q32`"),
        ("add.sat.u32 %r1, %r0, 1;", "`.sat` does not belong in `add.sat.u32`"),
        ("add.rn.rz.f32 %f1, %f0, %f0;", "`.rz` does not belong in `add.rn.rz.f32`"),
        ("fma.f32 %f1, %f0, %f0, %f0;", "`fma.f32` requires a rounding such as `.rn`"),
        ("mov.u32 5, %r0;", "expected a register, found `5`"),
        ("bra NOWHERE;", "there is no label `NOWHERE` here"),
        ("@%r0 bra L; L:", "a guard is a predicate; `%r0` is a .b32 register"),
        ("@%q bra L; L:", "`%q` is not declared"),
        ("setp.lo.s32 %p0, %r0, 1;", "`setp.lo.s32` does not compare .s32"),
        ("ld.global.v4.u64 %rd0, [%rd1];", "expected 4 registers here, found 1"),
        ("ld.shared.u32 %r0, [out];", "`out` is in param space, not in shared"),
        ("st.const.u32 [%rd0], %r0;", "constant space is read only"),
        ("cp.async.cg.shared.global [%r0], [%rd0], 8;", "`.cg` copies 16 bytes, not 8"),
        ("call missing, ();", "there is no function `missing`"),
        ("L: L:", "`L` is declared twice"),
        (".reg .b32 %r<2>;", "registers `%r<…>` are declared twice"),
        (".reg .b33 %x;", "unknown register type `.b33`"),
        (
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f0,%f1,%f2,%f3}, {%r0,%r1}, {%r0,%r1}, {%f0,%f1,%f2,%f3};",
            "expected 4 registers here, found 2",
        ),
        ("add.f32 %f0, %f1, 0f3F80;", "`0f` requires exactly 8 hexadecimal digits"),
        (
            "add.u32 %r0, %r1, 99999999999999999999;",
            "`99999999999999999999` is not an integer constant of up to 64 bits",
        ),
        (".shared .b8 x[1<<40];", "`x` is larger than 4294967296 bytes"),
        (".shared .b8 x[300000];", "`x` takes 300000 bytes of shared memory; a block has 232448"),
        (".local .b8 x[1000000];", "local variables take more than 524288 bytes of a thread"),
        ("/* open", "this comment is never closed"),
    ];
    let got = cases.map(|(body, _)| (body, reason(&format!("{regs}\n{body}"))));
    assert_eq!(got, cases.map(|(body, want)| (body, want.to_string())));
}

#[test]
fn unreachable_functions_are_checked_too() {
    let text = ".version 7.0\n.target sm_80\n.address_size 64\n.func f() { frob; }\n";
    let error = Module::parse(text).expect_err("refused");
    assert_eq!(error.message(), "unknown instruction `frob`");
}

#[test]
fn deep_nesting_is_refused() {
    let body = format!("{}{}", "{".repeat(5000), "}".repeat(5000));
    assert_eq!(reason(&body), "nested more than 64 levels deep");
    let sum = format!(".global .u32 x = {}1{};", "(".repeat(5000), ")".repeat(5000));
    assert!(Module::parse(&format!(".version 7.0\n.target sm_80\n{sum}")).is_err());
    let minus = format!(".global .u32 x = {}1;", "-".repeat(5000));
    assert!(Module::parse(&format!(".version 7.0\n.target sm_80\n{minus}")).is_err());
}

#[test]
fn constants_are_folded() {
    let text = kernel(
        ".param .u64 out",
        ".shared .b8 x[4*(2+6)]; .reg .b32 %r<2>; mov.u32 %r0, 1 << 4 | 3; mov.u32 %r1, x+2*4; add.u32 %r1, %r0, -(-5);",
    );
    let printed = parse(&text).ast().to_string();
    assert!(printed.contains(".b8 x[32];"), "{printed}");
    assert!(printed.contains("mov.u32 %r0, 19;"), "{printed}");
    assert!(printed.contains("mov.u32 %r1, x+8;"), "{printed}");
    assert!(printed.contains("add.u32 %r1, %r0, 5;"), "{printed}");
}

/// The values are those of ptxas 13.0.
#[test]
fn constant_expressions_are_signed_or_unsigned() {
    let cases = [
        ("~0>>1", i128::from(i64::MAX)),
        ("~0/2", i64::MAX.into()),
        ("-1>>1U", -1),
        ("(-64<<1)/4", -32),
        ("-1/2", 0),
        ("-1<0", 1),
        ("-1<0U", 0),
        ("~0<0", 0),
        ("0xFFFFFFFFFFFFFFFF/2", i64::MAX.into()),
        ("(-1+0U)>>1", i64::MAX.into()),
        ("-5/2", -2),
        ("-5/2U", 0x7ffffffffffffffd),
        ("~0xFFFFFFFFFFFFFFFF", 0),
        ("(1?-1:0U)/2", 0),
        ("(-1 & 1U)-2 < 0", 0),
        ("(-1 & -1) < 0", 1),
        ("(1U==1U)-2 < 0", 1),
        ("(!1U)-1 < 0", 1),
        ("(.s64)0xFFFFFFFFFFFFFFFF>>1", -1),
        ("(.u64)-1>>1", i64::MAX.into()),
        ("1<<65", 2),
        ("-9223372036854775808/-1", 0),
        ("0x7FFFFFFFFFFFFFFF+1 < 0", 1),
        ("7 % 3", 1),
        ("7%(3)", 1),
        ("(-5)%(3)", 2),
        ("((5 % 3)-3) < 0", 0),
        ("1.0 < 2.0", 1),
    ];
    let printed = |value: &str| {
        parse(&kernel("", &format!(".reg .b64 %rd<2>; mov.u64 %rd0, {value};"))).ast().to_string()
    };
    for (expression, want) in cases {
        let found = printed(expression);
        assert!(found.contains(&format!("mov.u64 %rd0, {want};")), "{expression} = {want}: {found}");
    }
    let text = |body: &str| {
        parse(&kernel("", &format!(".reg .f64 %fd<2>; .reg .b64 %rd<2>; .reg .b32 %r<2>; {body}")))
    };
    let doubles = text("mov.f64 %fd0, (1.0+2.0)*3.0-1.0/4.0;").ast().to_string();
    assert!(doubles.contains(&format!("0d{:016X}", 8.75f64.to_bits())), "{doubles}");
    let offsets = text("ld.global.u32 %r0, [%rd0+(-1<<4)]; ld.global.u32 %r0, [%rd0+~15];").ast().to_string();
    assert_eq!(offsets.matches("[%rd0-16]").count() + offsets.matches("[%rd0+-16]").count(), 2, "{offsets}");
    for invalid in ["5/0", "7 %3", "1.0+2", "1.0/0.0", "1.5 ? 5 : 7", "0f3F800000+0f3F800000", "1.0 && 1.0"] {
        let body = format!(".reg .b64 %rd<2>; mov.u64 %rd0, {invalid};");
        assert!(Module::parse(&kernel("", &body)).is_err(), "{invalid}");
    }
}

#[test]
fn rare_declarations_and_operands_parse() {
    let text = ".version 9.0\n.target sm_90a\n.address_size 64\n
        .global .texref t = { width = 4, channel_data_type = 3, normalized_coords = 1 };
        .global .surfref u = { width = 4 };
        .global .samplerref s = { addr_mode_0 = clamp_to_border, filter_mode = nearest };
        .global .attribute(.unified(0xAB, 0xCD)) .f32 f;
        .func g() { .local .align 16 .b8 lo[64]; prefetch.local.L1 [lo]; ret; }
        .visible .entry k(.param .align 64 .b8 map[128]) {
            .reg .f32 %f<2>;
            q: .callprototype _ (.param .b32 a) .noreturn .abi_preserve 8;
            prefetch.param.tensormap [map]; ld.global.f32 %f0, [f].unified; call g; ret;
        }\n";
    let module = parse(text);
    assert!(module.ast().to_string().contains(".noreturn .abi_preserve 8;"));
    for (good, bad) in
        [("nearest }", "}"), ("abi_preserve 8", "abi_preserve"), ("prefetch.param", "prefetch")]
    {
        assert!(Module::parse(&text.replacen(good, bad, 1)).is_err(), "{bad}");
    }
}

#[test]
fn a_module_answers_questions_about_its_kernels() {
    let text = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .shared .align 16 .b8 dyn[];\n\
        .visible .entry k(.param .u64 p, .param .align 8 .b8 q[24], .param .f32 r)\n.reqntid 128, 2\n.maxnreg 64\n\
        .reqnctapercluster 2\n{\n.reg .b32 %r<7>;\n.reg .pred %p;\n.shared .align 16 .b8 s[100];\n\
        mov.u32 %r0, s;\nadd.u32 %r1, %r0, 1;\nadd.u32 %r1, %r1, 1;\nret;\n}\n";
    let module = parse(text);
    let k = module.entry("k").expect("a kernel");
    assert_eq!(module.entries().map(|e| e.name().to_string()).collect::<Vec<_>>(), ["k"]);
    let params: Vec<_> = k.params().into_iter().map(|p| (p.name, p.ty, p.size)).collect();
    let want = [("p", "u64", 8), ("q", "b8[24]", 24), ("r", "f32", 4)];
    assert_eq!(params, want.map(|(name, ty, size)| (name.to_string(), ty.to_string(), size)));
    assert_eq!(k.reqntid(), Some([128, 2, 1]));
    assert_eq!(k.reqnctapercluster(), Some([2, 1, 1]));
    assert_eq!(k.directive("maxnreg"), Some(&[64][..]));
    assert_eq!(k.static_shared_bytes(), 100);
    assert_eq!(k.declared_registers()["b32"], 7);
    assert_eq!(k.instruction_counts()["add.u32"], 2);
    assert_eq!(k.instructions().next(), Some(("mov.u32".to_string(), 13)));
    assert!(module.entry("missing").is_none());
}

/// Returns every kernel of the corpus as text.
pub(super) fn corpus() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus");
    let mut texts: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path().join("kernel.ptx"))
        .map(|path| (path.display().to_string(), std::fs::read_to_string(path).expect("PTX")))
        .collect();
    texts.sort();
    texts
}

#[test]
fn compilers_modules_print_and_parse_to_the_same_tree() {
    for (name, text) in corpus() {
        let first = Module::parse(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        let printed = first.ast().to_string();
        let second = Module::parse(&printed).unwrap_or_else(|e| panic!("{name}, printed: {e}"));
        assert!(first.ast() == second.ast(), "{name} changes when printed and parsed");
    }
}

fn operand() -> impl Strategy<Value = String> {
    let register = (0u32..4).prop_map(|i| format!("%r{i}"));
    prop_oneof![
        register,
        any::<i32>().prop_map(|i| i.to_string()),
        any::<u32>().prop_map(|i| format!("{i:#x}")),
        Just("WARP_SZ".to_string()),
    ]
}

fn statement() -> impl Strategy<Value = String> {
    let guard = prop_oneof![Just(""), Just("@%p0 "), Just("@!%p1 ")];
    let opcode =
        prop::sample::select(vec!["add.u32", "sub.s32", "and.b32", "mul.lo.s32", "shl.b32", "min.u32"]);
    let plain = (guard, opcode, 0u32..4, operand(), operand())
        .prop_map(|(guard, opcode, d, a, b)| format!("{guard}{opcode} %r{d}, {a}, {b};"));
    prop_oneof![
        plain,
        (0u32..4, -64i32..64).prop_map(|(d, offset)| format!("ld.shared.u32 %r{d}, [%r0+{offset}];")),
        (operand(), 0u32..4).prop_map(|(a, d)| format!("setp.lt.u32 %p{d}|%p0, {a}, %r1;")),
        any::<u32>().prop_map(|bits| format!("mov.f32 %f0, 0f{bits:08X};")),
        Just("mov.b64 %rd0, {%r0, %r1};".to_string()),
        Just(".loc 1 12 3, function_name L, inlined_at 1 4 5".to_string()),
        Just(".pragma \"nounroll\";".to_string()),
    ]
}

proptest! {
    #[test]
    fn printed_modules_parse_to_the_same_tree(body in prop::collection::vec(statement(), 0..20), nested in any::<bool>()) {
        let mut inner = body.join("\n");
        if nested {
            inner = format!("{{ .reg .b32 inner; mov.u32 inner, 1;\n{inner}\n}}");
        }
        let regs = ".reg .b32 %r<4>; .reg .f32 %f<4>; .reg .b64 %rd<4>; .reg .pred %p<4>;\nL:";
        let first = parse(&kernel(".param .u64 out", &format!("{regs}\n{inner}\n@%p1 bra L;")));
        let second = parse(&first.ast().to_string());
        prop_assert_eq!(first.ast(), second.ast());
    }
}
