//! Initial values of variables: nested lists, vectors, and bytes of addresses.

use super::support::{one_block, parse, words};
use warpwright_sim::{Arg, FindingKind, Memory, Module, Sim};

/// Returns a module with these variables, and others whose addresses they may contain.
fn module(variables: &str) -> String {
    format!(
        ".version 8.8\n.target sm_90a\n.address_size 64\n.global .u32 other[2];\n.shared .u32 tile;
        .func f() {{ ret; }}\n.visible .entry q() {{ ret; }}\n{variables}\n"
    )
}

/// Returns the initial contents of the variable `x`, and the address of `other`.
#[track_caller]
fn contents(variables: &str) -> (Vec<u8>, u64) {
    let module = parse(&module(variables));
    let mut memory = Memory::new();
    let address = memory.symbol(&module, "x").expect("declared");
    let (_, size) = memory.allocation(address).expect("allocated");
    let mut bytes = vec![0; size as usize];
    memory.read(address, &mut bytes).expect("in bounds");
    (bytes, memory.symbol(&module, "other").expect("declared"))
}

fn refusal(variables: &str) -> String {
    Module::parse(&module(variables)).expect_err(variables).message().to_string()
}

/// Lists are nested like the extents; missing values are zero (PTX ISA, "Initializers").
#[test]
fn lists_are_nested_like_extents() {
    let cases: [(&str, &[u32]); 8] = [
        ("x[2][2][2] = {{{1}, {2}}, {{3}, {4}}}", &[1, 0, 2, 0, 3, 0, 4, 0]),
        ("x[2][2][2] = {{{1, 2}, {3}}, {{4}}}", &[1, 2, 3, 0, 4, 0, 0, 0]),
        ("x[3][2] = {{1, 2}, {3}}", &[1, 2, 3, 0, 0, 0]),
        ("x[2][2] = {{}, {1}}", &[0, 0, 1, 0]),
        ("x[][2] = {{1}, {2}}", &[1, 0, 2, 0]),
        ("x[4] = {1}", &[1, 0, 0, 0]),
        ("x[0] = {}", &[]),
        ("x = 7", &[7]),
    ];
    for (declaration, expected) in cases {
        assert_eq!(words(&contents(&format!(".global .s32 {declaration};")).0), expected, "{declaration}");
    }
}

#[test]
fn vectors_are_complete_lists() {
    let cases: [(&str, &[u32]); 4] = [
        (".v2 .u32 x[2][2] = {{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}", &[1, 2, 3, 4, 5, 6, 7, 8]),
        (".v2 .u32 x[3][2] = {{{1, 2}}, {{3, 4}, {5, 6}}}", &[1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 0, 0]),
        (".v4 .u32 x[2] = {{1, 2, 3, 4}}", &[1, 2, 3, 4, 0, 0, 0, 0]),
        (".v2 .u32 x = {1, 2}", &[1, 2]),
    ];
    for (declaration, expected) in cases {
        assert_eq!(words(&contents(&format!(".const {declaration};")).0), expected, "{declaration}");
    }
}

/// ptxas rejects the same initializers.
#[test]
fn lists_of_other_shapes_are_refused() {
    let cases = [
        (".v4 .f32 x[2] = {{1.0}}", "expected 4 initial values of a vector of `x`, found 1"),
        (".u32 x[2][2] = {1, 2, 3}", "`x` has 3 initial values for 2 elements"),
        (".u32 x[2][2] = {1, 2}", "expected a list of 2 initial values of `x`, found `1`"),
        (".u32 x[2] = {{1}, {2}}", "expected an initial value of `x`, found a list"),
        (".u32 x[2][2] = {{1, 2, 3}}", "`x` has 3 initial values for 2 elements"),
        (".u32 x[2] = 1", "expected a list of 2 initial values of `x`, found `1`"),
        (".u32 x = {1}", "expected an initial value of `x`, found a list"),
    ];
    for (declaration, message) in cases {
        assert_eq!(refusal(&format!(".global {declaration};")), message, "{declaration}");
    }
}

#[test]
fn enormous_extents_next_to_an_extent_of_zero() {
    let extents = "[0][4294967295][4294967295][4294967295]";
    assert_eq!(contents(&format!(".global .u32 x{extents} = {{}};")).0.len(), 0);
    let shared = format!(".shared .b8 x{extents}; .shared .b8 y[200000]; .shared .b8 z[200000];");
    let entry = ".visible .entry k() { .reg .b32 %r; mov.u32 %r, x; mov.u32 %r, y; mov.u32 %r, z; ret; }";
    assert_eq!(refusal(&(shared + entry)), "400000 bytes of shared memory; a block has 232448");
}

