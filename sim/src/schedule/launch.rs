//! Kernel launches: [`Sim`] and [`Launch`].

use std::sync::atomic::AtomicU64;

use crate::machine::Machine;
use crate::machine::memory::Memory;
use crate::machine::options::Arch;
use crate::machine::options::Arg;
use crate::machine::options::Contract;
use crate::machine::printed::OnPrint;
use crate::machine::trace::{OnStep, Step, Trace, Tracer};
use crate::program::code::Code;
use crate::program::module::Module;
use crate::report::Checks;
use crate::report::{Finding, FindingKind, Report, Site};
use crate::schedule::error::SimError;
use crate::schedule::grid;
use crate::schedule::grid::OnProgress;
use crate::shadow::GridShadow;
use crate::shadow::footprint::Touched;

/// The shape of a launch: grid, block, cluster and dynamic shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The number of blocks along x, y and z.
    pub grid: [u32; 3],
    /// The number of threads per block along x, y and z.
    pub block: [u32; 3],
    /// The size of dynamic shared memory in bytes.
    pub dynamic_shared_bytes: u32,
    /// The number of blocks per cluster along x, y and z, or `None` if the launch does not specify clusters.
    pub cluster: Option<[u32; 3]>,
}

impl Default for Launch {
    /// Returns a launch of one block of one thread.
    fn default() -> Self {
        Self { grid: [1; 3], block: [1; 3], dynamic_shared_bytes: 0, cluster: None }
    }
}

/// A simulated device with its settings. It is cheap to create. Launches are deterministic unless blocks race.
pub struct Sim<'a> {
    arch: Arch,
    checks: Checks,
    contract: Contract,
    heap: u64,
    step_limit: u64,
    keep_going: usize,
    seed: Option<u64>,
    footprint: bool,
    progress: Option<Box<OnProgress<'a>>>,
    print: Option<Box<OnPrint<'a>>>,
    trace: Option<(Trace, Box<OnStep<'a>>)>,
}

impl Default for Sim<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Sim<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            arch,
            checks,
            contract,
            heap,
            step_limit,
            keep_going,
            seed,
            footprint,
            progress: _,
            print: _,
            trace: _,
        } = self;
        f.debug_struct("Sim")
            .field("arch", arch)
            .field("checks", checks)
            .field("contract", contract)
            .field("heap", heap)
            .field("step_limit", step_limit)
            .field("keep_going", keep_going)
            .field("seed", seed)
            .field("footprint", footprint)
            .finish()
    }
}

/// The default maximum number of warp instructions per block.
const DEFAULT_STEP_LIMIT: u64 = 1 << 31;

/// The default size of the device heap in bytes, as in CUDA.
const DEFAULT_HEAP: u64 = 8 << 20;

/// The size in bytes of the workspace for cooperative groups, which use its second word.
const WORKSPACE: u64 = 32;

/// The maximum static shared memory in bytes; larger amounts must be dynamic (CUDA C++ Programming Guide, "Shared Memory").
const MAX_STATIC_SHARED: u32 = 48 * 1024;

impl<'a> Sim<'a> {
    /// Creates an sm_90 simulator with all checks enabled.
    pub fn new() -> Self {
        Self {
            arch: Arch::default(),
            checks: Checks::all(),
            contract: Contract::default(),
            heap: DEFAULT_HEAP,
            step_limit: DEFAULT_STEP_LIMIT,
            keep_going: 0,
            seed: None,
            footprint: false,
            progress: None,
            print: None,
            trace: None,
        }
    }

    /// Sets the simulated architecture; the default is sm_90.
    #[must_use]
    pub fn arch(mut self, arch: Arch) -> Self {
        self.arch = arch;
        self
    }

    /// Sets the enabled checks; by default, all checks are enabled.
    #[must_use]
    pub fn checks(mut self, checks: Checks) -> Self {
        self.checks = checks;
        self
    }

