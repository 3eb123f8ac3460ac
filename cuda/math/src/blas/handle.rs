//! The handles of the library, with their context, stream and settings.

use std::collections::HashMap;
use std::ffi::c_char;

use half::f16;
use warpwright_cuda_calls::{of, out};

use crate::blas::kernel::{Kernel, THREADS, Type};
use crate::blas::{Fallible, Status};
use crate::driver;
use crate::handles::Handles;
use crate::memory::{get, set};
use crate::{Address, entries};

/// A `cublasHandle_t`.
pub(super) struct Handle {
    /// The context that was current when the handle was created.
    context: Address,
    stream: Address,
    /// Whether alpha and beta are on the device (`CUBLAS_POINTER_MODE_DEVICE`).
    scalars_on_device: bool,
    /// Settings that have no effect.
    math_mode: u32,
    atomics_mode: u32,
    /// The modules of the kernels that have been launched, and their functions.
    kernels: HashMap<Kernel, (Address, Address)>,
}

static HANDLES: Handles<Handle> = Handles::new();

/// Calls `f` with the object that a handle identifies.
pub(super) fn with<R>(handle: Address, f: impl FnOnce(&mut Handle) -> Fallible<R>) -> Fallible<R> {
    HANDLES.with(handle, f).unwrap_or(Err(Status::NOT_INITIALIZED))
}

impl Handle {
    /// Returns the kernel arguments for a scalar: its address and 0 if the scalar is on the device, or 0 and the bits of its value, in the
    /// accumulation type, if it is on the host.
    pub(super) fn scalar(&self, address: Address, ty: Type) -> Fallible<[u64; 2]> {
        let value = || match ty {
            Type::F64 => get::<u64>(address),
            Type::F16 => get(address).map(|half| f16::from_bits(half).to_f32().to_bits().into()),
            _ => get::<u32>(address).map(u64::from),
        };
        match self.scalars_on_device && address != 0 {
            true => Ok([address as u64, 0]),
            false => Ok([0, value().ok_or(Status::INVALID_VALUE)?]),
        }
    }

    /// Launches a kernel with `blocks` blocks in the handle's context and stream. Each argument is 8 bytes long; for a 4-byte parameter,
    /// the kernel reads the first 4.
    pub(super) fn launch(&mut self, kernel: Kernel, blocks: u64, arguments: &[u64]) -> Fallible {
        let Self { context, stream, kernels, .. } = self;
        let blocks = i32::try_from(blocks).map_err(|_| Status::NOT_SUPPORTED)?.cast_unsigned();
        let addresses: Vec<Address> =
            arguments.iter().map(|argument| of(std::slice::from_ref(argument))).collect();
        let launched = driver::within(*context, |driver| {
            let function = match kernels.get(&kernel) {
                Some((_, function)) => *function,
                None => {
                    let (mut module, mut function) = (0, 0);
                    driver.cuModuleLoadData(out(&mut module), of(&kernel.text()))?;
                    driver.cuModuleGetFunction(out(&mut function), module, of(kernel.name()))?;
                    kernels.insert(kernel, (module, function));
                    function
                }
            };
            driver.cuLaunchKernel(function, blocks, 1, 1, THREADS, 1, 1, 0, *stream, of(&addresses), 0)
        });
        Ok(launched?)
    }
}

/// The version of cuBLAS whose interface is implemented: major, minor, patch.
const VERSION: [i32; 3] = [13, 0, 0];

/// Stores a result at an address, unless the address is null.
fn give<T>(to: Address, value: T) -> Fallible {
    set(to, value).ok_or(Status::INVALID_VALUE)
}

