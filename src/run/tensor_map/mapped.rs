//! Arguments for tensor map parameters.

use super::TensorBox;
#[cfg(feature = "cuda")]
use crate::{
    gpu::UncheckedMap,
    run::cuda_argument::{self, CudaArgument, CudaLaunchArgs},
};
use crate::{
    ptx::{Element, In, InOut, Out, TensorMap},
    run::argument::{Argument, Kind, Value, sealed::Sealed},
};

/// A tensor in a buffer, as an argument of a launch; returned by [`TensorBox::of`].
#[derive(Debug)]
pub struct Mapped<B> {
    pub(super) tensor: TensorBox,
    pub(super) buffer: B,
}

macro_rules! maps {
    ($($marker:ident)*) => {$(
        impl<T: Element, B: Argument<$marker<T>>> Sealed<TensorMap<$marker<T>>> for Mapped<B> {}

        impl<T: Element, B: Argument<$marker<T>>> Argument<TensorMap<$marker<T>>> for Mapped<B> {
            fn pass<'a>(self, to: &mut Vec<Value<'a>>)
            where
                Self: 'a,
            {
                self.buffer.pass(to);
                if let Some(Value(buffer)) = to.pop() {
                    to.push(Value(Kind::Mapped(Box::new(buffer), self.tensor)));
                }
            }
        }

        #[cfg(feature = "cuda")]
        impl<T: Element> Sealed<TensorMap<$marker<T>>> for UncheckedMap {}

        #[cfg(feature = "cuda")]
        impl<T: Element> Argument<TensorMap<$marker<T>>> for UncheckedMap {
            fn pass<'a>(self, to: &mut Vec<Value<'a>>)
            where
                Self: 'a,
            {
                to.push(Value(Kind::UncheckedMap(self)));
            }
        }

        #[cfg(feature = "cuda")]
        impl<T: Element, B: CudaArgument<$marker<T>>> cuda_argument::sealed::Sealed<TensorMap<$marker<T>>> for Mapped<B> {}

        #[cfg(feature = "cuda")]
        impl<T: Element, B: CudaArgument<$marker<T>>> CudaArgument<TensorMap<$marker<T>>> for Mapped<B> {
            fn pass<'a>(self, to: &mut CudaLaunchArgs<'a>)
            where
                Self: 'a,
            {
                self.buffer.pass(to);
                to.map_buffer(&self.tensor);
            }
        }

        #[cfg(feature = "cuda")]
        impl<T: Element> cuda_argument::sealed::Sealed<TensorMap<$marker<T>>> for UncheckedMap {}

        #[cfg(feature = "cuda")]
        impl<T: Element> CudaArgument<TensorMap<$marker<T>>> for UncheckedMap {
            fn pass<'a>(self, to: &mut CudaLaunchArgs<'a>)
            where
                Self: 'a,
            {
                to.unchecked_map(self);
            }
        }
    )*};
}

maps! { In Out InOut }
