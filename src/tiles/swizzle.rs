//! How a shared tile's elements are spread over the banks.

use super::element::TileElement;
use crate::ptx::Val;

/// A shared tile's swizzle, as a type.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no swizzle",
    note = "swizzles are `Auto`, `Swizzle128`, `Swizzle64`, `Swizzle32` and `Plain`"
)]
pub trait SharedSwizzle: 'static {
    /// Bytes of a swizzled row for a tile of `width` elements of `bytes` each; `None` for no swizzle.
    fn row_bytes(width: u32, bytes: u32) -> Option<u32>;
}

macro_rules! swizzles {
    ($($(#[$doc:meta])* $name:ident, $bytes:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub enum $name {}

        impl SharedSwizzle for $name {
            fn row_bytes(width: u32, bytes: u32) -> Option<u32> {
                let rule: fn(u32) -> Option<u32> = $bytes;
                rule(width * bytes)
            }
        }
    )*};
}

swizzles! {
    /// The widest swizzle whose row divides the tile's: 128, 64 or 32 bytes.
    Auto, |row| Some(if row % 128 == 0 { 128 } else if row % 64 == 0 { 64 } else { 32 });
    /// 128-byte rows, bits 7–9 of the address into bits 4–6: `Swizzle<3,4,3>`.
    Swizzle128, |_| Some(128);
    /// 64-byte rows, bits 7–8 into bits 4–5: `Swizzle<2,4,3>`.
    Swizzle64, |_| Some(64);
    /// 32-byte rows, bit 7 into bit 4: `Swizzle<1,4,3>`.
    Swizzle32, |_| Some(32);
    /// No swizzle: plain row-major.
    Plain, |_| None;
}

/// Where element (`row`, `col`) of a shared tile lies, in bytes from the tile's start.
///
/// A swizzled tile is cut into column blocks of one swizzled row each, which lie one after the other; within a block rows
/// follow each other, and the 16-byte chunks of a row are permuted by the row's number. These are the 128-, 64- and 32-byte
/// modes of TMA and wgmma (PTX ISA, "Shared Memory Matrix Layout"), so the tile starts at a multiple of 8 rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileAddress {
    /// Rows of the tile.
    pub rows: u32,
    /// Bytes from one row to the next: a swizzled row, or the whole row.
    pub pitch: u32,
    /// Whether chunks are permuted.
    pub swizzled: bool,
}

impl TileAddress {
    /// The rule for a tile of `rows`×`cols` elements `T`.
    pub fn new<T: TileElement, S: SharedSwizzle>(rows: u32, cols: u32) -> Self {
        let swizzle = S::row_bytes(cols, T::BYTES);
        Self { rows, pitch: swizzle.unwrap_or(cols * T::BYTES), swizzled: swizzle.is_some() }
    }

    /// Where the tile must start, in bytes: 8 rows, after which the permutation repeats.
    pub fn align(&self) -> u32 {
        if self.swizzled { 8 * self.pitch } else { 16 }
    }

    /// The byte offset of `row` and of byte `byte` of it.
    pub fn offset(&self, row: u32, byte: u32) -> u32 {
        let linear = byte / self.pitch * self.rows * self.pitch + row * self.pitch + byte % self.pitch;
        linear ^ self.permutation(row)
    }

    /// What the offset of `row` is XORed with.
    pub fn permutation(&self, row: u32) -> u32 {
        if self.swizzled { (((row * self.pitch) % (8 * self.pitch)) >> 7) << 4 } else { 0 }
    }

    /// [`offset`](Self::offset) for values of a kernel.
    #[track_caller]
    pub(super) fn emit<'k>(&self, row: Val<'k, u32>, byte: Val<'k, u32>) -> Val<'k, u32> {
        let pitch = self.pitch;
        if !self.swizzled {
            return row.mad(pitch, byte);
        }
        let (block, within) = (byte >> pitch.trailing_zeros(), byte & (pitch - 1));
        block.mad(self.rows * pitch, row.mad(pitch, within) ^ self.emit_permutation(row))
    }

    /// [`permutation`](Self::permutation) for a value of a kernel.
    #[track_caller]
    pub(super) fn emit_permutation<'k>(&self, row: Val<'k, u32>) -> Val<'k, u32> {
        if !self.swizzled {
            return 0.into();
        }
        // A row of 128 bytes moves bits 7–9 of the offset by one, of 64 or 32 bytes by a half or a quarter.
        let rows_per_step = 128 / self.pitch;
        let steps = 8 / rows_per_step;
        ((row >> rows_per_step.trailing_zeros()) & (steps - 1)) << 4
    }
}
