//! Counts of the work that a launch performs, in total and per instruction.

use crate::report::SourceLocation;

/// The number of bytes that threads move, by state space. Inactive lanes are not counted; lanes that access the same address are counted
/// separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Bytes read from global memory, including those read by asynchronous copies.
    pub global_read: u64,
    /// Bytes written to global memory, including those written by asynchronous copies.
    pub global_written: u64,
    /// Bytes read from shared memory, including those read by asynchronous copies and `wgmma`.
    pub shared_read: u64,
    /// Bytes written to shared memory, including those written by asynchronous copies.
    pub shared_written: u64,
    /// Bytes read from local memory.
    pub local_read: u64,
    /// Bytes written to local memory.
    pub local_written: u64,
    /// Bytes read from constant memory.
    pub constant_read: u64,
    /// Bytes read from kernel parameters.
    pub param_read: u64,
}

/// The counts of executed instructions and memory accesses. All counts except [`warp_instructions`](Counts::warp_instructions) are 0 if
/// [`Checks::COUNTS`](crate::Checks::COUNTS) is off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of instructions executed, counted once per warp.
    pub warp_instructions: u64,
    /// The number of instructions executed, counted once per active thread.
    pub thread_instructions: u64,
    /// The number of executed branches, counted separately for each part of a diverged warp.
    pub branches: u64,
    /// The number of branches at which the lanes of a warp diverge.
    pub divergent_branches: u64,
    /// The number of warp-wide accesses to shared memory: loads, stores and atomics.
    pub shared_requests: u64,
    /// The number of wavefronts of the shared-memory requests. A wavefront is one pass over the 32 banks, each 4 bytes wide.
    pub shared_wavefronts: u64,
    /// The number of wavefronts that the shared-memory requests would need without bank conflicts.
    pub shared_wavefronts_ideal: u64,
    /// The number of warp-wide accesses to global memory: loads, stores, atomics and `cp.async`.
    pub global_requests: u64,
    /// The number of 32-byte sectors that the global-memory requests access.
    pub global_sectors: u64,
    /// The number of 32-byte sectors that the global-memory requests would access if the bytes of each request were contiguous and aligned.
    pub global_sectors_ideal: u64,
    /// The number of multiplications and additions performed by tensor cores.
    pub tensor_flops: u64,
    /// The number of bytes moved, by state space.
    pub bytes: Bytes,
}

impl Counts {
    /// Returns the number of shared-memory wavefronts in excess of those needed without bank conflicts.
    pub fn bank_conflicts(&self) -> u64 {
        self.shared_wavefronts - self.shared_wavefronts_ideal.min(self.shared_wavefronts)
    }

    /// Returns the average number of 32-byte sectors of global memory that a warp-wide request accesses, or 0 if there are no requests.
    pub fn sectors_per_request(&self) -> f64 {
        if self.global_requests == 0 { 0.0 } else { self.global_sectors as f64 / self.global_requests as f64 }
    }

    /// Returns the average fraction of a warp's lanes that were active, or 0 if no instructions were counted.
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

/// The class to which reports assign an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum InstructionClass {
    /// Integer, logic and bit instructions.
    Integer,
    /// Floating-point instructions of up to 32 bits.
    Float,
    /// 64-bit floating-point instructions.
    Double,
    /// `cvt`.
    Conversion,
    /// `mov`, `selp`, `cvta` and other instructions that move values between registers.
    Move,
    /// Comparisons.
    Compare,
    /// Loads, including `ldmatrix`.
    Load,
    /// Stores, including `stmatrix`.
    Store,
    /// `atom` and `red`.
    Atomic,
    /// Asynchronous copies, operations on their groups, and mbarrier operations.
    Async,
    /// Barriers and fences.
    Barrier,
    /// Branches, calls and returns.
    Control,
    /// Exchanges between the lanes of a warp, such as shuffles.
    Warp,
    /// `mma`, `wmma` and `wgmma`.
    Tensor,
    /// Other instructions.
    Other,
}

impl InstructionClass {
    /// Returns the name of the class in reports, such as `tensor`.
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
}

impl std::fmt::Display for InstructionClass {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// The counts of one instruction in the PTX text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineCounts {
    /// The 1-based line in the PTX text.
    pub line: u32,
    /// The 1-based column. A line may contain several instructions.
    pub column: u32,
    /// The instruction's full mnemonic.
    pub mnemonic: String,
    /// The class of the instruction.
    pub class: InstructionClass,
    /// The source location, if the text contains a `.loc` for the instruction.
    pub source: Option<SourceLocation>,
    /// The counts of the instruction.
    pub counts: Counts,
}
