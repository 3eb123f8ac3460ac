//! Registers of asynchronous products (PTX ISA, "wgmma.mma_async": accumulators and A must not be touched before
//! `wgmma.wait_group`; "wgmma.fence": what other instructions wrote needs a fence before, accumulators of a chain of products do not).

use crate::code::{ProductRole, ProductTouches};
use crate::fault::{Fault, Outcome, Where};
use crate::machine::Cx;
use crate::report::FindingKind;
use crate::warp::Warp;

/// What a product that was not waited for does with a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Use {
    #[default]
    None,
    /// Its group, and the instruction.
    Accumulates(u32, u32),
    Reads(u32, u32),
}

/// One register of products.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProductRegister {
    used: Use,
    /// Who wrote it since the last `wgmma.fence`.
    unfenced: Unfenced,
}

/// A write that the next product needs a fence for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unfenced {
    #[default]
    None,
    /// By `mov` of what is no product's register. Compilers set accumulators so, right before the product that takes them; the
    /// fence then stands before the `mov`.
    Set,
    /// By any other instruction.
    Computed,
}

/// The registers of one warp's products.
#[derive(Debug, Default)]
pub(crate) struct ProductRegisters {
    registers: Vec<ProductRegister>,
    /// Groups that were waited for, and the group that products now belong to.
    done: u32,
    open: u32,
    any: bool,
    /// There was a fence since the last wait, or since the warp started.
    fenced: bool,
}

impl ProductRegisters {
    pub(crate) fn start(&mut self, registers: u32) {
        self.registers.clear();
        self.registers.resize(registers as usize, ProductRegister::default());
        (self.done, self.open, self.any, self.fenced) = (0, 0, false, false);
    }

    pub(crate) fn commit(&mut self) {
        self.open += 1;
    }

    pub(crate) fn wait(&mut self, n: u32) {
        self.done = self.done.max(self.open.saturating_sub(n));
        self.any = self.registers.iter().any(|register| self.in_flight(register.used).is_some());
        self.fenced = false;
    }

    pub(crate) fn fence(&mut self) {
        self.registers.iter_mut().for_each(|register| register.unfenced = Unfenced::None);
        self.fenced = true;
    }

    /// What a product wants to be fenced first, if something.
    fn missing_fence(&self, a: &[u32], accumulators: &[u32]) -> Option<&'static str> {
        let unfenced = |register: &u32| self.registers[*register as usize].unfenced;
        if a.iter().any(|register| unfenced(register) == Unfenced::Computed) {
            return Some("registers that hold A were written since the last one");
        }
        let late = |register: &u32| match unfenced(register) {
            Unfenced::None => false,
            Unfenced::Set => !self.fenced,
            Unfenced::Computed => true,
        };
        accumulators.iter().any(late).then_some("accumulators were written since the last one")
    }

    /// The instruction of a product that is still in flight, if it is.
    fn in_flight(&self, used: Use) -> Option<u32> {
        match used {
            Use::Accumulates(group, pc) | Use::Reads(group, pc) if group >= self.done => Some(pc),
            _ => None,
        }
    }

    /// Some product nobody has waited for.
    pub(crate) fn unwaited(&self) -> Option<u32> {
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
            if let Some(what) = products.missing_fence(reads, writes) {
                let message = format!("missing wgmma.fence: {what}");
                fault = fault.or(Some((FindingKind::MissingWgmmaFence, message, u32::MAX)));
            }
            let open = products.open;
            for &register in reads {
                products.registers[register as usize].used = Use::Reads(open, pc);
            }
            for &register in writes {
                let used = Use::Accumulates(open, pc);
                products.registers[register as usize] = ProductRegister { used, unfenced: Unfenced::None };
            }
            products.any = true;
        }
        ProductRole::Copy => {
            if let [to] = writes[..] {
                let set = ProductRegister { used: Use::None, unfenced: Unfenced::Set };
                products.registers[to as usize] =
                    reads.first().map_or(set, |&from| products.registers[from as usize]);
            }
        }
        ProductRole::Other => {
            for &register in writes {
                products.registers[register as usize] =
                    ProductRegister { used: Use::None, unfenced: Unfenced::Computed };
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
