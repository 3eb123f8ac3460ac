//! The decoded form: what a launch executes.
//!
//! Each PTX instruction is one [`Instr`] whose operands are slots of a warp's register file. Constants, special
//! registers that never change during a warp's life, and addresses of variables also live in slots, filled when a
//! warp starts, so that an executor never asks what kind of operand it has.

pub(super) mod alu;
pub(super) mod async_ops;
pub(super) mod control;
pub(super) mod memory;
pub(super) mod tensor;
pub(super) mod video;
pub(super) mod warp;

use std::collections::HashMap;
use std::sync::Arc;

pub(super) use alu::*;
pub(super) use async_ops::*;
pub(super) use control::*;
pub(super) use memory::*;
pub(super) use tensor::*;
pub(super) use video::*;
pub(super) use warp::*;

/// A slot of 32-bit lanes; narrower values lie in the low bits, zeros above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct R(pub(super) u32);

/// A slot of 64-bit lanes. A 128-bit register is two consecutive slots, low half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct D(pub(super) u32);

/// A predicate slot: one bit per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct P(pub(super) u32);

/// A slot of any class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Reg {
    R(R),
    D(D),
    P(P),
    /// A 128-bit register.
    Q(D),
}

/// A slot's value that is known when a warp starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// These bits.
    Bits(u64),
    /// A special register.
    Special(Special),
    /// The address of module variable `.0` plus bytes (global and constant space).
    Variable(u32, i64),
    /// A shared address, plus bytes: as such or made generic.
    Shared { offset: i64, generic: bool },
    /// The same, counted from the start of dynamic shared memory.
    DynamicShared { offset: i64, generic: bool },
    /// A local address of the entry made generic.
    LocalGeneric(i64),
    /// A kernel parameter's address made generic.
    ParamGeneric(i64),
    /// The address of function `.0` of the module.
    Function(u32),
}

/// Special registers that are constant for a lane of a warp (PTX ISA, "Special Registers").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Special {
    Tid(u8),
    Ntid(u8),
    Ctaid(u8),
    Nctaid(u8),
    LaneId,
    WarpId,
    NWarpId,
    SmId,
    NSmId,
    GridId,
    LaneMaskEq,
    LaneMaskLe,
    LaneMaskLt,
    LaneMaskGe,
    LaneMaskGt,
    ClusterId(u8),
    NClusterId(u8),
    ClusterCtaid(u8),
    ClusterNctaid(u8),
    ClusterCtaRank,
    ClusterNctaRank,
    IsExplicitCluster,
    TotalSmemSize,
    DynamicSmemSize,
    /// The address, in halves, of what cooperative groups meet in.
    Workspace {
        high: bool,
    },
    Zero,
}

/// `@p`, `@!p` or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    Always,
    If(P),
    Unless(P),
}

/// One decoded instruction.
#[derive(Debug)]
pub(super) struct Instr {
    pub(super) guard: Guard,
    pub(super) op: Op,
}

/// What an instruction does.
#[derive(Debug)]
pub(super) enum Op {
    Alu(Alu),
    Control(Control),
    Memory(Memory),
    Warp(WarpOp),
    Tensor(Box<Tensor>),
}

/// Where an instruction stands, for reports; parallel to the instructions.
#[derive(Clone, Debug)]
pub(super) struct Meta {
    pub(super) line: u32,
    pub(super) column: u32,
    /// Index into [`Code::locs`], or `u32::MAX`.
    pub(super) loc: u32,
    /// Index into [`Code::mnemonics`].
    pub(super) mnemonic: u32,
    /// What a checked run looks at before it, if anything.
    pub(super) look: Option<Box<Look>>,
    /// It looks only once something undefined is about.
    pub(super) late: bool,
}

impl Meta {
    /// Whether a checked run looks at anything, when something undefined is about or not.
    #[inline(always)]
    pub(super) fn looks(&self, undefined: bool) -> bool {
        self.look.is_some() && (!self.late || undefined)
    }
}

/// What a checked run looks at before an instruction.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    pub(super) watch: Option<Watch>,
    pub(super) products: Option<ProductTouches>,
    /// A generic address, and the space that it is converted to.
    pub(super) converts: Option<(Space, D)>,
}

impl Look {
    /// Whether there is something to see only once something undefined is about.
    pub(super) fn is_late(&self) -> bool {
        let watch = self.watch.as_ref().is_some_and(|watch| !watch.always);
        watch && self.products.is_none() && self.converts.is_none()
    }
}

/// What an instruction does with registers of asynchronous products, which are numbered.
#[derive(Clone, Debug)]
pub(super) struct ProductTouches {
    pub(super) role: ProductRole,
    pub(super) reads: Box<[u32]>,
    pub(super) writes: Box<[u32]>,
}

/// Which kind of instruction touches registers of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProductRole {
    /// A product: reads A, accumulates into the written ones.
    Product,
    /// `mov` of one register.
    Copy,
    Other,
}

