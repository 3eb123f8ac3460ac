//! Tensors made from pointers and layouts.

use super::{
    element::TensorElement,
    error::TensorError,
    memory::{Axis, Tensor},
    offset::MAX_AXES,
    step::Step,
};
use crate::{
    layout::{Codomain, ComposedLayout, DYNAMIC_EXTENT, Layout, Swizzle, Tuple, coord_of_index},
    ptx::{Builder, Dim, Element, ExtentMode, Global, IntoDim, Ptr, Shared, Val, Write},
};

/// Stands for an extent that only the launch knows, in a tensor of so many modes: their product stays within 64 bits. Coordinates
/// past it run on.
fn run_time_extent(modes: usize) -> i64 {
    DYNAMIC_EXTENT.min(1 << (62 / modes.max(1)))
}

/// Most elements of a tile along a mode whose extent only the launch knows.
pub(super) const MOST_TILE: u32 = 1 << 16;

/// Most coordinates of a global tensor along a mode: a launch refuses more. Coordinates have 32 bits, and the last tile of them is
/// kept past every edge.
pub(super) const MOST_COORDINATES: u32 = u32::MAX - MOST_TILE + 1;

/// Most elements of a shared tensor: no block has as many bytes.
const MOST_SHARED: i64 = 1 << 20;

/// How a tensor in shared memory lies: a layout in elements, and a swizzle of byte addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedLayout {
    layout: Layout,
    swizzle: Swizzle,
}

impl SharedLayout {
    /// A layout in elements under a swizzle of byte addresses.
    #[must_use]
    pub fn swizzled(layout: Layout, swizzle: Swizzle) -> Self {
        Self { layout, swizzle }
    }

    /// Alignment of the first byte: the period of the swizzle, and at least 16.
    pub(crate) fn alignment(&self) -> u32 {
        u32::try_from(self.swizzle.period()).unwrap_or(1024).clamp(16, 1024)
    }

    /// Coordinates to bytes, as a value to query for bank conflicts.
    ///
    /// # Errors
    /// If an offset passes 64 bits.
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

/// An integer layout with steps in elements.
pub(super) fn in_elements(layout: &Layout) -> Layout<Step> {
    let stride = layout.stride().map(|&stride| Step::along(0, stride));
    Layout::with_stride(layout.shape().clone(), stride).unwrap_or_else(|_| nothing())
}

fn nothing() -> Layout<Step> {
    Layout::concat([])
}

impl<'k> Builder<'k> {
    /// A tensor in global memory: `k.tensor(a, [m, k], [1, m])` is column-major. Extents and strides are integers or registers;
    /// a stride that the host knows costs no instruction. A launch checks that the buffer contains the tensor.
    ///
    /// Rejected when the kernel is built: a pointer that is not a buffer parameter, and extents or strides that a launch cannot
    /// compute, unless `unsafe` code vouches for the pointer ([`Ptr::assume_valid`]).
    ///
    /// Coordinates have 32 bits, offsets 64: a launch refuses more than 2³² − 2¹⁶ coordinates along a mode.
    #[doc(alias = "make_tensor")]
    #[track_caller]
    pub fn tensor<T: TensorElement, A, const R: usize>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        extents: [Val<'k, u32>; R],
        strides: [Val<'k, u32>; R],
    ) -> Tensor<'k, Global, T, A> {
        const { assert!(R <= MAX_AXES, "a tensor has at most five modes of dynamic extent") };
        let modes = std::iter::zip(extents, strides)
            .map(|(size, stride)| ExtentMode { size: size.into_dim(), stride: stride.into_dim() });
        self.promise_extent("tensor", pointer, modes.collect(), MOST_COORDINATES.into());
        let axes = std::iter::zip(extents, strides).map(|(extent, stride)| Axis {
            at: 0.into(),
            tile: None,
            extent: Some(extent),
            stride,
        });
        let modes = std::iter::zip(extents, strides).enumerate().map(|(axis, (extent, stride))| {
            let extent = extent.as_constant().map_or(run_time_extent(R), i64::from).max(1);
            let known = Step::along(0, stride.as_constant().map_or(0, i64::from));
            let step = known.plus(&Step::along(1 + axis, 1)).unwrap_or_default();
            Layout::with_stride(extent, Tuple::Leaf(step)).unwrap_or_else(|_| nothing())
        });
        let axes = axes.collect();
        Tensor { axes, divided_whole: false, ..Tensor::of(pointer, Layout::concat(modes), Swizzle::NONE) }
    }

