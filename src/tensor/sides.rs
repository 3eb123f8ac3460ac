//! Tensors and fragments as the sides of a copy.

use arrayvec::ArrayVec;

use super::{
    element::{TensorElement, splat},
    fragment::Fragment,
    memory::Tensor,
    moves::Move,
    outline::Outline,
    pending::Pending,
    predicate::both,
    space::TensorSpace,
    walk::Walk,
};
use crate::ptx::{
    Builder, Global, Read, ReadWrite, Readable, RegId, Scalar, Shared, SharedCluster, Val, Writable,
    sealed::Sealed,
};

/// One side of a copy.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub enum Side<'k, T: TensorElement> {
    /// In global memory.
    Global(Tensor<'k, Global, T, ReadWrite>),
    /// In shared memory.
    Shared(Tensor<'k, Shared, T, ReadWrite>),
    /// In the shared memory of another block of the cluster.
    Cluster(Tensor<'k, SharedCluster, T, ReadWrite>),
    /// In registers.
    Registers(Fragment<'k, T>),
}

impl<S: TensorSpace, T, A> Sealed for Tensor<'_, S, T, A> {}
impl<T> Sealed for Fragment<'_, T> {}

/// A source of a copy: a readable [`Tensor`] or a [`Fragment`].
#[diagnostic::on_unimplemented(
    message = "expected a readable tensor or a fragment, found `{Self}`",
    label = "this source of a copy is not readable",
    note = "a tensor in shared memory is readable after the copy that fills it: `wait()` on the result of the copy returns a readable tensor"
)]
pub trait Source<'k, T: TensorElement>: Sealed {
    #[doc(hidden)]
    fn source(&self) -> Side<'k, T>;
}

/// A destination of a copy: a [`Tensor`] or a [`Fragment`].
pub trait Destination<'k, T: TensorElement>: Sealed {
    /// The result of a copy: [`Pending`] data if the destination is in the block's shared memory, otherwise `()`.
    type Done;
    #[doc(hidden)]
    fn destination(&self) -> Side<'k, T>;
    #[doc(hidden)]
    fn done(&self, asynchronous: bool) -> Self::Done;
}

impl<'k, T: TensorElement, A: Readable> Source<'k, T> for Tensor<'k, Global, T, A> {
    fn source(&self) -> Side<'k, T> {
        Side::Global(self.through(self.pointer.assume_access()))
    }
}

// Not for every `A: Readable`: otherwise, the compiler's message would describe the access and not the source.
impl<'k, T: TensorElement> Source<'k, T> for Tensor<'k, Shared, T, Read> {
    fn source(&self) -> Side<'k, T> {
        Side::Shared(self.with_access())
    }
}

impl<'k, T: TensorElement> Source<'k, T> for Tensor<'k, Shared, T, ReadWrite> {
    fn source(&self) -> Side<'k, T> {
        Side::Shared(self.clone())
    }
}

impl<'k, T: TensorElement> Source<'k, T> for Tensor<'k, SharedCluster, T, ReadWrite> {
    fn source(&self) -> Side<'k, T> {
        Side::Cluster(self.clone())
    }
}

impl<'k, T: TensorElement> Source<'k, T> for Fragment<'k, T> {
    fn source(&self) -> Side<'k, T> {
        Side::Registers(self.clone())
    }
}

impl<'k, T: TensorElement, A: Writable> Destination<'k, T> for Tensor<'k, Global, T, A> {
    type Done = ();

    fn destination(&self) -> Side<'k, T> {
        Side::Global(self.through(self.pointer.assume_access()))
    }

    fn done(&self, _: bool) {}
}

impl<'k, T: TensorElement, A: Writable> Destination<'k, T> for Tensor<'k, Shared, T, A> {
    type Done = Pending<'k, Tensor<'k, Shared, T, Read>>;

    fn destination(&self) -> Side<'k, T> {
        Side::Shared(self.with_access())
    }

    fn done(&self, asynchronous: bool) -> Self::Done {
        self.check_lease();
        Pending::new(self.kernel(), self.whole().read_only().leased(), asynchronous)
    }
}

