//! Selecting a device.

use pretty_assertions::assert_eq;
use warpwright::run::{AnyDevice, Device, DeviceChoice, RunError, Simulator, open, open_default};

#[test]
fn names_parse_back() {
    for choice in [DeviceChoice::Auto, DeviceChoice::Sim, DeviceChoice::Gpu] {
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }
    let error = "cpu".parse::<DeviceChoice>().expect_err("unknown");
    assert_eq!(error.to_string(), "expected `auto`, `sim` or `gpu`, found `cpu`");
}

#[test]
fn without_a_gpu_the_simulator_names_the_reason() {
    let gpu: Result<AnyDevice, RunError> = open(DeviceChoice::Gpu);
    let device = open_default();
    match gpu {
        Ok(gpu) => assert_eq!(device.describe(), gpu.describe()),
        Err(why) => assert_eq!(device.describe(), format!("simulator (sm_90; {why})")),
    }
    assert_eq!(open(DeviceChoice::Sim).expect("always there").describe(), "simulator (sm_90)");
    assert_eq!(Simulator::new().name(), "simulator");
}
