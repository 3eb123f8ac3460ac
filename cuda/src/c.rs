//! The functions of the C interface, by section of the manual "CUDA Driver API".
//!
//! Each function converts its arguments, calls the driver and returns a result code. Arguments that are addresses have types from
//! [`pointers`]. A function that receives a null pointer returns `CUDA_ERROR_INVALID_VALUE`. Callers of every function must ensure that all
//! other pointers are valid, as the manual requires.
#![allow(unsafe_code, non_snake_case, reason = "C functions under their names in `cuda.h`")]

mod absent;
mod advice;
mod array;
mod batch;
mod capture;
mod context;
mod device;
mod embedded_runtime;
mod error;
mod event;
mod function;
mod graph;
mod graph_node;
mod image;
mod launch;
mod library;
mod link;
mod memory;
mod memset;
mod module;
mod occupancy;
mod pointer;
mod pointers;
mod pool;
mod proc_address;
mod process;
mod stream;
mod stream_value;
mod tensor_map;
mod transfer;
mod virtual_memory;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::code::{Code, Fallible};
use crate::config::config;
use crate::driver::origin;
use crate::driver::stream::is_in_host_call;
use crate::report;

/// A function of the interface: its name and its address.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    name: &'static str,
    address: *const (),
}

/// The ID of the process that has called `cuInit`, or 0 before the call. After `fork`, the child process lacks the threads that execute
/// streams.
static STARTED: AtomicU32 = AtomicU32::new(0);

/// Calls the body of a function. A panic is converted to `CUDA_ERROR_UNKNOWN`; unsupported features are reported.
fn call(name: &'static str, body: impl FnOnce() -> Fallible) -> Code {
    origin::enter(name);
    let result = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        report::say(&format!("{name}: a bug of the library"));
        Err(Code::UNKNOWN)
    });
    let code = result.err().unwrap_or(Code::SUCCESS);
    if code == Code::NOT_SUPPORTED {
        report::update(|run| run.unsupported(name));
    }
    if config().trace {
        let text = code.texts().map_or("unknown", |(name, _)| name.to_str().unwrap_or_default());
        report::say(&format!("{name}: {text}"));
    }
    code
}

/// Calls the body of a function that requires `cuInit` and must not be called from a host function that the driver calls.
fn started(name: &'static str, body: impl FnOnce() -> Fallible) -> Code {
    if STARTED.load(Ordering::Acquire) != std::process::id() {
        return Code::NOT_INITIALIZED;
    }
    if is_in_host_call() {
        return call(name, || Err(Code::NOT_PERMITTED));
    }
    call(name, || {
        capture::check_call(name)?;
        body()
    })
}

/// Defines C functions and the table `ENTRIES` that lists them.
///
/// `fn a | b own (..)` defines two functions: in `b`, the null stream is the calling thread's default stream, and `own` is true.
/// `fn a fn a_v2 (..)` defines variants of a function that have the same parameters.
macro_rules! entries {
    ($(
        $(#[$doc:meta])*
        $(fn $name:ident $(| $second:ident $own:ident)?)+ ($($arg:ident: $ty:ty),* $(,)?) $body:block
    )*) => {
        $($crate::c::entries! { @forms [$($name $(| $second $own)?),+] ($($arg: $ty),*) $body })*

        /// The functions of this module.
        pub(super) const ENTRIES: &[$crate::c::Entry] = &[$($(
            $crate::c::Entry { name: stringify!($name), address: $name as *const () },
            $($crate::c::Entry { name: stringify!($second), address: $second as *const () },)?
        )+)*];
    };
    (@forms [$($name:ident $(| $second:ident $own:ident)?),+] $arguments:tt $body:block) => {
        $($crate::c::entries! { @define $name $(| $second $own)? $arguments $body })+
    };
    (@define $name:ident ($($arg:ident: $ty:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::code::Code {
            $crate::c::started(stringify!($name), move || $body)
        }
    };
    (@define $name:ident | $second:ident $own:ident ($($arg:ident: $ty:ty),*) $body:block) => {
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($arg: $ty),*) -> $crate::code::Code {
            let $own = false;
            $crate::c::started(stringify!($name), move || $body)
        }

        #[unsafe(no_mangle)]
        unsafe extern "C" fn $second($($arg: $ty),*) -> $crate::code::Code {
            let $own = true;
            $crate::c::started(stringify!($second), move || $body)
        }
    };
}
use entries;

/// Returns all functions. Unimplemented functions come last, so that implemented variants are preferred.
fn all() -> impl Iterator<Item = &'static Entry> {
    let tables: &[&[Entry]] = &[
        advice::ENTRIES,
        array::ENTRIES,
        batch::ENTRIES,
        capture::ENTRIES,
        context::ENTRIES,
        device::ENTRIES,
        error::ENTRIES,
        event::ENTRIES,
        function::ENTRIES,
        graph::ENTRIES,
        graph_node::ENTRIES,
        launch::ENTRIES,
        library::ENTRIES,
        link::ENTRIES,
        memory::ENTRIES,
        memset::ENTRIES,
        module::ENTRIES,
        occupancy::ENTRIES,
        pointer::ENTRIES,
        pool::ENTRIES,
        proc_address::ENTRIES,
        process::ENTRIES,
        stream::ENTRIES,
        stream_value::ENTRIES,
        tensor_map::ENTRIES,
        transfer::ENTRIES,
        virtual_memory::ENTRIES,
        absent::ENTRIES,
    ];
    tables.iter().copied().flatten()
}
