//! `gemm`, a matrix product over the values and rest modes of fragments.

use std::panic::Location;

use super::{copy::copy, element::TensorElement, fragment::Fragment, memory::Tensor, tiled_mma::TiledMma};
use crate::{
    atoms::{Group, MmaAtom, MmaOperand},
    layout::{Layout, Slot, Tuple},
    ptx::{Builder, Read, Readable, RegId, Scalar, Shared, sealed::Sealed},
};

/// Operand A or B of [`gemm`]: a [`Fragment`], or a tensor in shared memory, which is loaded one step along k at a time.
pub trait GemmFactor<'k, T: TensorElement>: Sealed {
    #[doc(hidden)]
    fn modes(&self) -> usize;
    #[doc(hidden)]
    fn extent(&self, mode: usize) -> i64;
    /// Returns step `k` of the last mode in registers, with modes `(values, rest)`, or the whole operand if it has no k mode.
    #[doc(hidden)]
    #[track_caller]
    fn step(&self, mma: &TiledMma, operand: MmaOperand, shape: Shape, k: i64) -> Fragment<'k, T>;
}

/// The meaning of an operand's modes.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Whether mode 0 contains the values of the instruction.
    values: bool,
    /// Whether the last mode is k.
    depth: bool,
}

impl<'k, T: TensorElement> GemmFactor<'k, T> for Fragment<'k, T> {
    fn modes(&self) -> usize {
        self.layout().rank()
    }

    fn extent(&self, mode: usize) -> i64 {
        self.size_of(mode)
    }

    #[track_caller]
    fn step(&self, _: &TiledMma, _: MmaOperand, shape: Shape, k: i64) -> Fragment<'k, T> {
        let at_k = if shape.depth { at_last(self.layout().rank(), k) } else { keep(self.layout().rank()) };
        values_first(&self.slice(at_k), shape)
    }
}

impl<'k, T: TensorElement, A: Readable> GemmFactor<'k, T> for Tensor<'k, Shared, T, A> {
    fn modes(&self) -> usize {
        self.rank()
    }

    fn extent(&self, mode: usize) -> i64 {
        self.size_of(mode)
    }

    #[track_caller]
    fn step(&self, mma: &TiledMma, operand: MmaOperand, shape: Shape, k: i64) -> Fragment<'k, T> {
        let builder = self.kernel();
        let at_k = if shape.depth { at_last(self.rank(), k) } else { keep(self.rank()) };
        let part = self.slice(at_k.map(|slot| match slot {
            Slot::Keep => super::index::Index::All,
            Slot::At(index) => super::index::Index::Constant(*index),
        }));
        let layout = Layout::column_major(part.shape().clone()).unwrap_or_else(|error| {
            builder.refuse(error.to_string());
            Layout::concat([])
        });
        let single = mma.atom().group() == Group::Thread;
        let class = if single { T::Word::CLASS } else { mma.atom().register_class(operand) };
        let fragment = Fragment::uninitialized(builder, &layout, class);
        copy(&fragment, &part.with_access::<Read>());
        values_first(&fragment, shape)
    }
}

/// Returns `(_, …, _, k)`.
fn at_last(rank: usize, k: i64) -> Tuple<Slot> {
    let mut places = vec![Tuple::Leaf(Slot::Keep); rank];
    places[rank - 1] = Tuple::Leaf(Slot::At(k));
    places.into()
}

fn keep(rank: usize) -> Tuple<Slot> {
    vec![Tuple::Leaf(Slot::Keep); rank].into()
}

/// Returns `(values, rest)`, with a leading mode of one value if the operand has no values mode.
#[track_caller]
fn values_first<'k, T: TensorElement>(part: &Fragment<'k, T>, shape: Shape) -> Fragment<'k, T> {
    let layout = if shape.values { part.layout().append(2) } else { part.layout().prepend(2) };
    part.relaid(Ok::<_, crate::layout::LayoutError>(layout))
}

