//! The decoded form that a launch executes.
//!
//! Each PTX instruction is one [`Instr`], whose operands are slots of a warp's register file. Constants, addresses of variables, and
//! special registers that do not change during a warp's lifetime are also slots, filled when the warp starts. The executor therefore does
//! not need to distinguish operand kinds.

pub(crate) mod alu;
pub(crate) mod bulk;
pub(crate) mod control;
pub(crate) mod mbarrier;
pub(crate) mod memory;
pub(crate) mod properties;
pub(crate) mod tensor;
pub(crate) mod tensor_map;
pub(crate) mod texture;
pub(crate) mod video;
pub(crate) mod warp;

use std::collections::HashMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::report::InstructionClass;

pub(crate) use crate::program::code::alu::*;
pub(crate) use crate::program::code::bulk::*;
pub(crate) use crate::program::code::control::*;
pub(crate) use crate::program::code::mbarrier::*;
pub(crate) use crate::program::code::memory::*;
pub(crate) use crate::program::code::tensor::*;
pub use crate::program::code::tensor_map::TensorType;
pub(crate) use crate::program::code::tensor_map::*;
pub(crate) use crate::program::code::texture::*;
pub(crate) use crate::program::code::video::*;
pub(crate) use crate::program::code::warp::*;

/// A slot of 32-bit lanes; narrower values are in the low bits, with zeros above.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct R(pub(crate) u32);

/// A slot of 64-bit lanes. A 128-bit register is two consecutive slots, low half first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct D(pub(crate) u32);

/// A predicate slot: one bit per lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct P(pub(crate) u32);

/// A slot of any class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Reg {
    R(R),
    D(D),
    P(P),
    /// A 128-bit register.
    Q(D),
}

/// The initial value of a slot when a warp starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Value {
    /// A constant.
    Bits(u64),
    /// A special register.
    Special(Special),
    /// The address of module variable `.0` plus an offset in bytes (global and constant space).
    Variable(u32, i64),
    /// An offset in shared memory, as a shared or generic address.
    Shared { offset: i64, generic: bool },
    /// An offset from the start of dynamic shared memory, as a shared or generic address.
    DynamicShared { offset: i64, generic: bool },
    /// A local address of the entry function, as a generic address.
    LocalGeneric(i64),
    /// The address of a kernel parameter, as a generic address.
    ParamGeneric(i64),
    /// The address of function `.0` of the module.
    Function(u32),
}

/// Special registers that are constant for a lane of a warp (PTX ISA, "Special Registers").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Special {
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
    /// One half of the address of the workspace in which cooperative groups synchronize the grid.
    Workspace {
        high: bool,
    },
    Zero,
}

/// A guard: `@p`, `@!p` or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Guard {
    Always,
    If(P),
    Unless(P),
}

/// One decoded instruction.
#[derive(Clone, Debug)]
pub(crate) struct Instr {
    pub(crate) guard: Guard,
    /// Whether lanes may exchange values through the instruction (see [`Properties`](properties::Properties)); stored here for fast access.
    pub(crate) meets_lanes: bool,
    pub(crate) op: Op,
}

impl Instr {
    pub(crate) fn new(guard: Guard, op: Op) -> Self {
        Self { guard, meets_lanes: op.properties().meets_lanes, op }
    }
}

/// The operation of an instruction.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Alu(Alu),
    Control(Control),
    Memory(Memory),
    Warp(WarpOp),
    Tensor(Box<Tensor>),
}

/// The location of an instruction for reports, and its checks. [`Code::meta`] is parallel to [`Code::instrs`].
#[derive(Clone, Debug)]
pub(crate) struct Meta {
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The index in [`Code::locs`], or `u32::MAX`.
    pub(crate) loc: u32,
    /// The index in [`Code::mnemonics`].
    pub(crate) mnemonic: u32,
    /// The class under which the instruction is counted.
    pub(crate) class: InstructionClass,
    /// The checks before the instruction in a checked run, if any.
    pub(crate) look: Option<Box<Look>>,
    /// Whether these checks are needed only once undefined values exist.
    pub(crate) late: bool,
}

