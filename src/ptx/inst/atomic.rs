//! Atomic operations: `atom`, which returns the old value, and `red`, which does not.

use std::panic::Location;

use super::order::{MemoryScope, Order};
use crate::ptx::{
    checked::CheckedPtr,
    operand::Operand,
    ptr::{Generic, Global, ReadWrite, Shared, SharedCluster, Space},
    types::{Element, Scalar, bf16, bf16x2, f16, f16x2},
    val::Val,
};

/// A state space that supports atomic operations: global, `.shared::cta`, `.shared::cluster` or generic.
pub trait AtomicSpace: Space {
    /// The default memory scope; `None` means the device.
    #[doc(hidden)]
    const MEMORY_SCOPE: Option<MemoryScope> = None;
}

impl AtomicSpace for Global {}
impl AtomicSpace for Shared {
    const MEMORY_SCOPE: Option<MemoryScope> = Some(MemoryScope::Cta);
}
impl AtomicSpace for SharedCluster {
    const MEMORY_SCOPE: Option<MemoryScope> = Some(MemoryScope::Cluster);
}
impl AtomicSpace for Generic {}

/// An element type that supports atomic addition: a 32-bit or 64-bit integer, f32, f64, f16, bf16, f16x2 or bf16x2.
#[diagnostic::on_unimplemented(message = "atomic addition is not supported for `{Self}`")]
pub trait AtomicAdd: Element {
    /// The operation and the type, such as `".add.u32"`.
    #[doc(hidden)]
    const ADD: &'static str;
}

macro_rules! additions {
    ($($t:ty, $add:literal;)*) => {$(
        impl AtomicAdd for $t {
            const ADD: &'static str = $add;
        }
    )*};
}

additions! {
    u32,    ".add.u32";
    i32,    ".add.s32";
    u64,    ".add.u64";
    // In two's complement, the sum has the same bits; `.s64` does not exist.
    i64,    ".add.u64";
    f32,    ".add.f32";
    f64,    ".add.f64";
    f16,    ".add.noftz.f16";
    f16x2,  ".add.noftz.f16x2";
    bf16,   ".add.noftz.bf16";
    bf16x2, ".add.noftz.bf16x2";
}

/// An element type that supports atomic minimum, maximum and bitwise operations: a 32-bit or 64-bit integer.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an integer of 32 or 64 bits")]
pub trait AtomicInteger: Element<Reg: Scalar> {
    /// The untyped PTX type of the same width, such as `"b32"`.
    #[doc(hidden)]
    const BITS: &'static str;
}

impl AtomicInteger for u32 {
    const BITS: &'static str = "b32";
}
impl AtomicInteger for i32 {
    const BITS: &'static str = "b32";
}
impl AtomicInteger for u64 {
    const BITS: &'static str = "b64";
}
impl AtomicInteger for i64 {
    const BITS: &'static str = "b64";
}

/// The memory ordering of `atom` and `red`.
#[derive(Clone, Copy, Debug)]
struct Ordering {
    order: Option<Order>,
    scope: Option<MemoryScope>,
}

impl Ordering {
    fn of<S: AtomicSpace>() -> Self {
        Self { order: None, scope: S::MEMORY_SCOPE }
    }

    fn suffixes(self) -> (&'static str, &'static str) {
        (self.order.map_or("", Order::suffix), self.scope.map_or("", MemoryScope::suffix))
    }
}

/// A handle for atomic operations on one element. Each operation returns the element's old value. The `atomic` methods of pointers, such as
/// [`CheckedPtr::atomic`], return an `Atomic`.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Atomic<'k, T: Element, S: Space> {
    at: CheckedPtr<'k, T, S, ReadWrite>,
    ordering: Ordering,
}

/// A handle for reductions on one element: atomic operations that return no value. The `reduction` methods of pointers, such as
/// [`CheckedPtr::reduction`], return a `Reduction`.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Reduction<'k, T: Element, S: Space> {
    at: CheckedPtr<'k, T, S, ReadWrite>,
    ordering: Ordering,
}