    /// Sets whether a `mul` and a dependent `add` or `sub` are fused; the default is [`Contract::Ptxas`].
    #[must_use]
    pub fn contract(mut self, contract: Contract) -> Self {
        self.contract = contract;
        self
    }

    /// Sets the size in bytes of the device heap, from which device-side `malloc` allocates; the default is 8 MiB. Each allocation also
    /// occupies a 16-byte header. As in CUDA, the first launch of a kernel that calls `malloc` or `free` fixes the size for its [`Memory`].
    #[doc(alias = "cudaLimitMallocHeapSize")]
    #[must_use]
    pub fn heap(mut self, bytes: u64) -> Self {
        self.heap = bytes;
        self
    }

    /// Sets the maximum number of warp instructions per block (or per cluster, if the launch has clusters); the default is 2³¹. A block
    /// that exceeds this number ends the run with a [`StepLimit`](crate::FindingKind::StepLimit) finding.
    #[must_use]
    pub fn step_limit(mut self, instructions: u64) -> Self {
        self.step_limit = instructions;
        self
    }

    /// Continues after findings that do not end the run (races, uninitialized reads, missing waits), and returns up to `limit` findings in
    /// [`Report::findings`], one per kind and instruction (or pair of instructions).
    ///
    /// If a finding such as an out-of-bounds access ends the run, [`Report::stopped`] is set. With a limit of 0, the default, the launch
    /// returns the first finding as the error [`SimError::Fault`].
    #[must_use]
    pub fn keep_going(mut self, limit: usize) -> Self {
        self.keep_going = limit;
        self
    }

    /// Interleaves warps and communicating blocks at random. Runs with the same seed are identical on every machine.
    ///
    /// Without a seed, warps take turns in a fixed order.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets whether [`Report::footprint`] records the bytes of global memory that a launch accesses.
    #[must_use]
    pub fn footprint(mut self, record: bool) -> Self {
        self.footprint = record;
        self
    }

    /// Calls `f` whenever a block or cluster completes, on the thread that ran it. The arguments are the number of completed blocks and the
    /// total number of blocks.
    #[must_use]
    pub fn on_progress(mut self, f: impl Fn(u64, u64) + Send + Sync + 'a) -> Self {
        self.progress = Some(Box::new(f));
        self
    }

    /// Calls `f` with each string of [`Report::printed`], in order, after the kernel has ended, even if the launch returns an error.
    #[must_use]
    pub fn on_print(mut self, f: impl Fn(&str) + Send + Sync + 'a) -> Self {
        self.print = Some(Box::new(f));
        self
    }

