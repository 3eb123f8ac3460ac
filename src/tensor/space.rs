//! The state spaces of tensors.

use super::{element::TensorElement, memory::Tensor, stride::Stride};
use crate::ptx::{Element, Global, Ptr, Shared, SharedCluster, Space, Val};

/// A state space for tensors: global memory, shared memory, or the shared memory of other blocks of the cluster.
pub trait TensorSpace: Space + Sized {
    /// Returns the tensor if it is in shared memory.
    #[doc(hidden)]
    fn as_shared<'a, 'k, T: TensorElement, A>(
        _: &'a Tensor<'k, Self, T, A>,
    ) -> Option<&'a Tensor<'k, Shared, T, A>> {
        None
    }
    /// Returns the pointer advanced by `bytes` bytes.
    #[doc(hidden)]
    #[track_caller]
    fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A>;
    /// Returns the pointer advanced by `times` steps of `elements` elements.
    #[doc(hidden)]
    #[track_caller]
    fn at_steps<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        elements: i64,
    ) -> Ptr<'k, T, Self, A>;
    /// Returns the pointer advanced by `times · stride` elements, where both factors are in registers.
    #[doc(hidden)]
    #[track_caller]
    fn at_products<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        stride: Stride<'k>,
    ) -> Ptr<'k, T, Self, A>;
    /// Returns the pointer advanced by `times · stride` elements, where `times` is a constant.
    #[doc(hidden)]
    #[track_caller]
    fn at_strides<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: i64,
        stride: Stride<'k>,
    ) -> Ptr<'k, T, Self, A>;
}

impl TensorSpace for Global {
    #[track_caller]
    fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A> {
        pointer.advance(bytes.cast())
    }

    // All products are computed in 64 bits, because a tensor may have more than 2³² elements.

    #[track_caller]
    fn at_steps<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        elements: i64,
    ) -> Ptr<'k, T, Self, A> {
        match u32::try_from(elements.saturating_mul(T::SIZE.into())) {
            Ok(bytes) => pointer.advance_by_product(times, bytes),
            Err(_) => pointer.at_wide(times.cast::<u64>() * elements as u64),
        }
    }

    #[track_caller]
    fn at_products<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        stride: Stride<'k>,
    ) -> Ptr<'k, T, Self, A> {
        match (times.as_constant(), stride) {
            (Some(times), _) => Self::at_strides(pointer, times.into(), stride),
            (None, Stride::Narrow(stride)) => pointer.at_wide(times.mul_wide(stride)),
            (None, Stride::Wide(stride)) => pointer.at_wide(times.cast::<u64>() * stride),
        }
    }

    #[track_caller]
    fn at_strides<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: i64,
        stride: Stride<'k>,
    ) -> Ptr<'k, T, Self, A> {
        match (stride, u32::try_from(times.saturating_mul(T::SIZE.into()))) {
            (Stride::Narrow(stride), Ok(bytes)) => pointer.advance_by_product(stride, bytes),
            (Stride::Narrow(stride), Err(_)) => pointer.at_wide(stride.cast::<u64>() * times as u64),
            (Stride::Wide(stride), _) => pointer.at_wide(stride * times as u64),
        }
    }
}

/// Implements the trait for the spaces with 32-bit addresses.
macro_rules! narrow {
    ($space:ty, { $($as_shared:tt)* }) => {
        impl TensorSpace for $space {
            $($as_shared)*

            #[track_caller]
            fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A> {
                pointer.advance(bytes)
            }

            #[track_caller]
            fn at_steps<'k, T: Element, A>(
                pointer: Ptr<'k, T, Self, A>,
                times: Val<'k, u32>,
                elements: i64,
            ) -> Ptr<'k, T, Self, A> {
                // Negative steps wrap around, as 32-bit addresses do.
                match u32::try_from(elements.saturating_mul(T::SIZE.into())) {
                    Ok(bytes) => pointer.advance_by_product(times, bytes),
                    Err(_) => pointer.at(times * elements as u32),
                }
            }

            #[track_caller]
            fn at_products<'k, T: Element, A>(
                pointer: Ptr<'k, T, Self, A>,
                times: Val<'k, u32>,
                stride: Stride<'k>,
            ) -> Ptr<'k, T, Self, A> {
                pointer.at(times * in_32_bits(stride))
            }

            #[track_caller]
            fn at_strides<'k, T: Element, A>(
                pointer: Ptr<'k, T, Self, A>,
                times: i64,
                stride: Stride<'k>,
            ) -> Ptr<'k, T, Self, A> {
                pointer.at(in_32_bits(stride) * times as u32)
            }
        }
    };
}

narrow! {
    Shared,
    {
        fn as_shared<'a, 'k, T: TensorElement, A>(
            tensor: &'a Tensor<'k, Self, T, A>,
        ) -> Option<&'a Tensor<'k, Shared, T, A>> {
            Some(tensor)
        }
    }
}

narrow! { SharedCluster, {} }

/// Returns a stride in shared memory as a 32-bit integer, because addresses there are 32 bits wide.
#[track_caller]
fn in_32_bits(stride: Stride<'_>) -> Val<'_, u32> {
    match stride {
        Stride::Narrow(stride) => stride,
        Stride::Wide(stride) => stride.cast(),
    }
}
