//! Tensors over global and shared memory.

use std::{cell::RefCell, collections::BTreeMap, fmt, rc::Rc};

use super::{
    construct::in_elements, element::TensorElement, error::TensorError, operand::OperandPart,
    pending::Arrived, space::TensorSpace,
};
use crate::{
    layout::{BasisVector, IntTuple, Layout, LayoutError, Swizzle, Tiler, Tuple},
    ptx::{Builder, Element, Ptr, Read, ReadWrite, Readable, Shared, Space, Val},
};

/// A step in memory: component 0 counts elements, component 1 + a counts coordinates along axis a.
pub(super) type Step = BasisVector;

/// A layout's steps in elements alone.
pub(super) fn elements_of(layout: &Layout<Step>) -> Result<Layout, LayoutError> {
    Layout::new(layout.shape().clone(), layout.stride().map(|step| step.component(0)))
}

/// A direction of the original tensor, by which its edges are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Axis<'k> {
    /// Coordinate of the view's first element.
    pub(super) at: Val<'k, u32>,
    /// How much of it there is; `None` if the view surely lies inside.
    pub(super) extent: Option<Val<'k, u32>>,
    /// Elements from one coordinate to the next, where only the launch knows.
    pub(super) stride: Option<Val<'k, u32>>,
}

/// Comparisons by axis and coordinate.
type Comparisons<'k> = BTreeMap<(usize, i64), Val<'k, bool>>;

/// Pointers by what they were made for.
type Pointers<'k, S, T, A> = BTreeMap<Vec<i64>, Ptr<'k, T, S, A>>;

/// Elements `T` in global or shared memory, seen through a layout.
///
/// The layout is known to the host; extents and strides of a matrix may be registers. What a view begins at is in the pointer,
/// so that static parts fold into constant offsets. Cloning gives another view of the same memory.
pub struct Tensor<'k, S: Space, T, A> {
    pub(super) pointer: Ptr<'k, T, S, A>,
    pub(super) layout: Layout<Step>,
    pub(super) axes: Vec<Axis<'k>>,
    /// Constant elements from the pointer to coordinate 0, and coordinates from the axes' own.
    pub(super) offset: Step,
    pub(super) swizzle: Swizzle,
    /// Bytes that are added before the swizzle; without a swizzle they are in the pointer.
    pub(super) inner: Val<'k, u32>,
    /// Bits that may be set in `inner`.
    pub(super) inner_bits: u64,
    /// Pointers made so far for coordinates along axes of unknown stride.
    pub(super) made: Rc<RefCell<Pointers<'k, S, T, A>>>,
    /// Comparisons made so far, by axis and coordinate.
    pub(super) compared: Rc<RefCell<Comparisons<'k>>>,
    /// Set where the view is a thread's part of a product's operand.
    pub(super) operand: Option<Rc<OperandPart<'k, T>>>,
}

impl<'k, S: Space, T, A> Tensor<'k, S, T, A> {
    /// The same view through another pointer to the same place.
    fn through<B>(&self, pointer: Ptr<'k, T, S, B>) -> Tensor<'k, S, T, B> {
        Tensor {
            pointer,
            layout: self.layout.clone(),
            axes: self.axes.clone(),
            offset: self.offset.clone(),
            swizzle: self.swizzle,
            inner: self.inner,
            inner_bits: self.inner_bits,
            made: Rc::default(),
            compared: Rc::default(),
            operand: self.operand.clone(),
        }
    }

    /// The same memory seen through another layout.
    pub(super) fn with_layout(&self, layout: Layout<Step>) -> Self {
        Self { layout, operand: None, ..self.clone() }
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
            layout,
            axes: Vec::new(),
            offset: Step::default(),
            swizzle,
            inner: 0.into(),
            inner_bits: 0,
            made: Rc::default(),
            compared: Rc::default(),
            operand: None,
        }
    }

