//! Tensors over global and shared memory.

use std::{fmt, rc::Rc};

use arrayvec::ArrayVec;

use super::{
    bounds::reach,
    construct::in_elements,
    element::TensorElement,
    error::TensorError,
    lanes::Lanes,
    offset::{MAX_AXES, Offset, offset_of},
    space::TensorSpace,
    step::Step,
    stride::Stride,
};
use crate::{
    layout::{Codomain, IntTuple, Layout, LayoutError, Swizzle, Tiler, Tuple},
    ptx::{
        Builder, Element, Lease, Ptr, Read, ReadWrite, Readable, Shared, SharedCluster, Space, State, Val,
        Visitor, Write,
    },
};

/// Returns the layout with the element components of `layout`'s steps as strides.
pub(super) fn elements_of(layout: &Layout<Step>) -> Result<Layout, LayoutError> {
    Layout::new(layout.shape().clone(), layout.stride().map(|step| step.component(0)))
}

/// A mode of the original tensor along which a view may extend past the edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis<'k> {
    /// The coordinate of the view's first element.
    pub(super) at: Val<'k, u32>,
    /// The number of coordinates; `None` if the view is known to be in bounds.
    pub(super) extent: Option<Val<'k, u32>>,
    /// The distance in elements between consecutive coordinates.
    pub(super) stride: Stride<'k>,
    /// The first coordinate of an enclosing tile that is entirely in or out of bounds.
    pub(super) tile: Option<Val<'k, u32>>,
}

impl Axis<'_> {
    /// Returns whether the stride is dynamic.
    pub(super) fn has_dynamic_stride(&self) -> bool {
        self.stride.as_constant().is_none()
    }
}

/// Elements of type `T` in the state space `S` (global or shared memory), arranged according to a layout.
///
/// The nesting of the layout is static, but its extents and strides may be in registers. Constant distances within a view become immediate
/// offsets of loads and stores. Clones are views of the same memory.
pub struct Tensor<'k, S: Space, T, A> {
    pub(super) pointer: Ptr<'k, T, S, A>,
    pub(super) layout: Rc<Layout<Step>>,
    pub(super) axes: ArrayVec<Axis<'k>, MAX_AXES>,
    /// The constant distance in elements from the pointer to coordinate 0, and the constant coordinates relative to the axes.
    pub(super) offset: Step,
    pub(super) swizzle: Swizzle,
    /// The byte offset added before the swizzle; without a swizzle, it is part of the pointer.
    pub(super) inner: Val<'k, u32>,
    /// Whether tiles must divide the tensor, because its layout has a fixed number of elements.
    pub(super) divided_whole: bool,
    /// Set in a lane's part of a warp's view while the lane's offset has not been added to the start.
    pub(super) lanes: Option<Rc<Lanes<'k>>>,
    /// The innermost lexical block in which the view was created; facts about its coordinates may hold only there.
    pub(super) cut_in: u32,
    /// The lease of the shared tile, or of the copies to shared memory, of which this is a view.
    pub(super) lease: Option<Lease>,
    /// In shared memory, the view that is divided among all threads.
    pub(super) shared_view: Option<Rc<Tensor<'k, S, T, ReadWrite>>>,
}

impl<'k, S: Space, T, A> Tensor<'k, S, T, A> {
    /// Returns the same view through another pointer to the same address.
    pub(super) fn through<B>(&self, pointer: Ptr<'k, T, S, B>) -> Tensor<'k, S, T, B> {
        self.seen(pointer, Rc::clone(&self.layout))
    }

    fn seen<B>(&self, pointer: Ptr<'k, T, S, B>, layout: Rc<Layout<Step>>) -> Tensor<'k, S, T, B> {
        Tensor {
            pointer,
            layout,
            axes: self.axes.clone(),
            offset: self.offset,
            swizzle: self.swizzle,
            inner: self.inner,
            divided_whole: self.divided_whole,
            cut_in: self.cut_in,
            lease: self.lease,
            lanes: self.lanes.clone(),
            shared_view: self.shared_view.clone(),
        }
    }

    /// Returns the same memory with another layout.
    pub(super) fn with_layout(&self, layout: impl Into<Rc<Layout<Step>>>) -> Self {
        self.seen(self.pointer, layout.into())
    }
}

impl<S: Space, T, A> Clone for Tensor<'_, S, T, A> {
    fn clone(&self) -> Self {
        self.through(self.pointer)
    }
}

impl<S: Space, T: Element, A> fmt::Debug for Tensor<'_, S, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor {:?} + {} o {}", self.pointer, self.offset, self.layout)
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    pub(super) fn of(pointer: Ptr<'k, T, S, A>, layout: Layout<Step>, swizzle: Swizzle) -> Self {
        Self {
            pointer,
            layout: layout.into(),
            axes: ArrayVec::new(),
            offset: Step::default(),
            swizzle,
            inner: 0.into(),
            divided_whole: true,
            cut_in: pointer.kernel().innermost_block(),
            lease: None,
            lanes: None,
            shared_view: None,
        }
    }

