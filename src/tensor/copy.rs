//! `copy`, which selects the instructions that move data between tensors and fragments.

use std::{borrow::Cow, panic::Location};

use super::{
    conflicts::move_exchanged,
    element::TensorElement,
    fragment::Fragment,
    matrix_moves::{Direction, move_matrices},
    memory::Tensor,
    moves::{Move, Widths},
    outline::Plan,
    predicate::{Predicates, both},
    sides::{Data, Destination, Side, SideWalk, Source, Words},
};
use crate::ptx::{Builder, CopyHints, CpAsyncCache, Features, ReadWrite, Shared, Val};

/// The maximum number of elements per call; a larger number indicates a tensor that was not sliced.
pub(super) const MOST_ELEMENTS: i64 = 4096;

/// Copies element `i` of `src` to element `i` of `dst` for every linear index `i`.
///
/// The copy uses:
///
/// - the widest accesses, up to 16 bytes, that both layouts and the known alignment of the addresses allow;
/// - `cp.async` from global to shared memory, if the target supports it and an access is 4, 8 or 16 bytes wide;
/// - `ldmatrix`, and `stmatrix` on sm_90 or later, between shared memory and registers under the conditions below;
/// - predicates for tensors created by [`Builder::tensor`]: elements past the edges are read as 0 and are not written.
///
/// A copy uses `ldmatrix` or `stmatrix` if all of these conditions hold:
///
/// - One side is in shared memory and is a thread's partition, either of an MMA operand
///   ([`MmaThread::partition`](super::MmaThread::partition), possibly sliced along its rest modes) or for a tiled copy with 32 threads.
/// - The other side is a fragment of the same size.
/// - The thread index of the partition is known to be the thread's index in the block (modulo 32) or its lane index.
/// - The rows of the matrices are contiguous and aligned for all threads.
///
/// All lanes of the warp must execute such a copy. It uses the widest form that fits, either plain or transposed.
///
/// If a copy between such a partition and a fragment of 32- or 64-bit elements would cause bank conflicts, half of the lanes may execute
/// pairs of accesses in the opposite order, with `selp` instructions that swap the two elements in registers.
///
/// If `dst` is in the block's shared memory, the copy returns [`Pending`](super::Pending) data, regardless of the instructions used.
///
/// The builder rejects the call if the sizes of `dst` and `src` differ, or if there are more than 4096 elements.
#[doc(alias = "copyto!")]
#[doc(alias = "cucopyto!")]
#[track_caller]
pub fn copy<'k, T: TensorElement, D: Destination<'k, T>>(dst: &D, src: &impl Source<'k, T>) -> D::Done {
    let (to, from) = (dst.destination(), src.source());
    let k = from.kernel();
    let _located = k.locate(Location::caller());
    let by_warp = match (&to, &from) {
        (Side::Registers(to), Side::Shared(from)) => move_by_warp(Direction::Load, from, to),
        (Side::Shared(to), Side::Registers(from)) => move_by_warp(Direction::Store, to, from),
        _ => false,
    };
    let asynchronous = !by_warp && transfer(to, from, None, &How::best(k));
    dst.done(asynchronous)
}

/// Copies between a lane's part of shared memory and registers if a warp-wide copy is faster: with matrix instructions, or in an order
/// without bank conflicts. Otherwise, returns `false`.
#[track_caller]
fn move_by_warp<'k, T: TensorElement>(
    direction: Direction,
    memory: &Tensor<'k, Shared, T, ReadWrite>,
    fragment: &Fragment<'k, T>,
) -> bool {
    move_matrices(direction, memory, fragment) || move_exchanged(direction, memory, fragment)
}

