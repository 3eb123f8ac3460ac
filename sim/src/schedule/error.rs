//! Launch errors.

use std::fmt;

use crate::report::{Finding, FindingKind};

/// The reason why a launch did not run or did not complete.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The module does not contain the kernel.
    #[error("the module has no kernel `{name}`; it has {}", .entries.join(", "))]
    UnknownEntry {
        /// The requested name.
        name: String,
        /// The names of the kernels in the module.
        entries: Vec<String>,
    },
    /// The number of arguments differs from the number of parameters.
    #[error("kernel `{kernel}`: expected {expected} arguments, found {found}")]
    ArgumentCount {
        /// The kernel's name.
        kernel: String,
        /// The number of parameters.
        expected: usize,
        /// The number of arguments.
        found: usize,
    },
    /// The size of an argument differs from that of its parameter.
    #[error(
        "argument {index} of kernel `{kernel}`: parameter `{name}` of type .{ty} takes {expected} bytes, found {found}"
    )]
    ArgumentSize {
        /// The kernel's name.
        kernel: String,
        /// The 0-based index of the argument.
        index: usize,
        /// The parameter's name.
        name: String,
        /// The parameter's type.
        ty: String,
        /// The size of the parameter in bytes.
        expected: usize,
        /// The size of the argument in bytes.
        found: usize,
    },
    /// The shape of the grid, block or cluster is invalid.
    #[error("kernel `{kernel}`: invalid launch: {reason}")]
    Shape {
        /// The kernel's name.
        kernel: String,
        /// The reason.
        reason: String,
    },
    /// The kernel, or one of its callees, contains an instruction that the simulator does not support.
    #[error("kernel `{kernel}` cannot run: {reason}, line {line}")]
    Unsupported {
        /// The kernel's name.
        kernel: String,
        /// The instruction and the reason why it is not supported.
        reason: String,
        /// The 1-based line of the instruction in the PTX text.
        line: u32,
    },
    /// A finding stopped the run.
    #[error("{0}")]
    Fault(Box<Finding>),
}

impl SimError {
    /// Returns the finding that stopped the run, if any.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            SimError::Fault(finding) => Some(finding),
            _ => None,
        }
    }

    /// Returns the kind of the finding that stopped the run, if any.
    pub fn kind(&self) -> Option<FindingKind> {
        self.finding().map(|finding| finding.kind)
    }
}

/// Formats the message like `Display`, because a program whose `main` returns an error prints it with `Debug`.
impl fmt::Debug for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