impl<'k, T: TensorElement> Destination<'k, T> for Tensor<'k, SharedCluster, T, ReadWrite> {
    type Done = ();

    fn destination(&self) -> Side<'k, T> {
        Side::Cluster(self.clone())
    }

    fn done(&self, _: bool) {}
}

impl<'k, T: TensorElement> Destination<'k, T> for Fragment<'k, T> {
    type Done = ();

    fn destination(&self) -> Side<'k, T> {
        Side::Registers(self.clone())
    }

    fn done(&self, _: bool) {}
}

/// The words of an access, which is at most 16 bytes wide.
pub(super) type Words = ArrayVec<RegId, 4>;

/// The data of one access: whole registers, or one element narrower than a register.
#[derive(Clone, Debug)]
pub(super) enum Data<'k, T: TensorElement> {
    Registers(Words),
    Element(Val<'k, T::Reg>),
}

impl<'k, T: TensorElement> Side<'k, T> {
    pub(super) fn kernel(&self) -> Builder<'k> {
        match self {
            Self::Global(tensor) => tensor.kernel(),
            Self::Shared(tensor) => tensor.kernel(),
            Self::Cluster(tensor) => tensor.kernel(),
            Self::Registers(fragment) => fragment.kernel(),
        }
    }

    pub(super) fn count(&self) -> i64 {
        match self {
            Self::Global(tensor) => tensor.size(),
            Self::Shared(tensor) => tensor.size(),
            Self::Cluster(tensor) => tensor.size(),
            Self::Registers(fragment) => fragment.size(),
        }
    }

    /// Prepares to access the elements in order.
    #[track_caller]
    pub(super) fn walk(self) -> SideWalk<'k, T> {
        match self {
            Self::Global(tensor) => SideWalk::Global(Walk::new(tensor)),
            Self::Shared(tensor) => SideWalk::Shared(Walk::new(tensor)),
            Self::Cluster(tensor) => SideWalk::Cluster(Walk::new(tensor)),
            Self::Registers(fragment) => SideWalk::Registers(fragment),
        }
    }
}

