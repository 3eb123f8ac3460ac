//! Which device is taken.

use pretty_assertions::assert_eq;
use warpwright::run::{AnyDevice, Choice, Device, RunError, Simulator, first, open};

#[test]
fn names_parse_back() {
    for choice in [Choice::Auto, Choice::Sim, Choice::Gpu] {
        assert_eq!(choice.to_string().parse(), Ok(choice));
    }
    let error = "cpu".parse::<Choice>().expect_err("unknown");
    assert_eq!(error.to_string(), "unknown device `cpu`: wanted auto, sim or gpu");
}

#[test]
fn without_a_gpu_the_simulator_says_why() {
    let gpu: Result<AnyDevice, RunError> = open(Choice::Gpu);
    let device = first();
    match gpu {
        Ok(gpu) => assert_eq!(device.describe(), gpu.describe()),
        Err(why) => assert_eq!(device.describe(), format!("simulator (sm_90; {why})")),
    }
    assert_eq!(open(Choice::Sim).expect("always there").describe(), "simulator (sm_90)");
    assert_eq!(Simulator::new().name(), "simulator");
}
