//! Bugs that only the simulator finds, reported at the Rust line that emitted the instruction.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::{Device, RunError, Simulator},
    sim::{Finding, FindingKind, SimError},
};

/// Runs a kernel on the numbers 0 to 63 and returns its first finding.
fn finding(kernel: &Kernel<(InOut<u32>,)>) -> Option<Finding> {
    let device = Simulator::new();
    let mut x = device.upload(&(0..64).collect::<Vec<u32>>()).expect("room");
    match device.launch(kernel, (&mut x,)) {
        Ok(_) => None,
        Err(RunError::Simulation(error)) => match *error {
            SimError::Fault(finding) => Some(*finding),
            error => panic!("{error}"),
        },
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn two_warps_that_double_the_same_elements_in_place_race() {
    let build = |alike: bool| {
        let kernel = Kernel::<(InOut<u32>,)>::build("double(x)", Target::SM_80, |k, (x,)| {
            let block = k.block([64]);
            k.grid([1]);
            let x = k.slice(x, 64);
            let i = if alike { k.warp().thread() } else { block.thread() };
            x.at(i).store(x.at(i).load() * 2);
        });
        kernel.expect("it builds")
    };
    let race = finding(&build(true)).expect("a race");
    assert_eq!((race.kind, race.site.warp), (FindingKind::GlobalRace, 1), "{race}");
    assert_eq!(finding(&build(false)), None);
}

#[test]
fn a_false_assumption_of_uniformity_is_found_at_its_line() {
    let build = |elements_per_value: u32| {
        let mut line = 0;
        let kernel = Kernel::<(InOut<u32>,)>::build("sync(x)", Target::SM_80, |k, (x,)| {
            let block = k.block([64]);
            k.grid([1]);
            let value = k.slice(x, 64).at(block.thread() / elements_per_value).load();
            line = line!() + 1;
            let value = value.assume_uniform(block);
            k.if_(value.ge(0), || block.sync());
        });
        (kernel.expect("it builds"), line)
    };
    let (kernel, line) = build(32);
    let found = finding(&kernel).expect("two values");
    assert_eq!(found.kind, FindingKind::NotUniform, "{found}");
    assert_eq!(found.site.source.as_ref().map(|source| source.line), Some(line), "{found}");
    assert_eq!(finding(&build(64).0), None);
    // Files for other assemblers do not contain the assumption.
    assert!(!kernel.ptx().contains(".pragma") && !kernel.ptx_with_lines().contains(".pragma"));
}

#[test]
fn assumptions_about_eliminated_registers_are_eliminated() {
    let kernel = Kernel::<(InOut<u32>,)>::build("sync(x)", Target::SM_80, |k, (x,)| {
        let block = k.block([64]);
        k.grid([1]);
        let x = k.slice(x, 64);
        let value = x.at(block.thread() / 64).load();
        let quadrupled = (value * 4).assume_uniform(block);
        // One product by 16, so that nothing reads `quadrupled`.
        let condition = (quadrupled * 4).assume_uniform(block).ge(0);
        k.if_(condition, || block.sync());
    });
    assert_eq!(finding(&kernel.expect("it builds")), None);
}
