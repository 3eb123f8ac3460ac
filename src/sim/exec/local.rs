//! Local memory: each lane's own, interleaved so that equal addresses of all lanes lie side by side.

use super::lanes::{Lanes32, Lanes64, mask_of};
use super::memory::{View, read, write};
use crate::sim::code::{Access, Reg};
use crate::sim::fault::{Fault, Outcome};
use crate::sim::launch::Checks;
use crate::sim::machine::Cx;
use crate::sim::report::FindingKind;
use crate::sim::warp::Warp;

/// Local memory of a warp.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Local {
    words: Vec<Lanes32>,
    /// Which of each word's four bytes were written, by lane.
    written: Vec<[u8; 32]>,
}

impl View for Local {
    #[inline(always)]
    fn word(&self, address: u64, lane: usize) -> u32 {
        self.words.get((address >> 2) as usize).map_or(0, |row| row[lane])
    }

    #[inline(always)]
    fn set(&mut self, address: u64, lane: usize, mask: u32, bits: u32) {
        let index = (address >> 2) as usize;
        if index >= self.words.len() {
            self.words.resize(index + 1, [0; 32]);
            self.written.resize(index + 1, [0; 32]);
        }
        let bytes = (0..4).filter(|byte| mask >> (8 * byte) & 0xff != 0).fold(0, |all, byte| all | 1 << byte);
        self.written[index][lane] |= bytes;
        let word = &mut self.words[index][lane];
        *word = (*word & !mask) | (bits & mask);
    }
}

impl Local {
    /// Forgets everything.
    pub(in crate::sim) fn reset(&mut self) {
        self.words.clear();
        self.written.clear();
    }

    /// The lanes whose words differ.
    pub(in crate::sim) fn differs(&self, other: &Self) -> u32 {
        if self.words.len() != other.words.len() {
            return u32::MAX;
        }
        self.words.iter().zip(&other.words).fold(0, |all, (a, b)| all | mask_of(|lane| a[lane] != b[lane]))
    }

    /// Forgets that a lane has written some bytes: a frame starts anew.
    pub(in crate::sim) fn forget(&mut self, lane: usize, start: u64, bytes: u64) {
        let words = start as usize / 4..((start + bytes) as usize).div_ceil(4).min(self.written.len());
        self.written.get_mut(words).into_iter().flatten().for_each(|row| row[lane] = 0);
    }

    /// Whether none of some bytes was written. Structures are copied with the gaps between their members: a part that
    /// was written will do.
    fn untouched(&self, lane: usize, address: u64, bytes: u64) -> bool {
        (address..address + bytes).all(|byte| {
            self.written.get(byte as usize / 4).is_none_or(|row| row[lane] >> (byte % 4) & 1 == 0)
        })
    }

    pub(in crate::sim) fn byte(&self, address: u64, lane: usize) -> u8 {
        (self.word(address & !3, lane) >> (8 * (address & 3))) as u8
    }

    /// Copies bytes from one place to another of the same lane.
    pub(in crate::sim) fn copy(&mut self, lane: usize, from: u64, to: u64, bytes: u64) {
        let contents: Vec<u8> = (0..bytes).map(|i| self.byte(from + i, lane)).collect();
        for (i, byte) in (0..).zip(contents) {
            self.set_byte(lane, to + i, byte);
        }
    }

    pub(in crate::sim) fn set_byte(&mut self, lane: usize, address: u64, byte: u8) {
        let shift = 8 * (address & 3);
        self.set(address & !3, lane, 0xff << shift, u32::from(byte) << shift);
    }
}

/// Refuses addresses past the end of each lane's current frame.
fn within(warp: &Warp, all: &Lanes64, bytes: u64, m: u32, what: &str) -> Outcome<()> {
    for lane in super::lanes::lanes(m) {
        let limit = u64::from(warp.sp[lane] + warp.frame_of(lane));
        if all[lane].saturating_add(bytes) > limit {
            let message = format!(
                "local memory out of bounds: {what} of {bytes} bytes at {:#x}; the thread has {limit} bytes",
                all[lane]
            );
            return Err(Fault::at(FindingKind::LocalOutOfBounds, lane, message));
        }
    }
    Ok(())
}

pub(super) fn load<const CHECKED: bool>(
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    access: &Access,
    d: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = u64::from(access.bytes) * u64::from(access.count);
    within(warp, all, bytes, m, "a load")?;
    if CHECKED {
        cx.count_bytes(|moved| moved.local_read += bytes * u64::from(m.count_ones()));
    }
    if CHECKED && cx.machine.checks.contains(Checks::UNINITIALIZED_LOCAL) {
        let untouched = |lane: &usize| warp.local.untouched(*lane, all[*lane], bytes);
        if let Some(lane) = super::lanes::lanes(m).find(untouched) {
            let message = format!(
                "uninitialized local memory: a load of {bytes} bytes at {:#x}, which the thread has not written",
                all[lane]
            );
            cx.note(Fault::at(FindingKind::UninitializedLocalRead, lane, message))?;
        }
    }
    read(&warp.local, &mut warp.regs, all, access, d, m);
    Ok(())
}

pub(super) fn store<const CHECKED: bool>(
    cx: &mut Cx<'_>,
    warp: &mut Warp,
    access: &Access,
    values: &[Reg],
    all: &Lanes64,
    m: u32,
) -> Outcome<()> {
    let bytes = u64::from(access.bytes) * u64::from(access.count);
    within(warp, all, bytes, m, "a store")?;
    if CHECKED {
        cx.count_bytes(|moved| moved.local_written += bytes * u64::from(m.count_ones()));
    }
    write(&mut warp.local, &warp.regs, all, access, values, m);
    Ok(())
}
