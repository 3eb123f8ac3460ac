//! Construction of tensors from pointers and layouts.

use super::{
    element::TensorElement,
    error::TensorError,
    memory::{Axis, Tensor},
    offset::MAX_AXES,
    step::Step,
    stride::Stride,
};
use crate::{
    layout::{Codomain, ComposedLayout, DYNAMIC_EXTENT, Layout, Swizzle, Tuple, coord_of_index},
    ptx::{Builder, Dim, Element, ExtentMode, Global, IntoDim, Ptr, Shared, Val, Write},
};

/// Returns the placeholder for a dynamic extent in a tensor of `modes` modes, chosen so that the product of all placeholders fits in 64
/// bits. Coordinates past the placeholder are extrapolated.
fn run_time_extent(modes: usize) -> i64 {
    DYNAMIC_EXTENT.min(1 << (62 / modes.max(1)))
}

/// The maximum extent of a tile along a mode with a dynamic extent.
pub(super) const MOST_TILE: u32 = 1 << 16;

/// The maximum number of coordinates of a global tensor along a mode, checked at launch. Coordinates are 32 bits wide, and the last tile of
/// coordinates is reserved so that it is past every edge.
pub(super) const MOST_COORDINATES: u32 = u32::MAX - MOST_TILE + 1;

/// The maximum number of elements of a shared tensor; no block has that many bytes of shared memory.
const MOST_SHARED: i64 = 1 << 20;

/// The maximum period of a swizzle of shared memory in bytes: its bits are those of a 32-bit offset.
const MOST_PERIOD: i64 = 1 << 31;

/// The layout of a tensor in shared memory: a layout in elements and a swizzle of byte addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLayout {
    layout: Layout,
    swizzle: Swizzle,
}

impl SharedLayout {
    /// Combines a layout in elements with a swizzle of byte addresses.
    #[must_use]
    pub fn swizzled(layout: Layout, swizzle: Swizzle) -> Self {
        Self { layout, swizzle }
    }

    /// Returns the alignment of the first byte: the period of the swizzle, at least 16.
    pub(crate) fn alignment(&self) -> u32 {
        u32::try_from(self.swizzle.period()).unwrap_or(1024).clamp(16, 1024)
    }

    /// Returns the layout that maps coordinates to the byte offsets of elements of type `T`, for computing bank conflicts.
    ///
    /// # Errors
    /// Returns [`TensorError::Layout`] if a stride or an offset in bytes exceeds 64 bits.
    pub fn bytes<T: Element>(&self) -> Result<ComposedLayout, TensorError> {
        Ok(ComposedLayout::new(self.swizzle, 0, self.layout.scaled(T::SIZE.into())?))
    }
}

impl From<Layout> for SharedLayout {
    fn from(layout: Layout) -> Self {
        Self { layout, swizzle: Swizzle::NONE }
    }
}

impl From<&Layout> for SharedLayout {
    fn from(layout: &Layout) -> Self {
        layout.clone().into()
    }
}

/// Converts an integer layout to a layout of steps in elements.
pub(super) fn in_elements(layout: &Layout) -> Layout<Step> {
    let stride = layout.stride().map(|&stride| Step::along(0, stride));
    Layout::with_stride(layout.shape().clone(), stride).unwrap_or_else(|_| nothing())
}

fn nothing() -> Layout<Step> {
    Layout::concat([])
}

impl<'k> Builder<'k> {
    /// Returns a tensor in global memory with at most five modes.
    ///
    /// For example, `k.tensor(a, [m, n], [1, m])` is a column-major matrix. Extents and strides are constants or registers. Accesses past
    /// an extent are predicated. Each launch checks that the buffer is large enough for the tensor.
    ///
    /// The builder rejects a pointer that is not a buffer parameter, and extents or strides that cannot be computed at launch, unless
    /// `unsafe` code asserts that the pointer is valid ([`Ptr::assume_valid`]).
    ///
    /// Coordinates are 32 bits wide; offsets are 64 bits wide. A launch rejects more than 2³² − 2¹⁶ coordinates along a mode.
    #[doc(alias = "make_tensor")]
    #[track_caller]
    pub fn tensor<T: TensorElement, A, const R: usize>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        extents: [Val<'k, u32>; R],
        strides: [Val<'k, u32>; R],
    ) -> Tensor<'k, Global, T, A> {
        self.tensor_with_strides(pointer, extents, strides.map(Stride::from))
    }

    /// Returns a tensor in global memory as [`tensor`](Self::tensor) does, but accepts 32-bit or 64-bit strides.
    #[track_caller]
    pub fn tensor_with_strides<T: TensorElement, A, const R: usize>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        extents: [Val<'k, u32>; R],
        strides: [Stride<'k>; R],
    ) -> Tensor<'k, Global, T, A> {
        const { assert!(R <= MAX_AXES, "a tensor has at most five modes of dynamic extent") };
        self.assume_extent("tensor", pointer, extent_modes(&extents, &strides), MOST_COORDINATES.into());
        let axes = std::iter::zip(extents, strides).map(|(extent, stride)| Axis {
            at: 0.into(),
            tile: None,
            extent: Some(extent),
            stride,
        });
        let (axes, layout) = (axes.collect(), layout_of(&extents, &strides));
        Tensor { axes, divided_whole: R == 0, ..Tensor::of(pointer, layout, Swizzle::NONE) }
    }

