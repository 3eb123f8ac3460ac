//! Tensor maps that a kernel modifies: `tensormap.replace`, `tensormap.cp_fenceproxy`.
#![allow(unsafe_code, reason = "declares obligations; nothing unsafe is done here")]

use super::{
    super::order::MemoryScope,
    map::{MAP_BYTES, TensorMapPtr},
};
use crate::ptx::{
    kernel::Builder,
    operand::{Immediate, Operand},
    ptr::{Global, Ptr, Shared, Space, Writable},
    types::Element,
    val::Val,
};

/// A field of a tensor map that `tensormap.replace` sets to one of several numbered choices (PTX ISA, "tensormap.replace").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapField {
    /// The type of the elements: 0 for `u8`, 1 for `u16`, 2 for `u32`, 3 for `s32`, 4 for `u64`, 5 for `s64`, 6 for `f16`, 7 for `f32`, 8
    /// for `f32` with flushed subnormals, 9 for `f64`, 10 for `bf16`, 11 for `tf32`, 12 for `tf32` with flushed subnormals.
    ElementType,
    /// The interleave layout: 0 for none, 1 for 16 bytes, 2 for 32 bytes.
    Interleave,
    /// The swizzle: 0 for none, 1 for 32 bytes, 2 for 64 bytes, 3 for 128 bytes.
    Swizzle,
    /// The fill value for out-of-bounds elements: 0 for zero, 1 for NaN.
    Fill,
}

impl MapField {
    const fn name(self) -> &'static str {
        match self {
            Self::ElementType => "elemtype",
            Self::Interleave => "interleave_layout",
            Self::Swizzle => "swizzle_mode",
            Self::Fill => "fill_mode",
        }
    }

    /// Returns the number of choices.
    const fn choices(self) -> u32 {
        match self {
            Self::ElementType => 13,
            Self::Interleave => 3,
            Self::Swizzle => 4,
            Self::Fill => 2,
        }
    }
}

/// A tensor map in shared or global memory that a kernel modifies. Only one thread may modify the map. If the map is in shared memory, a
/// warp then [publishes](TensorMapEdit::publish) it. The methods that modify the map require sm_90a, sm_100a or sm_120a.
#[derive(Clone, Copy, Debug)]
pub struct TensorMapEdit<'k, S: Space> {
    at: Ptr<'k, u32, S>,
    /// The suffix of the state space in `tensormap.replace`.
    space: &'static str,
}

impl<'k> Builder<'k> {
    /// Allocates an uninitialized tensor map in shared memory. The kernel may copy the bytes of an existing map ([`TensorMapPtr::bytes`])
    /// to it.
    #[track_caller]
    pub fn shared_tensor_map(self) -> TensorMapEdit<'k, Shared> {
        TensorMapEdit { at: self.shared_aligned(MAP_BYTES / 4, MAP_BYTES), space: ".shared::cta" }
    }
}

impl<'k, T: Element, A: Writable> Ptr<'k, T, Global, A> {
    /// Returns a handle for modifying the tensor map at this address in global memory.
    ///
    /// # Safety
    ///
    /// In every launch, the address must be a multiple of 64. The 128 bytes at this address must be a tensor map within a single live
    /// allocation, and no other thread may access them at the same time.
    #[track_caller]
    pub unsafe fn edit_tensor_map(self) -> TensorMapEdit<'k, Global> {
        self.kernel().count_unsafe_access();
        TensorMapEdit { at: self.cast().assume_access(), space: ".global" }
    }
}