/// Copies the elements whose predicates are true, as [`copy`] does; other elements are neither read nor written.
///
/// A vector is moved as a whole if its elements share a predicate. The data always passes through registers, because `cp.async` would
/// overwrite unselected elements with zeros. `ldmatrix` and `stmatrix` are not used.
#[track_caller]
pub fn copy_if<'k, T: TensorElement, D: Destination<'k, T>>(
    predicates: &Predicates<'k>,
    dst: &D,
    src: &impl Source<'k, T>,
) -> D::Done {
    let (to, from) = (dst.destination(), src.source());
    let k = from.kernel();
    let _located = k.locate(Location::caller());
    let how = How { asynchronous: None, ..How::best(k) };
    dst.done(transfer(to, from, Some(predicates), &how))
}

/// Copies to a fragment like [`copy`], but reads elements past the edges as `fill`.
#[track_caller]
pub(crate) fn copy_or<'k, T: TensorElement>(dst: &Fragment<'k, T>, src: &impl Source<'k, T>, fill: T) {
    let (to, from) = (dst.destination(), src.source());
    let how = How { fill: fill.to_mem_bits(), ..How::best(from.kernel()) };
    transfer(to, from, None, &how);
}

/// Copies like [`copy`], but without matrix instructions and in the order of the elements; returns whether the copy is asynchronous.
#[track_caller]
pub(crate) fn copy_issued<'k, T: TensorElement>(
    dst: &impl Destination<'k, T>,
    src: &impl Source<'k, T>,
) -> bool {
    let (to, from) = (dst.destination(), src.source());
    let how = How::best(from.kernel());
    transfer(to, from, None, &how)
}

/// The constraints on the instructions of a copy.
pub(super) struct How {
    /// The maximum width of an access in bytes.
    pub(super) widest: u32,
    /// Whether every access must have that width.
    pub(super) exactly: bool,
    /// The caches that `cp.async` uses; `None` if `cp.async` must not be used.
    pub(super) asynchronous: Option<CpAsyncCache>,
    /// Whether only `cp.async` may be used.
    pub(super) always_asynchronous: bool,
    /// The operation, for error messages.
    pub(super) what: Cow<'static, str>,
    /// The bits of the value that is read past an edge.
    pub(super) fill: u64,
}

impl How {
    pub(super) fn best(k: Builder<'_>) -> Self {
        let asynchronous = k.target().features().contains(Features::AMPERE).then_some(CpAsyncCache::Best);
        Self {
            widest: 16,
            exactly: false,
            asynchronous,
            always_asynchronous: false,
            what: "copy".into(),
            fill: 0,
        }
    }
}

