//! Tensor copies: `cp.async.bulk.tensor`, `cp.reduce.async.bulk.tensor`, `cp.async.bulk.prefetch.tensor`.
#![allow(unsafe_code, reason = "declares obligations; nothing unsafe is done here")]

use arrayvec::ArrayVec;

use super::{
    super::{mbarrier::Mbarrier, reduce_op::ReduceOp},
    Hints, TensorMapPtr,
};
use crate::ptx::{
    kernel::Builder,
    operand::{AddressBase, Operand},
    ptr::{Ptr, Readable, Shared, SharedSpace, Writable},
    types::{Element, Scalar},
    val::Val,
};

/// The alignment, in bytes, of a box in shared memory without a swizzle.
const BOX_ALIGN: u32 = 128;

/// The maximum number of dimensions.
const MOST: usize = 5;

/// The coordinates and im2col offsets of a copy, as operands.
struct Position {
    coordinates: ArrayVec<Operand<'static>, MOST>,
    offsets: ArrayVec<Operand<'static>, MOST>,
}

impl Position {
    #[track_caller]
    fn new<'k, C: Into<Val<'k, i32>>, const N: usize>(k: Builder<'k>, coordinates: [C; N]) -> Self {
        const { assert!(N >= 1 && N <= 5, "a tensor has 1 to 5 dimensions") };
        let coordinates = registers(k, coordinates.map(Into::into));
        Self { coordinates, offsets: ArrayVec::new() }
    }

    #[track_caller]
    fn im2col<'k, C: Into<Val<'k, i32>>, O: Into<Val<'k, u16>>, const N: usize, const M: usize>(
        k: Builder<'k>,
        coordinates: [C; N],
        offsets: [O; M],
    ) -> Self {
        const { assert!(N >= 3 && M == N - 2, "im2col has 3 to 5 dimensions, and an offset for each but two") };
        Self { offsets: registers(k, offsets.map(Into::into)), ..Self::new(k, coordinates) }
    }

    fn rank(&self) -> usize {
        self.coordinates.len()
    }

    fn tensor<'a>(&'a self, map: AddressBase<'a>) -> Operand<'a> {
        Operand::Tensor { map, coordinates: &self.coordinates }
    }
}

#[track_caller]
fn registers<'k, T: Scalar, const N: usize>(
    k: Builder<'k>,
    values: [Val<'k, T>; N],
) -> ArrayVec<Operand<'static>, MOST> {
    let mut registers = ArrayVec::new();
    for value in values {
        registers.push(Operand::Reg(value.in_register(k)));
    }
    registers
}

