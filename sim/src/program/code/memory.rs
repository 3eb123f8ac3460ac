//! Instructions that read and write memory.

use crate::program::code::MbarrierFn;
use crate::program::code::properties::{Agent, Element, InFlight, Passes, Properties};
use std::ops::Range;

use crate::arith::{Float, Int};
use crate::program::code::Field;
use crate::program::code::{Bulk, BulkTensor, D, Fetch, Mbarrier, P, R, Reg, StoreAsync, SurfaceAccess};

/// A state space named by an instruction.
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
    /// Returns the name used in reports.
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

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Base {
    R(R),
    D(D),
    /// The current stack frame in local memory.
    Frame,
}

/// An address: a base plus an offset in bytes.
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
    /// Whether loads sign-extend into wider registers.
    pub(crate) signed: bool,
    /// Whether the destination registers are 16 bits wide.
    pub(crate) half: bool,
    /// Whether elements are floating-point numbers.
    pub(crate) float: bool,
    /// Whether the access is `.volatile`, `.relaxed`, `.acquire`, `.release` or `.mmio`, so that threads may communicate through it.
    pub(crate) strong: bool,
    /// Whether the access is `.acquire`, `.release` or `.acq_rel`, which order other accesses without a fence.
    pub(crate) synchronizes: bool,
    /// Whether the access is `.relaxed`, which acquires only with the next fence.
    pub(crate) relaxed: bool,
    /// Whether the access is strong, with a scope larger than the cluster.
    pub(crate) meets_blocks: bool,
    pub(crate) addr: Addr,
}

/// The largest default alignment in bytes that compilers use for structures.
const UNIT: u64 = 16;

impl Access {
    /// Returns the number of bytes that each lane accesses.
    pub(crate) fn size(&self) -> u64 {
        u64::from(self.bytes) * u64::from(self.count)
    }

    /// Returns the addresses of the 4-byte words that an access at `address` touches.
    pub(crate) fn words(&self, address: u64) -> impl Iterator<Item = u64> + use<> {
        let first = address & !3;
        let count = (self.size() + (address & 3)).div_ceil(4);
        (0..count).map(move |i| first.wrapping_add(4 * i))
    }

    /// Returns whether the access is `.volatile`, which is strong but not intended for synchronization.
    pub(crate) fn is_volatile(&self) -> bool {
        self.strong && !self.synchronizes && !self.relaxed
    }

    /// Returns whether uninitialized bytes next to initialized ones may be the padding of a structure. Compilers copy padding from generic
    /// addresses in unoptimized code, and as part of vectors.
    pub(crate) fn may_be_padding(&self) -> bool {
        (self.space == Space::Generic && !self.float) || self.count > 1
    }

    /// Returns the addresses of the bytes that may belong to the same structure as the accessed bytes.
    pub(crate) fn structure(&self, address: u64) -> Range<u64> {
        let end = address + self.size();
        if self.may_be_padding() { address & !(UNIT - 1)..end.next_multiple_of(UNIT) } else { address..end }
    }
}

/// Memory instructions.
#[derive(Clone, Debug)]
pub(crate) enum Memory {
    /// A load of one 32-bit element, the most common case.
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
    /// Waits for all but the newest `.0` groups.
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
    /// Waits for all but the newest `.0` bulk groups.
    BulkWait(u32),
    Fetch(Box<Fetch>),
    Surface(Box<SurfaceAccess>),
    LdMatrix(Box<MatrixAccess>),
    StMatrix(Box<MatrixAccess>),
}

/// The operation of an atomic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomFn {
    And,
    Or,
    Xor,
    Exch,
    Cas,
    Inc,
    Dec,
    /// Integer addition, which wraps.
    AddInt(Int),
    MinInt(Int),
    MaxInt(Int),
    /// Addition of floating-point numbers, or of each half of a pair.
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