    pub(crate) fn kernel(&self) -> Builder<'k> {
        self.pointer.kernel()
    }

    /// Rejects a view of global memory that was created in a branch or loop that has ended, and a view of a shared tile whose lease has
    /// ended.
    #[track_caller]
    pub(super) fn check_open(&self) {
        self.check_block();
        self.check_lease();
    }

    /// Rejects a view of global memory that was created in a branch or loop that has ended.
    #[track_caller]
    fn check_block(&self) {
        if S::as_shared(self).is_none() {
            self.kernel().check_open(self.cut_in);
        }
    }

    /// Begins a lease, for a view of a shared tile.
    pub(crate) fn begin_lease(&mut self) {
        self.lease = Some(self.kernel().lease());
    }

    /// Returns the view with a lease of its own.
    pub(super) fn leased(mut self) -> Self {
        self.begin_lease();
        self
    }

    /// Replaces the lease of a view of a shared tile whose state changes here.
    #[track_caller]
    pub(crate) fn renew_lease(&mut self) {
        if let Some(lease) = &mut self.lease {
            self.pointer.kernel().renew_lease(lease);
        }
    }

    /// Rejects a view of a shared tile whose lease has ended.
    #[track_caller]
    pub(crate) fn check_lease(&self) {
        if let Some(lease) = self.lease {
            self.kernel().check_lease(lease);
        }
    }

    /// Ends the lease of a view of a shared tile.
    #[track_caller]
    pub(crate) fn end_lease(&self) {
        if let Some(lease) = self.lease {
            self.kernel().end_lease(lease);
        }
    }

    /// Returns the lease of a view of a shared tile.
    pub(crate) fn lease(&self) -> Option<Lease> {
        self.lease
    }

    /// Records that facts about the view may hold only in the current lexical block, after [`check_open`](Self::check_open).
    #[track_caller]
    pub(super) fn cut_here(&mut self) {
        self.check_open();
        self.cut_in = self.kernel().innermost_block();
    }

    /// Returns the extents of the view. A dynamic extent is represented by a large constant.
    #[must_use]
    pub fn shape(&self) -> &IntTuple {
        self.layout.shape()
    }

    /// Returns the number of elements in the view. A dynamic extent counts as a large constant.
    #[must_use]
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    /// Returns the number of elements along mode `index`.
    ///
    /// The result is a large constant for a dynamic extent, and 1 for an index past the last mode.
    #[must_use]
    pub fn size_of(&self, index: usize) -> i64 {
        self.layout.shape().mode(index).map_or(1, IntTuple::size)
    }

    /// Returns the number of modes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// Returns the layout in elements, with 0 in place of dynamic strides.
    ///
    /// # Errors
    /// Returns the same errors as [`Layout::new`].
    pub fn element_layout(&self) -> Result<Layout, LayoutError> {
        elements_of(&self.layout)
    }

    /// Returns which axes have dynamic strides.
    fn dynamic(&self) -> [bool; MAX_AXES] {
        std::array::from_fn(|axis| self.axes.get(axis).is_some_and(|axis| axis.has_dynamic_stride()))
    }

    /// Returns the offset of one element.
    pub(super) fn offset_of(&self, element: i64) -> Offset {
        offset_of(&self.layout, &self.offset, self.dynamic(), element)
    }

    /// Returns the same view with another layout. If `layout` is an error, records it and returns the view unchanged.
    #[track_caller]
    pub(super) fn relaid(&self, layout: Result<impl Into<Rc<Layout<Step>>>, impl Into<TensorError>>) -> Self {
        match layout {
            Ok(layout) => {
                let layout = layout.into();
                self.check_view(&layout);
                self.with_layout(layout)
            }
            Err(error) => {
                self.kernel().refuse(error.into().to_string());
                self.clone()
            }
        }
    }

    /// Returns the view of the elements that `tiler` selects; see [`Layout::compose`].
    ///
    /// The builder rejects a tiler that selects elements past the end of the tensor, unless accesses to them are predicated.
    #[doc(alias = "composition")]
    #[must_use]
    #[track_caller]
    pub fn compose(&self, tiler: impl Into<Tiler>) -> Self {
        let tiler = tiler.into();
        let composed = self.layout.compose(&tiler);
        if let (Tuple::Node(_), Ok(view)) = (&tiler, &composed) {
            for (mode, part) in self.layout.modes().zip(view.modes()) {
                self.check_part(&mode, &part);
            }
        }
        self.relaid(composed)
    }

    /// Divides the tensor into `((tile, …), (rest, …))`; see [`Layout::zipped_divide`].
    ///
    /// The builder rejects a tile that does not divide the tensor, unless accesses past the edges are predicated.
    #[must_use]
    #[track_caller]
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Self {
        self.relaid(self.layout.zipped_divide(tiler))
    }

    /// Returns the tensor with modes `begin..end` grouped into one.
    ///
    /// The builder rejects a range that is empty or exceeds the rank.
    #[doc(alias = "group_modes")]
    #[must_use]
    #[track_caller]
    pub fn group(&self, begin: usize, end: usize) -> Self {
        self.relaid(self.layout.group(begin, end))
    }

    /// Returns the tensor with its modes in reverse order, which transposes a matrix.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.with_layout(self.layout.transpose())
    }

    /// Reinterprets the memory as elements of another type.
    ///
    /// The builder rejects the call if [`Layout::recast`] returns an error, if accesses at the edges of the tensor are predicated, if the
    /// new elements would extend past the end of the tensor, or if the start of a swizzled tensor is not known to be at an element boundary
    /// of the new type.
    #[must_use]
    #[track_caller]
    pub fn recast<U: TensorElement>(&self) -> Tensor<'k, S, U, A> {
        self.check_open();
        self.resolved().recast_to().unwrap_or_else(|why| {
            self.kernel().refuse(why);
            Tensor::of(self.pointer.cast(), in_elements(&Layout::concat([])), self.swizzle)
        })
    }

    /// Returns the [`recast`](Self::recast) of a view whose start includes the lane's offset, or the reason why it is rejected.
    #[track_caller]
    fn recast_to<U: TensorElement>(&self) -> Result<Tensor<'k, S, U, A>, String> {
        if !self.axes.is_empty() {
            let found = "a tensor without edges, found one with edges: recast a fragment instead";
            return Err(format!("recast: expected {found}"));
        }
        let recast = |layout: Layout| layout.recast(i64::from(T::SIZE) * 8, i64::from(U::SIZE) * 8);
        let layout = self.element_layout().and_then(recast).map_err(|error| error.to_string())?;
        let layout = in_elements(&layout);
        let bytes = |layout: &Layout<Step>, size: u32| {
            reach(layout, 0).1.saturating_add(1).saturating_mul(size.into())
        };
        let (most, needed) = (bytes(&self.layout, T::SIZE), bytes(&layout, U::SIZE));
        if needed > most {
            return Err(format!("recast to {}: expected at most {most} bytes, found {needed}", U::NAME));
        }
        if self.is_swizzled() && !self.inner.is_multiple_of(U::SIZE) {
            let found = "a view that starts at a whole element, found one that may not";
            return Err(format!("recast to {}: expected {found}", U::NAME));
        }
        let start = self.offset.component(0).wrapping_mul(T::SIZE.into());
        let (before_swizzle, after) = if self.is_swizzled() { (start, 0) } else { (0, start) };
        let pointer = self.pointer.cast::<U>().byte_offset(after);
        let whole = self.shared_view.as_ref().and_then(|whole| whole.recast_to().ok());
        Ok(Tensor {
            inner: self.inner + before_swizzle as u32,
            lease: self.lease,
            shared_view: whole.map(Rc::new),
            ..Tensor::of(pointer, layout, self.swizzle)
        })
    }

    pub(super) fn is_swizzled(&self) -> bool {
        self.swizzle.bits() > 0
    }

    /// Returns the view shared by all threads; this view is one thread's part of it.
    pub(super) fn whole(&self) -> Tensor<'k, S, T, ReadWrite> {
        self.shared_view.as_deref().cloned().unwrap_or_else(|| self.through(self.pointer.assume_access()))
    }
}

