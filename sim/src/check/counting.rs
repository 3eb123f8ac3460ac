//! The cost of memory accesses: wavefronts of shared memory, sectors of global memory, and bytes.

use crate::lanes::{FULL, Lanes64, lanes};
use crate::machine::Cluster;
use crate::program::code::{Control, Numbers, Op, Tensor, Wgmma, WgmmaA};
use crate::report::{Bytes, Counts};

/// The size in bytes of a sector, the unit of transfers to and from global memory.
const SECTOR: u64 = 32;

impl Cluster<'_> {
    /// Returns the counts of the executing instruction, if counting is enabled.
    #[inline(always)]
    fn counts(&mut self) -> Option<&mut Counts> {
        self.profile.get_mut(self.pc as usize)
    }

    /// Counts a request to shared memory: `bytes` bytes by each lane of `m`.
    #[inline]
    pub(super) fn count_shared(&mut self, all: &Lanes64, bytes: u64, m: u32, write: bool) {
        let Some(counts) = self.counts() else { return };
        // Accesses wider than a word are served for a half or a quarter of the lanes at a time.
        let group = match bytes {
            0..=4 => 32,
            5..=8 => 16,
            _ => 8,
        };
        for start in (0..32).step_by(group) {
            let part = m & (u32::MAX >> (32 - group)) << start;
            if part != 0 {
                counts.shared_wavefronts += u64::from(wavefronts(all, bytes, part));
                counts.shared_wavefronts_ideal += 1;
            }
        }
        counts.shared_requests += 1;
        let moved = bytes * u64::from(m.count_ones());
        *(if write { &mut counts.bytes.shared_written } else { &mut counts.bytes.shared_read }) += moved;
    }

    /// Counts a request to global memory.
    #[inline]
    pub(super) fn count_global(&mut self, all: &Lanes64, bytes: u64, m: u32, write: bool) {
        let Some(counts) = self.counts() else { return };
        let moved = bytes * u64::from(m.count_ones());
        let touched = sectors(all, bytes, m);
        counts.global_requests += 1;
        counts.global_sectors += touched;
        counts.global_sectors_ideal += moved.div_ceil(SECTOR).min(touched);
        *(if write { &mut counts.bytes.global_written } else { &mut counts.bytes.global_read }) += moved;
    }

    /// Counts a load from an allocation; with `constant`, from constant memory.
    #[inline]
    pub(super) fn count_global_load(&mut self, constant: bool, all: &Lanes64, bytes: u64, m: u32) {
        if constant {
            self.count_bytes(|moved| moved.constant_read += bytes * u64::from(m.count_ones()));
        } else {
            self.count_global(all, bytes, m, false);
        }
    }

    /// Counts bytes that are moved in other spaces, or without a warp-wide request.
    #[inline]
    pub(super) fn count_bytes(&mut self, add: impl FnOnce(&mut Bytes)) {
        if let Some(counts) = self.counts() {
            add(&mut counts.bytes);
        }
    }

    /// Counts a divergent branch.
    pub(crate) fn count_divergence(&mut self) {
        if let Some(counts) = self.counts() {
            counts.divergent_branches += 1;
        }
    }

    /// Counts a matrix product by a whole warp.
    pub(crate) fn count_product(&mut self, tensor: &Tensor) {
        let flops = flops(tensor);
        if let Some(counts) = self.counts() {
            counts.tensor_flops += flops;
            if let Tensor::Wgmma(op) = tensor {
                counts.bytes.shared_read += operand_bytes(op);
            }
        }
    }
}

/// Completes the counts of one instruction by setting those that follow from the number of executions.
pub(crate) fn complete(op: &Op, counts: &mut Counts) {
    if matches!(op, Op::Control(Control::Branch(_) | Control::BranchIndexed(..))) {
        counts.branches = counts.warp_instructions;
    }
}

/// Returns the number of multiplications and additions in one execution by a warp.
fn flops(tensor: &Tensor) -> u64 {
    let (extents, numbers, sparse) = match tensor {
        Tensor::Mma(op) => (op.extents, op.numbers, op.sparse.is_some()),
        Tensor::Wmma(op) => (op.extents, op.numbers, false),
        Tensor::Wgmma(op) => (op.extents, op.numbers, op.sparse.is_some()),
        // Four products of 8×8×4.
        Tensor::QuadPair(_) => return 4 * 2 * 8 * 8 * 4,
        Tensor::WmmaLoad(_) | Tensor::WmmaStore(_) => return 0,
    };
    let bits = if matches!(numbers, Numbers::Bits(_)) { 32 } else { 1 };
    (2 * extents.m * extents.n * extents.k * bits) as u64 / if sparse { 2 } else { 1 }
}

/// Returns the size in bytes of the operands that a warp reads from shared memory.
fn operand_bytes(op: &Wgmma) -> u64 {
    let (a_bits, b_bits) = op.numbers.bits();
    let (m, n, k) = (op.extents.m, op.extents.n, op.extents.k);
    let a = if matches!(op.a, WgmmaA::Shared(_)) { m * op.stored_k() * a_bits as usize } else { 0 };
    ((a + n * k * b_bits as usize) / 8) as u64
}

