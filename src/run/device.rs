//! The common interface of the simulator and GPUs.

use std::fmt;
#[cfg(feature = "record")]
use std::path::Path;

use crate::ptx::{Element, Entry, Kernel, Params};

#[cfg(feature = "record")]
use super::record::{RecordError, record};
use super::{
    argument::{Arguments, Kind, Value},
    buffer::{Buffer, Store},
    bytes::{from_bytes, to_bytes},
    error::RunError,
    launched::Launched,
    plan::{Plan, Seen, parameter_name, plan},
};

/// A device that runs kernels: a [`Simulator`](super::Simulator), a `GpuDevice`, or either
/// ([`AnyDevice`](super::AnyDevice)).
///
/// All methods are synchronous.
pub trait Device: Backend + fmt::Debug {
    /// Returns the device name, such as `NVIDIA H200` or `simulator`.
    fn name(&self) -> String;

    /// Returns a one-line description of the device: its name, its properties and, if recorded, the reason why it was chosen.
    fn describe(&self) -> String;

    /// Returns the compute capability, such as `(9, 0)`, which determines the supported targets.
    fn capability(&self) -> (u32, u32);

    /// Returns the number of multiprocessors.
    fn multiprocessors(&self) -> u32;

    /// Creates a buffer that contains a copy of `values`.
    ///
    /// # Errors
    /// Returns an error if the buffer does not fit in the device's free memory.
    fn upload<T: Element>(&self, values: &[T]) -> Result<Buffer<T>, RunError> {
        Ok(Buffer::new(self.allocate(&to_bytes(values))?, values.len()))
    }

    /// Creates a buffer of `len` elements, with all bytes set to zero.
    ///
    /// # Errors
    /// Returns an error if the buffer does not fit in the device's free memory.
    fn zeros<T: Element>(&self, len: usize) -> Result<Buffer<T>, RunError> {
        filled(self, len, 0)
    }

    /// Creates a buffer of `len` elements for results.
    ///
    /// Every byte is 0xFF, which encodes NaN in all floating-point types that have NaNs. Elements that the kernel did not write are
    /// therefore recognizable.
    ///
    /// # Errors
    /// Returns an error if the buffer does not fit in the device's free memory.
    fn output<T: Element>(&self, len: usize) -> Result<Buffer<T>, RunError> {
        filled(self, len, 0xFF)
    }

    /// Copies the elements of a buffer to the host and returns them.
    ///
    /// # Errors
    /// Returns an error if the buffer belongs to another device or if, on a GPU, an earlier kernel faulted.
    fn download<T: Element>(&self, buffer: &Buffer<T>) -> Result<Vec<T>, RunError> {
        if self.address(&buffer.store).is_none() {
            return Err(RunError::OtherBuffer { device: self.name() });
        }
        Ok(from_bytes(&self.read(&buffer.store, buffer.len() * T::SIZE as usize)?))
    }

    /// Runs a kernel on the grid that its grid rule specifies, and waits until the kernel has finished.
    ///
    /// If the grid is empty, the kernel does not run; this is not an error.
    ///
    /// # Errors
    /// Returns an error, before the kernel runs, in these cases:
    ///
    /// - The device cannot run the kernel's target.
    /// - A buffer belongs to another device or is too short.
    /// - A buffer that the kernel writes overlaps another buffer.
    /// - A tensor map is not valid, or an argument violates an assumption of the kernel, such as divisibility or alignment.
    /// - The grid is too large, or is not a multiple of the cluster shape.
    /// - The kernel has no grid rule or block shape.
    ///
    /// Also returns errors that the device reports while the kernel runs.
    fn launch<A: Params>(&self, kernel: &Kernel<A>, args: impl Arguments<A>) -> Result<Launched, RunError> {
        start(self, kernel.entry(), None, args.values())
    }

    /// Runs a kernel like [`launch`](Device::launch), but with an explicit grid: the number of blocks in x, y and z.
    ///
    /// # Errors
    /// Returns the same errors as [`launch`](Device::launch), except that a grid rule is not required. Returns [`RunError::GridBeyondRule`]
    /// if `grid` exceeds the result of the kernel's grid rule.
    fn launch_grid<A: Params>(
        &self,
        kernel: &Kernel<A>,
        grid: [u32; 3],
        args: impl Arguments<A>,
    ) -> Result<Launched, RunError> {
        start(self, kernel.entry(), Some(grid), args.values())
    }

    /// Writes a launch to the folder `dir` as a case for `warpwright sim`, without running the kernel.
    ///
    /// The case consists of `case.json`, `kernel.ptx` with Rust source lines, and the contents of each buffer as `in_NAME.npy`. Call this
    /// method before the launch, because the kernel changes the buffers that it writes.
    ///
    /// ```
    /// use warpwright::{prelude::*, run::{Device, Simulator}};
    ///
    /// let fill = Kernel::<(Out<f32>,)>::build("fill(y)", Target::SM_80, |k, (y,)| {
    ///     k.block([32]);
    ///     k.grid([1]);
    ///     k.slice(y, 32).at(k.tid_x()).store(0.5);
    /// })?;
    /// let device = Simulator::new();
    /// let mut y = device.output::<f32>(32)?;
    /// # let dir = std::env::temp_dir().join(format!("warpwright-record-{}", std::process::id()));
    /// device.record_case(&dir, &fill, (&mut y,))?;
    /// assert!(dir.join("case.json").exists()); // warpwright sim DIR --out OUT
    /// # std::fs::remove_dir_all(dir)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`RecordError::Run`] if a check of [`launch`](Device::launch) fails or a buffer cannot be read, and [`RecordError::Write`]
    /// if a file cannot be written. With the `cuda` feature, also returns an error if an argument is an `UncheckedMap`.
    #[cfg(feature = "record")]
    fn record_case<A: Params>(
        &self,
        dir: impl AsRef<Path>,
        kernel: &Kernel<A>,
        args: impl Arguments<A>,
    ) -> Result<(), RecordError> {
        record(self, &prepare(self, kernel.entry(), None, args.values())?, dir.as_ref())
    }
}

