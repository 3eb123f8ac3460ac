//! Tiles as tensors and back: the same memory or registers, by layouts.

use super::{
    element::{RegisterLayout, TileElement},
    gl::Gl,
    rt::Rt,
    st::{Filled, St},
    swizzle::SharedSwizzle,
};
use crate::{
    layout::{Layout, LayoutError, Swizzle},
    ptx::{Builder, Global, Read, Shared, Val, Write},
    tensor::{Arrived, Fragment, SharedLayout, Tensor, TensorElement},
};

impl<'k, T: TensorElement, A> Gl<'k, T, A> {
    /// The matrix as a tensor `(row, col)`, whose tiles are predicated at the edges.
    #[track_caller]
    pub fn tensor(&self) -> Tensor<'k, Global, T, A> {
        let (row_stride, col_stride) = self.strides();
        self.pointer.kernel().tensor(self.pointer, [self.rows(), self.cols()], [row_stride, col_stride])
    }
}

impl<'k, T: TileElement + TensorElement, const H: usize, const W: usize, S: SharedSwizzle>
    St<'k, T, H, W, S>
{
    /// How the tile lies: `(row, (col in block, block))`, under its swizzle.
    ///
    /// # Errors
    /// None for tiles that fit in shared memory.
    pub fn shared_layout() -> Result<SharedLayout, LayoutError> {
        let address = Self::address();
        let (rows, width) = (Self::ROWS, address.pitch / T::SIZE);
        let layout = Layout::new((rows, (width, Self::COLS / width)), (width, (1, rows * width)))?;
        let swizzle = match (address.swizzled, address.pitch) {
            (false, _) => Swizzle::NONE,
            (true, 128) => Swizzle::BYTES_128,
            (true, 64) => Swizzle::BYTES_64,
            (true, _) => Swizzle::BYTES_32,
        };
        Ok(SharedLayout::swizzled(layout, swizzle))
    }

    fn lies(k: Builder<'k>) -> SharedLayout {
        Self::shared_layout().unwrap_or_else(|error| {
            k.refuse(error.to_string());
            Layout::concat([]).into()
        })
    }

    /// The tile with the data that were copied to its [`tensor`](Self::tensor) and have arrived.
    pub fn filled(self, _: &Arrived<'k>) -> Filled<Self> {
        Filled { tile: self }
    }

    /// The tile as a tensor `(row, (col in block, block))` to write to.
    #[track_caller]
    pub fn tensor(&self) -> Tensor<'k, Shared, T, Write> {
        let k = self.view.base.kernel();
        Tensor::at(self.view.base.assume_access(), &Self::lies(k))
    }
}

impl<'k, T: TileElement + TensorElement, const H: usize, const W: usize, S: SharedSwizzle>
    Filled<St<'k, T, H, W, S>>
{
    /// The tile as a tensor `(row, (col in block, block))` to read from.
    #[track_caller]
    pub fn tensor(&self) -> Tensor<'k, Shared, T, Read> {
        let base = self.tile.view.base;
        Tensor::at(base.assume_access(), &St::<'k, T, H, W, S>::lies(base.kernel()))
    }
}

impl<'k, T: TileElement + TensorElement, const H: usize, const W: usize, L: RegisterLayout>
    Rt<'k, T, H, W, L>
{
    /// `((element of pair, k mod 2, k / 2), subtile column, subtile row)`, as the registers follow each other.
    fn values(k: Builder<'k>) -> Layout {
        Layout::column_major(((2, 2, 2), W, H)).unwrap_or_else(|error| {
            k.refuse(error.to_string());
            Layout::concat([])
        })
    }

    /// The tile's registers as a fragment `((element of pair, k mod 2, k / 2), subtile column, subtile row)`.
    #[track_caller]
    pub fn into_fragment(self) -> Fragment<'k, T> {
        let layout = Self::values(self.k);
        Fragment::of_registers(self.k, &self.registers, layout)
    }

    /// The tile in copies of a fragment's registers, in the order of [`into_fragment`](Self::into_fragment).
    ///
    /// Refused when the kernel is built: a fragment that does not have so many registers, filled in order.
    #[track_caller]
    pub fn from_fragment(k: Builder<'k>, fragment: &Fragment<'k, T>) -> Self {
        let registers: Vec<Val<'k, T::Packed>> = fragment.copies();
        if registers.len() != Self::REGISTERS {
            let found = registers.len();
            k.refuse(format!("a register tile of {} registers from a fragment of {found}", Self::REGISTERS));
            return Self::filled(k, T::ZERO);
        }
        Self::from_registers(k, registers)
    }
}
