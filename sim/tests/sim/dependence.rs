//! Programmatic launches: data written by the preceding launch are accessed after `griddepcontrol.wait`.

use pretty_assertions::assert_eq;
use warpwright_sim::{Arg, FindingKind, Memory, Sim, SimError};

use super::support::{one_block, parse};

/// Kernels of one warp: `write` stores to `x`; the others add `w` and `x` to it.
const KERNELS: &str = ".version 8.0\n.target sm_90\n.address_size 64
.visible .entry write(.param .u64 x) {
    .reg .b64 %rd<4>; .reg .b32 %r<4>;
    ld.param.u64 %rd0, [x]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd1, %r0, 4, %rd0;
    st.global.u32 [%rd1], %r0; ret;
}
.visible .entry late(.param .u64 x, .param .u64 w) {
    .reg .b64 %rd<4>; .reg .b32 %r<4>;
    ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, [w]; mov.u32 %r0, %tid.x;
    mad.wide.u32 %rd2, %r0, 4, %rd0; mad.wide.u32 %rd3, %r0, 4, %rd1;
    ld.global.u32 %r1, [%rd3]; ld.global.u32 %r2, [%rd2]; griddepcontrol.wait;
    add.u32 %r1, %r1, %r2; st.global.u32 [%rd2], %r1; ret;
}
.visible .entry right(.param .u64 x, .param .u64 w) {
    .reg .b64 %rd<4>; .reg .b32 %r<4>; .reg .pred %p;
    ld.param.u64 %rd0, [x]; ld.param.u64 %rd1, [w]; mov.u32 %r0, %tid.x; setp.ne.u32 %p, %r0, 0;
    mad.wide.u32 %rd2, %r0, 4, %rd0; mad.wide.u32 %rd3, %r0, 4, %rd1;
    ld.global.u32 %r1, [%rd3]; @%p bra together; griddepcontrol.wait;
together:
    bar.sync 0; ld.global.u32 %r2, [%rd2];
    add.u32 %r1, %r1, %r2; st.global.u32 [%rd2], %r1; ret;
}";

/// Launches kernels on `x` and `w`, with `between` before the last one, and returns its outcome.
fn launch(kernels: &[&str], between: impl Fn(&mut Memory, u64)) -> Result<(), FindingKind> {
    let module = parse(KERNELS);
    let mut memory = Memory::new();
    let (x, w) = (memory.alloc(128), memory.alloc(128));
    let mut outcome = Ok(());
    for (i, kernel) in kernels.iter().enumerate() {
        if i + 1 == kernels.len() {
            between(&mut memory, x);
        }
        let args = if *kernel == "write" { vec![Arg::from(x)] } else { vec![Arg::from(x), Arg::from(w)] };
        outcome = match Sim::new().launch(&module, kernel, &one_block(32), &args, &mut memory) {
            Ok(_) => Ok(()),
            Err(SimError::Fault(finding)) => {
                assert_eq!((*kernel, finding.site.line), ("late", 13));
                Err(finding.kind)
            }
            Err(error) => panic!("{error}"),
        };
    }
    outcome
}

#[test]
fn results_of_the_preceding_launch_are_accessed_after_the_wait() {
    let nothing = |_: &mut Memory, _: u64| ();
    assert_eq!(launch(&["write", "late"], nothing), Err(FindingKind::MissingGridWait));
    assert_eq!(launch(&["write", "right"], nothing), Ok(()));
    // No finding if another launch, or a copy by the host, is between the write and the access.
    assert_eq!(launch(&["right", "late"], nothing), Err(FindingKind::MissingGridWait));
    assert_eq!(launch(&["late"], nothing), Ok(()));
    let by_host = |memory: &mut Memory, x| memory.write(x, &[1; 128]).expect("in bounds");
    assert_eq!(launch(&["write", "late"], by_host), Ok(()));
}
