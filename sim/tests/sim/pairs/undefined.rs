//! Undefined values that are used. The counterparts copy them, or use only their defined bits.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{UninitializedLocalRead, UninitializedRegister, UninitializedSharedRead};

/// A function that has a structure of a word and a byte, in eight bytes, as its parameter and returns it unchanged.
macro_rules! copying {
    ($body:literal) => {
        concat!(
            $body,
            "ret; } .func (.param .align 4 .b8 v[8]) f(.param .align 4 .b8 q[8]) { .reg .b32 %a<4>;
             ld.param.b32 %a0, [q]; ld.param.b32 %a1, [q+4]; st.param.b32 [v], %a0; st.param.b32 [v+4], %a1;"
        )
    };
}

/// An array of eight elements, of which the first four are set.
macro_rules! array {
    ($body:literal) => {
        concat!(
            ".local .align 16 .b8 a[32]; .reg .b64 %sp; mov.u64 %sp, a;
             st.local.v4.u32 [a], {%r0, %r0, %r0, %r0}; ",
            $body
        )
    };
}

/// A product that adds to accumulators, the last of which is set by the caller.
macro_rules! product {
    ($sums:literal) => {
        concat!(
            "mov.u32 %r9, 0; mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000;
             ",
            $sums,
            "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f4, %f5, %f6, %f7}, {%r9, %r9}, {%r9}, {%f0, %f1, %f2, %f3}; // HERE
             st.global.f32 [%rd3], %f7;"
        )
    };
}

/// An asynchronous product that adds to the old accumulators or ignores them.
macro_rules! async_product {
    ($add:literal) => {
        concat!(
            "mov.u32 %r9, 0; mad.lo.u32 %r10, %r0, 32, %r5;
             st.shared.v4.u32 [%r10], {%r9, %r9, %r9, %r9}; st.shared.v4.u32 [%r10+16], {%r9, %r9, %r9, %r9};
             fence.proxy.async.shared::cta; bar.sync 0;
             shr.u32 %r11, %r5, 4; cvt.u64.u32 %rd10, %r11; or.b64 %rd10, %rd10, 0x0000000800080000;
             wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd10, ",
            $add,
            ", 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; st.global.f32 [%rd3], %f0;"
        )
    };
}

/// Shared memory of which the first half, 16 words, is written.
macro_rules! half {
    ($body:literal) => {
        concat!("@%p1 st.shared.u32 [%r2], %r0; bar.sync 0; ", $body)
    };
}

