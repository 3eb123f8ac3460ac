//! Control flow, calls and barriers.

use crate::program::code::properties::{Flow, InFlight, Passes, Properties};
use crate::program::code::{D, P, R, Reg};

/// Instructions that change a lane's program counter or make it wait.
#[derive(Clone, Debug)]
pub(crate) enum Control {
    /// A branch to an instruction. While its function is being decoded, the target is the number of a label.
    Branch(u32),
    /// `brx.idx index, list`.
    BranchIndexed(R, Box<[u32]>),
    Call(Box<Call>),
    Return,
    Exit,
    Trap,
    Breakpoint,
    Barrier(Box<Barrier>),
    /// `bar.warp.sync mask`.
    WarpSync(R),
    /// `barrier.cluster.arrive`.
    ClusterArrive {
        aligned: bool,
        relaxed: bool,
    },
    /// `barrier.cluster.wait`.
    ClusterWait {
        aligned: bool,
    },
    /// `nanosleep`: yields to other warps.
    Yield,
    /// `griddepcontrol.wait`.
    GridWait,
    /// `membar` and `fence`, which order earlier accesses before later ones.
    Fence(FenceScope),
    /// `fence.proxy.async`, for shared memory.
    ProxyFence,
    /// `wgmma.commit_group`.
    WgmmaCommit,
    /// `wgmma.wait_group`, which waits for all but the newest `.0` groups.
    WgmmaWait(u32),
    /// `wgmma.fence`.
    WgmmaFence,
    /// `setmaxnreg`, which sets the number of registers per thread. `more` is set if the number increases.
    MaxRegisters {
        count: u32,
        more: bool,
    },
    /// A pragma that declares a value to be uniform.
    Uniform(Uniform),
    /// Prefetches and hints, which have no effect on results.
    Hint,
}

/// The threads among which a pragma declares a value to be equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Together {
    /// Each group of this many consecutive threads of a block.
    Threads(u32),
    Block,
    Cluster,
}

/// A declaration that threads have the same value in a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Uniform {
    pub(crate) reg: Reg,
    pub(crate) together: Together,
}

/// The scope of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FenceScope {
    Block,
    Cluster,
    /// `.gpu` or `.sys`.
    Device,
}

/// The location of an argument or result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Bytes of a frame in local memory.
    Frame { offset: u32, size: u32 },
    /// A register.
    Register(Reg),
}

impl Place {
    /// Returns the register, if the location is a register.
    pub(crate) fn register(self) -> Option<Reg> {
        match self {
            Place::Register(reg) => Some(reg),
            Place::Frame { .. } => None,
        }
    }
}

/// The function that a call invokes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// The callee with this index.
    Direct(u32),
    /// The function whose address is in a register.
    Indirect(D),
}

/// A call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) target: Target,
    pub(crate) args: Vec<Place>,
    pub(crate) returns: Vec<Place>,
    /// The size in bytes of the caller's own frame, which is known once its function has been decoded.
    pub(crate) frame: u32,
}

/// The operation of a barrier in addition to waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierKind {
    Sync,
    Arrive,
    /// `red.popc` into a register.
    Popc(R, P, bool),
    /// `red.and` into a predicate.
    And(P, P, bool),
    /// `red.or` into a predicate.
    Or(P, P, bool),
}

/// `bar` or `barrier`.
#[derive(Clone, Debug)]
pub(crate) struct Barrier {
    pub(crate) kind: BarrierKind,
    pub(crate) aligned: bool,
    pub(crate) id: R,
    /// The number of threads that participate, or `None` for all threads of the block.
    pub(crate) threads: Option<R>,
}

impl Control {
    /// Returns the properties of the instruction.
    pub(crate) fn properties(&self) -> Properties<'_> {
        match self {
            Control::Call(call) => {
                Properties { passes: Passes::Arguments(&call.args), ..Properties::DEFAULT }
            }
            // With fences of device scope, blocks may also communicate through ordinary accesses.
            Control::Fence(scope) => {
                Properties { meets_blocks: *scope == FenceScope::Device, ..Properties::DEFAULT }
            }
            Control::Branch(target) => {
                Properties { flow: Flow::To(std::slice::from_ref(target)), ..Properties::DEFAULT }
            }
            Control::BranchIndexed(_, targets) => {
                Properties { flow: Flow::To(targets), ..Properties::DEFAULT }
            }
            Control::Return | Control::Exit | Control::Trap => {
                Properties { flow: Flow::Ends, ..Properties::DEFAULT }
            }
            Control::Barrier(barrier) => {
                let arrives = barrier.kind == BarrierKind::Arrive;
                let in_flight = if arrives { InFlight::Released } else { InFlight::Complete };
                Properties { in_flight, ..Properties::DEFAULT }
            }
            Control::Breakpoint
            | Control::WarpSync(_)
            | Control::ClusterArrive { .. }
            | Control::ClusterWait { .. }
            | Control::ProxyFence
            | Control::GridWait
            | Control::WgmmaCommit
            | Control::WgmmaWait(_)
            | Control::WgmmaFence
            | Control::Yield
            | Control::MaxRegisters { .. }
            | Control::Uniform(_)
            | Control::Hint => Properties::DEFAULT,
        }
    }
}