impl<'k, T: Element, S: AtomicSpace> CheckedPtr<'k, T, S, ReadWrite> {
    /// Returns a handle for atomic operations on the element: `counter.at(0).atomic().add(1)`. If the element is out of bounds, the
    /// operations have no effect and return 0.
    ///
    /// By default, the operations are relaxed, and their scope is the block for `.shared::cta` memory, the cluster for `.shared::cluster`
    /// memory, and the device for other memory.
    #[doc(alias = "atom")]
    pub fn atomic(self) -> Atomic<'k, T, S> {
        Atomic { at: self, ordering: Ordering::of::<S>() }
    }

    /// Returns a handle for reductions (atomic operations that return no value) on the element: `sum.at(0).reduction().add(x)`. If the
    /// element is out of bounds, the reductions have no effect. The default order and scope are those of [`atomic`](Self::atomic).
    #[doc(alias = "red")]
    pub fn reduction(self) -> Reduction<'k, T, S> {
        Reduction { at: self, ordering: Ordering::of::<S>() }
    }
}

macro_rules! ordering {
    ($name:ident) => {
        impl<'k, T: Element, S: AtomicSpace> $name<'k, T, S> {
            /// Sets the memory order of the operation with respect to the thread's other accesses. Reductions support only
            /// [`Order::Relaxed`] and [`Order::Release`].
            pub fn order(mut self, order: Order) -> Self {
                self.ordering.order = Some(order);
                self
            }

            /// Sets the memory scope: the operation is atomic with respect to the threads in this scope.
            pub fn scope(mut self, scope: MemoryScope) -> Self {
                self.ordering.scope = Some(scope);
                self
            }
        }
    };
}

ordering! { Atomic }
ordering! { Reduction }

impl<'k, T: Element, S: AtomicSpace> Atomic<'k, T, S> {
    #[track_caller]
    fn emit(self, operation: std::fmt::Arguments<'_>, operands: &[Val<'k, T::Reg>]) -> Val<'k, T::Reg> {
        let (k, inside) = (self.at.kernel(), self.at.condition());
        let zero = T::Reg::from_bits(0);
        let old = match inside.as_constant() {
            Some(false) => return zero.into(),
            Some(true) => Val::from_reg(k.fresh(T::Reg::CLASS), k),
            None => k.copy_of(zero),
        };
        let (order, scope) = self.ordering.suffixes();
        let mut all = arrayvec::ArrayVec::<Operand<'_>, 4>::new();
        all.extend([old.operand(k), self.at.pointer.operand()]);
        all.extend(operands.iter().map(|value| value.operand(k)));
        let mnemonic = format_args!("atom{order}{scope}{}{operation}", S::PTX);
        {
            let _located = k.locate(Location::caller());
            k.emit_when(inside, mnemonic, &all);
        }
        old
    }

    /// Stores `value` in the element and returns the old value. The element must be 32 or 64 bits wide.
    #[doc(alias = "atom.exch")]
    #[track_caller]
    pub fn exchange(self, value: impl Into<Val<'k, T::Reg>>) -> Val<'k, T::Reg> {
        const { assert!(T::SIZE == 4 || T::SIZE == 8, "expected a type of 32 or 64 bits for an atomic exchange") };
        self.emit(format_args!(".exch.b{}", 8 * T::SIZE), &[value.into()])
    }

    /// Stores `value` in the element if the element has the same bits as `expected`. Returns the old value in either case. The element must
    /// be 16, 32 or 64 bits wide.
    #[doc(alias = "atom.cas")]
    #[track_caller]
    pub fn compare_exchange(
        self,
        expected: impl Into<Val<'k, T::Reg>>,
        value: impl Into<Val<'k, T::Reg>>,
    ) -> Val<'k, T::Reg> {
        const {
            assert!(
                T::SIZE == 2 || T::SIZE == 4 || T::SIZE == 8,
                "expected a type of 16, 32 or 64 bits for an atomic compare-and-swap"
            );
        };
        self.emit(format_args!(".cas.b{}", 8 * T::SIZE), &[expected.into(), value.into()])
    }
}

impl<'k, T: Element, S: AtomicSpace> Reduction<'k, T, S> {
    #[track_caller]
    fn emit(self, operation: std::fmt::Arguments<'_>, operands: &[Val<'k, T::Reg>]) {
        let (k, inside) = (self.at.kernel(), self.at.condition());
        if inside.as_constant() == Some(false) {
            return;
        }
        let (order, scope) = self.ordering.suffixes();
        let mut all = arrayvec::ArrayVec::<Operand<'_>, 2>::new();
        all.push(self.at.pointer.operand());
        all.extend(operands.iter().map(|value| value.operand(k)));
        let mnemonic = format_args!("red{order}{scope}{}{operation}", S::PTX);
        let _located = k.locate(Location::caller());
        k.emit_when(inside, mnemonic, &all);
    }
}

