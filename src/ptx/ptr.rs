//! Typed pointers: element type, state space and what may be done through them are in the type.

use std::{fmt, marker::PhantomData};

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
    /// Keeps the spaces to those of this file: what is safe depends on them.
    pub trait Sealed {}
}

/// A state space of PTX (PTX ISA, "State Spaces").
pub trait Space: sealed::Sealed + 'static {
    /// Type of an address: 32 bits in shared memory, 64 elsewhere.
    type Address: Scalar + AddressType;
    /// Suffix of `ld` and `st`: `".global"`, or nothing for generic addresses.
    const PTX: &'static str;
    /// Whether an access to any address stays in memory of the block or stops the kernel.
    const CONFINED: bool;
}

/// A space in which every access is safe: shared and local memory. An access out of bounds reaches memory of the same block
/// or cluster, or stops the kernel; the simulator finds it.
pub trait SafeSpace: Space {}

impl SafeSpace for Shared {}
impl SafeSpace for Local {}

/// An integer type that addresses are made of: `u32` or `u64`.
pub trait AddressType: Scalar {
    /// `base + index · bytes`.
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
        k.result(format_args!("mad.wide.u32"), &operands)
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
    /// Device memory.
    #[doc(alias = ".global")]
    Global, u64, ".global", false;
    /// Memory of one block.
    #[doc(alias = ".shared")]
    Shared, u32, ".shared", true;
    /// Memory of one thread.
    #[doc(alias = ".local")]
    Local, u64, ".local", true;
    /// Constant memory.
    #[doc(alias = ".const")]
    Const, u64, ".const", false;
    /// Any of them: the address says which.
    Generic, u64, "", false;
}

/// What may be done through a pointer.
pub trait Access: 'static {}
/// A pointer that can be read through.
#[diagnostic::on_unimplemented(
    message = "this pointer is write-only",
    note = "declare the parameter as `In<T>` or `InOut<T>`"
)]
pub trait Readable: Access {}
/// A pointer that can be written through.
#[diagnostic::on_unimplemented(
    message = "this pointer is read-only",
    note = "declare the parameter as `Out<T>` or `InOut<T>`"
)]
pub trait Writable: Access {}

/// Reads only.
#[derive(Clone, Copy, Debug)]
pub enum Read {}
/// Writes only.
#[derive(Clone, Copy, Debug)]
pub enum Write {}
/// Reads and writes.
#[derive(Clone, Copy, Debug)]
pub enum ReadWrite {}

impl Access for Read {}
impl Access for Write {}
impl Access for ReadWrite {}
impl Readable for Read {}
impl Readable for ReadWrite {}
impl Writable for Write {}
impl Writable for ReadWrite {}

