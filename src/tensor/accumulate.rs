//! Atomic addition of a fragment to memory.

use super::{
    element::TensorElement,
    fragment::Fragment,
    memory::Tensor,
    moves::Widths,
    outline::{Outline, Plan},
    predicate::both,
    sides::{Data, Side},
    space::TensorSpace,
    walk::Walk,
};
use crate::ptx::{
    Builder, CheckedPtr, Features, Global, ReadWrite, RegId, Shared, Val,
    traits::{AtomicAdd, AtomicSpace},
};

/// An element type that supports atomic addition in memory: `f32`, `f64`, [`bf16`](crate::ptx::bf16), [`struct@f16`](crate::ptx::f16),
/// pairs of bf16 or f16, and 32- and 64-bit integers.
#[diagnostic::on_unimplemented(message = "atomic addition is not supported for tiles of `{Self}`")]
pub trait AtomicElement: TensorElement<Word: AtomicAdd<Reg = Self::Word>> + AtomicAdd {}

impl<T: TensorElement<Word: AtomicAdd<Reg = T::Word>> + AtomicAdd> AtomicElement for T {}

/// Atomically adds each element of a fragment to the element in global memory with the same linear index, if `condition` holds. On sm_90
/// and later, each instruction adds up to 16 bytes of f32, f16 or bf16 elements; otherwise, it adds one word, such as a pair of f16
/// elements. Elements past the edges are not added.
#[track_caller]
pub(crate) fn add_global<'k, T: AtomicElement>(
    dst: &Tensor<'k, Global, T, ReadWrite>,
    src: &Fragment<'k, T>,
    condition: Val<'k, bool>,
) {
    let vectors = src.kernel().target().features().contains(Features::HOPPER) && T::ADD.contains('f');
    let widest = if vectors && T::SIZE <= 4 { 16 } else { word_bytes::<T>() };
    add(dst, src, condition, widest, |k, at, words| {
        let value = |word: usize| Val::<T::Word>::from_reg(words[word], k);
        match words.len() {
            4 => at.reduction().add_vector([0, 1, 2, 3].map(value)),
            2 => at.reduction().add_vector([0, 1].map(value)),
            _ => at.reduction().add(value(0)),
        }
    });
}

/// Atomically adds a fragment to shared memory if `condition` holds, one word at a time.
#[track_caller]
pub(crate) fn add_shared<'k, T: AtomicElement>(
    dst: &Tensor<'k, Shared, T, ReadWrite>,
    src: &Fragment<'k, T>,
    condition: Val<'k, bool>,
) {
    add(dst, src, condition, word_bytes::<T>(), |k, at, words| {
        at.reduction().add(Val::<T::Word>::from_reg(words[0], k));
    });
}

fn word_bytes<T: TensorElement>() -> u32 {
    T::SIZE * T::PER_WORD as u32
}

/// Adds elements with accesses of at most `widest` bytes; `add_words` adds whole registers.
#[track_caller]
fn add<'k, S: TensorSpace + AtomicSpace, T: AtomicElement>(
    dst: &Tensor<'k, S, T, ReadWrite>,
    src: &Fragment<'k, T>,
    condition: Val<'k, bool>,
    widest: u32,
    add_words: impl Fn(Builder<'k>, CheckedPtr<'k, T::Word, S, ReadWrite>, &[RegId]),
) {
    let k = src.kernel();
    let (mut to, mut from) = (Walk::new(dst.clone()), Side::Registers(src.clone()).walk());
    let widths = Widths { element: T::SIZE, per_word: T::PER_WORD, widest, partial: false };
    let plan = Plan { to: Outline::Memory(to.outline.clone()), from: from.outline(), widths };
    for step in k.computed(plan).iter() {
        let inside = both(to.contains(step.elements[0]), condition);
        let pointer = to.pointer_to(step.elements[0]);
        match from.read(step, true.into(), true.into(), 0, None) {
            Data::Element(value) => pointer.checked(inside).reduction().add(value),
            Data::Registers(words) => add_words(k, pointer.cast().checked(inside), &words),
        }
    }
}
