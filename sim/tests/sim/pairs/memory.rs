//! Bounds, alignment, uninitialized memory, and budgets.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{
    AddressConversion, BudgetExceeded, GlobalOutOfBounds, InvalidOperand, LocalOutOfBounds, MisalignedAccess,
    SharedOutOfBounds, UninitializedLocalRead, UninitializedRegister, UninitializedSharedRead,
};

pub(super) const PAIRS: &[Pair] = &[
    Pair {
        name: "one block more than the buffer has words for",
        kind: GlobalOutOfBounds,
        grid: 33,
        cluster: 1,
        block: 32,
        bug: "st.global.u32 [%rd3], %r0; // HERE",
        twin: "setp.lt.u32 %p4, %r8, 1024; @%p4 st.global.u32 [%rd3], %r0;",
    },
    pair(
        "a word past the end of shared memory",
        SharedOutOfBounds,
        32,
        "st.shared.u32 [%r2+16272], %r0; // HERE",
        "st.shared.u32 [%r2+16256], %r0;",
    ),
    pair(
        "a local array with one element too few",
        LocalOutOfBounds,
        1,
        ".local .align 4 .b8 a[20]; .reg .b64 %sp; mov.u64 %sp, a; mov.u32 %r9, 0;
         L: mul.wide.u32 %rd5, %r9, 4; add.u64 %rd5, %rd5, %sp;
         st.local.u32 [%rd5], %r9; // HERE
         add.u32 %r9, %r9, 1; setp.le.u32 %p4, %r9, 5; @%p4 bra L;",
        ".local .align 4 .b8 a[20]; .reg .b64 %sp; mov.u64 %sp, a; mov.u32 %r9, 0;
         L: mul.wide.u32 %rd5, %r9, 4; add.u64 %rd5, %rd5, %sp; st.local.u32 [%rd5], %r9;
         add.u32 %r9, %r9, 1; setp.lt.u32 %p4, %r9, 5; @%p4 bra L;",
    ),
    pair(
        "a vector at an odd word",
        MisalignedAccess,
        32,
        "ld.global.v2.u32 {%r9, %r10}, [%rd1+4]; // HERE",
        "ld.global.v2.u32 {%r9, %r10}, [%rd1+8];",
    ),
    pair(
        "uninitialized shared memory",
        UninitializedSharedRead,
        64,
        "@%p2 st.shared.u32 [%r2], %r0; bar.sync 0;
         ld.shared.u32 %r9, [%r2]; // HERE
         st.global.u32 [%rd3], %r9;",
        "@%p2 st.shared.u32 [%r2], %r0; bar.sync 0; ld.shared.u32 %r9, [%r2]; @%p2 st.global.u32 [%rd3], %r9;",
    ),
    pair(
        "a row of a product with an uninitialized operand",
        UninitializedSharedRead,
        32,
        // Row 7 of A is missing, and with it row 7 of D: the sums of lanes 28 to 31.
        "setp.lt.u32 %p4, %r0, 7; mad.lo.u32 %r9, %r0, 16, %r5; mov.u32 %r10, 0;
         @%p4 st.shared.v4.u32 [%r9], {%r10, %r10, %r10, %r10}; bar.warp.sync -1; and.b32 %r9, %r0, 7; mad.lo.u32 %r9, %r9, 16, %r5;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r9]; // HERE
         mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r11, %r10}, {%r10}, {0f00000000, 0f00000000, 0f00000000, 0f00000000};
         add.f32 %f0, %f0, %f1; st.global.f32 [%rd3], %f0;",
        "setp.lt.u32 %p4, %r0, 7; mad.lo.u32 %r9, %r0, 16, %r5; mov.u32 %r10, 0;
         @%p4 st.shared.v4.u32 [%r9], {%r10, %r10, %r10, %r10}; bar.warp.sync -1; and.b32 %r9, %r0, 7; mad.lo.u32 %r9, %r9, 16, %r5;
         ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r11}, [%r9];
         mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r11, %r10}, {%r10}, {0f00000000, 0f00000000, 0f00000000, 0f00000000};
         st.global.f32 [%rd3], %f2; setp.lt.u32 %p5, %r0, 28; @%p5 st.global.f32 [%rd3], %f0;",
    ),
    pair(
        "a local array read before it is filled",
        UninitializedLocalRead,
        32,
        ".local .align 4 .b8 a[16]; st.local.u32 [a], %r0;
         ld.local.u32 %r9, [a+4]; // HERE
         st.global.u32 [%rd3], %r9;",
        ".local .align 4 .b8 a[16]; st.local.u32 [a], %r0; st.local.u32 [a+4], %r0; ld.local.u32 %r9, [a+4];
         st.global.u32 [%rd3], %r9;",
    ),
    pair(
        "a stack frame that an earlier call has filled",
        UninitializedLocalRead,
        1,
        "{ .param .b32 q; .param .b32 v; st.param.b32 [q], 1; call.uni (v), f, (q); ld.param.b32 %r9, [v]; }
         { .param .b32 q; .param .b32 v; st.param.b32 [q], 0; call.uni (v), f, (q); ld.param.b32 %r9, [v]; }
         st.global.u32 [%rd3], %r9; ret; } .func (.param .b32 v) f(.param .b32 q) { .reg .b32 %a<4>; .reg .pred %p; .local .b32 x;
         ld.param.b32 %a0, [q]; setp.ne.u32 %p, %a0, 0; @%p st.local.u32 [x], 3;
         ld.local.u32 %a1, [x]; // HERE
         st.param.b32 [v], %a1;",
        "{ .param .b32 q; .param .b32 v; st.param.b32 [q], 1; call.uni (v), f, (q); ld.param.b32 %r9, [v]; }
         { .param .b32 q; .param .b32 v; st.param.b32 [q], 0; call.uni (v), f, (q); ld.param.b32 %r9, [v]; }
         st.global.u32 [%rd3], %r9; ret; } .func (.param .b32 v) f(.param .b32 q) { .reg .b32 %a<4>; .reg .pred %p; .local .b32 x;
         ld.param.b32 %a0, [q]; st.local.u32 [x], 3; ld.local.u32 %a1, [x]; st.param.b32 [v], %a1;",
    ),
    pair(
        "a register that only half of the threads write",
        UninitializedRegister,
        64,
        "@%p2 mov.u32 %r9, 1; add.u32 %r10, %r9, 1;
         st.global.u32 [%rd3], %r10; // HERE",
        "mov.u32 %r9, 0; @%p2 mov.u32 %r9, 1; add.u32 %r10, %r9, 1; st.global.u32 [%rd3], %r10;",
    ),
    pair(
        "a global address taken for a shared one",
        AddressConversion,
        32,
        "cvta.to.shared.u64 %rd5, %rd3; // HERE
         cvt.u32.u64 %r9, %rd5;",
        "cvta.shared.u64 %rd5, s; cvta.to.shared.u64 %rd5, %rd5; cvt.u32.u64 %r9, %rd5;",
    ),
    pair(
        "a global address taken for a local one",
        LocalOutOfBounds,
        32,
        ".local .b32 l; cvta.to.local.u64 %rd5, %rd3;
         ld.local.u32 %r9, [%rd5]; // HERE",
        ".local .b32 l; cvta.to.local.u64 %rd5, %rd3; isspacep.local %p4, %rd3; mov.u32 %r9, 0; @%p4 ld.local.u32 %r9, [%rd5];",
    ),
    pair(
        "more static shared memory than a block can have",
        BudgetExceeded,
        32,
        ".shared .b8 t[40000]; // HERE
         mov.u32 %r9, t; st.shared.u32 [%r9], 0;",
        ".shared .b8 t[20000]; mov.u32 %r9, t; st.shared.u32 [%r9], 0;",
    ),
    pair(
        "more registers than a multiprocessor has",
        BudgetExceeded,
        384,
        "setmaxnreg.inc.sync.aligned.u32 232; // HERE",
        "setp.lt.u32 %p4, %r0, 128; @%p4 bra P; setmaxnreg.inc.sync.aligned.u32 232; bra E;
         P: setmaxnreg.dec.sync.aligned.u32 40; E:",
    ),
    pair(
        "setmaxnreg.dec to more registers than before",
        InvalidOperand,
        128,
        "setmaxnreg.dec.sync.aligned.u32 40;
         setmaxnreg.dec.sync.aligned.u32 64; // HERE",
        "setmaxnreg.dec.sync.aligned.u32 40; setmaxnreg.inc.sync.aligned.u32 64;",
    ),
];
