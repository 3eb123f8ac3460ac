//! All driver symbols that this module calls, or that cudarc calls on its behalf.
//!
//! The module calls the driver through function pointers looked up here, never through `cudarc::driver::sys`: those bindings load symbols
//! lazily and panic if one is missing, and their types depend on the CUDA version that some crate in the build graph selects. Both
//! represent handles as opaque pointers.

use super::code::CudaCode;
use super::error::CallFailed;
use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// `CUcontext`, `CUmodule`, `CUfunction`, `CUstream` or `CUevent`: all are pointers to opaque structs.
pub(crate) type Handle = *mut c_void;

macro_rules! driver_api {
    ($( fn $name:ident($($arg:ident: $ty:ty),* $(,)?); )*) => {
        /// Function pointers of the driver library, valid while the library stays loaded.
        #[derive(Clone, Copy)]
        #[allow(non_snake_case, reason = "the driver's own names")]
        pub(crate) struct Symbols {
            $( $name: unsafe extern "system" fn($($ty),*) -> CudaCode, )*
            cuFuncGetParamInfo: Option<ParamInfoFn>,
            cuEventElapsedTime: ElapsedFn,
        }

        /// The names of the required symbols of [`Symbols`], except `cuEventElapsedTime`, for which either version suffices.
        pub(crate) const OWN_SYMBOLS: &[&str] = &[$( stringify!($name) ),*];

        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the driver's own signatures")]
        impl Symbols {
            /// Looks up every symbol; the error is the name of the first missing one.
            ///
            /// # Safety
            /// `library` must be an NVIDIA driver library, so that the symbols have the types declared here.
            pub(crate) unsafe fn load(library: &Library) -> Result<Self, &'static str> {
                for name in CUDARC_SYMBOLS {
                    // SAFETY: only checks whether the symbol exists; the pointer is not called.
                    unsafe { library.get::<Handle>(*name) }.map_err(|_| *name)?;
                }
                // SAFETY: the caller guarantees that the symbols have these types.
                unsafe {
                    Ok(Self {
                        $( $name: *library.get(stringify!($name)).map_err(|_| stringify!($name))?, )*
                        cuFuncGetParamInfo: library.get("cuFuncGetParamInfo").ok().map(|symbol| *symbol),
                        // CUDA 12.8 added `_v2`; older drivers have only the older name.
                        cuEventElapsedTime: *library
                            .get("cuEventElapsedTime_v2")
                            .or_else(|_| library.get("cuEventElapsedTime"))
                            .map_err(|_| "cuEventElapsedTime")?,
                    })
                }
            }

            $(
                /// Calls the driver function with this name.
                ///
                /// # Safety
                /// The arguments must be valid for this function of the CUDA driver API.
                pub(crate) unsafe fn $name(&self, $($arg: $ty),*) -> Result<(), CallFailed> {
                    // SAFETY: forwarded to the caller.
                    unsafe { (self.$name)($($arg),*) }.check(stringify!($name))
                }
            )*
        }
    };
}

type ParamInfoFn = unsafe extern "system" fn(Handle, usize, *mut usize, *mut usize) -> CudaCode;
type ElapsedFn = unsafe extern "system" fn(*mut f32, Handle, Handle) -> CudaCode;

