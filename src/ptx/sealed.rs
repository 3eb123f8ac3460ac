//! A supertrait of the traits that only this crate implements: it cannot be named outside the crate.

/// See the module documentation.
pub trait Sealed {}

macro_rules! seal {
    ($($t:ty)*) => { $(impl Sealed for $t {})* };
}

seal! { u32 u64 usize i32 }

impl<T, const N: usize> Sealed for [T; N] {}

macro_rules! seal_tuples {
    ($($t:ident)*) => { impl<$($t),*> Sealed for ($($t,)*) {} };
}

seal_tuples! { A }
seal_tuples! { A B }
seal_tuples! { A B C }
seal_tuples! { A B C D }