/// A pointer to elements of type `T` in space `S`, with access `A`.
///
/// The address is a base plus a constant offset; the alignment that is known of it decides how wide a vector
/// access may be.
///
/// Accesses to shared and local memory are safe. Those to global and constant memory and to generic addresses are `unsafe`,
/// since nothing keeps an address inside its buffer: [`Builder::slice`], `k.global` and `k.tensor` make views whose accesses
/// are safe.
pub struct Ptr<'k, T, S: Space, A = ReadWrite> {
    k: Builder<'k>,
    base: Val<'k, S::Address>,
    /// Constant part of the address, in bytes.
    offset: i64,
    /// What surely divides the base, in bytes.
    align: u64,
    /// Whether no thread writes the memory: it belongs to an `In` parameter.
    never_written: bool,
    /// Whether the author vouches for the extents of views that begin here.
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

    /// The same address with another element type or access.
    fn retyped<U, B>(self) -> Ptr<'k, U, S, B> {
        let Self { k, base, offset, align, never_written, assumed_valid, kind: _ } = self;
        Ptr { k, base, offset, align, never_written, assumed_valid, kind: PhantomData }
    }

    /// Says that the memory belongs to an `In` parameter.
    pub(super) fn never_written(self) -> Self {
        Self { never_written: true, ..self }
    }

    /// Whether no thread writes the memory while the kernel runs.
    pub(crate) fn is_never_written(&self) -> bool {
        self.never_written
    }

    /// Whether the author vouches for the extents of views that begin here.
    pub(super) fn is_assumed_valid(&self) -> bool {
        self.assumed_valid
    }

    /// The kernel that the pointer belongs to.
    pub fn kernel(self) -> Builder<'k> {
        self.k
    }

    /// The kernel parameter whose buffer this points to the start of.
    pub(crate) fn parameter(self) -> Option<usize> {
        let (reg, k) = self.base.reg().filter(|_| self.offset == 0)?;
        k.body().buffer(reg)
    }

    /// Known alignment of the address, in bytes.
    pub fn align(self) -> u32 {
        gcd(self.align, self.offset.unsigned_abs()).min(1 << 16) as u32
    }

    /// Pointer to element `index`: an instruction, or none if the index is a constant.
    #[track_caller]
    pub fn at(self, index: impl Into<Val<'k, u32>>) -> Self {
        let index = index.into();
        match index.as_constant() {
            Some(index) => self.byte_offset(i64::from(index) * i64::from(T::SIZE)),
            None => {
                let align = gcd(self.align, index.divisor().saturating_mul(T::SIZE.into()));
                let base = S::Address::element(self.k, self.base, index, T::SIZE);
                self.moved(base, align)
            }
        }
    }

    /// The pointer with another base.
    fn moved(self, base: Val<'k, S::Address>, align: u64) -> Self {
        Self { base, align, assumed_valid: false, ..self }
    }

    /// Pointer `bytes` further on: an instruction, or none if the number is a constant.
    #[must_use]
    #[track_caller]
    pub fn advance(self, bytes: Val<'k, S::Address>) -> Self {
        match bytes.as_constant() {
            Some(bytes) => self.byte_offset(bytes.to_bits() as i64),
            None => {
                let align = gcd(self.align, bytes.divisor());
                let operands = [self.base.operand(self.k), bytes.operand(self.k)];
                let base = self.k.result(format_args!("add.{}", S::Address::PTX), &operands);
                self.moved(base, align)
            }
        }
    }

    /// Pointer `times · bytes` further on, the product in the width of an address: one instruction, or none for constants.
    #[must_use]
    #[track_caller]
    pub(crate) fn advance_by_product(self, times: Val<'k, u32>, bytes: u32) -> Self {
        match times.as_constant() {
            Some(times) => self.byte_offset(i64::from(times) * i64::from(bytes)),
            None if bytes == 0 => self,
            None => {
                let align = gcd(self.align, times.divisor().saturating_mul(bytes.into()));
                let base = S::Address::element(self.k, self.base, times, bytes);
                Self { base, align, ..self }
            }
        }
    }

    /// Pointer `bytes` further on, by a constant: no instruction.
    #[must_use]
    pub fn byte_offset(self, bytes: i64) -> Self {
        Self {
            offset: self.offset.wrapping_add(bytes),
            assumed_valid: self.assumed_valid && bytes == 0,
            ..self
        }
    }

    /// The same address, said to be aligned to `align` bytes: the caller's word, for what the operands do not show.
    #[must_use]
    pub(crate) fn assume_aligned(self, align: u32) -> Self {
        let offset = self.offset.rem_euclid(i64::from(align));
        let align = super::divisor::lcm(self.align, align.into());
        Self { align: if offset == 0 { align } else { self.align }, ..self }
    }

    /// The same address as a pointer to another element type.
    pub fn cast<U: Element>(self) -> Ptr<'k, U, S, A> {
        self.retyped()
    }

    /// The same address with other rights: for tensors, whose types say when memory may be read.
    pub(crate) fn assume_access<B>(self) -> Ptr<'k, T, S, B> {
        self.retyped()
    }

    /// Shows the register of the address to a visitor of loop state. It takes in the constant part, and of the alignment only 16 bytes
    /// are kept, so that addresses that differ in those can follow each other.
    #[track_caller]
    pub(crate) fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
        let align = gcd(self.align().into(), 16);
        *self = Self { base: self.address(), offset: 0, align, ..*self };
        visitor.shared(&mut self.base);
        visitor.unchanged(&(align, self.never_written, self.assumed_valid));
    }

    /// The address as a number.
    #[track_caller]
    pub fn address(self) -> Val<'k, S::Address> {
        if self.offset == 0 {
            return self.base;
        }
        let offset = S::Address::from_bits(self.offset as u64);
        let operands = [self.base.operand(self.k), Val::from(offset).operand(self.k)];
        let sum = self.k.result(format_args!("add.{}", S::Address::PTX), &operands);
        if let Some((reg, k)) = sum.reg() {
            k.body().set_divisor(reg, self.align().into());
        }
        sum
    }

    /// The address as an operand.
    #[track_caller]
    pub(crate) fn operand(self) -> Operand<'static> {
        // An offset in an operand has 32 bits with a sign (PTX ISA, "Addresses as Operands").
        let (base, offset) = match i32::try_from(self.offset) {
            Ok(_) => (self.base, self.offset),
            Err(_) => (self.address(), 0),
        };
        Operand::Address { base: AddressBase::Reg(base.in_register(self.k)), offset }
    }

    /// Refuses an access of `bytes` if the address may not be aligned to it.
    #[track_caller]
    pub(crate) fn check_aligned(self, bytes: u32) {
        let known = self.align();
        if !known.is_multiple_of(bytes) {
            self.k.fail(BuildErrorKind::Misaligned { bytes, known });
        }
    }
}

impl<'k, T: Element, S: Space<Address = u64>, A> Ptr<'k, T, S, A> {
    /// Pointer to element `index`, where 32 bits may not hold the index.
    #[track_caller]
    pub fn at_wide(self, index: impl Into<Val<'k, u64>>) -> Self {
        let index = index.into();
        match index.as_constant() {
            Some(index) => self.byte_offset((index as i64).wrapping_mul(i64::from(T::SIZE))),
            None => {
                let align = gcd(self.align, index.divisor().saturating_mul(T::SIZE.into()));
                let bytes = Val::from(u64::from(T::SIZE));
                self.moved(index.mad(bytes, self.base), align)
            }
        }
    }
}

impl<'k, T: Element, S: Space, A> Ptr<'k, T, S, A> {
    /// The pointer for reading alone.
    pub fn read_only(self) -> Ptr<'k, T, S, Read>
    where
        A: Readable,
    {
        self.retyped()
    }
}

impl<'k, T: Element, A> Ptr<'k, T, Global, A> {
    /// Vouches for the views that begin at this address, which need not be a buffer parameter then, nor their extents numbers that
    /// a launch can compute.
    ///
    /// # Safety
    ///
    /// In every launch, all elements of every view made of the result must be in one allocation that is live, and that no other
    /// thread writes if the pointer is an `In` parameter's.
    #[must_use]
    #[allow(unsafe_code, reason = "declares an obligation; nothing unsafe is done here")]
    pub unsafe fn assume_valid(self) -> Self {
        self.k.count_unsafe_access();
        Self { assumed_valid: true, ..self }
    }
}
