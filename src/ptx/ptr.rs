//! Typed pointers: the type includes the element type, the state space and the permitted accesses.

use std::{fmt, marker::PhantomData};

use super::sealed::Sealed;
use super::{
    divisor::gcd,
    error::BuildErrorKind,
    kernel::Builder,
    operand::{AddressBase, Operand},
    state::Visitor,
    types::{Element, Scalar},
    val::Val,
};

mod sealed {
    /// Restricts the spaces to those in this module, because the safety of accesses depends on the space.
    pub trait Sealed {}
}

/// A PTX state space (PTX ISA, "State Spaces").
pub trait Space: sealed::Sealed + 'static {
    /// The type of an address: 32 bits wide in shared memory, and 64 bits elsewhere.
    type Address: Scalar + AddressType;
    /// The suffix of `ld` and `st`, such as `".global"`. It is empty for generic addresses.
    const PTX: &'static str;
    /// Whether every access, at any address, either reaches only memory of the same thread, block or cluster, or aborts the kernel.
    const CONFINED: bool;
}

/// A space in which every access is safe: shared memory of the block or cluster, or local memory. An out-of-bounds access either reaches
/// memory of the same thread, block or cluster, or aborts the kernel. The simulator reports such accesses.
pub trait SafeSpace: Space {}

/// The shared memory of the block or of the cluster.
pub trait SharedSpace: SafeSpace<Address = u32> {}

impl SharedSpace for Shared {}
impl SharedSpace for SharedCluster {}

impl SafeSpace for Shared {}
impl SafeSpace for SharedCluster {}
impl SafeSpace for Local {}

/// An integer type for addresses: `u32` or `u64`.
pub trait AddressType: Scalar {
    /// Returns `base + index · bytes`.
    #[doc(hidden)]
    #[track_caller]
    fn element<'k>(k: Builder<'k>, base: Val<'k, Self>, index: Val<'k, u32>, bytes: u32) -> Val<'k, Self>;
}

impl AddressType for u32 {
    #[track_caller]
    fn element<'k>(_: Builder<'k>, base: Val<'k, u32>, index: Val<'k, u32>, bytes: u32) -> Val<'k, u32> {
        index.mad(bytes, base)
    }
}

impl AddressType for u64 {
    #[track_caller]
    fn element<'k>(k: Builder<'k>, base: Val<'k, u64>, index: Val<'k, u32>, bytes: u32) -> Val<'k, u64> {
        let operands = [index.operand(k), Val::from(bytes).operand(k), base.operand(k)];
        k.result(["mad.wide.u32"], &operands)
    }
}

macro_rules! spaces {
    ($($(#[$doc:meta])* $name:ident, $address:ty, $ptx:literal, $confined:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl sealed::Sealed for $name {}
        impl Space for $name {
            type Address = $address;
            const PTX: &'static str = $ptx;
            const CONFINED: bool = $confined;
        }
    )*};
}

spaces! {
    /// Global memory.
    #[doc(alias = ".global")]
    Global, u64, ".global", false;
    /// The block's shared memory.
    #[doc(alias = ".shared")]
    Shared, u32, ".shared", true;
    /// The shared memory of any block in the cluster. [`Ptr::in_block`] and [`Ptr::in_cluster`] return pointers in this space. Requires
    /// sm_90 or later.
    #[doc(alias = ".shared::cluster")]
    SharedCluster, u32, ".shared::cluster", true;
    /// Local memory, which is private to the thread.
    #[doc(alias = ".local")]
    Local, u64, ".local", true;
    /// Constant memory.
    #[doc(alias = ".const")]
    Const, u64, ".const", false;
    /// Generic addresses: the address itself determines the state space.
    Generic, u64, "", false;
}

/// The access that a pointer permits: [`Read`], [`Write`] or [`ReadWrite`].
pub trait Access: Sealed + 'static {}
/// Access that permits reads: [`Read`] or [`ReadWrite`].
#[diagnostic::on_unimplemented(
    message = "this pointer is write-only",
    note = "declare the parameter as `In<T>` or `InOut<T>`"
)]
pub trait Readable: Access {}
/// Access that permits writes: [`Write`] or [`ReadWrite`].
#[diagnostic::on_unimplemented(
    message = "this pointer is read-only",
    note = "declare the parameter as `Out<T>` or `InOut<T>`"
)]
pub trait Writable: Access {}

