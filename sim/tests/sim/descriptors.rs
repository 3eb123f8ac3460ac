//! The shared-memory addresses that wgmma reads for a tile: the swizzle depends on absolute addresses, less the base offset.

use super::support::{one_block, run};
use pretty_assertions::assert_eq;

/// B is 8 rows of 16 f16, K-major; A is the identity. Every 16-byte unit of shared memory contains its index, so the sums show the unit
/// from which each row of B was read.
fn kernel(start: usize, base_offset: usize, mode: usize) -> String {
    let stride = 128 * units(mode);
    let upper = mode << 30 | base_offset << 17 | stride >> 4;
    super::support::kernel(
        ".param .u64 out, .param .u64 unused",
        &format!(
            ".reg .b32 %r<20>; .reg .f32 %f<5>; .reg .b64 %rd<3>; .reg .pred %p<4>; .reg .b16 %h;
            .shared .align 1024 .b8 s[16384];
            mov.u32 %r0, %tid.x; mov.u32 %r1, s; mov.u32 %r2, %r0;
            L: shr.u32 %r3, %r2, 2; cvt.rn.f32.u32 %f4, %r3; cvt.rn.f16.f32 %h, %f4; mov.b32 %r4, {{%h, %h}};
            mad.lo.u32 %r5, %r2, 4, %r1; st.shared.u32 [%r5], %r4;
            add.u32 %r2, %r2, 128; setp.lt.u32 %p0, %r2, 4096; @%p0 bra L;
            fence.proxy.async; bar.sync 0;
            // The identity: lane l of a warp holds row l / 4 and columns 2 (l mod 4), 2 (l mod 4) + 1.
            and.b32 %r6, %r0, 31; shr.u32 %r7, %r6, 2; and.b32 %r8, %r6, 3;
            mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;
            shr.u32 %r9, %r7, 1; setp.eq.u32 %p1, %r9, %r8; and.b32 %r14, %r7, 1; setp.eq.u32 %p2, %r14, 1;
            selp.b32 %r15, 0x3c000000, 0x00003c00, %p2; @%p1 mov.u32 %r10, %r15; @%p1 mov.u32 %r13, %r15;
            add.u32 %r16, %r1, {start}; shr.u32 %r16, %r16, 4; or.b32 %r16, %r16, 0x10000; mov.b64 %rd1, {{%r16, {upper}}};
            mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;
            wgmma.fence.sync.aligned; setp.ne.u32 %p3, %r0, %r0;
            wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, {{%r10, %r11, %r12, %r13}}, %rd1, %p3, 1, 1, 0;
            wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
            ld.param.u64 %rd2, [out]; mad.wide.u32 %rd2, %r0, 16, %rd2;
            st.global.v4.f32 [%rd2], {{%f0, %f1, %f2, %f3}}; ret;"
        ),
    )
}

/// Returns the number of 16-byte units in a row of a swizzle mode.
fn units(mode: usize) -> usize {
    [0, 8, 4, 2][mode]
}

#[test]
fn tiles_may_start_in_any_row_of_the_swizzle() {
    // All of these were tried on an H100, with these results.
    let starts =
        [(0, 0), (128, 0), (384, 0), (1024, 0), (128, 1), (256, 2), (384, 3), (128, 2), (896, 7), (1024, 3)];
    for mode in 1..4 {
        for (start, base_offset) in starts {
            let (out, _) = run(&kernel(start, base_offset, mode), &one_block(128), &[0], 4 * 128)
                .unwrap_or_else(|e| panic!("start {start}, base offset {base_offset}, mode {mode}: {e}"));
            // Sum (row, n) of the first warp is in lane 4 row + n / 2; rows 8 and up are the upper half of K.
            let unit = |half: usize, n: usize| f32::from_bits(out[4 * (n / 2) + n % 2 + 2 * half]) as usize;
            for (half, n) in (0..2).flat_map(|half| (0..8).map(move |n| (half, n))) {
                let address = start + 16 * units(mode) * n + 16 * half;
                let row = (address / 128).wrapping_sub(base_offset) % units(mode);
                let wanted = (address ^ row << 4) / 16;
                assert_eq!(
                    unit(half, n),
                    wanted,
                    "start {start}, base offset {base_offset}, mode {mode}, row {n}"
                );
            }
        }
    }
}
