//! `copy`, which chooses by itself how elements move.

use std::panic::Location;

use super::{
    element::{TensorElement, per_word},
    fragment::Fragment,
    moves::{Move, Place, Widths, Word, plan},
    operand::OperandPart,
    predicate::{Predicates, both},
};
use crate::ptx::{Builder, Features, Global, Ptr, Read, Shared, Val, Write};

/// Most elements that one call writes out: beyond, something was not sliced.
pub(super) const MOST_ELEMENTS: i64 = 4096;

/// Where elements come from: a [`Tensor`](super::Tensor) or a [`Fragment`](super::Fragment).
pub trait Source<'k, T: TensorElement> {
    #[doc(hidden)]
    fn places(&self) -> Vec<Place>;
    #[doc(hidden)]
    fn builder(&self) -> Builder<'k>;
    #[doc(hidden)]
    fn count(&self) -> i64;
    /// Whether the elements are there.
    #[doc(hidden)]
    #[track_caller]
    fn condition(&self, step: &Move) -> Val<'k, bool>;
    /// Reads into the registers given, or fresh ones. What is not there becomes 0, or keeps its value if `keep` is set.
    #[doc(hidden)]
    #[track_caller]
    fn read(&self, step: &Move, there: Val<'k, bool>, keep: bool, into: Option<Vec<Word>>) -> Held<'k, T>;
    /// Where `cp.async` may read.
    #[doc(hidden)]
    #[track_caller]
    fn global(&self, _: i64) -> Option<Ptr<'k, T, Global, Read>> {
        None
    }
    /// What `ldmatrix` may read.
    #[doc(hidden)]
    fn operand(&self) -> Option<&OperandPart<'k, T>> {
        None
    }
    /// What `stmatrix` may read.
    #[doc(hidden)]
    fn fragment(&self) -> Option<&Fragment<'k, T>> {
        None
    }
}

/// Where elements go to: a [`Tensor`](super::Tensor) or a [`Fragment`](super::Fragment).
pub trait Destination<'k, T: TensorElement> {
    /// `()`, or [`Pending`](super::Pending) for shared memory.
    type Done;
    #[doc(hidden)]
    fn to_places(&self) -> Vec<Place>;
    #[doc(hidden)]
    fn to_count(&self) -> i64;
    /// Whether the elements may be written.
    #[doc(hidden)]
    #[track_caller]
    fn accepts(&self, step: &Move) -> Val<'k, bool>;
    #[doc(hidden)]
    #[track_caller]
    fn write(&self, step: &Move, condition: Val<'k, bool>, value: Held<'k, T>);
    #[doc(hidden)]
    fn done(k: Builder<'k>, asynchronous: bool) -> Self::Done;
    /// The registers that one access may load straight into.
    #[doc(hidden)]
    fn registers(&self, _: &Move) -> Option<Vec<Word>> {
        None
    }
    /// Where `cp.async` may write.
    #[doc(hidden)]
    #[track_caller]
    fn shared(&self, _: i64) -> Option<Ptr<'k, T, Shared, Write>> {
        None
    }
    /// What `stmatrix` may write.
    #[doc(hidden)]
    fn to_operand(&self) -> Option<&OperandPart<'k, T>> {
        None
    }
    /// What `ldmatrix` may write.
    #[doc(hidden)]
    fn to_fragment(&self) -> Option<&Fragment<'k, T>> {
        None
    }
}

/// What one access moves: registers of 32 or 64 bits, or one element below that.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Held<'k, T: TensorElement> {
    /// Whole words.
    Words(Vec<Word>),
    /// One element.
    Element(Val<'k, T::Reg>),
}

/// Copies `src` to `dst`, element by element in the order of their shapes, each in the way that moves it best:
///
/// - the widest accesses, up to 16 bytes, that both layouts and what is known of the addresses' alignment allow;
/// - from global to shared memory, `cp.async` where the target has it and an access has 4, 8 or 16 bytes;
/// - between shared memory and registers, `ldmatrix` and `stmatrix` (sm_90) where one side is a thread's part of a product's operand
///   ([`ThreadMma::partition`](super::ThreadMma::partition), also sliced along its rest modes), the other a fragment of its shape,
///   and the matrices' rows lie side by side and aligned for all threads: the widest that fits, plain or transposed. All lanes of
///   a warp must come to such a copy, as to the product itself;
/// - elements past the edges of a tensor made by [`Builder::tensor`] are 0 when read and not written.
///
/// What goes to shared memory is [`Pending`](super::Pending) whichever way it goes.
///
/// Refused when the kernel is built: sizes that differ, and more elements than a thread can have.
#[doc(alias = "copyto!")]
#[doc(alias = "cucopyto!")]
#[track_caller]
pub fn copy<'k, T: TensorElement, D: Destination<'k, T>>(dst: &D, src: &impl Source<'k, T>) -> D::Done {
    let k = src.builder();
    k.located(Location::caller(), || {
        if by_matrices(dst, src) { D::done(k, false) } else { transfer(dst, src, None, &How::best(k)) }
    })
}

/// Copies with `ldmatrix` or `stmatrix`, if one fits.
#[track_caller]
fn by_matrices<'k, T: TensorElement>(dst: &impl Destination<'k, T>, src: &impl Source<'k, T>) -> bool {
    match (dst.to_fragment(), src.operand(), dst.to_operand(), src.fragment()) {
        (Some(dst), Some(src), ..) => src.load(dst),
        (.., Some(dst), Some(src)) => dst.store(src),
        _ => false,
    }
}

