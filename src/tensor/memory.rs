//! Tensors over global and shared memory.

use std::{cell::RefCell, collections::BTreeMap, fmt, rc::Rc};

use super::{
    element::TensorElement,
    error::TensorError,
    local::{Digit, rest_of, thread_digits, thread_divide},
    partition::{tile_slicer, without_threads},
    pending::{Arrived, Pending},
    pick::{Pick, Picks, known},
};
use crate::{
    layout::{
        BasisVector, Codomain, ComposedLayout, IntTuple, Layout, LayoutError, Slot, Swizzle, Tile, Tiler,
        Tuple,
    },
    ptx::{
        Builder, Element, Extent, Global, IntoDim, Ptr, Read, ReadWrite, Readable, Shared, Space, Val, Write,
    },
};

/// A step in memory: component 0 counts elements, component 1 + a counts coordinates along axis a.
pub(super) type Step = BasisVector;

/// Extent of a mode whose size only the launch knows. Coordinates past it run on.
const UNKNOWN: i64 = 1 << 20;

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
    pub(super) made: Rc<RefCell<BTreeMap<Vec<i64>, Ptr<'k, T, S, A>>>>,
}

impl<S: Space, T, A> Clone for Tensor<'_, S, T, A> {
    fn clone(&self) -> Self {
        Self {
            pointer: self.pointer,
            layout: self.layout.clone(),
            axes: self.axes.clone(),
            offset: self.offset.clone(),
            swizzle: self.swizzle,
            inner: self.inner,
            inner_bits: self.inner_bits,
            made: Rc::default(),
        }
    }
}

impl<S: Space, T: Element, A> fmt::Debug for Tensor<'_, S, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tensor {:?} + {} o {}", self.pointer, self.offset, self.layout)
    }
}

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

    /// Coordinates to bytes, as a value to ask for bank conflicts.
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
fn in_elements(layout: &Layout) -> Layout<Step> {
    let stride = layout.stride().map(|&stride| Step::along(0, stride));
    Layout::with_stride(layout.shape().clone(), stride).unwrap_or_else(|_| nothing())
}

fn nothing() -> Layout<Step> {
    Layout::concat([])
}

impl<'k> Builder<'k> {
    /// A tensor in global memory: `k.tensor(a, [m, k], [1, m])` is column-major. Extents and strides are integers or registers;
    /// a stride that the host knows costs no instruction. If `pointer` is a parameter and the sizes are constants and
    /// parameters, a launch checks that the buffer holds the tensor.
    ///
    /// Offsets along axes of known stride are computed in 32 bits.
    #[doc(alias = "make_tensor")]
    #[track_caller]
    pub fn tensor<T: TensorElement, A, const R: usize>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        extents: [Val<'k, u32>; R],
        strides: [Val<'k, u32>; R],
    ) -> Tensor<'k, Global, T, A> {
        if let (Some(parameter), true) = (pointer.parameter(), R == 2) {
            let dims = |axis: usize| [extents[axis], strides[axis]].map(IntoDim::into_dim);
            self.promise_extent(Extent { parameter, rows: dims(0), cols: dims(1) });
        }
        let axes = std::iter::zip(extents, strides).map(|(extent, stride)| Axis {
            at: 0.into(),
            extent: Some(extent),
            stride: stride.as_constant().is_none().then_some(stride),
        });
        let modes = std::iter::zip(extents, strides).enumerate().map(|(axis, (extent, stride))| {
            let extent = extent.as_constant().map_or(UNKNOWN, i64::from).max(1);
            let known = Step::along(0, stride.as_constant().map_or(0, i64::from));
            let step = known.plus(&Step::along(1 + axis, 1)).unwrap_or_default();
            Layout::with_stride(extent, Tuple::Leaf(step)).unwrap_or_else(|_| nothing())
        });
        Tensor {
            pointer,
            axes: axes.collect(),
            layout: Layout::concat(modes),
            offset: Step::default(),
            swizzle: Swizzle::NONE,
            inner: 0.into(),
            inner_bits: 0,
            made: Rc::default(),
        }
    }