    /// Returns a tensor in global memory with a static layout.
    ///
    /// Accesses are not predicated: tiles must divide the tensor, and a dynamic index must be known to be less than the extent of its mode
    /// (from the block's shape, the grid, a loop count, a mask or an enclosing comparison). The builder rejects other accesses, and layouts
    /// with negative strides. Each launch checks that the buffer is large enough for the layout.
    #[doc(alias = "make_tensor")]
    #[track_caller]
    pub fn tensor_with_layout<T: TensorElement, A>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        layout: &Layout,
    ) -> Tensor<'k, Global, T, A> {
        let size = u64::try_from(layout.cosize()).map_or(Dim::Unknown, Dim::Const);
        let modes = vec![ExtentMode { size, stride: Dim::Const(1) }];
        self.assume_extent("tensor_with_layout", pointer, modes, u64::MAX);
        if layout.stride().leaves().any(|&stride| stride < 0) {
            self.refuse(format!("expected strides of at least 0, found the tensor {layout}"));
        }
        Tensor::of(pointer, in_elements(layout), Swizzle::NONE)
    }

    /// Allocates an uninitialized, write-only tensor in the block's shared memory.
    ///
    /// A copy to the tensor returns [`Pending`](super::Pending) data; [`wait`](super::Pending::wait) returns a readable view.
    ///
    /// The builder rejects layouts that have negative strides, map two coordinates to the same address, or have a size or cosize above 2²⁰.
    /// It also rejects swizzles that would split elements or whose period exceeds 2³¹ bytes.
    #[doc(alias = "MoYeSharedArray")]
    #[track_caller]
    pub fn shared_tensor<T: TensorElement>(
        self,
        layout: impl Into<SharedLayout>,
    ) -> Tensor<'k, Shared, T, Write> {
        let mut shared: SharedLayout = layout.into();
        if shared.swizzle.period() > MOST_PERIOD {
            self.refuse(format!(
                "expected a swizzle with a period of at most {MOST_PERIOD} bytes, found {} with {}",
                shared.swizzle,
                shared.swizzle.period()
            ));
            shared.swizzle = Swizzle::NONE;
        }
        let align = shared.alignment();
        let SharedLayout { mut layout, swizzle } = shared;
        if layout.size() > MOST_SHARED || layout.cosize() > MOST_SHARED {
            self.refuse(format!(
                "expected at most {MOST_SHARED} elements in a shared tensor, found {layout}"
            ));
            layout = Layout::concat([]);
        }
        if let Some(aliases) = aliases(&layout) {
            self.refuse(aliases);
        }
        if layout.stride().leaves().any(|&stride| stride < 0) {
            self.refuse(format!("expected strides of at least 0, found the shared tensor {layout}"));
        }
        if swizzle.bits() > 0 && (1 << swizzle.base()) < i64::from(T::SIZE) {
            self.refuse(format!("{swizzle} splits elements of {} bytes", T::SIZE));
        }
        let count = u32::try_from(layout.cosize()).unwrap_or(u32::MAX / 16);
        // The swizzle may move elements up to the end of its period.
        let bytes = (count * T::SIZE).next_multiple_of(u32::try_from(swizzle.period()).unwrap_or(1));
        let pointer = self.shared_aligned::<T>(bytes.div_ceil(T::SIZE), align);
        Tensor::of(pointer.assume_access(), in_elements(&layout), swizzle)
    }
}

/// Returns whether each stride exceeds the span of the modes with smaller strides, so that no two coordinates share an offset.
fn strides_are_apart(layout: &Layout) -> bool {
    let leaves = layout.shape().leaves().zip(layout.stride().leaves());
    let mut modes: Vec<(i64, i64)> =
        leaves.filter(|(extent, _)| **extent > 1).map(|(&extent, &stride)| (stride, extent)).collect();
    modes.sort_unstable();
    let mut reach = 0;
    modes.into_iter().all(|(stride, extent)| {
        let apart = stride > reach;
        reach += stride * (extent - 1);
        apart
    })
}

/// Returns the modes of the memory extent of a tensor's elements.
fn extent_modes(extents: &[Val<'_, u32>], strides: &[Stride<'_>]) -> Vec<ExtentMode> {
    let modes = std::iter::zip(extents, strides);
    modes.map(|(size, stride)| ExtentMode { size: size.into_dim(), stride: stride.into_dim() }).collect()
}

/// Returns the layout of a tensor with one axis per mode.
fn layout_of(extents: &[Val<'_, u32>], strides: &[Stride<'_>]) -> Layout<Step> {
    Layout::concat(std::iter::zip(extents, strides).enumerate().map(|(axis, (extent, stride))| {
        let extent = extent.as_constant().map_or(run_time_extent(extents.len()), i64::from).max(1);
        let known = Step::along(0, stride.as_constant().unwrap_or(0));
        let step = known.plus(&Step::along(1 + axis, 1)).unwrap_or_default();
        Layout::with_stride(extent, Tuple::Leaf(step)).unwrap_or_else(|_| nothing())
    }))
}

/// Returns an error message that names two coordinates of a layout that share an offset, if any do.
fn aliases(layout: &Layout) -> Option<String> {
    if strides_are_apart(layout) {
        return None;
    }
    let mut by_offset: Vec<(i64, i64)> = layout.values().zip(0..).collect();
    by_offset.sort_unstable();
    let pair = by_offset.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
    let coord = |at: (i64, i64)| coord_of_index(at.1, layout.shape());
    Some(format!(
        "the shared tensor {layout} has elements {} and {} both at offset {}",
        coord(pair[0]),
        coord(pair[1]),
        pair[0].0
    ))
}

impl<'k, T: TensorElement, A> Tensor<'k, Shared, T, A> {
    /// Returns a tensor over allocated shared memory, which must be aligned as the swizzle requires.
    pub(crate) fn at(pointer: Ptr<'k, T, Shared, A>, lies: &SharedLayout) -> Self {
        Tensor::of(pointer, in_elements(&lies.layout), lies.swizzle)
    }
}