/// A mask selects the byte that an element contains (PTX ISA, "Variables").
#[test]
fn bytes_of_addresses() {
    let masks: Vec<String> = (0..8).map(|i| format!("{:#x}", 0xff_u64 << (8 * i))).collect();
    let table = |of: &str| {
        let bytes: Vec<String> = masks.iter().map(|mask| format!("{mask}({of})")).collect();
        contents(&format!(".global .u8 x[8] = {{{}}};", bytes.join(", ")))
    };
    let (bytes, other) = table("other+260");
    assert_eq!(bytes, (other + 260).to_le_bytes());
    let (bytes, other) = table("generic(other)");
    assert_eq!(bytes, other.to_le_bytes());
    for function in ["f", "q"] {
        let (whole, _) = contents(&format!(".global .u64 x = {function};"));
        assert_eq!(table(function).0, whole);
        assert_ne!(whole, [0; 8]);
    }
    // 131187 is 0x20073.
    assert_eq!(table("131187").0, [0x73, 0, 2, 0, 0, 0, 0, 0]);
    assert_eq!(table("-2").0, [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(table("WARP_SZ").0, [32, 0, 0, 0, 0, 0, 0, 0]);
    // The byte in a wider element is extended with zeros.
    let (word, other) = contents(".global .u32 x = 0xFF0000000000(other);");
    assert_eq!(word, [other.to_le_bytes()[5], 0, 0, 0]);
}

#[test]
fn addresses_that_ptxas_rejects() {
    let cases = [
        (".u8 x = 0(other)", "expected a mask with the eight ones of a byte, found `0`"),
        (".u8 x = 0xF0(other)", "expected a mask with the eight ones of a byte, found `0xF0`"),
        (".u8 x = 0xFF0(131187)", "expected a mask with the eight ones of a byte, found `0xFF0`"),
        (".u8 x = 0xFF(1.0)", "an initial value is an integer"),
        (".u8 x = other", "expected a byte of an address such as `0xFF(other)` in `x`, found `other`"),
        (
            ".u16 x = 0xFF(other)",
            "expected type u8, u32 or u64 of `x`, which contains an address, found .u16",
        ),
        (".f64 x = other", "expected type u8, u32 or u64 of `x`, which contains an address, found .f64"),
        (".u64 x = f+8", "the initial value `f+8` of `x` is not an address that is known before a launch"),
        (".u64 x = tile", "the initial value `tile` of `x` is not an address that is known before a launch"),
        (".u64 x = missing", "`missing`, the initial value of `x`, is not declared"),
    ];
    for (declaration, message) in cases {
        assert_eq!(refusal(&format!(".global {declaration};")), message, "{declaration}");
    }
}

/// A table of functions whose addresses are stored by bytes.
#[test]
fn calls_through_bytes_of_addresses() {
    let call = |function: &str| {
        let bytes: Vec<String> = (0..8).map(|i| format!("{:#x}({function})", 0xff_u64 << (8 * i))).collect();
        let text = module(&format!(
            ".func (.reg .b32 r) g() {{ mov.u32 r, 5; ret; }}
            .global .align 8 .u8 table[8] = {{{}}};
            .visible .entry k(.param .u64 out) {{
                .reg .b64 %rd<3>; .reg .b32 %r; ld.param.u64 %rd0, [out]; ld.global.u64 %rd1, [table];
                p: .callprototype (.reg .b32 _) _ ();
                call (%r), %rd1, (), p; st.global.u32 [%rd0], %r; ret;
            }}",
            bytes.join(", ")
        ));
        let mut memory = Memory::new();
        let out = memory.alloc(4);
        Sim::new().launch(&parse(&text), "k", &one_block(1), &[Arg::from(out)], &mut memory).map(|_| {
            let mut bytes = [0; 4];
            memory.read(out, &mut bytes).expect("in bounds");
            u32::from_le_bytes(bytes)
        })
    };
    assert_eq!(call("g").expect("a function"), 5);
    assert_eq!(call("q").expect_err("a kernel").kind(), Some(FindingKind::InvalidAddress));
}
