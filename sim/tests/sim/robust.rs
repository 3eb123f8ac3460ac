//! Damaged text is rejected or runs; the simulator never panics or hangs.

use proptest::prelude::*;

use std::time::{Duration, Instant};

use super::mutate::{SplitMix, exchange, kernels, mutate, number, vocabulary};
use super::support::kernel;
use warpwright_sim::{Arg, Launch, Memory, Module, Sim, validate};

/// Returns a text that contains most kinds of statements.
fn base() -> String {
    kernel(
        ".param .u64 out, .param .u64 in",
        "    .reg .pred %p<4>;\n    .reg .b32 %r<16>;\n    .reg .f32 %f<8>;\n    .reg .b64 %rd<8>;\n    .reg .b16 %h<4>;
    .shared .align 16 .b8 tile[512];
    .local .align 8 .b8 stack[32];
    ld.param.u64 %rd0, [out];
    ld.param.u64 %rd1, [in];
    mov.u32 %r0, %tid.x;
    mul.wide.u32 %rd2, %r0, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r1, [%rd3];
    setp.lt.u32 %p0, %r0, 16;
    @%p0 add.u32 %r1, %r1, 7;
    mov.u32 %r2, tile;
    mad.lo.u32 %r3, %r0, 4, %r2;
    st.shared.u32 [%r3], %r1;
    bar.sync 0;
    shfl.sync.bfly.b32 %r4|%p1, %r1, 1, 31, -1;
    mov.u32 %r5, 0;
LOOP:
    add.u32 %r5, %r5, 1;
    cvt.rn.f32.u32 %f0, %r5;
    fma.rn.f32 %f1, %f0, %f0, 0f3F800000;
    setp.ne.u32 %p2, %r5, 10;
    @%p2 bra LOOP;
    cp.async.ca.shared.global [%r3], [%rd3], 4;
    cp.async.commit_group;
    cp.async.wait_group 0;
    bar.sync 0;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r6}, [%r2];
    mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f2,%f3,%f4,%f5}, {%r1,%r1,%r1,%r1}, {%r1,%r1}, {%f1,%f1,%f1,%f1};
    bar.sync 0;
    atom.shared.add.u32 %r7, [%r2], 1;
    prmt.b32 %r8, %r1, %r4, 0x3210;
    lop3.b32 %r9, %r1, %r4, %r5, 0x96;
    add.s64 %rd4, %rd0, %rd2;
    mov.b32 {%h0, %h1}, %r9;
    st.local.u32 [stack+4], %r9;
    st.global.u32 [%rd4], %r9;
    bar.red.popc.u32 %r10, 1, %p0;
    vote.sync.ballot.b32 %r11, %p0, -1;
    red.global.add.u32 [%rd0], %r11;
    ret;",
    )
}

/// Parses a text and, if it is valid, runs it; returns whether it is valid.
fn exercise(text: &str) -> bool {
    let parsed = Module::parse(text);
    let errors = validate("kernel.ptx", text);
    assert!(parsed.is_ok() || !errors.is_empty(), "what cannot be parsed is not valid");
    let Ok(module) = parsed else { return false };
    let printed = module.ast().to_string();
    assert!(Module::parse(&printed).is_ok(), "printed text is refused:\n{printed}");
    for entry in module.entries() {
        let mut memory = Memory::new();
        let buffer = memory.alloc(256).to_le_bytes();
        let bytes =
            |size: usize| buffer.iter().copied().chain(std::iter::repeat(0)).take(size).collect::<Vec<u8>>();
        let args: Vec<Arg> = entry.params().iter().map(|param| Arg::bytes(bytes(param.size))).collect();
        let block = entry.reqntid().unwrap_or([48, 1, 1]);
        let launch = Launch { grid: [2, 1, 1], block, dynamic_shared_bytes: 64, cluster: None };
        // The launch must end, whatever its outcome.
        let sim = Sim::new().step_limit(20_000).keep_going(8);
        let _ = sim.launch(&module, entry.name(), &launch, &args, &mut memory);
    }
    true
}

