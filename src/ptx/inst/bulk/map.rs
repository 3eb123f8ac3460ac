//! Tensor maps: the descriptors that tensor copies use to access global memory (PTX ISA, "Tensor-map").
#![allow(unsafe_code, reason = "declares obligations; nothing unsafe is done here")]

use std::{fmt, marker::PhantomData};

use super::super::order::MemoryScope;
use super::super::wgmma::SwizzleMode;
use crate::ptx::{
    dim::Dim,
    kernel::Builder,
    operand::{AddressBase, Immediate, Operand},
    ptr::{Access, Generic, Global, Ptr, Read},
    types::Element,
    val::Val,
};

/// The size of a tensor map in bytes.
pub(crate) const MAP_BYTES: u32 = 128;
/// The minimum alignment of a tensor map in bytes.
pub(crate) const MAP_ALIGN: u32 = 64;

/// A kernel's use of a tensor-map parameter. Every launch checks that the map it passes supports this use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapUse {
    /// The index of the parameter.
    pub parameter: usize,
    /// The number of dimensions.
    pub rank: usize,
    /// Whether the copies use im2col mode.
    pub im2col: bool,
}

/// A tensor map that every launch creates for a buffer parameter and passes after the kernel's own parameters. The kernel uses it to copy
/// boxes between the buffer and shared memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferMap {
    /// The index of the buffer's parameter.
    pub parameter: usize,
    /// The extents of the tensor, in elements, innermost first.
    pub dims: Vec<Dim>,
    /// The strides, in elements, along all dimensions except the innermost.
    pub strides: Vec<Dim>,
    /// The extents of a box, in elements, innermost first.
    pub box_dims: Vec<u32>,
    /// The swizzle mode in shared memory.
    pub swizzle: SwizzleMode,
}

impl<'k> Builder<'k> {
    /// Returns the map that the launch passes for `map`; equal maps are passed only once. Requires sm_90 or later.
    #[track_caller]
    pub(crate) fn buffer_map<T: Element, A>(self, map: BufferMap) -> TensorMapPtr<'k, T, A> {
        let mut body = self.body();
        let maps = &mut body.entry.maps;
        let index = maps.iter().position(|known| *known == map).unwrap_or_else(|| {
            maps.push(map);
            maps.len() - 1
        });
        let name = body.entry.map_symbol(index);
        drop(body);
        TensorMapPtr::named(self, &name, None)
    }
}

/// A tensor map in constant or global memory: the handle of a [`TensorMap`](crate::ptx::TensorMap) parameter, or the result of
/// [`Ptr::tensor_map`] or [`publish`](crate::ptx::TensorMapEdit::publish).
///
/// Copies through the map are bounded by the tensor. Out-of-bounds elements are not written; they are read as the map's fill value, which
/// is zero or NaN. For a parameter, a launch checks that the tensor is in the buffer from which the map was created, so the copies are
/// safe. A launch does not check an `UncheckedMap`, which only `unsafe` code can create.
pub struct TensorMapPtr<'k, T, A = Read> {
    k: Builder<'k>,
    /// The generic address.
    address: Val<'k, u64>,
    parameter: Option<usize>,
    kind: PhantomData<fn() -> (T, A)>,
}

impl<T, A> Clone for TensorMapPtr<'_, T, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, A> Copy for TensorMapPtr<'_, T, A> {}

impl<T: Element, A> fmt::Debug for TensorMapPtr<'_, T, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tensor map of {} at {:?}", T::NAME, self.address)
    }
}

impl<'k, T: Element, A> TensorMapPtr<'k, T, A> {
    /// Returns the map in the parameter that is named `name` in the PTX text; `parameter` is its index if it is one of the kernel's own
    /// parameters.
    #[track_caller]
    pub(in crate::ptx) fn named(k: Builder<'k>, name: &str, parameter: Option<usize>) -> Self {
        let offset = k.result::<u64>(format_args!("mov.u64"), &[Operand::Name(name)]);
        let generic = k.result::<u64>(format_args!("cvta.param.u64"), &[offset.operand(k)]);
        Self::new(k, generic, parameter)
    }

    /// Returns the map at generic address `address`; `parameter` is its parameter, if any.
    pub(super) fn new(k: Builder<'k>, address: Val<'k, u64>, parameter: Option<usize>) -> Self {
        Self { k, address, parameter, kind: PhantomData }
    }

    /// Returns the builder of the map's kernel.
    pub fn kernel(self) -> Builder<'k> {
        self.k
    }

    /// Returns a pointer to the map's 128 bytes, which may be copied to shared memory and modified there.
    pub fn bytes(self) -> Ptr<'k, u32, Generic, Read> {
        Ptr::new(self.k, self.address, MAP_ALIGN)
    }

    /// Prefetches the map into the descriptor cache. One thread should execute this instruction once, at the start of the kernel. Requires
    /// sm_90 or later.
    #[doc(alias = "prefetch.tensormap")]
    #[track_caller]
    pub fn prefetch_descriptor(self) {
        self.k.emit(format_args!("prefetch.tensormap"), &[self.bytes().operand()]);
    }

    /// Acquires the map at `scope`, so that released changes to the map become visible to this thread's tensor copies. Requires sm_90 or
    /// later.
    #[doc(alias = "fence.proxy.tensormap::generic.acquire")]
    #[track_caller]
    pub fn acquire(self, scope: MemoryScope) {
        let operands = [self.bytes().operand(), Operand::Imm(Immediate::new(MAP_BYTES))];
        self.k.emit(["fence.proxy.tensormap::generic.acquire", scope.suffix()], &operands);
    }

    /// Returns the base of the operand `[map, {coordinates}]`, and records how the map is used.
    #[track_caller]
    pub(super) fn used(self, rank: usize, im2col: bool) -> AddressBase<'static> {
        if let Some(parameter) = self.parameter {
            let found = MapUse { parameter, rank, im2col };
            let uses = &mut self.k.body().entry.map_uses;
            if !uses.contains(&found) {
                uses.push(found);
            }
        }
        AddressBase::Reg(self.address.in_register(self.k))
    }
}

impl<'k, T: Element, A: Access> Ptr<'k, T, Global, A> {
    /// Returns the tensor map at this address in global memory.
    ///
    /// # Safety
    ///
    /// In every launch:
    /// - The address must be a multiple of 64.
    /// - When a copy uses the map, the 128 bytes at this address must be a tensor map whose elements have type `T`.
    /// - The tensor must be within a single live allocation, which must be writable if copies write to the tensor.
    /// - No thread may write to the tensor if it belongs to an `In` parameter.
    #[track_caller]
    pub unsafe fn tensor_map(self) -> TensorMapPtr<'k, T, A> {
        let k = self.kernel();
        k.count_unsafe_access();
        TensorMapPtr::new(k, self.generic().address(), None)
    }
}
