//! The values that may be passed for each kind of kernel parameter, checked at compile time.

use crate::ptx::{Element, Entry, In, InOut, Out, Params, Scalar, bf16, f16, traits::Param};

#[cfg(feature = "cuda")]
use super::cuda_slice::{ReadSlice, WriteSlice};
use super::{
    buffer::{Buffer, Store},
    error::RunError,
    plan::Seen,
    tensor_map::TensorBox,
};
#[cfg(feature = "cuda")]
use crate::gpu::UncheckedMap;

/// A value that may be passed for the kernel parameter `P`:
///
/// - for [`In<T>`](In), `&Buffer<T>` or [`BufferRef<T>`](super::BufferRef);
/// - for [`Out<T>`](Out) and [`InOut<T>`](InOut), `&mut Buffer<T>` or [`BufferMut<T>`](super::BufferMut);
/// - for a scalar parameter, a scalar of the parameter's type;
/// - for a [`TensorMap`](crate::ptx::TensorMap), the result of [`TensorBox::of`](super::TensorBox::of) or, on a GPU, an `UncheckedMap`;
/// - for an array of parameters, an array of such values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for the kernel parameter `{P}`",
    label = "the kernel has `{P}` here",
    note = "pass `&Buffer<T>` for `In<T>`, `&mut Buffer<T>` for `Out<T>` and `InOut<T>`, and numbers with exactly the \
            parameter's type"
)]
pub trait Argument<P: Param>: sealed::Sealed<P> {
    /// Erases the type of the value and appends the value to `to`. For an array, does so for each element, in order.
    fn pass<'a>(self, to: &mut Vec<Value<'a>>)
    where
        Self: 'a;
}

/// A tuple with one [`Argument`] for each parameter of `A`, in order.
#[diagnostic::on_unimplemented(
    message = "the number of arguments differs from the number of kernel parameters: `{A}`",
    label = "expected one argument for each of `{A}`",
    note = "pass a tuple: `&Buffer<T>` for `In<T>`, `&mut Buffer<T>` for `Out<T>` and `InOut<T>`, and numbers with exactly \
            the parameter's type"
)]
pub trait Arguments<A: Params>: sealed::Sealed<A> {
    /// Returns the values in order, with their types erased.
    fn values<'a>(self) -> Vec<Value<'a>>
    where
        Self: 'a;
}

/// A type-erased argument.
#[derive(Debug)]
pub struct Value<'a>(pub(super) Kind<'a>);

/// The kind and the value of an argument. Buffers include their number of elements.
#[derive(Debug)]
pub(super) enum Kind<'a> {
    Number(Number),
    /// An empty buffer, at address 0.
    Empty,
    Read(&'a Store, usize),
    Write(&'a mut Store, usize),
    /// A tensor in a buffer, which is passed as a tensor map.
    Mapped(Box<Kind<'a>>, TensorBox),
    /// A tensor map that the application has encoded.
    #[cfg(feature = "cuda")]
    UncheckedMap(UncheckedMap),
    /// Buffers of the application, for a launch on one of its streams.
    #[cfg(feature = "cuda")]
    ReadSlice(&'a dyn ReadSlice, usize),
    #[cfg(feature = "cuda")]
    WriteSlice(&'a mut dyn WriteSlice, usize),
}

impl Kind<'_> {
    /// Returns the properties that a launch checks, with the address of a buffer set to 0.
    pub(super) fn seen(&self) -> Seen {
        match self {
            Kind::Number(number) => number.integer.map_or(Seen::Float, Seen::Integer),
            Kind::Empty => Seen::buffer(0),
            Kind::Read(_, elements) => Seen::buffer(*elements),
            Kind::Write(_, elements) => Seen::buffer(*elements),
            Kind::Mapped(buffer, _) => buffer.seen(),
            #[cfg(feature = "cuda")]
            Kind::UncheckedMap(_) => Seen::UncheckedMap,
            #[cfg(feature = "cuda")]
            Kind::ReadSlice(_, elements) | Kind::WriteSlice(_, elements) => Seen::buffer(*elements),
        }
    }

    /// Returns the memory of a buffer of this crate, or `None` for other arguments and for buffers of the application.
    pub(super) fn store(&self) -> Option<&Store> {
        match self {
            Kind::Read(store, _) => Some(store),
            Kind::Write(store, _) => Some(store),
            Kind::Mapped(buffer, _) => buffer.store(),
            _ => None,
        }
    }

    /// Checks the argument of parameter `index` if it is a tensor in a buffer.
    pub(super) fn check_map(&self, entry: &Entry, index: usize) -> Result<(), RunError> {
        match self {
            Kind::Mapped(buffer, tensor) => tensor.check(entry, index, buffer.seen()),
            _ => Ok(()),
        }
    }
}

/// A scalar argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Number {
    pub(super) bits: u64,
    pub(super) bytes: usize,
    /// The value, if it is an integer.
    pub(super) integer: Option<i128>,
}

impl Number {
    pub(super) fn bytes(&self) -> [u8; 8] {
        self.bits.to_le_bytes()
    }
}

impl<T: Element> sealed::Sealed<In<T>> for &Buffer<T> {}

impl<T: Element> Argument<In<T>> for &Buffer<T> {
    fn pass<'a>(self, to: &mut Vec<Value<'a>>)
    where
        Self: 'a,
    {
        to.push(Value(Kind::Read(&self.store, self.len())));
    }
}

macro_rules! written {
    ($($marker:ident)*) => {$(
        impl<T: Element> sealed::Sealed<$marker<T>> for &mut Buffer<T> {}

        impl<T: Element> Argument<$marker<T>> for &mut Buffer<T> {
            fn pass<'a>(self, to: &mut Vec<Value<'a>>)
            where
                Self: 'a,
            {
                let elements = self.len();
                to.push(Value(Kind::Write(&mut self.store, elements)));
            }
        }
    )*};
}

