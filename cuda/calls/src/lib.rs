//! Calls of the CUDA driver, `libcuda.so.1`, for the libraries above it: `warpwright-cudart` and `warpwright-cuda-math`.
//!
//! [`functions!`] declares the functions that a library calls, and [`report_unsupported`] informs the driver about functions that the library
//! does not support. Addresses are numbers: most come from the program and are passed on to the driver.
#![allow(unsafe_code, reason = "calls of C functions")]

mod library;

pub use library::{NO_DRIVER, function, report_unsupported};

/// An address in the program or on the device, or an opaque handle.
pub type Address = usize;

/// Returns the address of a variable in which the driver stores an address or a handle.
pub fn out(variable: &mut Address) -> Address {
    address_of(variable)
}

/// Returns the address of a variable of any type, which the driver reads or writes. The type of a number must be stated, because a number
/// without one has 32 bits.
pub fn address_of<T>(variable: &mut T) -> Address {
    (&raw mut *variable).expose_provenance()
}

/// Returns the address of values that the driver reads.
pub fn of<T>(values: &[T]) -> Address {
    values.as_ptr().expose_provenance()
}

/// Declares functions of the driver: a type `Driver` with a method for each, and `driver()`, which returns it.
///
/// The first call of `driver()` loads and starts the driver. Every error is of the given type, which is created from the driver's code or
/// from [`NO_DRIVER`].
///
/// ```
/// use warpwright_cuda_calls::{Address, functions, address_of};
///
/// #[derive(Debug)]
/// struct Error(u32);
///
/// impl From<u32> for Error {
///     fn from(code: u32) -> Self {
///         Self(code)
///     }
/// }
///
/// functions! { Error:
///     fn cuDriverGetVersion(version: Address);
/// }
///
/// fn version() -> Result<i32, Error> {
///     let mut version = 0i32;
///     driver()?.cuDriverGetVersion(address_of(&mut version))?;
///     Ok(version)
/// }
///
/// match version() {
///     Ok(version) => println!("CUDA {}.{}", version / 1000, version % 1000 / 10),
///     Err(Error(code)) => println!("no driver: error {code}"),
/// }
/// ```
#[macro_export]
macro_rules! functions {
    ($error:ty: $(fn $name:ident($($arg:ident: $ty:ty),* $(,)?);)*) => {
        /// The driver's functions.
        pub(crate) struct Driver {
            $($name: unsafe extern "C" fn($($ty),*) -> u32,)*
        }

        #[allow(non_snake_case, reason = "functions under their names in `cuda.h`")]
        impl Driver {
            /// Looks up all functions.
            fn new() -> Result<Self, u32> {
                // SAFETY: the driver's functions have these types.
                unsafe { Ok(Self { $($name: $crate::function(stringify!($name))?,)* }) }
            }

            $(
                #[allow(clippy::too_many_arguments, reason = "the driver's own arguments")]
                pub(crate) fn $name(&self, $($arg: $ty),*) -> Result<(), $error> {
                    // SAFETY: the program guarantees for its addresses what the driver requires; those of the library are
                    // addresses of its variables.
                    match unsafe { (self.$name)($($arg),*) } {
                        0 => Ok(()),
                        code => Err(code.into()),
                    }
                }
            )*
        }

        /// Returns the driver, loaded and started by the first call.
        pub(crate) fn driver() -> Result<&'static Driver, $error> {
            static DRIVER: std::sync::OnceLock<Result<Driver, u32>> = std::sync::OnceLock::new();
            DRIVER.get_or_init(Driver::new).as_ref().map_err(|code| (*code).into())
        }
    };
}