/// Returns the number of passes over the 32 banks for the lanes of `m`. In a pass, each bank delivers one word to all lanes that request
/// it.
fn wavefronts(all: &Lanes64, bytes: u64, m: u32) -> u32 {
    let words = bytes.div_ceil(4);
    // Words less than 32 apart are in different banks.
    if m == FULL {
        let (low, high) = all.iter().fold((u64::MAX, 0), |(low, high), &at| (low.min(at), high.max(at)));
        if (high >> 2) + words - (low >> 2) <= 32 {
            return 1;
        }
    }
    if bytes <= 4 && !conflicts(all, m) {
        return 1;
    }
    const NONE: u64 = u64::MAX;
    let mut left = [0; 32];
    let mut count = 0;
    // Bit i of a lane's entry is set if its word i has not been served.
    for lane in lanes(m) {
        left[lane] = (1u32 << words) - 1;
    }
    let mut waiting = m;
    while waiting != 0 {
        let mut served = [NONE; 32];
        count += 1;
        for lane in lanes(waiting) {
            for i in 0..words {
                let word = (all[lane] >> 2) + i;
                let bank = &mut served[word as usize % 32];
                if *bank == NONE || *bank == word {
                    *bank = word;
                    left[lane] &= !(1 << i);
                }
            }
            if left[lane] == 0 {
                waiting &= !(1 << lane);
            }
        }
    }
    count
}

/// Returns whether two lanes of `m` access different words of one bank.
fn conflicts(all: &Lanes64, m: u32) -> bool {
    let mut taken = 0u32;
    let mut served = [0; 32];
    let mut last = None;
    lanes(m).any(|lane| {
        let word = all[lane] >> 2;
        if last == Some(word) {
            return false;
        }
        last = Some(word);
        let bank = word as usize % 32;
        let busy = taken >> bank & 1 == 1 && served[bank] != word;
        taken |= 1 << bank;
        served[bank] = word;
        busy
    })
}

/// Returns the number of 32-byte sectors that the lanes of `m` access.
fn sectors(all: &Lanes64, bytes: u64, m: u32) -> u64 {
    let mut count = 0;
    let mut last = None;
    for lane in lanes(m) {
        let (first, end) = (all[lane] / SECTOR, (all[lane] + bytes - 1) / SECTOR);
        match last {
            Some(last) if first < last => return sorted_sectors(all, bytes, m),
            Some(last) => count += end.max(last) - last,
            None => count += end - first + 1,
        }
        // There may be sectors between adjacent addresses that are not accessed.
        if let Some(last) = last.filter(|&last| first > last) {
            count -= first - last - 1;
        }
        last = Some(end.max(last.unwrap_or(0)));
    }
    count
}

/// Returns the same number as [`sectors`], for addresses in any order.
fn sorted_sectors(all: &Lanes64, bytes: u64, m: u32) -> u64 {
    // An access of at most 32 bytes touches one sector if it is aligned, and at most two otherwise.
    let mut touched = [0; 64];
    let mut count = 0;
    for lane in lanes(m) {
        for sector in all[lane] / SECTOR..=(all[lane] + bytes - 1) / SECTOR {
            if count == 0 || touched[count - 1] != sector {
                touched[count] = sector;
                count += 1;
            }
        }
    }
    touched[..count].sort_unstable();
    let distinct = touched[..count].windows(2).filter(|pair| pair[0] != pair[1]).count();
    (distinct + usize::from(count > 0)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn addresses(f: impl Fn(u64) -> u64) -> Lanes64 {
        std::array::from_fn(|lane| f(lane as u64))
    }

    #[test]
    fn strides_conflict_as_they_share_banks() {
        for (stride, want) in [(0, 1), (4, 1), (8, 2), (12, 1), (16, 4), (64, 16), (128, 32), (132, 1)] {
            assert_eq!(wavefronts(&addresses(|lane| stride * lane), 4, FULL), want, "stride {stride}");
        }
        assert_eq!(wavefronts(&addresses(|lane| 16 * lane), 16, 0xff), 1);
        assert_eq!(wavefronts(&addresses(|lane| 128 * lane), 16, 0xff), 8);
        assert_eq!(wavefronts(&addresses(|lane| 2 * lane), 2, FULL), 1);
    }

    proptest! {
        #[test]
        fn sectors_are_those_of_the_sorted_list(all in prop::array::uniform32(0u64..4096), log in 0u32..5, m in 1u32..) {
            let bytes = 1u64 << log;
            let all = all.map(|address| address * bytes);
            prop_assert_eq!(sectors(&all, bytes, m), sorted_sectors(&all, bytes, m));
            let mut ascending = all;
            ascending.sort_unstable();
            prop_assert_eq!(sectors(&ascending, bytes, m), sorted_sectors(&ascending, bytes, m));
        }
    }
}
