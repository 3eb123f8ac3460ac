//! `cp.async.bulk` and `cp.async.bulk.tensor`: copies by an asynchronous engine.
//!
//! A copy is checked when it is issued, and executed later. A copy that an mbarrier counts is executed when a warp's turn ends or when a
//! thread polls the mbarrier without success. A copy in a bulk group is executed when a thread waits for the group.

use crate::alu::reduce::reduce;
use crate::exec::global::{Doing, reach};
use crate::exec::mbarrier::complete_tx;
use crate::exec::memory::addresses;
use crate::exec::tensor_copy;
use crate::lanes::lanes;
use crate::machine::Cluster;
use crate::machine::bulk::End;
use crate::machine::bulk::GlobalRead;
use crate::machine::bulk::Notify;
use crate::machine::bulk::Transfer;
use crate::machine::warp::Warp;
use crate::program::code::{Bulk, BulkTensor, Completion, Reduction, Space, StoreAsync, TryCancel};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};
use crate::shadow::global::Manner;
use crate::shadow::place::Place;
use std::sync::atomic::Ordering::Relaxed;

impl Transfer {
    /// Announces the accesses at both ends of the copy when it is issued.
    fn announce(&mut self, cluster: &mut Cluster<'_>, lane: usize) -> Outcome<()> {
        let bytes = self.bytes as usize;
        for &to in &self.to {
            if let End::Shared(place) = to {
                cluster.before_engine_write(place, bytes, lane, matches!(self.from, End::Registers(_)))?;
            }
        }
        self.announce_global(cluster, lane)?;
        match self.from {
            End::Shared(place) => cluster.before_engine_read(place, bytes, lane, false),
            End::Global(_) | End::Registers(_) => Ok(()),
        }
    }

    /// Announces the accesses to global memory.
    fn announce_global(&mut self, cluster: &mut Cluster<'_>, lane: usize) -> Outcome<()> {
        let bytes = u64::from(self.bytes);
        let runs = |address| self.tile.as_ref().map_or_else(|| vec![(address, bytes)], |tile| tile.runs());
        match (self.from, self.to.first()) {
            (End::Global(address), _) => {
                self.global_read = cluster.before_engine_global_read(|| runs(address), bytes, lane)?;
                Ok(())
            }
            (_, Some(&End::Global(address))) => {
                let manner = if self.reduce.is_some() { Manner::Atomic } else { Manner::Write };
                // Copies by different clusters are assumed to write different values.
                let value = cluster.number as u32;
                cluster.before_engine_global_write(|| runs(address), bytes, lane, manner, &|_, _| value)
            }
            _ => Ok(()),
        }
    }
}

impl Notify {
    /// Checks whether the lane may use the mbarriers.
    fn check(&self, cluster: &mut Cluster<'_>, lane: usize) -> Outcome<()> {
        match self {
            Notify::Mbarriers(places) => {
                places.iter().try_for_each(|&place| cluster.before_mbarrier_use(place, lane))
            }
            Notify::Group { .. } => Ok(()),
        }
    }
}

fn check(what: bool, lane: usize, message: impl FnOnce() -> String) -> Outcome<()> {
    if what { Ok(()) } else { Err(Fault::at(FindingKind::MisalignedAccess, lane, message())) }
}

/// Returns one checked end of a plain copy.
fn end(
    cluster: &Cluster<'_>,
    space: Space,
    lane: usize,
    address: u64,
    bytes: u64,
    doing: Doing,
) -> Outcome<End> {
    check(address.is_multiple_of(16), lane, || {
        format!(
            "misaligned access: a bulk copy at {} address {address:#x}, which is not a multiple of 16",
            space.name()
        )
    })?;
    if space == Space::Global {
        reach(cluster.machine, lane, address, bytes, doing)?;
        return Ok(End::Global(address));
    }
    Place::of_range(cluster, space, lane, address, bytes, 16, "a bulk copy").map(End::Shared)
}

/// Returns the same location in each block of a multicast mask or, without a mask, only the location itself.
fn receivers(cluster: &Cluster<'_>, place: Place, mask: Option<u32>, lane: usize) -> Outcome<Vec<Place>> {
    let Some(mask) = mask else { return Ok(vec![place]) };
    if mask >> cluster.ctas.len() != 0 {
        let message = format!("multicast to blocks {mask:#x} of a cluster of {}", cluster.ctas.len());
        return Err(Fault::at(FindingKind::InvalidOperand, lane, message));
    }
    Ok((0..cluster.ctas.len())
        .filter(|rank| mask >> rank & 1 == 1)
        .map(|rank| Place { rank, ..place })
        .collect())
}