written! { Out InOut }

/// A scalar that may be passed as an argument.
pub(super) trait IntoNumber: Scalar {
    fn number(self) -> Number;
}

macro_rules! numbers {
    ($($t:ty: $integer:expr;)*) => {$(
        impl IntoNumber for $t {
            fn number(self) -> Number {
                let integer: fn($t) -> Option<i128> = $integer;
                Number { bits: Scalar::to_bits(self), bytes: <$t>::BYTES as usize, integer: integer(self) }
            }
        }

        impl sealed::Sealed<$t> for $t {}

        impl Argument<$t> for $t {
            fn pass<'a>(self, to: &mut Vec<Value<'a>>)
            where
                Self: 'a,
            {
                to.push(Value(Kind::Number(self.number())));
            }
        }
    )*};
}

numbers! {
    u16:  |n| Some(n.into());
    i16:  |n| Some(n.into());
    u32:  |n| Some(n.into());
    i32:  |n| Some(n.into());
    u64:  |n| Some(n.into());
    i64:  |n| Some(n.into());
    f16:  |_| None;
    bf16: |_| None;
    f32:  |_| None;
    f64:  |_| None;
}

impl sealed::Sealed<()> for () {}

impl Arguments<()> for () {
    fn values<'a>(self) -> Vec<Value<'a>>
    where
        Self: 'a,
    {
        Vec::new()
    }
}

impl<P: Param, X: Argument<P>, const N: usize> sealed::Sealed<[P; N]> for [X; N] {}

impl<P: Param, X: Argument<P>, const N: usize> Argument<[P; N]> for [X; N] {
    fn pass<'a>(self, to: &mut Vec<Value<'a>>)
    where
        Self: 'a,
    {
        self.into_iter().for_each(|argument| argument.pass(to));
    }
}

macro_rules! tuples {
    ($($p:ident $x:ident)*) => {
        impl<$($p: Param, $x: Argument<$p>),*> sealed::Sealed<($($p,)*)> for ($($x,)*) {}

        impl<$($p: Param, $x: Argument<$p>),*> Arguments<($($p,)*)> for ($($x,)*) {
            fn values<'a>(self) -> Vec<Value<'a>>
            where
                Self: 'a,
            {
                #[allow(non_snake_case, reason = "values are named after their type parameters")]
                let ($($x,)*) = self;
                let mut values = Vec::new();
                $($x.pass(&mut values);)*
                values
            }
        }
    };
}

tuples! { A XA }
tuples! { A XA B XB }
tuples! { A XA B XB C XC }
tuples! { A XA B XB C XC D XD }
tuples! { A XA B XB C XC D XD E XE }
tuples! { A XA B XB C XC D XD E XE F XF }
tuples! { A XA B XB C XC D XD E XE F XF G XG }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ R XR }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ R XR S XS }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ R XR S XS T XT }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ R XR S XS T XT U XU }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ R XR S XS T XT U XU V XV }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ R XR S XS T XT U XU V XV W XW }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ R XR S XS T XT U XU V XV W XW X XX }
tuples! { A XA B XB C XC D XD E XE F XF G XG H XH I XI J XJ L XL M XM N XN O XO P XP Q XQ R XR S XS T XT U XU V XV W XW X XX Y XY }

pub(super) mod sealed {
    /// Restricts implementations to this crate, because launch checks rely on the kinds of values.
    pub trait Sealed<P> {}
}
