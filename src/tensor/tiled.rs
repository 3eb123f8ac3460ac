//! Tiled copies and products in kernels: one thread's parts of tensors, and the instructions on them.

use std::panic::Location;

use super::{
    copy::{Cache, Destination, How, Source, transfer},
    element::TensorElement,
    error::TensorError,
    fragment::Fragment,
    local::{Digit, thread_digits},
    memory::Tensor,
    pending::Pending,
    space::TensorSpace,
    tiled_copy::TiledCopy,
    tiled_mma::{TiledMma, modes},
};
use crate::{
    atoms::{CopyAtom, CopyKind, MmaOperand, copy_atoms},
    layout::{Layout, Slicer, Slot, Tuple},
    ptx::{Builder, Operand, Readable, Shared, Val, Writable},
};

/// A [`TiledCopy`] as the thread whose number is in a register sees it.
#[derive(Clone, Debug)]
pub struct ThreadCopy<'a, 'k> {
    copy: &'a TiledCopy,
    thread: Val<'k, u32>,
}

/// A [`TiledMma`] as the thread whose number is in a register sees it.
#[derive(Clone, Debug)]
pub struct ThreadMma<'a, 'k> {
    mma: &'a TiledMma,
    k: Builder<'k>,
    thread: Val<'k, u32>,
}

impl TiledCopy {
    /// The view of thread `thread` of a kernel, numbered from 0 within the block.
    #[doc(alias = "get_slice")]
    pub fn thread<'k>(&self, thread: Val<'k, u32>) -> ThreadCopy<'_, 'k> {
        ThreadCopy { copy: self, thread }
    }
}

impl<'k> ThreadCopy<'_, 'k> {
    fn digits(&self) -> Vec<(Vec<usize>, Vec<Digit>)> {
        vec![(vec![], vec![Digit { extent: self.copy.threads(), weight: 1 }])]
    }

    /// What this thread reads of a source: `(values, RestM, RestN, …)`.
    #[doc(alias = "partition_S")]
    #[track_caller]
    pub fn partition_s<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        let k = tensor.kernel();
        let divided = self.copy.divide_s(&tensor.layout);
        k.located(Location::caller(), || {
            self.check::<T>(k);
            tensor.thread_part(divided, &self.digits(), self.thread, self.copy.threads())
        })
    }

    /// What this thread writes of a destination: `(values, RestM, RestN, …)`.
    #[doc(alias = "partition_D")]
    #[track_caller]
    pub fn partition_d<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        let k = tensor.kernel();
        let divided = self.copy.divide_d(&tensor.layout);
        k.located(Location::caller(), || {
            self.check::<T>(k);
            tensor.thread_part(divided, &self.digits(), self.thread, self.copy.threads())
        })
    }

    fn check<T: TensorElement>(&self, k: Builder<'k>) {
        let (found, wanted) = (8 * T::SIZE, self.copy.value_bits());
        if found != wanted {
            k.refuse(format!("a tiled copy of {wanted}-bit elements on a tensor of {}", T::NAME));
        }
    }

    /// A product's fragment in the order of this copy: the same registers.
    #[doc(alias = "retile_S")]
    #[doc(alias = "retile_D")]
    #[track_caller]
    pub fn retile<T: TensorElement>(&self, fragment: &Fragment<'k, T>) -> Fragment<'k, T> {
        fragment.relaid(self.copy.retile(fragment.layout()))
    }
}

/// Copies with the instruction of a tiled copy, over all rest modes of the partitions.
///
/// Refused when the kernel is built where an address is not known to be aligned, or values do not lie side by side, as the
/// instruction wants them.
#[doc(alias = "copyto!")]
#[track_caller]
pub fn copy_tiled<'k, T: TensorElement, D: Destination<'k, T>>(
    tiled: &TiledCopy,
    dst: &D,
    src: &impl Source<'k, T>,
) -> D::Done {
    let k = src.builder();
    k.located(Location::caller(), || {
        let what = tiled.atom().name().to_string();
        match tiled.atom().kind() {
            CopyKind::Universal { bytes } => {
                let how = How {
                    widest: bytes,
                    exactly: true,
                    asynchronous: None,
                    always_asynchronous: false,
                    what,
                };
                transfer(dst, src, None, &how)
            }
            CopyKind::CpAsync { bytes, bypass_l1, .. } => {
                let cache = if bypass_l1 { Cache::L2 } else { Cache::All };
                let how = How {
                    widest: bytes,
                    exactly: true,
                    asynchronous: Some(cache),
                    always_asynchronous: true,
                    what,
                };
                transfer(dst, src, None, &how)
            }
            _ => {
                k.refuse(format!("{what} moves matrices: use copy_matrices"));
                D::done(k, false)
            }
        }
    })
}

