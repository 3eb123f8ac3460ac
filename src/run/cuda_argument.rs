//! The cudarc buffers and values that may be passed for each kind of kernel parameter.

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};

use crate::{
    gpu,
    ptx::{B16, B32, B64, Element, Entry, In, InOut, Out, Params, numbers::*, storage_types, traits::Param},
};

use super::{argument::IntoNumber, error::RunError, plan::Seen, tensor_map::TensorBox};

/// An element type of a CUDA buffer that can store elements of the kernel's type `T` bit for bit.
///
/// For example, `f32` is storage for `f32`, and `u16` and [`half::bf16`] are storage for `bf16`.
#[diagnostic::on_unimplemented(
    message = "a CUDA buffer of `{Self}` cannot store `{T}`",
    label = "the kernel expects `{T}` here",
    note = "a buffer stores its own element type; in addition, unsigned integers store 8- and 16-bit floats, packed pairs and tf32 of the same \
            size, and `f32` stores tf32"
)]
pub trait StorageFor<T>: sealed::Stores<T> {}

macro_rules! storage {
    ($($own:ty: $($t:ty)*;)*) => {
        $($(
            impl sealed::Stores<$t> for $own {}
            impl StorageFor<$t> for $own {}
        )*)*
    };
}

storage_types! { storage }

/// A value that may be passed for the kernel parameter `P` in a launch on a `CudaStream`:
///
/// - for [`In<T>`](In), `&CudaSlice<U>` or `&CudaView<U>`, where `U` is [storage](StorageFor) for `T`;
/// - for [`Out<T>`](Out) and [`InOut<T>`](InOut), `&mut CudaSlice<U>` or `&mut CudaViewMut<U>`, where `U` is storage for `T`;
/// - for a scalar parameter, a scalar of the parameter's type;
/// - for a [`TensorMap`](crate::ptx::TensorMap), the result of [`TensorBox::of`] for one of these buffers, or an
///   [`UncheckedMap`](gpu::UncheckedMap);
/// - for an array of parameters, an array of such values.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed for the kernel parameter `{P}`",
    label = "the kernel has `{P}` here",
    note = "pass `&CudaSlice<_>` or `&CudaView<_>` for `In<_>`, `&mut CudaSlice<_>` or `&mut CudaViewMut<_>` for `Out<_>` \
            and `InOut<_>`, and numbers with exactly the parameter's type"
)]
pub trait CudaArgument<P: Param>: sealed::Sealed<P> {
    /// Adds the value to the arguments of a launch.
    fn pass<'a>(self, to: &mut CudaLaunchArgs<'a>)
    where
        Self: 'a;
}

/// A tuple with one [`CudaArgument`] for each parameter of `A`, in order.
#[diagnostic::on_unimplemented(
    message = "the number of arguments differs from the number of kernel parameters: `{A}`",
    label = "expected one argument for each of `{A}`",
    note = "pass a tuple: `&CudaSlice<_>` for `In<_>`, `&mut CudaSlice<_>` for `Out<_>` and `InOut<_>`, and numbers with \
            exactly the parameter's type"
)]
pub trait CudaArguments<A: Params>: sealed::Sealed<A> {
    /// Adds the values to the arguments of a launch.
    fn pass<'a>(self, to: &mut CudaLaunchArgs<'a>)
    where
        Self: 'a;
}

/// The arguments collected so far for a launch.
#[derive(Debug)]
pub struct CudaLaunchArgs<'a> {
    pub(super) args: gpu::Args<'a>,
    pub(super) seen: Vec<Seen>,
    pub(super) entry: &'a Entry,
    pub(super) gpu: &'a gpu::Gpu,
    /// The error for the first argument that cannot be passed, if any.
    pub(super) error: Option<RunError>,
}

impl CudaLaunchArgs<'_> {
    /// Replaces the buffer that was just added with the map of a tensor in it.
    pub(super) fn map_buffer(&mut self, tensor: &TensorBox) {
        let Some(seen) = self.seen.last() else { return };
        let index = self.seen.len() - 1;
        let encode = |address| tensor.encoded(self.gpu, self.entry, index, address);
        let mapped =
            tensor.check(self.entry, index, *seen).and_then(|()| self.args.as_map(encode).map(|_| ()));
        if let Err(error) = mapped {
            self.error.get_or_insert(error);
        }
    }

    /// Adds a tensor map that the application has encoded.
    pub(super) fn unchecked_map(&mut self, map: gpu::UncheckedMap) {
        self.args.bytes(map.as_bytes());
        self.seen.push(Seen::UncheckedMap);
    }

    /// Records the buffer that was just added.
    fn see_buffer(&mut self, elements: usize) {
        let address = self.args.last_address().unwrap_or_default();
        self.seen.push(Seen::Buffer { address, elements: elements as u64 });
    }
}

macro_rules! buffers {
    ($($marker:ident: $buffer:ty, $how:ident;)*) => {$(
        impl<T: Element, U: StorageFor<T>> sealed::Sealed<$marker<T>> for $buffer {}

        impl<T: Element, U: StorageFor<T>> CudaArgument<$marker<T>> for $buffer {
            fn pass<'a>(self, to: &mut CudaLaunchArgs<'a>)
            where
                Self: 'a,
            {
                // Counted in elements of the kernel's type, which may differ from the buffer's.
                let elements = self.len() * size_of::<U>() / T::SIZE as usize;
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
        impl sealed::Sealed<$t> for $t {}

        impl CudaArgument<$t> for $t {
            fn pass<'a>(self, to: &mut CudaLaunchArgs<'a>)
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

impl sealed::Sealed<()> for () {}

impl CudaArguments<()> for () {
    fn pass<'a>(self, _: &mut CudaLaunchArgs<'a>)
    where
        Self: 'a,
    {
    }
}

impl<P: Param, X: CudaArgument<P>, const N: usize> sealed::Sealed<[P; N]> for [X; N] {}

impl<P: Param, X: CudaArgument<P>, const N: usize> CudaArgument<[P; N]> for [X; N] {
    fn pass<'a>(self, to: &mut CudaLaunchArgs<'a>)
    where
        Self: 'a,
    {
        self.into_iter().for_each(|argument| argument.pass(to));
    }
}

macro_rules! tuples {
    ($($p:ident $x:ident)*) => {
        impl<$($p: Param, $x: CudaArgument<$p>),*> sealed::Sealed<($($p,)*)> for ($($x,)*) {}

        impl<$($p: Param, $x: CudaArgument<$p>),*> CudaArguments<($($p,)*)> for ($($x,)*) {
            fn pass<'a>(self, to: &mut CudaLaunchArgs<'a>)
            where
                Self: 'a,
            {
                #[allow(non_snake_case, reason = "values are named after their type parameters")]
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

    /// Seals [`StorageFor`], because the types must have the same size and accept any bit pattern.
    pub trait Stores<T> {}
}
