//! Tracing: observing a run one instruction at a time.

use std::fmt;
use std::sync::Arc;

use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::Reg;
use crate::program::module::Module;

/// The selection of the instructions to trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// The instructions on this 1-based line of the PTX text.
    Line(u32),
    /// The instructions that the warp with this index executes in each block.
    Warp(u32),
}

/// The listener for traced instructions.
pub(crate) type OnStep<'a> = dyn Fn(&Step<'_>) + Send + Sync + 'a;

/// The execution of one instruction by some or all lanes of a warp.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step<'m> {
    /// The block's coordinates in the grid.
    pub block: [u32; 3],
    /// The index of the warp in its block.
    pub warp: u32,
    /// The mask of the lanes that executed the instruction.
    pub lanes: u32,
    /// The 1-based line of the instruction in the PTX text.
    pub line: u32,
    /// The text of this line, without leading or trailing white space.
    pub text: &'m str,
    /// The registers that the instruction wrote, followed by those that it read, with their values after execution.
    pub registers: Vec<Register>,
}

/// A register and its value in each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// The name in the PTX text.
    pub name: Arc<str>,
    /// The number of bits in which the register is stored: 1 (predicates), 32, 64 or 128. Registers of 8 and 16 bits are stored in 32 bits.
    pub bits: u32,
    /// The value in each lane.
    pub values: [u128; 32],
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.block;
        let (warp, lanes, line) = (self.warp, self.lanes, self.line);
        write!(f, "block ({x}, {y}, {z}), warp {warp}, lanes {lanes:#010x}, line {line}: {}", self.text)?;
        for register in &self.registers {
            write!(f, "\n    {} =", register.name)?;
            let active = (0..32).filter(|lane| self.lanes >> lane & 1 != 0).map(|lane| register.values[lane]);
            let values: Vec<u128> = active.collect();
            // A value common to all lanes is printed once.
            let told = if values.windows(2).all(|pair| pair[0] == pair[1]) { 1 } else { values.len() };
            values[..told.min(values.len())].iter().try_for_each(|value| write!(f, " {value:#x}"))?;
        }
        Ok(())
    }
}

/// The selection of instructions, the listener, and the module that contains the PTX text.
pub(crate) struct Tracer<'a> {
    pub(crate) what: Trace,
    pub(crate) tell: &'a OnStep<'a>,
    pub(crate) module: &'a Module,
}

impl Tracer<'_> {
    /// Reports the instruction at `pc` to the listener if it is selected.
    pub(crate) fn executed(&self, cluster: &Cluster<'_>, warp: &Warp, pc: u32, lanes: u32) {
        let code = cluster.machine.code;
        let line = code.meta[pc as usize].line;
        let asked = match self.what {
            Trace::Line(asked) => asked == line,
            Trace::Warp(asked) => asked == warp.index,
        };
        if !asked {
            return;
        }
        let register = |reg: &Reg| {
            let name = code.register_names.get(reg)?.clone();
            let (bits, values) = values(warp, *reg);
            Some(Register { name, bits, values })
        };
        let step = Step {
            block: cluster.ctas[warp.cta].id,
            warp: warp.index,
            lanes,
            line,
            text: self.module.line(line).trim(),
            registers: code.operands[pc as usize].iter().filter_map(register).collect(),
        };
        (self.tell)(&step);
    }
}

/// Returns the width of a register, and its values by lane.
fn values(warp: &Warp, reg: Reg) -> (u32, [u128; 32]) {
    match reg {
        Reg::P(p) => {
            let mask = warp.regs.p(p);
            (1, std::array::from_fn(|lane| u128::from(mask >> lane & 1)))
        }
        Reg::R(r) => (32, warp.regs.r(r).map(u128::from)),
        Reg::D(d) => (64, warp.regs.d(d).map(u128::from)),
        Reg::Q(d) => {
            let high = crate::program::code::D(d.0 + 1);
            let (low, high) = (warp.regs.d(d), warp.regs.d(high));
            (128, std::array::from_fn(|lane| u128::from(high[lane]) << 64 | u128::from(low[lane])))
        }
    }
}
