//! Slices: one-dimensional views of buffers with bounds-checked accesses.

use std::fmt;

use super::{
    checked::CheckedPtr,
    dim::Dim,
    divisor::gcd,
    extent::ExtentMode,
    index::{Index, IntoIndex, IntoLength},
    kernel::Builder,
    ptr::{Global, Ptr, ReadWrite, Space},
    types::Element,
    val::Val,
    variable::{Variable, VariableSpace},
};

/// A view of contiguous elements in global or constant memory, such as `k.slice(x, n)`.
///
/// Accesses past the end have no effect: loads return 0 or the value passed to [`load_or`](CheckedPtr::load_or), and stores and atomic
/// operations leave memory unchanged. Accesses are predicated and emit no branch; if the index is known to be in bounds, the predicate is
/// omitted. Indices are 32 or 64 bits wide; bounds checks and address computations do not overflow.
///
/// ```
/// use warpwright::prelude::*;
///
/// let kernel = Kernel::<(In<f32>, Out<f32>, u32)>::build("double(x, y, n)", Target::SM_80, |k, (x, y, n)| {
///     k.block([128]);
///     k.grid([n.tiles(128)]);
///     let (x, y) = (k.slice(x, n), k.slice(y, n));
///     let i = k.ctaid_x() * 128 + k.tid_x();
///     y.at(i).store(x.at(i).load() * 2.0);
/// })?;
/// assert_eq!(kernel.entry().unsafe_accesses, 0);
/// # Ok::<(), warpwright::ptx::BuildError>(())
/// ```
pub struct Slice<'k, T, S: Space = Global, A = ReadWrite> {
    start: Ptr<'k, T, S, A>,
    len: Index<'k>,
}

impl<T, S: Space, A> Clone for Slice<'_, T, S, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: Space, A> Copy for Slice<'_, T, S, A> {}

impl<T: Element, S: Space, A> fmt::Debug for Slice<'_, T, S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} elements from {:?}", self.len, self.start)
    }
}

impl<'k> Builder<'k> {
    /// Returns a view of the first `len` elements of a buffer parameter. Each launch checks that the buffer contains them.
    ///
    /// `len` must be a constant, an unsigned integer parameter, or an expression of these, such as a sum or a product. A
    /// [`Dim`](super::Dim) such as `m.into_dim() * n` is evaluated in 64 bits.
    ///
    /// The builder rejects a pointer that is not a buffer parameter, and a length that a launch cannot compute, unless the pointer is
    /// [assumed to be valid](Ptr::assume_valid). To restrict a slice to a length that the kernel computes, use [`Slice::first`] and
    /// [`Slice::skip`].
    #[track_caller]
    pub fn slice<T: Element, A>(
        self,
        buffer: Ptr<'k, T, Global, A>,
        len: impl IntoLength<'k>,
    ) -> Slice<'k, T, Global, A> {
        let (dim, len) = len.into_length(self);
        self.assume_extent(
            "slice",
            buffer,
            [ExtentMode { size: dim, stride: Dim::Const(1) }].into(),
            u64::MAX,
        );
        Slice { start: buffer, len }
    }

    /// Returns a view of the elements of a module variable, and declares the variable in the kernel's module.
    ///
    /// The builder rejects the same variables as [`address_of`](Self::address_of) does.
    #[track_caller]
    pub fn variable<T: Element, S: VariableSpace<Address = u64>>(
        self,
        variable: &Variable<T, S>,
    ) -> Slice<'k, T, S, S::Access> {
        Slice { start: self.address_of(variable), len: variable.count().into_index() }
    }
}

impl<'k, T: Element, S: Space<Address = u64>, A> Slice<'k, T, S, A> {
    /// Returns the number of elements.
    #[track_caller]
    #[allow(clippy::len_without_is_empty, reason = "the length is a value of the kernel")]
    pub fn len(self) -> Val<'k, u64> {
        self.len.wide()
    }

    /// Returns a pointer to element `index`. Accesses through the pointer are performed only if the index is in bounds.
    #[track_caller]
    pub fn at(self, index: impl IntoIndex<'k>) -> CheckedPtr<'k, T, S, A> {
        let index = index.into_index();
        let inside = index.is_below(self.len);
        let together = gcd(index.divisor(), self.len.divisor());
        index.element_of(self.start).checked(inside).in_groups_of(together)
    }

    /// Returns a slice of the first `count` elements, or the whole slice if it has fewer than `count` elements.
    #[must_use]
    #[track_caller]
    pub fn first(self, count: impl IntoIndex<'k>) -> Self {
        Self { len: self.len.min(count.into_index()), ..self }
    }

    /// Returns the slice without its first `count` elements. The result is empty if the slice has at most `count` elements.
    #[must_use]
    #[track_caller]
    pub fn skip(self, count: impl IntoIndex<'k>) -> Self {
        let count = count.into_index();
        Self { start: count.element_of(self.start), len: self.len.minus(self.len.min(count)) }
    }

    /// Returns an unchecked pointer to the first element.
    pub fn pointer(self) -> Ptr<'k, T, S, A> {
        self.start
    }
}
