//! Matrices in shared memory with the layout given by a `wgmma` descriptor (PTX ISA, "Matrix Descriptor Format", "Strides").

use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    start: usize,
    leading: usize,
    stride: usize,
    /// The width of a swizzled row in 16-byte units: 1, 2, 4 or 8.
    units: usize,
    /// The 128-byte row at which the pattern of the swizzle starts.
    base: usize,
}

impl Descriptor {
    pub(super) fn new(bits: u64) -> Outcome<Self> {
        let field = |low: u32| (bits >> low & 0x3fff) as usize * 16;
        let invalid = |what: String| {
            Fault::new(FindingKind::InvalidDescriptor, format!("invalid descriptor {bits:#018x}: {what}"))
        };
        let base_offset = bits >> 49 & 7;
        let reserved = bits & !(0x3fff | 0x3fff << 16 | 0x3fff << 32 | 7 << 49 | 3 << 62);
        if reserved != 0 {
            return Err(invalid(format!("bits {reserved:#018x} must be zero")));
        }
        let units = match bits >> 62 {
            0 => 1,
            1 => 8,
            2 => 4,
            _ => 2,
        };
        Ok(Self { start: field(0), leading: field(16), stride: field(32), units, base: base_offset as usize })
    }

    /// Returns the byte address of element (`i`, `j`), which has `bits` bits; `i` is along M or N, and `j` along K.
    pub(super) fn address(&self, i: usize, j: usize, bits: usize, mn_major: bool) -> usize {
        let Self { start, leading, stride, units, base } = *self;
        let linear = match (mn_major, units) {
            (false, 1) => i % 8 * 16 + i / 8 * stride + j * bits / 128 * leading + j * bits / 8 % 16,
            (false, _) => i % 8 * 16 * units + i / 8 * stride + j * bits / 8,
            (true, 1) => i % 8 * 2 + i / 8 * stride + j % 8 * 16 + j / 8 * leading,
            (true, _) => {
                let wide = 8 * units;
                i % wide * 2 + i / wide * leading + j % 8 * 16 * units + j / 8 * stride
            }
        };
        let address = start + linear;
        // The swizzle permutes 16-byte units by the index of their 128-byte row, regardless of the tile's start.
        let row = (address >> 7).wrapping_sub(base) & (units - 1);
        address ^ row << 4
    }
}
