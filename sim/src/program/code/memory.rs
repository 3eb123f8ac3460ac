//! Instructions that read and write memory.

use crate::program::code::MbarrierFn;
use crate::program::code::properties::{Agent, Element, Passes, Properties};
use std::ops::Range;

use crate::arith::{Float, Int};
use crate::program::code::Field;
use crate::program::code::{Bulk, BulkTensor, D, Fetch, Mbarrier, P, R, Reg, StoreAsync, SurfaceAccess};

/// A state space as instructions name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Generic,
    Global,
    Const,
    Shared,
    SharedCluster,
    Local,
    /// Kernel parameters.
    Param,
}

impl Space {
    /// As reports call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Space::Generic => "generic",
            Space::Global => "global",
            Space::Const => "constant",
            Space::Shared | Space::SharedCluster => "shared",
            Space::Local => "local",
            Space::Param => "param",
        }
    }
}

/// What an address counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    R(R),
    D(D),
    /// The current activation's frame in local memory.
    Frame,
}

/// An address: base plus bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Addr {
    pub(crate) base: Base,
    pub(crate) offset: i64,
}

/// One access by each lane: `count` elements of `bytes` bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    pub(crate) space: Space,
    pub(crate) bytes: u8,
    pub(crate) count: u8,
    /// Loads extend the sign into wider registers.
    pub(crate) signed: bool,
    /// The destination registers have 16 bits.
    pub(crate) half: bool,
    /// Elements are floating-point numbers.
    pub(crate) float: bool,
    /// `.volatile`, `.relaxed`, `.acquire`, `.release`, `.mmio`: may be meant for other threads.
    pub(crate) strong: bool,
    /// `.acquire`, `.release` or `.acq_rel`: orders other accesses without a fence.
    pub(crate) synchronizes: bool,
    /// `.relaxed`, which only the next fence makes an acquire.
    pub(crate) relaxed: bool,
    /// Strong, of a scope beyond the cluster.
    pub(crate) meets_blocks: bool,
    pub(crate) addr: Addr,
}

/// The largest alignment that compilers give a structure unasked.
const UNIT: u64 = 16;

impl Access {
    /// All bytes of a lane.
    pub(crate) fn size(&self) -> u64 {
        u64::from(self.bytes) * u64::from(self.count)
    }

    /// Returns whether it is `.volatile`: strong, but no synchronization is intended.
    pub(crate) fn is_volatile(&self) -> bool {
        self.strong && !self.synchronizes && !self.relaxed
    }

    /// Returns whether what a load finds next to written bytes may be the padding of a structure. Compilers copy that too: from
    /// generic addresses, if they do not optimize, or as vectors.
    pub(crate) fn may_be_padding(&self) -> bool {
        (self.space == Space::Generic && !self.float) || self.count > 1
    }

    /// The bytes that may belong to a structure with the ones at an address.
    pub(crate) fn structure(&self, address: u64) -> Range<u64> {
        let end = address + self.size();
        if self.may_be_padding() { address & !(UNIT - 1)..end.next_multiple_of(UNIT) } else { address..end }
    }
}

/// Memory instructions.
#[derive(Clone, Debug)]
pub(crate) enum Memory {
    /// One 32-bit element, the common case.
    LdR(Access, R),
    StR(Access, R),
    Ld(Access, Box<[Reg]>),
    St(Access, Box<[Reg]>),
    /// `mov` of the address of a local variable in a function.
    FrameAddress {
        d: Reg,
        offset: i64,
        generic: bool,
    },
    Alloca {
        d: Reg,
        bytes: Reg,
        align: u32,
    },
    StackSave(Reg),
    StackRestore(Reg),
    Atom(Box<Atom>),
    CpAsync(Box<CpAsync>),
    CpAsyncCommit,
    /// All but the newest `.0` groups.
    CpAsyncWait(u32),
    CpAsyncWaitAll,
    Isspacep {
        space: Space,
        d: P,
        a: Base,
    },
    Mbarrier(Box<Mbarrier>),
    PendingCount {
        d: R,
        state: D,
    },
    Bulk(Box<Bulk>),
    BulkTensor(Box<BulkTensor>),
    MapReplace(Box<MapReplace>),
    MapCopy(Box<MapCopy>),
    StoreAsync(Box<StoreAsync>),
    TryCancel(Box<TryCancel>),
    BulkCommit,
    /// All but the newest `.0` bulk groups.
    BulkWait(u32),
    Fetch(Box<Fetch>),
    Surface(Box<SurfaceAccess>),
    LdMatrix(Box<MatrixAccess>),
    StMatrix(Box<MatrixAccess>),
}

/// What an atomic does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomFn {
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
    /// Integers wrap.
    AddInt(Int),
    MinInt(Int),
    MaxInt(Int),
    /// A float or each half of a pair.
    AddFloat {
        ty: Float,
        pair: bool,
        ftz: bool,
    },
    MinFloat {
        ty: Float,
        pair: bool,
    },
    MaxFloat {
        ty: Float,
        pair: bool,
    },
}

/// `atom`, `red`.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    pub(crate) f: AtomFn,
    pub(crate) access: Access,
    /// One destination per element; empty for `red`.
    pub(crate) d: Box<[Reg]>,
    /// Per element.
    pub(crate) b: Box<[Reg]>,
    /// The swapped-in value of `cas`.
    pub(crate) c: Option<Reg>,
}

/// `cp.async`.
#[derive(Clone, Debug)]
pub(crate) struct CpAsync {
    pub(crate) dst: Addr,
    pub(crate) src: Addr,
    pub(crate) bytes: u8,
    /// Bytes read; the rest is zero.
    pub(crate) src_bytes: Option<R>,
    /// Where true, nothing is read and all is zero.
    pub(crate) ignore: Option<(P, bool)>,
}