/// Loads matrices from shared memory with the `ldmatrix` of a tiled copy: `dst` are the registers in the order of the copy
/// ([`ThreadCopy::retile`]), `src` what [`ThreadCopy::partition_s`] gave. All lanes of the warp must come here.
#[doc(alias = "ldmatrix")]
#[track_caller]
pub fn load_matrices<'k, T: TensorElement, A: Readable>(
    tiled: &TiledCopy,
    dst: &Fragment<'k, T>,
    src: &Tensor<'k, Shared, T, A>,
) {
    let k = src.kernel();
    k.located(Location::caller(), || {
        if !matches!(tiled.atom().kind(), CopyKind::LdMatrix(_)) {
            k.refuse(format!("{} is no ldmatrix", tiled.atom().name()));
            return;
        }
        let mnemonic = tiled.atom().mnemonic();
        each_matrix(k, dst.layout(), &src.layout_of_values(), |to, from| {
            let (to, from) = (dst.slice(to), src.slice(picks(&from)));
            let words = to.operand();
            let Some(pointer) = from.row_of_matrix() else { return };
            let registers: Vec<_> = words.iter().map(|word| Operand::Reg(word.0)).collect();
            k.emit(format_args!("{mnemonic}"), &[Operand::Vector(&registers), pointer.operand()]);
        });
    });
}

/// Stores matrices to shared memory with the `stmatrix` of a tiled copy (sm_90): `src` are the registers in the order of the
/// copy, `dst` what [`ThreadCopy::partition_d`] gave. All lanes of the warp must come here.
#[doc(alias = "stmatrix")]
#[track_caller]
pub fn store_matrices<'k, T: TensorElement, A: Writable>(
    tiled: &TiledCopy,
    dst: &Tensor<'k, Shared, T, A>,
    src: &Fragment<'k, T>,
) -> Pending<'k> {
    let k = dst.kernel();
    k.located(Location::caller(), || {
        if !matches!(tiled.atom().kind(), CopyKind::StMatrix(_)) {
            k.refuse(format!("{} is no stmatrix", tiled.atom().name()));
            return;
        }
        let mnemonic = tiled.atom().mnemonic();
        each_matrix(k, src.layout(), &dst.layout_of_values(), |from, to| {
            let (from, to) = (src.slice(from), dst.slice(picks(&to)));
            let words = from.operand();
            let Some(pointer) = to.row_of_matrix() else { return };
            let registers: Vec<_> = words.iter().map(|word| Operand::Reg(word.0)).collect();
            k.emit(format_args!("{mnemonic}"), &[pointer.operand(), Operand::Vector(&registers)]);
        });
    });
    Pending::new(k, false)
}

/// Calls `move_one` for each instruction: the slices `((_, v), m, n, …)` of both sides.
#[track_caller]
fn each_matrix(
    k: Builder<'_>,
    registers: &Layout,
    memory: &Result<Layout, TensorError>,
    mut move_one: impl FnMut(Slicer, Slicer),
) {
    let rests = memory.clone().and_then(|memory| Ok((rest_shape(registers)?, rest_shape(&memory)?)));
    match rests {
        Ok((to, from)) if to.size() == from.size() => {
            for at in 0..to.size() {
                move_one(at_rest(&to, at), at_rest(&from, at));
            }
        }
        Ok((to, from)) => {
            k.refuse(format!("matrices in registers {to} and in memory {from} differ in number"));
        }
        Err(error) => k.refuse(error.to_string()),
    }
}

/// The shape of all but the values of one instruction: `(v, m, n, …)`.
fn rest_shape(layout: &Layout) -> Result<Tuple<i64>, TensorError> {
    let values = layout.mode(0)?;
    let repeats = if values.rank() == 2 { values.mode(1)?.size() } else { 1 };
    let rest = layout.shape().modes()[1..].iter().map(Tuple::size);
    Ok([repeats].into_iter().chain(rest).collect())
}

/// The slicer of instruction `at` among `rest`.
fn at_rest(rest: &Tuple<i64>, at: i64) -> Slicer {
    let coord = crate::layout::coord_of_index(at, rest);
    let mut places = coord.modes().iter().map(|place| place.map(|&index| Slot::At(index)));
    let repeat = places.next().unwrap_or(Tuple::Leaf(Slot::At(0)));
    let first = Slicer::from(vec![Tuple::Leaf(Slot::Keep), repeat]);
    [first].into_iter().chain(places).collect()
}

