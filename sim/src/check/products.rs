//! The registers of asynchronous products. Accumulators and registers of A must not be accessed before `wgmma.wait_group` (PTX ISA,
//! "wgmma.mma_async"). Registers written by other instructions require a fence, but the accumulators of a chain of products do not (PTX
//! ISA, "wgmma.fence").

use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{ProductRole, ProductTouches};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome, Where};
use crate::shadow::products::{ProductRegister, Unfenced, Use};

/// Checks and tracks one instruction.
pub(super) fn follow(cluster: &mut Cluster<'_>, warp: &mut Warp, touches: &ProductTouches) -> Outcome<()> {
    let ProductTouches { role, reads, writes } = touches;
    let pc = cluster.pc;
    let mut fault = None;
    let mut wrong = |at: u32, what: &str| {
        let message = format!("wgmma in flight: {what} before wgmma.wait_group");
        fault = fault.take().or(Some((FindingKind::WgmmaInFlight, message, at)));
    };
    let products = &mut warp.shadow.products;
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
            let other = (at != u32::MAX).then_some(Where { warp: cluster.warp, lane: 0, pc: at });
            cluster.note(Fault::new(kind, message).with(other))
        }
    }
}
