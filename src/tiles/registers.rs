//! The common interface of register tiles and register vectors: elements distributed over the registers of a warp.

use super::{element::RegisterLayout, rt::Rt, vector::Rv, vector_layout::VectorLayout};
use crate::{
    layout::TvLayout,
    ptx::{Builder, RegId, Val, Visitor},
    tensor::{Fragment, TensorElement, words_of},
};

/// Elements distributed over the registers of a warp: a register tile ([`Rt`]) or a register vector ([`Rv`]).
pub trait Distributed<'k>: Sized + sealed::Sealed {
    /// The element type.
    type Element: TensorElement;
}

mod sealed {
    pub trait Sealed {}
}

impl<T: TensorElement, const H: usize, const W: usize, L> sealed::Sealed for Rt<'_, T, H, W, L> {}
impl<T: TensorElement, const N: usize, V> sealed::Sealed for Rv<'_, T, N, V> {}

impl<'k, T: TensorElement, const H: usize, const W: usize, L: RegisterLayout> Distributed<'k>
    for Rt<'k, T, H, W, L>
{
    type Element = T;
}

impl<'k, T: TensorElement, const N: usize, V: VectorLayout> Distributed<'k> for Rv<'k, T, N, V> {
    type Element = T;
}

/// The word in a register of `D`.
pub(super) type WordOf<'k, D> = <<D as Distributed<'k>>::Element as TensorElement>::Word;

/// The registers of a tile or a vector.
pub(super) trait Registers<'k>: Distributed<'k> {
    fn fragment(&self) -> &Fragment<'k, Self::Element>;

    /// Returns a tile or vector that owns `registers`.
    fn of_registers(k: Builder<'k>, registers: Vec<RegId>) -> Self;

    /// Returns the (lane, value) layout.
    fn layout() -> TvLayout;

    /// Returns the number of registers per lane.
    fn count() -> usize {
        Self::layout().registers() as usize
    }

    /// Returns the number of elements per lane.
    fn values() -> usize {
        Self::count() * Self::Element::PER_WORD
    }

    fn kernel(&self) -> Builder<'k> {
        self.fragment().kernel()
    }

    /// Returns the registers as values. The builder rejects the use of a value after its register has been overwritten.
    fn words(&self) -> Vec<Val<'k, WordOf<'k, Self>>> {
        words_of(self.fragment())
    }

    /// Applies `f` to the index and the value of every register and returns the results in fresh registers.
    #[track_caller]
    fn computed(&self, f: impl Fn(usize, Val<'k, WordOf<'k, Self>>) -> Val<'k, WordOf<'k, Self>>) -> Self {
        Self::of_registers(self.kernel(), computed(self.fragment(), &f))
    }

    /// Applies `f` to the index and the value of every register, in place. In an emitted loop that does not carry the registers, the
    /// results are in fresh registers, because every iteration starts from the same values.
    #[track_caller]
    fn rewrite(&mut self, f: impl Fn(usize, Val<'k, WordOf<'k, Self>>) -> Val<'k, WordOf<'k, Self>>) {
        *self = Self::of_registers(self.kernel(), rewritten(self.fragment(), &f));
    }

    /// Visits the registers as loop state.
    #[track_caller]
    fn visit_registers(&mut self, visitor: &mut Visitor<'_, 'k>) {
        let k = self.kernel();
        let mut words = self.words();
        for word in &mut words {
            visitor.owned(word);
        }
        *self = Self::of_registers(k, words.iter().map(|word| word.in_register(k)).collect());
    }
}

/// Returns a tile or vector with copies of `values` in its registers.
#[track_caller]
pub(super) fn from_values<'k, D: Registers<'k>>(k: Builder<'k>, values: &[Val<'k, WordOf<'k, D>>]) -> D {
    k.check_whole_warps();
    if values.len() != D::count() {
        k.refuse(format!("expected the values of {} registers, found {}", D::count(), values.len()));
        return k.zeros();
    }
    D::of_registers(k, values.iter().map(|&value| k.owned(|| value)).collect())
}

/// A function of the index and the value of a register.
type OfWord<'f, 'k, W> = dyn Fn(usize, Val<'k, W>) -> Val<'k, W> + 'f;

// The functions that implement the operations are generic only over the element type, because generic shapes would multiply the code that
// users compile.

#[track_caller]
pub(super) fn computed<'k, T: TensorElement>(
    fragment: &Fragment<'k, T>,
    f: &OfWord<'_, 'k, T::Word>,
) -> Vec<RegId> {
    let k = fragment.kernel();
    words_of(fragment).into_iter().enumerate().map(|(at, word)| k.owned(|| f(at, word))).collect()
}

#[track_caller]
pub(super) fn rewritten<'k, T: TensorElement>(
    fragment: &Fragment<'k, T>,
    f: &OfWord<'_, 'k, T::Word>,
) -> Vec<RegId> {
    let k = fragment.kernel();
    let registers = fragment.all_registers().iter().enumerate();
    let rewritten = registers.map(|(at, &register)| {
        let word = Val::from_reg(k.current(register), k);
        k.replace(register, || f(at, word))
    });
    rewritten.collect()
}
