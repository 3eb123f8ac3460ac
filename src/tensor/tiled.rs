//! Tiled copies and tiled MMAs in kernels: the tensor elements that one thread owns, and the instructions that operate on them.

use std::panic::Location;

use super::{
    copy::{How, copy, transfer},
    element::TensorElement,
    fragment::Fragment,
    gemm::check_type,
    local::{Digit, thread_digits},
    memory::Tensor,
    sides::{Destination, Source},
    space::TensorSpace,
    tiled_copy::TiledCopy,
    tiled_mma::{TiledMma, modes},
};
use crate::{
    atoms::{CopyKind, MmaOperand},
    layout::Layout,
    ptx::{Builder, CpAsyncCache, Read, Readable, Scalar, Shared, Val},
};

/// One thread's view of a [`TiledCopy`] in a kernel. The index of the thread may be in a register.
#[derive(Clone, Debug)]
pub struct CopyThread<'a, 'k> {
    copy: &'a TiledCopy,
    thread: Val<'k, u32>,
}

/// One thread's view of a [`TiledMma`] in a kernel. The index of the thread may be in a register.
#[derive(Clone, Debug)]
pub struct MmaThread<'a, 'k> {
    mma: &'a TiledMma,
    k: Builder<'k>,
    thread: Val<'k, u32>,
}

impl TiledCopy {
    /// Returns one thread's view of the copy; `thread` is the thread's index in the block.
    #[doc(alias = "get_slice")]
    pub fn thread<'k>(&self, thread: Val<'k, u32>) -> CopyThread<'_, 'k> {
        CopyThread { copy: self, thread }
    }
}

impl<'k> CopyThread<'_, 'k> {
    fn digits(&self) -> Vec<(Vec<usize>, Vec<Digit>)> {
        vec![(vec![], vec![Digit { extent: self.copy.threads(), weight: 1 }])]
    }

    /// Returns this thread's part of the source `tensor`, with the modes `(values, RestM, RestN, …)`.
    #[doc(alias = "partition_S")]
    #[track_caller]
    pub fn partition_s<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        let k = tensor.kernel();
        let divided = self.copy.divide_s(&tensor.layout);
        let _located = k.locate(Location::caller());
        self.check::<T>(k);
        tensor.thread_part(divided, &self.digits(), self.thread, self.copy.threads())
    }

    /// Returns this thread's part of the destination `tensor`, with the modes `(values, RestM, RestN, …)`.
    #[doc(alias = "partition_D")]
    #[track_caller]
    pub fn partition_d<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        let k = tensor.kernel();
        let divided = self.copy.divide_d(&tensor.layout);
        let _located = k.locate(Location::caller());
        self.check::<T>(k);
        tensor.thread_part(divided, &self.digits(), self.thread, self.copy.threads())
    }

    fn check<T: TensorElement>(&self, k: Builder<'k>) {
        let (found, wanted) = (8 * T::SIZE, self.copy.value_bits());
        if found != wanted {
            k.refuse(format!("tiled copy: expected a tensor of {wanted}-bit elements, found {}", T::NAME));
        }
    }

    /// Returns a view of an MMA fragment in the order of this copy. The view shares the registers of the fragment.
    #[doc(alias = "retile_S")]
    #[doc(alias = "retile_D")]
    #[track_caller]
    pub fn retile<T: TensorElement>(&self, fragment: &Fragment<'k, T>) -> Fragment<'k, T> {
        fragment.relaid(self.copy.retile(fragment.layout()))
    }
}