/// [`copy`] of only those elements for which `predicates` hold; the others are neither read nor written.
///
/// A vector moves whole where its elements share a predicate. Always through registers: `cp.async` would write zeros where an
/// element must keep its value.
#[track_caller]
pub fn copy_if<'k, T: TensorElement, D: Destination<'k, T>>(
    predicates: &Predicates<'k>,
    dst: &D,
    src: &impl Source<'k, T>,
) -> D::Done {
    let k = src.builder();
    k.located(Location::caller(), || {
        let how = How { asynchronous: None, ..How::best(k) };
        transfer(dst, src, Some(predicates), &how)
    })
}

/// What `cp.async` goes through (PTX ISA, "cp.async").
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cache {
    /// 16 bytes past L1, fewer through it.
    Best,
    /// Through L1: `.ca`.
    All,
    /// Past L1: `.cg`, for 16 bytes.
    L2,
}

/// How elements are to be moved.
pub(super) struct How {
    /// Widest access in bytes.
    pub(super) widest: u32,
    /// Whether every access must have that width.
    pub(super) exactly: bool,
    /// Whether `cp.async` may be used, and how it uses the caches.
    pub(super) asynchronous: Option<Cache>,
    /// Whether nothing else may.
    pub(super) always_asynchronous: bool,
    /// What asks for it, for errors.
    pub(super) what: String,
}

impl How {
    pub(super) fn best(k: Builder<'_>) -> Self {
        let asynchronous = k.target().features().contains(Features::AMPERE).then_some(Cache::Best);
        Self { widest: 16, exactly: false, asynchronous, always_asynchronous: false, what: "copy".into() }
    }
}

#[track_caller]
pub(super) fn transfer<'k, T: TensorElement, D: Destination<'k, T>>(
    dst: &D,
    src: &impl Source<'k, T>,
    predicates: Option<&Predicates<'k>>,
    how: &How,
) -> D::Done {
    let k = src.builder();
    let (to, from) = (dst.to_count(), src.count());
    if to != from || to > MOST_ELEMENTS {
        k.refuse(if to == from {
            format!("{} of {to} elements by one thread: slice the tensors first", how.what)
        } else {
            format!("{} of {from} elements to {to}", how.what)
        });
        return D::done(k, false);
    }
    let widths = Widths { element: T::SIZE, per_word: per_word::<T>(), widest: how.widest.max(T::SIZE) };
    let mut moves = plan(&dst.to_places(), &src.places(), widths);
    if let Some(predicates) = predicates {
        moves = moves.into_iter().flat_map(|step| predicates.split(step)).collect();
    }
    if how.exactly
        && let Some(step) = moves.iter().find(|step| step.elements.len() as u32 * T::SIZE != how.widest)
    {
        k.refuse(format!(
            "{} moves {} bytes at once, but from element {} on only {} are side by side and aligned on both sides",
            how.what,
            how.widest,
            step.elements[0],
            step.elements.len() as u32 * T::SIZE
        ));
        return D::done(k, false);
    }
    let mut asynchronous = false;
    let mut held = Vec::new();
    for step in moves {
        let mut condition = dst.accepts(&step);
        if let Some(predicates) = predicates {
            condition = both(condition, predicates.of(&step));
        }
        let bytes = step.elements.len() as u32 * T::SIZE;
        if let Some(cache) = how.asynchronous
            && bytes >= 4
            && let (Some(to), Some(from)) = (dst.shared(step.elements[0]), src.global(step.elements[0]))
        {
            asynchronous = true;
            copy_async(to, from, (bytes, cache), both(src.condition(&step), condition));
            continue;
        }
        if how.always_asynchronous {
            k.refuse(format!("{} goes from global to shared memory, at least 4 bytes at once", how.what));
            return D::done(k, false);
        }
        let there = src.condition(&step);
        let keep = predicates.is_some();
        match dst.registers(&step) {
            // Straight into the fragment's own registers.
            Some(words) => {
                let there = if keep { both(there, condition) } else { there };
                src.read(&step, there, keep, Some(words));
            }
            None => held.push((src.read(&step, both(there, condition), false, None), condition, step)),
        }
    }
    for (value, condition, step) in held {
        dst.write(&step, condition, value);
    }
    D::done(k, asynchronous)
}

#[track_caller]
fn copy_async<'k, T: TensorElement>(
    to: Ptr<'k, T, Shared, Write>,
    from: Ptr<'k, T, Global, Read>,
    (bytes, cache): (u32, Cache),
    condition: Val<'k, bool>,
) {
    let k = to.kernel();
    to.check_aligned(bytes);
    from.check_aligned(bytes);
    let past_l1 = cache == Cache::L2 || (cache == Cache::Best && bytes == 16);
    let level = if past_l1 { "cg" } else { "ca" };
    let size = Val::<u32>::from(bytes).operand(k);
    let mut operands = vec![to.operand(), from.operand(), size];
    if condition.as_constant() != Some(true) {
        operands.push(condition.select(bytes, 0).operand(k));
    }
    k.emit(format_args!("cp.async.{level}.shared.global"), &operands);
}
