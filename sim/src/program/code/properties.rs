//! The properties of an instruction that analyses, the scheduler, checks and reports need before the instruction is executed.
//!
//! Each property is specified once, next to the operations of its family, in a match without a wildcard, so that a new operation does not
//! compile until its properties are specified.

use crate::program::code::{Op, Place, Reg, Space};

/// The properties of one instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Properties<'o> {
    /// The memory elements that the instruction loads, stores or updates.
    pub(crate) element: Option<Element>,
    /// Whether other blocks may observe its effects or communicate through it, in which case the blocks of the kernel take turns.
    pub(crate) meets_blocks: bool,
    /// Whether it may write to global memory non-atomically.
    pub(crate) writes_global: bool,
    /// Whether lanes may exchange values through it, so that other groups of the warp should run soon.
    pub(crate) meets_lanes: bool,
    /// The likelihood that a loop waits for this instruction, or 0 if loops never wait for it.
    pub(crate) awaits: u8,
    /// The registers whose undefined bits it propagates; all other registers that it reads must be defined.
    pub(crate) passes: Passes<'o>,
    /// The agent that accesses memory for it.
    pub(crate) agent: Agent,
    /// Whether it is a reduction by an asynchronous engine; such reductions are atomic with respect to each other.
    pub(crate) reduces: bool,
    /// The instructions to which it passes control.
    pub(crate) flow: Flow<'o>,
    /// The effect on earlier loads of the thread whose values have not been used.
    pub(crate) in_flight: InFlight,
}

/// The instructions to which an instruction passes control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow<'o> {
    /// The following instruction; the caller returns to it after a call.
    Next,
    /// One of these, or the following instruction if a guard does not hold.
    To(&'o [u32]),
    /// None, or the following instruction if a guard does not hold.
    Ends,
}

/// The effect of an instruction on its thread's loads that may still be in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InFlight {
    /// No effect.
    Remain,
    /// The instruction is such a load.
    Begins,
    /// The instruction releases the memory to other threads without waiting for the loads.
    Released,
    /// The instruction waits for the block, which completes the loads.
    Complete,
}

/// An element in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The state space, or `None` if it is not known.
    pub(crate) space: Option<Space>,
    pub(crate) bytes: u8,
}

/// A set of registers of an instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Passes<'o> {
    Nothing,
    Everything,
    Register(Reg),
    /// The arguments of a call.
    Arguments(&'o [Place]),
    /// The operands of a product.
    Fragments([&'o [Reg]; 3]),
    /// The operands of an asynchronous product that are in registers.
    Words([&'o [super::R]; 2]),
}

impl Passes<'_> {
    /// Returns whether undefined bits of a register are propagated.
    pub(crate) fn includes(self, reg: Reg) -> bool {
        match self {
            Passes::Nothing => false,
            Passes::Everything => true,
            Passes::Register(one) => one == reg,
            Passes::Arguments(places) => places.contains(&Place::Register(reg)),
            Passes::Fragments(operands) => operands.iter().any(|regs| regs.contains(&reg)),
            Passes::Words(operands) => {
                matches!(reg, Reg::R(r) if operands.iter().any(|words| words.contains(&r)))
            }
        }
    }
}

/// The agent that accesses memory for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    /// The thread, if the instruction accesses memory.
    Thread,
    /// `cp.async`.
    Copier,
    /// The engine that performs bulk copies and asynchronous stores.
    Engine,
    /// The tensor cores.
    TensorCores,
}

impl Op {
    /// Returns the properties of this instruction.
    pub(crate) fn properties(&self) -> Properties<'_> {
        match self {
            Op::Alu(_) => Properties { passes: Passes::Everything, ..Properties::DEFAULT },
            Op::Control(control) => control.properties(),
            Op::Memory(memory) => memory.properties(),
            Op::Warp(warp) => warp.properties(),
            Op::Tensor(tensor) => tensor.properties(),
        }
    }
}

impl Properties<'_> {
    /// The properties of an instruction that does not access memory and whose operands must be defined.
    pub(crate) const DEFAULT: Self = Self {
        element: None,
        meets_blocks: false,
        writes_global: false,
        meets_lanes: false,
        awaits: 0,
        passes: Passes::Nothing,
        agent: Agent::Thread,
        reduces: false,
        flow: Flow::Next,
        in_flight: InFlight::Remain,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::code::{Access, Addr, Base, Memory, R, WarpOp};

    fn access(space: Space, strong: bool) -> Access {
        Access {
            space,
            bytes: 4,
            count: 1,
            signed: false,
            half: false,
            float: false,
            strong,
            synchronizes: false,
            relaxed: false,
            meets_blocks: false,
            addr: Addr { base: Base::Frame, offset: 0 },
        }
    }

    #[test]
    fn only_strong_loads_of_global_memory_synchronize_blocks() {
        let meets =
            |space, strong| Op::Memory(Memory::LdR(access(space, strong), R(0))).properties().meets_blocks;
        assert!(meets(Space::Global, true) && meets(Space::Generic, true));
        assert!(!meets(Space::Global, false) && !meets(Space::Shared, true));
    }

    #[test]
    fn a_shuffle_depends_on_its_value_and_not_its_lane() {
        let shfl = crate::program::code::Shfl {
            mode: crate::program::code::ShflMode::Idx,
            d: R(0),
            p: None,
            a: R(1),
            b: R(2),
            c: R(3),
            mask: None,
        };
        let op = Op::Warp(WarpOp::Shfl(Box::new(shfl)));
        assert!(
            op.properties().passes.includes(Reg::R(R(1))) && !op.properties().passes.includes(Reg::R(R(2)))
        );
    }
}
