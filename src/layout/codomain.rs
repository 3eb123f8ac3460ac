//! The codomain of a layout: offsets, or coordinates of another tensor.

use std::fmt::{Debug, Display};

/// The type of a layout's values and strides. A stride is the amount that one step along a mode adds to the value.
///
/// The type is `i64` if the values are offsets, and [`BasisVector`](super::BasisVector) if the values are coordinates.
pub trait Codomain: Clone + PartialEq + Debug + Display {
    /// Returns zero, the value at coordinate 0.
    fn zero() -> Self;

    /// Computes `self += stride * times`. Wraps on 64-bit overflow, which cannot occur within a layout's domain.
    fn step(&mut self, stride: &Self, times: i64);

    /// Returns `self * times`, or `None` on 64-bit overflow.
    fn scaled(&self, times: i64) -> Option<Self>;

    /// Returns `self + other`, or `None` on 64-bit overflow.
    fn plus(&self, other: &Self) -> Option<Self>;

    /// Returns this value with each component replaced by its absolute value, or `None` on 64-bit overflow.
    fn magnitude(&self) -> Option<Self>;
}

impl Codomain for i64 {
    fn zero() -> Self {
        0
    }

    fn step(&mut self, stride: &Self, times: i64) {
        *self = self.wrapping_add(stride.wrapping_mul(times));
    }

    fn scaled(&self, times: i64) -> Option<Self> {
        self.checked_mul(times)
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        self.checked_add(*other)
    }

    fn magnitude(&self) -> Option<Self> {
        self.checked_abs()
    }
}