/// Mutates many kernels of real compilers: `WARPWRIGHT_FUZZ` is the number, `WARPWRIGHT_SEED` the seed.
#[test]
#[ignore = "takes minutes; WARPWRIGHT_FUZZ=1000000 cargo test --release --test sim -- --ignored --nocapture damaged_kernels"]
fn damaged_kernels_terminate() {
    let (count, seed) = (number("WARPWRIGHT_FUZZ", 20_000), number("WARPWRIGHT_SEED", 1));
    let mut texts: Vec<String> = kernels().into_iter().map(|(_, text)| text).collect();
    texts.push(base());
    let vocabulary = vocabulary(texts.iter().map(String::as_str));
    let (mut ran, mut slowest) = (0u64, Duration::ZERO);
    for i in 0..count {
        let mut random = SplitMix(seed << 32 | i);
        let mut text = texts[random.below(texts.len())].clone();
        let gently = i % 2 == 1;
        for _ in 0..=random.below(3) {
            text =
                if gently { exchange(&text, &mut random) } else { mutate(&text, &vocabulary, &mut random).0 };
        }
        let start = Instant::now();
        ran += u64::from(exercise(&text));
        let took = start.elapsed();
        assert!(took < Duration::from_secs(300), "input {i} took {took:?}:\n{text}");
        slowest = slowest.max(took);
        if i % 100_000 == 0 {
            println!("{i} inputs, {ran} ran, the slowest took {slowest:?}");
        }
    }
    println!("{count} inputs, {ran} ran, the slowest took {slowest:?}");
}

/// Returns the one-line reason why a module is rejected.
fn refusal(text: &str) -> String {
    Module::parse(text).map(|_| ()).expect_err("refused").message().to_string()
}

#[test]
fn hostile_sizes_are_refused() {
    let body = |declaration: &str| kernel("", &format!("{declaration}\nret;"));
    let refused = |declaration: &str| refusal(&body(declaration));
    assert_eq!(refused(".shared .b8 x[1<<40];"), "`x` is larger than 4294967296 bytes");
    assert_eq!(
        refused(".shared .b8 x[1<<20]; .reg .b32 %r; mov.u32 %r, x;"),
        "`x` takes 1048576 bytes of shared memory; a block has 232448"
    );
    assert_eq!(refused(".local .b8 x[1<<30];"), "local variables take more than 524288 bytes of a thread");
    let deep = |open: &str, close: &str| format!("{}{}", open.repeat(100_000), close.repeat(100_000));
    assert_eq!(refusal(&kernel("", &deep("{", "}"))), "nested more than 64 levels deep");
    let parentheses = deep("(", ")").replace("()", "(1)");
    let refused = refusal(&kernel("", &format!(".reg .b32 %r; mov.u32 %r, {parentheses};")));
    assert_eq!(refused, "nested more than 64 levels deep");
    let signs = format!(".reg .b32 %r; mov.u32 %r, {}1;", "-".repeat(100_000));
    assert_eq!(refusal(&kernel("", &signs)), "nested more than 64 levels deep");
    let variables = ".global .b8 a[1<<32];\n".to_string() + ".global .b8 b[1<<32];\n.global .b8 c[1<<32];\n";
    let module = format!(".version 8.8\n.target sm_90a\n.address_size 64\n{variables}");
    assert_eq!(refusal(&module), "the module's variables take more than 8589934592 bytes");
}

#[test]
fn enormous_launches_are_refused() {
    let module = Module::parse(&kernel("", "ret;")).unwrap_or_else(|e| panic!("{e}"));
    let refused = |launch: &Launch| {
        let outcome = Sim::new().launch(&module, "k", launch, &[], &mut Memory::new());
        outcome.expect_err("refused").to_string()
    };
    let message = refused(&Launch { grid: [0x7fff_ffff, 65535, 65535], ..Launch::default() });
    assert!(message.contains("the simulator runs at most 67108864"), "{message}");
    for block in [[1024, 1024, 64], [u32::MAX; 3]] {
        let message = refused(&Launch { block, ..Launch::default() });
        assert!(message.contains("1024 in all"), "{message}");
    }
    for cluster in [[u32::MAX; 3], [1 << 22; 3], [0, u32::MAX, u32::MAX]] {
        let message = refused(&Launch { cluster: Some(cluster), ..Launch::default() });
        assert!(message.contains("the limit is 16 in all"), "{message}");
    }
}

/// Products of the extents do not overflow.
#[test]
fn enormous_extents_of_directives() {
    let launch = |directive: &str| {
        let text = kernel("", "ret;").replace("()\n{", &format!("() {directive}\n{{"));
        let module = Module::parse(&text).unwrap_or_else(|e| panic!("{e}"));
        Sim::new().launch(&module, "k", &Launch::default(), &[], &mut Memory::new())
    };
    for extents in ["4294967295, 4294967295, 4294967295", "4194304, 4194304, 4194304"] {
        launch(&format!(".maxntid {extents}")).expect("within the limit").assert_clean();
        let error = launch(&format!(".reqntid {extents}")).expect_err("another block").to_string();
        assert!(error.contains(&format!("its .reqntid is ({extents})")), "{error}");
    }
}

