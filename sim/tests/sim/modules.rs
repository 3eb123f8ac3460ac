//! Modules of several functions: the functions that each kernel can reach, and functions with unsupported instructions.

use std::fmt::Write;
use std::time::{Duration, Instant};

use super::support::{one_block, parse};
use warpwright_sim::{FindingKind, Memory, Module, Report, Sim, SimError, validate};

const HEAD: &str = ".version 8.8\n.target sm_100a\n.address_size 64\n";

fn launch(module: &Module, entry: &str) -> Result<Report, SimError> {
    Sim::new().launch(module, entry, &one_block(1), &[], &mut Memory::new())
}

#[test]
fn an_instruction_that_is_not_supported_stops_only_the_kernels_that_reach_it() {
    let text = format!(
        "{HEAD}.func relinquish() {{ tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned; ret; }}
        .visible .entry uses() {{ call.uni relinquish; ret; }}
        .visible .entry is_clean() {{ ret; }}"
    );
    let module = parse(&text);
    assert_eq!(module.entries().map(|entry| entry.name()).collect::<Vec<_>>(), ["uses", "is_clean"]);
    launch(&module, "is_clean").expect("reaches nothing").assert_clean();
    let error = launch(&module, "uses").expect_err("reaches tcgen05").to_string();
    let mnemonic = "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned";
    let reason = "tensor memory is not modeled";
    assert_eq!(error, format!("kernel `uses` cannot run: `{mnemonic}` is not supported: {reason}, line 4"));
    assert_eq!(validate("kernel.ptx", &text), []);
}

#[test]
fn unsupported_features_are_refused_with_the_reason() {
    let copy = "cp.async.bulk.tensor";
    let load = "shared::cluster.global.mbarrier::complete_tx::bytes";
    let cases = [
        ("tex.grad.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f0, %f1}], {%f0, %f1}, {%f0, %f1};", "mipmaps"),
        ("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, %rd0, {%f0, %f1}];", "samplers that are apart"),
        ("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}|%p0, [%rd0, {%f0, %f1}];", "partly resident"),
        ("tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f0, %f1}], {%r0, %r1}, %f2;", "offsets and comparisons"),
        ("tex.2d.v2.f16x2.f32 {%r0, %r1}, [%rd0, {%f0, %f1}];", "halves"),
        ("tex.2dms.v4.f32.s32 {%f0, %f1, %f2, %f3}, [%rd0, {%r0, %r1, %r0, %r0}];", "multisampled"),
        ("tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f0, %f1}], %f2;", "offsets and comparisons"),
        ("tensormap.replace.tile.elemtype.global.b1024.b32 [%rd0], 13;", "packed types"),
        ("tensormap.replace.tile.interleave_layout.global.b1024.b32 [%rd0], 2;", "interleaved layouts"),
        ("tensormap.replace.tile.swizzle_atomicity.global.b1024.b32 [%rd0], 1;", "other swizzles"),
        ("tld4.r.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [image, {%f0, %f1}];", "references"),
        ("txq.width.b32 %r0, [%rd0];", "known to the driver"),
        ("sust.b.1d.b32.trap [plane, {%r1}], {%r0};", "references"),
        ("sust.p.1d.b32.trap [%rd0, {%r1}], {%r0};", "formatted stores"),
        ("sured.b.add.1d.u32.trap [%rd0, {%r1}], %r0;", "reductions of surfaces"),
        ("suq.width.b32 %r0, [%rd0];", "known to the driver"),
        ("istypep.texref %p0, %rd0;", "known to the driver"),
        ("multimem.ld_reduce.relaxed.sys.global.add.u32 %r0, [%rd0];", "multicast objects"),
        ("tcgen05.wait::ld.sync.aligned;", "tensor memory"),
        ("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r0, %r1}, [s];", "have not been recorded"),
        ("ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b6x16_p32 {%r0}, [s];", "have not been recorded"),
        ("stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [s], {%r0, %r1};", "have not been recorded"),
        ("st.bulk.weak.shared::cta [s], %rd0, 0;", "fills of shared memory"),
        ("cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd0], [s], %r0, %h0;", "masks of the bytes"),
        (&format!("{copy}.2d.{load}.cta_group::2 [s], [%rd0, {{%r0, %r1}}], [bar];"), "pair of blocks"),
        (
            &format!("{copy}.3d.{load}.im2col::w [s], [%rd0, {{%r0, %r0, %r0}}], [bar], {{%h0, %h0}};"),
            "wide im2col modes",
        ),
        (
            "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.e4m3.e4m3.f32 {%f0, %f1, %f2, %f3},
             {%r0, %r0, %r0, %r0}, {%r0, %r0, %r0, %r0}, {%f0, %f1, %f2, %f3}, %r0, 0;",
            "have not been recorded",
        ),
    ];
    for (instruction, reason) in cases {
        let head =
            if instruction.starts_with("mma") { HEAD.replace("sm_100a", "sm_120a") } else { HEAD.into() };
        let text = format!(
            "{head}.global .texref image; .global .surfref plane;
             .visible .entry uses() {{ .reg .f32 %f<4>; .reg .b32 %r<2>; .reg .b16 %h<2>; .reg .b64 %rd<2>; .reg .pred %p<2>;
             .shared .b8 s[1024]; .shared .b64 bar;
             {instruction} ret; }}"
        );
        assert_eq!(validate("kernel.ptx", &text), [], "{instruction}");
        let error = launch(&parse(&text), "uses").expect_err("not supported").to_string();
        assert!(error.contains("is not supported: ") && error.contains(reason), "{error}");
    }
}