/// Copies partition `src` to partition `dst`, along all rest modes, using the instruction of a tiled copy.
///
/// The builder rejects the call if the values of an instruction are not contiguous or not known to be sufficiently aligned. It also rejects
/// all instructions except universal copies and `cp.async`; `ldmatrix` and `stmatrix` are emitted by
/// [`load_matrices`](super::load_matrices) and [`store_matrices`](super::store_matrices).
#[doc(alias = "copyto!")]
#[track_caller]
pub fn copy_tiled<'k, T: TensorElement, D: Destination<'k, T>>(
    tiled: &TiledCopy,
    dst: &D,
    src: &impl Source<'k, T>,
) -> D::Done {
    let (to, from) = (dst.destination(), src.source());
    let k = from.kernel();
    let _located = k.locate(Location::caller());
    let what = tiled.atom().name().to_string();
    let how = |bytes, asynchronous: Option<CpAsyncCache>| How {
        widest: bytes,
        exactly: true,
        asynchronous,
        always_asynchronous: asynchronous.is_some(),
        what: what.clone().into(),
        fill: 0,
    };
    let asynchronous = match tiled.atom().kind() {
        CopyKind::Universal { bytes } => transfer(to, from, None, &how(bytes, None)),
        CopyKind::CpAsync { bytes, bypass_l1, .. } => {
            let cache = if bypass_l1 { CpAsyncCache::L2 } else { CpAsyncCache::All };
            transfer(to, from, None, &how(bytes, Some(cache)))
        }
        _ => {
            k.refuse(format!(
                "{what} moves matrices: use load_matrices or store_matrices, or copy, which chooses"
            ));
            false
        }
    };
    dst.done(asynchronous)
}

impl TiledMma {
    /// Returns one thread's view of the tiled MMA; `thread` is the thread's index in the block.
    #[doc(alias = "get_slice")]
    pub fn thread<'k>(&self, k: Builder<'k>, thread: Val<'k, u32>) -> MmaThread<'_, 'k> {
        MmaThread { mma: self, k, thread }
    }
}

impl<'a, 'k> MmaThread<'a, 'k> {
    /// Returns the tiled MMA.
    #[must_use]
    pub fn mma(&self) -> &'a TiledMma {
        self.mma
    }

    /// Returns this thread's part of an MMA operand, with the modes `(values, Rest, Rest, …)`.
    ///
    /// `tensor` contains the whole operand.
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
        let _located = self.k.locate(Location::caller());
        tensor.thread_part(divided, &places, self.thread, vmnk.cosize())
    }

    /// Returns this thread's [`partition`](Self::partition) of operand A, whose modes are `(m, k)`.
    #[doc(alias = "partition_A")]
    #[track_caller]
    pub fn partition_a<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        self.partition(MmaOperand::A, tensor)
    }

    /// Returns this thread's [`partition`](Self::partition) of operand B, whose modes are `(n, k)`.
    #[doc(alias = "partition_B")]
    #[track_caller]
    pub fn partition_b<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        self.partition(MmaOperand::B, tensor)
    }

    /// Returns this thread's [`partition`](Self::partition) of operand C, whose modes are `(m, n)`.
    #[doc(alias = "partition_C")]
    #[track_caller]
    pub fn partition_c<S: TensorSpace, T: TensorElement, A>(
        &self,
        tensor: &Tensor<'k, S, T, A>,
    ) -> Tensor<'k, S, T, A> {
        self.partition(MmaOperand::C, tensor)
    }

    /// Creates a compact fragment `(values, Rest, Rest)` for an operand of `rows`×`cols` elements, in registers of the class that the
    /// instruction requires.
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

    /// Creates a fragment for a partition of an operand.
    ///
    /// For A and B, the values of an instruction vary fastest, and the rest modes are ordered by the strides of the partition. For C and D,
    /// the fragment is column-major.
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
        check_type::<T>(self.k, atom, operand);
        let class = if T::Word::BYTES == 4 && atom.group().threads() > 1 {
            atom.register_class(operand)
        } else {
            T::Word::CLASS
        };
        self.k.fragment_in(layout, class)
    }

    /// Loads this thread's elements of operand A or B from shared memory into a fragment.
    ///
    /// Like [`copy`](super::copy()), this method uses `ldmatrix` if the layouts allow it.
    ///
    /// All lanes of the warp must execute the emitted code.
    #[track_caller]
    pub fn load<T: TensorElement, A: Readable>(
        &self,
        operand: MmaOperand,
        tensor: &Tensor<'k, Shared, T, A>,
    ) -> Fragment<'k, T> {
        let _located = self.k.locate(Location::caller());
        let partition = self.partition(operand, tensor);
        let fragment = self.fragment_like(operand, &partition);
        copy(&fragment, &partition.with_access::<Read>());
        fragment
    }
}
