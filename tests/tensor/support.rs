//! Functions that tests of kernels share.

use warpwright::{
    ptx::Kernel,
    run::{Details, Launched},
    sim,
};

/// Returns the number of instructions of the kernel that begin with `mnemonic`.
pub(super) fn count<A>(kernel: &Kernel<A>, mnemonic: &str) -> usize {
    let module = sim::Module::parse(&kernel.ptx()).unwrap();
    let entry = module.entry(kernel.name()).unwrap();
    let counts = entry.instruction_counts();
    counts.iter().filter(|(name, _)| name.starts_with(mnemonic)).map(|(_, count)| count).sum()
}

/// Returns numbers that identify positions.
pub(super) fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|i| i as f32 + 0.5).collect()
}

/// Returns the simulator's counts.
pub(super) fn counts(launched: &Launched) -> sim::Counts {
    match &launched.details {
        Details::Simulated(report) => report.counts,
        other => panic!("not simulated: {other:?}"),
    }
}
