//! Parts of cuBLAS and cuRAND for programs that run without a GPU: the C interfaces of `libcublas.so` and `libcurand.so`.
//!
//! NVIDIA's libraries contain only machine code, which `warpwright-cuda` does not execute. This library calls the functions of the driver,
//! `libcuda.so.1`: matrix products and triangular systems are kernels of PTX, so their accesses are checked like those of the program's
//! kernels, and random numbers are computed on the host and copied. `docs/cuda.md` in the repository lists the supported functions; all
//! others return the status of their library for unsupported functions, and are reported.
//!
//! The whole crate is a C interface: addresses come from the program and are passed on to the driver. In this crate, they are numbers; only
//! `memory` reads and writes memory at addresses.
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
/// These functions do not end with a jump, so that their names are on the stack when the driver searches for the call.
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

/// Defines C functions that are not supported: they return a status, and the driver reports them.
macro_rules! absent {
    ($status:ty: $($name:ident)*) => {
        $(
            /// The real function has arguments, which this one does not read.
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name() -> $status {
                <$status>::unsupported(stringify!($name))
            }
        )*
    };
}
use absent;