/// Read-only access.
#[derive(Clone, Copy, Debug)]
pub enum Read {}
/// Write-only access.
#[derive(Clone, Copy, Debug)]
pub enum Write {}
/// Read-write access.
#[derive(Clone, Copy, Debug)]
pub enum ReadWrite {}

impl Sealed for Read {}
impl Sealed for Write {}
impl Sealed for ReadWrite {}
impl Access for Read {}
impl Access for Write {}
impl Access for ReadWrite {}
impl Readable for Read {}
impl Readable for ReadWrite {}
impl Writable for Write {}
impl Writable for ReadWrite {}

/// A pointer to elements of type `T` in state space `S`, with access rights `A`.
///
/// The address is a register plus a constant offset. The known alignment of the address limits the width of vector accesses.
///
/// Accesses to shared and local memory are safe. Accesses to global and constant memory and to generic addresses are `unsafe`, because
/// nothing ensures that an address is within a buffer. [`Builder::slice`], `k.global` and `k.tensor` return views with safe accesses.
pub struct Ptr<'k, T, S: Space, A = ReadWrite> {
    k: Builder<'k>,
    base: Val<'k, S::Address>,
    /// The constant part of the address, in bytes.
    offset: i64,
    /// A known divisor of the base, in bytes.
    align: u64,
    /// Whether the memory belongs to an `In` parameter, so that no thread writes to it.
    never_written: bool,
    /// Whether the extents of views that start here are assumed valid by `unsafe` code.
    assumed_valid: bool,
    kind: PhantomData<fn() -> (T, A)>,
}

impl<T, S: Space, A> Clone for Ptr<'_, T, S, A> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, S: Space, A> Copy for Ptr<'_, T, S, A> {}

impl<T: Element, S: Space, A> fmt::Debug for Ptr<'_, T, S, A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}* [{:?} + {}]", T::NAME, self.base, self.offset)
    }
}

impl<'k, T: Element, S: Space, A> Ptr<'k, T, S, A> {
    pub(crate) fn new(k: Builder<'k>, base: Val<'k, S::Address>, align: u32) -> Self {
        let align = align.into();
        Self { k, base, offset: 0, align, never_written: false, assumed_valid: false, kind: PhantomData }
    }