fn picks<'k>(slicer: &Slicer) -> super::pick::Picks<'k> {
    slicer.map(|slot| match slot {
        Slot::Keep => super::pick::Pick::Keep,
        Slot::At(index) => super::pick::Pick::At(*index),
    })
}

impl<'k, T: TensorElement, A> Tensor<'k, Shared, T, A> {
    fn layout_of_values(&self) -> Result<Layout, TensorError> {
        Ok(self.element_layout()?)
    }

    /// Address of the 16 bytes that a lane passes to `ldmatrix`, if they lie side by side and aligned.
    #[track_caller]
    fn row_of_matrix(&self) -> Option<crate::ptx::Ptr<'k, T, Shared, A>> {
        if self.is_row_of_matrix() {
            return Some(self.pointer_to(0));
        }
        self.kernel().refuse(format!(
            "ldmatrix and stmatrix take rows of 16 bytes side by side and aligned, but a lane's elements lie as {:?}",
            self.element_layout().map(|layout| layout.to_string())
        ));
        None
    }

    fn is_row_of_matrix(&self) -> bool {
        use super::moves::Place::Memory;
        let places = self.places_of_view();
        let count = 16 / i64::from(T::SIZE);
        let in_row = |(at, place): (i64, &super::moves::Place)| match (place, &places[0]) {
            (Memory { offset, align, .. }, Memory { offset: first, .. }) => {
                *offset == first + at && (at > 0 || align % 16 == 0)
            }
            _ => false,
        };
        places.len() as i64 == count && (0..).zip(&places).all(in_row)
    }
}

impl TiledMma {
    /// The view of thread `thread` of a kernel, numbered from 0 within the block.
    #[doc(alias = "get_slice")]
    pub fn thread<'k>(&self, k: Builder<'k>, thread: Val<'k, u32>) -> ThreadMma<'_, 'k> {
        ThreadMma { mma: self, k, thread }
    }
}

