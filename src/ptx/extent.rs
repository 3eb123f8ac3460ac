//! The buffer regions that a kernel accesses, which every launch checks.

use super::dim::Dim;

/// The elements of a buffer that a view may access, as a shape and strides. A launch checks that the buffer contains all these elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// The index of the buffer parameter.
    pub parameter: usize,
    /// The size of an element of the view, in bytes. It may differ from the element size of the buffer parameter.
    pub element_bytes: u32,
    /// The modes of the view. A view without modes has one element.
    pub modes: Vec<ExtentMode>,
    /// The largest number of coordinates per mode for which the kernel's index computations are correct.
    pub most: u64,
}

/// One mode of an [`Extent`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtentMode {
    /// The number of coordinates.
    pub size: Dim,
    /// The distance between consecutive coordinates, in elements.
    pub stride: Dim,
}

impl Extent {
    /// Returns the minimum length of the buffer, in elements of the view. The length is 0 if a mode is empty. Returns `None` if the length
    /// cannot be computed or overflows 64 bits. `parameter(i)` must return the value of the integer parameter with index `i`.
    pub fn elements(&self, parameter: &impl Fn(usize) -> u64) -> Option<u64> {
        let mut last = Some(0u64);
        let mut empty = false;
        for ExtentMode { size, stride } in &self.modes {
            let (size, stride) = (size.evaluate(parameter)?, stride.evaluate(parameter)?);
            empty |= size == 0;
            let reach = size.saturating_sub(1).checked_mul(stride);
            last = last.zip(reach).and_then(|(last, reach)| last.checked_add(reach));
        }
        if empty { Some(0) } else { last?.checked_add(1) }
    }

    /// Returns the number of coordinates of the first mode that has more than [`most`](Self::most) coordinates, or `None` if no mode does.
    /// `parameter` is used as in [`elements`](Self::elements).
    pub fn exceeds(&self, parameter: &impl Fn(usize) -> u64) -> Option<u64> {
        self.modes.iter().filter_map(|mode| mode.size.evaluate(parameter)).find(|&size| size > self.most)
    }

    /// Returns the minimum length of the buffer in bytes, or `None` if it cannot be computed or overflows 64 bits. `parameter` is used as
    /// in [`elements`](Self::elements).
    pub fn bytes(&self, parameter: &impl Fn(usize) -> u64) -> Option<u64> {
        self.elements(parameter)?.checked_mul(self.element_bytes.into())
    }
}
