//! What may be passed for each kind of kernel parameter out of an application's own cudarc buffers.

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};

use crate::{
    gpu,
    ptx::{B16, B32, B64, Element, In, InOut, Out, Param, Params, bf16, bf16x2, f16, f16x2},
};

use super::{argument::IntoNumber, plan::Seen};

/// A type of buffer elements that holds kernel elements of type `T` bit for bit: `f32` for `f32`, `u16` or [`half::bf16`]
/// for `bf16`.
#[diagnostic::on_unimplemented(
    message = "a CUDA buffer of `{Self}` does not hold `{T}`",
    label = "the kernel wants `{T}` here",
    note = "a buffer holds its own element type; besides, `u16` holds f16 and bf16, `u32` their packed pairs"
)]
pub trait Holds<T> {}

macro_rules! holds {
    ($($own:ty: $($t:ty)*;)*) => {
        $($(impl Holds<$t> for $own {})*)*
    };
}

holds! {
    u8:   u8;
    i8:   i8;
    u16:  u16 B16 f16 bf16;
    i16:  i16;
    u32:  u32 B32 f16x2 bf16x2;
    i32:  i32;
    u64:  u64 B64;
    i64:  i64;
    f16:  f16;
    bf16: bf16;
    f32:  f32;
    f64:  f64;
}

/// A value that may be passed for the kernel parameter `P` on a `CudaStream`: `&CudaSlice<U>` or `&CudaView<U>` for
/// [`In<T>`](In), `&mut CudaSlice<U>` or `&mut CudaViewMut<U>` for [`Out<T>`](Out) and [`InOut<T>`](InOut), where `U`
/// [holds](Holds) `T`; a number for a number of its type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for the kernel parameter `{P}`",
    label = "the kernel has `{P}` here",
    note = "pass `&CudaSlice<_>` or `&CudaView<_>` for `In<_>`, `&mut CudaSlice<_>` or `&mut CudaViewMut<_>` for `Out<_>` \
            and `InOut<_>`, and numbers with exactly the parameter's type"
)]
pub trait CudaArgument<P: Param> {
    /// Adds it to the arguments of a launch.
    fn pass<'a>(self, to: &mut CudaPassed<'a>)
    where
        Self: 'a;
}

/// A tuple with one [`CudaArgument`] for each parameter of `A`, in order.
#[diagnostic::on_unimplemented(
    message = "these are not as many arguments as the kernel has parameters: `{A}`",
    label = "one argument is needed for each of `{A}`",
    note = "pass a tuple: `&CudaSlice<_>` for `In<_>`, `&mut CudaSlice<_>` for `Out<_>` and `InOut<_>`, and numbers with \
            exactly the parameter's type"
)]
pub trait CudaArguments<A: Params> {
    /// Adds them to the arguments of a launch.
    fn pass<'a>(self, to: &mut CudaPassed<'a>)
    where
        Self: 'a;
}

/// The arguments of a launch as they are collected.
#[derive(Debug)]
pub struct CudaPassed<'a> {
    pub(super) args: gpu::Args<'a>,
    pub(super) seen: Vec<Seen>,
}

impl CudaPassed<'_> {
    /// Notes the buffer that was just added.
    fn see_buffer(&mut self, elements: usize) {
        let address = self.args.last_address().unwrap_or_default();
        self.seen.push(Seen::Buffer { address, elements: elements as u64 });
    }
}

macro_rules! buffers {
    ($($marker:ident: $buffer:ty, $how:ident;)*) => {$(
        impl<T: Element, U: Holds<T>> CudaArgument<$marker<T>> for $buffer {
            fn pass<'a>(self, to: &mut CudaPassed<'a>)
            where
                Self: 'a,
            {
                let elements = self.len();
                to.args.$how(self);
                to.see_buffer(elements);
            }
        }
    )*};
}

buffers! {
    In:    &CudaSlice<U>,           read;
    In:    &CudaView<'_, U>,        read;
    Out:   &mut CudaSlice<U>,       write;
    Out:   &mut CudaViewMut<'_, U>, write;
    InOut: &mut CudaSlice<U>,       write;
    InOut: &mut CudaViewMut<'_, U>, write;
}

macro_rules! numbers {
    ($($t:ty)*) => {$(
        impl CudaArgument<$t> for $t {
            fn pass<'a>(self, to: &mut CudaPassed<'a>)
            where
                Self: 'a,
            {
                let number = self.number();
                to.args.bytes(&number.bytes()[..number.bytes]);
                to.seen.push(number.integer.map_or(Seen::Float, Seen::Integer));
            }
        }
    )*};
}

numbers! { u16 i16 u32 i32 u64 i64 f16 bf16 f32 f64 }

impl CudaArguments<()> for () {
    fn pass<'a>(self, _: &mut CudaPassed<'a>)
    where
        Self: 'a,
    {
    }
}

macro_rules! tuples {
    ($($p:ident $x:ident)*) => {
        impl<$($p: Param, $x: CudaArgument<$p>),*> CudaArguments<($($p,)*)> for ($($x,)*) {
            fn pass<'a>(self, to: &mut CudaPassed<'a>)
            where
                Self: 'a,
            {
                #[allow(non_snake_case, reason = "named like the types")]
                let ($($x,)*) = self;
                $($x.pass(to);)*
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
