//! Blocks of the device heap.

use super::{Pair, pair};
use warpwright_sim::FindingKind::{GlobalOutOfBounds, InvalidFree};

/// `%rd5` is a block of 20 bytes; `FREE` frees the address that is in `%rd5` at that point.
macro_rules! block {
    ($($body:literal)*) => {
        concat!(
            "{ .param .b64 p; st.param.b64 [p], 20; .param .b64 q; call.uni (q), malloc, (p); ld.param.b64 %rd5, [q]; }
             st.global.u32 [%rd5], %r0;
             ",
            $($body),*
        )
    };
}

pub(super) const PAIRS: &[Pair] = &[
    pair(
        "an element past the end of a block of the heap",
        GlobalOutOfBounds,
        32,
        block!(
            "st.global.u32 [%rd5+20], %r0; // HERE
             { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }"
        ),
        block!(
            "st.global.u32 [%rd5+16], %r0; { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }"
        ),
    ),
    pair(
        "an element before a block of the heap",
        GlobalOutOfBounds,
        32,
        block!(
            "st.global.u8 [%rd5+-1], %r0; // HERE
             { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }"
        ),
        block!("st.global.u8 [%rd5+19], %r0; { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }"),
    ),
    pair(
        "an element of a block that was freed",
        GlobalOutOfBounds,
        32,
        block!(
            "{ .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }
             ld.global.u32 %r9, [%rd5]; // HERE
             st.global.u32 [%rd3], %r9;"
        ),
        block!(
            "ld.global.u32 %r9, [%rd5]; { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }
             st.global.u32 [%rd3], %r9;"
        ),
    ),
    pair(
        "an atomic on a block that was freed",
        GlobalOutOfBounds,
        32,
        block!(
            "{ .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }
             atom.add.u32 %r9, [%rd5], 1; // HERE
             "
        ),
        block!("atom.add.u32 %r9, [%rd5], 1; { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }"),
    ),
    pair(
        "a block that is freed twice",
        InvalidFree,
        32,
        block!(
            "{ .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }
             { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); } // HERE
             "
        ),
        block!(
            "{ .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); } mov.u64 %rd5, 0;
             { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }"
        ),
    ),
    pair(
        "an address inside a block that is freed",
        InvalidFree,
        32,
        block!(
            "add.s64 %rd5, %rd5, 16;
             { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); } // HERE
             "
        ),
        block!(
            "add.s64 %rd5, %rd5, 16; sub.s64 %rd5, %rd5, 16; { .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }"
        ),
    ),
    pair(
        "a buffer of the host that is freed",
        InvalidFree,
        32,
        block!(
            "{ .param .b64 p; st.param.b64 [p], %rd0; call.uni free, (p); } // HERE
             "
        ),
        block!("{ .param .b64 p; st.param.b64 [p], %rd5; call.uni free, (p); }"),
    ),
];
