//! The simulator as a [`Device`].

use std::{
    collections::HashMap,
    io::{self, Write},
    mem,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    ptx::Entry,
    sim::{Arch, Arg, Checks, Launch, Module, Sim},
};

#[cfg(feature = "cuda")]
use super::device::other_device;
use super::{
    argument::{Kind, Value},
    buffer::{SharedMemory, Simulated, Store},
    device::{Backend, Device, Request},
    error::{KernelFindings, RunError},
    launched::{Details, Launched},
    tensor_map::STAND_IN_BYTES,
};

/// A simulated GPU with its own memory.
///
/// If the simulator reports any finding, the launch returns an error, even if the kernel ran to completion. Decoded kernels are kept for
/// later launches.
#[derive(Debug)]
pub struct Simulator {
    sim: Sim<'static>,
    arch: Arch,
    memory: SharedMemory,
    /// Decoded modules, by their text.
    modules: Mutex<HashMap<String, Module>>,
    reason: Option<String>,
    /// The number of multiprocessors, or `None` for the architecture's default.
    multiprocessors: Option<u32>,
}

/// Writes text to standard output. Write errors, such as those of a closed pipe, are ignored.
fn write_out(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

impl Default for Simulator {
    fn default() -> Self {
        Self {
            sim: Sim::new().on_print(write_out),
            arch: Arch::default(),
            memory: SharedMemory::default(),
            modules: Mutex::default(),
            reason: None,
            multiprocessors: None,
        }
    }
}

impl Simulator {
    /// Creates an sm_90 simulator with all checks enabled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a listener for the output of [`Builder::print`](crate::ptx::Builder::print).
    ///
    /// When a launch ends or fails, the listener receives the strings that the kernel printed, in order. By default, these strings are
    /// written to standard output.
    #[must_use]
    pub fn on_print(self, listener: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.with(|sim| sim.on_print(listener))
    }

    /// Sets the architecture, which determines the arithmetic and the supported targets.
    #[must_use]
    pub fn arch(self, arch: Arch) -> Self {
        Self { arch, ..self.with(|sim| sim.arch(arch)) }
    }

    /// Sets the checks that launches perform.
    #[must_use]
    pub fn checks(self, checks: Checks) -> Self {
        self.with(|sim| sim.checks(checks))
    }

    /// Sets the maximum number of warp instructions per block, or per cluster if the kernel uses clusters.
    ///
    /// A launch that exceeds this number fails.
    #[must_use]
    pub fn step_limit(self, instructions: u64) -> Self {
        self.with(|sim| sim.step_limit(instructions))
    }

    /// Sets the number of multiprocessors, which determines the grid of persistent kernels.
    ///
    /// The default matches a typical GPU of the architecture: 40 (T4) for sm_75, 128 (RTX 4090) for sm_89, 108 (A100) for other sm_8x, 132
    /// (H100) for sm_90, and 148 (B200) for later architectures.
    #[must_use]
    pub fn multiprocessors(self, count: u32) -> Self {
        Self { multiprocessors: Some(count), ..self }
    }

    /// Sets a listener for the progress of launches.
    ///
    /// A launch calls the listener, possibly from different threads, with the number of completed blocks and the total number of blocks.
    #[must_use]
    pub fn on_progress(self, listener: impl Fn(u64, u64) + Send + Sync + 'static) -> Self {
        self.with(|sim| sim.on_progress(listener))
    }

    /// Sets the reason why no GPU is used; [`Device::describe`] includes it.
    #[must_use]
    pub fn with_reason(self, why: &str) -> Self {
        Self { reason: Some(why.to_string()), ..self }
    }

    fn with(mut self, change: impl FnOnce(Sim<'static>) -> Sim<'static>) -> Self {
        self.sim = change(mem::take(&mut self.sim));
        self
    }

    /// Returns the module and the time it took to decode, which is zero if the module was already decoded.
    fn module(&self, kernel: &str, text: String) -> Result<(Module, Duration), RunError> {
        let mut modules = self.modules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(module) = modules.get(&text) {
            return Ok((module.clone(), Duration::ZERO));
        }
        let start = Instant::now();
        let refusal = |source| RunError::Parse { kernel: kernel.to_string(), source: Box::new(source) };
        let module = Module::parse_file(&format!("{kernel}.ptx"), &text).map_err(refusal)?;
        modules.insert(text, module.clone());
        Ok((module, start.elapsed()))
    }

    /// Returns the allocation, if it belongs to this simulator.
    fn own<'s>(&self, store: &'s Store) -> Option<&'s Simulated> {
        match store {
            Store::Simulated(own) if own.memory.is(&self.memory) => Some(own),
            _ => None,
        }
    }

    /// Returns argument `index` as the bytes of its parameter.
    fn argument(&self, entry: &Entry, index: usize, value: &Value<'_>) -> Result<Arg, RunError> {
        let address = value.0.store().and_then(|store| self.address(store)).unwrap_or_default();
        Ok(match &value.0 {
            Kind::Number(number) => Arg::bytes(&number.bytes()[..number.bytes]),
            Kind::Empty | Kind::Read(..) | Kind::Write(..) => Arg::from(address),
            Kind::Mapped(_, tensor) => Arg::bytes(tensor.simulated(entry, index, address)?),
            #[cfg(feature = "cuda")]
            Kind::ReadSlice(..) | Kind::WriteSlice(..) | Kind::UncheckedMap(_) => {
                return Err(other_device(entry, index, self.name()));
            }
        })
    }
}

