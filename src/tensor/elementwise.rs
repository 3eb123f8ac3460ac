//! Elementwise operations: `fill`, `transform`, `axpby`, `sum`.

use std::{ops::Range, panic::Location};

use super::{
    copy::MOST_ELEMENTS, element::TensorElement, fragment::Fragment, memory::Tensor, predicate::zero,
    space::TensorSpace,
};
use crate::ptx::{Builder, Readable, Scalar, Val, Writable, sealed::Sealed, traits::Number};

/// A tensor or fragment whose elements can be accessed individually, in colexicographic order.
pub trait Elements<'k, T: TensorElement>: Sealed {
    #[doc(hidden)]
    fn in_kernel(&self) -> Builder<'k>;
    #[doc(hidden)]
    fn len(&self) -> i64;
    /// Returns whether the view has no elements.
    #[doc(hidden)]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor or fragment with readable elements.
pub trait ReadElements<'k, T: TensorElement>: Elements<'k, T> {
    #[doc(hidden)]
    #[track_caller]
    fn element(&self, index: i64) -> Val<'k, T::Reg>;
}

/// A tensor or fragment with writable elements.
pub trait WriteElements<'k, T: TensorElement>: Elements<'k, T> {
    #[doc(hidden)]
    #[track_caller]
    fn put(&self, index: i64, value: Val<'k, T::Reg>);
}

impl<'k, T: TensorElement> Elements<'k, T> for Fragment<'k, T> {
    fn in_kernel(&self) -> Builder<'k> {
        self.kernel()
    }

    fn len(&self) -> i64 {
        self.size()
    }
}

impl<'k, T: TensorElement> ReadElements<'k, T> for Fragment<'k, T> {
    #[track_caller]
    fn element(&self, index: i64) -> Val<'k, T::Reg> {
        self.get(index)
    }
}

impl<'k, T: TensorElement> WriteElements<'k, T> for Fragment<'k, T> {
    #[track_caller]
    fn put(&self, index: i64, value: Val<'k, T::Reg>) {
        self.set(index, value);
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A> Elements<'k, T> for Tensor<'k, S, T, A> {
    fn in_kernel(&self) -> Builder<'k> {
        self.kernel()
    }

    fn len(&self) -> i64 {
        self.size()
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A: Readable> ReadElements<'k, T> for Tensor<'k, S, T, A> {
    #[track_caller]
    fn element(&self, index: i64) -> Val<'k, T::Reg> {
        if !self.has_element(index) {
            return zero::<T>().into();
        }
        let view = self.resolved();
        let offset = view.offset_of(index);
        view.pointer_at(&offset).checked(view.contains(&offset)).load_or(zero::<T>())
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A: Writable> WriteElements<'k, T> for Tensor<'k, S, T, A> {
    #[track_caller]
    fn put(&self, index: i64, value: Val<'k, T::Reg>) {
        if !self.has_element(index) {
            return;
        }
        let view = self.resolved();
        let offset = view.offset_of(index);
        view.pointer_at(&offset).checked(view.contains(&offset)).store(value);
    }
}

/// Returns the indices of the elements. If there are too many elements for one thread, the builder records an error and the range is empty.
#[track_caller]
pub(super) fn each<'k, T: TensorElement>(of: &impl Elements<'k, T>, what: &str) -> Range<i64> {
    if of.len() > MOST_ELEMENTS {
        of.in_kernel()
            .refuse(format!(
                "{what}: expected at most {MOST_ELEMENTS} elements for one thread, found {}: slice the tensor first",
                of.len()
            ));
        return 0..0;
    }
    0..of.len()
}

/// Writes `value` to every element of `to`.
///
/// The builder rejects the call if there are more than 4096 elements.
#[doc(alias = "fill!")]
#[doc(alias = "zeros!")]
#[doc(alias = "clear")]
#[track_caller]
pub fn fill<'k, T: TensorElement>(to: &impl WriteElements<'k, T>, value: impl Into<Val<'k, T::Reg>>) {
    let value = value.into();
    let _located = to.in_kernel().locate(Location::caller());
    each(to, "fill").for_each(|index| to.put(index, value));
}

/// Applies `f` to element `i` of `from` and writes the result to element `i` of `to` for every linear index `i`.
///
/// The builder rejects the call if the sizes of `to` and `from` differ, or if there are more than 4096 elements.
#[track_caller]
pub fn transform<'k, T: TensorElement, U: TensorElement>(
    to: &impl WriteElements<'k, U>,
    from: &impl ReadElements<'k, T>,
    f: impl Fn(Val<'k, T::Reg>) -> Val<'k, U::Reg>,
) {
    let k = to.in_kernel();
    let _located = k.locate(Location::caller());
    if to.len() != from.len() {
        k.refuse(format!(
            "transform: expected the same number of elements on both sides, found {} and {}",
            from.len(),
            to.len()
        ));
        return;
    }
    each(to, "transform").for_each(|index| to.put(index, f(from.element(index))));
}

/// Computes `y = alpha · x + beta · y` elementwise. If `beta` is the constant 0, `y` is not read.
///
/// The builder rejects the call if the sizes of `x` and `y` differ, or if there are more than 4096 elements.
#[doc(alias = "axpby!")]
#[track_caller]
pub fn axpby<'k, T: TensorElement<Reg: Number>>(
    alpha: impl Into<Val<'k, T::Reg>>,
    x: &impl ReadElements<'k, T>,
    beta: impl Into<Val<'k, T::Reg>>,
    y: &(impl ReadElements<'k, T> + WriteElements<'k, T>),
) {
    let (k, alpha, beta) = (y.in_kernel(), alpha.into(), beta.into());
    let _located = k.locate(Location::caller());
    if x.len() != y.len() {
        k.refuse(format!(
            "axpby: expected fragments or tensors of the same size, found {} and {} elements",
            x.len(),
            y.len()
        ));
        return;
    }
    let zero = beta.as_constant().is_some_and(|beta| beta.to_bits() == 0);
    for index in each(y, "axpby") {
        let scaled = alpha * x.element(index);
        y.put(index, if zero { scaled } else { beta.mad(y.element(index), scaled) });
    }
}

/// Returns the sum of the elements of `of`, added in colexicographic order, or 0 if `of` is empty.
///
/// The builder rejects the call if there are more than 4096 elements.
#[track_caller]
pub fn sum<'k, T: TensorElement<Reg: Number>>(of: &impl ReadElements<'k, T>) -> Val<'k, T::Reg> {
    let _located = of.in_kernel().locate(Location::caller());
    let elements = each(of, "sum").map(|index| of.element(index));
    elements.reduce(|sum, element| sum + element).unwrap_or(T::Reg::ZERO.into())
}