    /// A tensor in global memory whose layout the host knows. Its edges are not checked.
    #[doc(alias = "make_tensor")]
    pub fn tensor_with_layout<T: TensorElement, A>(
        self,
        pointer: Ptr<'k, T, Global, A>,
        layout: &Layout,
    ) -> Tensor<'k, Global, T, A> {
        Tensor::of(pointer, in_elements(layout), Swizzle::NONE)
    }

    /// A tensor in the block's shared memory with nothing in it: it can be written, and read after what was written is
    /// [`filled`](Tensor::filled).
    ///
    /// A layout in which two coordinates share an address is refused, as is a swizzle that would split elements.
    #[doc(alias = "MoYeSharedArray")]
    #[track_caller]
    pub fn shared_tensor<T: TensorElement>(
        self,
        layout: impl Into<SharedLayout>,
    ) -> Tensor<'k, Shared, T, Write> {
        let SharedLayout { layout, swizzle } = layout.into();
        if let Some(aliases) = aliases(&layout) {
            self.refuse(aliases);
        }
        if layout.values().any(|offset| offset < 0) {
            self.refuse(format!("the shared tensor {layout} has elements before its start"));
        }
        if swizzle.bits() > 0 && (1 << swizzle.base()) < i64::from(T::SIZE) {
            self.refuse(format!("{swizzle} splits elements of {} bytes", T::SIZE));
        }
        let align = u32::try_from(swizzle.period()).unwrap_or(1024).clamp(16, 1024);
        let count = u32::try_from(layout.cosize()).unwrap_or(u32::MAX / 16);
        // What a swizzle sends past the end stays within its period.
        let bytes = (count * T::SIZE).next_multiple_of(u32::try_from(swizzle.period()).unwrap_or(1));
        let pointer = self.shared_aligned::<T>(bytes.div_ceil(T::SIZE), align);
        let mut tensor = Tensor::of(pointer.assume_access(), in_elements(&layout), swizzle);
        tensor.inner = 0.into();
        tensor
    }
}

