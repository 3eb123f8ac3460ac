//! Which matrix instruction can copy a product's operand between shared memory and registers.

use std::fmt;

use super::{
    element::TensorElement,
    fragment::Fragment,
    matrices::{instructions, load_matrices, store_matrices},
    memory::{Step, Tensor},
    pick::{Pick, Picks},
    space::TensorSpace,
    tiled_copy::TiledCopy,
    tiled_mma::TiledMma,
};
use crate::{
    atoms::{CopyAtom, CopyKind, MmaOperand, copy_atoms},
    layout::{IntTuple, Layout, Tuple},
    ptx::{ReadWrite, Shared, Val},
};

/// Where a thread's part of a product's operand was taken from. A matrix instruction moves elements between threads, so that the
/// part alone does not say whether one fits.
#[derive(Clone)]
pub struct OperandPart<'k, T> {
    mma: TiledMma,
    operand: MmaOperand,
    thread: Val<'k, u32>,
    /// The operand, for all threads.
    whole: Tensor<'k, Shared, T, ReadWrite>,
    /// The modes `(values, Rest, Rest, …)` of the thread's part.
    modes: Vec<Mode<'k>>,
}

/// A mode of a thread's part: how long it is, and what was sliced of it.
#[derive(Clone, Copy, Debug)]
struct Mode<'k> {
    extent: i64,
    taken: Pick<'k>,
}

impl<T> fmt::Debug for OperandPart<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {}, modes {:?}", self.operand, self.mma.atom().name(), self.modes)
    }
}

impl<'k, T: TensorElement> OperandPart<'k, T> {
    /// `part` of `whole`, as [`ThreadMma::partition`](super::ThreadMma::partition) gives it; only shared memory has matrices.
    pub(super) fn new<S: TensorSpace, A>(
        (mma, operand, thread): (&TiledMma, MmaOperand, Val<'k, u32>),
        whole: &Tensor<'k, S, T, A>,
        part: &Tensor<'k, S, T, A>,
    ) -> Option<Self> {
        let whole = whole.in_shared()?;
        let mode = |mode: &IntTuple| Mode { extent: mode.size(), taken: Pick::Keep };
        Some(Self {
            mma: mma.clone(),
            operand,
            thread,
            whole,
            modes: part.shape().modes().iter().map(mode).collect(),
        })
    }

    /// What a slice leaves, if that is all values of an instruction, and of each other mode all or one.
    pub(super) fn sliced(&self, coord: &Picks<'k>) -> Option<Self> {
        let mut places = coord.modes().iter();
        let mut part = self.clone();
        for mode in part.modes.iter_mut().filter(|mode| mode.is_kept()) {
            let Tuple::Leaf(pick) = places.next()? else { return None };
            mode.taken = *pick;
        }
        (part.modes[0].is_kept() && places.next().is_none()).then_some(part)
    }

    /// Loads the part with the widest `ldmatrix` that fits; `false` if none does.
    #[track_caller]
    pub(super) fn load(&self, dst: &Fragment<'k, T>) -> bool {
        let Some((tiled, dst)) = self.widest(dst, |kind| matches!(kind, CopyKind::LdMatrix(_))) else {
            return false;
        };
        let src = tiled.thread(self.thread).partition_s(&self.whole);
        load_matrices(&tiled, &dst, &src.slice(self.taken()));
        true
    }

    /// Stores to the part with the widest `stmatrix` that fits; `false` if none does.
    #[track_caller]
    pub(super) fn store(&self, src: &Fragment<'k, T>) -> bool {
        let Some((tiled, src)) = self.widest(src, |kind| matches!(kind, CopyKind::StMatrix(_))) else {
            return false;
        };
        let dst = tiled.thread(self.thread).partition_d(&self.whole);
        // What is pending is the caller's to hand on.
        let _ = store_matrices(&tiled, &dst.slice(self.taken()), &src);
        true
    }

    fn taken(&self) -> Picks<'k> {
        self.modes.iter().map(|mode| Tuple::Leaf(mode.taken)).collect()
    }

