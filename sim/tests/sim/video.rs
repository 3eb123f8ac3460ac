//! Video instructions in a kernel.

use super::support::{kernel, one_block, run};

/// Returns the result of an instruction for `%r1`, `%r2`, `%r3`.
fn value(instruction: &str, operands: [u32; 3]) -> u32 {
    let body = format!(
        ".reg .b32 %r<5>; .reg .b64 %rd<2>;\nld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in];
        ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4]; ld.global.u32 %r3, [%rd1+8];
        {instruction}\nst.global.u32 [%rd0], %r4; ret;"
    );
    let text = kernel(".param .u64 out, .param .u64 in", &body);
    run(&text, &one_block(1), &operands, 1).unwrap_or_else(|e| panic!("{e}")).0[0]
}

#[test]
fn scalar_instructions_select_parts_and_merge() {
    assert_eq!(value("vadd.u32.u32.u32 %r4, %r1.b1, %r2.h1;", [0xaabb_ccdd, 0x0102_0304, 0]), 0xcc + 0x0102);
    assert_eq!(value("vsub.s32.s32.s32.sat %r4, %r1, %r2;", [0x8000_0000, 1, 0]), 0x8000_0000);
    assert_eq!(value("vmin.u32.u32.u32 %r4.b2, %r1.b0, %r2.b0, %r3;", [7, 9, 0x1122_3344]), 0x1107_3344);
    assert_eq!(value("vabsdiff.u32.u32.u32.add %r4, %r1, %r2, %r3;", [3, 10, 100]), 107);
    assert_eq!(value("vshl.u32.u32.u32.clamp %r4, %r1, %r2;", [1, 40, 0]), 0);
    assert_eq!(value("vshl.u32.u32.u32.wrap %r4, %r1, %r2;", [1, 40, 0]), 1 << 8);
    assert_eq!(value("vset.s32.s32.lt %r4, %r1, %r2;", [u32::MAX, 0, 0]), 1);
    assert_eq!(value("vset.u32.u32.lt.add %r4, %r1, %r2, %r3;", [u32::MAX, 0, 5]), 5);
}

#[test]
fn products_are_negated_scaled_and_rounded() {
    assert_eq!(value("vmad.s32.s32.s32 %r4, -%r1.b0, %r2, %r3;", [3, 5, 20]), 5);
    assert_eq!(value("vmad.u32.u32.u32.po.shr7 %r4, %r1, %r2, %r3;", [127, 1, 0]), 1);
}

/// Products of two words have 64 bits, and shifted words 65.
#[test]
fn results_of_words_are_exact() {
    let all = u32::MAX;
    assert_eq!(value("vmad.u32.u32.u32 %r4, %r1, %r2, %r3;", [all, all, all]), 0);
    assert_eq!(value("vmad.u32.u32.u32.sat %r4, %r1, %r2, %r3;", [all, all, all]), all);
    assert_eq!(value("vmad.u32.u32.u32.sat.shr15 %r4, %r1, %r2, %r3;", [all, all, 0]), all);
    assert_eq!(value("vmad.u32.u32.u32.shr15 %r4, %r1, %r2, %r3;", [all, all, 0]), 0xfffc_0000);
    assert_eq!(value("vmad.u32.u32.s32.sat %r4, -%r1, %r2, %r3;", [all, 1, 0]), 0x8000_0000);
    assert_eq!(value("vshl.u32.u32.u32.sat.clamp %r4, %r1, %r2;", [0x8000_0000, 32, 0]), all);
    assert_eq!(value("vshl.u32.u32.u32.clamp %r4, %r1, %r2;", [0x8000_0000, 32, 0]), 0);
    assert_eq!(value("vshl.s32.s32.u32.sat.clamp %r4, %r1, %r2;", [0x8000_0000, 32, 0]), 0x8000_0000);
}

#[test]
fn lanes_are_selected_masked_and_accumulated() {
    assert_eq!(value("vadd4.u32.u32.u32 %r4, %r1, %r2, %r3;", [0x01ff_80f0, 0x0102_8020, 0]), 0x0201_0010);
    assert_eq!(value("vabsdiff4.u32.u32.u32.add %r4, %r1, %r2, %r3;", [0x0102_0304, 0x0403_0201, 10]), 18);
    assert_eq!(
        value("vadd2.u32.u32.u32 %r4.h1, %r1.h01, %r2, %r3;", [0x0001_0002, 0x0010_0020, 0x7777_8888]),
        0x0012_8888
    );
    assert_eq!(value("vmax2.s32.s32.s32 %r4, %r1, %r2, %r3;", [0xffff_0001, 0x0001_ffff, 0]), 0x0001_0001);
    assert_eq!(value("vset4.u32.u32.eq %r4, %r1, %r2, %r3;", [0x0102_0304, 0x0100_0300, 0]), 0x0100_0100);
    assert_eq!(value("vavrg4.u32.u32.u32 %r4, %r1, %r2, %r3;", [0x0102_03ff, 0x0102_04ff, 0]), 0x0102_04ff);
}