    pub(super) fn kernel(&self) -> Builder<'k> {
        self.pointer.kernel()
    }

    /// Extents of the view; of modes whose size only the launch knows, no use can be made.
    #[must_use]
    pub fn shape(&self) -> &IntTuple {
        self.layout.shape()
    }

    /// Number of elements of the view.
    #[must_use]
    pub fn size(&self) -> i64 {
        self.layout.size()
    }

    /// Elements of mode `index`; 1 past the last.
    #[must_use]
    pub fn size_of(&self, index: usize) -> i64 {
        self.layout.shape().mode(index).map_or(1, IntTuple::size)
    }

    /// Number of modes.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.layout.rank()
    }

    /// The layout in elements, without what depends on the launch.
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn element_layout(&self) -> Result<Layout, LayoutError> {
        elements_of(&self.layout)
    }

    /// The same view with another layout, or as it is with the algebra's reason recorded.
    #[track_caller]
    pub(super) fn relaid(&self, layout: Result<Layout<Step>, impl Into<TensorError>>) -> Self {
        match layout {
            Ok(layout) => {
                self.check_view(&layout);
                self.with_layout(layout)
            }
            Err(error) => {
                self.kernel().refuse(error.into().to_string());
                self.clone()
            }
        }
    }

    /// The elements that `tiler` picks, mode by mode. Refused when the kernel is built: more than there are.
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

    /// `((tile, …), (rest, …))`: see [`Layout::zipped_divide`].
    #[must_use]
    #[track_caller]
    pub fn zipped_divide(&self, tiler: impl Into<Tiler>) -> Self {
        self.relaid(self.layout.zipped_divide(tiler))
    }

    /// Modes `begin..end` gathered into one.
    #[doc(alias = "group_modes")]
    #[must_use]
    #[track_caller]
    pub fn group(&self, begin: usize, end: usize) -> Self {
        self.relaid(self.layout.group(begin, end))
    }

    /// The modes in reverse: for a matrix, its transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.with_layout(self.layout.transpose())
    }

    /// The same memory as elements of another type, of any size.
    #[must_use]
    #[track_caller]
    pub fn recast<U: TensorElement>(&self) -> Tensor<'k, S, U, A> {
        let recast = |layout: Layout| layout.recast(i64::from(T::SIZE) * 8, i64::from(U::SIZE) * 8);
        let layout = self.element_layout().and_then(recast);
        let k = self.kernel();
        let refuse = |why: String| {
            k.refuse(why);
            in_elements(&Layout::concat([]))
        };
        let layout = match layout {
            Ok(layout) if self.axes.is_empty() => in_elements(&layout),
            Ok(_) => refuse("recast of a tensor with edges: tile it first".into()),
            Err(error) => refuse(error.to_string()),
        };
        let bytes = self.offset.component(0) * i64::from(T::SIZE);
        let mut tensor = Tensor::of(
            self.pointer.cast::<U>().byte_offset(if self.is_swizzled() { 0 } else { bytes }),
            layout,
            self.swizzle,
        );
        tensor.inner = if self.is_swizzled() { self.inner + bytes as u32 } else { self.inner };
        if self.is_swizzled() && !self.inner.is_multiple_of(U::SIZE) {
            k.refuse(format!("recast to {}: the view may begin between two elements", U::NAME));
        }
        tensor
    }

    /// The same view, for all accesses, if it is one of shared memory.
    pub(super) fn in_shared(&self) -> Option<Tensor<'k, Shared, T, ReadWrite>> {
        Some(Tensor {
            swizzle: self.swizzle,
            inner: self.inner,
            inner_bits: self.inner_bits,
            offset: self.offset.clone(),
            ..Tensor::of(S::as_shared(self.pointer)?.assume_access(), self.layout.clone(), self.swizzle)
        })
    }

    pub(super) fn is_swizzled(&self) -> bool {
        self.swizzle.bits() > 0
    }
}

impl<'k, T: TensorElement, A> Tensor<'k, Shared, T, A> {
    /// The tensor for reading: everything that was written to it has arrived.
    #[must_use]
    pub fn filled(&self, _: &Arrived<'k>) -> Tensor<'k, Shared, T, Read> {
        self.through(self.pointer.assume_access())
    }

    /// The tensor for reading and writing, without a proof that anything arrived: for programs that keep their own order.
    #[must_use]
    pub fn unchecked(&self) -> Tensor<'k, Shared, T, ReadWrite> {
        self.through(self.pointer.assume_access())
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A: Readable> Tensor<'k, S, T, A> {
    /// The tensor for reading alone.
    #[must_use]
    pub fn read_only(&self) -> Tensor<'k, S, T, Read> {
        self.through(self.pointer.read_only())
    }
}