fn notify(
    cluster: &Cluster<'_>,
    warp: &Warp,
    completion: &Completion,
    lane: usize,
    mask: Option<u32>,
) -> Outcome<Notify> {
    match completion {
        Completion::Mbarrier(addr) => {
            let address = addresses(warp, *addr)[lane];
            let place = Place::locate(
                cluster,
                Space::SharedCluster,
                lane,
                address,
                8,
                "the mbarrier of a bulk copy",
            )?;
            Ok(Notify::Mbarriers(receivers(cluster, place, mask, lane)?))
        }
        Completion::Group => {
            Ok(Notify::Group { thread: (warp.cta, warp.index, lane), group: warp.bulk_groups[lane] })
        }
    }
}

pub(crate) fn issue(cluster: &mut Cluster<'_>, warp: &mut Warp, op: &Bulk, m: u32) -> Outcome<()> {
    let (to, from) = (addresses(warp, op.to.1), addresses(warp, op.from.1));
    for lane in lanes(m) {
        let bytes = warp.regs.r(op.bytes)[lane];
        check(bytes.is_multiple_of(16), lane, || {
            format!("misaligned access: a bulk copy of {bytes} bytes, which is not a multiple of 16")
        })?;
        let mask = op.multicast.map(|mask| warp.regs.r(mask)[lane] & 0xffff);
        let from = end(cluster, op.from.0, lane, from[lane], bytes.into(), Doing::Load)?;
        let to = match end(cluster, op.to.0, lane, to[lane], bytes.into(), Doing::Store)? {
            End::Shared(place) => {
                receivers(cluster, place, mask, lane)?.into_iter().map(End::Shared).collect()
            }
            global => vec![global],
        };
        let notify = notify(cluster, warp, &op.completion, lane, mask)?;
        notify.check(cluster, lane)?;
        let issuer = (cluster.warp, cluster.pc);
        let mut transfer = Transfer {
            from,
            to,
            bytes,
            reduce: op.reduce,
            tile: None,
            issuer,
            global_read: GlobalRead::default(),
        };
        transfer.announce(cluster, lane)?;
        cluster.bulk.pending.push((transfer, notify));
    }
    Ok(())
}

pub(crate) fn issue_tensor(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &BulkTensor,
    m: u32,
) -> Outcome<()> {
    let (maps, shared) = (addresses(warp, op.map), addresses(warp, op.shared.1));
    for lane in lanes(m) {
        let coordinates = op.coordinates.iter().map(|&c| warp.regs.r(c)[lane] as i32).collect();
        let tile = tensor_copy::tile(cluster, warp, lane, op, maps[lane], coordinates)?;
        let bytes = tile.bytes();
        let place =
            Place::of_range(cluster, op.shared.0, lane, shared[lane], bytes as u64, 128, "a tensor copy")?;
        tile.check(cluster, lane)?;
        let mask = op.multicast.map(|mask| warp.regs.r(mask)[lane] & 0xffff);
        let notify = notify(cluster, warp, &op.completion, lane, mask)?;
        notify.check(cluster, lane)?;
        let reduce = match op.reduce {
            Some(f) => Some(tensor_copy::reduction(f, tile.map.ty, lane)?),
            None => None,
        };
        let (from, to) = if op.load {
            let to = receivers(cluster, place, mask, lane)?.into_iter().map(End::Shared).collect();
            (End::Global(0), to)
        } else {
            (End::Shared(place), vec![End::Global(0)])
        };
        let issuer = (cluster.warp, cluster.pc);
        let mut transfer = Transfer {
            from,
            to,
            bytes: bytes as u32,
            reduce,
            tile: Some(Box::new(tile)),
            issuer,
            global_read: GlobalRead::default(),
        };
        transfer.announce(cluster, lane)?;
        cluster.bulk.pending.push((transfer, notify));
    }
    Ok(())
}

