//! Why a launch failed.

use crate::report::{Finding, FindingKind};
use crate::text::error::ParseError;

/// Why a launch did not run, or did not run to its end.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SimError {
    /// The module has no such kernel.
    #[error("the module has no kernel `{name}`; it has {}", .entries.join(", "))]
    UnknownEntry {
        /// The name asked for.
        name: String,
        /// The names there are.
        entries: Vec<String>,
    },
    /// More or fewer arguments than parameters.
    #[error("kernel `{kernel}`: expected {expected} arguments, found {found}")]
    ArgumentCount {
        /// The kernel.
        kernel: String,
        /// Parameters.
        expected: usize,
        /// Arguments.
        found: usize,
    },
    /// An argument of another size than its parameter.
    #[error(
        "argument {index} of kernel `{kernel}`: parameter `{name}` of type .{ty} takes {expected} bytes, found {found}"
    )]
    ArgumentSize {
        /// The kernel.
        kernel: String,
        /// Which argument, from 0.
        index: usize,
        /// The parameter's name.
        name: String,
        /// The parameter's type.
        ty: String,
        /// Bytes of the parameter.
        expected: usize,
        /// Bytes of the argument.
        found: usize,
    },
    /// A grid, block or cluster that cannot be launched.
    #[error("kernel `{kernel}` cannot be launched so: {reason}")]
    Shape {
        /// The kernel.
        kernel: String,
        /// What is wrong.
        reason: String,
    },
    /// The kernel, or something that it calls, contains an instruction that the simulator does not support.
    #[error("kernel `{kernel}` cannot run: {}, line {}", .error.message(), .error.line())]
    Unsupported {
        /// The kernel.
        kernel: String,
        /// The instruction.
        error: ParseError,
    },
    /// A finding of the kernel that stopped the run.
    #[error("{0}")]
    Fault(Box<Finding>),
}

impl SimError {
    /// The finding that stopped the run, if a finding of the kernel did.
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            SimError::Fault(finding) => Some(finding),
            _ => None,
        }
    }

    /// The kind of that finding.
    pub fn kind(&self) -> Option<FindingKind> {
        self.finding().map(|finding| finding.kind)
    }
}
