//! An operand of a matrix instruction: its type and its layout.

use super::{Group, layouts};
use crate::{atoms::mma_type::MmaType, layout::Layout, ptx::RegClass};

/// An operand of a matrix instruction, which computes D = A·B + C.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MmaOperand {
    /// Matrix A: m rows, k columns.
    A,
    /// Matrix B, transposed, as in CuTe: n rows, k columns.
    B,
    /// Matrix C: m rows, n columns.
    C,
    /// Matrix D: m rows, n columns.
    D,
}

impl MmaOperand {
    /// All four operands.
    pub const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];
}

/// The location of an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Registers of the threads.
    Registers,
    /// Shared memory, through a descriptor.
    Shared,
}

/// The storage order of the elements of A or B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Major {
    /// Elements are contiguous along k: A is row-major, and B is column-major.
    K,
    /// Elements are contiguous along m or n: A is column-major, and B is row-major.
    Mn,
}

/// The representation of an operand.
#[derive(Debug, Clone, Copy)]
pub(super) struct Registers {
    pub(super) ty: MmaType,
    pub(super) source: Source,
    pub(super) majors: &'static [Major],
    pub(super) class: RegClass,
    /// The number of elements per register.
    pub(super) per_register: u32,
    /// The number of registers per element; 1 unless an element is larger than a register.
    pub(super) parts: u32,
}

impl Registers {
    /// Returns the representation with elements packed into 32-bit registers, or with one or more registers per element.
    pub(super) const fn packed(ty: MmaType) -> Self {
        let class = match ty {
            MmaType::F32 => RegClass::F32,
            MmaType::F64 | MmaType::C64 | MmaType::Gc64 => RegClass::F64,
            _ => RegClass::B32,
        };
        let per_register = if ty.bits() > 32 { 1 } else { 32 / ty.bits() };
        let parts = if ty.bits() > 64 { ty.bits() / 64 } else { 1 };
        Registers { ty, source: Source::Registers, majors: &[], class, per_register, parts }
    }

    /// Returns the representation with one element per register; 16-bit elements use 16-bit registers.
    pub(super) const fn single(ty: MmaType) -> Self {
        let packed = Self::packed(ty);
        let class = if ty.bits() == 16 { RegClass::Half } else { packed.class };
        Registers { class, per_register: 1, ..packed }
    }

    /// Returns the representation of A or B with a single order.
    pub(super) const fn ordered(self, major: Major) -> Self {
        let majors: &[Major] = match major {
            Major::K => &[Major::K],
            Major::Mn => &[Major::Mn],
        };
        Registers { majors, ..self }
    }

    /// Returns the same representation with elements in 8-bit containers.
    pub(super) const fn in_bytes(self) -> Self {
        Registers { per_register: 4, ..self }
    }

    /// Returns the representation of A or B in shared memory, accessed through a descriptor.
    pub(super) const fn shared(self, majors: &'static [Major]) -> Self {
        Registers { source: Source::Shared, majors, class: RegClass::B64, ..self }
    }

    /// Returns the (thread, value) layout. Each stored value of a register represents `sparse` elements.
    pub(super) fn layout(&self, group: Group, (rows, cols): (u32, u32), sparse: u32) -> Layout {
        match (group, self.source) {
            (_, Source::Shared) => layouts::shared(rows, cols),
            (Group::Thread, _) => layouts::scalar(cols),
            (Group::QuadPair, _) => match self.majors {
                [major] => layouts::quad_pair_factor(*major == Major::K),
                _ => layouts::quad_pair_sum(self.ty.bits()),
            },
            (Group::Warp | Group::Warpgroup, _) => {
                // C and D: two elements per pair of registers, or per register of f16.
                let per_register = if self.majors.is_empty() { 2 } else { self.per_register * sparse };
                layouts::fragment(rows, cols, per_register)
            }
        }
    }
}