    /// Returns the same address with another element type or other access rights.
    fn retyped<U, B>(self) -> Ptr<'k, U, S, B> {
        let Self { k, base, offset, align, never_written, assumed_valid, kind: _ } = self;
        Ptr { k, base, offset, align, never_written, assumed_valid, kind: PhantomData }
    }

    /// Returns whether both pointers are known to have the same address.
    pub(crate) fn is_same(self, other: Self) -> bool {
        self.base.is_same(&other.base) && self.offset == other.offset
    }

    /// Returns the pointer with its memory marked as belonging to an `In` parameter.
    pub(super) fn never_written(self) -> Self {
        Self { never_written: true, ..self }
    }

    /// Returns whether the memory is guaranteed not to be written while the kernel runs. In a programmatic launch, the preceding kernel may
    /// still write to it.
    pub(crate) fn is_never_written(&self) -> bool {
        self.never_written && !self.kernel().body().entry.programmatic
    }

    /// Returns whether the extents of views that start here are assumed valid by `unsafe` code.
    pub(super) fn is_assumed_valid(&self) -> bool {
        self.assumed_valid
    }

    /// Returns the builder of the pointer's kernel.
    pub fn kernel(self) -> Builder<'k> {
        self.k
    }

    /// Returns the index of the kernel parameter whose buffer starts at this address, if known.
    pub(crate) fn parameter(self) -> Option<usize> {
        let (reg, k) = self.base.reg().filter(|_| self.offset == 0)?;
        k.body().buffer(reg)
    }

    /// Returns the known alignment of the address in bytes, at most 65,536.
    pub fn align(self) -> u32 {
        gcd(self.align, self.offset.unsigned_abs()).min(1 << 16) as u32
    }

    /// Returns a pointer to element `index`. Emits no instruction if the index is a constant.
    #[track_caller]
    pub fn at(self, index: impl Into<Val<'k, u32>>) -> Self {
        let index = index.into();
        match index.as_constant() {
            Some(index) => self.byte_offset(i64::from(index) * i64::from(T::SIZE)),
            None => {
                let align = gcd(self.align, index.divisor().saturating_mul(T::SIZE.into()));
                let base = S::Address::element(self.k, self.base, index, T::SIZE);
                self.moved(base.with_facts_of(index), align)
            }
        }
    }

    /// Returns the base of the address, without the constant offset.
    pub(crate) fn base(self) -> Val<'k, S::Address> {
        self.base
    }

    /// Returns the pointer in another space, with base `base`. Other blocks may write to the memory there, so the result is not marked as
    /// never written.
    pub(crate) fn in_space<Z: Space>(self, base: Val<'k, Z::Address>) -> Ptr<'k, T, Z, A> {
        let Self { k, offset, align, .. } = self;
        Ptr { k, base, offset, align, never_written: false, assumed_valid: false, kind: PhantomData }
    }

    /// Returns the pointer with base `base`, which is a multiple of `align`. The result is not assumed valid.
    fn moved(self, base: Val<'k, S::Address>, align: u64) -> Self {
        Self { base, align, assumed_valid: false, ..self }
    }

    /// Returns the pointer advanced by `bytes` bytes. Emits no instruction if `bytes` is a constant.
    #[must_use]
    #[track_caller]
    pub fn advance(self, bytes: Val<'k, S::Address>) -> Self {
        match bytes.as_constant() {
            Some(bytes) => self.byte_offset(bytes.to_bits() as i64),
            None => {
                let align = gcd(self.align, bytes.divisor());
                let operands = [self.base.operand(self.k), bytes.operand(self.k)];
                let base: Val<'k, S::Address> = self.k.result(["add.", S::Address::PTX], &operands);
                self.moved(base.with_facts_of(bytes), align)
            }
        }
    }

    /// Returns the pointer advanced by `times · bytes` bytes; the product is computed at the width of an address. Emits no instruction if
    /// `times` is a constant.
    #[must_use]
    #[track_caller]
    pub(crate) fn advance_by_product(self, times: Val<'k, u32>, bytes: u32) -> Self {
        match times.as_constant() {
            Some(times) => self.byte_offset(i64::from(times) * i64::from(bytes)),
            None if bytes == 0 => self,
            None => {
                let align = gcd(self.align, times.divisor().saturating_mul(bytes.into()));
                let base = S::Address::element(self.k, self.base, times, bytes);
                Self { base: base.with_facts_of(times), align, ..self }
            }
        }
    }

    /// Returns the pointer advanced by a constant number of bytes. Emits no instruction.
    #[must_use]
    pub fn byte_offset(self, bytes: i64) -> Self {
        Self {
            offset: self.offset.wrapping_add(bytes),
            assumed_valid: self.assumed_valid && bytes == 0,
            ..self
        }
    }

    /// Returns the same address, assumed to be aligned to `align` bytes. The caller must ensure this alignment.
    #[must_use]
    pub(crate) fn assume_aligned(self, align: u32) -> Self {
        let offset = self.offset.rem_euclid(i64::from(align));
        let align = super::divisor::lcm(self.align, align.into());
        Self { align: if offset == 0 { align } else { self.align }, ..self }
    }

    /// Returns a pointer to the same address with another element type.
    pub fn cast<U: Element>(self) -> Ptr<'k, U, S, A> {
        self.retyped()
    }

    /// Returns the same address with other access rights, for tensors, whose types determine when memory may be read.
    pub(crate) fn assume_access<B>(self) -> Ptr<'k, T, S, B> {
        self.retyped()
    }

    /// Passes the register of the address to a visitor of loop state. The constant part is added to the register, and at most
    /// 16 bytes of alignment are kept, so that addresses that differ only in these can replace each other.
    #[track_caller]
    pub(crate) fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        let align = gcd(self.align().into(), 16);
        *self = Self { base: self.address(), offset: 0, align, ..*self };
        visitor.shared(&mut self.base);
        let kind = std::any::type_name::<(S, A)>();
        let (element, never_written, assumed_valid) = (T::NAME, self.never_written, self.assumed_valid);
        visitor.form(&format_args!("{element} {kind} {align} {never_written} {assumed_valid}"));
    }

    /// Returns the address as an integer. Emits an addition if the address has a constant offset.
    #[track_caller]
    pub fn address(self) -> Val<'k, S::Address> {
        if self.offset == 0 {
            return self.base;
        }
        let offset = S::Address::from_bits(self.offset as u64);
        let operands = [self.base.operand(self.k), Val::from(offset).operand(self.k)];
        let sum = self.k.result(["add.", S::Address::PTX], &operands);
        if let Some((reg, k)) = sum.reg() {
            k.body().set_divisor(reg, self.align().into());
        }
        sum
    }

    /// Returns the address as an operand.
    #[track_caller]
    pub(crate) fn operand(self) -> Operand<'static> {
        // Offsets in operands are signed 32-bit integers (PTX ISA, "Addresses as Operands").
        let (base, offset) = match i32::try_from(self.offset) {
            Ok(_) => (self.base, self.offset),
            Err(_) => (self.address(), 0),
        };
        Operand::Address { base: AddressBase::Reg(base.in_register(self.k)), offset }
    }

    /// Rejects a `bytes`-byte access unless the address is known to be a multiple of `bytes`.
    #[track_caller]
    pub(crate) fn check_aligned(self, bytes: u32) {
        let known = self.align();
        if !known.is_multiple_of(bytes) {
            self.k.fail(BuildErrorKind::Misaligned { bytes, known });
        }
    }
}