impl<'k, T: TensorElement, A> Tensor<'k, Shared, T, A> {
    /// Returns the tensor with read and write access, even if copies to it are in flight.
    ///
    /// This method is intended for kernels that order their accesses explicitly.
    #[must_use]
    pub fn unchecked(&self) -> Tensor<'k, Shared, T, ReadWrite> {
        self.through(self.pointer.assume_access())
    }

    /// Returns the address of the tensor's allocation, before swizzling.
    pub(crate) fn address(&self) -> Ptr<'k, u8, Shared> {
        self.pointer.assume_access().cast()
    }

    /// Returns the tensor as the destination of copies that all threads of a block or scope perform cooperatively. The copies fill the
    /// whole tensor, regardless of which parts each thread copies.
    pub(crate) fn filled_together(&self) -> Tensor<'k, Shared, T, Write> {
        let whole = self.with_access();
        let mut view = whole.clone();
        view.share(&whole);
        view
    }

    /// Returns whether both tensors start at the same address.
    pub(crate) fn starts_with<B>(&self, other: &Tensor<'k, Shared, T, B>) -> bool {
        self.address().is_same(other.address())
    }

    pub(crate) fn with_access<B>(&self) -> Tensor<'k, Shared, T, B> {
        self.through(self.pointer.assume_access())
    }

    /// Returns the same view in the shared memory of the block with rank `rank` in the cluster.
    #[track_caller]
    pub(crate) fn in_block(&self, rank: Val<'k, u32>) -> Tensor<'k, SharedCluster, T, ReadWrite> {
        let pointer: Ptr<'k, T, Shared, ReadWrite> = self.pointer.assume_access();
        Tensor {
            pointer: pointer.in_block(rank),
            layout: Rc::clone(&self.layout),
            axes: self.axes.clone(),
            offset: self.offset,
            swizzle: self.swizzle,
            inner: self.inner,
            divided_whole: self.divided_whole,
            cut_in: self.cut_in,
            lease: self.lease,
            lanes: self.lanes.clone(),
            shared_view: None,
        }
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A: Readable> Tensor<'k, S, T, A> {
    /// Returns a read-only view of the tensor.
    #[must_use]
    pub fn read_only(&self) -> Tensor<'k, S, T, Read> {
        self.through(self.pointer.read_only())
    }
}

