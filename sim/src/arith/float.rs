//! Rounded floating-point arithmetic: add, sub, mul, fma, div, rcp, sqrt.
//!
//! See PTX ISA, "Floating Point Instructions" and "Half Precision Floating Point Instructions". Results are correctly rounded. `ftz`
//! replaces subnormal operands and results with zeros of the same sign; `sat` clamps results to [0, 1] and replaces NaN with +0. A NaN
//! result is `0x7fffffff` (f32) or `0x7fff` (f16, bf16) regardless of the operands. In f64, a NaN operand is quieted and propagated. If
//! several operands are NaN, the second takes precedence, then the third, then the first (for `div`, the first). If no operand is NaN, a
//! NaN result is `0xfff8000000000000`.

use super::format::{Float, Round};
use super::unpacked::{Exact, Unpacked};

/// The modifiers common to the operations.
#[derive(Clone, Copy, Debug)]
struct Mode {
    round: Round,
    ftz: bool,
    sat: bool,
}

/// Returns `a + b`.
///
/// The sum of zeros with opposite signs, or of numbers that cancel, is +0, or −0 with [`Round::Rm`].
#[doc(alias = "add.f32")]
pub fn add(ty: Float, round: Round, ftz: bool, sat: bool, a: u64, b: u64) -> u64 {
    let mode = Mode { round, ftz, sat };
    native(ty, mode, [a, b, 0], |a, b, _| a + b, |a, b, _| a + b)
        .unwrap_or_else(|| exact_sum(ty, mode, &[a, b], operand(ty, ftz, a), operand(ty, ftz, b)))
}

/// Returns `a - b`.
#[doc(alias = "sub.f32")]
pub fn sub(ty: Float, round: Round, ftz: bool, sat: bool, a: u64, b: u64) -> u64 {
    let minus_b = if ty.is_nan(b) { b } else { b ^ ty.sign_bit() };
    add(ty, round, ftz, sat, a, minus_b)
}

/// Returns `a · b`.
#[doc(alias = "mul.f32")]
pub fn mul(ty: Float, round: Round, ftz: bool, sat: bool, a: u64, b: u64) -> u64 {
    let mode = Mode { round, ftz, sat };
    native(ty, mode, [a, b, 0], |a, b, _| a * b, |a, b, _| a * b).unwrap_or_else(|| {
        let product = product(operand(ty, ftz, a), operand(ty, ftz, b));
        finish(ty, mode, &[a, b], pack(ty, mode, product))
    })
}

/// Returns `a · b + c` with a single rounding.
#[doc(alias = "fma.rn.f32")]
pub fn fma(ty: Float, round: Round, ftz: bool, sat: bool, a: u64, b: u64, c: u64) -> u64 {
    let mode = Mode { round, ftz, sat };
    native(ty, mode, [a, b, c], f32::mul_add, f64::mul_add).unwrap_or_else(|| {
        let product = product(operand(ty, ftz, a), operand(ty, ftz, b));
        exact_sum(ty, mode, &[a, b, c], product, operand(ty, ftz, c))
    })
}

/// Returns `±a · b ± c`, rounded once to nearest: the result of a contracted `mul` and `add` or `sub`.
pub fn contracted(
    ty: Float,
    ftz: bool,
    sat: bool,
    [a, b, c]: [u64; 3],
    minus_product: bool,
    minus_addend: bool,
) -> u64 {
    let signed = |minus: bool, x: u64| if minus && !ty.is_nan(x) { x ^ ty.sign_bit() } else { x };
    fma(ty, Round::Rn, ftz, sat, signed(minus_product, a), b, signed(minus_addend, c))
}

