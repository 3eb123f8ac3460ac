//! Propagation of undefined bits through instructions that access only registers.

use crate::alu;
use crate::check::undefined::follow::origin;
use crate::lanes::{FULL, Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{Alu, Code, Flow, Reg, Watch};
use crate::report::fault::Where;
use crate::shadow::undefined::{Origin, Taint};

/// Marks the undefined bits in the results of an instruction that the lanes of `mask` are about to execute and the lanes of `guard` may
/// execute.
pub(crate) fn compute(
    cluster: &Cluster<'_>,
    warp: &mut Warp,
    watch: &Watch,
    alu: &Alu,
    guard: u32,
    mask: u32,
) {
    let code = cluster.machine.code;
    let flow = alu.flow();
    let moves = matches!(flow, Flow::Moves { .. } | Flow::Bitwise(..));
    let results = results(warp, code, watch, alu, &flow, mask);
    for lane in lanes(mask | guard) {
        let wild = guard >> lane & 1 == 1;
        let read = if wild { watch.guard.as_slice() } else { &watch.sources };
        let Some((_, taint)) = warp.shadow.undefined.first(read, lane) else {
            warp.shadow.undefined.define(&watch.writes, 1 << lane);
            continue;
        };
        let padding = moves && !wild && warp.shadow.undefined.is_padding(read, lane);
        let origin = origin(&taint, Where { warp: cluster.warp, lane, pc: cluster.pc });
        let origin = Some(Origin { padding, ..origin });
        for (&register, bits) in watch.writes.iter().zip(&results) {
            let bits = if wild { u64::MAX } else { bits[lane] };
            warp.shadow.undefined.set(register, lane, Taint { bits, origin });
        }
    }
}

/// Returns the undefined bits of each result.
fn results(warp: &mut Warp, code: &Code, watch: &Watch, alu: &Alu, flow: &Flow, mask: u32) -> [Lanes64; 4] {
    let undefined = &warp.shadow.undefined;
    let of = |reg: Reg| code.watched.number(reg).map_or([0; 32], |number| undefined.bits(number, mask));
    match *flow {
        Flow::Bitwise(table, operands) => {
            let (values, bits) = (operands.map(|reg| warp.regs.get(reg)), operands.map(of));
            let one = |lane: usize| bitwise(table, values.map(|v| v[lane]), bits.map(|b| b[lane]));
            [std::array::from_fn(|lane| one(lane) & width(operands[0])); 4]
        }
        Flow::Moves { data, controls, .. } => {
            let wild = controls.into_iter().flatten().map(of).fold([0; 32], or);
            let bits = data.map(|reg| reg.map_or([0; 32], of));
            let moved = moved(warp, code, watch, alu, data, &bits, mask);
            moved.map(|bits| std::array::from_fn(|lane| if wild[lane] == 0 { bits[lane] } else { u64::MAX }))
        }
        Flow::Carries | Flow::Mixes => {
            let any = watch.sources.iter().map(|&number| undefined.bits(number, mask)).fold([0; 32], or);
            let carries = matches!(flow, Flow::Carries);
            // From the lowest undefined bit upwards.
            let spread = |bits: u64| match bits {
                0 => 0,
                _ if carries => bits | bits.wrapping_neg(),
                _ => u64::MAX,
            };
            [any.map(spread); 4]
        }
    }
}

fn or(a: Lanes64, b: Lanes64) -> Lanes64 {
    std::array::from_fn(|lane| a[lane] | b[lane])
}

fn width(reg: Reg) -> u64 {
    match reg {
        Reg::R(_) => u32::MAX.into(),
        Reg::D(_) | Reg::Q(_) => u64::MAX,
        Reg::P(_) => 1,
    }
}

/// Returns the bits of a result that depend on undefined bits.
fn bitwise(table: u8, values: [u64; 3], undefined: [u64; 3]) -> u64 {
    let mut may_be = [0, 0];
    for row in 0..8 {
        let possible = |i: usize| {
            let value = if row >> (2 - i) & 1 == 1 { values[i] } else { !values[i] };
            value | undefined[i]
        };
        may_be[usize::from(table >> row & 1)] |= possible(0) & possible(1) & possible(2);
    }
    may_be[0] & may_be[1]
}

/// Returns the positions to which an instruction moves undefined bits, determined by executing it on masks of undefined bits instead of the
/// data.
fn moved(
    warp: &mut Warp,
    code: &Code,
    watch: &Watch,
    alu: &Alu,
    data: [Option<Reg>; 4],
    bits: &[Lanes64; 4],
    mask: u32,
) -> [Lanes64; 4] {
    let results_at: [Option<Reg>; 4] = std::array::from_fn(|i| Some(code.watched.reg(*watch.writes.get(i)?)));
    let saved = [data, results_at].map(|regs| regs.map(|reg| reg.map(|reg| (reg, warp.regs.get(reg)))));
    for (reg, bits) in data.iter().zip(bits) {
        reg.iter().for_each(|&reg| warp.regs.put(reg, FULL, bits));
    }
    alu::execute_portably(&mut warp.regs, alu, mask, 0);
    let results = results_at.map(|reg| reg.map_or([0; 32], |reg| warp.regs.get(reg)));
    for (reg, values) in saved.iter().flatten().flatten() {
        warp.regs.put(*reg, FULL, values);
    }
    results
}
