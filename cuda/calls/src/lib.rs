//! Calls to the CUDA driver, `libcuda.so.1`, from the libraries built on top of it: `warpwright-cudart` and `warpwright-cuda-math`.
//!
//! [`functions!`] declares the driver functions that a library calls. [`report_unsupported`] informs the driver that the program has called
//! a function that the library does not support. Addresses are represented as integers, because most of them are only forwarded from the
//! program to the driver.
#![allow(unsafe_code, reason = "calls of C functions")]

mod library;

pub use library::{NO_DRIVER, function, report_unsupported};

/// An address in the program or on the device, or an opaque handle.
pub type Address = usize;

/// Returns the address of `variable`, where the driver stores an address or a handle.
pub fn out(variable: &mut Address) -> Address {
    address_of(variable)
}

/// Returns the address of `variable`, which the driver reads or writes. The variable must have the size that the driver expects; an integer
/// variable is 32 bits wide unless its type is specified.
pub fn address_of<T>(variable: &mut T) -> Address {
    (&raw mut *variable).expose_provenance()
}

/// Returns the address of the first element of `values`, which the driver reads.
pub fn of<T>(values: &[T]) -> Address {
    values.as_ptr().expose_provenance()
}

/// Declares driver functions: defines a type `Driver` with one method per function, and a function `driver()` that returns it.
///
/// The first call to `driver()` loads and initializes the driver. All errors have the type given before the colon and are converted from
/// the driver's error code or from [`NO_DRIVER`].
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
                    // SAFETY: the program guarantees that its addresses meet the driver's requirements; the library's addresses are those
                    // of its variables.
                    match unsafe { (self.$name)($($arg),*) } {
                        0 => Ok(()),
                        code => Err(code.into()),
                    }
                }
            )*
        }

        /// Returns the driver, which the first call loads and initializes.
        pub(crate) fn driver() -> Result<&'static Driver, $error> {
            static DRIVER: std::sync::OnceLock<Result<Driver, u32>> = std::sync::OnceLock::new();
            DRIVER.get_or_init(Driver::new).as_ref().map_err(|code| (*code).into())
        }
    };
}
