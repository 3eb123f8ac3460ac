//! The interface of `libcudart.so`, CUDA's runtime library, for programs compiled by nvcc.
//!
//! Each function calls functions of the driver, `libcuda.so.1`; the library itself manages neither devices nor memory. With
//! `warpwright-cuda` as the driver, programs run without a GPU; see `docs/cuda.md` in the repository. Types and structures follow CUDA 13.
//!
//! The whole crate is a C interface. Addresses come from the program, are represented as integers, and are passed to the driver; only the
//! `memory_at` module dereferences them.
#![allow(unsafe_code, non_snake_case, reason = "C functions under their names in `cuda_runtime_api.h`")]

mod absent;
mod array;
mod copy;
mod device;
mod driver;
mod error;
mod event;
mod execution;
mod graph;
mod graph_node;
mod library;
mod memory;
mod memory_at;
mod occupancy;
mod properties;
mod registry;
mod stream;
mod version;

use warpwright_cuda_calls::Address;

/// Identifies the library, so that `warpwright-cuda` does not mistake it, or a copy under another name, for NVIDIA's.
#[used]
#[unsafe(export_name = "warpwright_cudart")]
static OWN: u8 = 1;

/// The handle of the calling thread's default stream (`cudaStreamPerThread`).
const PER_THREAD: Address = 2;

/// Defines C functions that return a `cudaError_t`.
///
/// These functions do not end in a tail call, so that the driver finds their names on the stack when it searches for the program's call.
///
/// `fn a | b own (..)` defines two functions: in `b`, which programs with `--default-stream per-thread` call, `own` is true.
macro_rules! entries {
    ($($(#[$doc:meta])* fn $name:ident $(| $second:ident $own:ident)? ($($arg:ident: $ty:ty),* $(,)?) $body:block)*) => {
        $($crate::entries! { @define $name $(| $second $own)? ($($arg: $ty),*) $body })*
    };
    (@define $name:ident ($($arg:ident: $ty:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::error::Error {
            std::hint::black_box($crate::error::call(move || $body))
        }
    };
    (@define $name:ident | $second:ident $own:ident ($($arg:ident: $ty:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::error::Error {
            let $own = false;
            std::hint::black_box($crate::error::call(move || $body))
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $second($($arg: $ty),*) -> $crate::error::Error {
            let $own = true;
            std::hint::black_box($crate::error::call(move || $body))
        }
    };
}
use entries;

/// Returns the stream that an argument specifies. Null denotes the default stream or, with `own`, the thread's default stream.
fn stream_of(stream: Address, own: bool) -> Address {
    if own && stream == 0 { PER_THREAD } else { stream }
}
