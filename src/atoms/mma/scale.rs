//! Block scaling: scales shared by several elements of a row of A or a column of B.

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
    /// Returns the number of scales per row of A or column of B. This is also the number of bytes that the instruction reads from each
    /// register of scales.
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
/// Some lanes provide scales in the bytes of a register. Two constant operands of the instruction, [`thread`](crate::atoms::Scale::thread)
/// and [`byte`](crate::atoms::Scale::byte), select these lanes and bytes. The layouts of this type apply if both constants are 0.
///
/// **The arithmetic has not been verified on hardware,** because no sm_120a device was available. The simulator executes dense block-scaled
/// instructions according to published rules; it does not support sparse ones.
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

    /// Returns the layout that maps (thread, k) to `m + k · M`, where m is the row of A whose scales the thread provides. In each group of
    /// four lanes, lanes 2 and 3 repeat the rows of lanes 0 and 1; they provide the scales if the constant `thread` is 1.
    #[doc(alias = "SFALayout")]
    #[must_use]
    pub fn layout_a(&self) -> Layout {
        layouts::scale_a(self.k)
    }

    /// Returns the layout that maps (thread, k) to `n + k · N`, where n is the column of B whose scales the thread provides. The layout
    /// assigns the same column to all four lanes of a group; the constant `thread` selects the lane that provides its scales.
    #[doc(alias = "SFBLayout")]
    #[must_use]
    pub fn layout_b(&self) -> Layout {
        layouts::scale_b(self.k)
    }
}
