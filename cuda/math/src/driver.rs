//! The functions of the driver that the library calls.

use std::ffi::{CString, c_char};
use std::sync::OnceLock;

use libloading::Library;

use crate::Address;
use crate::memory::out;

/// The number of an error of the driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Error(u32);

impl Error {
    /// The driver is missing, or lacks a function.
    const NO_DRIVER: Self = Self(35);
    /// The text requires features that the device lacks.
    pub(crate) const INVALID_PTX: Self = Self(218);
    pub(crate) const OUT_OF_MEMORY: Self = Self(2);
}

/// The result of a call of the driver.
pub(crate) type Fallible<T = ()> = Result<T, Error>;

macro_rules! functions {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?);)*) => {
        /// The driver's functions.
        pub(crate) struct Driver {
            $($name: unsafe extern "C" fn($($ty),*) -> u32,)*
        }

        impl Driver {
            /// Looks up all functions.
            fn new(library: &Library) -> Option<Self> {
                // SAFETY: the driver's functions have these types.
                unsafe { Some(Self { $($name: *library.get(stringify!($name)).ok()?,)* }) }
            }

            $(
                #[allow(clippy::too_many_arguments, reason = "the driver's own arguments")]
                pub(crate) fn $name(&self, $($arg: $ty),*) -> Fallible {
                    // SAFETY: the program guarantees for its addresses what the driver requires; those of the library are
                    // addresses of its variables.
                    match unsafe { (self.$name)($($arg),*) } {
                        0 => Ok(()),
                        error => Err(Error(error)),
                    }
                }
            )*
        }
    };
}

functions! {
    fn cuInit(flags: u32);
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
    fn cuMemcpyHtoDAsync_v2(to: Address, from: Address, bytes: usize, stream: Address);
}

/// Returns the driver, loaded and started by the first call.
pub(crate) fn driver() -> Fallible<&'static Driver> {
    loaded().map(|(driver, _)| driver)
}

fn loaded() -> Fallible<&'static (Driver, Library)> {
    static DRIVER: OnceLock<Fallible<(Driver, Library)>> = OnceLock::new();
    let loaded = DRIVER.get_or_init(|| {
        // SAFETY: the driver has no requirements for being loaded.
        let library = unsafe { Library::new("libcuda.so.1") }.map_err(|_| Error::NO_DRIVER)?;
        let driver = Driver::new(&library).ok_or(Error::NO_DRIVER)?;
        driver.cuInit(0)?;
        Ok((driver, library))
    });
    loaded.as_ref().map_err(|error| *error)
}

/// Returns the current context of this thread. If there is none, the primary context of device 0 becomes current.
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

/// Informs the driver that the program has called a function that the library does not support.
pub(crate) fn report_unsupported(name: &str) {
    type Report = unsafe extern "C" fn(*const c_char);
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: the function has this type. Drivers other than `warpwright-cuda` do not have it.
    let report =
        loaded().ok().and_then(|(_, library)| unsafe { library.get::<Report>("warpwrightUnsupported") }.ok());
    match report {
        // SAFETY: the name is a text that ends in a NUL.
        Some(report) => unsafe { report(text.as_ptr()) },
        None => eprintln!("warpwright: {name} is not supported"),
    }
}
