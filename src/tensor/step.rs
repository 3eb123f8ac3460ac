//! Steps in memory: the values of tensor layouts.

use std::fmt;

use super::offset::MAX_AXES;
use crate::layout::{BasisVector, Codomain};

/// A step in memory: component 0 counts elements, component 1 + a counts coordinates along axis a. Unlike a [`BasisVector`], it has a fixed
/// number of components and requires no allocation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Step([i64; 1 + MAX_AXES]);

impl Step {
    /// Returns the step of `scale` along one component.
    pub(super) fn along(component: usize, scale: i64) -> Self {
        let mut step = Self::default();
        step.0[component] = scale;
        step
    }

    pub(super) fn component(&self, component: usize) -> i64 {
        self.0[component]
    }

    /// Applies `f` to each component and the corresponding component of `other`. Returns `None` if `f` does.
    fn with(self, other: Self, f: impl Fn(i64, i64) -> Option<i64>) -> Option<Self> {
        let mut step = self;
        for (component, other) in step.0.iter_mut().zip(other.0) {
            *component = f(*component, other)?;
        }
        Some(step)
    }
}

impl Codomain for Step {
    fn zero() -> Self {
        Self::default()
    }

    fn step(&mut self, stride: &Self, times: i64) {
        for (sum, stride) in self.0.iter_mut().zip(stride.0) {
            *sum = sum.wrapping_add(stride.wrapping_mul(times));
        }
    }

    fn scaled(&self, times: i64) -> Option<Self> {
        self.with(*self, |component, _| component.checked_mul(times))
    }

    fn plus(&self, other: &Self) -> Option<Self> {
        self.with(*other, i64::checked_add)
    }

    fn magnitude(&self) -> Option<Self> {
        self.with(*self, |component, _| component.checked_abs())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        BasisVector::from_iter(self.0).fmt(f)
    }
}