/// Returns `a · b + c` for f16 or bf16 with `.relu`: a negative result becomes +0, and NaN remains the canonical NaN.
///
/// `.oob` returns 0 for the out-of-bounds NaN, whose bits are not documented. It does not require a separate function, because for every
/// NaN tested on an H200 (`0x7fff`, `0xffff`, quiet and signaling NaNs) the result is the same as without `.oob`.
#[doc(alias = "fma.rn.relu.f16")]
pub fn fma_relu(ty: Float, ftz: bool, a: u64, b: u64, c: u64) -> u64 {
    let bits = fma(ty, Round::Rn, ftz, false, a, b, c);
    if bits & ty.sign_bit() != 0 { 0 } else { bits }
}

/// Returns `a / b`, correctly rounded (`div.rn` and the directed forms).
#[doc(alias = "div.rn.f32")]
pub fn div(ty: Float, round: Round, ftz: bool, a: u64, b: u64) -> u64 {
    let mode = Mode { round, ftz, sat: false };
    let quotient = match (operand(ty, ftz, a), operand(ty, ftz, b)) {
        (Unpacked::Nan, _)
        | (_, Unpacked::Nan)
        | (Unpacked::Inf { .. }, Unpacked::Inf { .. })
        | (Unpacked::Zero { .. }, Unpacked::Zero { .. }) => Unpacked::Nan,
        (x, y @ (Unpacked::Inf { .. } | Unpacked::Zero { .. }))
        | (x @ (Unpacked::Inf { .. } | Unpacked::Zero { .. }), y) => {
            let sign = x.sign() != y.sign();
            let infinite = matches!(x, Unpacked::Inf { .. }) || matches!(y, Unpacked::Zero { .. });
            if infinite { Unpacked::Inf { sign } } else { Unpacked::Zero { sign } }
        }
        (Unpacked::Finite(x), Unpacked::Finite(y)) => {
            // Both significands have at most 53 bits, so the quotient has at least 74.
            let up = x.significand.leading_zeros() as i32 - 1;
            let numerator = x.significand << up;
            Unpacked::Finite(Exact {
                sign: x.sign != y.sign,
                exponent: x.exponent - up - y.exponent,
                significand: numerator / y.significand,
                sticky: !numerator.is_multiple_of(y.significand),
            })
        }
    };
    // If both operands are NaN, the dividend is propagated, unlike in other operations.
    finish(ty, mode, &[b, a], pack(ty, mode, quotient))
}

/// Returns `1 / a`, correctly rounded (`rcp.rn` and the directed forms).
#[doc(alias = "rcp.rn.f32")]
pub fn rcp(ty: Float, round: Round, ftz: bool, a: u64) -> u64 {
    let one = (ty.bias() as u64) << (ty.fraction_bits() + ty.padding());
    div(ty, round, ftz, one, a)
}

/// Returns the square root of `a`, correctly rounded (`sqrt.rn` and the directed forms). The square root of −0 is −0.
#[doc(alias = "sqrt.rn.f32")]
pub fn sqrt(ty: Float, round: Round, ftz: bool, a: u64) -> u64 {
    let mode = Mode { round, ftz, sat: false };
    let root = match operand(ty, ftz, a) {
        x @ (Unpacked::Nan | Unpacked::Zero { .. } | Unpacked::Inf { sign: false }) => x,
        x if x.sign() => Unpacked::Nan,
        Unpacked::Finite(x) => {
            // The exponent becomes even, and the significand has at least 126 bits, so the root has at least 63.
            let up = x.significand.leading_zeros() as i32 - 2;
            let up = up + ((x.exponent - up) & 1);
            let square = x.significand << up;
            let significand = square.isqrt();
            Unpacked::Finite(Exact {
                sign: false,
                exponent: (x.exponent - up) / 2,
                significand,
                sticky: significand * significand != square,
            })
        }
        x => x,
    };
    finish(ty, mode, &[a], pack(ty, mode, root))
}