entries! {
    fn cublasCreate_v2(out: Address) -> Status {
        let context = driver::context().map_err(|_| Status::NOT_INITIALIZED)?;
        if out == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let (stream, scalars_on_device, math_mode, atomics_mode) = (0, false, 0, 0);
        let kernels = HashMap::new();
        give(out, HANDLES.insert(Handle { context, stream, scalars_on_device, math_mode, atomics_mode, kernels }))
    }

    fn cublasDestroy_v2(handle: Address) -> Status {
        let removed = HANDLES.remove(handle).ok_or(Status::NOT_INITIALIZED)?;
        let Handle { context, kernels, .. } = &*removed.lock().map_err(|_| Status::INTERNAL_ERROR)?;
        // The context may have been destroyed together with its modules.
        let unloaded = driver::within(*context, |driver| {
            kernels.values().try_for_each(|(module, _)| driver.cuModuleUnload(*module))
        });
        unloaded.or(Ok(()))
    }

    fn cublasGetVersion_v2(handle: Address, version: Address) -> Status {
        with(handle, |_| give(version, VERSION[0] * 10000 + VERSION[1] * 100 + VERSION[2]))
    }

    /// `property` is the index of a component of the version.
    fn cublasGetProperty(property: u32, value: Address) -> Status {
        give(value, *VERSION.get(property as usize).ok_or(Status::INVALID_VALUE)?)
    }

    fn cublasSetStream_v2(handle: Address, stream: Address) -> Status {
        with(handle, |handle| { handle.stream = stream; Ok(()) })
    }

    fn cublasGetStream_v2(handle: Address, stream: Address) -> Status {
        with(handle, |handle| give(stream, handle.stream))
    }

    /// The library does not need a workspace.
    fn cublasSetWorkspace_v2(handle: Address, _workspace: Address, _bytes: usize) -> Status {
        with(handle, |_| Ok(()))
    }

    fn cublasSetPointerMode_v2(handle: Address, mode: u32) -> Status {
        if mode > 1 {
            return Err(Status::INVALID_VALUE);
        }
        with(handle, |handle| { handle.scalars_on_device = mode == 1; Ok(()) })
    }

    fn cublasGetPointerMode_v2(handle: Address, mode: Address) -> Status {
        with(handle, |handle| give(mode, u32::from(handle.scalars_on_device)))
    }

    fn cublasSetMathMode(handle: Address, mode: u32) -> Status {
        with(handle, |handle| { handle.math_mode = mode; Ok(()) })
    }

    fn cublasGetMathMode(handle: Address, mode: Address) -> Status {
        with(handle, |handle| give(mode, handle.math_mode))
    }

    fn cublasSetAtomicsMode(handle: Address, mode: u32) -> Status {
        with(handle, |handle| { handle.atomics_mode = mode; Ok(()) })
    }

    fn cublasGetAtomicsMode(handle: Address, mode: Address) -> Status {
        with(handle, |handle| give(mode, handle.atomics_mode))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetCudartVersion() -> usize {
    13000
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetStatusName(status: Status) -> *const c_char {
    let name = match status {
        Status::SUCCESS => c"CUBLAS_STATUS_SUCCESS",
        Status::NOT_INITIALIZED => c"CUBLAS_STATUS_NOT_INITIALIZED",
        Status::ALLOC_FAILED => c"CUBLAS_STATUS_ALLOC_FAILED",
        Status::INVALID_VALUE => c"CUBLAS_STATUS_INVALID_VALUE",
        Status::ARCH_MISMATCH => c"CUBLAS_STATUS_ARCH_MISMATCH",
        Status::EXECUTION_FAILED => c"CUBLAS_STATUS_EXECUTION_FAILED",
        Status::INTERNAL_ERROR => c"CUBLAS_STATUS_INTERNAL_ERROR",
        Status::NOT_SUPPORTED => c"CUBLAS_STATUS_NOT_SUPPORTED",
        _ => c"unknown status",
    };
    name.as_ptr()
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cublasGetStatusString(status: Status) -> *const c_char {
    let text = match status {
        Status::SUCCESS => c"success",
        Status::NOT_INITIALIZED => c"the library was not initialized",
        Status::ALLOC_FAILED => c"the resource allocation failed",
        Status::INVALID_VALUE => c"an unsupported value or parameter was passed to the function",
        Status::ARCH_MISMATCH => c"the device lacks a feature that the function requires",
        Status::EXECUTION_FAILED => c"the function failed to launch on the GPU",
        Status::INTERNAL_ERROR => c"an internal operation failed",
        Status::NOT_SUPPORTED => c"the requested functionality is not supported",
        _ => c"unknown status",
    };
    text.as_ptr()
}
