//! Kernel launches.

use std::sync::Arc;

use warpwright_sim::{Arg, FindingKind, Launch, Report, Sim, SimError};

use crate::code::{Code, Fallible};
use crate::config::config;
use crate::driver::context::LIMIT_HEAP;
use crate::driver::function::Function;
use crate::driver::module::Module;
use crate::driver::operation::{Execution, Operation};
use crate::driver::origin::Origin;
use crate::driver::stream::Stream;
use crate::driver::{device, memory, occupancy, races};
use crate::host::{self, HostPtr};
use crate::report;

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) dynamic_shared: u32,
    pub(crate) cooperative: bool,
}

impl Shape {
    fn describe(&self) -> String {
        let show = |v: [u32; 3]| format!("({}, {}, {})", v[0], v[1], v[2]);
        format!("grid {}, block {}", show(self.grid), show(self.block))
    }

    /// Checks the shape against the limits of the device and the kernel.
    fn check(&self, function: &Function) -> Fallible {
        let volume = |v: [u32; 3]| v.iter().map(|&n| u64::from(n)).product::<u64>();
        let within = |v: [u32; 3], most: [u32; 3]| (0..3).all(|axis| (1..=most[axis]).contains(&v[axis]));
        if !within(self.grid, [i32::MAX as u32, 65535, 65535]) || !within(self.block, [1024, 1024, 64]) {
            return Err(Code::INVALID_VALUE);
        }
        let threads = volume(self.block);
        if threads > u64::from(function.max_threads) {
            return Err(if threads > 1024 { Code::INVALID_VALUE } else { Code::LAUNCH_OUT_OF_RESOURCES });
        }
        if i64::from(self.dynamic_shared) > i64::from(function.max_dynamic_shared()) {
            return Err(Code::INVALID_VALUE);
        }
        if let Some(cluster) = self.cluster.or(function.cluster) {
            let most = if function.allows_large_clusters() { 16 } else { 8 };
            let divides =
                (0..3).all(|axis| cluster[axis] != 0 && self.grid[axis].is_multiple_of(cluster[axis]));
            if config().arch.capability() < (9, 0) || !divides || volume(cluster) > most {
                return Err(Code::INVALID_CLUSTER_SIZE);
            }
        }
        if self.cooperative {
            let blocks = occupancy::blocks(function, threads as u32, self.dynamic_shared.into())?;
            if volume(self.grid) > u64::from(blocks) * device::limits().multiprocessors as u64 {
                return Err(Code::COOPERATIVE_LAUNCH_TOO_LARGE);
            }
        }
        Ok(())
    }
}

/// Reports a launch that the device cannot execute.
fn report_invalid(function: &Function, shape: &Shape, code: Code) {
    if !config().checks.invalid_launches {
        return;
    }
    let name = code.texts().map_or("an error", |(name, _)| name.to_str().unwrap_or_default());
    let message = format!(
        "invalid launch of kernel `{}`: {}, {} bytes of dynamic shared memory: {name}; a block of this kernel has at most {} threads and \
         {} bytes",
        function.name,
        shape.describe(),
        shape.dynamic_shared,
        function.max_threads,
        function.max_dynamic_shared()
    );
    report::update(|run| run.host_finding("invalid_launch", message, &[("the launch", &Origin::here())]));
}

/// A kernel with its shape and arguments.
#[derive(Debug)]
pub(crate) struct Kernel {
    pub(crate) function: Arc<Function>,
    pub(crate) shape: Shape,
    /// The bytes of each argument.
    pub(crate) args: Vec<Vec<u8>>,
    /// The addresses of the arguments.
    pub(crate) addresses: Vec<HostPtr>,
    module: Arc<Module>,
}

impl Kernel {
    /// Checks a launch and returns its kernel.
    pub(crate) fn new(function: &Arc<Function>, shape: Shape, args: Vec<Vec<u8>>) -> Fallible<Arc<Self>> {
        shape.check(function).inspect_err(|code| report_invalid(function, &shape, *code))?;
        let module = function.module()?;
        let addresses = args.iter().map(|bytes| HostPtr::of(bytes)).collect();
        Ok(Arc::new(Self { function: Arc::clone(function), shape, args, addresses, module }))
    }