impl<'a, 'k> ThreadMma<'a, 'k> {
    /// The tiled product.
    #[must_use]
    pub fn mma(&self) -> &'a TiledMma {
        self.mma
    }

    /// What this thread needs of a tensor seen as an operand: `(values, Rest, Rest, …)`.
    #[track_caller]
    pub fn partition<S: TensorSpace, T: TensorElement, A>(
        &self,
        operand: MmaOperand,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        let vmnk = self.mma.thr_layout_vmnk();
        let mut digits = thread_digits(vmnk);
        let [first, second] = modes(operand);
        let (v, first, second) =
            (digits[0].0.clone(), digits[1 + first].0.clone(), digits.swap_remove(1 + second).0);
        let places = [(vec![0], v), (vec![1, 0], first), (vec![1, 1], second)];
        let divided = self.mma.divide(operand, &tensor.layout);
        self.k
            .located(Location::caller(), || tensor.thread_part(divided, &places, self.thread, vmnk.cosize()))
    }

    /// [`partition`](Self::partition) of A, `(m, k)`.
    #[doc(alias = "partition_A")]
    #[track_caller]
    pub fn partition_a<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        self.partition(MmaOperand::A, tensor)
    }

    /// [`partition`](Self::partition) of B, `(n, k)`.
    #[doc(alias = "partition_B")]
    #[track_caller]
    pub fn partition_b<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        self.partition(MmaOperand::B, tensor)
    }

    /// [`partition`](Self::partition) of C, `(m, n)`.
    #[doc(alias = "partition_C")]
    #[track_caller]
    pub fn partition_c<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        self.partition(MmaOperand::C, tensor)
    }

    /// Registers for an operand of `rows`×`cols` elements: `(values, Rest, Rest)`, compact, of the class that the instruction wants.
    #[doc(alias = "partition_fragment_A")]
    #[doc(alias = "partition_fragment_C")]
    #[track_caller]
    pub fn fragment<T: TensorElement>(&self, operand: MmaOperand, rows: i64, cols: i64) -> Fragment<'k, T> {
        let layout = self
            .mma
            .fragment_shape(operand, rows, cols)
            .and_then(|shape| Ok(Layout::column_major(shape)?))
            .unwrap_or_else(|error| {
                self.k.refuse(error.to_string());
                Layout::concat([])
            });
        self.registers(operand, &layout)
    }

    /// Registers like a partition of A or B: the instruction's values fastest, the rest in the order of its strides.
    #[doc(alias = "make_fragment_A")]
    #[track_caller]
    pub fn fragment_like<S: TensorSpace, T: TensorElement, A>(
        &self,
        operand: MmaOperand,
        partition: &Tensor<'k, S, T, A>,
    ) -> Fragment<'k, T> {
        let like = |layout: Layout| match operand {
            MmaOperand::A | MmaOperand::B => layout.fragment_like(),
            MmaOperand::C | MmaOperand::D => Layout::column_major(layout.shape().clone()),
        };
        let layout = partition.element_layout().and_then(like).unwrap_or_else(|error| {
            self.k.refuse(error.to_string());
            Layout::concat([])
        });
        self.registers(operand, &layout)
    }

    #[track_caller]
    fn registers<T: TensorElement>(&self, operand: MmaOperand, layout: &Layout) -> Fragment<'k, T> {
        let atom = self.mma.atom();
        let bits = atom.operand_type(operand).bits();
        if bits != 8 * T::SIZE {
            self.k.refuse(format!(
                "operand {operand:?} of {} has {bits} bits, {} has {}",
                atom.name(),
                T::NAME,
                8 * T::SIZE
            ));
        }
        let class = if super::element::word_bytes::<T>() == 4 && atom.group().threads() > 1 {
            atom.register_class(operand)
        } else {
            T::WORD
        };
        self.k.fragment_in(layout, class)
    }

    /// Loads A or B from shared memory into a fragment of registers: with the widest `ldmatrix`, plain or transposed, whose rows
    /// lie side by side and aligned for every thread, else with plain loads.
    ///
    /// All threads of the block must come here.
    #[track_caller]
    pub fn load<T: TensorElement, A: Readable>(
        &self,
        operand: MmaOperand,
        tensor: &Tensor<'k, Shared, T, A>,
    ) -> Fragment<'k, T> {
        self.k.located(Location::caller(), || {
            let partition = self.partition(operand, tensor);
            let fragment = self.fragment_like(operand, &partition);
            let matrices = |atom: &CopyAtom| match atom.kind() {
                CopyKind::LdMatrix(matrices) => matrices.count,
                _ => 0,
            };
            for count in [4, 2, 1] {
                for atom in copy_atoms().filter(|atom| matrices(atom) == count) {
                    if let Some(tiled) = self.matrices(atom, operand, tensor) {
                        let thread = tiled.thread(self.thread);
                        load_matrices(&tiled, &thread.retile(&fragment), &thread.partition_s(tensor));
                        return fragment;
                    }
                }
            }
            super::copy::copy(&fragment, &partition);
            fragment
        })
    }

    /// The tiled copy of an `ldmatrix` that can load an operand, if it can.
    fn matrices<T: TensorElement, A>(
        &self,
        atom: &'static CopyAtom,
        operand: MmaOperand,
        tensor: &Tensor<'k, Shared, T, A>,
    ) -> Option<TiledCopy> {
        let CopyKind::LdMatrix(matrices) = atom.kind() else { return None };
        let plain = matrices.element_bits == 16 && matrices.memory_bits == 16;
        let fits = plain && (T::SIZE == 2 || !matrices.transposed);
        if !fits || !atom.is_on(self.k.target()) {
            return None;
        }
        let tiled = match operand {
            MmaOperand::A => TiledCopy::for_a(atom, 8 * T::SIZE, self.mma),
            MmaOperand::B => TiledCopy::for_b(atom, 8 * T::SIZE, self.mma),
            _ => return None,
        };
        let tiled = tiled.ok()?;
        // The rows of thread 0 and, by the layout, of all others.
        let divided = tiled.divide_s(&tensor.layout).ok()?;
        let row = 16 / i64::from(T::SIZE);
        let steps = |layout: &Layout<super::memory::Step>| {
            layout.values().map(|step| step.component(0)).collect::<Vec<_>>()
        };
        let values = divided.mode(1).ok()?;
        if !steps(&values.mode(0).ok()?).into_iter().eq(0..row) {
            return None;
        }
        // Aligned wherever each mode goes, they are aligned in sum.
        let aligned = |layout: Layout<super::memory::Step>| {
            let steps = layout.shape().leaves().zip(layout.stride().leaves());
            let whole =
                |(&extent, step): (&i64, &super::memory::Step)| extent == 1 || step.component(0) % row == 0;
            steps.into_iter().all(whole)
        };
        let rests = aligned(values.mode(1).ok()?) && aligned(divided.mode(2).ok()?);
        let threads = aligned(divided.mode(0).ok()?);
        (rests && threads && tensor.begins_aligned(16)).then_some(tiled)
    }
}