/// `atom` or `red`.
#[derive(Clone, Debug)]
pub(crate) struct Atom {
    pub(crate) f: AtomFn,
    pub(crate) access: Access,
    /// The destinations, one per element. The list is empty for `red`.
    pub(crate) d: Box<[Reg]>,
    /// The operands, one per element.
    pub(crate) b: Box<[Reg]>,
    /// The new value of `cas`.
    pub(crate) c: Option<Reg>,
}

/// `cp.async`.
#[derive(Clone, Debug)]
pub(crate) struct CpAsync {
    pub(crate) dst: Addr,
    pub(crate) src: Addr,
    pub(crate) bytes: u8,
    /// The number of bytes to read; the remaining bytes are zero.
    pub(crate) src_bytes: Option<R>,
    /// The predicate under which nothing is read and all bytes are zero.
    pub(crate) ignore: Option<(P, bool)>,
}

/// `clusterlaunchcontrol.try_cancel`.
#[derive(Clone, Debug)]
pub(crate) struct TryCancel {
    pub(crate) space: Space,
    /// The address of the 16-byte response, and the address of the mbarrier that counts its bytes.
    pub(crate) response: Addr,
    pub(crate) mbarrier: Addr,
    /// Whether the response is written, and an mbarrier signaled, in each block of the cluster.
    pub(crate) to_all: bool,
}

/// `tensormap.replace`.
#[derive(Clone, Debug)]
pub(crate) struct MapReplace {
    pub(crate) field: Field,
    pub(crate) space: Space,
    pub(crate) addr: Addr,
    pub(crate) value: Reg,
    /// A slot for the value to store.
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
    /// Whether the addresses of all lanes must be valid, including lanes that do not provide a row.
    pub(crate) all_lanes: bool,
}

impl Access {
    /// Returns whether other blocks may observe the access.
    fn meets_blocks(&self) -> bool {
        matches!(self.space, Space::Generic | Space::Global)
    }

    fn element(&self) -> Option<Element> {
        Some(Element { space: Some(self.space), bytes: self.bytes })
    }

    /// Returns whether several threads share the memory, so that it may change.
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
                in_flight: InFlight::Begins,
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
                in_flight: InFlight::Released,
                ..Properties::DEFAULT
            },
            Memory::BulkTensor(tensor) => Properties {
                meets_blocks: tensor.reduce.is_some(),
                writes_global: tensor.reduce.is_none(),
                agent: Agent::Engine,
                in_flight: InFlight::Released,
                ..Properties::DEFAULT
            },
            Memory::StoreAsync(op) => {
                Properties { agent: Agent::Engine, reduces: op.reduce.is_some(), ..Properties::DEFAULT }
            }
            // Which clusters remain to be canceled depends on the progress of the others.
            Memory::TryCancel(_) => {
                Properties { meets_blocks: true, agent: Agent::Engine, ..Properties::DEFAULT }
            }
            Memory::CpAsync(_) => Properties { agent: Agent::Copier, ..Properties::DEFAULT },
            Memory::Mbarrier(op) => Properties {
                awaits: if tests_phase(op) { 3 } else { 0 },
                in_flight: if matches!(op.f, MbarrierFn::Arrive(_)) {
                    InFlight::Released
                } else {
                    InFlight::Remain
                },
                ..Properties::DEFAULT
            },
            Memory::CpAsyncCommit
            | Memory::CpAsyncWait(_)
            | Memory::CpAsyncWaitAll
            | Memory::PendingCount { .. }
            | Memory::MapReplace(_)
            | Memory::MapCopy(_)
            | Memory::BulkCommit
            | Memory::BulkWait(_)
            | Memory::FrameAddress { .. }
            | Memory::Isspacep { .. }
            | Memory::Alloca { .. }
            | Memory::StackSave(_)
            | Memory::StackRestore(_) => Properties::DEFAULT,
            // The size of texels is known only when they are fetched.
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
            Memory::LdMatrix(_) => Properties { in_flight: InFlight::Begins, ..Properties::DEFAULT },
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