    /// The tiled copy that moves the most matrices at once, and the fragment in its order.
    fn widest(
        &self,
        fragment: &Fragment<'k, T>,
        wanted: impl Fn(CopyKind) -> bool,
    ) -> Option<(TiledCopy, Fragment<'k, T>)> {
        let fragment = self.with_taken_modes(fragment)?;
        let fits = |atom| {
            let tiled = self.tiled(atom)?;
            let retiled = fragment.with_layout(tiled.retile(fragment.layout()).ok()?);
            (self.has_rows(&tiled, &retiled)? && has_operands(&retiled)?).then_some((tiled, retiled))
        };
        let count = |kind| match kind {
            CopyKind::LdMatrix(matrices) | CopyKind::StMatrix(matrices) => matrices.count,
            _ => 0,
        };
        [4, 2, 1].into_iter().find_map(|most| {
            let mut atoms = copy_atoms().filter(|atom| wanted(atom.kind()) && count(atom.kind()) == most);
            atoms.find_map(fits)
        })
    }

    /// The fragment with a mode of extent 1 for each that the slices took.
    fn with_taken_modes(&self, fragment: &Fragment<'k, T>) -> Option<Fragment<'k, T>> {
        let mut kept = fragment.layout().modes();
        let mode = |mode: &Mode<'k>| if mode.is_kept() { kept.next() } else { Layout::new(1, 0).ok() };
        let modes: Vec<_> = self.modes.iter().map(mode).collect::<Option<_>>()?;
        kept.next().is_none().then(|| fragment.with_layout(Layout::concat(modes)))
    }

    /// The tiled copy of an atom for the operand, if the target has it and it keeps elements whole.
    fn tiled(&self, atom: &'static CopyAtom) -> Option<TiledCopy> {
        let (CopyKind::LdMatrix(matrices) | CopyKind::StMatrix(matrices)) = atom.kind() else { return None };
        let plain = matrices.element_bits == 16 && matrices.memory_bits == 16;
        let whole = plain && (T::SIZE == 2 || !matrices.transposed);
        if !whole || !atom.is_on(self.whole.kernel().target()) {
            return None;
        }
        let tiled = match self.operand {
            MmaOperand::A => TiledCopy::for_a(atom, 8 * T::SIZE, &self.mma),
            MmaOperand::B => TiledCopy::for_b(atom, 8 * T::SIZE, &self.mma),
            MmaOperand::C | MmaOperand::D => TiledCopy::for_c(atom, 8 * T::SIZE, &self.mma),
        };
        tiled.ok()
    }

    /// Whether all addresses that lanes pass are those of 16 aligned bytes side by side, and there are as many as the fragment
    /// has instructions.
    fn has_rows(&self, tiled: &TiledCopy, fragment: &Fragment<'k, T>) -> Option<bool> {
        let divided = match tiled.atom().kind() {
            CopyKind::LdMatrix(_) => tiled.divide_s(&self.whole.layout),
            _ => tiled.divide_d(&self.whole.layout),
        };
        let divided = divided.ok()?;
        let (threads, values, rest) = (divided.mode(0).ok()?, divided.mode(1).ok()?, divided.mode(2).ok()?);
        let repeats = values.mode(1).ok()?;
        let row = 16 / i64::from(T::SIZE);
        let side_by_side = values.mode(0).ok()?.values().map(|step| step.component(0)).eq(0..row);
        // Aligned wherever each mode goes, they are aligned in sum.
        let aligned = [&threads, &repeats, &rest].into_iter().all(|layout| {
            let mut steps = layout.shape().leaves().zip(layout.stride().leaves());
            steps.all(|(&extent, step)| extent == 1 || step.component(0) % row == 0)
        });
        let instructions = repeats.size() * self.kept(&rest)?;
        let same_count = instructions == self::instructions(fragment.layout()).ok()?.len() as i64;
        Some(side_by_side && aligned && same_count && self.whole.begins_aligned(16))
    }

    /// How many of a copy's tiles the slices keep, if they can be taken of its rest modes: a mode of which one was taken must be
    /// as long for the copy as for the product.
    fn kept(&self, rest: &Layout<Step>) -> Option<i64> {
        let (modes, rest) = (&self.modes[1..], rest.shape().modes());
        let kept = |(mode, rest): (&Mode<'k>, &IntTuple)| match mode.taken {
            Pick::Keep => Some(rest.size()),
            _ => (mode.extent == rest.size()).then_some(1),
        };
        (modes.len() == rest.len()).then(|| modes.iter().zip(rest).map(kept).product())?
    }
}

impl Mode<'_> {
    fn is_kept(&self) -> bool {
        matches!(self.taken, Pick::Keep)
    }
}

/// Whether each instruction's registers are whole and in order.
fn has_operands<T: TensorElement>(fragment: &Fragment<'_, T>) -> Option<bool> {
    let instructions = instructions(fragment.layout()).ok()?;
    Some(instructions.into_iter().all(|one| fragment.slice(one).whole_registers().is_some()))
}