/// Which two coordinates of a layout share an offset, if any do.
fn aliases(layout: &Layout) -> Option<String> {
    let mut by_offset: Vec<(i64, i64)> = layout.values().zip(0..).collect();
    by_offset.sort_unstable();
    let pair = by_offset.windows(2).find(|pair| pair[0].0 == pair[1].0)?;
    let coord = |at: (i64, i64)| crate::layout::coord_of_index(at.1, layout.shape());
    Some(format!(
        "the shared tensor {layout} has elements {} and {} both at offset {}",
        coord(pair[0]),
        coord(pair[1]),
        pair[0].0
    ))
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    fn of(pointer: Ptr<'k, T, S, A>, layout: Layout<Step>, swizzle: Swizzle) -> Self {
        Self {
            pointer,
            layout,
            axes: Vec::new(),
            offset: Step::default(),
            swizzle,
            inner: 0.into(),
            inner_bits: 0,
            made: Rc::default(),
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
        Layout::new(self.layout.shape().clone(), self.layout.stride().map(|step| step.component(0)))
    }

    /// The same view with another layout, or as it is with the algebra's reason recorded.
    #[track_caller]
    pub(super) fn relaid(&self, layout: Result<Layout<Step>, impl Into<TensorError>>) -> Self {
        match layout {
            Ok(layout) => Self { layout, ..self.clone() },
            Err(error) => {
                self.kernel().refuse(error.into().to_string());
                self.clone()
            }
        }
    }

    /// The elements that `tiler` picks, mode by mode.
    #[doc(alias = "composition")]
    #[must_use]
    #[track_caller]
    pub fn compose(&self, tiler: impl Into<Tiler>) -> Self {
        self.relaid(self.layout.compose(tiler))
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
        Self { layout: self.layout.transpose(), ..self.clone() }
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

    pub(super) fn is_swizzled(&self) -> bool {
        self.swizzle.bits() > 0
    }

    // ── Slices ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// The view that `coord` keeps: `(.., 3)`, `(.., .., i)`. Places may be integers, registers or `..`.
    #[must_use]
    #[track_caller]
    pub fn slice(&self, coord: impl Into<Picks<'k>>) -> Self {
        self.sliced(&coord.into())
    }

    #[track_caller]
    fn sliced(&self, coord: &Picks<'k>) -> Self {
        let k = self.kernel();
        match self.layout.slice_and_offset(known(coord)) {
            Ok((layout, offset)) => {
                let mut view = Self { layout, ..self.clone() };
                view.offset.step(&offset, 1);
                let mut moved = Moved::default();
                walk(&self.layout, coord, &mut |mode, index| moved.add(&mode, index));
                view.advance(moved);
                view
            }
            Err(error) => {
                k.refuse(error.to_string());
                self.clone()
            }
        }
    }

    /// The tile of extents `tiler` at block coordinate `coord`: `(tile modes …, kept rest modes …)`; see
    /// [`local_tile`](super::local_tile()). What lies past the edges of a tensor made by [`Builder::tensor`] is predicated by
    /// copies, unless the tile surely divides the tensor.
    #[doc(alias = "@tile")]
    #[must_use]
    #[track_caller]
    pub fn local_tile(&self, tiler: impl Into<Tiler>, coord: impl Into<Picks<'k>>) -> Self {
        let (tiler, coord) = (tiler.into(), coord.into());
        let tiled = self.zipped_divide(&tiler);
        let modes = tiled.layout.mode(0).map_or(1, |tile| tile.rank());
        let rest = tiled.layout.mode(1).map_or(1, |rest| rest.rank());
        let mut places = coord.modes().to_vec();
        places.resize(rest.max(places.len()), Tuple::Leaf(Pick::Keep));
        let slicer = tile_slicer(modes, Tuple::Leaf(Slot::Keep));
        let tile_places = slicer.modes()[0].map(|_| Pick::Keep);
        let mut view = tiled.sliced(&Picks::from(vec![tile_places, Picks::from(places)]));
        view.forget_edges(&self.layout, &tiler);
        view
    }

    /// Drops the edges of axes that the tile divides.
    fn forget_edges(&mut self, whole: &Layout<Step>, tiler: &Tiler) {
        for (mode, step) in whole.stride().modes().iter().enumerate() {
            let (Some(Tuple::Leaf(Tile::Extent(tile))), Tuple::Leaf(step)) = (tiler.mode(mode), step) else {
                continue;
            };
            for (axis, facts) in self.axes.iter_mut().enumerate() {
                let divides = |extent: &Val<'k, u32>| extent.is_multiple_of(*tile as u32);
                if step.component(1 + axis) == 1 && facts.extent.as_ref().is_some_and(divides) {
                    facts.extent = None;
                }
            }
        }
    }

    /// The elements that thread `index` of `threads` takes: see [`local_partition`](super::local_partition()).
    #[doc(alias = "@parallelize")]
    #[must_use]
    #[track_caller]
    pub fn local_partition(&self, threads: &Layout, index: Val<'k, u32>) -> Self {
        let k = self.kernel();
        let divided = match thread_divide(&self.layout, threads) {
            Ok(divided) => divided,
            Err(error) => {
                k.refuse(error.to_string());
                return self.clone();
            }
        };
        let mut view = self.relaid(rest_of(&divided));
        let mut moved = Moved::default();
        let all = threads.size();
        if let Ok(modes) = divided.mode(0) {
            for (mode, digits) in modes.modes().zip(thread_digits(threads)) {
                moved.add_digits(k, &mode, &digits.0, index, all);
            }
        }
        view.advance(moved);
        view
    }

    /// One thread's part of `(thread, value, (rest, …))`, where the thread's coordinates are digits of `index`.
    #[track_caller]
    pub(super) fn thread_part(
        &self,
        divided: Result<Layout<Step>, TensorError>,
        digits: &[(Vec<usize>, Vec<Digit>)],
        index: Val<'k, u32>,
        threads: i64,
    ) -> Self {
        let k = self.kernel();
        let parts = divided.and_then(|divided| Ok((divided.mode(0)?, without_threads(&divided)?)));
        let (by_thread, rest) = match parts {
            Ok(parts) => parts,
            Err(error) => {
                k.refuse(error.to_string());
                return self.clone();
            }
        };
        let mut view = Self { layout: rest, ..self.clone() };
        let mut moved = Moved::default();
        for (path, digits) in digits {
            let mode = path.iter().try_fold(by_thread.clone(), |mode, &at| mode.mode(at));
            if let Ok(mode) = mode {
                moved.add_digits(k, &mode, digits, index, threads);
            }
        }
        view.advance(moved);
        view
    }

    /// Moves the view's start by what is in registers.
    #[track_caller]
    fn advance(&mut self, moved: Moved<'k>) {
        let bits = moved.bits.map(|bits| bits * u64::from(T::SIZE));
        for (component, by) in moved.by {
            if component == 0 {
                if self.is_swizzled() {
                    self.inner = self.inner + by * T::SIZE;
                    self.inner_bits = match bits {
                        Some(bits) if bits & self.inner_bits == 0 => bits | self.inner_bits,
                        _ => u64::MAX,
                    };
                } else {
                    self.pointer = self.pointer.at(by);
                }
                continue;
            }
            let axis = &mut self.axes[component - 1];
            axis.at = axis.at + by;
            if let Some(stride) = axis.stride {
                self.pointer = S::far(self.pointer, by, stride);
            }
        }
    }
}

/// What moving a view's start adds.
pub(super) struct Moved<'k> {
    /// By component of a step.
    by: BTreeMap<usize, Val<'k, u32>>,
    /// Bits that may be set in component 0, if each digit has bits of its own.
    bits: Option<u64>,
}

impl Default for Moved<'_> {
    fn default() -> Self {
        Self { by: BTreeMap::new(), bits: Some(0) }
    }
}