impl<'k, S: Space> TensorMapEdit<'k, S> {
    /// Returns a pointer to the map.
    pub fn pointer(self) -> Ptr<'k, u32, S> {
        self.at
    }

    /// Replaces the tensor's address with `tensor`, which must be aligned to 16 bytes.
    #[doc(alias = "tensormap.replace.tile.global_address")]
    #[track_caller]
    pub fn global_address<T: Element, A>(self, tensor: Ptr<'k, T, Global, A>) {
        let k = self.at.kernel();
        self.replace("global_address", "b64", &[Operand::Reg(tensor.address().in_register(k))]);
    }

    /// Replaces the number of dimensions with `rank` (1 to 5).
    #[doc(alias = "tensormap.replace.tile.rank")]
    #[track_caller]
    pub fn rank(self, rank: u32) {
        if !(1..=5).contains(&rank) {
            self.at.kernel().refuse(format!("tensor map: expected 1 to 5 dimensions, found {rank}"));
            return;
        }
        self.replace("rank", "b32", &[immediate(rank - 1)]);
    }

    /// Replaces the extent of the box along dimension `dimension` (0 to 4) with `elements` elements.
    #[doc(alias = "tensormap.replace.tile.box_dim")]
    #[track_caller]
    pub fn box_dim(self, dimension: u32, elements: impl Into<Val<'k, u32>>) {
        self.along("box_dim", dimension, 5, elements.into());
    }

    /// Replaces the extent of the tensor along dimension `dimension` (0 to 4) with `elements` elements.
    #[doc(alias = "tensormap.replace.tile.global_dim")]
    #[track_caller]
    pub fn global_dim(self, dimension: u32, elements: impl Into<Val<'k, u32>>) {
        self.along("global_dim", dimension, 5, elements.into());
    }

    /// Replaces the stride of the tensor along dimension `dimension` (1 to 4) with `bytes` bytes, which must be a multiple of 16.
    #[doc(alias = "tensormap.replace.tile.global_stride")]
    #[track_caller]
    pub fn global_stride(self, dimension: u32, bytes: impl Into<Val<'k, u64>>) {
        if !(1..=4).contains(&dimension) {
            self.refuse_dimension(1, 4, dimension);
            return;
        }
        let bytes = Operand::Reg(bytes.into().in_register(self.at.kernel()));
        // The innermost dimension has no stride, so the field counts from the next one.
        self.replace("global_stride", "b64", &[immediate(dimension - 1), bytes]);
    }

    /// Replaces the distance between consecutive copied elements along dimension `dimension` (0 to 4) with `elements` elements.
    #[doc(alias = "tensormap.replace.tile.element_stride")]
    #[track_caller]
    pub fn element_stride(self, dimension: u32, elements: impl Into<Val<'k, u32>>) {
        self.along("element_stride", dimension, 5, elements.into());
    }

    /// Sets a field to one of the numbered choices listed in [`MapField`].
    #[doc(alias = "tensormap.replace.tile.elemtype")]
    #[doc(alias = "tensormap.replace.tile.swizzle_mode")]
    #[track_caller]
    pub fn choose(self, field: MapField, choice: u32) {
        let last = field.choices() - 1;
        if choice > last {
            let name = field.name();
            self.at.kernel().refuse(format!(
                "tensor map: expected a choice from 0 to {last} for `{name}`, found {choice}"
            ));
            return;
        }
        self.replace(field.name(), "b32", &[immediate(choice)]);
    }

    #[track_caller]
    fn along(self, field: &str, dimension: u32, most: u32, value: Val<'k, u32>) {
        if dimension >= most {
            self.refuse_dimension(0, most - 1, dimension);
            return;
        }
        let value = Operand::Reg(value.in_register(self.at.kernel()));
        self.replace(field, "b32", &[immediate(dimension), value]);
    }

    #[track_caller]
    fn refuse_dimension(self, least: u32, most: u32, found: u32) {
        self.at.kernel().refuse(format!("tensor map: expected dimension {least} to {most}, found {found}"));
    }

    #[track_caller]
    fn replace(self, field: &str, ty: &str, rest: &[Operand<'_>]) {
        let mut operands = arrayvec::ArrayVec::<Operand<'_>, 3>::new();
        operands.push(self.at.operand());
        operands.extend(rest.iter().copied());
        let space = self.space;
        self.at.kernel().emit(format_args!("tensormap.replace.tile.{field}{space}.b1024.{ty}"), &operands);
    }
}

impl<'k> TensorMapEdit<'k, Shared> {
    /// Copies the map to global memory at `to`, with release semantics at `scope`. All lanes of the warp must execute the instruction
    /// together. Threads that [acquire](TensorMapPtr::acquire) the returned map may then use it for copies. Requires sm_90 or later.
    ///
    /// # Safety
    ///
    /// The map, with its fields as set by the kernel, must satisfy the safety requirements of [`Ptr::tensor_map`]. In addition, `to` must
    /// be a multiple of 128, and the 128 bytes at `to` must be within a single live, writable allocation.
    #[doc(alias = "tensormap.cp_fenceproxy")]
    #[track_caller]
    pub unsafe fn publish<T: Element, A: Writable>(
        self,
        to: Ptr<'k, T, Global, A>,
        scope: MemoryScope,
    ) -> TensorMapPtr<'k, T, A> {
        let k = self.at.kernel();
        k.count_unsafe_access();
        let mnemonic = [
            "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release",
            scope.suffix(),
            ".sync.aligned",
        ];
        k.emit(mnemonic, &[to.operand(), self.at.operand(), immediate(MAP_BYTES)]);
        TensorMapPtr::new(k, to.generic().address(), None)
    }
}

fn immediate(value: u32) -> Operand<'static> {
    Operand::Imm(Immediate::new(value))
}
