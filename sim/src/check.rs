//! The checks that a checked run performs, in addition to the rules that every run enforces.
//!
//! Every instruction announces its memory accesses and synchronizations to this module before it performs them, so that a checked run
//! counts, orders and checks all of them in one place.
//!
//! An access by a whole warp is announced once. If its lanes may access different allocations or blocks, it is announced as a request of
//! the warp, and then again for each allocation, block or lane. Addresses are valid unless stated otherwise.

mod barriers;
mod copies;
pub(crate) mod counted;
pub(crate) mod counting;
mod dependence;
mod footprint;
pub(crate) mod global;
pub(crate) mod look;
mod mbarriers;
pub(crate) mod products;
pub(crate) mod remote;
pub(crate) mod shared;
pub(crate) mod undefined;
pub(crate) mod uniform;
mod volatile;

use crate::check::global::Value;
use crate::check::shared::{Copier, NewBytes};
use crate::lanes::{Lanes32, Lanes64, lanes};
use crate::machine::Cluster;
use crate::machine::bulk::GlobalRead;
use crate::machine::local::Local;
use crate::machine::warp::Warp;
use crate::program::code::{Access, R, Reg, Space, Wgmma};
use crate::report::Checks;
use crate::report::fault::Outcome;
use crate::shadow::WarpShadow;
use crate::shadow::global::Manner;
use crate::shadow::place::Place;
use crate::shadow::races::AccessKind;
use crate::shadow::undefined::Undefined;

