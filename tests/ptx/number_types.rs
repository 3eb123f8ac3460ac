//! Host numbers of at most 8 bits and tf32: every value, and every boundary between roundings, compared with a search over all values and with the
//! simulator's `cvt`.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{BuildErrorKind, Rounding},
    sim::arith::{Float, Round, cvt::CvtMode, cvt::cvt},
};

/// A number of a format by its definition (OCP, "8-bit Floating Point Specification", Table 1, and "Microscaling Formats Specification").
fn defined(bits: u8, exponent_bits: i32, fraction_bits: i32) -> f64 {
    let sign = exponent_bits + fraction_bits;
    let field = (i32::from(bits) & ((1 << sign) - 1)) >> fraction_bits;
    let fraction = f64::from(i32::from(bits) & ((1 << fraction_bits) - 1)) / 2f64.powi(fraction_bits);
    let bias = (1 << (exponent_bits - 1)) - 1;
    let magnitude = match field {
        0 => fraction * 2f64.powi(1 - bias),
        _ => (1.0 + fraction) * 2f64.powi(field - bias),
    };
    if bits >> sign & 1 == 1 { -magnitude } else { magnitude }
}

/// A type with its format.
struct Type {
    name: &'static str,
    float: Float,
    fields: [i32; 2],
    /// The largest finite number.
    max: u8,
    /// The result of NaN.
    nan: u8,
    /// Zero, one, the extremes, the smallest normal and the smallest number.
    constants: [u8; 6],
    to_f32: fn(u8) -> f32,
    from_f32: fn(f32) -> u8,
}

macro_rules! types {
    ($($t:ident: $float:ident, $fields:expr, $max:literal, $nan:literal;)*) => {
        const TYPES: &[Type] = &[$(Type {
            name: stringify!($t),
            float: Float::$float,
            fields: $fields,
            max: $max,
            nan: $nan,
            constants: [
                $t::ZERO.to_bits(),
                $t::ONE.to_bits(),
                $t::MAX.to_bits(),
                $t::MIN.to_bits(),
                $t::MIN_POSITIVE.to_bits(),
                $t::MIN_POSITIVE_SUBNORMAL.to_bits(),
            ],
            to_f32: |bits| $t::from_bits(bits).to_f32(),
            from_f32: |x| $t::from_f32(x).to_bits(),
        },)*];
    };
}

// Type: widths of exponent and fraction, the largest finite number, the result of NaN.
types! {
    e4m3: E4m3, [4, 3], 0x7e, 0x7f;
    e5m2: E5m2, [5, 2], 0x7b, 0x7f;
    e3m2: E3m2, [3, 2], 0x1f, 0x1f;
    e2m3: E2m3, [2, 3], 0x1f, 0x1f;
}

impl Type {
    fn sign(&self) -> u8 {
        1 << (self.fields[0] + self.fields[1])
    }

    fn number(&self, bits: u8) -> f64 {
        defined(bits, self.fields[0], self.fields[1])
    }

    /// The finite number closest to `x`, the even one of two.
    fn nearest(&self, x: f32) -> u8 {
        // Distances to larger numbers are equal, or become so by rounding.
        let magnitude = f64::from(x).abs().min(1e6);
        let distance = |bits: &u8| (self.number(*bits) - magnitude).abs();
        let closest =
            (0..=self.max).min_by(|a, b| distance(a).total_cmp(&distance(b)).then((a & 1).cmp(&(b & 1))));
        closest.expect("the format has numbers") | if x.is_sign_negative() { self.sign() } else { 0 }
    }
}

/// The f32 next to `x`, away from zero or towards it.
fn neighbors(x: f32) -> [f32; 3] {
    [f32::from_bits(x.to_bits().saturating_sub(1)), x, f32::from_bits(x.to_bits() + 1)]
}

/// Every number of a format, every midpoint, and their neighbors; extremes of f32; and others that are spread over all bits.
fn f32s(numbers: impl Iterator<Item = f64>) -> Vec<f32> {
    let numbers: Vec<f64> = numbers.collect();
    let midpoints = numbers.windows(2).map(|pair| (pair[0] + pair[1]) / 2.0);
    let boundaries = numbers.iter().copied().chain(midpoints).flat_map(|x| neighbors(x as f32));
    let extremes =
        [f32::MIN_POSITIVE, f32::MAX, f32::INFINITY, f32::from_bits(1), f32::from_bits(0x007f_ffff)];
    let spread = (0..1 << 16).map(|i: u32| f32::from_bits(i.wrapping_mul(0x9e37_79b1) >> 1));
    boundaries.chain(extremes).chain(spread).filter(|x| !x.is_nan()).flat_map(|x| [x, -x]).collect()
}

