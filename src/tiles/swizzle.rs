//! Swizzles, which distribute a shared tile's elements over the banks.

use crate::{
    layout::{Layout, LayoutError, Swizzle},
    ptx::sealed::Sealed,
    tensor::{SharedLayout, TensorElement},
};

/// A type that represents the swizzle of a shared tile.
#[doc(alias = "swizzle_bytes")]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a swizzle",
    note = "swizzles are `Auto`, `Swizzle128`, `Swizzle64`, `Swizzle32`, `Padded` and `Plain`"
)]
pub trait SharedSwizzle: Sealed + 'static {
    /// Whether each row is followed by padding.
    const PADDED: bool;
    /// Returns the swizzle for rows of `bytes` bytes, and the length of a swizzled row in bytes.
    fn of_row(bytes: u32) -> (Swizzle, u32);
}

macro_rules! swizzles {
    ($($(#[$doc:meta])* $name:ident, $padded:literal, $rule:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl Sealed for $name {}

        impl SharedSwizzle for $name {
            const PADDED: bool = $padded;

            fn of_row(bytes: u32) -> (Swizzle, u32) {
                let rule: fn(u32) -> (Swizzle, u32) = $rule;
                rule(bytes)
            }
        }
    )*};
}

swizzles! {
    /// The widest swizzle whose row divides the tile's row: 128, 64 or 32 bytes.
    Auto, false, |row| match row {
        row if row % 128 == 0 => (Swizzle::BYTES_128, 128),
        row if row % 64 == 0 => (Swizzle::BYTES_64, 64),
        _ => (Swizzle::BYTES_32, 32),
    };
    /// The swizzle for 128-byte rows, which XORs bits 7–9 of the address into bits 4–6: `Swizzle<3,4,3>`.
    Swizzle128, false, |_| (Swizzle::BYTES_128, 128);
    /// The swizzle for 64-byte rows, which XORs bits 7–8 of the address into bits 4–5: `Swizzle<2,4,3>`.
    Swizzle64, false, |_| (Swizzle::BYTES_64, 64);
    /// The swizzle for 32-byte rows, which XORs bit 7 of the address into bit 4: `Swizzle<1,4,3>`.
    Swizzle32, false, |_| (Swizzle::BYTES_32, 32);
    /// No swizzle, but 16 bytes of padding after each row (32 for 32-bit elements, 64 for 64-bit elements). Rows that are accessed together
    /// therefore use different banks. TMA and `wgmma` do not support this layout.
    Padded, true, |row| (Swizzle::NONE, row);
    /// No swizzle: plain row-major order.
    Plain, false, |row| (Swizzle::NONE, row);
}

/// Returns the number of bytes of padding after each row of elements of type `T`. For elements of up to 16 bits, the distance between rows
/// is then an odd multiple of 16 bytes, the size of an `ldmatrix` row. For wider elements, it is an odd multiple of the size of the 8
/// elements of a row that four lanes access together.
pub(super) const fn padding<T: TensorElement, S: SharedSwizzle>() -> u32 {
    match T::SIZE {
        _ if !S::PADDED => 0,
        size if size > 2 => 8 * size,
        _ => 16,
    }
}

/// Returns the swizzled layout of a shared tile of `rows`×`cols` elements of type `T`, with the modes `(row, (col in block, block))`.
///
/// A swizzled tile consists of consecutive column blocks, each as wide as one swizzled row. Within a block,
/// rows are contiguous, and the 16-byte chunks of a row are permuted according to the row index. The layouts
/// are those of the 128-, 64- and 32-byte swizzle modes of TMA and `wgmma` (PTX ISA, "Shared Memory Matrix
/// Layout").
///
/// Every [`St`](super::St) has this layout.
///
/// # Errors
/// Returns an error if `rows` or `cols` is 0, or if the swizzled row is longer than the tile's row. Allocation rejects tiles with a row
/// length that is not a multiple of the swizzled row length.
pub fn shared_layout<T: TensorElement, S: SharedSwizzle>(
    rows: u32,
    cols: u32,
) -> Result<SharedLayout, LayoutError> {
    let (swizzle, row_bytes) = S::of_row(cols * T::SIZE);
    // Without columns, an extent is 0, which is an error.
    let width = (row_bytes / T::SIZE).max(1);
    let pitch = width + padding::<T, S>() / T::SIZE;
    let block = i64::from(rows) * i64::from(pitch);
    let layout = Layout::new((rows, (width, cols / width)), (i64::from(pitch), (1, block)))?;
    Ok(SharedLayout::swizzled(layout, swizzle))
}
