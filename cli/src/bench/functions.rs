//! Functions in f64, with which results are compared.

use std::f64::consts::PI;

pub(super) fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Returns x · Φ(x), computed with the power series of the error function.
pub(super) fn gelu(x: f64) -> f64 {
    let (mut term, mut sum) = (x / (2.0 * PI).sqrt(), 0.5);
    for i in 0..200 {
        sum += term / f64::from(2 * i + 1);
        term *= -x * x / f64::from(2 * (i + 1));
    }
    x * sum
}

/// Returns GELU with the tanh approximation.
pub(super) fn gelu_tanh(x: f64) -> f64 {
    x / 2.0 * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
}