impl Meta {
    /// Returns whether a checked run checks the instruction, given whether undefined values exist.
    #[inline(always)]
    pub(crate) fn looks(&self, undefined: bool) -> bool {
        self.look.is_some() && (!self.late || undefined)
    }
}

/// The checks before an instruction in a checked run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Look {
    pub(crate) watch: Option<Watch>,
    pub(crate) products: Option<ProductTouches>,
    /// The generic address that is converted to shared space.
    pub(crate) converts: Option<D>,
}

impl Look {
    /// Returns whether the checks are needed only once undefined values exist.
    pub(crate) fn is_late(&self) -> bool {
        let watch = self.watch.as_ref().is_some_and(|watch| !watch.always);
        watch && self.products.is_none() && self.converts.is_none()
    }
}

/// The accesses of an instruction to registers of asynchronous products, by index.
#[derive(Clone, Debug)]
pub(crate) struct ProductTouches {
    pub(crate) role: ProductRole,
    pub(crate) reads: Box<[u32]>,
    pub(crate) writes: Box<[u32]>,
}

/// The kind of instruction that accesses registers of products.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProductRole {
    /// A product, which reads A and accumulates into the written registers.
    Product,
    /// `mov` of one register.
    Copy,
    Other,
}

/// The accesses of an instruction to [watched](Watched) registers, by index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch {
    pub(crate) guard: Option<u32>,
    /// Registers that are copied or used in computations.
    pub(crate) sources: Box<[u32]>,
    /// Registers whose values affect behavior: addresses, targets, operands of products.
    pub(crate) sinks: Box<[u32]>,
    /// Registers that are defined afterward, or whose undefined bits are determined by the sources of a computation.
    pub(crate) writes: Box<[u32]>,
    /// Whether one of the registers may be read before it is written. If not, no check is needed until an undefined value has been loaded.
    pub(crate) always: bool,
}

/// The registers that may contain undefined values: registers that may be read before they are written, registers loaded from memory with
/// possibly undefined values, and registers computed from these.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    pub(crate) registers: Vec<WatchedRegister>,
    pub(crate) numbers: FxHashMap<Reg, u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct WatchedRegister {
    pub(crate) reg: Reg,
    pub(crate) name: Arc<str>,
    /// Whether the register may be read before it is written, or is computed from such a register.
    pub(crate) unwritten: bool,
}

impl Watched {
    pub(crate) fn number(&self, reg: Reg) -> Option<u32> {
        self.numbers.get(&reg).copied()
    }

    pub(crate) fn reg(&self, number: u32) -> Reg {
        self.registers[number as usize].reg
    }

    pub(crate) fn name(&self, number: u32) -> &str {
        &self.registers[number as usize].name
    }
}

/// A source line from `.loc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceLine {
    pub(crate) file: u32,
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// The number of slots of each class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) r: u32,
    pub(crate) d: u32,
    pub(crate) p: u32,
}

/// A slot and its value when a warp starts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preset {
    pub(crate) slot: Reg,
    pub(crate) value: Value,
}

/// A function that can be called.
#[derive(Clone, Debug)]
pub(crate) struct Callee {
    pub(crate) name: Arc<str>,
    /// The index of the function in the module, from which its address is derived.
    pub(crate) function: u32,
    /// The index of the first instruction.
    pub(crate) start: u32,
    /// The size in bytes of a stack frame in local memory, and the number of these bytes that belong to variables.
    pub(crate) frame: u32,
    pub(crate) used: u32,
    /// The locations of the parameters.
    pub(crate) params: Vec<Place>,
    /// The locations of the results.
    pub(crate) returns: Vec<Place>,
    /// If the function is recursive, its register slots `[from, to)` by class, which must be saved around calls, and the watched registers
    /// among them.
    pub(crate) saved: Option<(Slots, Slots)>,
    pub(crate) watched: Box<[u32]>,
    /// The built-in function, if the callee is not PTX.
    pub(crate) builtin: Option<Builtin>,
}

