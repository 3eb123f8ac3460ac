//! Functions of the section "Execution Control".

use warpwright_cuda_calls::address_of;

use crate::driver::ready;
use crate::error::{Error, Fallible};
use crate::memory_at::{get, set};
use crate::registry::{Dim3, function};
use crate::{Address, entries, stream_of};

/// Replaces the driver's error for invalid launch dimensions with the runtime's own code.
fn configuration(result: Fallible, grid: Dim3, block: Dim3) -> Fallible {
    let threads = [block.x, block.y, block.z].iter().map(|&n| u64::from(n)).product::<u64>();
    let is_valid = [grid.x, grid.y, grid.z].iter().all(|&n| n > 0) && (1..=1024).contains(&threads);
    result.map_err(|error| {
        if error == Error::INVALID_VALUE && !is_valid { Error::INVALID_CONFIGURATION } else { error }
    })
}

fn launch(
    kernel: Address,
    grid: Dim3,
    block: Dim3,
    arguments: Address,
    shared: usize,
    stream: Address,
) -> Fallible {
    let function = function(kernel)?;
    let shared = u32::try_from(shared).map_err(|_| Error::INVALID_VALUE)?;
    let result = ready()?.cuLaunchKernel(
        function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream, arguments, 0,
    );
    configuration(result, grid, block)
}

/// `cudaLaunchConfig_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Config {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: Address,
    attributes: Address,
    count: u32,
}

/// `CUlaunchConfig`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DriverConfig {
    grid: Dim3,
    block: Dim3,
    shared: u32,
    stream: Address,
    attributes: Address,
    count: u32,
}

/// Converts a launch configuration to the driver's structure. Both use the same layout for attributes.
pub(crate) fn driver_config(config: Address, own: bool) -> Fallible<DriverConfig> {
    let Config { grid, block, shared, stream, attributes, count } = get(config)?;
    let shared = u32::try_from(shared).map_err(|_| Error::INVALID_VALUE)?;
    Ok(DriverConfig { grid, block, shared, stream: stream_of(stream, own), attributes, count })
}

/// `cudaFuncAttributes`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct Attributes {
    shared: usize,
    constant: usize,
    local: usize,
    /// The values of the attributes of type `int`, in the order of [`INTS`].
    ints: [i32; 13],
    reserved: [i32; 16],
}

/// The driver's attributes for `maxThreadsPerBlock` to `nonPortableClusterSizeAllowed`.
const INTS: [i32; 13] = [0, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 14];

entries! {
    fn __cudaLaunchKernel | __cudaLaunchKernel_ptsz own (
        kernel: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Address,
    ) {
        launch(kernel, grid, block, arguments, shared, stream_of(stream, own))
    }

    fn cudaLaunchKernel | cudaLaunchKernel_ptsz own (
        kernel: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Address,
    ) {
        launch(kernel, grid, block, arguments, shared, stream_of(stream, own))
    }

    fn cudaLaunchCooperativeKernel | cudaLaunchCooperativeKernel_ptsz own (
        kernel: Address, grid: Dim3, block: Dim3, arguments: Address, shared: usize, stream: Address,
    ) {
        let function = function(kernel)?;
        let shared = u32::try_from(shared).map_err(|_| Error::INVALID_VALUE)?;
        let result = ready()?.cuLaunchCooperativeKernel(
            function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, stream_of(stream, own), arguments,
        );
        configuration(result, grid, block)
    }

    fn cudaLaunchKernelExC | cudaLaunchKernelExC_ptsz own (config: Address, kernel: Address, arguments: Address) {
        let function = function(kernel)?;
        let mut config = driver_config(config, own)?;
        let result = ready()?.cuLaunchKernelEx(address_of(&mut config), function, arguments, 0);
        configuration(result, config.grid, config.block)
    }

    fn cudaLaunchHostFunc | cudaLaunchHostFunc_ptsz own (stream: Address, function: Address, data: Address) {
        ready()?.cuLaunchHostFunc(stream_of(stream, own), function, data)
    }

    fn cudaLaunchHostFunc_v2 | cudaLaunchHostFunc_v2_ptsz own (
        stream: Address, function: Address, data: Address, _sync_mode: u32,
    ) {
        ready()?.cuLaunchHostFunc(stream_of(stream, own), function, data)
    }

    fn cudaFuncGetName(name: Address, kernel: Address) {
        ready()?.cuFuncGetName(name, function(kernel)?)
    }

    fn cudaFuncGetParamInfo(kernel: Address, index: usize, offset: Address, size: Address) {
        ready()?.cuFuncGetParamInfo(function(kernel)?, index, offset, size)
    }

    fn cudaFuncGetParamCount(kernel: Address, count: Address) {
        ready()?.cuFuncGetParamCount(function(kernel)?, count)
    }

    fn cudaFuncGetAttributes(result: Address, kernel: Address) {
        let function = function(kernel)?;
        let driver = ready()?;
        let attribute = |name: i32| {
            let mut value = 0i32;
            driver.cuFuncGetAttribute(address_of(&mut value), name, function).map(|()| value)
        };
        let mut ints = [0; 13];
        for (value, name) in ints.iter_mut().zip(INTS) {
            *value = attribute(name)?;
        }
        let [shared, constant, local] = [attribute(1)?, attribute(2)?, attribute(3)?].map(|n| n as usize);
        set(result, Attributes { shared, constant, local, ints, reserved: [0; 16] })
    }

    fn cudaFuncSetAttribute(kernel: Address, name: i32, value: i32) {
        ready()?.cuFuncSetAttribute(function(kernel)?, name, value)
    }

    fn cudaFuncSetCacheConfig(kernel: Address, config: u32) {
        ready()?.cuFuncSetCacheConfig(function(kernel)?, config)
    }

    fn cudaFuncSetSharedMemConfig(kernel: Address, _config: u32) {
        function(kernel).map(drop)
    }
}
