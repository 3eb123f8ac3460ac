//! Errors of atoms.

use thiserror::Error;

/// The error for an operand that has no fragment because it is in shared memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{operand}: expected an operand in registers, found one in shared memory")]
pub struct NotInRegisters {
    /// The names of the atom and of the operand.
    pub operand: String,
}
