//! Block scaling: scales shared by several elements of a row.

use super::layouts;
use crate::{atoms::mma_type::MmaType, layout::Layout};

/// The number of scales per row of A or column of B in one instruction (`.scale_vec`).
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
    /// Returns the number of scales per row of A or column of B, which is also the number of bytes read from the register.
    #[must_use]
    pub const fn count(self) -> u32 {
        match self {
            ScaleVector::X1 => 1,
            ScaleVector::X2 => 2,
            ScaleVector::X4 => 4,
        }
    }
}

/// The scaling of A and B before they are multiplied (PTX ISA, "Block Scaling for mma.sync").
///
/// Scales are read from individual bytes of a register in some lanes; two small constants, `byte` and `thread`, select the bytes and the lanes.
/// The layouts are those for `byte` 0 and `thread` 0. **The arithmetic has not been verified on hardware,** because no sm_120a device
/// was available. The simulator executes dense MMAs according to published rules; it does not support sparse ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockScale {
    pub(super) ty: MmaType,
    pub(super) vector: ScaleVector,
    pub(super) k: u32,
}

impl BlockScale {
    /// Returns the format of a scale: ue8m0 or ue4m3.
    #[must_use]
    pub const fn scale_type(&self) -> MmaType {
        self.ty
    }

    /// Returns the number of scales per row of A or column of B.
    #[must_use]
    pub const fn vector(&self) -> ScaleVector {
        self.vector
    }

    /// Returns the number of consecutive elements along k that share a scale.
    #[must_use]
    pub const fn block(&self) -> u32 {
        self.k / self.vector.count()
    }

    /// Returns the layout that maps (thread, k) to `m + k · M`, where m is the row of A whose scales the lane provides. In each group of four
    /// lanes, lanes 2 and 3 repeat the scales of lanes 0 and 1; they are selected if `thread` is 1.
    #[doc(alias = "SFALayout")]
    #[must_use]
    pub fn layout_a(&self) -> Layout {
        layouts::scale_a(self.k)
    }

    /// Returns the layout that maps (thread, k) to `n + k · N`, where n is the column of B whose scales the lane provides. It is the same for
    /// the four lanes of a group.
    #[doc(alias = "SFBLayout")]
    #[must_use]
    pub fn layout_b(&self) -> Layout {
        layouts::scale_b(self.k)
    }
}
