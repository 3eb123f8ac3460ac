//! The output of device-side `printf`.

use pretty_assertions::assert_eq;

use super::support::{one_block, run};
use warpwright_sim::Launch;

#[test]
fn printf_prints_in_the_order_of_blocks() {
    let module = ".version 8.0\n.target sm_80\n.address_size 64\n
        .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .align 1 .b8 format[] = {37, 100, 32, 37, 53, 46, 50, 102, 124, 37, 45, 52, 120, 124, 37, 108, 108, 117, 32, 37, 115, 10, 0};
        .global .align 1 .b8 word[3] = {104, 105, 0};
        .visible .entry k(.param .u64 out, .param .u64 in) {
            .local .align 8 .b8 args[40]; .reg .b64 %rd<8>; .reg .b32 %r<4>;
            mov.u32 %r0, %ctaid.x; neg.s32 %r1, %r0;
            st.local.u32 [args], %r1; st.local.f64 [args+8], 0d3FF8000000000000; st.local.u32 [args+16], 255;
            st.local.u64 [args+24], 18446744073709551615;
            mov.u64 %rd0, word; cvta.global.u64 %rd0, %rd0; st.local.u64 [args+32], %rd0;
            mov.u64 %rd1, args; cvta.local.u64 %rd1, %rd1; mov.u64 %rd2, format; cvta.global.u64 %rd2, %rd2;
            { .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd2; st.param.b64 [a], %rd1;
              call.uni (r), vprintf, (f, a); ld.param.b32 %r2, [r]; }
            ret;
        }\n";
    let launch = Launch { grid: [40, 1, 1], ..Launch::default() };
    let (_, report) = run(module, &launch, &[0], 1).unwrap_or_else(|e| panic!("{e}"));
    let want: Vec<String> =
        (0..40).map(|i| format!("{} {:5.2}|ff  |18446744073709551615 hi\n", -i, 1.5)).collect();
    assert_eq!(report.printed, want);
}

/// Returns a kernel in which each thread prints the format `text` `%ctaid.x + 1` times.
fn printing(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().chain([0]).map(|byte| byte.to_string()).collect();
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n
        .extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .align 1 .b8 format[] = {{{}}};
        .visible .entry k(.param .u64 out, .param .u64 in) {{
            .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .pred %p0;
            ld.param.u64 %rd1, [in]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, 0;
            mov.u64 %rd2, format; cvta.global.u64 %rd2, %rd2;
            L: {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd2; st.param.b64 [a], %rd1;
              call.uni (r), vprintf, (f, a); }}
            add.u32 %r1, %r1, 1; setp.le.u32 %p0, %r1, %r0; @%p0 bra L;
            ret;
        }}\n",
        bytes.join(", ")
    )
}

#[test]
fn the_output_of_a_launch_is_bounded() {
    // Each call prints 4 KiB; block i calls 32 (i + 1) times.
    let text = printing("%4096d");
    let run = |grid: u32| run(&text, &Launch { grid: [grid, 1, 1], ..one_block(32) }, &[0], 1);
    let (_, few) = run(15).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(few.printed.len(), 32 * 15 * 16 / 2);
    let (_, many) = run(130).unwrap_or_else(|e| panic!("{e}"));
    let (last, kept) = many.printed.split_last().expect("output");
    assert_eq!(kept.len(), (16 << 20) / 4096);
    assert_eq!(last, "(output after the first 16777216 bytes is omitted)\n");
}