impl<'k> Moved<'k> {
    /// Adds the value of `mode` at `index`.
    #[track_caller]
    fn add(&mut self, mode: &Layout<Step>, index: Val<'k, u32>) {
        let flat = mode.flatten().coalesce();
        let leaves: Vec<_> = flat.shape().leaves().copied().zip(flat.stride().leaves()).collect();
        let mut rest = index;
        for (position, (extent, step)) in leaves.iter().enumerate() {
            let digit = if position + 1 == leaves.len() {
                rest
            } else {
                let (quotient, remainder) = divide(rest, *extent);
                rest = quotient;
                remainder
            };
            self.step(step, digit, *extent);
        }
    }

    /// Adds the value of `mode` at the coordinate whose digits are read off a thread's number.
    #[track_caller]
    fn add_digits(
        &mut self,
        k: Builder<'k>,
        mode: &Layout<Step>,
        digits: &[Digit],
        thread: Val<'k, u32>,
        threads: i64,
    ) {
        let mut unit = 1;
        for &Digit { extent, weight } in digits {
            if extent == 1 || weight == 0 {
                continue;
            }
            let (above, _) = divide(thread, weight);
            let digit = if weight * extent >= threads { above } else { divide(above, extent).1 };
            // The part of the mode that this digit counts.
            match Layout::new(extent, unit).and_then(|digit| mode.compose(digit)) {
                Ok(part) => self.add(&part, digit),
                Err(error) => k.refuse(error.to_string()),
            }
            unit *= extent;
        }
    }

    /// Adds `times` steps, of which there are less than `extent`.
    #[track_caller]
    fn step(&mut self, step: &Step, times: Val<'k, u32>, extent: i64) {
        let elements = step.component(0);
        if elements != 0 {
            // Powers of two keep digits apart.
            let bits = (elements > 0 && extent.is_positive() && (extent as u64).is_power_of_two())
                .then(|| (extent as u64 - 1).wrapping_mul(elements as u64));
            let apart = |(all, bits): (u64, u64)| {
                ((elements as u64).is_power_of_two() && all & bits == 0).then_some(all | bits)
            };
            self.bits = self.bits.zip(bits).and_then(apart);
        }
        for component in 0..8 {
            let by = step.component(component);
            if by != 0 {
                let add = times * by as u32;
                let sum = self.by.get(&component).map_or(add, |&sum| sum + add);
                self.by.insert(component, sum);
            }
        }
    }
}

/// Quotient and remainder by a number that the host knows.
#[track_caller]
fn divide(value: Val<'_, u32>, by: i64) -> (Val<'_, u32>, Val<'_, u32>) {
    let by = by as u32;
    if by.is_power_of_two() {
        (value >> by.trailing_zeros(), value & (by - 1))
    } else {
        (value / by, value % by)
    }
}

