//! The devices on which kernels are tested: the simulator and, if available, the GPU.
#![allow(dead_code, reason = "each test binary uses its own part")]

use warpwright::{
    ptx::Target,
    run::{AnyDevice, Device, DeviceChoice, Simulator, open},
    sim::Arch,
};

use crate::require;

/// Returns the GPU; if none is available, reports that the test is skipped.
pub(crate) fn gpu() -> Option<AnyDevice> {
    open(DeviceChoice::Gpu).map_err(|why| require::skip("gpu", &why.to_string())).ok()
}

/// Returns the GPU, and a simulator of its arithmetic.
pub(crate) fn pair() -> Option<(AnyDevice, Simulator)> {
    let gpu = gpu()?;
    let arch = match gpu.capability() {
        (7, 5) => Arch::Sm75,
        (8, 6) => Arch::Sm86,
        (8, 9) => Arch::Sm89,
        (8, _) => Arch::Sm80,
        (9, _) => Arch::Sm90,
        (10, _) => Arch::Sm100,
        (12, _) => Arch::Sm120,
        (major, minor) => {
            require::skip("gpu", &format!("no simulator has the arithmetic of sm_{major}{minor}"));
            return None;
        }
    };
    Some((gpu, Simulator::new().arch(arch)))
}

/// Returns the simulator and, if available, the GPU.
pub(crate) fn all() -> Vec<AnyDevice> {
    let (gpu, simulator) =
        pair().map_or_else(|| (None, Simulator::new()), |(gpu, simulator)| (Some(gpu), simulator));
    [AnyDevice::Sim(simulator)].into_iter().chain(gpu).collect()
}

/// Returns whether the code of a target runs on a device.
fn runs(target: Target, device: &impl Device) -> bool {
    let (major, minor) = device.capability();
    target.runs_on(major as u16, minor as u16)
}

/// Returns a simulator that runs the code of a target: of sm_90, or else of the target's architecture.
pub(crate) fn simulator_of(target: Target) -> Simulator {
    let of_arch = |arch| Simulator::new().arch(arch);
    let simulators = [Simulator::new()].into_iter().chain([Arch::Sm100, Arch::Sm120].map(of_arch));
    simulators.into_iter().find(|simulator| runs(target, simulator)).expect("a simulator of every target")
}

/// Returns the devices that run the code of a target: the simulator and, if available and recent enough, the GPU.
pub(crate) fn of(target: Target) -> Vec<AnyDevice> {
    let devices = all();
    match devices.iter().all(|device| runs(target, device)) {
        true => devices,
        false => vec![AnyDevice::Sim(simulator_of(target))],
    }
}

/// Returns the result of `on`, which must have the same bits on every device.
pub(crate) fn everywhere<R: PartialEq + std::fmt::Debug>(on: impl Fn(&AnyDevice) -> R) -> R {
    everywhere_of(Target::SM_75, on)
}

/// Returns the result of `on`, which must have the same bits on every device that runs the code of a target.
pub(crate) fn everywhere_of<R: PartialEq + std::fmt::Debug>(
    target: Target,
    on: impl Fn(&AnyDevice) -> R,
) -> R {
    let mut found = of(target).into_iter().map(|device| on(&device));
    let simulated = found.next().expect("the simulator comes first");
    assert!(found.all(|other| other == simulated), "the simulator and the GPU differ");
    simulated
}