impl Cluster<'_> {
    /// Announces a load by lanes from the shared memory of block `rank` to registers.
    #[inline(always)]
    pub(crate) fn before_shared_load(
        &mut self,
        undefined: &mut Undefined,
        rank: usize,
        access: &Access,
        d: &[Reg],
        all: &Lanes64,
        m: u32,
    ) -> Outcome<()> {
        let bytes = access.size();
        self.count_shared(all, bytes, m, false);
        let partial = self.partial(rank, all, bytes, m);
        let followed = partial != 0 && d.iter().any(|&reg| self.machine.code.watched.number(reg).is_some());
        let unfollowed = if followed { 0 } else { partial };
        if access.is_volatile() {
            self.check_volatile_load(rank, all, bytes as usize, m)?;
        }
        if access.strong {
            self.check_strong(access, (rank, all), m, true, false);
            self.check_strong_load(rank, all, bytes as usize, m, unfollowed)?;
        } else {
            self.check_load(rank, all, bytes as usize, m, unfollowed, "a load")?;
        }
        if followed {
            let written = &self.ctas[rank].shared.written;
            undefined::load(self.here(), undefined, written, access, d, all, partial);
        }
        Ok(())
    }

    /// Announces a store by lanes to the shared memory of block `rank`; `new` returns byte i of a lane's value.
    #[inline(always)]
    pub(crate) fn before_shared_store(
        &mut self,
        rank: usize,
        access: &Access,
        all: &Lanes64,
        m: u32,
        new: NewBytes<'_>,
    ) -> Outcome<()> {
        let bytes = access.size();
        self.count_shared(all, bytes, m, true);
        if access.is_volatile() {
            self.check_volatile_store(rank, all, bytes as usize, m)?;
        }
        let kind = if access.strong { AccessKind::Atomic } else { AccessKind::Write };
        if access.strong {
            self.check_strong(access, (rank, all), m, false, true);
        }
        self.check_store(rank, all, bytes as usize, m, kind, new)
    }

    /// Records a completed store: undefined bits are now undefined in memory.
    #[inline(always)]
    pub(crate) fn after_shared_store(
        &mut self,
        undefined: &Undefined,
        rank: usize,
        access: &Access,
        values: &[Reg],
        all: &Lanes64,
        m: u32,
    ) {
        let m = undefined.storing & m;
        if m != 0 {
            let at = self.here();
            undefined::store(at, undefined, &mut self.ctas[rank].shared.written, access, values, all, m);
        }
    }

    /// Announces a load of 16-byte matrix rows from the block's shared memory. Each register in `d` receives eight rows; `place`
    /// distributes the words of eight rows to the lanes.
    pub(crate) fn before_row_load(
        &mut self,
        undefined: &mut Undefined,
        d: &[R],
        all: &Lanes64,
        m: u32,
        place: impl Fn(&Lanes32) -> Lanes32,
    ) -> Outcome<()> {
        self.count_shared(all, 16, m, false);
        self.check_load(self.at, all, 16, m, 0, "a row of ldmatrix")?;
        if self.partial(self.at, all, 16, m) != 0 {
            let written = &self.ctas[self.at].shared.written;
            undefined::load_matrices(self.here(), undefined, written, d, all, place);
        }
        Ok(())
    }

    /// Announces a store of 16-byte matrix rows to the block's shared memory.
    pub(crate) fn before_row_store(&mut self, all: &Lanes64, m: u32, new: NewBytes<'_>) -> Outcome<()> {
        self.count_shared(all, 16, m, true);
        self.check_store(self.at, all, 16, m, AccessKind::Write, new)
    }

    /// Records a completed store of the registers `values`: undefined bits are now undefined in memory.
    pub(crate) fn after_row_store(
        &mut self,
        undefined: &Undefined,
        values: &[R],
        all: &Lanes64,
        place: impl Fn(&Lanes32) -> Lanes32,
    ) {
        if undefined.storing != 0 {
            let at = self.here();
            let written = &mut self.ctas[self.at].shared.written;
            undefined::store_matrices(at, undefined, written, values, all, place);
        }
    }

    /// Announces that tensor cores read undefined rows of A or columns of B from shared memory; the first undefined byte is at `address`.
    pub(crate) fn before_undefined_product(
        &mut self,
        warp: &mut Warp,
        op: &Wgmma,
        (rows, columns): (&[bool], &[bool]),
        address: u64,
    ) {
        if self.machine.checks.contains(Checks::UNINITIALIZED_SHARED) {
            undefined::shared_operands(self, warp, op, (rows, columns), address);
        }
    }

    /// Announces atomics by lanes on shared or global memory. The atomics on each block or allocation are also announced separately.
    pub(crate) fn before_atomics(&mut self, shared: bool, all: &Lanes64, bytes: u64, m: u32) {
        if shared {
            self.count_shared(all, bytes, m, true);
        } else {
            self.count_global(all, bytes, m, true);
        }
    }

    /// Announces atomics by lanes on the shared memory of block `rank`.
    pub(crate) fn before_shared_atomics(
        &mut self,
        rank: usize,
        access: &Access,
        all: &Lanes64,
        m: u32,
    ) -> Outcome<()> {
        let bytes = access.size();
        let partial = self.partial(rank, all, bytes, m);
        self.check_strong(access, (rank, all), m, true, true);
        self.check_strong_load(rank, all, bytes as usize, m, partial)?;
        self.check_store(rank, all, bytes as usize, m, AccessKind::Atomic, &|_, _| 0)
    }

    /// Announces atomics by lanes on an allocation of global memory; with `read`, they return the old values.
    pub(crate) fn before_global_atomics(
        &mut self,
        access: &Access,
        all: &Lanes64,
        m: u32,
        read: bool,
    ) -> Outcome<()> {
        self.check_strong(access, (0, all), m, true, true);
        self.check_global_atomics(access, all, m, read)
    }

    /// Announces a load by lanes from one allocation of global memory or, with `constant`, of constant memory.
    #[inline(always)]
    pub(crate) fn before_global_load(
        &mut self,
        access: &Access,
        constant: bool,
        all: &Lanes64,
        m: u32,
    ) -> Outcome<()> {
        let bytes = access.size();
        if access.strong {
            self.check_strong(access, (0, all), m, true, false);
        }
        self.count_global_load(constant, all, bytes, m);
        self.check_global_load(access, all, bytes, m)
    }

    /// Announces a load by lanes from several allocations of global memory; each lane's load is also announced separately.
    pub(crate) fn before_global_loads(&mut self, access: &Access, all: &Lanes64, m: u32) {
        if access.strong {
            self.check_strong(access, (0, all), m, true, false);
        }
        self.count_global(all, access.size(), m, false);
    }

    /// Announces a load by one lane from global memory.
    pub(crate) fn before_global_lane_load(
        &mut self,
        access: &Access,
        all: &Lanes64,
        lane: usize,
    ) -> Outcome<()> {
        self.check_global_load(access, all, access.size(), 1 << lane)
    }

    /// Announces a store by lanes to global memory, at addresses that have not yet been validated.
    #[inline(always)]
    pub(crate) fn before_global_stores(&mut self, access: &Access, all: &Lanes64, m: u32) {
        if access.strong {
            self.check_strong(access, (0, all), m, false, true);
        }
        self.count_global(all, access.size(), m, true);
    }

    /// Announces the stores by the lanes of `m` to one allocation; `value` returns the word at a byte offset in a lane's value.
    #[inline(always)]
    pub(crate) fn before_global_store(
        &mut self,
        access: &Access,
        all: &Lanes64,
        m: u32,
        value: impl Fn(usize, u64) -> u32,
    ) -> Outcome<()> {
        self.check_global_store(access, all, access.size(), m, value)
    }

    /// Records that `bytes` bytes become an allocation of the device heap, which makes earlier accesses to them irrelevant.
    pub(crate) fn before_heap_block(&mut self, address: u64, bytes: u64) {
        if let Some(global) = &self.machine.shadow.global {
            global.forget(address, bytes);
        }
        if let Some(threads) = &mut self.shadow.threads {
            threads.forget(address, bytes);
        }
    }

    /// Announces a load by lanes from local memory.
    pub(crate) fn before_local_load(
        &mut self,
        undefined: &mut Undefined,
        local: &Local,
        access: &Access,
        d: &[Reg],
        all: &Lanes64,
        m: u32,
    ) {
        let bytes = access.size();
        self.count_bytes(|moved| moved.local_read += bytes * u64::from(m.count_ones()));
        let partial = if local.tracked { local.partial(all, bytes, m) } else { 0 };
        if partial != 0 {
            undefined::load(self.here(), undefined, local, access, d, all, partial);
        }
    }

    /// Records a completed store by lanes to local memory.
    pub(crate) fn after_local_store(
        &mut self,
        warp: &mut Warp,
        access: &Access,
        values: &[Reg],
        all: &Lanes64,
        m: u32,
    ) {
        let bytes = access.size();
        self.count_bytes(|moved| moved.local_written += bytes * u64::from(m.count_ones()));
        let Warp { shadow: WarpShadow { undefined, .. }, local, .. } = warp;
        let m = undefined.storing & m;
        if m != 0 {
            undefined::store(self.here(), undefined, local, access, values, all, m);
        }
    }

    /// Announces a load of kernel parameters.
    pub(crate) fn before_param_load(&mut self, access: &Access, m: u32) {
        self.count_bytes(|moved| moved.param_read += access.size() * u64::from(m.count_ones()));
    }

    /// Announces a store of values that become visible outside the block and therefore must not be undefined.
    pub(crate) fn before_leaving(
        &mut self,
        warp: &mut Warp,
        space: Space,
        access: &Access,
        values: &[Reg],
        m: u32,
    ) -> Outcome<()> {
        let m = warp.shadow.undefined.storing & m;
        match space {
            Space::Global | Space::Param if m != 0 => undefined::leave(self, warp, access, values, m),
            _ => Ok(()),
        }
    }

    /// Announces `cp.async` copies of `bytes` bytes each to the block's shared memory by the lanes of `m`.
    pub(crate) fn before_copies(&mut self, to: &Lanes64, bytes: u64, m: u32) -> Outcome<()> {
        for lane in lanes(m) {
            let place = Place { rank: self.at, offset: to[lane] as usize };
            self.check_copy(place, bytes as usize, lane, Copier::Thread)?;
        }
        Ok(())
    }

    /// Announces the global reads of `cp.async` copies. Each lane reads the number of bytes in its entry of `sizes` from global memory, and
    /// writes `bytes` bytes.
    pub(crate) fn before_copied_loads(
        &mut self,
        from: &Lanes64,
        sizes: &[u8; 32],
        bytes: u64,
        m: u32,
    ) -> Outcome<()> {
        let reading = lanes(m).filter(|&lane| sizes[lane] > 0).fold(0, |reading, lane| reading | 1 << lane);
        if reading != 0 {
            self.count_global(from, bytes, reading, false);
        }
        let written = bytes * u64::from(m.count_ones());
        self.count_bytes(|moved| moved.shared_written += written);
        let mut left = reading;
        while left != 0 {
            let size = sizes[left.trailing_zeros() as usize];
            let alike = lanes(left).filter(|&lane| sizes[lane] == size).fold(0, |m, lane| m | 1 << lane);
            self.record_bytes(from, size.into(), alike, Manner::Read, false)?;
            self.check_global(from, size.into(), alike, Manner::Read, &|_, _| 0)?;
            left &= !alike;
        }
        Ok(())
    }

    /// Announces a read of shared memory by an asynchronous engine or, for a product, by the tensor cores. The read lasts until a thread
    /// waits for it.
    pub(crate) fn before_engine_read(
        &mut self,
        place: Place,
        bytes: usize,
        lane: usize,
        product: bool,
    ) -> Outcome<()> {
        if !product {
            self.count_bytes(|moved| moved.shared_read += bytes as u64);
        }
        self.check_async_read(place, bytes, lane, product)
    }

    /// Announces a write to shared memory by an asynchronous engine. With `values`, the data comes from registers, and the write does not
    /// use the async proxy.
    pub(crate) fn before_engine_write(
        &mut self,
        place: Place,
        bytes: usize,
        lane: usize,
        values: bool,
    ) -> Outcome<()> {
        self.count_bytes(|moved| moved.shared_written += bytes as u64);
        self.check_copy(place, bytes, lane, if values { Copier::Values } else { Copier::Engine })
    }

    /// Announces a write by an asynchronous engine to ranges of global memory, `bytes` bytes in total.
    pub(crate) fn before_engine_global_write(
        &mut self,
        runs: impl FnOnce() -> Vec<(u64, u64)>,
        bytes: u64,
        lane: usize,
        manner: Manner,
        value: Value<'_>,
    ) -> Outcome<()> {
        self.count_bytes(|moved| moved.global_written += bytes);
        if !self.looks_at_engine() {
            return Ok(());
        }
        for (address, bytes) in runs() {
            self.record_bytes(&[address; 32], bytes, 1 << lane, manner, false)?;
            self.check_global(&[address; 32], bytes, 1 << lane, manner, value)?;
        }
        Ok(())
    }

    /// Announces a read by an asynchronous engine of ranges of global memory, `bytes` bytes in total. Returns the information that
    /// [`after_transfer`](Self::after_transfer) uses to check for races once the engine has read the bytes.
    pub(crate) fn before_engine_global_read(
        &mut self,
        runs: impl FnOnce() -> Vec<(u64, u64)>,
        bytes: u64,
        lane: usize,
    ) -> Outcome<GlobalRead> {
        self.count_bytes(|moved| moved.global_read += bytes);
        let mut read = GlobalRead { lane, ..GlobalRead::default() };
        if !self.looks_at_engine() {
            return Ok(read);
        }
        read.runs = runs();
        for &(address, bytes) in &read.runs {
            self.record_bytes(&[address; 32], bytes, 1 << lane, Manner::Read, false)?;
            self.check_dependence(&[address; 32], 1 << lane, Manner::Read)?;
        }
        if self.racing() {
            self.shadow.races.clocks.release(self.warp, &mut read.known);
        }
        Ok(read)
    }

    /// Returns whether the global accesses of asynchronous engines are checked or recorded.
    fn looks_at_engine(&self) -> bool {
        self.machine.checks.contains(Checks::GLOBAL_RACES) || self.records_bytes()
    }
}
