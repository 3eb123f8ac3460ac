//! Kernel parameters: their declarations and the handles that the kernel's body receives.

use std::{array, marker::PhantomData};

use super::{
    dim::Dim,
    inst::{MAP_BYTES, TensorMapPtr},
    kernel::Builder,
    operand::{AddressBase, Operand},
    ptr::{Global, Ptr, Read, ReadWrite, Write},
    types::{Element, Scalar, bf16, f16},
    val::Val,
};

/// A buffer parameter that the kernel only reads from.
#[derive(Debug)]
pub struct In<T>(PhantomData<fn() -> T>);
/// A buffer parameter that the kernel only writes to.
#[derive(Debug)]
pub struct Out<T>(PhantomData<fn() -> T>);
/// A buffer parameter that the kernel reads from and writes to.
#[derive(Debug)]
pub struct InOut<T>(PhantomData<fn() -> T>);

/// A tensor-map parameter: `TensorMap<In<T>>`, `TensorMap<Out<T>>` or `TensorMap<InOut<T>>`. Copies through the map move boxes of a tensor
/// between the buffer and shared memory. The launch creates the map from a `TensorBox` of the buffer, or receives an existing map. Requires
/// sm_90 or later.
#[doc(alias = "CUtensorMap")]
#[doc(alias = "TMA")]
#[derive(Debug)]
pub struct TensorMap<B>(PhantomData<fn() -> B>);

/// The alignment, in bytes, that launches require of every buffer. CUDA aligns device allocations to at least 256 bytes.
pub const BUFFER_ALIGN: u32 = 16;

/// The kind of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A pointer to a buffer that the kernel only reads from.
    In,
    /// A pointer to a buffer that the kernel only writes to.
    Out,
    /// A pointer to a buffer that the kernel reads from and writes to.
    InOut,
    /// A scalar.
    Scalar,
    /// A tensor map of a buffer.
    TensorMap {
        /// Whether the kernel may write to the tensor.
        written: bool,
    },
}

impl ParamKind {
    /// Returns whether the parameter is a pointer to a buffer.
    pub const fn is_buffer(self) -> bool {
        matches!(self, Self::In | Self::Out | Self::InOut)
    }

    /// Returns whether the kernel may write to the parameter's buffer.
    pub const fn is_written(self) -> bool {
        matches!(self, Self::Out | Self::InOut | Self::TensorMap { written: true })
    }
}

/// The declaration of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamDecl {
    /// The name in the kernel's signature and in exported headers. In PTX, it is prefixed with the name of the kernel and an underscore.
    pub name: String,
    /// The kind of parameter.
    pub kind: ParamKind,
    /// The name of the Rust type of the buffer elements or of the scalar, such as `"bf16"`.
    pub element: &'static str,
    /// The PTX type of the parameter itself: `"u64"` for a pointer, and `"b8"` for a tensor map.
    pub ptx: &'static str,
    /// The size of the parameter itself, in bytes.
    pub bytes: u32,
    /// The size of an element of the buffer, or of the scalar, in bytes.
    pub element_bytes: u32,
}

impl ParamDecl {
    /// Returns whether the parameter is an unsigned integer or, if `signed` is true, any integer.
    pub(super) fn is_integer(&self, signed: bool) -> bool {
        let is_unsigned = matches!(self.element, "u16" | "u32" | "u64");
        let is_signed = matches!(self.element, "i16" | "i32" | "i64");
        self.kind == ParamKind::Scalar && (is_unsigned || signed && is_signed)
    }
}

pub(super) mod sealed {
    /// Restricts the parameters to the types in this module, because launches check only these types.
    pub trait Sealed {}

    /// Restricts handles to those created by [`Kernel::build`](crate::ptx::Kernel::build): one per parameter, of the same kind.
    #[derive(Debug)]
    pub struct Once;
}

