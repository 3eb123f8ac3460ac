//! Results of an H200 that the PTX ISA does not specify or contradicts, in addition to the recorded files.

use pretty_assertions::assert_eq;
use warpwright_sim::arith::compare::{Class, testp};
use warpwright_sim::arith::cvt::{CvtMode, cvt};
use warpwright_sim::arith::minmax::{MinMaxMode, max, min};
use warpwright_sim::arith::{Float, Round, approx, float};

#[test]
fn flushing_applies_to_the_rounded_result() {
    // The exact sum is just below the smallest normal number, but the rounded sum is not.
    assert_eq!(float::fma(Float::F16, Round::Rn, true, false, 0x0400, 0x0400, 0x8400), 0x8400);
    assert_eq!(float::fma(Float::F16, Round::Rz, true, false, 0x0400, 0x0400, 0x8400), 0x8000);
    assert_eq!(approx::div(true, 0x0080_0001, 0x3f80_0001), 0x0080_0000);
    assert_eq!(approx::div_full(true, 0x0080_0001, 0x3f80_0001), 0x0080_0000);
}

#[test]
fn an_f16_nan_keeps_its_sign_and_payload_in_f64() {
    let mode = CvtMode::default();
    let f64_of = |bits| cvt(Float::F64.into(), Float::F16.into(), mode, bits);
    assert_eq!(f64_of(0x7c02), 0x7ff8_0800_0000_0000);
    assert_eq!(f64_of(0xfff3), 0xffff_cc00_0000_0000);
}

#[test]
fn one_of_two_f64_nans_is_returned() {
    let pairs = [
        (0x7fff_ffff_ffff_ffff, 0x7ff8_0000_0000_0000),
        (0x7ff0_0000_0000_0001, 0x7fff_ffff_ffff_ffff),
        (0xfff8_0000_0000_0007, 0x7ff8_0000_0000_0001),
    ];
    for (a, b) in pairs {
        for round in [Round::Rn, Round::Rz, Round::Rm, Round::Rp] {
            assert_eq!(float::div(Float::F64, round, false, a, b), a | 1 << 51);
        }
        assert_eq!(min(Float::F64, MinMaxMode::default(), a, b), b);
        assert_eq!(max(Float::F64, MinMaxMode::default(), a, b), b);
    }
    // With only one NaN operand, the result does not depend on the order of operands.
    let (one, nan) = (0x3ff0_0000_0000_0000, 0xfff8_0000_0000_0007);
    assert_eq!(float::div(Float::F64, Round::Rn, false, one, nan), nan);
    assert_eq!(min(Float::F64, MinMaxMode::default(), one, nan), one);
}

#[test]
fn functions_of_upper_words() {
    let nan = 0x7fff_ffff_0000_0000;
    for x in [0x7ff8_0000_0000_0000, 0xfff0_0001_0000_0000] {
        assert_eq!(approx::rcp_f64(x), nan);
        assert_eq!(approx::rsqrt_ftz_f64(x), nan);
    }
    // The payload is in the lower word.
    assert_eq!(approx::rcp_f64(0x7ff0_0000_0000_0001), 0);
    assert_eq!(approx::rsqrt_ftz_f64(0x7ff0_0000_0000_0001), 0);
    for x in [-1.0, f64::MIN, f64::NEG_INFINITY] {
        assert_eq!(approx::rsqrt_ftz_f64(x.to_bits()), nan);
    }
    assert_eq!(approx::rsqrt_ftz_f64((-0.0f64).to_bits()), f64::NEG_INFINITY.to_bits());
}

#[test]
fn rsqrt_of_f64_is_not_always_correctly_rounded() {
    assert_eq!(approx::rsqrt_f64(0x4e2f_ad86_b531_e757), 0x38d0_14c6_83f3_b942);
    assert_eq!(approx::rsqrt_f64(4f64.to_bits()), 0.5f64.to_bits());
    // 2^-1074
    assert_eq!(approx::rsqrt_f64(1), 2f64.powi(537).to_bits());
}

#[test]
fn zeros_are_normal() {
    for (ty, zero) in [(Float::F32, 0), (Float::F32, 1 << 31), (Float::F64, 0), (Float::F64, 1 << 63)] {
        assert!(testp(ty, Class::Normal, zero));
        assert!(!testp(ty, Class::Subnormal, zero));
    }
    assert!(!testp(Float::F32, Class::Normal, 1));
}