impl<'k, T: Element, R: Readable> TensorMapPtr<'k, T, R> {
    /// Starts copying the box at `coordinates` (innermost first) to shared memory at `to`. Completion is signaled at `barrier`, which
    /// counts the copied bytes and must be in the shared memory of the same block as `to`. Requires sm_90 or later.
    ///
    /// `to` must be known to be aligned to 128 bytes; the map's swizzle may require a larger alignment. Within the tensor, the box must
    /// start at a multiple of 16 bytes from the start of a row.
    #[doc(alias = "cp.async.bulk.tensor")]
    #[track_caller]
    pub fn load<C: Into<Val<'k, i32>>, S: SharedSpace, W: Writable, const N: usize>(
        self,
        to: Ptr<'k, T, S, W>,
        coordinates: [C; N],
        barrier: Mbarrier<'k, S>,
        hints: Hints<'k>,
    ) {
        self.emit_load("tile", to, &Position::new(self.kernel(), coordinates), barrier, hints);
    }

    /// Starts copying a column of pixels as [`load`](Self::load) does, but through a map in im2col mode with 3 to 5 dimensions. The map's
    /// bounding box must contain the pixel at `coordinates`. `offsets` shifts the pixels along each spatial dimension.
    #[doc(alias = "im2col")]
    #[track_caller]
    pub fn load_im2col<
        C: Into<Val<'k, i32>>,
        O: Into<Val<'k, u16>>,
        S: SharedSpace,
        W: Writable,
        const N: usize,
        const M: usize,
    >(
        self,
        to: Ptr<'k, T, S, W>,
        coordinates: [C; N],
        offsets: [O; M],
        barrier: Mbarrier<'k, S>,
        hints: Hints<'k>,
    ) {
        let position = Position::im2col(self.kernel(), coordinates, offsets);
        self.emit_load("im2col", to, &position, barrier, hints);
    }

    #[track_caller]
    fn emit_load<S: SharedSpace, W: Writable>(
        self,
        mode: &str,
        to: Ptr<'k, T, S, W>,
        position: &Position,
        barrier: Mbarrier<'k, S>,
        hints: Hints<'k>,
    ) {
        let (k, rank) = (self.kernel(), position.rank());
        to.check_aligned(BOX_ALIGN);
        let (multicast, policy) = hints.suffixes();
        let mut operands = ArrayVec::<Operand<'_>, 6>::new();
        let tensor = position.tensor(self.used(rank, mode == "im2col"));
        operands.extend([to.operand(), tensor, barrier.pointer().operand()]);
        if !position.offsets.is_empty() {
            operands.push(Operand::Vector(&position.offsets));
        }
        operands.extend(hints.operands(k));
        let mnemonic = format_args!(
            "cp.async.bulk.tensor.{rank}d.shared::cluster.global.{mode}.mbarrier::complete_tx::bytes{multicast}{policy}"
        );
        k.emit(mnemonic, &operands);
    }

    /// Starts prefetching the box at `coordinates` (innermost first) into the L2 cache. Requires sm_90 or later.
    #[doc(alias = "cp.async.bulk.prefetch.tensor")]
    #[track_caller]
    pub fn prefetch<C: Into<Val<'k, i32>>, const N: usize>(self, coordinates: [C; N], hints: Hints<'k>) {
        self.emit_prefetch("tile", &Position::new(self.kernel(), coordinates), hints);
    }

    /// Starts prefetching into the L2 cache the pixels that [`load_im2col`](Self::load_im2col) copies for the same `coordinates` and
    /// `offsets`. Requires sm_90 or later.
    #[doc(alias = "cp.async.bulk.prefetch.tensor")]
    #[track_caller]
    pub fn prefetch_im2col<C: Into<Val<'k, i32>>, O: Into<Val<'k, u16>>, const N: usize, const M: usize>(
        self,
        coordinates: [C; N],
        offsets: [O; M],
        hints: Hints<'k>,
    ) {
        self.emit_prefetch("im2col", &Position::im2col(self.kernel(), coordinates, offsets), hints);
    }

    #[track_caller]
    fn emit_prefetch(self, mode: &str, position: &Position, hints: Hints<'k>) {
        let (k, rank) = (self.kernel(), position.rank());
        hints.without_multicast(k);
        let (_, policy) = hints.suffixes();
        let mut operands = ArrayVec::<Operand<'_>, 4>::new();
        operands.push(position.tensor(self.used(rank, mode == "im2col")));
        if !position.offsets.is_empty() {
            operands.push(Operand::Vector(&position.offsets));
        }
        operands.extend(hints.operands(k));
        k.emit(format_args!("cp.async.bulk.prefetch.tensor.{rank}d.L2.global.{mode}{policy}"), &operands);
    }
}