    /// Calls `f` after each instruction that `what` selects. Blocks take turns instead of running in parallel.
    #[must_use]
    pub fn on_step(mut self, what: Trace, f: impl Fn(&Step<'_>) + Send + Sync + 'a) -> Self {
        self.trace = Some((what, Box::new(f)));
        self
    }

    /// Runs a kernel to completion.
    ///
    /// The module's variables are allocated in `memory` by the first launch and retain their values between launches.
    ///
    /// # Errors
    /// Returns an error if the kernel does not exist or contains an unsupported instruction, if the arguments do not match its parameters,
    /// if the shape of the launch is invalid, or if a finding stops the run ([`SimError::Fault`]).
    pub fn launch(
        &self,
        module: &Module,
        entry: &str,
        launch: &Launch,
        args: &[Arg],
        memory: &mut Memory,
    ) -> Result<Report, SimError> {
        let Some(found) = module.entry(entry) else {
            let entries = module.entries().map(|e| format!("`{}`", e.name())).collect();
            return Err(SimError::UnknownEntry { name: entry.into(), entries });
        };
        let code = found.code().map_err(|error| SimError::Unsupported {
            kernel: entry.into(),
            reason: error.message().into(),
            line: error.line(),
        })?;
        let separate =
            (self.contract == Contract::Never && !code.contractions.is_empty()).then(|| code.uncontracted());
        let code = separate.as_ref().unwrap_or(code);
        let params = params(code, args)?;
        let cluster = launch.cluster.or(found.reqnctapercluster());
        check_shape(
            code,
            launch,
            found.reqntid(),
            found.directive("maxntid"),
            cluster,
            found.reqnctapercluster(),
        )?;
        let dynamic_start = code.static_shared.next_multiple_of(code.dynamic_align);
        let shared_bytes = match (code.uses_dynamic_shared, launch.dynamic_shared_bytes) {
            (false, 0) => code.static_shared,
            (_, dynamic) => dynamic_start.saturating_add(dynamic),
        };
        let most = self.arch.shared_limit();
        if code.static_shared > MAX_STATIC_SHARED || shared_bytes > most {
            let message = format!(
                "shared memory budget exceeded: {} bytes are static, {shared_bytes} in all; a block has at most \
                 {MAX_STATIC_SHARED} static and {most} in all",
                code.static_shared
            );
            let finding = budget(code, module, message);
            return match self.keep_going {
                0 => Err(SimError::Fault(Box::new(finding))),
                _ => Ok(Report { findings: vec![finding], stopped: true, ..Report::default() }),
            };
        }
        let variables = memory.load(module);
        let number = memory.begin_launch();
        if code.uses_heap {
            memory.begin_heap(self.heap);
        }
        let workspace = if code.meets_grid() { memory.alloc_workspace(WORKSPACE) } else { 0 };
        let blocks = |v: [u32; 3]| v.iter().map(|&n| u64::from(n)).product::<u64>();
        let clusters = blocks(launch.grid) / blocks(cluster.unwrap_or([1; 3]));
        let machine = Machine {
            code,
            memory,
            params,
            grid: launch.grid,
            block: launch.block,
            cluster: cluster.unwrap_or([1; 3]),
            explicit_cluster: cluster.is_some(),
            shared_bytes,
            dynamic_start: dynamic_start.min(shared_bytes),
            registers: found.directive("maxnreg").and_then(|n| n.first()).map(|&n| n.min(256) as u32),
            workspace,
            variables,
            tensor: self.arch.tensor(),
            checks: self.checks,
            step_limit: self.step_limit,
            keep_going: self.keep_going,
            print: self.print.as_deref(),
            seed: self.seed,
            shadow: GridShadow {
                touched: self.footprint.then(|| Touched::new(memory.sizes())),
                ..GridShadow::new(code, self.checks, memory.writable(), clusters)
            },
            tracer: self.trace.as_ref().map(|(what, tell)| Tracer { what: *what, tell, module }),
            parallel: self.trace.is_none() && !code.communicates,
            launch: number,
            next_cluster: AtomicU64::new(0),
        };
        let nothing = |_: u64, _: u64| {};
        let progress: &OnProgress<'_> = match &self.progress {
            Some(f) => f,
            None => &nothing,
        };
        grid::run(&machine, module, progress).map_err(SimError::Fault)
    }
}

/// Returns the contents of the parameter space as words.
fn params(code: &Code, args: &[Arg]) -> Result<Vec<u32>, SimError> {
    if args.len() != code.params.len() {
        return Err(SimError::ArgumentCount {
            kernel: code.entry.to_string(),
            expected: code.params.len(),
            found: args.len(),
        });
    }
    let mut words = vec![0; code.param_bytes.div_ceil(4) as usize];
    for (index, (arg, param)) in args.iter().zip(&code.params).enumerate() {
        if arg.bytes.len() != param.size as usize {
            return Err(SimError::ArgumentSize {
                kernel: code.entry.to_string(),
                index,
                name: param.name.to_string(),
                ty: param.ty.to_string(),
                expected: param.size as usize,
                found: arg.bytes.len(),
            });
        }
        for (i, &byte) in arg.bytes.iter().enumerate() {
            let at = param.offset as usize + i;
            words[at / 4] |= u32::from(byte) << (8 * (at % 4));
        }
    }
    Ok(words)
}

