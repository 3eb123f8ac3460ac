//! Registers of asynchronous products (PTX ISA, "wgmma.mma_async": accumulators and A must not be touched before
//! `wgmma.wait_group`; "wgmma.fence": what other instructions wrote needs a fence before).

use crate::sim::code::{ProductRole, ProductTouches};
use crate::sim::fault::{Fault, Outcome, Where};
use crate::sim::machine::Cx;
use crate::sim::report::FindingKind;
use crate::sim::warp::Warp;

/// What a product that was not waited for does with a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::sim) enum Use {
    #[default]
    None,
    /// Its group, and the instruction.
    Accumulates(u32, u32),
    Reads(u32, u32),
}

/// One register of products.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::sim) struct ProductRegister {
    used: Use,
    /// Written by other instructions since the last `wgmma.fence`.
    unfenced: bool,
}

/// The registers of one warp's products.
#[derive(Debug, Default)]
pub(in crate::sim) struct ProductRegisters {
    registers: Vec<ProductRegister>,
    /// Groups that were waited for, and the group that products now belong to.
    done: u32,
    open: u32,
    any: bool,
}

impl ProductRegisters {
    pub(in crate::sim) fn start(&mut self, registers: u32) {
        self.registers.clear();
        self.registers.resize(registers as usize, ProductRegister::default());
        (self.done, self.open, self.any) = (0, 0, false);
    }

    pub(in crate::sim) fn commit(&mut self) {
        self.open += 1;
    }

    pub(in crate::sim) fn wait(&mut self, n: u32) {
        self.done = self.done.max(self.open.saturating_sub(n));
        self.any = self.registers.iter().any(|register| self.in_flight(register.used).is_some());
    }

    pub(in crate::sim) fn fence(&mut self) {
        self.registers.iter_mut().for_each(|register| register.unfenced = false);
    }

    /// The instruction of a product that is still in flight, if it is.
    fn in_flight(&self, used: Use) -> Option<u32> {
        match used {
            Use::Accumulates(group, pc) | Use::Reads(group, pc) if group >= self.done => Some(pc),
            _ => None,
        }
    }

    /// Some product nobody has waited for.
    pub(in crate::sim) fn unwaited(&self) -> Option<u32> {
        if !self.any {
            return None;
        }
        let accumulates = |r: &&ProductRegister| matches!(r.used, Use::Accumulates(..));
        self.registers.iter().filter(accumulates).find_map(|register| self.in_flight(register.used))
    }
}

/// Follows one instruction.
pub(super) fn follow(cx: &mut Cx<'_>, warp: &mut Warp, touches: &ProductTouches) -> Outcome<()> {
    let ProductTouches { role, reads, writes } = touches;
    let pc = cx.pc;
    let mut fault = None;
    let mut wrong = |at: u32, what: &str| {
        let message = format!("wgmma in flight: {what} before wgmma.wait_group");
        fault = fault.take().or(Some((FindingKind::WgmmaInFlight, message, at)));
    };
    let products = &mut warp.products;
    for &register in reads {
        let used = products.registers[register as usize].used;
        if let (Use::Accumulates(..), true, Some(at)) =
            (used, *role != ProductRole::Copy, products.in_flight(used))
        {
            wrong(at, "an accumulator is read");
        }
    }
    for &register in writes.iter().filter(|_| *role == ProductRole::Other) {
        let used = products.registers[register as usize].used;
        match (used, products.in_flight(used)) {
            (Use::Accumulates(..), Some(at)) => wrong(at, "an accumulator is written"),
            (Use::Reads(..), Some(at)) => wrong(at, "a register that holds A is written"),
            _ => {}
        }
    }
    match role {
        ProductRole::Product => {
            let unfenced = reads.iter().find(|&&register| products.registers[register as usize].unfenced);
            if unfenced.is_some() {
                let message =
                    "missing wgmma.fence: registers that hold A were written since the last one".to_string();
                fault = fault.or(Some((FindingKind::MissingWgmmaFence, message, u32::MAX)));
            }
            let open = products.open;
            for &register in reads {
                products.registers[register as usize].used = Use::Reads(open, pc);
            }
            for &register in writes {
                products.registers[register as usize].used = Use::Accumulates(open, pc);
            }
            products.any = true;
        }
        ProductRole::Copy => {
            if let [to] = writes[..] {
                let from = reads.first().map(|&from| products.registers[from as usize].used);
                products.registers[to as usize].used = from.unwrap_or_default();
            }
        }
        ProductRole::Other => {
            for &register in writes {
                products.registers[register as usize] = ProductRegister { used: Use::None, unfenced: true };
            }
        }
    }
    match fault {
        None => Ok(()),
        Some((kind, message, at)) => {
            let other = (at != u32::MAX).then_some(Where { warp: cx.warp, lane: 0, pc: at });
            cx.note(Fault::new(kind, message).with(other))
        }
    }
}