macro_rules! operations {
    ($name:ident $(-> $result:ty, $word:ty)?) => {
        impl<'k, T: AtomicAdd, S: AtomicSpace> $name<'k, T, S> {
            /// Adds `value` to the element. Floating-point sums are rounded to nearest even; f32 additions in global memory also flush
            /// subnormals to zero. bf16 and bf16x2 require sm_90 or later.
            #[allow(clippy::should_implement_trait, reason = "it adds to memory")]
            #[track_caller]
            pub fn add(self, value: impl Into<Val<'k, T::Reg>>) $(-> $result)? {
                self.emit(format_args!("{}", T::ADD), &[value.into()])
            }
        }

        impl<'k, T: AtomicInteger, S: AtomicSpace> $name<'k, T, S> {
            /// Sets the element to the minimum of its old value and `value`.
            #[track_caller]
            pub fn min(self, value: impl Into<Val<'k, T::Reg>>) $(-> $result)? {
                self.emit(format_args!(".min.{}", T::MEM), &[value.into()])
            }

            /// Sets the element to the maximum of its old value and `value`.
            #[track_caller]
            pub fn max(self, value: impl Into<Val<'k, T::Reg>>) $(-> $result)? {
                self.emit(format_args!(".max.{}", T::MEM), &[value.into()])
            }

            /// Clears the bits of the element that are 0 in `value`.
            #[track_caller]
            pub fn and(self, value: impl Into<Val<'k, T::Reg>>) $(-> $result)? {
                self.emit(format_args!(".and.{}", T::BITS), &[value.into()])
            }

            /// Sets the bits of the element that are 1 in `value`.
            #[track_caller]
            pub fn or(self, value: impl Into<Val<'k, T::Reg>>) $(-> $result)? {
                self.emit(format_args!(".or.{}", T::BITS), &[value.into()])
            }

            /// Flips the bits of the element that are 1 in `value`.
            #[track_caller]
            pub fn xor(self, value: impl Into<Val<'k, T::Reg>>) $(-> $result)? {
                self.emit(format_args!(".xor.{}", T::BITS), &[value.into()])
            }
        }

        impl<'k, S: AtomicSpace> $name<'k, u32, S> {
            /// Adds 1 to the element, or sets it to 0 if it is at least `last`.
            #[track_caller]
            pub fn inc(self, last: impl Into<Val<'k, u32>>) $(-> $word)? {
                self.emit(format_args!(".inc.u32"), &[last.into()])
            }

            /// Subtracts 1 from the element, or sets it to `first` if it is 0 or greater than `first`.
            #[track_caller]
            pub fn dec(self, first: impl Into<Val<'k, u32>>) $(-> $word)? {
                self.emit(format_args!(".dec.u32"), &[first.into()])
            }
        }
    };
}

operations! { Atomic -> Val<'k, T::Reg>, Val<'k, u32> }
operations! { Reduction }

impl<'k, T: AtomicAdd> Reduction<'k, T, Global> {
    /// Adds `values` to `N` adjacent elements. Each addition is atomic. Supports only [`Order::Relaxed`]. Requires sm_90 or later.
    ///
    /// `N` may be 2 or 4 for f32, f16, bf16, f16x2 and bf16x2, and also 8 for f16 and bf16. The address must be known to be aligned to the
    /// size of the vector, and the elements must be either all in bounds or all out of bounds.
    #[doc(alias = "red.v4")]
    #[track_caller]
    pub fn add_vector<const N: usize>(self, values: [Val<'k, T::Reg>; N]) {
        self.at.check_vector(N);
        let k = self.at.kernel();
        let registers = values.map(|value| Operand::Reg(value.in_register(k)));
        let (order, scope) = self.ordering.suffixes();
        let (operation, element) = T::ADD.rsplit_once('.').unwrap_or((T::ADD, ""));
        let mnemonic = format_args!("red{order}{scope}.global{operation}.v{N}.{element}");
        let operands = [self.at.pointer.operand(), Operand::Vector(&registers)];
        let _located = k.locate(Location::caller());
        k.emit_when(self.at.condition(), mnemonic, &operands);
    }
}
