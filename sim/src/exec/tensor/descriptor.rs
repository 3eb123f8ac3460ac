//! Matrices in shared memory as a wgmma descriptor lays them out (PTX ISA, "Matrix Descriptor Format", "Strides").

use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// A decoded descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Descriptor {
    start: usize,
    leading: usize,
    stride: usize,
    /// Width of a swizzled row in units of 16 bytes: 1, 2, 4 or 8.
    units: usize,
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
        if base_offset != 0 {
            return Err(invalid(format!("base offset {base_offset} is not supported")));
        }
        let units = match bits >> 62 {
            0 => 1,
            1 => 8,
            2 => 4,
            _ => 2,
        };
        // The swizzle repeats every 8 rows; a step along K stays inside a row.
        let row = field(0) >> 7 & (units - 1);
        if row != 0 {
            let repeat = 128 * units;
            let start = field(0);
            return Err(invalid(format!(
                "the tile at {start:#x} starts in row {row} of a swizzle that repeats every {repeat} bytes"
            )));
        }
        Ok(Self { start: field(0), leading: field(16), stride: field(32), units })
    }

    /// The byte address of element (`i`, `j`), i along M or N and j along K, of `bits` bits.
    pub(super) fn address(&self, i: usize, j: usize, bits: usize, mn_major: bool) -> usize {
        let Self { start, leading, stride, units } = *self;
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
        // The swizzle exchanges 16-byte units by address bits above them.
        address ^ (address >> 3 & (units - 1) << 4)
    }
}
