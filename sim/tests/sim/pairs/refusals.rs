//! Operations that the hardware rejects, and kernels that abort themselves.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{
    Assertion, InvalidAddress, InvalidOperand, ParamOutOfBounds, ReadOnly, StepLimit, Trap,
};

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "a load past the last parameter",
        ParamOutOfBounds,
        32,
        "ld.param.u64 %rd5, [map+128]; // HERE",
        "ld.param.u64 %rd5, [map+120];",
    ),
    pair(
        "a store to a parameter",
        ReadOnly,
        32,
        "mov.u64 %rd5, in; cvta.param.u64 %rd5, %rd5;
         st.u32 [%rd5], 1; // HERE",
        "mov.u64 %rd5, in; cvta.param.u64 %rd5, %rd5; ld.u32 %r9, [%rd5];",
    ),
    pair(
        "an atomic in local memory",
        InvalidAddress,
        32,
        ".local .align 4 .b8 a[4]; mov.u64 %rd5, a; cvta.local.u64 %rd5, %rd5; st.u32 [%rd5], 0;
         atom.add.u32 %r9, [%rd5], 1; // HERE",
        ".local .align 4 .b8 a[4]; mov.u64 %rd5, a; cvta.local.u64 %rd5, %rd5; st.u32 [%rd5], 0;
         atom.add.u32 %r9, [%rd0], 1;",
    ),
    pair(
        "an endless loop",
        StepLimit,
        32,
        "mov.u32 %r9, 7;
         L: sub.u32 %r9, %r9, 2; // HERE
         setp.ne.u32 %p4, %r9, 0; // HERE
         @%p4 bra L; // HERE",
        "mov.u32 %r9, 8; L: sub.u32 %r9, %r9, 2; setp.ne.u32 %p4, %r9, 0; @%p4 bra L;",
    ),
    pair(
        "a barrier for a part of a warp",
        InvalidOperand,
        64,
        "add.u32 %r9, %r4, 1;
         bar.sync 1, %r9; // HERE",
        "bar.sync 1, %r4;",
    ),
    pair(
        "a trap on an invalid element",
        Trap,
        32,
        "ld.global.u32 %r9, [%rd4]; setp.eq.u32 %p4, %r9, 31;
         @%p4 trap; // HERE",
        "ld.global.u32 %r9, [%rd4]; setp.eq.u32 %p4, %r9, 32; @%p4 trap;",
    ),
    pair(
        "an assertion that fails",
        Assertion,
        32,
        "setp.ne.u32 %p4, %r0, 31; @%p4 bra E;
         mov.u64 %rd5, text; cvta.global.u64 %rd5, %rd5;
         { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
         st.param.b64 [a], %rd5; st.param.b64 [b], %rd5; st.param.b32 [c], 3; st.param.b64 [d], %rd5;
         st.param.b64 [e], 1;
         call.uni __assertfail, (a, b, c, d, e); // HERE
         } E:",
        "setp.ne.u32 %p4, %r0, 32; @%p4 bra E;
         mov.u64 %rd5, text; cvta.global.u64 %rd5, %rd5;
         { .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e;
         st.param.b64 [a], %rd5; st.param.b64 [b], %rd5; st.param.b32 [c], 3; st.param.b64 [d], %rd5;
         st.param.b64 [e], 1; call.uni __assertfail, (a, b, c, d, e); } E:",
    ),
];
