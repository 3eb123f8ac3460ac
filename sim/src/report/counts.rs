//! How much work a launch was, in all and by line.

use crate::report::SourceLocation;

/// Bytes that threads moved, by state space. Inactive lanes move none; lanes that read one address count each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Read from global memory, asynchronous copies included.
    pub global_read: u64,
    /// Written to global memory, asynchronous copies included.
    pub global_written: u64,
    /// Read from shared memory, also by asynchronous copies and `wgmma`.
    pub shared_read: u64,
    /// Written to shared memory, also by asynchronous copies.
    pub shared_written: u64,
    /// Read from local memory.
    pub local_read: u64,
    /// Written to local memory.
    pub local_written: u64,
    /// Read from constant memory.
    pub constant_read: u64,
    /// Read from kernel parameters.
    pub param_read: u64,
}

/// How much work it was. All but [`warp_instructions`](Counts::warp_instructions) stay 0 when
/// [`Checks::COUNTS`](crate::Checks::COUNTS) is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions executed, counted once per warp.
    pub warp_instructions: u64,
    /// Instructions executed, counted once per active thread.
    pub thread_instructions: u64,
    /// Branches executed by a warp or a part of one.
    pub branches: u64,
    /// Those after which lanes went different ways.
    pub divergent_branches: u64,
    /// Warp-wide loads, stores and atomics of shared memory.
    pub shared_requests: u64,
    /// Wavefronts they took: passes over the 32 banks of 4 bytes.
    pub shared_wavefronts: u64,
    /// Wavefronts they would take without bank conflicts.
    pub shared_wavefronts_ideal: u64,
    /// Warp-wide loads, stores, atomics and `cp.async` of global memory.
    pub global_requests: u64,
    /// 32-byte sectors they touched.
    pub global_sectors: u64,
    /// Sectors that as many bytes fill when they are adjacent.
    pub global_sectors_ideal: u64,
    /// Multiplications and additions of tensor cores.
    pub tensor_flops: u64,
    /// Bytes moved.
    pub bytes: Bytes,
}

impl Counts {
    /// Wavefronts of shared memory beyond the least possible.
    pub fn bank_conflicts(&self) -> u64 {
        self.shared_wavefronts - self.shared_wavefronts_ideal.min(self.shared_wavefronts)
    }

    /// 32-byte sectors of global memory per request; 0 without requests.
    pub fn sectors_per_request(&self) -> f64 {
        if self.global_requests == 0 { 0.0 } else { self.global_sectors as f64 / self.global_requests as f64 }
    }

    /// The part of a warp's lanes that were active, on average; 0 without instructions.
    pub fn active_lanes(&self) -> f64 {
        match self.warp_instructions {
            0 => 0.0,
            n => self.thread_instructions as f64 / (32.0 * n as f64),
        }
    }

    pub(crate) fn add(&mut self, other: &Counts) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.branches += other.branches;
        self.divergent_branches += other.divergent_branches;
        self.shared_requests += other.shared_requests;
        self.shared_wavefronts += other.shared_wavefronts;
        self.shared_wavefronts_ideal += other.shared_wavefronts_ideal;
        self.global_requests += other.global_requests;
        self.global_sectors += other.global_sectors;
        self.global_sectors_ideal += other.global_sectors_ideal;
        self.tensor_flops += other.tensor_flops;
        self.bytes.global_read += other.bytes.global_read;
        self.bytes.global_written += other.bytes.global_written;
        self.bytes.shared_read += other.bytes.shared_read;
        self.bytes.shared_written += other.bytes.shared_written;
        self.bytes.local_read += other.bytes.local_read;
        self.bytes.local_written += other.bytes.local_written;
        self.bytes.constant_read += other.bytes.constant_read;
        self.bytes.param_read += other.bytes.param_read;
    }
}

/// What kind of work an instruction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum InstructionClass {
    /// Integer, logic and bit instructions.
    Integer,
    /// Floating point up to 32 bits.
    Float,
    /// 64-bit floating point.
    Double,
    /// `cvt`.
    Conversion,
    /// `mov`, `selp`, `cvta` and others that move values between registers.
    Move,
    /// Comparisons.
    Compare,
    /// Loads, `ldmatrix`.
    Load,
    /// Stores, `stmatrix`.
    Store,
    /// `atom`, `red`.
    Atomic,
    /// Asynchronous copies, their groups and mbarriers.
    Async,
    /// Barriers and fences.
    Barrier,
    /// Branches, calls, returns.
    Control,
    /// Exchange between the lanes of a warp.
    Warp,
    /// `mma`, `wmma`, `wgmma`.
    Tensor,
    /// What fits nowhere else.
    Other,
}

impl InstructionClass {
    /// The class as reports spell it: `tensor`.
    pub fn name(self) -> &'static str {
        match self {
            InstructionClass::Integer => "integer",
            InstructionClass::Float => "float",
            InstructionClass::Double => "double",
            InstructionClass::Conversion => "conversion",
            InstructionClass::Move => "move",
            InstructionClass::Compare => "compare",
            InstructionClass::Load => "load",
            InstructionClass::Store => "store",
            InstructionClass::Atomic => "atomic",
            InstructionClass::Async => "async",
            InstructionClass::Barrier => "barrier",
            InstructionClass::Control => "control",
            InstructionClass::Warp => "warp",
            InstructionClass::Tensor => "tensor",
            InstructionClass::Other => "other",
        }
    }

    /// The class of an instruction that only touches registers by its full mnemonic: `fma.rn.f32`.
    pub(crate) fn of_mnemonic(mnemonic: &str) -> Self {
        let opcode = mnemonic.split('.').next().unwrap_or("");
        let ty = mnemonic.rsplit('.').next().unwrap_or("");
        match opcode {
            "mov" | "selp" | "slct" | "cvta" | "mapa" | "getctarank" | "createpolicy" => Self::Move,
            "setp" | "set" | "testp" => Self::Compare,
            "cvt" => Self::Conversion,
            _ if ty == "f64" => Self::Double,
            _ if ty.starts_with('f') || ty.starts_with("bf") => Self::Float,
            _ => Self::Integer,
        }
    }
}

impl std::fmt::Display for InstructionClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The work of one instruction of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCounts {
    /// 1-based line of the PTX text.
    pub line: u32,
    /// 1-based column: a line may hold several instructions.
    pub column: u32,
    /// The instruction's full mnemonic.
    pub mnemonic: String,
    /// What kind of work it is.
    pub class: InstructionClass,
    /// The line of the source that was compiled, if the text says.
    pub source: Option<SourceLocation>,
    /// The work.
    pub counts: Counts,
}