/// Computes with the host's arithmetic if its results have the same bits: f32 and f64, rounded to nearest. Returns `None` if exact
/// arithmetic is required.
fn native(
    ty: Float,
    mode: Mode,
    operands: [u64; 3],
    op32: impl Fn(f32, f32, f32) -> f32,
    op64: impl Fn(f64, f64, f64) -> f64,
) -> Option<u64> {
    if mode.round != Round::Rn || mode.sat {
        return None;
    }
    match ty {
        Float::F32 => {
            let [a, b, c] = operands.map(|bits| f32::from_bits(ty.flush(mode.ftz, bits) as u32));
            let result = op32(a, b, c);
            let bits = u64::from(result.to_bits());
            match result.abs() {
                x if x.is_nan() => Some(ty.canonical_nan()),
                // The smallest normal number may result from rounding up a smaller number, which `.ftz` may flush.
                x if mode.ftz && x == f32::MIN_POSITIVE => None,
                _ => Some(ty.flush(mode.ftz, bits)),
            }
        }
        Float::F64 if !mode.ftz => {
            let [a, b, c] = operands.map(f64::from_bits);
            let result = op64(a, b, c);
            (!result.is_nan()).then_some(result.to_bits())
        }
        _ => None,
    }
}

fn operand(ty: Float, ftz: bool, bits: u64) -> Unpacked {
    Unpacked::new(ty, ty.flush(ftz, bits))
}

fn product(a: Unpacked, b: Unpacked) -> Unpacked {
    let sign = a.sign() != b.sign();
    match (a, b) {
        (Unpacked::Nan, _)
        | (_, Unpacked::Nan)
        | (Unpacked::Inf { .. }, Unpacked::Zero { .. })
        | (Unpacked::Zero { .. }, Unpacked::Inf { .. }) => Unpacked::Nan,
        (Unpacked::Inf { .. }, _) | (_, Unpacked::Inf { .. }) => Unpacked::Inf { sign },
        (Unpacked::Zero { .. }, _) | (_, Unpacked::Zero { .. }) => Unpacked::Zero { sign },
        (Unpacked::Finite(a), Unpacked::Finite(b)) => Unpacked::Finite(a.mul(b)),
    }
}

/// Returns the rounded sum of two exact values; a zero has its IEEE sign.
fn exact_sum(ty: Float, mode: Mode, operands: &[u64], a: Unpacked, b: Unpacked) -> u64 {
    let exact = match (a, b) {
        (Unpacked::Nan, _) | (_, Unpacked::Nan) => Unpacked::Nan,
        (Unpacked::Inf { sign }, Unpacked::Inf { sign: other }) if sign != other => Unpacked::Nan,
        (inf @ Unpacked::Inf { .. }, _) | (_, inf @ Unpacked::Inf { .. }) => inf,
        (Unpacked::Zero { sign }, Unpacked::Zero { sign: other }) => {
            Unpacked::Zero { sign: if sign == other { sign } else { mode.round == Round::Rm } }
        }
        (Unpacked::Zero { .. }, x) | (x, Unpacked::Zero { .. }) => x,
        (Unpacked::Finite(a), Unpacked::Finite(b)) => match a.add(b) {
            Some(sum) => Unpacked::Finite(sum),
            None => Unpacked::Zero { sign: mode.round == Round::Rm },
        },
    };
    finish(ty, mode, operands, pack(ty, mode, exact))
}

fn pack(ty: Float, mode: Mode, value: Unpacked) -> u64 {
    let signed = |sign, magnitude| if sign { ty.sign_bit() | magnitude } else { magnitude };
    match value {
        Unpacked::Nan => ty.canonical_nan(),
        Unpacked::Inf { sign } => signed(sign, ty.infinity()),
        Unpacked::Zero { sign } => signed(sign, 0),
        Unpacked::Finite(x) => x.pack(ty, mode.round, mode.ftz),
    }
}

/// Applies the NaN rule of the type and `.sat` to a packed result.
fn finish(ty: Float, mode: Mode, operands: &[u64], bits: u64) -> u64 {
    if mode.sat {
        return saturate(ty, bits);
    }
    if ty == Float::F64 && ty.is_nan(bits) { propagated_nan(operands) } else { bits }
}