impl<'k, T: Element, W: Writable> TensorMapPtr<'k, T, W> {
    /// Starts copying the box in shared memory at `from` to the tensor at `coordinates` (innermost first). The copy belongs to the
    /// [group](Builder::cp_async_bulk_commit_group) that this thread commits next. Out-of-bounds elements are not written. Requires sm_90
    /// or later.
    ///
    /// `from` must be known to be aligned to 128 bytes. Within the tensor, the box must start at a multiple of 16 bytes from the start of a
    /// row. Threads that have written to the box in shared memory must first execute a [`fence_proxy_async`](Builder::fence_proxy_async).
    #[doc(alias = "cp.async.bulk.tensor")]
    #[track_caller]
    pub fn store<C: Into<Val<'k, i32>>, R: Readable, const N: usize>(
        self,
        from: Ptr<'k, T, Shared, R>,
        coordinates: [C; N],
        hints: Hints<'k>,
    ) {
        self.emit_store(None, "tile", from, &Position::new(self.kernel(), coordinates), hints);
    }

    /// Starts copying pixels as [`store`](Self::store) does, but through a map in im2col mode with 3 to 5 dimensions.
    ///
    /// # Safety
    /// The map's bounding box must be inside the images and contain the pixel at `coordinates`. The outermost coordinate, which is the
    /// image index, must not be negative.
    #[doc(alias = "im2col_no_offs")]
    #[track_caller]
    pub unsafe fn store_im2col<C: Into<Val<'k, i32>>, R: Readable, const N: usize>(
        self,
        from: Ptr<'k, T, Shared, R>,
        coordinates: [C; N],
        hints: Hints<'k>,
    ) {
        const { assert!(N >= 3, "im2col has 3 to 5 dimensions") };
        self.kernel().count_unsafe_access();
        self.emit_store(None, "im2col_no_offs", from, &Position::new(self.kernel(), coordinates), hints);
    }

    /// Starts an asynchronous reduction that combines the tensor's box at `coordinates` with the box in shared memory at `from`, using the
    /// operation `op`. The requirements of [`store`](Self::store) apply, and the reduction likewise belongs to the group that this thread
    /// commits next.
    ///
    /// The element type of the map must support the operation:
    /// - addition: `u32`, `i32`, `u64`, f32, f16 and bf16
    /// - minimum and maximum: 32-bit and 64-bit integers, f16 and bf16
    /// - [`Inc`](ReduceOp::Inc) and [`Dec`](ReduceOp::Dec): `u32`
    /// - bitwise operations: 32-bit and 64-bit types
    #[doc(alias = "cp.reduce.async.bulk.tensor")]
    #[track_caller]
    pub fn reduce<C: Into<Val<'k, i32>>, R: Readable, const N: usize>(
        self,
        op: ReduceOp,
        from: Ptr<'k, T, Shared, R>,
        coordinates: [C; N],
        hints: Hints<'k>,
    ) {
        self.emit_store(Some(op), "tile", from, &Position::new(self.kernel(), coordinates), hints);
    }

    /// Starts a reduction of pixels as [`reduce`](Self::reduce) does, but through a map in im2col mode with 3 to 5 dimensions.
    ///
    /// # Safety
    /// The requirements of [`store_im2col`](Self::store_im2col) apply.
    #[doc(alias = "cp.reduce.async.bulk.tensor")]
    #[track_caller]
    pub unsafe fn reduce_im2col<C: Into<Val<'k, i32>>, R: Readable, const N: usize>(
        self,
        op: ReduceOp,
        from: Ptr<'k, T, Shared, R>,
        coordinates: [C; N],
        hints: Hints<'k>,
    ) {
        const { assert!(N >= 3, "im2col has 3 to 5 dimensions") };
        self.kernel().count_unsafe_access();
        self.emit_store(Some(op), "im2col_no_offs", from, &Position::new(self.kernel(), coordinates), hints);
    }

    #[track_caller]
    fn emit_store<R: Readable>(
        self,
        op: Option<ReduceOp>,
        mode: &str,
        from: Ptr<'k, T, Shared, R>,
        position: &Position,
        hints: Hints<'k>,
    ) {
        let (k, rank) = (self.kernel(), position.rank());
        from.check_aligned(BOX_ALIGN);
        hints.without_multicast(k);
        let (_, policy) = hints.suffixes();
        let mut operands = ArrayVec::<Operand<'_>, 4>::new();
        operands.extend([position.tensor(self.used(rank, mode != "tile")), from.operand()]);
        operands.extend(hints.operands(k));
        match op {
            None => k.emit(
                format_args!("cp.async.bulk.tensor.{rank}d.global.shared::cta.{mode}.bulk_group{policy}"),
                &operands,
            ),
            Some(op) => {
                let instruction = format!("cp.reduce.async.bulk.tensor.{rank}d.global.shared::cta");
                if op.check_tensor::<T>(k, &instruction) {
                    k.emit(format_args!("{instruction}.{}.{mode}.bulk_group{policy}", op.name()), &operands);
                }
            }
        }
    }
}