/// Moves all elements, and returns whether some of them are copied asynchronously.
#[track_caller]
pub(super) fn transfer<'k, T: TensorElement>(
    dst: Side<'k, T>,
    src: Side<'k, T>,
    predicates: Option<&Predicates<'k>>,
    how: &How,
) -> bool {
    let k = src.kernel();
    let (to, from) = (dst.count(), src.count());
    if to != from || to > MOST_ELEMENTS {
        k.refuse(if to == from {
            format!(
                "{}: expected at most {MOST_ELEMENTS} elements for one thread, found {to}: slice the tensors first",
                how.what
            )
        } else {
            format!("{}: expected the same number of elements on both sides, found {from} and {to}", how.what)
        });
        return false;
    }
    let (mut to, mut from) = (dst.walk(), src.walk());
    let partial = how.asynchronous.is_some()
        && predicates.is_none()
        && matches!((&to, &from), (SideWalk::Shared(_), SideWalk::Global(_)));
    let widths = Widths { element: T::SIZE, per_word: T::PER_WORD, widest: how.widest.max(T::SIZE), partial };
    let outline = to.outline();
    let mut moves = k.computed(Plan { to: outline.clone(), from: from.outline(), widths });
    if let Some(predicates) = predicates {
        moves = moves.iter().flat_map(|step| predicates.split(step)).collect();
    }
    if how.exactly
        && let Some(step) = moves.iter().find(|step| step.elements.len() as u32 * T::SIZE != how.widest)
    {
        k.refuse(format!(
            "{} moves {} bytes in one access, but from element {} on only {} are adjacent and aligned on both sides",
            how.what,
            how.widest,
            step.elements[0],
            step.elements.len() as u32 * T::SIZE
        ));
        return false;
    }
    let mut asynchronous = false;
    let mut loaded = Vec::with_capacity(moves.len());
    for step in moves.iter() {
        let mut condition = to.contains(step);
        let exists = from.contains(step);
        if let Some(predicates) = predicates {
            condition = both(condition, predicates.of(step));
        }
        let bytes = step.elements.len() as u32 * T::SIZE;
        if let (Some(cache), SideWalk::Shared(to), SideWalk::Global(from), 4..) =
            (how.asynchronous, &mut to, &mut from, bytes)
        {
            asynchronous = true;
            let (to, pointer) = (to.pointer_to(step.elements[0]), from.pointer_to(step.elements[0]));
            let valid = from.valid_bytes(&step.elements);
            let pointer = pointer.checked(both(exists, condition));
            to.copy_async_bytes(pointer, bytes, cache, valid, CopyHints::default());
            continue;
        }
        if how.always_asynchronous {
            k.refuse(format!(
                "{} copies from global to shared memory, at least 4 bytes in one access",
                how.what
            ));
            return false;
        }
        match to.target_registers(step) {
            // Load directly into the fragment's registers.
            Some(words) => {
                from.read(step, condition, exists, how.fill, Some(words));
            }
            None => {
                let data = from.read(step, condition, exists, how.fill, None);
                loaded.push((data, condition, step.clone()));
            }
        }
    }
    if predicates.is_none() && !how.exactly && loaded.len() > 1 {
        let widths = Widths { partial: false, ..widths };
        let accesses = k.computed(Plan { to: outline.clone(), from: outline, widths });
        loaded = joined(loaded, &accesses, k);
    }
    for (data, condition, step) in loaded {
        to.write(&step, condition, data);
    }
    asynchronous
}

/// Loaded data, its condition, and the move to the destination.
type Loaded<'k, T> = (Data<'k, T>, Val<'k, bool>, Move);

/// Joins individually loaded parts into the accesses that the destination allows: for example, elements of an unaligned row of global
/// memory fill whole registers, and are stored to shared memory as a vector.
#[track_caller]
fn joined<'k, T: TensorElement>(
    loaded: Vec<Loaded<'k, T>>,
    accesses: &[Move],
    k: Builder<'k>,
) -> Vec<Loaded<'k, T>> {
    let mut part_of: Vec<Option<usize>> =
        vec![None; accesses.iter().map(|access| access.elements.len()).sum()];
    for (part, (.., step)) in loaded.iter().enumerate() {
        step.elements.iter().for_each(|&element| part_of[element as usize] = Some(part));
    }
    let mut loaded: Vec<Option<Loaded<'k, T>>> = loaded.into_iter().map(Some).collect();
    let mut joined = Vec::with_capacity(loaded.len());
    for access in accesses {
        let mut parts: Vec<_> = access.elements.iter().map(|&element| part_of[element as usize]).collect();
        parts.dedup();
        let own: Vec<_> = parts.into_iter().filter_map(|part| loaded[part?].take()).collect();
        let in_order = own.iter().flat_map(|(.., step)| &step.elements).eq(&access.elements);
        if in_order && own.len() > 1 && access.elements.len().is_multiple_of(T::PER_WORD) {
            let condition = own[0].1;
            let words = words_of(own.into_iter().map(|(data, ..)| data), k);
            joined.push((Data::Registers(words), condition, access.clone()));
        } else {
            joined.extend(own);
        }
    }
    joined
}

/// Packs elements into words, and returns all words in order.
#[track_caller]
fn words_of<'k, T: TensorElement>(parts: impl Iterator<Item = Data<'k, T>>, k: Builder<'k>) -> Words {
    let (mut words, mut elements) = (Words::new(), Vec::new());
    for part in parts {
        match part {
            Data::Registers(registers) => words.extend(registers),
            Data::Element(value) => elements.push(value),
        }
        if elements.len() == T::PER_WORD {
            words.push(k.word::<T>(&elements));
            elements.clear();
        }
    }
    words
}