/// Returns the quieted NaN that an f64 operation propagates: operand b if it is NaN, otherwise c, otherwise a.
pub(super) fn propagated_nan(operands: &[u64]) -> u64 {
    let quiet = 1 << 51;
    let in_order = operands.iter().skip(1).chain(operands.first());
    in_order
        .copied()
        .find(|&bits| Float::F64.is_nan(bits))
        .map_or(Float::F64.canonical_nan(), |bits| bits | quiet)
}

/// Applies `.sat`: clamps to [0, 1]; NaN and negative numbers become +0.
pub(super) fn saturate(ty: Float, bits: u64) -> u64 {
    let one = (ty.bias() as u64) << (ty.fraction_bits() + ty.padding());
    if ty.is_nan(bits) || bits & ty.sign_bit() != 0 { 0 } else { bits.min(one) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NEAREST: Mode = Mode { round: Round::Rn, ftz: false, sat: false };

    fn exact_fma(ty: Float, mode: Mode, [a, b, c]: [u64; 3]) -> u64 {
        let product = product(operand(ty, mode.ftz, a), operand(ty, mode.ftz, b));
        exact_sum(ty, mode, &[a, b, c], product, operand(ty, mode.ftz, c))
    }

    /// Returns bits of numbers with similar exponents, so that sums cancel and are rounded.
    fn close(ty: Float) -> impl Strategy<Value = u64> {
        let top = (1u64 << ty.exponent_bits()) - 1;
        let fraction = (1u64 << ty.fraction_bits()) - 1;
        let near = (any::<bool>(), 0..6u64, any::<u64>());
        let near = near.prop_map(move |(negative, exponent, bits)| {
            let sign = if negative { ty.sign_bit() } else { 0 };
            sign | (ty.bias() as u64 - 2 + exponent).min(top) << ty.fraction_bits() | bits & fraction
        });
        prop_oneof![any::<u64>().prop_map(move |bits| bits & ty.mask()), near, 0..4u64]
    }

    fn triples(ty: Float) -> impl Strategy<Value = [u64; 3]> {
        [close(ty), close(ty), close(ty)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn exact_and_native_f32_agree(operands in triples(Float::F32), ftz in any::<bool>()) {
            let mode = Mode { ftz, ..NEAREST };
            let exact = exact_fma(Float::F32, mode, operands);
            if let Some(native) = native(Float::F32, mode, operands, f32::mul_add, f64::mul_add) {
                prop_assert_eq!(native, exact, "{:x?}", operands);
            }
        }

        #[test]
        fn exact_and_native_f64_agree(operands in triples(Float::F64)) {
            let exact = exact_fma(Float::F64, NEAREST, operands);
            if let Some(native) = native(Float::F64, NEAREST, operands, f32::mul_add, f64::mul_add) {
                prop_assert_eq!(native, exact, "{:x?}", operands);
            }
        }

        #[test]
        fn quotients_and_roots_round_as_the_host_does([a, b, _] in triples(Float::F64)) {
            let (x, y) = (f64::from_bits(a), f64::from_bits(b));
            if !(x / y).is_nan() {
                prop_assert_eq!(div(Float::F64, Round::Rn, false, a, b), (x / y).to_bits());
            }
            if !x.sqrt().is_nan() {
                prop_assert_eq!(sqrt(Float::F64, Round::Rn, false, a), x.sqrt().to_bits());
            }
        }

        #[test]
        fn directed_results_enclose_the_nearest(operands in triples(Float::F32)) {
            let result = |round| {
                let bits = exact_fma(Float::F32, Mode { round, ..NEAREST }, operands);
                f32::from_bits(bits as u32)
            };
            let (down, nearest, up) = (result(Round::Rm), result(Round::Rn), result(Round::Rp));
            let zero = result(Round::Rz);
            if !nearest.is_nan() {
                prop_assert!(down <= nearest && nearest <= up);
                prop_assert!(down == up || down.next_up() == up);
                prop_assert_eq!(zero, if down.abs() < up.abs() { down } else { up });
            }
        }
    }
}