/// Issues `st.async` or `red.async`.
pub(crate) fn issue_values(
    cluster: &mut Cluster<'_>,
    warp: &mut Warp,
    op: &StoreAsync,
    m: u32,
) -> Outcome<()> {
    let (to, mbarriers) = (addresses(warp, op.to), addresses(warp, op.mbarrier));
    let bytes = op.values.len() as u32 * u32::from(op.bytes);
    for lane in lanes(m) {
        let what = "an asynchronous store";
        let place = Place::of_range(cluster, op.space, lane, to[lane], bytes.into(), bytes.into(), what)?;
        let mbarrier = Place::locate(cluster, op.space, lane, mbarriers[lane], 8, "its mbarrier")?;
        let mut words = [0; 4];
        for (i, &value) in op.values.iter().enumerate() {
            let value = warp.regs.get(value)[lane];
            if op.bytes == 8 {
                (words[2 * i], words[2 * i + 1]) = (value as u32, (value >> 32) as u32);
            } else {
                words[i] = value as u32;
            }
        }
        let (from, to) = (End::Registers(words), vec![End::Shared(place)]);
        let issuer = (cluster.warp, cluster.pc);
        let mut transfer = Transfer {
            from,
            to,
            bytes,
            reduce: op.reduce,
            tile: None,
            issuer,
            global_read: GlobalRead::default(),
        };
        let notify = Notify::Mbarriers(vec![mbarrier]);
        notify.check(cluster, lane)?;
        transfer.announce(cluster, lane)?;
        cluster.bulk.pending.push((transfer, notify));
    }
    Ok(())
}

/// Executes `clusterlaunchcontrol.try_cancel`. The response is determined immediately and delivered like a copy.
pub(crate) fn try_cancel(cluster: &mut Cluster<'_>, warp: &mut Warp, op: &TryCancel, m: u32) -> Outcome<()> {
    let (responses, mbarriers) = (addresses(warp, op.response), addresses(warp, op.mbarrier));
    let all = op.to_all.then(|| (1 << cluster.ctas.len()) - 1);
    for lane in lanes(m) {
        let place =
            Place::of_range(cluster, op.space, lane, responses[lane], 16, 16, "the response of try_cancel")?;
        let to = receivers(cluster, place, all, lane)?.into_iter().map(End::Shared).collect();
        let mbarrier =
            Place::locate(cluster, op.space, lane, mbarriers[lane], 8, "the mbarrier of try_cancel")?;
        let notify = Notify::Mbarriers(receivers(cluster, mbarrier, all, lane)?);
        notify.check(cluster, lane)?;
        let words = match cluster.machine.take_cluster() {
            Some(canceled) => {
                let [x, y, z] = cluster.machine.block_of(canceled, 0);
                [x, y, z, 1]
            }
            None => [0; 4],
        };
        let issuer = (cluster.warp, cluster.pc);
        let mut transfer = Transfer {
            from: End::Registers(words),
            to,
            bytes: 16,
            reduce: None,
            tile: None,
            issuer,
            global_read: GlobalRead::default(),
        };
        transfer.announce(cluster, lane)?;
        cluster.bulk.pending.push((transfer, notify));
    }
    Ok(())
}

/// Executes the pending copies that mbarriers count. Returns whether there were any.
pub(crate) fn pump(cluster: &mut Cluster<'_>) -> Outcome<bool> {
    run(cluster, |notify| matches!(notify, Notify::Mbarriers(_)))
}

/// Executes the copies of all but the newest `n` groups of the lanes.
pub(crate) fn wait(cluster: &mut Cluster<'_>, warp: &Warp, m: u32, n: u32) -> Outcome<()> {
    let me = (warp.cta, warp.index);
    let due = |notify: &Notify| match notify {
        Notify::Group { thread: (cta, index, lane), group } => {
            (*cta, *index) == me && m >> lane & 1 == 1 && *group < warp.bulk_groups[*lane].saturating_sub(n)
        }
        Notify::Mbarriers(_) => false,
    };
    run(cluster, due).map(|_| ())
}

/// Returns the lane and the instruction of a pending copy to or from shared memory in the lanes' bulk groups.
pub(crate) fn unwaited(cluster: &Cluster<'_>, warp: &Warp, m: u32) -> Option<(usize, u32)> {
    let me = (warp.cta, warp.index);
    cluster.bulk.pending.iter().find_map(|(transfer, notify)| match notify {
        Notify::Group { thread: (cta, index, lane), .. } if (*cta, *index) == me && m >> lane & 1 == 1 => {
            Some((*lane, transfer.issuer.1))
        }
        _ => None,
    })
}

/// Executes the remaining copies when a cluster has ended.
pub(crate) fn finish(cluster: &mut Cluster<'_>) -> Outcome<()> {
    run(cluster, |_| true).map(|_| ())
}

