//! The driver functions that the library calls.

use warpwright_cuda_calls::{functions, out};

use crate::Address;

/// A driver error code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Error(u32);

impl Error {
    /// The PTX text requires features that the device lacks.
    pub(crate) const INVALID_PTX: Self = Self(218);
    pub(crate) const OUT_OF_MEMORY: Self = Self(2);
}

impl From<u32> for Error {
    fn from(code: u32) -> Self {
        Self(code)
    }
}

/// The result of a driver call.
pub(crate) type Fallible<T = ()> = Result<T, Error>;

functions! { Error:
    fn cuCtxGetCurrent(out: Address);
    fn cuCtxSetCurrent(context: Address);
    fn cuCtxPushCurrent_v2(context: Address);
    fn cuCtxPopCurrent_v2(out: Address);
    fn cuDevicePrimaryCtxRetain(out: Address, device: i32);
    fn cuModuleLoadData(out: Address, text: Address);
    fn cuModuleUnload(module: Address);
    fn cuModuleGetFunction(out: Address, module: Address, name: Address);
    fn cuLaunchKernel(
        function: Address, grid_x: u32, grid_y: u32, grid_z: u32, block_x: u32, block_y: u32, block_z: u32,
        shared: u32, stream: Address, arguments: Address, extra: Address,
    );
    fn cuMemcpy(to: Address, from: Address, bytes: usize);
    fn cuStreamIsCapturing(stream: Address, out: Address);
    fn cuMemcpyHtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Address);
}

/// Returns this thread's current context. If the thread has none, makes the primary context of device 0 current.
pub(crate) fn context() -> Fallible<Address> {
    let driver = driver()?;
    let mut context = 0;
    driver.cuCtxGetCurrent(out(&mut context))?;
    if context == 0 {
        driver.cuDevicePrimaryCtxRetain(out(&mut context), 0)?;
        driver.cuCtxSetCurrent(context)?;
    }
    Ok(context)
}

/// Calls `f` while a context is current on this thread.
pub(crate) fn within<R>(context: Address, f: impl FnOnce(&Driver) -> Fallible<R>) -> Fallible<R> {
    let driver = driver()?;
    driver.cuCtxPushCurrent_v2(context)?;
    let result = f(driver);
    let mut popped = 0;
    driver.cuCtxPopCurrent_v2(out(&mut popped))?;
    result
}
