//! Watching a run, one instruction at a time.

use std::fmt;
use std::sync::Arc;

use crate::machine::Cx;
use crate::machine::warp::Warp;
use crate::program::code::Reg;
use crate::program::module::Module;

/// Which instructions are told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trace {
    /// Those on a line of the text, from 1.
    Line(u32),
    /// Those of the warp of this number in its block, in every block.
    Warp(u32),
}

/// Told of every instruction that was asked for.
pub(crate) type OnStep<'a> = dyn Fn(&Step<'_>) + Send + Sync + 'a;

/// An instruction that some lanes of a warp have executed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Step<'m> {
    /// The block's coordinates in the grid.
    pub block: [u32; 3],
    /// The warp's number in its block.
    pub warp: u32,
    /// The lanes, as a mask.
    pub lanes: u32,
    /// 1-based line of the PTX text.
    pub line: u32,
    /// That line, without white space at its ends.
    pub text: &'m str,
    /// Registers it wrote, then those it read, with what they hold now.
    pub registers: Vec<Register>,
}

/// A register and what it holds in each lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Register {
    /// Its name in the text.
    pub name: Arc<str>,
    /// Bits of it: 1, 32, 64 or 128; narrower ones are stored in 32.
    pub bits: u32,
    /// By lane.
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
            // One value for all is told once.
            let told = if values.windows(2).all(|pair| pair[0] == pair[1]) { 1 } else { values.len() };
            values[..told.min(values.len())].iter().try_for_each(|value| write!(f, " {value:#x}"))?;
        }
        Ok(())
    }
}

/// A trace that was asked for, and of which text.
pub(crate) struct Tracer<'a> {
    pub(crate) what: Trace,
    pub(crate) tell: &'a OnStep<'a>,
    pub(crate) module: &'a Module,
}

impl Tracer<'_> {
    /// Tells of the instruction at `pc`, if it is one of those asked for.
    pub(crate) fn executed(&self, cx: &Cx<'_>, warp: &Warp, pc: u32, lanes: u32) {
        let code = cx.machine.code;
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
            block: cx.ctas[warp.cta].id,
            warp: warp.index,
            lanes,
            line,
            text: self.module.line(line).trim(),
            registers: code.operands[pc as usize].iter().filter_map(register).collect(),
        };
        (self.tell)(&step);
    }
}

/// Bits of a register, and its values by lane.
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