#[test]
fn enormous_offsets_are_refused() {
    let cases = [
        ("ld.param.u64 %rd, [b+9223372036854775807];", "offset 9223372036854775807 from `b` is too large"),
        ("ld.param.u64 %rd, [b+-9223372036854775807];", "offset -9223372036854775807 from `b` is too large"),
        ("ld.shared.u32 %r, [dyn+0x7fffffffffffffff];", "offset 9223372036854775807 from `dyn` is too large"),
        ("mov.u64 %rd, dyn+0x7fffffffffffffff;", "offset 9223372036854775807 from `dyn` is too large"),
    ];
    for (instruction, message) in cases {
        let declarations = ".reg .b32 %r; .reg .b64 %rd; .shared .b8 s[64]; st.shared.u32 [s], 0;";
        let text = kernel(".param .u64 a, .param .u64 b", &format!("{declarations} {instruction} ret;"));
        let text = text.replacen(".visible", ".extern .shared .b8 dyn[];\n.visible", 1);
        assert_eq!(refusal(&text), message);
    }
}

#[test]
fn long_lines_are_read_in_linear_time() {
    let line = "add.u32 %r0, %r0, 1; ".repeat(50_000);
    let text = kernel("", &format!(".reg .b32 %r<2>; mov.u32 %r0, 0;\n{line}\nret;"));
    let start = Instant::now();
    assert!(Module::parse(&text).is_ok());
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn the_undamaged_text_runs() {
    let module = Module::parse(&base()).unwrap_or_else(|e| panic!("{e}"));
    let mut memory = Memory::new();
    let args = [Arg::from(memory.alloc(256)), Arg::from(memory.alloc(256))];
    let launch = Launch { block: [64, 1, 1], ..Launch::default() };
    Sim::new().launch(&module, "k", &launch, &args, &mut memory).unwrap_or_else(|e| panic!("{e}"));
}

/// Tokens of other constructs of PTX.
const TOKENS: [&str; 40] = [
    "%r0",
    "%rd0",
    "%f0",
    "%p0",
    "%h0",
    "0",
    "1",
    "-1",
    "31",
    "0x7fffffff",
    "0xffffffffffffffff",
    "tile",
    "stack",
    "out",
    "LOOP",
    ";",
    ",",
    "[",
    "]",
    "{",
    "}",
    "(",
    ")",
    ".b64",
    ".u32",
    ".f32",
    ".shared",
    ".global",
    "ret",
    "bra",
    "@%p0",
    "bar.sync",
    ".reg",
    "0f7F800000",
    "%tid.x",
    "+",
    "-",
    "|",
    "!",
    "1e400",
];

/// Divides a text into words, numbers and single characters.
fn tokens(text: &str) -> Vec<String> {
    let mut out: Vec<String> = vec![];
    let word = |c: char| c.is_alphanumeric() || "_%$.".contains(c);
    let mut last_word = false;
    for c in text.chars() {
        if word(c) && last_word {
            if let Some(last) = out.last_mut() {
                last.push(c);
            }
        } else {
            out.push(c.to_string());
        }
        last_word = word(c);
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn changed_tokens(edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4u8, 0..TOKENS.len()), 1..4)) {
        let mut all = tokens(&base());
        for (at, how, with) in edits {
            let at = at.index(all.len());
            match how {
                0 => { all.remove(at); }
                1 => all[at] = TOKENS[with].to_string(),
                2 => all.insert(at, format!(" {} ", TOKENS[with])),
                _ => { let other = (at + with + 1) % all.len(); all.swap(at, other); }
            }
        }
        exercise(&all.concat());
    }

    #[test]
    fn changed_bytes(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = base().into_bytes();
        for (at, with) in edits {
            let at = at.index(bytes.len());
            bytes[at] = with;
        }
        exercise(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn truncated(at in any::<prop::sample::Index>()) {
        let text = base();
        let at = at.index(text.len());
        if text.is_char_boundary(at) {
            exercise(&text[..at]);
        }
    }

    #[test]
    fn any_text(text in "\\PC{0,200}") {
        exercise(&text);
        exercise(&format!(".version 7.0\n.target sm_80\n{text}"));
    }
}
