//! Kernels of the tests: built and assembled, or rejected.

use crate::ptxas;
use warpwright::ptx::{BuildError, BuildErrorKind, Builder, Kernel, Params, Target};

/// Builds the same kernel for an old and a new target and assembles both; returns the text for the old target.
pub(super) fn built<A: Params>(
    signature: &str,
    write: impl for<'k> Fn(Builder<'k>, A::Handles<'k>),
) -> String {
    let kernels = [Target::SM_80, Target::SM_90A].map(|target| {
        let kernel =
            Kernel::<A>::build(signature, target, |k, handles| write(k, handles)).expect("it builds");
        ptxas::kernel(&kernel);
        ptxas::module(&kernel.ptx_with_lines(), target);
        kernel.ptx()
    });
    kernels.into_iter().next().expect("two")
}

/// The error for which a kernel is rejected.
pub(super) fn refused<A: Params>(write: impl for<'k> FnOnce(Builder<'k>, A::Handles<'k>)) -> BuildErrorKind {
    let refused: BuildError =
        Kernel::<A>::build("refused", Target::SM_80, write).expect_err("the kernel must be rejected");
    assert!(refused.location().file().ends_with(".rs") && refused.location().file().contains("ptx_module"));
    refused.kind().clone()
}

/// The lines of a kernel's body that contain one of these words, without indentation and repeated spaces.
pub(super) fn lines(ptx: &str, words: &[&str]) -> Vec<String> {
    ptx.lines()
        .filter(|line| words.iter().any(|word| line.contains(word)))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect()
}