/// An asynchronous product of two tiles in shared memory, each without one 16-byte unit: unit i is half of row i of A, or half of column i
/// of B.
macro_rules! async_tiles {
    ($missing_of_a:literal, $missing_of_b:literal, $body:literal) => {
        concat!(
            "mov.u32 %r9, 0; mad.lo.u32 %r10, %r0, 16, %r5; setp.ne.u32 %p4, %r0, ",
            $missing_of_a,
            "; setp.ne.u32 %p5, %r0, ",
            $missing_of_b,
            "; @%p4 st.shared.v4.u32 [%r10], {%r9, %r9, %r9, %r9}; @%p5 st.shared.v4.u32 [%r10+2048], {%r9, %r9, %r9, %r9};
             fence.proxy.async.shared::cta; bar.sync 0;
             shr.u32 %r11, %r5, 4; cvt.u64.u32 %rd10, %r11; or.b64 %rd10, %rd10, 0x0000000800400000; add.s64 %rd11, %rd10, 128;
             mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
             wgmma.fence.sync.aligned;
             wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd10, %rd11, 1, 1, 1, 0, 0; // HERE
             wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; and.b32 %r12, %r0, 3;
             ",
            $body
        )
    };
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "a sum over one element too many",
        UninitializedLocalRead,
        32,
        array!(
            "mov.u32 %r9, 0; mov.u32 %r10, 0; mov.u64 %rd5, %sp;
             L: ld.local.u32 %r11, [%rd5]; // HERE
             add.u32 %r10, %r10, %r11; add.u64 %rd5, %rd5, 4; add.u32 %r9, %r9, 1;
             setp.le.u32 %p4, %r9, 4; @%p4 bra L; st.global.u32 [%rd3], %r10;"
        ),
        array!(
            "mov.u32 %r9, 0; mov.u32 %r10, 0; mov.u64 %rd5, %sp;
             L: ld.local.u32 %r11, [%rd5]; add.u32 %r10, %r10, %r11; add.u64 %rd5, %rd5, 4; add.u32 %r9, %r9, 1;
             setp.lt.u32 %p4, %r9, 4; @%p4 bra L; st.global.u32 [%rd3], %r10;"
        ),
    ),
    pair(
        "a counter without an initial value",
        UninitializedLocalRead,
        32,
        array!(
            "ld.local.u32 %r9, [a+16]; // HERE
             add.u32 %r9, %r9, 1; st.local.u32 [a+16], %r9; ld.local.u32 %r10, [a+16]; st.global.u32 [%rd3], %r10;"
        ),
        array!(
            "st.local.u32 [a+16], 0; ld.local.u32 %r9, [a+16]; add.u32 %r9, %r9, 1; st.local.u32 [a+16], %r9;
             ld.local.u32 %r10, [a+16]; st.global.u32 [%rd3], %r10;"
        ),
    ),
    pair(
        "an address from an uninitialized array",
        UninitializedLocalRead,
        32,
        array!(
            "ld.local.u32 %r9, [a+16]; // HERE
             mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd1, %rd5; ld.global.u32 %r10, [%rd5];"
        ),
        array!(
            "ld.local.u32 %r9, [a+16]; ld.local.u32 %r9, [a+12]; mul.wide.u32 %rd5, %r9, 4;
             add.s64 %rd5, %rd1, %rd5; ld.global.u32 %r10, [%rd5];"
        ),
    ),
    pair(
        "a branch on an uninitialized maximum",
        UninitializedLocalRead,
        32,
        array!(
            "ld.local.u32 %r9, [a+16]; setp.gt.u32 %p4, %r9, %r0;
             @%p4 bra E; // HERE
             st.global.u32 [%rd3], %r0; E:"
        ),
        // Compilers hoist loads whose values a condition then discards.
        array!(
            "ld.local.u32 %r9, [a+16]; setp.gt.u32 %p4, %r9, %r0; setp.lt.u32 %p5, %r0, 0; and.pred %p4, %p4, %p5;
             @%p4 bra E; st.global.u32 [%rd3], %r0; E:"
        ),
    ),
    pair(
        "a selection of an uninitialized element",
        UninitializedLocalRead,
        32,
        array!(
            "ld.local.u32 %r9, [a+16]; // HERE
             selp.b32 %r10, %r9, %r0, %p1; st.global.u32 [%rd3], %r10;"
        ),
        array!(
            "ld.local.u32 %r9, [a+16]; setp.lt.u32 %p4, %r0, 0; selp.b32 %r10, %r9, %r0, %p4; st.global.u32 [%rd3], %r10;"
        ),
    ),
    pair(
        "a bit field that was not set",
        UninitializedLocalRead,
        32,
        ".local .align 4 .b8 a[4]; ld.local.u32 %r9, [a]; // HERE
         and.b32 %r9, %r9, -256; or.b32 %r9, %r9, %r0; st.local.u32 [a], %r9; ld.local.u32 %r10, [a];
         shr.u32 %r10, %r10, 7; and.b32 %r10, %r10, 3; setp.ne.u32 %p4, %r10, 0; @%p4 st.global.u32 [%rd3], %r0;",
        ".local .align 4 .b8 a[4]; ld.local.u32 %r9, [a];
         and.b32 %r9, %r9, -256; or.b32 %r9, %r9, %r0; st.local.u32 [a], %r9; ld.local.u32 %r10, [a];
         shr.u32 %r10, %r10, 6; and.b32 %r10, %r10, 3; setp.ne.u32 %p4, %r10, 0; @%p4 st.global.u32 [%rd3], %r0;",
    ),
    pair(
        "an uninitialized member that a call copies",
        UninitializedLocalRead,
        1,
        copying!(
            ".param .align 4 .b8 q[8]; .param .align 4 .b8 v[8]; st.param.b32 [q], %r0; call.uni (v), f, (q);
             ld.param.u8 %r9, [v+4]; setp.ne.u32 %p4, %r9, 0;
             @%p4 st.global.u32 [%rd3], %r0; // HERE
             "
        ),
        copying!(
            ".param .align 4 .b8 q[8]; .param .align 4 .b8 v[8]; st.param.b32 [q], %r0; st.param.b8 [q+4], 1;
             call.uni (v), f, (q); ld.param.u8 %r9, [v+4]; setp.ne.u32 %p4, %r9, 0; @%p4 st.global.u32 [%rd3], %r0; "
        ),
    ),
    pair(
        "an uninitialized counter that another thread reads",
        UninitializedLocalRead,
        32,
        array!(
            "ld.local.u32 %r9, [a+16]; // HERE
             st.shared.u32 [%r2], %r9; bar.sync 0; ld.shared.u32 %r10, [%r3]; add.u32 %r10, %r10, 1;
             st.global.u32 [%rd3], %r10;"
        ),
        array!(
            "ld.local.u32 %r9, [a+16]; st.shared.u32 [%r2], %r9; bar.sync 0; ld.shared.u32 %r10, [%r3]; bar.sync 0;
             st.shared.u32 [%r2], 0; bar.sync 0; ld.shared.u32 %r10, [%r3]; st.global.u32 [%rd3], %r10;"
        ),
    ),
    pair(
        "a row of a matrix that only half of the threads filled",
        UninitializedRegister,
        32,
        "@%p1 mov.u32 %r9, 0; mad.lo.u32 %r10, %r0, 12, %r2;
         st.shared.v4.u32 [%r10], {%r9, %r9, %r9, %r9}; // HERE
         bar.sync 0; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r11, %r12, %r13, %r14}, [%r10]; st.global.u32 [%rd3], %r14;",
        "@%p1 mov.u32 %r9, 0; mad.lo.u32 %r10, %r0, 12, %r2; st.shared.v4.u32 [%r10], {%r9, %r9, %r9, %r9};
         bar.sync 0; and.b32 %r11, %r0, 7; mad.lo.u32 %r11, %r11, 16, %r5;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r11]; st.global.u32 [%rd3], %r11;",
    ),
    pair(
        "the padding of a shared structure taken for a member",
        UninitializedSharedRead,
        32,
        "mad.lo.u32 %r9, %r0, 4, %r2; st.shared.u32 [%r9], %r0; st.shared.u8 [%r9+4], %r0; bar.warp.sync -1;
         ld.shared.v2.u32 {%r10, %r11}, [%r9]; // HERE
         shr.u32 %r11, %r11, 8; setp.eq.u32 %p4, %r11, 0; @%p4 st.global.u32 [%rd3], %r10;",
        "mad.lo.u32 %r9, %r0, 4, %r2; st.shared.u32 [%r9], %r0; st.shared.u8 [%r9+4], %r0; bar.warp.sync -1;
         ld.shared.v2.u32 {%r10, %r11}, [%r9]; mad.wide.u32 %rd5, %r0, 8, %rd0; st.global.v2.u32 [%rd5], {%r10, %r11};
         and.b32 %r11, %r11, 255; setp.eq.u32 %p4, %r11, 0; @%p4 st.global.u32 [%rd3+1024], %r10;",
    ),
    pair(
        "some bits of an uninitialized register",
        UninitializedRegister,
        32,
        "and.b32 %r10, %r9, 255; // HERE
         or.b32 %r10, %r10, 1; st.global.u32 [%rd3], %r10;",
        "and.b32 %r10, %r9, 1; or.b32 %r10, %r10, 1; xor.b32 %r11, %r9, %r0; and.b32 %r11, %r11, 0; add.u32 %r10, %r10, %r11;
         st.global.u32 [%rd3], %r10;",
    ),
    pair(
        "a shuffle from lanes whose value is uninitialized",
        UninitializedRegister,
        32,
        "@%p1 mov.u32 %r9, 1;
         shfl.sync.down.b32 %r10, %r9, 8, 31, -1; // HERE
         @%p1 st.global.u32 [%rd3], %r10;",
        "@%p1 mov.u32 %r9, 1; shfl.sync.down.b32 %r10, %r9, 8, 31, -1; setp.lt.u32 %p4, %r0, 8;
         @%p4 st.global.u32 [%rd3], %r10;",
    ),
    pair(
        "a value that one branch sets, used in the other",
        UninitializedRegister,
        32,
        "@%p1 bra A; mov.u32 %r9, 1; bra E;
         A: st.global.u32 [%rd3], %r9; // HERE
         E:",
        "@%p1 bra A; mov.u32 %r9, 1; st.global.u32 [%rd3], %r9; bra E;
         A: mov.u32 %r9, 2;
         E:",
    ),
    pair(
        "a shuffle in two branches from lanes whose value is uninitialized",
        UninitializedRegister,
        32,
        "@%p1 mov.u32 %r9, 1; and.b32 %r11, %r0, 1; setp.eq.u32 %p4, %r11, 0; @%p4 bra A;
         shfl.sync.bfly.b32 %r10, %r9, 16, 31, -1; // HERE
         bra E;
         A: shfl.sync.bfly.b32 %r10, %r9, 16, 31, -1; // HERE
         E: @%p1 st.global.u32 [%rd3], %r10;",
        "@%p1 mov.u32 %r9, 1; and.b32 %r11, %r0, 1; setp.eq.u32 %p4, %r11, 0; @%p4 bra A;
         shfl.sync.bfly.b32 %r10, %r9, 16, 31, -1; bra E; A: shfl.sync.bfly.b32 %r10, %r9, 16, 31, -1;
         E: @!%p1 st.global.u32 [%rd3], %r10;",
    ),
    pair(
        "sums that do not start at zero",
        UninitializedRegister,
        32,
        product!(""),
        product!("mov.f32 %f3, 0f00000000; "),
    ),
    pair(
        "asynchronous sums that do not start at zero",
        UninitializedRegister,
        128,
        async_product!("1"),
        async_product!("0"),
    ),
    pair(
        "a vote on a predicate that half of the lanes have not set",
        UninitializedRegister,
        32,
        "@%p1 setp.eq.u32 %p4, %r0, 3;
         vote.sync.any.pred %p5, %p4, -1; // HERE",
        "@%p1 setp.eq.u32 %p4, %r0, 3; @%p1 vote.sync.any.pred %p5, %p4, 0xffff;",
    ),
    pair(
        "an undefined addend",
        UninitializedRegister,
        32,
        "@%p1 mov.u32 %r9, 1;
         red.global.add.u32 [%rd0], %r9; // HERE",
        "@%p1 mov.u32 %r9, 1; @%p1 red.global.add.u32 [%rd0], %r9;",
    ),
    pair(
        "a result that a recursive function sets at the bottom only",
        UninitializedRegister,
        1,
        "{ .param .b32 q; .param .b32 v; st.param.b32 [q], 3; call.uni (v), f, (q); ld.param.b32 %r9, [v]; }
         st.global.u32 [%rd3], %r9; // HERE
         ret; } .func (.param .b32 v) f(.param .b32 q) { .reg .b32 %a<4>; .reg .pred %p;
         ld.param.b32 %a0, [q]; setp.eq.u32 %p, %a0, 0; @%p mov.u32 %a1, 7; @%p bra E; sub.u32 %a2, %a0, 1;
         { .param .b32 q1; .param .b32 v1; st.param.b32 [q1], %a2; call.uni (v1), f, (q1); ld.param.b32 %a3, [v1]; }
         E: st.param.b32 [v], %a1;",
        "{ .param .b32 q; .param .b32 v; st.param.b32 [q], 3; call.uni (v), f, (q); ld.param.b32 %r9, [v]; }
         st.global.u32 [%rd3], %r9;
         ret; } .func (.param .b32 v) f(.param .b32 q) { .reg .b32 %a<4>; .reg .pred %p;
         ld.param.b32 %a0, [q]; setp.eq.u32 %p, %a0, 0; @%p mov.u32 %a1, 7; @%p bra E; sub.u32 %a2, %a0, 1;
         { .param .b32 q1; .param .b32 v1; st.param.b32 [q1], %a2; call.uni (v1), f, (q1); ld.param.b32 %a1, [v1]; }
         E: st.param.b32 [v], %a1;",
    ),
    pair(
        "a comparison with a key past the end",
        UninitializedSharedRead,
        32,
        half!(
            "ld.shared.u32 %r9, [%r2+4]; // HERE
             setp.lt.u32 %p4, %r9, %r0;
             @%p4 st.global.u32 [%rd3], %r0;"
        ),
        // A merge loads the next key of both lists; at the end of one list, it uses the key of the other, regardless of the comparison.
        half!(
            "ld.shared.u32 %r9, [%r2+4]; setp.lt.u32 %p4, %r9, %r0; setp.lt.u32 %p5, %r0, 15; and.pred %p4, %p4, %p5;
             selp.b32 %r10, %r9, %r0, %p4; @%p4 st.global.u32 [%rd3], %r10;"
        ),
    ),
    pair(
        "a value for an iteration past the last",
        UninitializedSharedRead,
        32,
        half!(
            "mov.u32 %r11, 0; mov.u32 %r12, 0; ld.shared.u32 %r9, [s];
             L: add.u32 %r12, %r12, %r9; mad.lo.u32 %r10, %r11, 4, %r5;
             ld.shared.u32 %r9, [%r10+4]; // HERE
             add.u32 %r11, %r11, 1; setp.le.u32 %p4, %r11, 16; @%p4 bra L; st.global.u32 [%rd3], %r12;"
        ),
        half!(
            "mov.u32 %r11, 0; mov.u32 %r12, 0; ld.shared.u32 %r9, [s];
             L: add.u32 %r12, %r12, %r9; mad.lo.u32 %r10, %r11, 4, %r5; ld.shared.u32 %r9, [%r10+4];
             add.u32 %r11, %r11, 1; setp.lt.u32 %p4, %r11, 16; @%p4 bra L; st.global.u32 [%rd3], %r12;"
        ),
    ),
    pair(
        "an address from uninitialized shared memory",
        UninitializedSharedRead,
        32,
        half!(
            "ld.volatile.shared.u32 %r9, [%r2+64]; // HERE
             mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd1, %rd5;
             ld.global.u32 %r10, [%rd5];"
        ),
        half!("ld.volatile.shared.u32 %r9, [%r2+64]; mul.wide.u32 %rd5, %r9, 4; add.s64 %rd5, %rd1, %rd5;"),
    ),
    pair(
        "a reduction of a partially filled tile",
        UninitializedSharedRead,
        32,
        half!(
            "ld.shared.u32 %r9, [%r2]; // HERE
             redux.sync.add.u32 %r10, %r9, -1;"
        ),
        half!("ld.shared.u32 %r9, [%r2]; @!%p1 mov.u32 %r9, 0; redux.sync.add.u32 %r10, %r9, -1; st.global.u32 [%rd3], %r10;"),
    ),
    pair(
        "a column of a product with an uninitialized operand",
        UninitializedSharedRead,
        32,
        // Column 7 of B is missing, and with it column 7 of D: the second sums of every fourth lane.
        "setp.lt.u32 %p4, %r0, 7; mad.lo.u32 %r9, %r0, 16, %r5; mov.u32 %r10, 0; mov.f32 %f4, 0f00000000;
         @%p4 st.shared.v4.u32 [%r9], {%r10, %r10, %r10, %r10}; bar.warp.sync -1; and.b32 %r9, %r0, 7; mad.lo.u32 %r9, %r9, 16, %r5;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r9]; // HERE
         mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r10}, {%r11}, {%f4, %f4, %f4, %f4};
         st.global.f32 [%rd3], %f3;",
        "setp.lt.u32 %p4, %r0, 7; mad.lo.u32 %r9, %r0, 16, %r5; mov.u32 %r10, 0; mov.f32 %f4, 0f00000000;
         @%p4 st.shared.v4.u32 [%r9], {%r10, %r10, %r10, %r10}; bar.warp.sync -1; and.b32 %r9, %r0, 7; mad.lo.u32 %r9, %r9, 16, %r5;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r9];
         mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r10, %r10}, {%r11}, {%f4, %f4, %f4, %f4};
         st.global.f32 [%rd3], %f0; st.global.f32 [%rd3], %f2; and.b32 %r12, %r0, 3; setp.ne.u32 %p5, %r12, 3;
         @%p5 st.global.f32 [%rd3], %f1;",
    ),
    pair(
        "an uninitialized row of an asynchronous product",
        UninitializedSharedRead,
        128,
        async_tiles!("15", "-1", "st.global.f32 [%rd3], %f2;"),
        // The last row of the first warp: the last sums of four lanes.
        async_tiles!(
            "15",
            "-1",
            "st.global.f32 [%rd3], %f0; sub.u32 %r13, %r0, 28; setp.ge.u32 %p6, %r13, 4; @%p6 st.global.f32 [%rd3], %f2;"
        ),
    ),
    pair(
        "an uninitialized column of an asynchronous product",
        UninitializedSharedRead,
        128,
        async_tiles!("-1", "3", "st.global.f32 [%rd3], %f1;"),
        async_tiles!(
            "-1",
            "3",
            "st.global.f32 [%rd3], %f2; setp.ne.u32 %p6, %r12, 1; @%p6 st.global.f32 [%rd3], %f3;"
        ),
    ),
    pair(
        "a matrix stored with rows that were not loaded",
        UninitializedSharedRead,
        32,
        "setp.lt.u32 %p4, %r0, 7; mad.lo.u32 %r9, %r0, 16, %r5; mov.u32 %r10, 0;
         @%p4 st.shared.v4.u32 [%r9], {%r10, %r10, %r10, %r10}; bar.warp.sync -1; and.b32 %r9, %r0, 7; mad.lo.u32 %r9, %r9, 16, %r5;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r9]; // HERE
         stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r9+1024], {%r11}; bar.warp.sync -1;
         mad.lo.u32 %r9, %r0, 4, %r5; ld.shared.u32 %r12, [%r9+1024]; shr.u32 %r12, %r12, 16; st.global.u32 [%rd3], %r12;",
        // Transposed, the last row is the upper half of every fourth word.
        "setp.lt.u32 %p4, %r0, 7; mad.lo.u32 %r9, %r0, 16, %r5; mov.u32 %r10, 0;
         @%p4 st.shared.v4.u32 [%r9], {%r10, %r10, %r10, %r10}; bar.warp.sync -1; and.b32 %r9, %r0, 7; mad.lo.u32 %r9, %r9, 16, %r5;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r9];
         stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%r9+1024], {%r11}; bar.warp.sync -1;
         mad.lo.u32 %r9, %r0, 4, %r5; ld.shared.u32 %r12, [%r9+1024]; and.b32 %r13, %r12, 65535; st.global.u32 [%rd3], %r13;",
    ),
];