#[test]
fn minifloats_widen_exactly() {
    for ty in TYPES {
        for bits in 0..=u8::MAX {
            let (found, mode) = ((ty.to_f32)(bits), CvtMode::default());
            // No instruction converts to f32 directly; f16 contains every number.
            let used = bits & (ty.sign() | (ty.sign() - 1));
            let half = cvt(Float::F16.into(), ty.float.into(), mode, used.into());
            let simulated = cvt(Float::F32.into(), Float::F16.into(), mode, half);
            assert_eq!(u64::from(found.to_bits()), simulated, "{} {bits:#x}", ty.name);
            if found.is_finite() {
                assert_eq!(f64::from(found).to_bits(), ty.number(bits).to_bits(), "{} {bits:#x}", ty.name);
                assert_eq!((ty.from_f32)(found), used, "{} {bits:#x}", ty.name);
            }
        }
        let [zero, one, max, min, min_positive, smallest] = ty.constants;
        assert_eq!((zero, max, min, smallest), (0, ty.max, ty.max | ty.sign(), 1), "{}", ty.name);
        assert_eq!(ty.number(one), 1.0, "{}", ty.name);
        assert_eq!(min_positive, (1u8..).find(|&bits| bits >> ty.fields[1] == 1).unwrap(), "{}", ty.name);
    }
    assert!((0..=255).filter(|&bits| e4m3::from_bits(bits).is_nan()).eq([0x7f, 0xff]));
    assert!((0..=255).filter(|&bits| e5m2::from_bits(bits).is_infinite()).eq([0x7c, 0xfc]));
    assert!(
        (0..=255).filter(|&bits| e5m2::from_bits(bits).is_nan()).eq([0x7d, 0x7e, 0x7f, 0xfd, 0xfe, 0xff])
    );
    assert_eq!((e4m3::MAX.to_f32(), e4m3::MIN_POSITIVE.to_f32()), (448.0, 2f32.powi(-6)));
    assert_eq!((e5m2::MAX.to_f32(), e5m2::MIN_POSITIVE.to_f32()), (57344.0, 2f32.powi(-14)));
    assert_eq!((e4m3::ONE.to_f32(), e5m2::ONE.to_f32(), tf32::ONE.to_f32()), (1.0, 1.0, 1.0));
}

#[test]
fn minifloats_round_to_the_nearest_and_saturate() {
    let mode = CvtMode { satfinite: true, ..CvtMode::default() };
    for ty in TYPES {
        for x in f32s((0..=ty.max).map(|bits| ty.number(bits))) {
            let found = (ty.from_f32)(x);
            assert_eq!(found, ty.nearest(x), "{} of {x:e}", ty.name);
            let simulated = cvt(ty.float.into(), Float::F32.into(), mode, x.to_bits().into());
            assert_eq!(u64::from(found), simulated, "{} of {x:e}", ty.name);
        }
        for nan in [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0xffff_ffff].map(f32::from_bits) {
            assert_eq!((ty.from_f32)(nan), ty.nan, "{}", ty.name);
            let simulated = cvt(ty.float.into(), Float::F32.into(), mode, nan.to_bits().into());
            assert_eq!(u64::from(ty.nan), simulated, "{}", ty.name);
        }
    }
}

#[test]
fn e5m2_overflows_to_infinity_on_request() {
    // The upper half of an f16, if that is rounded once: f16 contains every midpoint.
    for x in f32s((0..=0x7bu8).map(|bits| defined(bits, 5, 2))) {
        let found = e5m2::from_f32_with_infinity(x).to_bits();
        let simulated = cvt(Float::E5m2.into(), Float::F32.into(), CvtMode::default(), x.to_bits().into());
        assert_eq!(u64::from(found), simulated, "{x:e}");
    }
    let [below, at] = [61439.996, 61440.0].map(e5m2::from_f32_with_infinity);
    assert_eq!((below, at), (e5m2::MAX, e5m2::INFINITY));
    assert_eq!(e5m2::from_f32_with_infinity(f32::NEG_INFINITY), e5m2::NEG_INFINITY);
    assert!(e5m2::from_f32_with_infinity(f32::NAN).is_nan());
}