    /// A tensor in global memory whose layout the host knows. Nothing is predicated: tiles must divide it, and an index in a
    /// register must be known to be less than its mode's extent, by the block's shape, the grid, a loop's count, a mask or a
    /// comparison around it. What is not is refused when the kernel is built.
    #[doc(alias = "make_tensor")]
    #[track_caller]
    pub fn tensor_with_layout<T: TensorElement, A>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        layout: &Layout,
    ) -> Tensor<'k, Global, T, A> {
        let size = u64::try_from(layout.cosize()).map_or(Dim::Unknown, Dim::Const);
        let modes = vec![ExtentMode { size, stride: Dim::Const(1) }];
        self.promise_extent("tensor_with_layout", pointer, modes, u64::MAX);
        if layout.stride().leaves().any(|&stride| stride < 0) {
            self.refuse(format!("the tensor {layout} has elements before its start"));
        }
        Tensor::of(pointer, in_elements(layout), Swizzle::NONE)
    }

    /// A tensor in the block's shared memory with nothing in it: it can be written; waiting for what was written gives the view to read
    /// ([`Pending::wait`](super::Pending::wait)).
    ///
    /// A layout in which two coordinates share an address is refused, as are one of more than 2²⁰ elements and a swizzle that would
    /// split elements.
    #[doc(alias = "MoYeSharedArray")]
    #[track_caller]
    pub fn shared_tensor<T: TensorElement>(
        self,
        layout: impl Into<SharedLayout>,
    ) -> Tensor<'k, Shared, T, Write> {
        let shared: SharedLayout = layout.into();
        let align = shared.alignment();
        let SharedLayout { mut layout, swizzle } = shared;
        if layout.size() > MOST_SHARED || layout.cosize() > MOST_SHARED {
            self.refuse(format!("the shared tensor {layout} has more than {MOST_SHARED} elements"));
            layout = Layout::concat([]);
        }
        if let Some(aliases) = aliases(&layout) {
            self.refuse(aliases);
        }
        if layout.stride().leaves().any(|&stride| stride < 0) {
            self.refuse(format!("the shared tensor {layout} has elements before its start"));
        }
        if swizzle.bits() > 0 && (1 << swizzle.base()) < i64::from(T::SIZE) {
            self.refuse(format!("{swizzle} splits elements of {} bytes", T::SIZE));
        }
        let count = u32::try_from(layout.cosize()).unwrap_or(u32::MAX / 16);
        // What a swizzle sends past the end stays within its period.
        let bytes = (count * T::SIZE).next_multiple_of(u32::try_from(swizzle.period()).unwrap_or(1));
        let pointer = self.shared_aligned::<T>(bytes.div_ceil(T::SIZE), align);
        Tensor::of(pointer.assume_access(), in_elements(&layout), swizzle)
    }
}

/// Whether each stride is beyond what the smaller ones reach: then no two coordinates share an offset.
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

/// Which two coordinates of a layout share an offset, if any do.
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
    /// A tensor over shared memory that is there already, aligned as its swizzle wants.
    pub(crate) fn at(pointer: Ptr<'k, T, Shared, A>, lies: &SharedLayout) -> Self {
        Tensor::of(pointer, in_elements(&lies.layout), lies.swizzle)
    }
}
