//! Parts of cuBLAS and cuRAND for programs that run without a GPU: the C interfaces of `libcublas.so` and `libcurand.so`.
//!
//! NVIDIA's libraries contain only machine code, which `warpwright-cuda` does not execute. This library calls the functions of the driver,
//! `libcuda.so.1`. Matrix products and triangular systems are computed by PTX kernels, whose accesses are checked like those of the
//! program's kernels. Random numbers are computed on the host and copied to the device. `docs/cuda.md` in the repository lists the
//! supported functions. All other functions are reported and return the library's status for unsupported functions.
//!
//! The whole crate is a C interface. Addresses come from the program, are represented as integers, and are passed to the driver; only the
//! `memory` module dereferences them.
#![allow(
    unsafe_code,
    non_snake_case,
    reason = "C functions under their names in `cublas_v2.h` and `curand.h`"
)]

mod blas;
mod driver;
mod handles;
mod memory;
mod random;

use warpwright_cuda_calls::Address;

/// Defines C functions that return the status of a library.
///
/// These functions do not end in a tail call, so that the driver finds their names on the stack when it searches for the program's call.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $status:ty $body:block)*) => {
        $(
            $(#[$doc])*
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($arg: $ty),*) -> $status {
                let result = std::panic::catch_unwind(move || -> Result<(), $status> { $body });
                std::hint::black_box(match result {
                    Ok(Ok(())) => <$status>::SUCCESS,
                    Ok(Err(status)) => status,
                    Err(_) => <$status>::INTERNAL_ERROR,
                })
            }
        )*
    };
}
use entries;

/// Defines unsupported C functions, which return a status and are reported by the driver.
macro_rules! absent {
    ($status:ty: $($name:ident)*) => {
        $(
            /// The real function has parameters, which this one ignores.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() -> $status {
                <$status>::unsupported(stringify!($name))
            }
        )*
    };
}
use absent;
