//! Block scaling: factors that many elements of a row share.

use super::layouts;
use crate::{atoms::mma_type::MmaType, layout::Layout};

/// How many scales a row of A or a column of B has in one instruction (`.scale_vec`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ScaleVector {
    /// One: `.scale_vec::1X`.
    X1,
    /// Two: `.scale_vec::2X`.
    X2,
    /// Four: `.scale_vec::4X`.
    X4,
}

impl ScaleVector {
    /// Scales of a row, and bytes of the register that are read.
    #[must_use]
    pub const fn count(self) -> u32 {
        match self {
            ScaleVector::X1 => 1,
            ScaleVector::X2 => 2,
            ScaleVector::X4 => 4,
        }
    }
}

/// How A and B are scaled before they are multiplied (PTX ISA, "Block Scaling for mma.sync").
///
/// Scales are read from single bytes of a register in some lanes; a pair of small constants, byte and thread, chooses which.
/// The layouts are those for byte 0 and thread 0. **The arithmetic is not verified: the simulator does not have it, and no
/// sm_120a device was at hand.**
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockScale {
    pub(super) ty: MmaType,
    pub(super) vector: ScaleVector,
    pub(super) k: u32,
}

impl BlockScale {
    /// The format of a scale: ue8m0 or ue4m3.
    #[must_use]
    pub const fn scale_type(&self) -> MmaType {
        self.ty
    }

    /// Scales of a row.
    #[must_use]
    pub const fn vector(&self) -> ScaleVector {
        self.vector
    }

    /// Consecutive elements along k that share a scale.
    #[must_use]
    pub const fn block(&self) -> u32 {
        self.k / self.vector.count()
    }

    /// (thread, k) → `m + k · M`: the rows of A whose scales a lane holds. Lanes with t mod 4 of 2 and 3 repeat those of 0 and
    /// 1; thread 1 chooses them instead.
    #[doc(alias = "SFALayout")]
    #[must_use]
    pub fn layout_a(&self) -> Layout {
        layouts::scale_a(self.k)
    }

    /// (thread, k) → `n + k · N`: the columns of B whose scales a lane holds, the same for the four lanes of a group.
    #[doc(alias = "SFBLayout")]
    #[must_use]
    pub fn layout_b(&self) -> Layout {
        layouts::scale_b(self.k)
    }
}