/// Calls `visit` with each mode that a coordinate fixes by a register.
fn walk<'k>(layout: &Layout<Step>, coord: &Picks<'k>, visit: &mut impl FnMut(Layout<Step>, Val<'k, u32>)) {
    match coord {
        Tuple::Leaf(Pick::Var(index)) => visit(layout.clone(), *index),
        Tuple::Leaf(_) => {}
        Tuple::Node(places) => {
            for (mode, place) in layout.modes().zip(places) {
                walk(&mode, place, visit);
            }
        }
    }
}

/// Spaces that tensors lie in: global and shared memory.
pub trait TensorSpace: Space {
    /// What a copy to the space gives.
    type Done<'k>;
    #[doc(hidden)]
    fn done<'k>(k: Builder<'k>, asynchronous: bool) -> Self::Done<'k>;
    #[doc(hidden)]
    fn as_global<T, A>(_: Ptr<'_, T, Self, A>) -> Option<Ptr<'_, T, Global, A>>
    where
        Self: Sized,
    {
        None
    }
    #[doc(hidden)]
    fn as_shared<T, A>(_: Ptr<'_, T, Self, A>) -> Option<Ptr<'_, T, Shared, A>>
    where
        Self: Sized,
    {
        None
    }
    /// The pointer so many bytes further on.
    #[doc(hidden)]
    #[track_caller]
    fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A>
    where
        Self: Sized;
    /// The pointer `times · stride` elements further on, both in registers.
    #[doc(hidden)]
    #[track_caller]
    fn far<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        stride: Val<'k, u32>,
    ) -> Ptr<'k, T, Self, A>
    where
        Self: Sized;
}

impl TensorSpace for Global {
    type Done<'k> = ();

    fn done<'k>(_: Builder<'k>, _: bool) {}

    fn as_global<T, A>(pointer: Ptr<'_, T, Global, A>) -> Option<Ptr<'_, T, Global, A>> {
        Some(pointer)
    }

    #[track_caller]
    fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A> {
        pointer.advance(bytes.cast())
    }

    #[track_caller]
    fn far<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        stride: Val<'k, u32>,
    ) -> Ptr<'k, T, Self, A> {
        pointer.at_wide(times.mul_wide(stride))
    }
}

impl TensorSpace for Shared {
    type Done<'k> = Pending<'k>;

    fn done<'k>(k: Builder<'k>, asynchronous: bool) -> Pending<'k> {
        Pending::new(k, asynchronous)
    }

    fn as_shared<T, A>(pointer: Ptr<'_, T, Shared, A>) -> Option<Ptr<'_, T, Shared, A>> {
        Some(pointer)
    }

    #[track_caller]
    fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A> {
        pointer.advance(bytes)
    }

    #[track_caller]
    fn far<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        stride: Val<'k, u32>,
    ) -> Ptr<'k, T, Self, A> {
        pointer.at(times * stride)
    }
}

impl<'k, T: TensorElement, A> Tensor<'k, Shared, T, A> {
    /// The tensor for reading: everything that was written to it has arrived.
    #[must_use]
    pub fn filled(&self, _: &Arrived<'k>) -> Tensor<'k, Shared, T, Read> {
        Tensor {
            pointer: self.pointer.assume_access(),
            layout: self.layout.clone(),
            axes: self.axes.clone(),
            offset: self.offset.clone(),
            swizzle: self.swizzle,
            inner: self.inner,
            inner_bits: self.inner_bits,
            made: Rc::default(),
        }
    }

    /// The tensor for reading and writing, without a proof that anything arrived: for programs that keep their own order.
    #[must_use]
    pub fn unchecked(&self) -> Tensor<'k, Shared, T, ReadWrite> {
        Tensor {
            pointer: self.pointer.assume_access(),
            layout: self.layout.clone(),
            axes: self.axes.clone(),
            offset: self.offset.clone(),
            swizzle: self.swizzle,
            inner: self.inner,
            inner_bits: self.inner_bits,
            made: Rc::default(),
        }
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A: Readable> Tensor<'k, S, T, A> {
    /// The tensor for reading alone.
    #[must_use]
    pub fn read_only(&self) -> Tensor<'k, S, T, Read> {
        Tensor {
            pointer: self.pointer.read_only(),
            layout: self.layout.clone(),
            axes: self.axes.clone(),
            offset: self.offset.clone(),
            swizzle: self.swizzle,
            inner: self.inner,
            inner_bits: self.inner_bits,
            made: Rc::default(),
        }
    }
}
