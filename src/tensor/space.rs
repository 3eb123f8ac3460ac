//! The state spaces that tensors lie in.

use super::pending::Pending;
use crate::ptx::{Builder, Element, Global, Ptr, Shared, Space, Val};

/// Spaces that tensors lie in: global and shared memory.
pub trait TensorSpace: Space {
    /// What a copy to the space gives.
    type Done<'k>;
    #[doc(hidden)]
    fn done<'k>(k: Builder<'k>, asynchronous: bool) -> Self::Done<'k>;
    #[doc(hidden)]
    fn as_global<T, A>(_: Ptr<'_, T, Self, A>) -> Option<Ptr<'_, T, Global, A>>
    where
        Self: Sized,
    {
        None
    }
    #[doc(hidden)]
    fn as_shared<T, A>(_: Ptr<'_, T, Self, A>) -> Option<Ptr<'_, T, Shared, A>>
    where
        Self: Sized,
    {
        None
    }
    /// The pointer so many bytes further on.
    #[doc(hidden)]
    #[track_caller]
    fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A>
    where
        Self: Sized;
    /// The pointer `times · stride` elements further on, both in registers.
    #[doc(hidden)]
    #[track_caller]
    fn far<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        stride: Val<'k, u32>,
    ) -> Ptr<'k, T, Self, A>
    where
        Self: Sized;
}

impl TensorSpace for Global {
    type Done<'k> = ();

    fn done<'k>(_: Builder<'k>, _: bool) {}

    fn as_global<T, A>(pointer: Ptr<'_, T, Global, A>) -> Option<Ptr<'_, T, Global, A>> {
        Some(pointer)
    }

    #[track_caller]
    fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A> {
        pointer.advance(bytes.cast())
    }

    #[track_caller]
    fn far<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        stride: Val<'k, u32>,
    ) -> Ptr<'k, T, Self, A> {
        match times.as_constant().and_then(|times| times.checked_mul(T::SIZE)) {
            Some(bytes) => pointer.advance(stride.mul_wide(bytes)),
            None => pointer.at_wide(times.mul_wide(stride)),
        }
    }
}

impl TensorSpace for Shared {
    type Done<'k> = Pending<'k>;

    fn done<'k>(k: Builder<'k>, asynchronous: bool) -> Pending<'k> {
        Pending::new(k, asynchronous)
    }

    fn as_shared<T, A>(pointer: Ptr<'_, T, Shared, A>) -> Option<Ptr<'_, T, Shared, A>> {
        Some(pointer)
    }

    #[track_caller]
    fn at_byte<'k, T: Element, A>(pointer: Ptr<'k, T, Self, A>, bytes: Val<'k, u32>) -> Ptr<'k, T, Self, A> {
        pointer.advance(bytes)
    }

    #[track_caller]
    fn far<'k, T: Element, A>(
        pointer: Ptr<'k, T, Self, A>,
        times: Val<'k, u32>,
        stride: Val<'k, u32>,
    ) -> Ptr<'k, T, Self, A> {
        pointer.at(times * stride)
    }
}
