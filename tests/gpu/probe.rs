//! Each reason why a driver is not usable has its own error.
#![allow(unsafe_code, reason = "opens stand-in drivers by path")]

use super::stand_in::StandIn;
use pretty_assertions::assert_eq;
use warpwright::gpu::{CallFailed, CudaCode, CudaVersion, Driver, Gpu, GpuError, Unavailable, probe};

fn open(macros: &[&str]) -> Option<Result<Driver, Unavailable>> {
    let stand_in = StandIn::build(macros)?;
    // SAFETY: the stand-in has no initializers, and its symbols have the driver's types.
    Some(unsafe { Driver::open(&[stand_in.path()]) })
}

/// The error and its message.
fn failure(macros: &[&str]) -> Option<(Unavailable, String)> {
    let error = open(macros)?.expect_err("this driver is unusable");
    let text = error.to_string();
    Some((error, text))
}

#[test]
fn the_probe_answers_and_agrees_with_gpu_new() {
    match (probe(), Gpu::new(0)) {
        (Ok(driver), Ok(gpu)) => assert_eq!(driver.version(), gpu.properties().driver),
        (Err(why), Err(GpuError::Unavailable(same))) => assert_eq!(why, same),
        (probed, gpu) => panic!("{probed:?} but {gpu:?}"),
    }
}

#[test]
fn no_library() {
    // SAFETY: nothing is loaded.
    let missing = unsafe { Driver::open(&["libwarpwright_no_such_driver.so.1"]) };
    let error = missing.expect_err("there is no such library");
    assert_eq!(error.to_string(), "no NVIDIA driver: expected libwarpwright_no_such_driver.so.1, found none");
    assert!(matches!(error, Unavailable::NoDriver { .. }));
}

#[test]
fn an_unreadable_library_is_a_missing_library() {
    let Some(stand_in) = StandIn::build(&[]) else { return };
    std::fs::write(stand_in.path(), "no ELF file").expect("the folder can be written");
    // SAFETY: nothing is loaded.
    let missing = unsafe { Driver::open(&[stand_in.path()]) };
    assert!(matches!(missing, Err(Unavailable::NoDriver { .. })));
}

#[test]
fn a_working_driver() {
    // The oldest supported version.
    let Some(driver) = open(&["VERSION=12000", "DEVICES=3"]) else { return };
    let driver = driver.expect("the stand-in works");
    assert_eq!((driver.version().to_string().as_str(), driver.device_count()), ("12.0", 3));
}

#[test]
fn a_stub_library() {
    let Some((error, text)) = failure(&["STUB"]) else { return };
    assert!(text.contains("is not a working NVIDIA driver: it has no symbol `cu"), "{text}");
    assert!(matches!(error, Unavailable::BrokenDriver { .. }));
}

#[test]
fn every_required_symbol_is_looked_up() {
    for symbol in Driver::required_symbols() {
        let Some((error, _)) = failure(&[&format!("{symbol}=absent")]) else { return };
        let Unavailable::BrokenDriver { symbol: found, .. } = error else { panic!("{error:?}") };
        assert_eq!(found, symbol);
    }
}

#[test]
fn either_version_of_event_elapsed_time_suffices() {
    let Some(driver) = open(&["cuEventElapsedTime=cuEventElapsedTime_v2"]) else { return };
    assert!(driver.is_ok(), "{driver:?}");
}

#[test]
fn the_toolkits_stub() {
    let Some((error, text)) = failure(&["INIT=34"]) else { return };
    let code = CudaCode::STUB_LIBRARY;
    assert_eq!(error, Unavailable::Init(CallFailed { call: "cuInit", code }));
    assert_eq!(
        text,
        "the NVIDIA driver did not start: cuInit returned CUDA_ERROR_STUB_LIBRARY (34); \
         the toolkit's stub library was found in place of the driver's"
    );
}

#[test]
fn no_device() {
    let driver = CudaVersion { major: 13, minor: 0 };
    for macros in [["INIT=100"], ["DEVICES=0"]] {
        let Some((error, text)) = failure(&macros) else { return };
        assert_eq!(error, Unavailable::NoDevice { driver });
        assert_eq!(text, "the NVIDIA driver (CUDA 13.0) finds no device");
    }
}

#[test]
fn an_old_driver_is_not_a_broken_driver() {
    // Missing symbols are not a defect in CUDA 11.4.
    let Some((error, text)) = failure(&["VERSION=11040", "cuLaunchKernelEx=absent"]) else { return };
    assert!(matches!(error, Unavailable::TooOld { .. }));
    assert_eq!(text, "expected an NVIDIA driver that supports CUDA 12.0 or later, found CUDA 11.4");
}
