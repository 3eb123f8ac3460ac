//! Undefined values in memory: loads, stores, and stores whose values leave the block.

use crate::shadow::undefined::Partial;
use crate::shadow::written::{Written, low_bytes};

use crate::check::undefined::follow::{misuse, origin, tell};
use crate::lanes::{FULL, Lanes32, Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::warp::Warp;
use crate::program::code::{Access, Code, R, Reg};
use crate::report::FindingKind;
use crate::report::fault::{Outcome, Where};
use crate::shadow::undefined::{Origin, Taint, Undefined};

/// Propagates undefined bits through a load by the instruction `at` in the lanes of `m`.
#[cold]
pub(crate) fn load<M: Partial>(
    (code, at): (&Code, Where),
    undefined: &mut Undefined,
    memory: &M,
    access: &Access,
    d: &[Reg],
    all: &Lanes64,
    m: u32,
) {
    for lane in lanes(m) {
        // In shared memory, compilers copy padding only with certain kinds of accesses.
        let may_be_padding = M::KIND != FindingKind::UninitializedSharedRead || access.may_be_padding();
        let padding = may_be_padding && memory.touched(lane, access.structure(all[lane]));
        for (i, &reg) in (0..).zip(d) {
            let Some(register) = code.watched.number(reg) else { continue };
            let address = all[lane] + u64::from(access.bytes) * i;
            let (bits, origin) = element(memory, lane, address, access);
            let address = Some(address + u64::from(bits.trailing_zeros()) / 8);
            let unwritten = Origin { kind: M::KIND, at: Where { lane, ..at }, address, padding };
            let partly = bits & low_bytes(access.bytes.into()) != low_bytes(access.bytes.into());
            let mut origin = origin.unwrap_or(unwritten);
            // Bit fields are set one by one in words that may not have been written before.
            origin.padding |=
                partly && (may_be_padding || origin.kind != FindingKind::UninitializedSharedRead);
            undefined.set(register, lane, Taint { bits, origin: Some(origin) });
        }
    }
}

/// Propagates undefined bits through `ldmatrix`: eight rows for each register, whose words `place` distributes to the lanes.
#[cold]
pub(crate) fn load_matrices(
    (code, at): (&Code, Where),
    undefined: &mut Undefined,
    memory: &Written,
    d: &[R],
    rows: &Lanes64,
    place: impl Fn(&Lanes32) -> Lanes32,
) {
    for (matrix, (rows, &reg)) in rows.chunks_exact(8).zip(d).enumerate() {
        let Some(register) = code.watched.number(Reg::R(reg)) else { continue };
        let word = |i: usize| rows[i / 4] + 4 * (i as u64 % 4);
        let words: [_; 32] = std::array::from_fn(|i| memory.undefined(0, word(i), 4));
        let first = words.iter().position(|(bits, _)| *bits != 0).unwrap_or(0);
        let origin = words[first].1.unwrap_or_else(|| {
            let at = Where { lane: 8 * matrix + first / 4, ..at };
            Origin { kind: Written::KIND, at, address: Some(word(first)), padding: false }
        });
        let bits = place(&words.map(|(bits, _)| bits as u32));
        for lane in 0..32 {
            undefined.set(register, lane, Taint { bits: bits[lane].into(), origin: Some(origin) });
        }
    }
}

/// Propagates undefined bits through `stmatrix`, which stores the words of the lanes to eight rows for each register.
#[cold]
pub(crate) fn store_matrices(
    (code, at): (&Code, Where),
    undefined: &Undefined,
    memory: &mut Written,
    values: &[R],
    rows: &Lanes64,
    place: impl Fn(&Lanes32) -> Lanes32,
) {
    for (rows, &reg) in rows.chunks_exact(8).zip(values) {
        let Some(register) = code.watched.number(Reg::R(reg)) else { continue };
        let Some((lane, taint)) =
            (0..32).map(|lane| (lane, undefined.get(register, lane))).find(|(_, taint)| taint.bits != 0)
        else {
            continue;
        };
        let origin = origin(&taint, Where { lane, ..at });
        let words = place(&undefined.bits(register, FULL).map(|bits| bits as u32));
        for (i, &bits) in words.iter().enumerate() {
            memory.undefine(0, (rows[i / 4] + 4 * (i as u64 % 4), 4), bits.into(), origin);
        }
    }
}

/// Returns the undefined bits of an element in its register. A 128-bit element is undefined as a whole if any of its bits is.
fn element<M: Partial>(memory: &M, lane: usize, address: u64, access: &Access) -> (u64, Option<Origin>) {
    let bytes = u64::from(access.bytes);
    if bytes == 16 {
        let (low, high) = (memory.undefined(lane, address, 8), memory.undefined(lane, address + 8, 8));
        return (if low.0 | high.0 == 0 { 0 } else { u64::MAX }, low.1.or(high.1));
    }
    let (bits, origin) = memory.undefined(lane, address, bytes);
    let sign = access.signed && bits >> (8 * bytes - 1) & 1 == 1;
    (if sign { bits | !low_bytes(bytes) } else { bits }, origin)
}

/// Returns the undefined bits of up to 8 bytes of a lane's local memory.
pub(crate) fn of_local(cluster: &Cluster<'_>, warp: &Warp, lane: usize, address: u64, bytes: u64) -> Taint {
    let (bits, origin) = warp.local.undefined(lane, address, bytes);
    let at = Where { warp: cluster.warp, lane, pc: cluster.pc };
    let address = Some(address);
    let unwritten = Origin { kind: FindingKind::UninitializedLocalRead, at, address, padding: false };
    Taint { bits, origin: Some(origin.unwrap_or(unwritten)) }
}

/// Propagates undefined bits through a store by the instruction `at` in the lanes of `m`.
#[cold]
pub(crate) fn store<M: Partial>(
    (code, at): (&Code, Where),
    undefined: &Undefined,
    memory: &mut M,
    access: &Access,
    values: &[Reg],
    all: &Lanes64,
    m: u32,
) {
    let bytes = u64::from(access.bytes);
    for (i, &reg) in (0..).zip(values) {
        let Some(register) = code.watched.number(reg) else { continue };
        for lane in lanes(m) {
            let taint = undefined.get(register, lane);
            let bits = taint.bits & low_bytes(bytes);
            if bits == 0 {
                continue;
            }
            // An object of an empty class occupies a byte that is never written but is copied.
            let empty = taint.origin.is_none() && bytes == 1;
            let mut origin = origin(&taint, Where { lane, ..at });
            origin.padding |= empty;
            for part in (0..bytes).step_by(8) {
                memory.undefine(lane, (all[lane] + bytes * i + part, bytes.min(8)), bits, origin);
            }
        }
    }
}

/// Checks a store by the lanes of `m` to global memory, from which the host can read the values. Padding is harmless.
#[cold]
pub(crate) fn leave(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    access: &Access,
    values: &[Reg],
    m: u32,
) -> Outcome<()> {
    let code = cluster.machine.code;
    let mut fault = None;
    for register in values.iter().filter_map(|&reg| code.watched.number(reg)) {
        for lane in lanes(m) {
            let taint = warp.shadow.undefined.get(register, lane);
            let padding = taint.origin.is_some_and(|origin| origin.padding);
            if taint.bits & low_bytes(access.bytes.into()) != 0 && !padding {
                let name = code.watched.name(register);
                fault = fault.or_else(|| misuse(cluster, lane, &taint, &format!("`{name}`")));
                warp.shadow.undefined.set(register, lane, Taint::NONE);
            }
        }
    }
    fault.map_or(Ok(()), |fault| tell(cluster, fault))
}
