//! Conversions between 8-bit and wider elements, whose subtiles have different shapes.

use std::panic::Location;

use super::{
    blocks::{Blocks, moved},
    convert::through_f32,
    element::{RegisterLayout, register_layout},
    registers::Registers,
    rt::Rt,
};
use crate::{
    atoms::TileLayout,
    layout::TvLayout,
    tensor::{ConvertibleElement, TensorElement},
};

/// Two layouts of the elements of one 8-bit subtile: that of the 8-bit tile, and that of two subtiles of a wider type `U`, in which every
/// element is already in the lane that owns it after the conversion.
pub(super) struct Shapes {
    pub(super) blocks: [Blocks; 2],
    pub(super) layouts: [TvLayout; 2],
}

impl Shapes {
    /// Returns the layouts for 8-bit tiles of width `narrow` in subtiles, and tiles of `U` of width `wide`.
    pub(super) fn new<T: TensorElement, U: TensorElement, L: RegisterLayout>(
        narrow: usize,
        wide: usize,
    ) -> Self {
        let [height, width] = if L::LAYOUT == TileLayout::Row { [1, 2] } else { [2, 1] };
        let per_word = T::PER_WORD;
        let registers = Rt::<T, 1, 1, L>::SUBTILE_REGISTERS;
        let in_wide = register_layout::<U, L>(height, width).packed(per_word as u32);
        Self {
            blocks: [
                Blocks { of: [1, 1], width: narrow, registers },
                Blocks { of: [height, width], width: wide, registers: registers / 2 },
            ],
            layouts: [
                register_layout::<T, L>(1, 1),
                in_wide.expect("a lane owns eight elements of a subtile"),
            ],
        }
    }

    pub(super) fn reversed(self) -> Self {
        let ([narrow, wide], [own, other]) = (self.blocks, self.layouts);
        Self { blocks: [wide, narrow], layouts: [other, own] }
    }
}

impl<'k, T: ConvertibleElement, const H: usize, const W: usize, L: RegisterLayout> Rt<'k, T, H, W, L> {
    /// Converts 8-bit elements to a type `U` of 16 bits or more.
    ///
    /// Measured in subtiles, the result is twice as wide as this tile, or twice as high in the column layout; other shapes do not compile.
    /// For example, a tile `q` of type `Rt<e4m3, 1, 2>` is converted with `let x: Rt<bf16, 1, 4> = q.widen();`.
    ///
    /// All lanes of the warp must take part. Each subtile of 8-bit elements requires 4 `shfl`, which precede the conversion.
    #[doc(alias = "copy")]
    #[must_use]
    #[track_caller]
    pub fn widen<U: ConvertibleElement, const H2: usize, const W2: usize>(&self) -> Rt<'k, U, H2, W2, L> {
        const {
            assert!(T::SIZE == 1 && U::SIZE > 1, "`widen` converts 8-bit elements to wider ones");
            assert_same_matrix::<T, U, H, W, H2, W2, L>();
        }
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let Shapes { blocks, layouts } = Shapes::new::<T, U, L>(W, W2);
        let moved = moved(k, &self.words(), blocks, &layouts);
        Rt::of_registers(k, k.all_owned(|| through_f32::<T, U>(&moved)))
    }

    /// Converts elements of 16 bits or more to an 8-bit type `U`, with rounding to nearest even and saturation.
    ///
    /// Measured in subtiles, the result is half as wide as this tile, or half as high in the column layout; other shapes do not compile.
    /// All lanes of the warp must take part. Each subtile of the result requires 4 `shfl`, which follow the conversion.
    #[doc(alias = "copy")]
    #[must_use]
    #[track_caller]
    pub fn narrow<U: ConvertibleElement, const H2: usize, const W2: usize>(&self) -> Rt<'k, U, H2, W2, L> {
        const {
            assert!(T::SIZE > 1 && U::SIZE == 1, "`narrow` converts to 8-bit elements from wider ones");
            assert_same_matrix::<T, U, H, W, H2, W2, L>();
        }
        let k = self.kernel();
        let _located = k.locate(Location::caller());
        let Shapes { blocks, layouts } = Shapes::new::<U, T, L>(W2, W).reversed();
        let converted = through_f32::<T, U>(&self.words());
        Rt::of_registers(k, k.all_owned(|| moved(k, &converted, blocks, &layouts)))
    }
}

/// Asserts that two tiles have the same number of rows and columns.
pub(super) const fn assert_same_matrix<
    T,
    U,
    const H: usize,
    const W: usize,
    const H2: usize,
    const W2: usize,
    L,
>()
where
    T: TensorElement,
    U: TensorElement,
    L: RegisterLayout,
{
    let (rows, cols) = (Rt::<T, H, W, L>::ROWS, Rt::<T, H, W, L>::COLS);
    let is_same = rows == Rt::<U, H2, W2, L>::ROWS && cols == Rt::<U, H2, W2, L>::COLS;
    assert!(
        is_same,
        "both tiles must have the same number of rows and columns; 8-bit subtiles are 16×32, or 32×16 in the column layout"
    );
}
