//! Predicates that select the elements that a copy moves.

use super::{element::TensorElement, elementwise::each, memory::Tensor, moves::Move, space::TensorSpace};
use crate::{
    layout::Layout,
    ptx::{Builder, Scalar, Val},
};

/// Predicates for the elements of a view: one for each element, or one for several elements where the layout of the
/// predicates has strides of 0.
#[derive(Clone, Debug)]
pub struct Predicates<'k> {
    layout: Layout,
    values: Vec<Val<'k, bool>>,
}

impl<'k> Builder<'k> {
    /// Creates predicates for views with the shape of `layout`: element `i` is moved if `values[layout(i)]` is true.
    ///
    /// A stride of 0 along the elements of a vector access gives them a single predicate. The builder rejects the call if `values` is
    /// empty or shorter than the cosize of the layout, or if the layout has negative strides.
    #[track_caller]
    pub fn predicates(self, layout: &Layout, values: Vec<Val<'k, bool>>) -> Predicates<'k> {
        if layout.stride().leaves().any(|&stride| stride < 0) {
            self.refuse(format!("expected strides of at least 0, found the predicates {layout}"));
        }
        let wanted = usize::try_from(layout.cosize()).unwrap_or(usize::MAX);
        if values.len() < wanted || values.is_empty() {
            self.refuse(format!("predicates {layout}: expected {wanted} values, found {}", values.len()));
            return Predicates { layout: layout.clone(), values: vec![true.into(); wanted.clamp(1, 4096)] };
        }
        Predicates { layout: layout.clone(), values }
    }
}

impl<'k> Predicates<'k> {
    fn index(&self, element: i64) -> usize {
        self.layout.index(element).unsigned_abs() as usize
    }

    /// Returns the predicate of element `index` of the view, or `false` if the element has no predicate.
    #[must_use]
    pub fn get(&self, index: i64) -> Val<'k, bool> {
        self.values.get(self.index(index)).copied().unwrap_or(false.into())
    }

    /// Returns the predicate of a move whose elements share a predicate.
    pub(super) fn of(&self, step: &Move) -> Val<'k, bool> {
        self.get(step.elements[0])
    }

    /// Returns the move unchanged if its elements share a predicate, otherwise one move per element.
    pub(super) fn split(&self, step: &Move) -> Vec<Move> {
        let first = self.index(step.elements[0]);
        if step.elements.iter().all(|&element| self.index(element) == first) {
            return vec![step.clone()];
        }
        step.elements.iter().copied().map(Move::of).collect()
    }
}

impl<'k, S: TensorSpace, T: TensorElement, A> Tensor<'k, S, T, A> {
    /// Returns predicates that are true for exactly those elements of the view that are within the bounds of the original tensor.
    ///
    /// The builder rejects the call if there are more than 4096 elements.
    #[doc(alias = "elem_less")]
    #[must_use]
    #[track_caller]
    pub fn inside(&self) -> Predicates<'k> {
        let (count, view) = (each(self, "predicates").end, self.resolved());
        let values: Vec<_> = (0..count).map(|element| view.contains(&view.offset_of(element))).collect();
        let layout = Layout::column_major(count).unwrap_or_else(|_| Layout::concat([]));
        Predicates { layout, values }
    }
}

/// Returns `a & b`, either of which may be constant.
pub(super) fn both<'k>(a: Val<'k, bool>, b: Val<'k, bool>) -> Val<'k, bool> {
    match (a.as_constant(), b.as_constant()) {
        (Some(true), _) | (_, Some(false)) => b,
        (_, Some(true)) | (Some(false), _) => a,
        _ if a.is_same(&b) => a,
        _ => a & b,
    }
}

/// Returns zero as a value of the register type.
pub(crate) fn zero<T: TensorElement>() -> T::Reg {
    T::Reg::from_bits(0)
}