/// What an instruction does with [watched](Watched) registers, by their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    pub(super) guard: Option<u32>,
    /// Computed with or copied.
    pub(super) sources: Box<[u32]>,
    /// Read, and decisive: addresses, targets, operands of products.
    pub(super) sinks: Box<[u32]>,
    /// Defined afterwards, or as undefined as the sources of an instruction that computes.
    pub(super) writes: Box<[u32]>,
    /// One of them may be read before it is written. The others need no look before something undefined was loaded.
    pub(super) always: bool,
}

/// Registers that may hold something undefined, numbered: those that may be read before they are written, those loaded
/// from where something may be undefined, and those computed from them.
#[derive(Debug, Default)]
pub(super) struct Watched {
    pub(super) registers: Vec<WatchedRegister>,
    pub(super) numbers: HashMap<Reg, u32>,
}

#[derive(Debug)]
pub(super) struct WatchedRegister {
    pub(super) reg: Reg,
    pub(super) name: Arc<str>,
    /// It may be read before it is written, or is computed from such.
    pub(super) unwritten: bool,
}

impl Watched {
    pub(super) fn number(&self, reg: Reg) -> Option<u32> {
        self.numbers.get(&reg).copied()
    }

    pub(super) fn reg(&self, number: u32) -> Reg {
        self.registers[number as usize].reg
    }

    pub(super) fn name(&self, number: u32) -> &str {
        &self.registers[number as usize].name
    }
}

/// A source line from `.loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SourceLine {
    pub(super) file: u32,
    pub(super) line: u32,
    pub(super) column: u32,
}

/// How many slots of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Slots {
    pub(super) r: u32,
    pub(super) d: u32,
    pub(super) p: u32,
}

/// A slot and what it holds when a warp starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Preset {
    pub(super) slot: Reg,
    pub(super) value: Value,
}

/// A function that can be called.
#[derive(Debug)]
pub(super) struct Callee {
    pub(super) name: Arc<str>,
    /// Its number among the module's functions, from which its address is made.
    pub(super) function: u32,
    /// Its first instruction.
    pub(super) start: u32,
    /// Bytes of local memory of one activation, and those that belong to variables.
    pub(super) frame: u32,
    pub(super) used: u32,
    /// Where it wants its parameters.
    pub(super) params: Vec<Place>,
    /// Where it leaves its results.
    pub(super) returns: Vec<Place>,
    /// Its register slots `[from, to)` by class, saved around calls when it can reach itself, and the watched ones of them.
    pub(super) saved: Option<(Slots, Slots)>,
    pub(super) watched: Box<[u32]>,
    /// What it does when it is not PTX.
    pub(super) builtin: Option<Builtin>,
}

/// A function that the driver provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    /// `vprintf(format, arguments)`.
    Vprintf,
    /// `__assertfail(message, file, line, function, size)`.
    AssertFail,
    /// `malloc(bytes)`: always refuses with a null pointer.
    Malloc,
    /// `free(pointer)`.
    Free,
}

/// Everything an entry can reach, ready to run.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) entry: Arc<str>,
    pub(super) instrs: Vec<Instr>,
    pub(super) meta: Vec<Meta>,
    pub(super) mnemonics: Vec<Arc<str>>,
    pub(super) locs: Vec<SourceLine>,
    pub(super) slots: Slots,
    pub(super) presets: Vec<Preset>,
    pub(super) callees: Vec<Callee>,
    /// Bytes of local memory of the entry itself, and those that belong to variables.
    pub(super) frame: u32,
    pub(super) used: u32,
    /// Bytes of statically declared shared memory, and the alignment dynamic shared memory starts at.
    pub(super) static_shared: u32,
    pub(super) dynamic_align: u32,
    pub(super) uses_dynamic_shared: bool,
    /// Bytes of the smallest access that may go to shared memory: 1, 2 or 4.
    pub(super) shared_unit: u8,
    /// The same for global memory.
    pub(super) global_unit: u8,
    /// Kernel parameters in order.
    pub(super) params: Vec<ParamSlot>,
    pub(super) param_bytes: u32,
    /// Blocks talk to each other through global memory, so they take turns in a fixed order.
    pub(super) communicates: bool,
    /// The registers that each instruction writes, then reads; and what registers are called.
    pub(super) operands: Vec<Box<[Reg]>>,
    pub(super) register_names: HashMap<Reg, Arc<str>>,
    pub(super) watched: Watched,
    /// How many registers asynchronous products use.
    pub(super) product_registers: u32,
}

impl Code {
    /// Whether all blocks of the grid may wait for each other as cooperative groups do.
    pub(super) fn meets_grid(&self) -> bool {
        self.presets.iter().any(|preset| matches!(preset.value, Value::Special(Special::Workspace { .. })))
    }
}

/// A kernel parameter's place in the parameter space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParamSlot {
    pub(super) name: Arc<str>,
    pub(super) ty: Arc<str>,
    pub(super) offset: u32,
    pub(super) size: u32,
}
