//! Complex tiles and vectors in shared memory, with the same states as real ones.

use std::fmt;

use super::{Crt, Crv, memory::CglTile};
use crate::{
    ptx::{Builder, Ptr, Readable, Shared, State, Visitor, sealed::Sealed},
    tensor::TensorElement,
    tiles::{
        allocate::{Allocate, Filled, Owner, Pending},
        convert::Convert,
        element::RegisterLayout,
        shared_copies::assert_whole,
        st::St,
        sv::{Subvector, Sv},
        swizzle::{Auto, SharedSwizzle},
        vector_layout::VectorLayout,
    },
};

/// A tile of complex numbers in shared memory: two shared tiles of the same type. It has the states of [`St`]: [`Pending`] while a copy or
/// store fills it, [`Filled`] when its data can be read.
#[doc(alias = "cst")]
pub struct Cst<'k, T: TensorElement, const H: usize, const W: usize, S = Auto> {
    pub(super) re: St<'k, T, H, W, S>,
    pub(super) im: St<'k, T, H, W, S>,
}

/// A vector of complex numbers in shared memory: two shared vectors of the same type.
#[doc(alias = "csv")]
pub struct Csv<'k, T: TensorElement, const N: usize> {
    pub(super) re: Sv<'k, T, N>,
    pub(super) im: Sv<'k, T, N>,
}

macro_rules! both {
    ($($complex:ident $real:ident [$(const $size:ident)*] [$($swizzle:ident: $bound:ident)?] $rank:literal;)*) => {$(
        impl<T: TensorElement, $(const $size: usize,)* $($swizzle: $bound)?> fmt::Debug for $complex<'_, T, $($size,)* $($swizzle)?> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($complex)).field("re", &self.re).field("im", &self.im).finish()
            }
        }

        impl<'k, T: TensorElement, $(const $size: usize,)* $($swizzle: $bound)?> State<'k> for $complex<'k, T, $($size,)* $($swizzle)?> {
            #[track_caller]
            fn visit(&mut self, visitor: &mut Visitor<'_, 'k>) {
                self.re.visit(visitor);
                self.im.visit(visitor);
            }
        }

        impl<T: TensorElement, $(const $size: usize,)* $($swizzle: $bound)?> Sealed for $complex<'_, T, $($size,)* $($swizzle)?> {}

        impl<'k, T: TensorElement, $(const $size: usize,)* $($swizzle: $bound)?> Allocate<'k> for $complex<'k, T, $($size,)* $($swizzle)?> {
            const BYTES: u32 = 2 * <$real<'k, T, $($size,)* $($swizzle)?> as Allocate<'k>>::BYTES;

            #[track_caller]
            fn alignment(k: Builder<'k>) -> u32 {
                <$real<'k, T, $($size,)* $($swizzle)?>>::alignment(k)
            }

            #[track_caller]
            fn at(pointer: Ptr<'k, u8, Shared>) -> Self {
                // The size of a tile is a multiple of the period of its swizzle.
                let im = pointer.byte_offset(<$real<'k, T, $($size,)* $($swizzle)?> as Allocate<'k>>::BYTES.into());
                Self { re: Allocate::at(pointer), im: Allocate::at(im) }
            }

            fn address(&self) -> Ptr<'k, u8, Shared> {
                self.re.address()
            }

            fn owned_by(self, owner: Owner<'k>) -> Self {
                Self { re: self.re.owned_by(owner), im: self.im.owned_by(owner) }
            }

            fn owner(&self) -> Owner<'k> {
                self.re.owner()
            }
        }

        impl<'k, T: TensorElement, $(const $size: usize,)* $($swizzle: $bound)?> $complex<'k, T, $($size,)* $($swizzle)?> {
            #[doc = concat!("Fills both parts from global memory. All threads of the block must take part, as for [`", stringify!($real), "::fill`].")]
            #[track_caller]
            pub fn fill<A: Readable>(self, from: CglTile<'k, T, A, $rank>) -> Pending<'k, Self> {
                let parts = self.re.fill(from.re).and(self.im.fill(from.im));
                parts.map(|(re, im)| Filled { tile: Self { re: re.tile, im: im.tile } })
            }

            #[doc = concat!("Fills both parts like [`fill`](Self::fill). Elements out of bounds become `re` + i · `im`, as for [`", stringify!($real), "::fill_or`].")]
            #[track_caller]
            pub fn fill_or<A: Readable>(self, from: CglTile<'k, T, A, $rank>, re: T, im: T) -> Pending<'k, Self> {
                let parts = self.re.fill_or(from.re, re).and(self.im.fill_or(from.im, im));
                parts.map(|(re, im)| Filled { tile: Self { re: re.tile, im: im.tile } })
            }
        }
    )*};
}

both! {
    Cst St [const H const W] [S: SharedSwizzle] 2;
    Csv Sv [const N] [] 1;
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Cst<'k, T, H, W, S> {
    /// Stores a register tile of the same size with one warp and converts its elements, like [`St::store`].
    #[track_caller]
    pub fn store<U: Convert<T>, L: RegisterLayout>(self, tile: &Crt<'k, U, H, W, L>) -> Pending<'k, Self> {
        let parts = self.re.store(&tile.re).and(self.im.store(&tile.im));
        parts.map(|(re, im)| Filled { tile: Self { re: re.tile, im: im.tile } })
    }
}

impl<'k, T: TensorElement, const N: usize> Csv<'k, T, N> {
    /// Stores a register vector of the same length with one warp and converts its elements, like [`Sv::store`].
    #[track_caller]
    pub fn store<U: Convert<T>, V: VectorLayout>(self, vector: &Crv<'k, U, N, V>) -> Pending<'k, Self> {
        let parts = self.re.store(&vector.re).and(self.im.store(&vector.im));
        parts.map(|(re, im)| Filled { tile: Self { re: re.tile, im: im.tile } })
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<Cst<'k, T, H, W, S>> {
    /// Loads the whole tile into registers, like [`Filled::<St>::load`](Filled#method.load).
    #[track_caller]
    pub fn load<L: RegisterLayout>(&self) -> Crt<'k, T, H, W, L> {
        self.load_as()
    }

    /// Loads the whole tile into registers and converts its elements.
    #[track_caller]
    pub fn load_as<U: TensorElement, L: RegisterLayout>(&self) -> Crt<'k, U, H, W, L>
    where
        T: Convert<U>,
    {
        const { assert_whole::<T, U, L>() };
        Crt { re: self.tile.re.load_whole(), im: self.tile.im.load_whole() }
    }
}

impl<'k, T: TensorElement, const N: usize> Filled<Csv<'k, T, N>> {
    /// Loads the whole vector into registers and converts its elements.
    #[track_caller]
    pub fn load_as<U: TensorElement, V: VectorLayout>(&self) -> Crv<'k, U, N, V>
    where
        T: Convert<U>,
    {
        Crv { re: Subvector::of(&self.tile.re).load_as(), im: Subvector::of(&self.tile.im).load_as() }
    }

    /// Loads the whole vector into registers.
    #[track_caller]
    pub fn load<V: VectorLayout>(&self) -> Crv<'k, T, N, V> {
        self.load_as()
    }
}