impl<'k, T: Element, S: Space<Address = u64>, A> Ptr<'k, T, S, A> {
    /// Returns a pointer to element `index`, as [`at`](Self::at) does, but with a 64-bit index.
    #[track_caller]
    pub fn at_wide(self, index: impl Into<Val<'k, u64>>) -> Self {
        let index = index.into();
        match index.as_constant() {
            Some(index) => self.byte_offset((index as i64).wrapping_mul(i64::from(T::SIZE))),
            None => {
                let align = gcd(self.align, index.divisor().saturating_mul(T::SIZE.into()));
                let bytes = Val::from(u64::from(T::SIZE));
                self.moved(index.mad(bytes, self.base).with_facts_of(index), align)
            }
        }
    }
}

impl<'k, T: Element, S: Space, A> Ptr<'k, T, S, A> {
    /// Returns a read-only pointer to the same address.
    pub fn read_only(self) -> Ptr<'k, T, S, Read>
    where
        A: Readable,
    {
        self.retyped()
    }
}

impl<'k, T: Element, A> Ptr<'k, T, Global, A> {
    /// Returns the pointer marked as valid. Views can be created from it even if it is not a buffer parameter, or if a launch cannot
    /// compute the extents of the views. Pointers that are derived from the result and have another address, such as those that
    /// [`at`](Self::at) returns, are not marked as valid.
    ///
    /// # Safety
    ///
    /// In every launch, all elements of every view that is created from the result must be within a single live allocation. If the pointer
    /// belongs to an `In` parameter, no thread may write to these elements.
    #[must_use]
    #[allow(unsafe_code, reason = "declares an obligation; nothing unsafe is done here")]
    pub unsafe fn assume_valid(self) -> Self {
        self.k.count_unsafe_access();
        Self { assumed_valid: true, ..self }
    }
}