impl Device for Simulator {
    fn name(&self) -> String {
        "simulator".to_string()
    }

    fn describe(&self) -> String {
        let (major, minor) = self.capability();
        let why = self.reason.as_ref().map(|why| format!("; {why}"));
        format!("simulator (sm_{major}{minor}{})", why.unwrap_or_default())
    }

    fn capability(&self) -> (u32, u32) {
        self.arch.capability()
    }

    fn multiprocessors(&self) -> u32 {
        // Sources: CUDA C++ Programming Guide, and NVIDIA's whitepapers on the T4, A100, RTX 4090, H100 and B200.
        let of_arch = match self.arch.capability() {
            (7, _) => 40,
            (8, 9) => 128,
            (8, _) => 108,
            (9, _) => 132,
            _ => 148,
        };
        self.multiprocessors.unwrap_or(of_arch)
    }
}

impl Backend for Simulator {
    fn allocate(&self, bytes: &[u8]) -> Result<Store, RunError> {
        let mut memory = self.memory.lock();
        let address = memory.try_alloc(bytes.len())?;
        memory.write(address, bytes)?;
        Ok(Store::Simulated(Simulated { memory: self.memory.clone(), address }))
    }

    fn allocate_filled(&self, bytes: usize, byte: u8) -> Result<Store, RunError> {
        let mut memory = self.memory.lock();
        let address = memory.try_alloc(bytes)?;
        if byte != 0 {
            memory.fill(address, byte)?;
        }
        Ok(Store::Simulated(Simulated { memory: self.memory.clone(), address }))
    }

    fn read(&self, store: &Store, bytes: usize) -> Result<Vec<u8>, RunError> {
        let own = self.own(store).ok_or_else(|| RunError::OtherBuffer { device: self.name() })?;
        let mut all = vec![0; bytes];
        self.memory.lock().read(own.address, &mut all)?;
        Ok(all)
    }

    fn address(&self, store: &Store) -> Option<u64> {
        self.own(store).map(|own| own.address)
    }

    fn text(&self, entry: &Entry) -> String {
        entry.ptx_with_assumptions()
    }

    fn run<'a>(&'a self, request: Request<'_, 'a>) -> Result<Launched, RunError> {
        let Request { entry, text, plan, args } = request;
        let (module, load_time) = self.module(&entry.name, text)?;
        let args: Result<Vec<Arg>, RunError> =
            args.iter().enumerate().map(|(i, value)| self.argument(entry, i, value)).collect();
        let mut args = args?;
        let needs_stand_in = plan.maps.iter().any(|map| map.is_empty);
        let stand_in = needs_stand_in.then(|| self.allocate(&[0; STAND_IN_BYTES])).transpose()?;
        let stand_in_address = stand_in.as_ref().and_then(|store| self.address(store)).unwrap_or_default();
        for map in &plan.maps {
            let address = map.address(entry, stand_in_address);
            args.push(Arg::bytes(map.tensor().simulated(entry, map.parameter(entry), address)?));
        }
        let shape = Launch {
            grid: plan.grid,
            block: plan.block,
            dynamic_shared_bytes: plan.dynamic_shared_bytes,
            cluster: None,
        };
        let mut memory = self.memory.lock();
        let start = Instant::now();
        let report = self.sim.launch(&module, &entry.name, &shape, &args, &mut memory);
        let time = start.elapsed();
        let report = Box::new(report.map_err(|error| RunError::Simulation(Box::new(error)))?);
        if !report.findings.is_empty() {
            return Err(RunError::Findings(KernelFindings { kernel: entry.name.clone(), report }));
        }
        Ok(Launched { grid: plan.grid, time, load_time, details: Details::Simulated(report) })
    }
}