/// A view can be loop state: its registers may change between iterations, but its layout may not. Constant offsets are added to the
/// registers, so views that differ only in constant offsets are interchangeable.
impl<'k, S: TensorSpace, T: TensorElement, A> State<'k> for Tensor<'k, S, T, A> {
    #[track_caller]
    fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        if visitor.reads() {
            self.check_block();
        }
        let elements = self.offset.component(0);
        if elements % (self.swizzle.period() / i64::from(T::SIZE)).max(1) == 0 {
            self.pointer = self.pointer.byte_offset(elements.wrapping_mul(T::SIZE.into()));
            self.offset.step(&Step::along(0, 1), elements.wrapping_neg());
        }
        visitor.form(&"a view");
        self.pointer.visit(visitor);
        if self.inner.as_constant().is_none() {
            visitor.shared(&mut self.inner);
        }
        for axis in &mut self.axes {
            visitor.shared(&mut axis.at);
            if let Some(tile) = &mut axis.tile {
                visitor.shared(tile);
            }
        }
        let edges: Vec<_> =
            self.axes.iter().map(|axis| (axis.extent, axis.stride, axis.tile.is_some())).collect();
        visitor.form(&format_args!(
            "{} + {} with {}, inner offset {:?}, edges {edges:?} and {:?}",
            self.layout,
            self.offset,
            self.swizzle,
            self.inner.as_constant(),
            self.lanes
        ));
        if let Some(lease) = &mut self.lease {
            visitor.lease(lease);
        }
        self.shared_view = None;
        // The loop's registers have the values of the previous iteration, in which the facts were established.
        self.cut_in = visitor.block();
    }
}