driver_api! {
    fn cuInit(flags: c_uint);
    fn cuDeviceGetCount(count: *mut c_int);
    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: c_int);
    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int);
    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int);

    fn cuCtxPushCurrent_v2(context: Handle);
    fn cuCtxPopCurrent_v2(context: *mut Handle);

    fn cuModuleLoadDataEx(
        module: *mut Handle,
        image: *const c_void,
        count: c_uint,
        options: *mut c_int,
        values: *mut *mut c_void,
    );
    fn cuModuleUnload(module: Handle);
    fn cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, module: Handle, name: *const c_char);

    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle);
    fn cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        blocks: *mut c_int,
        function: Handle,
        threads: c_int,
        dynamic_shared_bytes: usize,
    );
    fn cuOccupancyMaxActiveClusters(
        clusters: *mut c_int,
        function: Handle,
        config: *const RawLaunchConfig,
    );
    fn cuStreamIsCapturing(stream: Handle, status: *mut c_uint);
    fn cuLaunchKernelEx(
        config: *const RawLaunchConfig,
        function: Handle,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    );

    fn cuTensorMapEncodeTiled(
        map: *mut c_void,
        data_type: c_uint,
        rank: u32,
        address: *mut c_void,
        dims: *const u64,
        strides: *const u64,
        box_dims: *const u32,
        element_strides: *const u32,
        interleave: c_uint,
        swizzle: c_uint,
        l2_promotion: c_uint,
        out_of_bounds: c_uint,
    );
    fn cuTensorMapEncodeIm2col(
        map: *mut c_void,
        data_type: c_uint,
        rank: u32,
        address: *mut c_void,
        dims: *const u64,
        strides: *const u64,
        lower_corner: *const c_int,
        upper_corner: *const c_int,
        channels: u32,
        pixels: u32,
        element_strides: *const u32,
        interleave: c_uint,
        swizzle: c_uint,
        l2_promotion: c_uint,
        out_of_bounds: c_uint,
    );
}

/// The symbols that cudarc looks up for the calls behind [`Gpu`](super::Gpu), [`Args`](super::Args) and [`time`](super::time), and for the
/// stream, event and copy calls that users make (`cudarc::driver::safe` 0.19.10).
#[rustfmt::skip]
pub(crate) const CUDARC_SYMBOLS: &[&str] = &[
    "cuInit", "cuGetErrorName", "cuGetErrorString",
    "cuDeviceGet", "cuDeviceGetCount", "cuDeviceGetAttribute", "cuDeviceGetName", "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
    "cuCtxDestroy_v2", "cuCtxGetCurrent", "cuCtxSetCurrent", "cuCtxSynchronize",
    "cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuStreamWaitEvent",
    "cuEventCreate", "cuEventDestroy_v2", "cuEventRecord", "cuEventSynchronize", "cuEventQuery",
    "cuMemAllocAsync", "cuMemAlloc_v2", "cuMemFreeAsync", "cuMemFree_v2", "cuMemGetInfo_v2",
    "cuMemHostAlloc", "cuMemFreeHost",
    "cuMemsetD8Async", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2",
    "cuMemcpyPeerAsync",
];

#[allow(non_snake_case, reason = "the driver's own names")]
impl Symbols {
    /// Returns the offset and size in bytes of a kernel parameter, or `Some(None)` past the last one. Returns `None` if the driver predates
    /// CUDA 12.4 and lacks the call.
    ///
    /// # Safety
    /// `function` must be a live `CUfunction`.
    pub(crate) unsafe fn cuFuncGetParamInfo(
        &self,
        function: Handle,
        index: usize,
    ) -> Option<Option<(usize, usize)>> {
        let call = self.cuFuncGetParamInfo?;
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the handle is live and the out pointers are valid for the call.
        let code = unsafe { call(function, index, &mut offset, &mut size) };
        Some((code == CudaCode::SUCCESS).then_some((offset, size)))
    }

    /// Returns the time between two recorded events in milliseconds.
    ///
    /// # Safety
    /// `start` and `end` must be live `CUevent`s that were created with timing enabled.
    pub(crate) unsafe fn cuEventElapsedTime(&self, start: Handle, end: Handle) -> Result<f32, CallFailed> {
        let mut ms = 0.0;
        // SAFETY: the handles are live and `ms` is valid for the call.
        unsafe { (self.cuEventElapsedTime)(&mut ms, start, end) }.check("cuEventElapsedTime")?;
        Ok(ms)
    }
}

/// `CUlaunchConfig`.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RawLaunchConfig {
    pub(crate) grid: [c_uint; 3],
    pub(crate) block: [c_uint; 3],
    pub(crate) dynamic_shared_bytes: c_uint,
    pub(crate) stream: Handle,
    pub(crate) attributes: *mut LaunchAttribute,
    pub(crate) attribute_count: c_uint,
}

