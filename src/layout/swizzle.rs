//! Swizzles: XORs of offset bits that spread the rows of a tile over the banks of shared memory.

use std::fmt;
use std::str::FromStr;

use super::error::LayoutError;

/// CuTe's `Swizzle<B, M, S>`: bits `M + S .. M + S + B` of an offset are XORed into bits `M .. M + B`. If `S` is negative, bits
/// `M .. M + B` are XORed into bits `M − S .. M − S + B`.
///
/// A swizzle is its own inverse. The predefined swizzles apply to absolute shared-memory addresses in bytes, like the swizzles of TMA and
/// `wgmma`.
///
/// ```
/// use warpwright::layout::Swizzle;
/// assert_eq!(Swizzle::BYTES_128.apply(128), 128 + 16);
/// assert_eq!(Swizzle::new(3, 4, 3)?, Swizzle::BYTES_128);
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Swizzle {
    bits: u32,
    base: u32,
    shift: i32,
}

impl Swizzle {
    /// The identity.
    pub const NONE: Swizzle = Swizzle { bits: 0, base: 4, shift: 3 };
    /// Permutes 16-byte chunks within 32 bytes: bit 7 is XORed into bit 4.
    pub const BYTES_32: Swizzle = Swizzle { bits: 1, base: 4, shift: 3 };
    /// Permutes 16-byte chunks within 64 bytes: bits 7 and 8 are XORed into bits 4 and 5.
    pub const BYTES_64: Swizzle = Swizzle { bits: 2, base: 4, shift: 3 };
    /// Permutes 16-byte chunks within 128 bytes: bits 7 to 9 are XORed into bits 4 to 6.
    pub const BYTES_128: Swizzle = Swizzle { bits: 3, base: 4, shift: 3 };

    /// Creates `Swizzle<bits, base, shift>`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Swizzle`] if the source bits overlap the modified bits (`|shift| < bits`), or if the bits extend past bit 61.
    pub const fn new(bits: u32, base: u32, shift: i32) -> Result<Swizzle, LayoutError> {
        let reach = (bits as u64) + (base as u64) + (shift.unsigned_abs() as u64);
        if shift.unsigned_abs() < bits || reach > 62 {
            return Err(LayoutError::Swizzle { bits, base, shift });
        }
        Ok(Swizzle { bits, base, shift })
    }

    /// Returns the number of bits that the swizzle modifies.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// Returns the number of low bits that the swizzle neither reads nor modifies; runs of `2^base` units stay contiguous.
    #[must_use]
    pub const fn base(self) -> u32 {
        self.base
    }

    /// Returns the distance from the modified bits up to their source bits. The distance is negative if the source bits are lower.
    #[must_use]
    pub const fn shift(self) -> i32 {
        self.shift
    }

    /// Returns the number of units after which the pattern repeats.
    ///
    /// If a tile starts at a multiple of the period, offsets within the tile can be swizzled instead of addresses.
    #[must_use]
    pub const fn period(self) -> i64 {
        if self.bits == 0 { 1 } else { 1 << (self.base + self.bits + self.shift.unsigned_abs()) }
    }

    /// Returns the swizzle in units that are `factor` times as large.
    ///
    /// Postcondition: `result(i) = self(i · factor) / factor`.
    ///
    /// # Errors
    /// Returns [`LayoutError::SwizzleUnit`] if `factor` is not a power of 2 or exceeds the `2^base` units that the swizzle keeps
    /// contiguous.
    pub fn upcast(self, factor: i64) -> Result<Swizzle, LayoutError> {
        let fault = LayoutError::SwizzleUnit { swizzle: self.to_string(), factor, max: 1 << self.base };
        match u64::try_from(factor) {
            Ok(factor) if factor.is_power_of_two() && factor.trailing_zeros() <= self.base => {
                Swizzle::new(self.bits, self.base - factor.trailing_zeros(), self.shift)
            }
            _ => Err(fault),
        }
    }

