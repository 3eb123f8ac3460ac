//! What a layout maps coordinates to: offsets, or coordinates of another tensor.

use std::fmt::{Debug, Display};

/// A stride: what one step along a mode adds.
///
/// Offsets are `i64`. Strides that are basis vectors make identity layouts, whose values are coordinates.
pub trait Codomain: Clone + PartialEq + Debug + Display {
    /// The value of coordinate 0.
    fn zero() -> Self;

    /// `self += stride * times`. Past 64 bits it wraps: within a layout's domain it never gets there.
    fn step(&mut self, stride: &Self, times: i64);

    /// `self * times`, unless that passes 64 bits.
    fn scaled(&self, times: i64) -> Option<Self>;

    /// `self + other`, unless that passes 64 bits.
    fn plus(&self, other: &Self) -> Option<Self>;

    /// Every component without its sign, unless that passes 64 bits.
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