/// A function that the driver provides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Builtin {
    /// `vprintf(format, arguments)`.
    Vprintf,
    /// `__assertfail(message, file, line, function, size)`.
    AssertFail,
    /// `malloc(bytes)`, which returns a block of the device heap or a null pointer.
    Malloc,
    /// `free(pointer)`.
    Free,
    /// A function without a body, which must not be called.
    Missing,
}

/// The executable code of an entry and of all functions that it can reach.
#[derive(Clone, Debug)]
pub(crate) struct Code {
    pub(crate) entry: Arc<str>,
    pub(crate) instrs: Vec<Instr>,
    pub(crate) meta: Vec<Meta>,
    pub(crate) mnemonics: Vec<Arc<str>>,
    pub(crate) locs: Vec<SourceLine>,
    pub(crate) slots: Slots,
    pub(crate) presets: Vec<Preset>,
    pub(crate) callees: Vec<Callee>,
    /// The size in bytes of the entry function's own frame in local memory, and the number of these bytes that belong to variables.
    pub(crate) frame: u32,
    pub(crate) used: u32,
    /// The size in bytes of static shared memory, and the alignment of the start of dynamic shared memory.
    pub(crate) static_shared: u32,
    pub(crate) dynamic_align: u32,
    pub(crate) uses_dynamic_shared: bool,
    /// The size in bytes of the smallest access that may target shared memory: 1, 2 or 4.
    pub(crate) shared_unit: u8,
    /// The size in bytes of the smallest access that may target global memory: 1, 2 or 4.
    pub(crate) global_unit: u8,
    /// The kernel parameters in order.
    pub(crate) params: Vec<ParamSlot>,
    pub(crate) param_bytes: u32,
    /// Whether blocks communicate through global memory, in which case they take turns in a fixed order.
    pub(crate) communicates: bool,
    /// Whether any instruction may write to global memory non-atomically. If not, threads cannot race in global memory.
    pub(crate) writes_global: bool,
    /// Whether `malloc` or `free` may be called.
    pub(crate) uses_heap: bool,
    /// Whether `griddepcontrol.wait` may be executed.
    pub(crate) waits_for_grid: bool,
    /// The registers that each instruction writes, followed by those that it reads; and the names of registers.
    pub(crate) operands: Vec<Box<[Reg]>>,
    pub(crate) register_names: HashMap<Reg, Arc<str>>,
    pub(crate) watched: Watched,
    /// For each instruction, whether it is a load that may be in flight when its thread releases the memory to an asynchronous engine.
    pub(crate) loads_in_flight: Vec<bool>,
    /// The number of registers that asynchronous products use.
    pub(crate) product_registers: u32,
    /// The sums that are fused with a product, in program order within each function.
    pub(crate) contractions: Vec<Contraction>,
}

/// The indices of a product and of a sum that are fused into one `fma`.
#[derive(Clone, Debug)]
pub(crate) struct Contraction {
    pub(crate) product: u32,
    pub(crate) sum: u32,
    /// The sum as written in the text, and the registers that it accesses.
    pub(crate) separate: Alu,
    pub(crate) operands: Box<[Reg]>,
}

impl Code {
    /// Returns the code with products and sums rounded separately, as written.
    pub(crate) fn uncontracted(&self) -> Self {
        let mut code = self.clone();
        for Contraction { sum, separate, operands, .. } in std::mem::take(&mut code.contractions) {
            code.instrs[sum as usize].op = Op::Alu(separate);
            code.operands[sum as usize] = operands;
        }
        code
    }

    /// Returns whether all blocks of the grid may wait for each other, as cooperative groups do.
    pub(crate) fn meets_grid(&self) -> bool {
        self.presets.iter().any(|preset| matches!(preset.value, Value::Special(Special::Workspace { .. })))
    }
}

/// The position of a kernel parameter in the parameter space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamSlot {
    pub(crate) name: Arc<str>,
    pub(crate) ty: Arc<str>,
    pub(crate) offset: u32,
    pub(crate) size: u32,
}