/// A type that can be used in a kernel's parameter tuple. The elements of an array are separate parameters, each with its own name.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel parameter",
    note = "parameters are `In<T>`, `Out<T>`, `InOut<T>` (buffers), `TensorMap` of these, numbers such as `u32` or `f32`, and arrays of them"
)]
pub trait Param: sealed::Sealed + 'static {
    /// The handle that the kernel's body receives.
    type Handle<'k>;
    /// The number of kernel parameters that the type declares.
    const COUNT: usize = 1;
    /// Appends the declarations of the parameters. The default name of a parameter is derived from its position, such as `p2`.
    fn declare(declarations: &mut Vec<ParamDecl>);
    /// Loads parameter `index` of the kernel and, for an array, the following parameters.
    #[doc(hidden)]
    fn handle<'k>(k: Builder<'k>, index: usize, _: sealed::Once) -> Self::Handle<'k>;
}

/// A tuple of up to 24 parameters. The empty tuple `()` declares none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a kernel's parameters",
    note = "write a tuple of up to 24 parameters, such as `(In<f32>, Out<f32>, u32)`"
)]
pub trait Params: sealed::Sealed + 'static {
    /// The handles that the kernel's body receives.
    type Handles<'k>;
    /// Returns the declarations of the parameters, in order.
    fn declarations() -> Vec<ParamDecl>;
    /// Loads all parameters.
    #[doc(hidden)]
    fn handles<'k>(k: Builder<'k>, _: sealed::Once) -> Self::Handles<'k>;
}

fn load<'k, T: Scalar>(k: Builder<'k>, index: usize) -> Val<'k, T> {
    let name = k.body().entry.param_symbol(index);
    let address = Operand::Address { base: AddressBase::Name(&name), offset: 0 };
    let value = k.result::<T>(format_args!("ld.param.{}", T::MEM), &[address]);
    if let Some((reg, _)) = value.reg() {
        k.body().set_dim(reg, Dim::Param(index));
    }
    value
}

/// Returns the default name of the next parameter, for signatures that do not name it.
fn position(declarations: &[ParamDecl]) -> String {
    format!("p{}", declarations.len())
}

macro_rules! buffers {
    ($($marker:ident, $access:ident;)*) => {$(
        impl<T: Element> sealed::Sealed for $marker<T> {}
        impl<T: Element> Param for $marker<T> {
            type Handle<'k> = Ptr<'k, T, Global, $access>;

            fn declare(declarations: &mut Vec<ParamDecl>) {
                let (name, kind) = (position(declarations), ParamKind::$marker);
                declarations.push(ParamDecl { name, kind, element: T::NAME, ptx: "u64", bytes: 8, element_bytes: T::SIZE });
            }

            fn handle<'k>(k: Builder<'k>, index: usize, _: sealed::Once) -> Self::Handle<'k> {
                let generic = load::<u64>(k, index);
                let global = k.result::<u64>(format_args!("cvta.to.global.u64"), &[generic.operand(k)]);
                if let Some((reg, _)) = global.reg() {
                    k.body().set_buffer(reg, index);
                }
                let pointer = Ptr::new(k, global, BUFFER_ALIGN);
                if matches!(ParamKind::$marker, ParamKind::In) { pointer.never_written() } else { pointer }
            }
        }
    )*};
}

buffers! {
    In,    Read;
    Out,   Write;
    InOut, ReadWrite;
}

macro_rules! maps {
    ($($marker:ident, $access:ident, $written:literal;)*) => {$(
        impl<T: Element> sealed::Sealed for TensorMap<$marker<T>> {}
        impl<T: Element> Param for TensorMap<$marker<T>> {
            type Handle<'k> = TensorMapPtr<'k, T, $access>;

            fn declare(declarations: &mut Vec<ParamDecl>) {
                let (name, kind) = (position(declarations), ParamKind::TensorMap { written: $written });
                let (bytes, element_bytes) = (MAP_BYTES, T::SIZE);
                declarations.push(ParamDecl { name, kind, element: T::NAME, ptx: "b8", bytes, element_bytes });
            }

            fn handle<'k>(k: Builder<'k>, index: usize, _: sealed::Once) -> Self::Handle<'k> {
                let name = k.body().entry.param_symbol(index);
                TensorMapPtr::named(k, &name, Some(index))
            }
        }
    )*};
}

