//! The operations of asynchronous reductions: `red.async`, `cp.reduce.async.bulk`.

use crate::ptx::{kernel::Builder, table, types::Element};

/// The operation that combines an element in memory with a value in an asynchronous reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// The sum.
    Add,
    /// The minimum.
    Min,
    /// The maximum.
    Max,
    /// The element plus 1, or 0 if the element is at least the value.
    Inc,
    /// The element minus 1, or the value if the element is 0 or greater than the value.
    Dec,
    /// The bitwise AND.
    And,
    /// The bitwise OR.
    Or,
    /// The bitwise XOR.
    Xor,
}

/// The mnemonic of a bulk reduction in global memory, without the operation and the type.
pub(super) const BULK_REDUCTION: &str = "cp.reduce.async.bulk.global.shared::cta.bulk_group";

impl ReduceOp {
    /// All operations.
    pub const ALL: [Self; 8] =
        [Self::Add, Self::Min, Self::Max, Self::Inc, Self::Dec, Self::And, Self::Or, Self::Xor];

    /// Returns the name in PTX, such as `"add"`.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Min => "min",
            Self::Max => "max",
            Self::Inc => "inc",
            Self::Dec => "dec",
            Self::And => "and",
            Self::Or => "or",
            Self::Xor => "xor",
        }
    }

    /// Returns the suffix of a mnemonic for this operation on elements of type `T`.
    fn of<T: Element>(self) -> String {
        let name = self.name();
        match (self, T::NAME) {
            (Self::And | Self::Or | Self::Xor, _) => format!("{name}.b{}", 8 * T::SIZE),
            // In two's complement, the sum has the same bits; `.s64` does not exist.
            (Self::Add, "i64") => "add.u64".into(),
            (Self::Add, "f16" | "bf16") => format!("add.noftz.{}", T::NAME),
            (_, "f16" | "bf16") => format!("{name}.{}", T::NAME),
            _ => format!("{name}.{}", T::MEM),
        }
    }

    /// Returns the mnemonic of `instruction` with this operation on elements of type `T`. If PTX has no such instruction, records an error
    /// and returns `None`.
    #[track_caller]
    pub(super) fn checked<T: Element>(self, k: Builder<'_>, instruction: &str) -> Option<String> {
        let mnemonic = format!("{instruction}.{}", self.of::<T>());
        if table::find(&mnemonic).is_none() {
            self.refuse::<T>(k, instruction);
            return None;
        }
        Some(mnemonic)
    }

    /// Returns whether `instruction`, a reduction through a tensor map, supports this operation on elements of type `T`, and records an
    /// error if it does not. The mnemonics of such instructions do not contain the type. The instructions support the operations of bulk
    /// reductions, except for addition of `i64` and f64.
    #[track_caller]
    pub(super) fn check_tensor<T: Element>(self, k: Builder<'_>, instruction: &str) -> bool {
        let exists = match (self, T::NAME) {
            (Self::Add, "i64" | "f64") => false,
            _ => table::find(&format!("{BULK_REDUCTION}.{}", self.of::<T>())).is_some(),
        };
        if !exists {
            self.refuse::<T>(k, instruction);
        }
        exists
    }

    #[track_caller]
    fn refuse<T: Element>(self, k: Builder<'_>, instruction: &str) {
        k.refuse(format!("`{instruction}` does not support `{}` on {}", self.name(), T::NAME));
    }
}
