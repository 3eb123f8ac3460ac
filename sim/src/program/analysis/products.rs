//! Finds the registers of asynchronous products (`wgmma`), so that a checked run can detect accesses before the wait.

use std::collections::BTreeMap;

use crate::program::analysis::watch::Touches;
use crate::program::code::{Alu, Code, Op, ProductRole, ProductTouches, R, R1, Reg, Tensor, WgmmaA};

/// Sets the checks of product registers in [`Meta::look`](crate::program::code::Meta::look), once the code is complete.
pub(crate) fn mark(code: &mut Code, touches: &[Touches]) {
    let mut registers: BTreeMap<R, u32> = BTreeMap::new();
    let mut add = |r: R| {
        let next = registers.len() as u32;
        registers.entry(r).or_insert(next);
    };
    for instr in &code.instrs {
        if let Some(wgmma) = wgmma(&instr.op) {
            wgmma.d.iter().copied().for_each(&mut add);
            if let WgmmaA::Registers(a) = &wgmma.a {
                a.iter().copied().for_each(&mut add);
            }
        }
    }
    if registers.is_empty() {
        return;
    }
    // Compilers copy accumulators before waiting for them. ptxas delays or removes such copies.
    loop {
        let before = registers.len();
        for instr in &code.instrs {
            if let Op::Alu(Alu::R1(R1::Mov, d, a)) = instr.op
                && registers.contains_key(&a)
            {
                let next = registers.len() as u32;
                registers.entry(d).or_insert(next);
            }
        }
        if registers.len() == before {
            break;
        }
    }
    let numbers = |regs: &mut dyn Iterator<Item = Reg>| -> Box<[u32]> {
        let number = |reg: Reg| match reg {
            Reg::R(r) => registers.get(&r).copied(),
            _ => None,
        };
        regs.filter_map(number).collect()
    };
    for (at, touches) in touches.iter().enumerate() {
        let (role, reads, writes) = match (&code.instrs[at].op, wgmma(&code.instrs[at].op)) {
            (_, Some(wgmma)) => {
                let a: &[R] = if let WgmmaA::Registers(a) = &wgmma.a { a } else { &[] };
                let d = numbers(&mut wgmma.d.iter().map(|&r| Reg::R(r)));
                (ProductRole::Product, numbers(&mut a.iter().map(|&r| Reg::R(r))), d)
            }
            (Op::Alu(Alu::R1(R1::Mov, d, a)), _) => (
                ProductRole::Copy,
                numbers(&mut [Reg::R(*a)].into_iter()),
                numbers(&mut [Reg::R(*d)].into_iter()),
            ),
            _ => (
                ProductRole::Other,
                numbers(&mut touches.reads.iter().copied()),
                numbers(&mut touches.writes.iter().copied()),
            ),
        };
        if !reads.is_empty() || !writes.is_empty() {
            let look = code.meta[at].look.get_or_insert_default();
            look.products = Some(ProductTouches { role, reads, writes });
        }
    }
    code.product_registers = registers.len() as u32;
}

fn wgmma(op: &Op) -> Option<&crate::program::code::Wgmma> {
    match op {
        Op::Tensor(tensor) => match &**tensor {
            Tensor::Wgmma(wgmma) => Some(wgmma),
            _ => None,
        },
        _ => None,
    }
}