/// A side whose elements are accessed in order.
pub(super) enum SideWalk<'k, T> {
    Global(Walk<'k, Global, T>),
    Shared(Walk<'k, Shared, T>),
    Cluster(Walk<'k, SharedCluster, T>),
    Registers(Fragment<'k, T>),
}

impl<'k, T: TensorElement> SideWalk<'k, T> {
    /// Returns the outline from which copies are planned.
    pub(super) fn outline(&self) -> Outline {
        match self {
            Self::Global(walk) => Outline::Memory(walk.outline.clone()),
            Self::Shared(walk) => Outline::Memory(walk.outline.clone()),
            Self::Cluster(walk) => Outline::Memory(walk.outline.clone()),
            Self::Registers(fragment) => fragment.outline(),
        }
    }

    /// Returns whether the elements of a move are in bounds; either all or none of them are.
    #[track_caller]
    pub(super) fn contains(&mut self, step: &Move) -> Val<'k, bool> {
        match self {
            Self::Global(walk) => walk.contains(step.elements[0]),
            Self::Shared(_) | Self::Cluster(_) | Self::Registers(_) => true.into(),
        }
    }

    /// Returns the registers that an access can load into directly.
    pub(super) fn target_registers(&self, step: &Move) -> Option<Words> {
        match self {
            Self::Registers(fragment) => whole_registers(fragment, step),
            _ => None,
        }
    }

    /// Reads into the given registers, which are unchanged if `condition` does not hold, or into new ones, which are then undefined.
    /// Out-of-bounds elements are read as `fill`, the bits of one element.
    #[track_caller]
    pub(super) fn read(
        &mut self,
        step: &Move,
        condition: Val<'k, bool>,
        exists: Val<'k, bool>,
        fill: u64,
        into: Option<Words>,
    ) -> Data<'k, T> {
        match self {
            Self::Global(walk) => walk.read(step, condition, exists, fill, into),
            Self::Shared(walk) => walk.read(step, condition, exists, fill, into),
            Self::Cluster(walk) => walk.read(step, condition, exists, fill, into),
            Self::Registers(fragment) => read_registers(fragment, step, condition, into),
        }
    }

    #[track_caller]
    pub(super) fn write(&mut self, step: &Move, condition: Val<'k, bool>, data: Data<'k, T>) {
        match self {
            Self::Global(walk) => walk.write(step, condition, data),
            Self::Shared(walk) => walk.write(step, condition, data),
            Self::Cluster(walk) => walk.write(step, condition, data),
            Self::Registers(fragment) => match data {
                Data::Element(value) => {
                    let element = step.elements[0];
                    let value = match condition.as_constant() {
                        Some(true) => value,
                        Some(false) => return,
                        None => condition.select(value, fragment.get(element)),
                    };
                    fragment.set(element, value);
                }
                Data::Registers(words) => {
                    let own = whole_registers(fragment, step).unwrap_or_default();
                    own.into_iter()
                        .zip(words)
                        .for_each(|(to, from)| fragment.kernel().move_register(to, from));
                }
            },
        }
    }
}

impl<'k, S: TensorSpace, T: TensorElement> Walk<'k, S, T> {
    #[track_caller]
    fn read(
        &mut self,
        step: &Move,
        condition: Val<'k, bool>,
        exists: Val<'k, bool>,
        fill: u64,
        into: Option<Words>,
    ) -> Data<'k, T> {
        let pointer = self.pointer_to(step.elements[0]);
        let k = pointer.kernel();
        let bytes = step.elements.len() as u32 * T::SIZE;
        let pointer = pointer.checked(both(exists, condition));
        if bytes < T::Word::BYTES {
            return Data::Element(pointer.load_or(T::Reg::from_bits(fill)));
        }
        let filled = if into.is_some() { condition } else { true.into() };
        let words =
            into.unwrap_or_else(|| (0..bytes / T::Word::BYTES).map(|_| k.fresh(T::Word::CLASS)).collect());
        if exists.as_constant() != Some(true) {
            let fill = Val::from(splat(T::from_mem_bits(fill)));
            k.when(filled, || words.iter().for_each(|&word| k.move_into(word, fill)));
        }
        pointer.load_words(&words);
        Data::Registers(words)
    }

    #[track_caller]
    fn write(&mut self, step: &Move, condition: Val<'k, bool>, data: Data<'k, T>) {
        let pointer = self.pointer_to(step.elements[0]);
        match data {
            Data::Element(value) => pointer.checked(condition).store(value),
            Data::Registers(words) => pointer.checked(condition).store_words(&words),
        }
    }
}

/// Returns the registers that a move fills, if it fills them completely.
fn whole_registers<T: TensorElement>(fragment: &Fragment<'_, T>, step: &Move) -> Option<Words> {
    if !step.elements.len().is_multiple_of(T::PER_WORD) {
        return None;
    }
    let words = step.elements.chunks(T::PER_WORD);
    Some(words.map(|word| fragment.register(fragment.position(word[0]).0)).collect())
}

#[track_caller]
fn read_registers<'k, T: TensorElement>(
    fragment: &Fragment<'k, T>,
    step: &Move,
    condition: Val<'k, bool>,
    into: Option<Words>,
) -> Data<'k, T> {
    let k = fragment.kernel();
    match (whole_registers(fragment, step), into) {
        (None, _) => Data::Element(fragment.get(step.elements[0])),
        (Some(words), None) => Data::Registers(words),
        (Some(words), Some(into)) => {
            k.when(condition, || {
                for (&to, &from) in into.iter().zip(&words) {
                    k.move_register(to, from);
                }
            });
            Data::Registers(into)
        }
    }
}
