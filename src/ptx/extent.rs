//! What a kernel accesses of a buffer, as a launch checks it.

use super::dim::Dim;

/// The elements of a buffer that a view may access: all sums of one offset per mode. A launch checks that the buffer
/// contains them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Number of the buffer's parameter.
    pub parameter: usize,
    /// Size of an element of the view, in bytes; it may differ from the parameter's.
    pub element_bytes: u32,
    /// The modes of the view. A view of no modes has one element.
    pub modes: Vec<ExtentMode>,
    /// Most coordinates of a mode for which the kernel's own computations hold.
    pub most: u64,
}

/// One mode of an [`Extent`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtentMode {
    /// Number of coordinates.
    pub size: Dim,
    /// Elements from one coordinate to the next.
    pub stride: Dim,
}

impl Extent {
    /// Elements of the view's type from the buffer's start to the end of the last one accessed, 0 if a mode is empty; `None`
    /// if the number does not fit in 64 bits. `parameter(i)` is the value of integer parameter `i`.
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

    /// The coordinates of the first mode that has more of them than the kernel can count; those of `None` are fine.
    pub fn exceeds(&self, parameter: &impl Fn(usize) -> u64) -> Option<u64> {
        self.modes.iter().filter_map(|mode| mode.size.evaluate(parameter)).find(|&size| size > self.most)
    }

    /// [`elements`](Self::elements) in bytes.
    pub fn bytes(&self, parameter: &impl Fn(usize) -> u64) -> Option<u64> {
        self.elements(parameter)?.checked_mul(self.element_bytes.into())
    }
}