maps! {
    In,    Read,      false;
    Out,   Write,     true;
    InOut, ReadWrite, true;
}

macro_rules! scalars {
    ($($t:ty)*) => {$(
        impl sealed::Sealed for $t {}
        impl Param for $t {
            type Handle<'k> = Val<'k, $t>;

            fn declare(declarations: &mut Vec<ParamDecl>) {
                let (name, kind) = (position(declarations), ParamKind::Scalar);
                let (ptx, bytes) = (<$t as Scalar>::MEM, <$t as Scalar>::BYTES);
                declarations.push(ParamDecl { name, kind, element: stringify!($t), ptx, bytes, element_bytes: bytes });
            }

            fn handle<'k>(k: Builder<'k>, index: usize, _: sealed::Once) -> Self::Handle<'k> {
                load::<$t>(k, index)
            }
        }
    )*};
}

scalars! { u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64 }

impl<P: Param, const N: usize> sealed::Sealed for [P; N] {}
impl<P: Param, const N: usize> Param for [P; N] {
    type Handle<'k> = [P::Handle<'k>; N];
    const COUNT: usize = N * P::COUNT;

    fn declare(declarations: &mut Vec<ParamDecl>) {
        (0..N).for_each(|_| P::declare(declarations));
    }

    fn handle<'k>(k: Builder<'k>, index: usize, _: sealed::Once) -> Self::Handle<'k> {
        array::from_fn(|at| P::handle(k, index + at * P::COUNT, sealed::Once))
    }
}

macro_rules! tuples {
    ($($p:ident)*) => {
        impl<$($p: Param),*> sealed::Sealed for ($($p,)*) {}
        impl<$($p: Param),*> Params for ($($p,)*) {
            type Handles<'k> = ($($p::Handle<'k>,)*);

            fn declarations() -> Vec<ParamDecl> {
                let mut declarations = Vec::new();
                $($p::declare(&mut declarations);)*
                declarations
            }

            fn handles<'k>(k: Builder<'k>, _: sealed::Once) -> Self::Handles<'k> {
                let mut next = 0;
                let mut skip = |count| {
                    next += count;
                    next - count
                };
                ($($p::handle(k, skip($p::COUNT), sealed::Once),)*)
            }
        }
    };
}

impl sealed::Sealed for () {}
impl Params for () {
    type Handles<'k> = ();

    fn declarations() -> Vec<ParamDecl> {
        Vec::new()
    }

    fn handles(_: Builder<'_>, _: sealed::Once) {}
}

tuples! { A }
tuples! { A B }
tuples! { A B C }
tuples! { A B C D }
tuples! { A B C D E }
tuples! { A B C D E F }
tuples! { A B C D E F G }
tuples! { A B C D E F G H }
tuples! { A B C D E F G H I }
tuples! { A B C D E F G H I J }
tuples! { A B C D E F G H I J L }
tuples! { A B C D E F G H I J L M }
tuples! { A B C D E F G H I J L M N }
tuples! { A B C D E F G H I J L M N O }
tuples! { A B C D E F G H I J L M N O P }
tuples! { A B C D E F G H I J L M N O P Q }
tuples! { A B C D E F G H I J L M N O P Q R }
tuples! { A B C D E F G H I J L M N O P Q R S }
tuples! { A B C D E F G H I J L M N O P Q R S T }
tuples! { A B C D E F G H I J L M N O P Q R S T U }
tuples! { A B C D E F G H I J L M N O P Q R S T U V }
tuples! { A B C D E F G H I J L M N O P Q R S T U V W }
tuples! { A B C D E F G H I J L M N O P Q R S T U V W X }
tuples! { A B C D E F G H I J L M N O P Q R S T U V W X Y }