/// `CUlaunchAttribute`: an id and a 64-byte union, of which the first words are used here.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    id: c_uint,
    pad: [u8; 4],
    value: [c_uint; 16],
}

impl LaunchAttribute {
    /// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
    pub(crate) fn cluster([x, y, z]: [u32; 3]) -> Self {
        Self::new(4, &[x, y, z])
    }

    /// `CU_LAUNCH_ATTRIBUTE_COOPERATIVE`.
    pub(crate) fn cooperative() -> Self {
        Self::new(2, &[1])
    }

    /// `CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION`.
    pub(crate) fn programmatic() -> Self {
        Self::new(6, &[1])
    }

    fn new(id: c_uint, words: &[c_uint]) -> Self {
        let mut value = [0; 16];
        value[..words.len()].copy_from_slice(words);
        Self { id, pad: [0; 4], value }
    }
}

/// `CUjit_option`.
pub(crate) mod jit_option {
    use std::ffi::c_int;

    pub(crate) const MAX_REGISTERS: c_int = 0;
    pub(crate) const WALL_TIME: c_int = 2;
    pub(crate) const INFO_LOG_BUFFER: c_int = 3;
    pub(crate) const INFO_LOG_BUFFER_SIZE_BYTES: c_int = 4;
    pub(crate) const ERROR_LOG_BUFFER: c_int = 5;
    pub(crate) const ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;
    pub(crate) const OPTIMIZATION_LEVEL: c_int = 7;
    pub(crate) const LOG_VERBOSE: c_int = 12;
    pub(crate) const GENERATE_LINE_INFO: c_int = 13;
}

/// `CUfunction_attribute`.
pub(crate) mod function_attribute {
    use std::ffi::c_int;

    pub(crate) const MAX_THREADS_PER_BLOCK: c_int = 0;
    pub(crate) const SHARED_SIZE_BYTES: c_int = 1;
    pub(crate) const CONST_SIZE_BYTES: c_int = 2;
    pub(crate) const LOCAL_SIZE_BYTES: c_int = 3;
    pub(crate) const NUM_REGS: c_int = 4;
    pub(crate) const PTX_VERSION: c_int = 5;
    pub(crate) const BINARY_VERSION: c_int = 6;
    pub(crate) const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
    pub(crate) const REQUIRED_CLUSTER_WIDTH: c_int = 11;
    pub(crate) const REQUIRED_CLUSTER_HEIGHT: c_int = 12;
    pub(crate) const REQUIRED_CLUSTER_DEPTH: c_int = 13;
    pub(crate) const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: c_int = 14;
}

/// `CUdevice_attribute`.
pub(crate) mod device_attribute {
    use std::ffi::c_int;

    pub(crate) const MAX_THREADS_PER_BLOCK: c_int = 1;
    pub(crate) const MAX_BLOCK_DIM_X: c_int = 2;
    pub(crate) const MAX_GRID_DIM_X: c_int = 5;
    pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK: c_int = 8;
    pub(crate) const CLOCK_RATE: c_int = 13;
    pub(crate) const MULTIPROCESSOR_COUNT: c_int = 16;
    pub(crate) const L2_CACHE_SIZE: c_int = 38;
    pub(crate) const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    pub(crate) const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    pub(crate) const MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: c_int = 81;
    pub(crate) const MAX_REGISTERS_PER_MULTIPROCESSOR: c_int = 82;
    pub(crate) const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    #[test]
    fn launch_structs_have_the_c_layout() {
        assert_eq!(size_of::<LaunchAttribute>(), 72);
        assert_eq!(offset_of!(LaunchAttribute, value), 8);
        assert_eq!(offset_of!(RawLaunchConfig, stream), 32);
        assert_eq!(offset_of!(RawLaunchConfig, attributes), 40);
        assert_eq!(size_of::<RawLaunchConfig>(), 56);
    }

    #[test]
    fn no_symbol_is_listed_twice() {
        for list in [OWN_SYMBOLS, CUDARC_SYMBOLS] {
            let mut names = list.to_vec();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), list.len());
        }
    }
}