/// `clusterlaunchcontrol.try_cancel`.
#[derive(Clone, Debug)]
pub(crate) struct TryCancel {
    pub(crate) space: Space,
    /// Of the 16 bytes of the response, and of the mbarrier that counts them.
    pub(crate) response: Addr,
    pub(crate) mbarrier: Addr,
    /// Both are in each block of the cluster.
    pub(crate) to_all: bool,
}

/// `tensormap.replace`.
#[derive(Clone, Debug)]
pub(crate) struct MapReplace {
    pub(crate) field: Field,
    pub(crate) space: Space,
    pub(crate) addr: Addr,
    pub(crate) value: Reg,
    /// Holds what is stored.
    pub(crate) temporary: D,
}

/// `tensormap.cp_fenceproxy`.
#[derive(Clone, Debug)]
pub(crate) struct MapCopy {
    pub(crate) to: Addr,
    pub(crate) from: Addr,
    pub(crate) temporary: D,
}

/// `ldmatrix`, `stmatrix` of 8×8 matrices of 16-bit elements.
#[derive(Clone, Debug)]
pub(crate) struct MatrixAccess {
    pub(crate) space: Space,
    pub(crate) addr: Addr,
    pub(crate) transposed: bool,
    /// One register per matrix.
    pub(crate) regs: Box<[R]>,
}

impl Access {
    /// Returns whether another block may take part in it.
    fn meets_blocks(&self) -> bool {
        matches!(self.space, Space::Generic | Space::Global)
    }

    fn element(&self) -> Option<Element> {
        Some(Element { space: Some(self.space), bytes: self.bytes })
    }

    /// Returns whether its memory belongs to more than one thread and may change.
    fn is_far(&self) -> bool {
        match self.space {
            Space::Generic | Space::Global | Space::Shared | Space::SharedCluster => true,
            Space::Local | Space::Param | Space::Const => false,
        }
    }
}

impl Memory {
    /// Returns the properties of the instruction.
    pub(crate) fn properties(&self) -> Properties<'_> {
        match self {
            Memory::LdR(access, _) | Memory::Ld(access, _) => Properties {
                element: access.element(),
                meets_blocks: access.strong && access.meets_blocks(),
                meets_lanes: access.strong,
                awaits: if access.strong { 2 } else { u8::from(access.is_far()) },
                ..Properties::DEFAULT
            },
            Memory::StR(access, _) | Memory::St(access, _) => Properties {
                element: access.element(),
                meets_blocks: access.strong && access.meets_blocks(),
                writes_global: !access.strong && access.meets_blocks(),
                passes: Passes::Everything,
                ..Properties::DEFAULT
            },
            Memory::Atom(atom) => Properties {
                element: atom.access.element(),
                meets_blocks: atom.access.meets_blocks(),
                meets_lanes: true,
                awaits: 2,
                ..Properties::DEFAULT
            },
            Memory::Bulk(bulk) => Properties {
                meets_blocks: bulk.reduce.is_some() && bulk.to.0 == Space::Global,
                writes_global: bulk.reduce.is_none() && bulk.to.0 == Space::Global,
                agent: Agent::Engine,
                reduces: bulk.reduce.is_some(),
                ..Properties::DEFAULT
            },
            Memory::BulkTensor(tensor) => {
                let (meets_blocks, writes_global) = (tensor.reduce.is_some(), tensor.reduce.is_none());
                Properties { meets_blocks, writes_global, agent: Agent::Engine, ..Properties::DEFAULT }
            }
            Memory::StoreAsync(op) => {
                Properties { agent: Agent::Engine, reduces: op.reduce.is_some(), ..Properties::DEFAULT }
            }
            // Which clusters are left depends on what others do.
            Memory::TryCancel(_) => {
                Properties { meets_blocks: true, agent: Agent::Engine, ..Properties::DEFAULT }
            }
            Memory::CpAsync(_) => Properties { agent: Agent::Copier, ..Properties::DEFAULT },
            Memory::Mbarrier(op) => {
                Properties { awaits: if tests_phase(op) { 3 } else { 0 }, ..Properties::DEFAULT }
            }
            Memory::CpAsyncCommit
            | Memory::CpAsyncWait(_)
            | Memory::CpAsyncWaitAll
            | Memory::PendingCount { .. }
            | Memory::MapReplace(_)
            | Memory::MapCopy(_)
            | Memory::BulkCommit
            | Memory::BulkWait(_)
            | Memory::LdMatrix(_)
            | Memory::FrameAddress { .. }
            | Memory::Isspacep { .. }
            | Memory::Alloca { .. }
            | Memory::StackSave(_)
            | Memory::StackRestore(_) => Properties::DEFAULT,
            // How large texels are is known when they are fetched.
            Memory::Fetch(_) => Properties {
                element: Some(Element { space: Some(Space::Global), bytes: 1 }),
                awaits: 1,
                ..Properties::DEFAULT
            },
            Memory::Surface(op) => Properties {
                element: Some(Element { space: Some(Space::Global), bytes: op.bytes }),
                writes_global: op.stores,
                awaits: u8::from(!op.stores),
                ..Properties::DEFAULT
            },
            Memory::StMatrix(_) => Properties { passes: Passes::Everything, ..Properties::DEFAULT },
        }
    }
}

fn tests_phase(op: &Mbarrier) -> bool {
    match op.f {
        MbarrierFn::Test { .. } => true,
        MbarrierFn::Init(_)
        | MbarrierFn::Inval
        | MbarrierFn::ExpectTx(_)
        | MbarrierFn::CompleteTx(_)
        | MbarrierFn::Arrive(_)
        | MbarrierFn::CopiesArrive { .. } => false,
    }
}