#[test]
fn a_missing_body_is_an_error_only_of_a_call() {
    let text = format!(
        "{HEAD}.extern .func (.param .b32 r) elsewhere(.param .b32 a);
        .visible .entry k(.param .u32 n) {{
            .reg .b32 %r<2>; .reg .pred %p;
            ld.param.u32 %r0, [n];
            setp.eq.u32 %p, %r0, 0;
            @%p bra DONE;
            {{ .param .b32 a; st.param.b32 [a], %r0; .param .b32 r; call.uni (r), elsewhere, (a); }}
            DONE: ret;
        }}"
    );
    let module = parse(&text);
    let run = |n: u32| Sim::new().launch(&module, "k", &one_block(1), &[n.into()], &mut Memory::new());
    run(0).expect("no call").assert_clean();
    let error = run(1).expect_err("a call");
    assert_eq!(error.kind(), Some(FindingKind::InvalidAddress));
    let finding = error.finding().expect("a finding");
    assert_eq!(finding.message, "a call of `elsewhere`, which has no body in this module");
    assert_eq!(finding.site.line, 10);
}

#[test]
fn shared_memory_of_callees_counts() {
    let variables =
        |n: usize| (0..n).fold(String::new(), |text, i| text + &format!(".shared .b8 s{i}[65536];\n"));
    let function = |i: usize| format!(".func f{i}() {{ .reg .b32 %r; mov.u32 %r, s{i}; ret; }}\n");
    let module = |calls: usize| {
        let functions: String = (0..4).map(function).collect();
        let calls: String = (0..calls).map(|i| format!("call.uni f{i};\n")).collect();
        Module::parse(&format!("{HEAD}{}{functions}.visible .entry k() {{ {calls} ret; }}", variables(4)))
    };
    assert_eq!(module(3).expect("fits").entry("k").expect("k").static_shared_bytes(), 3 << 16);
    let error = module(4).expect_err("too much");
    assert_eq!(error.message(), "262144 bytes of shared memory; a block has 232448");
}

#[test]
fn functions_are_checked_once_however_many_kernels_call_them() {
    const FUNCTIONS: usize = 300;
    let mut text = HEAD.to_string();
    for i in (0..FUNCTIONS).rev() {
        let call = if i + 1 < FUNCTIONS { format!("call.uni f{};", i + 1) } else { String::new() };
        let adds = "add.u32 %r, %r, 1;\n".repeat(30);
        writeln!(text, ".func f{i}() {{ .reg .b32 %r; mov.u32 %r, 0; {adds} {call} ret; }}")
            .expect("a string");
    }
    for i in 0..1000 {
        writeln!(text, ".visible .entry k{i}() {{ call.uni f0; ret; }}").expect("a string");
    }
    let start = Instant::now();
    let module = parse(&text);
    let counts = launch(&module, "k999").expect("runs").counts;
    assert_eq!(counts.warp_instructions, 2 + 32 * FUNCTIONS as u64 + 299);
    // Checking every function for every kernel would process about ten million instructions.
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
}