/// The operations that differ between kinds of devices. Only this crate implements this trait.
pub trait Backend {
    /// Allocates memory that contains `bytes`.
    fn allocate(&self, bytes: &[u8]) -> Result<Store, RunError>;
    /// Allocates `bytes` bytes, all equal to `byte`.
    fn allocate_filled(&self, bytes: usize, byte: u8) -> Result<Store, RunError>;
    /// Returns the first `bytes` bytes of an allocation of this device.
    fn read(&self, store: &Store, bytes: usize) -> Result<Vec<u8>, RunError>;
    /// Returns the address of an allocation, or `None` if the allocation belongs to another device.
    fn address(&self, store: &Store) -> Option<u64>;
    /// Returns the PTX text of the module to run, including the directives that map it to Rust source lines.
    fn text(&self, entry: &Entry) -> String {
        entry.ptx_with_lines()
    }
    /// Runs a kernel that this device supports, on a nonempty grid.
    fn run<'a>(&'a self, request: Request<'_, 'a>) -> Result<Launched, RunError>;
}

/// A launch whose shape and arguments have been checked.
#[derive(Debug)]
pub struct Request<'k, 'a> {
    pub(super) entry: &'k Entry,
    /// The module with its source lines.
    pub(super) text: String,
    pub(super) plan: Plan,
    pub(super) args: Vec<Value<'a>>,
}

/// Returns a buffer of `len` elements, with all bytes set to `byte`, without creating a copy on the host.
fn filled<T: Element>(device: &(impl Device + ?Sized), len: usize, byte: u8) -> Result<Buffer<T>, RunError> {
    let bytes = bytes_of::<T>(len, || device.name())?;
    Ok(Buffer::new(device.allocate_filled(bytes, byte)?, len))
}

/// Returns the size in bytes of a buffer of `len` elements; `device` returns the device's name for the error.
pub(super) fn bytes_of<T: Element>(len: usize, device: impl FnOnce() -> String) -> Result<usize, RunError> {
    // An allocation larger than half of the address space is not possible on any device or host.
    let bytes = len.checked_mul(T::SIZE as usize).filter(|&bytes| isize::try_from(bytes).is_ok());
    bytes.ok_or_else(|| RunError::BufferTooLarge { len, element_bytes: T::SIZE, device: device() })
}

fn start<'a>(
    device: &'a (impl Device + ?Sized),
    entry: &Entry,
    grid: Option<[u32; 3]>,
    args: Vec<Value<'a>>,
) -> Result<Launched, RunError> {
    let request = prepare(device, entry, grid, args)?;
    if request.plan.is_empty() {
        return Ok(Launched::nothing(request.plan.grid));
    }
    device.run(request)
}

/// Checks a launch and determines its shape.
fn prepare<'k, 'a>(
    device: &(impl Device + ?Sized),
    entry: &'k Entry,
    grid: Option<[u32; 3]>,
    args: Vec<Value<'a>>,
) -> Result<Request<'k, 'a>, RunError> {
    check_target(entry, &device.name(), device.capability())?;
    let seen = |(i, Value(arg)): (usize, &Value<'a>)| -> Result<Seen, RunError> {
        arg.check_map(entry, i)?;
        if !matches!(arg.seen(), Seen::Buffer { .. }) || matches!(arg, Kind::Empty) {
            return Ok(arg.seen());
        }
        let address = arg.store().and_then(|store| device.address(store));
        let address = address.ok_or_else(|| other_device(entry, i, device.name()))?;
        Ok(arg.seen().at(address))
    };
    let seen: Vec<Seen> = args.iter().enumerate().map(seen).collect::<Result<_, _>>()?;
    let plan = plan(entry, &seen, grid, device.multiprocessors())?;
    Ok(Request { entry, text: device.text(entry), plan, args })
}

/// Returns the error for a buffer that does not belong to the device.
pub(super) fn other_device(entry: &Entry, index: usize, device: String) -> RunError {
    RunError::OtherDevice { kernel: entry.name.clone(), parameter: parameter_name(entry, index), device }
}

/// Rejects a kernel with a target that a device of compute capability `capability` cannot run.
pub(super) fn check_target(entry: &Entry, device: &str, capability: (u32, u32)) -> Result<(), RunError> {
    let number = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
    if entry.target.runs_on(number(capability.0), number(capability.1)) {
        return Ok(());
    }
    Err(RunError::WrongTarget {
        kernel: entry.name.clone(),
        target: entry.target,
        device: device.to_string(),
        capability,
    })
}
