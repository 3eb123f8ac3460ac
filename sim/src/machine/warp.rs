//! A warp: 32 lanes, each with its own program counter.
//!
//! Lanes at the same instruction run together as a group. The group with the deepest call stack runs first; if there are several, the one
//! at the earliest instruction runs first, so that lanes on different paths reconverge where the paths meet. A group that has been passed
//! over for a long time gets a turn, so that lanes may wait for each other.

use crate::machine::async_copy::AsyncCopies;
use crate::machine::local::Local;
use crate::machine::registers::Regs;
use crate::machine::{Cta, Machine};
use crate::report::Checks;
use crate::shadow::WarpShadow;
use crate::shadow::undefined::Taint;

/// The reason why a group does not run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    Ready,
    /// At an instruction that these lanes execute together.
    Lanes(u32),
    /// At an `.aligned` instruction, for all lanes of the warp.
    Aligned,
    /// At `bar.warp.sync` with this mask.
    WarpBarrier(u32),
    /// At a barrier of the block, having arrived in this phase.
    Barrier {
        id: u8,
        phase: u64,
    },
    /// At `setmaxnreg.inc`, for this many registers of each thread.
    Registers(u32),
    /// At `barrier.cluster.wait` for this phase.
    Cluster {
        phase: u64,
    },
    /// At `wgmma.wait_group`, for this many groups of the warpgroup.
    Products(u32),
}

impl Wait {
    /// Returns whether lanes that reach the same instruction merge.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Wait::Ready | Wait::Lanes(_) | Wait::Aligned)
    }

    /// Returns whether two groups at the same instruction become one group. Groups that wait for different lanes do not.
    fn joins(self, other: Wait) -> bool {
        let apart = matches!((self, other), (Wait::Lanes(a), Wait::Lanes(b)) if a != b);
        self.is_open() && other.is_open() && !apart
    }
}

/// The lanes at one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) pc: u32,
    pub(crate) mask: u32,
    /// The depth of the call stack.
    pub(crate) depth: u32,
    pub(crate) wait: Wait,
}

/// The maximum size in bytes of a thread's stack in local memory.
pub(crate) const MAX_STACK: u64 = 512 * 1024;

/// The alignment of frames in bytes.
pub(crate) const FRAME_ALIGN: u64 = 16;

/// A call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Activation {
    pub(crate) return_pc: u32,
    /// The size of the caller's frame in bytes.
    pub(crate) caller_frame: u32,
    /// The number of bytes of this frame that the caller may access.
    pub(crate) caller_used: u32,
    pub(crate) callee: u32,
    /// The callee's registers before the call, if it may already be active.
    pub(crate) saved: Option<Saved>,
}

/// One lane's registers of a function, and the undefined bits of the watched registers among them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    pub(crate) values: Box<[u64]>,
    pub(crate) taints: Box<[Taint]>,
}

/// One warp.
#[derive(Debug, Default)]
pub(crate) struct Warp {
    pub(crate) regs: Regs,
    pub(crate) local: Local,
    pub(crate) copies: AsyncCopies,
    /// The start of each lane's current frame in its local memory.
    pub(crate) sp: [u32; 32],
    pub(crate) stacks: Vec<Vec<Activation>>,
    /// The size of each lane's current frame in bytes.
    frames: [u32; 32],
    pub(crate) groups: Vec<Group>,
    /// The lanes that have not exited.
    pub(crate) live: u32,
    /// The rank of the warp's block in the cluster, and the warp's index in the block.
    pub(crate) cta: usize,
    pub(crate) index: u32,
    /// The phase of the cluster barrier in which each lane last arrived.
    pub(crate) cluster_phase: [u64; 32],
    /// The number of bulk groups that each lane has committed.
    pub(crate) bulk_groups: [u32; 32],
    /// The lanes of the group that ran last.
    pub(crate) chosen: u32,
    /// The number of instructions for which a group that could run has been passed over.
    pub(crate) impatience: u32,
    /// The number of times that a group took precedence because it had waited too long.
    pub(crate) turns: u32,
    /// Whether, in this turn, the warp has accessed memory that other threads may change.
    pub(crate) polled: bool,
    pub(crate) shadow: WarpShadow,
    /// The number of registers per thread, and whether this number is exact.
    pub(crate) max_registers: u32,
    pub(crate) knows_registers: bool,
}

impl Warp {
    /// Starts warp `index` of a block.
    pub(crate) fn start(&mut self, machine: &Machine<'_>, cta: &Cta, at: usize, index: u32) {
        let threads = machine.threads() - index * 32;
        let mask = if threads >= 32 { u32::MAX } else { (1 << threads) - 1 };
        self.regs.reset(machine.code.slots);
        for preset in &machine.code.presets {
            let values = machine.preset(preset.value, cta, index);
            self.regs.put(preset.slot, u32::MAX, &values);
        }
        self.local.reset(machine.checks.intersects(Checks::UNDEFINED));
        self.copies.reset();
        self.sp = [0; 32];
        self.stacks.resize_with(32, Vec::new);
        self.stacks.iter_mut().for_each(Vec::clear);
        self.frames = [machine.code.used; 32];
        self.groups.clear();
        self.groups.push(Group { pc: 0, mask, depth: 0, wait: Wait::Ready });
        self.live = mask;
        self.cta = at;
        self.index = index;
        self.cluster_phase = [0; 32];
        self.bulk_groups = [0; 32];
        self.impatience = 0;
        self.turns = 0;
        self.max_registers = machine.registers.unwrap_or_else(|| machine.most_registers());
        self.knows_registers = machine.registers.is_some();
        self.shadow.start(machine.code);
    }

    /// Returns the size of a lane's current frame in bytes.
    pub(crate) fn frame_of(&self, lane: usize) -> u32 {
        self.frames[lane]
    }

    /// Returns the end of a lane's current frame in its local memory.
    pub(crate) fn top_of(&self, lane: usize) -> u64 {
        u64::from(self.sp[lane]) + u64::from(self.frames[lane])
    }

    /// Sets the end of the current frame, at most [`MAX_STACK`].
    pub(crate) fn set_top(&mut self, lane: usize, top: u64) {
        self.frames[lane] = (top - u64::from(self.sp[lane])) as u32;
    }

    pub(crate) fn set_frame(&mut self, lane: usize, bytes: u32) {
        self.frames[lane] = bytes;
    }

    /// Merges groups at the same instruction.
    pub(crate) fn merge(&mut self) {
        let mut i = 0;
        while i < self.groups.len() {
            let mut j = i + 1;
            while j < self.groups.len() {
                let (a, b) = (self.groups[i], self.groups[j]);
                if a.pc == b.pc && a.depth == b.depth && a.wait.joins(b.wait) {
                    self.groups[i].mask |= b.mask;
                    self.groups[i].wait = Wait::Ready;
                    self.groups.swap_remove(j);
                } else {
                    j += 1;
                }
            }
            i += 1;
        }
    }
}