fn run(cluster: &mut Cluster<'_>, due: impl Fn(&Notify) -> bool) -> Outcome<bool> {
    let mut at = 0;
    let mut any = false;
    while at < cluster.bulk.pending.len() {
        if !due(&cluster.bulk.pending[at].1) {
            at += 1;
            continue;
        }
        let (transfer, notify) = cluster.bulk.pending.remove(at);
        any = true;
        cluster.events += 1;
        make(cluster, &transfer);
        cluster.after_transfer(&transfer)?;
        if let Notify::Mbarriers(places) = notify {
            for place in places {
                complete_tx(cluster, place, 0, transfer.bytes)?;
            }
        }
    }
    Ok(any)
}

fn make(cluster: &mut Cluster<'_>, transfer: &Transfer) {
    if let Some(tile) = &transfer.tile {
        tensor_copy::make(cluster, transfer, tile);
        return;
    }
    let words: Vec<u32> = (0..transfer.bytes / 4).map(|i| read(cluster, transfer.from, 4 * i)).collect();
    for &to in &transfer.to {
        match transfer.reduce {
            None => {
                for (i, &word) in (0..).zip(&words) {
                    write(cluster, to, 4 * i, word);
                }
            }
            Some(reduction) => {
                let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
                let element = u32::from(reduction.bytes);
                for at in (0..transfer.bytes).step_by(reduction.bytes.into()) {
                    let new = &bytes[at as usize..(at + element) as usize];
                    combine(cluster, to, at, reduction, little_endian(new));
                }
            }
        }
    }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))
}

/// Reads the word at an offset (a multiple of 4) from one end of a copy.
fn read(cluster: &Cluster<'_>, end: End, offset: u32) -> u32 {
    match end {
        End::Shared(place) => cluster.ctas[place.rank].shared.words[place.offset / 4 + offset as usize / 4],
        End::Global(address) => global_word(cluster, address + u64::from(offset)),
        End::Registers(words) => words[offset as usize / 4],
    }
}

/// Reads a word of global memory. The address has been checked.
pub(crate) fn global_word(cluster: &Cluster<'_>, address: u64) -> u32 {
    match reach(cluster.machine, 0, address, 1, Doing::Load) {
        Ok(allocation) => allocation.words[((address - allocation.start) / 4) as usize].load(Relaxed),
        Err(_) => 0,
    }
}

fn write(cluster: &mut Cluster<'_>, end: End, offset: u32, word: u32) {
    match end {
        End::Shared(place) => shared_bits(cluster, place, offset as usize, u32::MAX, word),
        End::Global(address) => global_bits(cluster, address + u64::from(offset), u32::MAX, word),
        End::Registers(_) => {}
    }
}

/// Replaces bits of a word in shared memory.
pub(crate) fn shared_bits(cluster: &mut Cluster<'_>, place: Place, offset: usize, mask: u32, bits: u32) {
    let shared = &mut cluster.ctas[place.rank].shared;
    let at = (place.offset + offset) / 4;
    shared.words[at] = (shared.words[at] & !mask) | (bits & mask);
    shared.written.mark_bits(at, mask);
}

/// Replaces bits of a word in global memory. The address has been checked.
pub(crate) fn global_bits(cluster: &Cluster<'_>, address: u64, mask: u32, bits: u32) {
    if let Ok(allocation) = reach(cluster.machine, 0, address, 1, Doing::Load) {
        allocation.store_bits(((address - allocation.start) / 4) as usize, mask, bits);
    }
}

/// Combines one element with the element in memory.
pub(crate) fn combine(cluster: &mut Cluster<'_>, end: End, offset: u32, reduction: Reduction, new: u64) {
    let bytes = u32::from(reduction.bytes);
    let aligned = offset & !3;
    let shift = 8 * (offset & 3);
    let low = u64::from(read(cluster, end, aligned));
    let high = if bytes == 8 { u64::from(read(cluster, end, aligned + 4)) << 32 } else { 0 };
    let mask = u64::MAX >> (64 - 8 * bytes);
    let old = (low | high) >> shift & mask;
    let result = reduce(reduction.f, old, new & mask) & mask;
    let word_mask = (mask as u32) << shift;
    match end {
        End::Shared(place) => {
            shared_bits(cluster, place, aligned as usize, word_mask, (result as u32) << shift);
        }
        End::Global(address) => {
            global_bits(cluster, address + u64::from(aligned), word_mask, (result as u32) << shift);
        }
        End::Registers(_) => {}
    }
    if bytes == 8 {
        write(cluster, end, aligned + 4, (result >> 32) as u32);
    }
}
