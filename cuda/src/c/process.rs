//! Functions of the sections "Initialization" and "Version Management", and the end of the process.

use std::sync::atomic::Ordering;

use super::pointers::Out;
use crate::c::{Entry, STARTED, call};
use crate::code::Code;
use crate::driver::device;
use crate::report;

/// The version of the interface: 13.0.
const VERSION: i32 = 13000;

#[unsafe(no_mangle)]
unsafe extern "C" fn cuInit(flags: u32) -> Code {
    call("cuInit", || {
        if flags != 0 {
            return Err(Code::INVALID_VALUE);
        }
        if device::count() == 0 {
            return Err(Code::NO_DEVICE);
        }
        match STARTED.compare_exchange(0, std::process::id(), Ordering::AcqRel, Ordering::Acquire) {
            Err(other) if other != std::process::id() => Err(Code::NOT_INITIALIZED),
            _ => Ok(()),
        }
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuDriverGetVersion(version: Out<i32>) -> Code {
    call("cuDriverGetVersion", || version.set(VERSION))
}

/// The profiler's functions. There is no profiler, so a profiled range has no effect.
#[unsafe(no_mangle)]
unsafe extern "C" fn cuProfilerStart() -> Code {
    Code::SUCCESS
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cuProfilerStop() -> Code {
    Code::SUCCESS
}

/// The functions of this module, which do not require `cuInit`.
pub(super) const ENTRIES: &[Entry] = &[
    Entry { name: "cuInit", address: cuInit as *const () },
    Entry { name: "cuDriverGetVersion", address: cuDriverGetVersion as *const () },
    Entry { name: "cuProfilerStart", address: cuProfilerStart as *const () },
    Entry { name: "cuProfilerStop", address: cuProfilerStop as *const () },
];

/// Runs after `main` and after the program's destructors, which may still free memory.
extern "C" fn finish() {
    // A panic can no longer be handled.
    let _ = std::panic::catch_unwind(report::at_exit);
}

// SAFETY: the dynamic linker calls the functions in this section without arguments when the process exits.
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: extern "C" fn() = finish;