/// Computes `d = a · b + c` with a tiled MMA, over all values and rest modes.
///
/// `d` and `c` may be the same fragment. If there are several steps along k, the first step computes `d = a · b + c`, and each subsequent
/// step adds its products to `d`.
///
/// The operands (d, a, b, c) must have one of the following combinations of ranks, where v denotes the instruction's values:
///
/// | ranks        | modes                                        |
/// | ---          | ---                                          |
/// | (1, 1, 1, 1) | (v), (v), (v), (v): one instruction          |
/// | (2, 1, 1, 2) | (m, n), (m), (n), (m, n), of one value each   |
/// | (2, 2, 2, 2) | (m, n), (m, k), (n, k), (m, n), of one value each |
/// | (3, 2, 2, 3) | (v, m, n), (v, m), (v, n), (v, m, n)          |
/// | (3, 3, 3, 3) | (v, m, n), (v, m, k), (v, n, k), (v, m, n)     |
///
/// `a` and `b` may be in shared memory; in that case, each step along k is loaded before its MMAs. For consecutive values of n, m is
/// traversed in alternating directions, so each instruction shares an operand with the previous one. If the atom is an `mma`, all lanes of
/// the warp must execute the emitted code.
///
/// The builder rejects other ranks, mismatched extents, and element types that differ from those of the instruction. It also rejects
/// multiple steps along k if the types of `c` and `d` differ, instructions on sparse or block-scaled operands or on single 16-bit floats,
/// and instructions that [`Builder::mma`] does not emit.
#[doc(alias = "gemm!")]
#[track_caller]
pub fn gemm<'k, D: TensorElement, A: TensorElement, B: TensorElement, C: TensorElement>(
    mma: &TiledMma,
    d: &Fragment<'k, D>,
    a: &impl GemmFactor<'k, A>,
    b: &impl GemmFactor<'k, B>,
    c: &Fragment<'k, C>,
) {
    let k = d.kernel();
    let ranks = (d.layout().rank(), a.modes(), b.modes(), c.layout().rank());
    let shape = |values, depth| Shape { values, depth };
    let (shape, m, n) = match ranks {
        (1, 1, 1, 1) => (shape(true, false), 1, 1),
        (2, 1, 1, 2) => (shape(false, false), a.extent(0), b.extent(0)),
        (2, 2, 2, 2) => (shape(false, true), a.extent(0), b.extent(0)),
        (3, 2, 2, 3) => (shape(true, false), a.extent(1), b.extent(1)),
        (3, 3, 3, 3) => (shape(true, true), a.extent(1), b.extent(1)),
        _ => {
            k.refuse(format!("gemm: expected the ranks of a row of its table, found {ranks:?}"));
            return;
        }
    };
    let last = ranks.1 - 1;
    let depth = if shape.depth { a.extent(last) } else { 1 };
    let sums = [(d.layout(), "d"), (c.layout(), "c")];
    for (layout, name) in sums {
        let rest = if shape.values { 1 } else { 0 };
        let found: Vec<i64> =
            layout.shape().modes()[rest.min(layout.rank())..].iter().map(Tuple::size).collect();
        if found.iter().product::<i64>() != m * n || found.first().is_some_and(|&first| first != m) {
            k.refuse(format!("gemm: {name}: expected modes ({m}, {n}), those of a and b, found {found:?}"));
            return;
        }
    }
    if shape.depth && b.extent(last) != depth {
        k.refuse(format!(
            "gemm: expected the same number of steps along k in a and b, found {depth} and {}",
            b.extent(last)
        ));
        return;
    }
    let _located = k.locate(Location::caller());
    check_atom::<D>(k, mma.atom());
    let at = |i| -> Tuple<Slot> { vec![Slot::Keep, Slot::At(i)].into_iter().collect() };
    let sums_of = |layout: &Layout, index: i64| -> Tuple<Slot> {
        let (i, j) = (Slot::At(index % m), Slot::At(index / m));
        match (layout.rank(), shape.values) {
            (1, _) => keep(1),
            (_, true) => vec![Slot::Keep, i, j].into_iter().collect(),
            (_, false) => vec![i, j].into_iter().collect(),
        }
    };
    let [of_d, of_c] = [MmaOperand::D, MmaOperand::C].map(|operand| mma.atom().operand_type(operand));
    if depth > 1 && of_d != of_c {
        k.refuse(format!(
            "gemm: expected one step along k, because c ({of_c}) and d ({of_d}) differ, found {depth}"
        ));
        return;
    }
    let words = Words { k, atom: mma.atom() };
    let d = words.of_slices(MmaOperand::D, d, m * n, |index| sums_of(d.layout(), index));
    let c = words.of_slices(MmaOperand::C, c, m * n, |index| sums_of(c.layout(), index));
    for step in 0..depth {
        let a = words.of_slices(MmaOperand::A, &a.step(mma, MmaOperand::A, shape, step), m, at);
        let b = words.of_slices(MmaOperand::B, &b.step(mma, MmaOperand::B, shape, step), n, at);
        let (Some(d), Some(a), Some(b), Some(c)) = (&d, &a, &b, &c) else { return };
        for (j, b) in b.iter().enumerate() {
            for i in 0..a.len() {
                let i = if j % 2 == 1 { a.len() - 1 - i } else { i };
                let sum = i + j * a.len();
                let bare = mma.atom().group() == Group::Thread;
                let addend = if step == 0 { &c[sum] } else { &d[sum] };
                let operands = [&*d[sum], &*a[i], b, &**addend];
                k.product_of_words(mma.atom().mnemonic(), bare, operands);
            }
        }
    }
}