    /// Returns this kernel with the cluster shape and the cooperative attribute of `other`, which are node attributes rather than
    /// parameters.
    pub(crate) fn with_attributes_of(self: Arc<Self>, other: &Self) -> Fallible<Arc<Self>> {
        let Shape { cluster, cooperative, .. } = other.shape;
        if (cluster, cooperative) == (self.shape.cluster, self.shape.cooperative) {
            return Ok(self);
        }
        Self::new(&self.function, Shape { cluster, cooperative, ..self.shape }, self.args.clone())
    }

    /// Queues the kernel.
    pub(crate) fn submit(self: Arc<Self>, stream: &Stream) -> Fallible {
        if stream.context()?.handle != self.module.context.handle {
            return Err(Code::INVALID_HANDLE);
        }
        stream.submit(Operation::Kernel(self))
    }

    pub(crate) fn execute(&self, execution: &Execution) -> Fallible {
        let Self { function, shape, args, module, .. } = self;
        let launch = Launch {
            grid: shape.grid,
            block: shape.block,
            dynamic_shared_bytes: shape.dynamic_shared,
            cluster: shape.cluster,
        };
        let config = config();
        let heap = module.context.limit(LIMIT_HEAP)? as u64;
        let mut sim = Sim::new()
            .arch(config.arch)
            .checks(config.checks.kernels)
            .keep_going(config.keep_going)
            .heap(heap);
        if races::is_watched(execution) {
            sim = sim.footprint(true);
        }
        if let Some(seed) = config.seed {
            sim = sim.seed(seed);
        }
        let args: Vec<Arg> = args.iter().map(|bytes| Arg::bytes(&bytes[..])).collect();
        let number = report::update(report::Run::launch);
        let result = sim.launch(&module.code, &function.name, &launch, &args, &mut memory::lock());
        self.finish(number, execution, result)
    }

    /// Prints the output of the kernel and the findings, and returns the fault that ended it.
    fn finish(&self, number: u64, execution: &Execution, result: Result<Report, SimError>) -> Fallible {
        let shape = self.shape.describe();
        let report = match result {
            Ok(report) => report,
            Err(SimError::Fault(finding)) => {
                Report { findings: vec![*finding], stopped: true, ..Report::default() }
            }
            Err(error) => {
                report::update(|run| run.refused(format!("launch {number}, {shape}: {error}")));
                return Err(Code::NOT_SUPPORTED);
            }
        };
        host::print(&report.printed.concat());
        report::update(|run| {
            report
                .findings
                .iter()
                .chain(&report.notes)
                .for_each(|finding| run.finding(number, &shape, finding, &execution.origin));
        });
        let what = format!("launch {number} of kernel `{}`", self.function.name);
        races::record(execution, &what, report.footprint);
        match report.findings.last() {
            Some(finding) if report.stopped => Err(code(finding.kind)),
            _ => Ok(()),
        }
    }
}

/// Returns the error code that the driver reports for a fault.
fn code(kind: FindingKind) -> Code {
    match kind {
        FindingKind::GlobalOutOfBounds | FindingKind::SharedOutOfBounds | FindingKind::LocalOutOfBounds => {
            Code::ILLEGAL_ADDRESS
        }
        FindingKind::MisalignedAccess => Code::MISALIGNED_ADDRESS,
        FindingKind::InvalidAddress => Code::INVALID_ADDRESS_SPACE,
        // Observed on an H100 for tensor copies in im2col mode.
        FindingKind::InvalidOperand | FindingKind::InvalidDescriptor => Code::ILLEGAL_INSTRUCTION,
        FindingKind::Assertion => Code::ASSERT,
        FindingKind::BudgetExceeded => Code::LAUNCH_OUT_OF_RESOURCES,
        FindingKind::StepLimit | FindingKind::Deadlock => Code::LAUNCH_TIMEOUT,
        _ => Code::LAUNCH_FAILED,
    }
}