    /// Returns the swizzle in units that are smaller by a factor of `factor`.
    ///
    /// Postcondition: `result(i) = self(i / factor) · factor + i % factor`.
    ///
    /// # Errors
    /// Returns [`LayoutError::SwizzleUnit`] if `factor` is not a power of 2, and [`LayoutError::Swizzle`] if the bits would extend past bit
    /// 61.
    pub fn downcast(self, factor: i64) -> Result<Swizzle, LayoutError> {
        match u64::try_from(factor) {
            Ok(factor) if factor.is_power_of_two() => {
                Swizzle::new(self.bits, self.base + factor.trailing_zeros(), self.shift)
            }
            _ => Err(LayoutError::SwizzleUnit { swizzle: self.to_string(), factor, max: i64::MAX }),
        }
    }

    /// Returns the swizzled offset.
    #[must_use]
    pub const fn apply(self, offset: i64) -> i64 {
        let mask = ((1 << self.bits) - 1) << self.base;
        if self.shift >= 0 {
            offset ^ ((offset >> self.shift) & mask)
        } else {
            offset ^ ((offset & mask) << self.shift.unsigned_abs())
        }
    }
}

/// The constants that convert a swizzled dynamic offset `apply(x)` to `apply(x + offset)`; see [`Swizzle::split_offset`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SplitOffset {
    /// The constant to XOR with the swizzled dynamic offset.
    pub xor: i64,
    /// The constant to add to the result: the immediate offset of a load or store.
    pub add: i64,
}

impl Swizzle {
    /// Returns the constants that convert `apply(x)` to `apply(x + offset)` for all `x ≥ 0` whose set bits are among `bits`.
    ///
    /// A register that contains `x` then needs to be swizzled only once, and each additional element costs at most one XOR.
    ///
    /// Postcondition: `apply(x + offset) = (apply(x) ^ xor) + add`.
    ///
    /// Returns `None` if `offset`, modulo the period, has set bits among `bits`: in that case, the sum may carry and must be swizzled as a
    /// whole. For a tile that is partitioned among threads, `bits` is [`Layout::bits`](super::Layout::bits) of the thread modes.
    ///
    /// ```
    /// use warpwright::layout::{SplitOffset, Swizzle};
    /// // 128-byte rows, selected by a register: byte 48 of the row, byte 4 of the row 16 rows below, and byte 0 of the next row.
    /// let rows = 0b1111 << 7;
    /// assert_eq!(Swizzle::BYTES_128.split_offset(rows, 48), Some(SplitOffset { xor: 48, add: 0 }));
    /// assert_eq!(Swizzle::BYTES_128.split_offset(rows, 2048 + 4), Some(SplitOffset { xor: 0, add: 2052 }));
    /// assert_eq!(Swizzle::BYTES_128.split_offset(rows, 128), None);
    /// ```
    #[must_use]
    pub const fn split_offset(self, bits: i64, offset: i64) -> Option<SplitOffset> {
        let within = offset.rem_euclid(self.period());
        if within & bits != 0 {
            return None;
        }
        // Without carries, the sum is an XOR, over which the swizzle distributes.
        let own = self.apply(within);
        let mask = ((1 << self.bits) - 1) << self.base;
        let moved = if self.shift >= 0 {
            (bits >> self.shift) & mask
        } else {
            (bits & mask) << self.shift.unsigned_abs()
        };
        let shared = own & (bits | moved);
        Some(SplitOffset { xor: shared, add: (own - shared).wrapping_add(offset - within) })
    }
}

/// Prints the swizzle in CuTe's notation: `Sw<3,4,3>`.
impl fmt::Display for Swizzle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sw<{},{},{}>", self.bits, self.base, self.shift)
    }
}

impl FromStr for Swizzle {
    type Err = LayoutError;

    /// Parses text such as `Sw<3,4,3>`; the names `S` and `Swizzle` are also accepted.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        super::text::parse_swizzle(text)
    }
}
