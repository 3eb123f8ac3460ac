//! The axes of a permutation in the form that the kernel requires: merged where possible, and extended to five axes.

use super::{PermuteError, RANK};

/// Five axes: three that select a matrix, followed by the row and column axes of the matrices. The column axis is the last axis of x.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Axes {
    pub(super) extents: [u32; RANK],
    /// The strides in x.
    x_strides: [u64; RANK],
    /// The strides in y.
    y_strides: [u64; RANK],
    /// Whether the row axis, instead of the column axis, is the last axis of y.
    pub(super) transposes: bool,
}

/// An axis of both tensors.
#[derive(Clone, Copy, Debug)]
struct Axis {
    /// The index of the axis in x.
    of_x: usize,
    extent: u32,
    x_stride: u64,
    y_stride: u64,
}

impl Axes {
    pub(super) fn new(extents: &[u32], order: &[usize]) -> Result<Self, PermuteError> {
        let rank = extents.len();
        if rank > RANK {
            return Err(PermuteError::Rank { found: rank });
        }
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..rank) {
            return Err(PermuteError::Order { axes: rank, order: order.to_vec() });
        }
        let mut axes = merged(extents, order);
        // The axes are in the order of y, in which the last axis is contiguous.
        let last_of_x = axes.iter().position(|axis| axis.x_stride == 1);
        let transposes = last_of_x.is_some_and(|at| at + 1 != axes.len());
        let cols = last_of_x.map(|at| axes.remove(at));
        let rows = axes.pop();
        let one = Axis { of_x: 0, extent: 1, x_stride: 0, y_stride: 0 };
        let mut all = [one; RANK];
        all[RANK - 1] = cols.unwrap_or(one);
        all[RANK - 2] = rows.unwrap_or(one);
        let free = RANK - 2 - axes.len();
        all[free..RANK - 2].copy_from_slice(&axes);
        Ok(Self {
            extents: all.map(|axis| axis.extent),
            x_strides: all.map(|axis| axis.x_stride),
            y_strides: all.map(|axis| axis.y_stride),
            transposes,
        })
    }

    /// Returns the strides of x and of y, each without the stride of the contiguous axis.
    pub(super) fn strides(&self) -> Result<([u32; RANK - 1], [u32; RANK - 1]), PermuteError> {
        let narrow = |strides: [u64; RANK - 1]| {
            let mut narrowed = [0; RANK - 1];
            for (narrowed, found) in narrowed.iter_mut().zip(strides) {
                *narrowed = u32::try_from(found).map_err(|_| PermuteError::Stride { found })?;
            }
            Ok(narrowed)
        };
        let [a, b, c, rows, _] = self.x_strides;
        let [y_a, y_b, y_c, y_rows, y_cols] = self.y_strides;
        let last = if self.transposes { y_cols } else { y_rows };
        Ok((narrow([a, b, c, rows])?, narrow([y_a, y_b, y_c, last])?))
    }
}

/// Returns the axes in the order of y. Axes of extent 1 are omitted, and axes that are adjacent in both tensors are merged.
fn merged(extents: &[u32], order: &[usize]) -> Vec<Axis> {
    let strides = |extents: &mut dyn DoubleEndedIterator<Item = u32>| {
        let mut strides: Vec<u64> = Vec::new();
        let mut stride = 1u64;
        for extent in extents.rev() {
            strides.push(stride);
            stride = stride.saturating_mul(extent.into());
        }
        strides.reverse();
        strides
    };
    let x_strides = strides(&mut extents.iter().copied());
    let y_strides = strides(&mut order.iter().map(|&of_x| extents[of_x]));
    let all = order.iter().zip(y_strides).map(|(&of_x, y_stride)| Axis {
        of_x,
        extent: extents[of_x],
        x_stride: x_strides[of_x],
        y_stride,
    });
    // The index of an axis of x, not counting axes of extent 1.
    let number = |of_x: usize| extents[..of_x].iter().filter(|&&extent| extent != 1).count();
    let mut axes: Vec<Axis> = Vec::new();
    for axis in all.filter(|axis| axis.extent != 1) {
        let axis = Axis { of_x: number(axis.of_x), ..axis };
        match axes.last_mut() {
            Some(last) if last.of_x + 1 == axis.of_x && last.extent.checked_mul(axis.extent).is_some() => {
                *last = Axis { extent: last.extent * axis.extent, ..axis };
            }
            _ => axes.push(axis),
        }
    }
    axes
}