#[test]
fn tf32_rounds_like_both_instructions() {
    let ten_digits =
        (0..1 << 12).map(|i: u32| f64::from(f32::from_bits(i.wrapping_mul(0x9e37_79b1) >> 1 & !0x1fff)));
    // Consecutive numbers around 1 and the smallest, and some anywhere.
    let numbers = (0..64).map(|i| f64::from(f32::from_bits(0x3f7f_0000 + (i << 13))));
    let smallest = (0..8).map(|i| f64::from(f32::from_bits(i << 13)));
    let nans = [0x7fc0_0000, 0xffc0_0000, 0x7f80_0001, 0x7fff_ffff].map(f32::from_bits);
    let ties = (0..64).map(|i| f32::from_bits(0x4f00_1000 + (i << 13)));
    for x in f32s(numbers.chain(smallest).chain(ten_digits)).into_iter().chain(nans).chain(ties) {
        let simulated = |round| {
            cvt(
                Float::Tf32.into(),
                Float::F32.into(),
                CvtMode { round, ..CvtMode::default() },
                x.to_bits().into(),
            )
        };
        assert_eq!(u64::from(tf32::from_f32(x).to_bits()), simulated(Round::Rna), "{:#x}", x.to_bits());
        let even = tf32::from_f32_ties_even(x).to_bits();
        assert_eq!(u64::from(even), simulated(Round::Rn), "{:#x}", x.to_bits());
        assert_eq!(tf32::from_f32(x).to_f32().to_bits() & 0x1fff, 0);
    }
    assert_eq!(tf32::from_f32(1.0 + 2f32.powi(-11)).to_f32(), 1.0 + 2f32.powi(-10));
    assert_eq!(tf32::from_f32_ties_even(1.0 + 2f32.powi(-11)).to_f32(), 1.0);
    assert_eq!(tf32::MAX.to_f32(), f32::from_bits(0x7f7f_e000));
    assert_eq!(tf32::from_f32(f32::MAX), tf32::INFINITY);
}

#[test]
fn numbers_compare_and_print_like_f32() {
    assert!(e4m3::NAN != e4m3::NAN && e5m2::NAN != e5m2::NAN && tf32::NAN != tf32::NAN);
    assert_eq!((-e4m3::ZERO, -e5m2::ZERO, -tf32::ZERO), (e4m3::ZERO, e5m2::ZERO, tf32::ZERO));
    assert!(e4m3::MIN < -e4m3::ONE && e5m2::NEG_INFINITY < e5m2::MIN && tf32::MAX < tf32::INFINITY);
    assert_eq!(((-e4m3::ONE).abs(), (-e2m3::ONE).abs()), (e4m3::ONE, e2m3::ONE));
    assert!(e3m2::MIN == -e3m2::MAX && (-e3m2::ZERO).is_sign_negative() && !e3m2::MAX.is_sign_negative());
    assert!((0..=u8::MAX).map(e3m2::from_bits).all(|x| x.is_finite() && !x.is_nan() && !x.is_infinite()));
    assert_eq!(format!("{} {:?} {}", e4m3::MAX, -e5m2::ONE, tf32::ONE), "448 -1.0 1");
}

/// The mnemonic that a target refuses, and the lowest target that has it.
fn refused(target: Target, write: impl for<'k> Fn(Builder<'k>, Val<'k, f32>)) -> (String, Target) {
    let kernel = Kernel::<(f32,)>::build("conversion", target, |k, (x,)| write(k, x));
    match kernel.expect_err("the target lacks the instruction").kind() {
        BuildErrorKind::Unsupported { mnemonic, lowest, .. } => (mnemonic.clone(), *lowest),
        other => panic!("{other}"),
    }
}

#[test]
fn targets_without_a_conversion_refuse_it_and_name_one_that_has_it() {
    let named = |mnemonic: &str, target| (mnemonic.to_string(), target);
    assert_eq!(
        refused(Target::SM_80, |_, x| {
            let _ = x.to_minifloat::<e4m3>();
        }),
        named("cvt.rn.satfinite.e4m3x2.f32", Target::SM_89)
    );
    assert_eq!(
        refused(Target::SM_86, |_, x| {
            let _ = x.bits::<e5m2>().to_f32();
        }),
        named("cvt.rn.f16x2.e5m2x2", Target::SM_89)
    );
    assert_eq!(
        refused(Target::SM_90A, |_, x| {
            let _ = x.to_minifloat::<e2m3>();
        }),
        named("cvt.rn.satfinite.e2m3x2.f32", Target::SM_100A)
    );
    assert_eq!(
        refused(Target::SM_75, |_, x| {
            let _ = x.to_tf32();
        }),
        named("cvt.rna.tf32.f32", Target::SM_80)
    );
    assert_eq!(
        refused(Target::SM_89, |_, x| {
            let _ = x.to_tf32_with(Rounding::Rn);
        }),
        named("cvt.rn.tf32.f32", Target::SM_90)
    );
    assert_eq!(
        refused(Target::SM_120A, |k, x| {
            let _ = k.pack_stochastic::<bf16x2>(x, x, 1u32);
        }),
        named("cvt.rs.bf16x2.f32", Target::SM_100A)
    );
}
