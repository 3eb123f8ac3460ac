//! How undefined bits spread through instructions that only read and write registers.

use crate::alu;
use crate::check::undefined::follow::origin;
use crate::lanes::{FULL, Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{Alu, Code, D1, D2, D3, DR, Logic, Narrow, R1, R2, R3, Reg, Watch};
use crate::report::fault::Where;
use crate::shadow::undefined::{Origin, Taint};

/// How the bits of the results depend on those of the operands.
enum Flow {
    /// Each bit of the single result depends on the bits at the same position, by the table of `lop3`.
    Bitwise(u8, [Reg; 3]),
    /// Each bit of the results is one of the data, or a constant; which one, the controls say.
    Moves { data: [Option<Reg>; 4], controls: [Option<Reg>; 2] },
    /// Each bit depends on those at the same position and below.
    Carries,
    /// All on all.
    Mixes,
}

const A: u8 = 0xf0;
const B: u8 = 0xcc;

fn data<const N: usize, const C: usize>(data: [Reg; N], controls: [Reg; C]) -> Flow {
    Flow::Moves {
        data: std::array::from_fn(|i| data.get(i).copied()),
        controls: std::array::from_fn(|i| controls.get(i).copied()),
    }
}

fn flow(alu: &Alu) -> Flow {
    use Reg::{D, P, R};
    match *alu {
        Alu::R1(f, _, a) => match f {
            R1::Not | R1::Not16 => Flow::Bitwise(!A, [R(a); 3]),
            R1::Mov | R1::Mov16 | R1::Brev | R1::Sext8 | R1::Sext16 | R1::Sext8To16 | R1::Zext8 => {
                data([R(a)], [])
            }
            R1::Neg | R1::Neg16 => Flow::Carries,
            _ => Flow::Mixes,
        },
        Alu::R2(f, _, a, b) => match f {
            R2::And => Flow::Bitwise(A & B, [R(a), R(b), R(b)]),
            R2::Or => Flow::Bitwise(A | B, [R(a), R(b), R(b)]),
            R2::Xor => Flow::Bitwise(A ^ B, [R(a), R(b), R(b)]),
            R2::Shl | R2::ShrU | R2::ShrS | R2::Shl16 | R2::ShrU16 | R2::ShrS16 => data([R(a)], [R(b)]),
            R2::Add | R2::Sub | R2::MulLo | R2::Add16 | R2::Sub16 | R2::MulLo16 => Flow::Carries,
            _ => Flow::Mixes,
        },
        Alu::R3(f, _, a, b, c) => match f {
            R3::BfeU | R3::BfeS => data([R(a)], [R(b), R(c)]),
            R3::ShfLClamp | R3::ShfLWrap | R3::ShfRClamp | R3::ShfRWrap => data([R(a), R(b)], [R(c)]),
            R3::Prmt | R3::PrmtF4e | R3::PrmtB4e | R3::PrmtRc8 | R3::PrmtEcl | R3::PrmtEcr | R3::PrmtRc16 => {
                data([R(a), R(b)], [R(c)])
            }
            R3::MadLo | R3::MadLo16 => Flow::Carries,
            _ => Flow::Mixes,
        },
        Alu::Lop3(_, a, b, c, table) => Flow::Bitwise(table, [R(a), R(b), R(c)]),
        Alu::Bfi(_, a, b, position, length) => data([R(a), R(b)], [R(position), R(length)]),
        Alu::D1(f, _, a) => match f {
            D1::Not => Flow::Bitwise(!A, [D(a); 3]),
            D1::Abs | D1::Cnot => Flow::Mixes,
            D1::Mov
            | D1::Brev
            | D1::Sext8
            | D1::Sext16
            | D1::Sext32
            | D1::Zext8
            | D1::Zext16
            | D1::Zext32 => data([D(a)], []),
            // Negation, and addresses to and from generic ones.
            _ => Flow::Carries,
        },
        Alu::D2(f, _, a, b) => match f {
            D2::And => Flow::Bitwise(A & B, [D(a), D(b), D(b)]),
            D2::Or => Flow::Bitwise(A | B, [D(a), D(b), D(b)]),
            D2::Xor => Flow::Bitwise(A ^ B, [D(a), D(b), D(b)]),
            D2::Add | D2::Sub | D2::MulLo => Flow::Carries,
            _ => Flow::Mixes,
        },
        Alu::D3(D3::MadLo, ..) | Alu::MulWide { .. } | Alu::MadWide { .. } => Flow::Carries,
        Alu::DR(DR::Shl | DR::ShrU | DR::ShrS, _, a, b) => data([D(a)], [R(b)]),
        Alu::BfeD { a, position, length, .. } => data([D(a)], [R(position), R(length)]),
        Alu::BfiD { a, b, position, length, .. } => data([D(a), D(b)], [R(position), R(length)]),
        Alu::Widen(_, _, a) => data([R(a)], []),
        Alu::Narrow(Narrow::Low | Narrow::Low16 | Narrow::Low8, _, a) => data([D(a)], []),
        Alu::MovP { a, negate: false, .. } => data([P(a)], []),
        Alu::MovP { a, .. } => Flow::Bitwise(!A, [P(a); 3]),
        Alu::LogicP(logic, _, a, b) => {
            let table = match logic {
                Logic::And => A & B,
                Logic::Or => A | B,
                Logic::Xor => A ^ B,
            };
            Flow::Bitwise(table, [P(a), P(b), P(b)])
        }
        Alu::PackHalves(_, lo, hi) | Alu::PackWords(_, lo, hi) => data([R(lo), R(hi)], []),
        Alu::SplitHalves(.., a) => data([R(a)], []),
        Alu::SplitWords(.., a) => data([D(a)], []),
        Alu::Pack { d, ref parts, .. } if !is_quad(d) => {
            Flow::Moves { data: std::array::from_fn(|i| parts.get(i).copied()), controls: [None; 2] }
        }
        Alu::Split { a, .. } if !is_quad(a) => data([a], []),
        Alu::SelectR(_, a, b, p) => data([R(a), R(b)], [P(p)]),
        Alu::SelectD(_, a, b, p) => data([D(a), D(b)], [P(p)]),
        Alu::Slct { a, b, c, .. } => data([a, b], [R(c)]),
        _ => Flow::Mixes,
    }
}

/// 128-bit registers are undefined as a whole.
fn is_quad(reg: Reg) -> bool {
    matches!(reg, Reg::Q(_))
}

/// Marks what is undefined in the results of an instruction that the lanes of `mask` are about to execute, and those
/// of `guard` perhaps.
pub(crate) fn compute(
    cluster: &Cluster<'_>,
    warp: &mut Warp,
    watch: &Watch,
    alu: &Alu,
    guard: u32,
    mask: u32,
) {
    let code = cluster.machine.code;
    let flow = flow(alu);
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

/// The undefined bits of each result.
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

/// The bits of a result that both values of some undefined bit may give.
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

/// Where an instruction moves the undefined bits of its data to: it is executed on them in place of the data.
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
