//! Rectangles of complex tiles in shared memory.

use std::fmt;

use super::{Crt, Cst};
use crate::{
    ptx::Val,
    tensor::TensorElement,
    tiles::{
        allocate::{Allocate, Filled, Pending},
        convert::Convert,
        element::RegisterLayout,
        shared_copies::{Rectangle, Storing, Subtile, SubtileMut},
        swizzle::SharedSwizzle,
    },
};

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Cst<'k, T, H, W, S> {
    /// Stores register tiles of several warps to rectangles of the tile, like [`St::store_with`](crate::tiles::St::store_with).
    #[track_caller]
    pub fn store_with(self, store: impl FnOnce(&ComplexStoring<'k, T>)) -> Pending<'k, Self> {
        let owner = self.owner();
        owner.sync_in_loop();
        let [re, im] = [&self.re, &self.im].map(|part| Storing { tile: part.tensor.clone(), owner });
        store(&ComplexStoring { re, im });
        owner.pending(self)
    }
}

/// A complex tile to which warps store in the closure of [`Cst::store_with`].
pub struct ComplexStoring<'k, T: TensorElement> {
    re: Storing<'k, T>,
    im: Storing<'k, T>,
}

impl<T: TensorElement> fmt::Debug for ComplexStoring<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComplexStoring").field("re", &self.re).field("im", &self.im).finish()
    }
}

impl<'k, T: TensorElement> ComplexStoring<'k, T> {
    /// Returns the rectangle that starts at subtile (`row`, `col`), as [`Storing::subtile`] does.
    pub fn subtile(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> ComplexSubtileMut<'_, 'k, T> {
        let (row, col) = (row.into(), col.into());
        ComplexSubtileMut { re: self.re.subtile(row, col), im: self.im.subtile(row, col) }
    }
}

/// A rectangle of a complex tile, to which a warp stores a register tile of the same size.
pub struct ComplexSubtileMut<'a, 'k, T: TensorElement> {
    re: SubtileMut<'a, 'k, T>,
    im: SubtileMut<'a, 'k, T>,
}

impl<T: TensorElement> fmt::Debug for ComplexSubtileMut<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComplexSubtileMut").field("re", &self.re).field("im", &self.im).finish()
    }
}

impl<'k, T: TensorElement> ComplexSubtileMut<'_, 'k, T> {
    /// Stores a register tile and converts its elements, like [`SubtileMut::store`].
    #[track_caller]
    pub fn store<U, const H: usize, const W: usize, L>(&self, tile: &Crt<'k, U, H, W, L>)
    where
        U: Convert<T>,
        L: RegisterLayout,
    {
        self.re.store(&tile.re);
        self.im.store(&tile.im);
    }
}

/// A rectangle of a [`Filled`] complex tile, with the size of the register tile into which it is loaded.
pub struct ComplexSubtile<'a, 'k, T: TensorElement> {
    re: Subtile<'a, 'k, T>,
    im: Subtile<'a, 'k, T>,
}

impl<T: TensorElement> fmt::Debug for ComplexSubtile<'_, '_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ComplexSubtile").field("re", &self.re).field("im", &self.im).finish()
    }
}

impl<'k, T: TensorElement> ComplexSubtile<'_, 'k, T> {
    /// Loads a register tile, like [`Subtile::load`].
    #[track_caller]
    pub fn load<const H: usize, const W: usize, L: RegisterLayout>(&self) -> Crt<'k, T, H, W, L> {
        Crt { re: self.re.load(), im: self.im.load() }
    }
}

impl<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle> Filled<Cst<'k, T, H, W, S>> {
    /// Returns the rectangle that starts at subtile (`row`, `col`), as [`Filled::subtile`] of a real tile does.
    pub fn subtile(
        &self,
        row: impl Into<Val<'k, u32>>,
        col: impl Into<Val<'k, u32>>,
    ) -> ComplexSubtile<'_, 'k, T> {
        let (row, col) = (row.into(), col.into());
        let [re, im] =
            [&self.tile.re, &self.tile.im].map(|part| Subtile(Rectangle::new(&part.tensor, row, col)));
        ComplexSubtile { re, im }
    }
}
