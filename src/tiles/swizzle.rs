//! The distribution of a shared tile's elements over banks: the shared layout that a tile type denotes.

use crate::{
    layout::{Layout, LayoutError, Swizzle},
    tensor::{SharedLayout, TensorElement},
};

/// A shared tile's swizzle, as a type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a swizzle",
    note = "swizzles are `Auto`, `Swizzle128`, `Swizzle64`, `Swizzle32`, `Padded` and `Plain`"
)]
pub trait SharedSwizzle: 'static {
    /// The unused bytes at the end of each row.
    const PADDING: u32;
    /// Returns the swizzle for rows of `bytes` bytes, and the length of a swizzled row in bytes.
    fn of_row(bytes: u32) -> (Swizzle, u32);
}

macro_rules! swizzles {
    ($($(#[$doc:meta])* $name:ident, $padding:literal, $rule:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl SharedSwizzle for $name {
            const PADDING: u32 = $padding;

            fn of_row(bytes: u32) -> (Swizzle, u32) {
                let rule: fn(u32) -> (Swizzle, u32) = $rule;
                rule(bytes)
            }
        }
    )*};
}

swizzles! {
    /// The widest swizzle whose row divides the tile's row: 128, 64 or 32 bytes.
    Auto, 0, |row| match row {
        row if row % 128 == 0 => (Swizzle::BYTES_128, 128),
        row if row % 64 == 0 => (Swizzle::BYTES_64, 64),
        _ => (Swizzle::BYTES_32, 32),
    };
    /// 128-byte rows, bits 7–9 of the address xored into bits 4–6: `Swizzle<3,4,3>`.
    Swizzle128, 0, |_| (Swizzle::BYTES_128, 128);
    /// 64-byte rows, bits 7–8 xored into bits 4–5: `Swizzle<2,4,3>`.
    Swizzle64, 0, |_| (Swizzle::BYTES_64, 64);
    /// 32-byte rows, bit 7 xored into bit 4: `Swizzle<1,4,3>`.
    Swizzle32, 0, |_| (Swizzle::BYTES_32, 32);
    /// No swizzle, but 16 unused bytes after each row, an odd multiple of 16 apart: accesses to 8 rows in the same columns use
    /// different banks. Not a layout of TMA or `wgmma`.
    Padded, 16, |row| (Swizzle::NONE, row);
    /// No swizzle: plain row-major.
    Plain, 0, |row| (Swizzle::NONE, row);
}

/// Returns the swizzled layout of a shared tile of `rows`×`cols` elements `T`: `(row, (col in block, block))`.
///
/// A swizzled tile consists of consecutive column blocks, each as wide as one swizzled row. Within a block, rows are contiguous,
/// and the 16-byte chunks of a row are permuted by the row index. These are the 128-, 64- and 32-byte modes of TMA and
/// `wgmma` (PTX ISA, "Shared Memory Matrix Layout").
///
/// # Errors
/// If the swizzled row is longer than the tile's row. Tile rows that are not a multiple of it are rejected at allocation.
pub(super) fn shared_layout<T: TensorElement, S: SharedSwizzle>(
    rows: u32,
    cols: u32,
) -> Result<SharedLayout, LayoutError> {
    let (swizzle, row_bytes) = S::of_row(cols * T::SIZE);
    let width = row_bytes / T::SIZE;
    let pitch = width + S::PADDING / T::SIZE;
    let layout = Layout::new((rows, (width, cols / width)), (pitch, (1, rows * pitch)))?;
    Ok(SharedLayout::swizzled(layout, swizzle))
}