/// Rejects an atom that is not a single instruction on fragments.
#[track_caller]
fn check_atom<D: TensorElement>(k: Builder<'_>, atom: &MmaAtom) {
    if !atom.is_emitted() || atom.sparsity().is_some() || atom.block_scale().is_some() {
        k.refuse(format!("{}: expected an instruction that `gemm` emits on fragments", atom.name()));
    } else if atom.group() == Group::Thread && D::SIZE < 4 {
        // 16-bit floats are packed in pairs, but an instruction on single ones requires separate registers.
        k.refuse(format!(
            "{}: packed {} is not supported: the instruction operates on a single half",
            atom.name(),
            D::NAME
        ));
    }
}

/// Rejects elements whose type differs from the operand's.
#[track_caller]
pub(super) fn check_type<T: TensorElement>(k: Builder<'_>, atom: &MmaAtom, operand: MmaOperand) {
    let wanted = atom.operand_type(operand);
    if !wanted.is_stored_in::<T>() {
        let (name, found) = (atom.name(), T::NAME);
        k.refuse(format!("operand {operand:?} of {name}: expected elements {wanted}, found {found}"));
    }
}

/// The words of fragments that are the operands of an instruction.
struct Words<'a, 'k> {
    k: Builder<'k>,
    atom: &'a MmaAtom,
}

impl<'k> Words<'_, 'k> {
    /// Returns the words of each of `count` slices; the builder rejects a slice that does not have exactly as many words as the instruction
    /// requires.
    #[track_caller]
    fn of_slices<T: TensorElement>(
        &self,
        operand: MmaOperand,
        fragment: &Fragment<'k, T>,
        count: i64,
        slice: impl Fn(i64) -> Tuple<Slot>,
    ) -> Option<Vec<Vec<RegId>>> {
        check_type::<T>(self.k, self.atom, operand);
        let wanted = self.atom.registers(operand) as usize;
        let mut all = Vec::with_capacity(count as usize);
        for index in 0..count {
            let words = fragment.slice(slice(index)).operand();
            if words.len() != wanted {
                self.k.refuse(format!(
                    "{}: expected {wanted} registers of {operand:?}, found {} in the fragment",
                    self.atom.name(),
                    words.len()
                ));
                return None;
            }
            all.push(words);
        }
        Some(all)
    }
}