/// Returns a finding about the kernel's shared memory, located at its largest shared variable or, if it has none, at the first instruction.
fn budget(code: &Code, module: &Module, message: String) -> Finding {
    let meta = &code.meta[0];
    let largest = module.largest_shared(&code.entry);
    let (line, column, mnemonic) = match largest {
        Some(pos) => (pos.line, pos.column, ".shared".to_string()),
        None => (meta.line, meta.column, code.mnemonics[meta.mnemonic as usize].to_string()),
    };
    Finding {
        kind: FindingKind::BudgetExceeded,
        message,
        site: Site {
            kernel: code.entry.to_string(),
            block: [0; 3],
            thread: None,
            warp: 0,
            lane: None,
            line,
            column,
            mnemonic,
            source: module.source_of(code, meta),
            file: module.file().to_string(),
            text: module.line(line).to_string(),
        },
        other: None,
        notes: vec![],
    }
}

fn shape(code: &Code, reason: impl Into<String>) -> SimError {
    SimError::Shape { kernel: code.entry.to_string(), reason: reason.into() }
}

/// The maximum number of blocks in a grid, which limits the duration of a launch.
const MAX_BLOCKS: u64 = 1 << 26;

/// Checks the limits in the CUDA C++ Programming Guide, "Technical Specifications", and those in the kernel's directives.
fn check_shape(
    code: &Code,
    launch: &Launch,
    reqntid: Option<[u32; 3]>,
    maxntid: Option<&[u64]>,
    cluster: Option<[u32; 3]>,
    required_cluster: Option<[u32; 3]>,
) -> Result<(), SimError> {
    let product = |v: [u32; 3]| v.iter().fold(1, |n: u64, &extent| n.saturating_mul(extent.into()));
    let show = |v: [u32; 3]| format!("({}, {}, {})", v[0], v[1], v[2]);
    let (grid, block) = (launch.grid, launch.block);
    let grid_limit = [0x7fff_ffff, 65535, 65535];
    let block_limit = [1024, 1024, 64];
    if (0..3).any(|i| grid[i] == 0 || grid[i] > grid_limit[i]) {
        return Err(shape(
            code,
            format!("a grid of {} blocks; the limits are 1 to {}", show(grid), show(grid_limit)),
        ));
    }
    let blocks = product(grid);
    if blocks > MAX_BLOCKS {
        let reason = format!("a grid of {blocks} blocks; the simulator runs at most {MAX_BLOCKS}");
        return Err(shape(code, reason));
    }
    let threads = product(block);
    if (0..3).any(|i| block[i] == 0 || block[i] > block_limit[i]) || threads > 1024 {
        let reason = format!(
            "a block of {} threads; the limits are 1 to {} and 1024 in all",
            show(block),
            show(block_limit)
        );
        return Err(shape(code, reason));
    }
    if let Some(required) = reqntid
        && required != block
    {
        return Err(shape(code, format!("its .reqntid is {}, the block is {}", show(required), show(block))));
    }
    if let Some(most) = maxntid
        && let most = most.iter().fold(1, |n: u64, &extent| n.saturating_mul(extent))
        && threads > most
    {
        return Err(shape(code, format!("its .maxntid allows {most} threads, the block has {threads}")));
    }
    if let (Some(required), Some(given)) = (required_cluster, launch.cluster)
        && required != given
    {
        return Err(shape(
            code,
            format!("its .reqnctapercluster is {}, the cluster is {}", show(required), show(given)),
        ));
    }
    if let Some(cluster) = cluster {
        let size = product(cluster);
        if size == 0 || size > 16 {
            return Err(shape(
                code,
                format!("a cluster of {} blocks; the limit is 16 in all", show(cluster)),
            ));
        }
        if (0..3).any(|i| grid[i] % cluster[i] != 0) {
            return Err(shape(
                code,
                format!("a grid of {} is not a multiple of the cluster {}", show(grid), show(cluster)),
            ));
        }
    }
    Ok(())
}
