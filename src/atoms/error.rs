//! Errors of atoms.

use thiserror::Error;

/// The error for an operand without a fragment: the operand is read from shared memory, so its elements have no owner.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{operand}: expected an operand in registers, found one in shared memory")]
pub struct NotInRegisters {
    /// The atom and the operand.
    pub operand: String,
}
