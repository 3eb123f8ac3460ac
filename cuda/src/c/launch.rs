//! Functions of the section "Execution Control": launches.

use super::pointers::{Callback, HostFunction, In};
use crate::c::entries;
use crate::code::{Code, Fallible};
use crate::driver::function::Function;
use crate::driver::launch::{Kernel, Shape};
use crate::driver::library::function_of;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;
use crate::host::HostPtr;
use std::sync::Arc;

/// `CUlaunchConfig`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Config {
    grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) dynamic_shared: u32,
    stream: Handle,
    attributes: In<Attribute>,
    count: u32,
}

/// `CUlaunchAttribute`: an ID and a 64-byte union.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(super) struct Attribute {
    id: u32,
    pad: u32,
    value: [u32; 16],
}

/// The launch attributes that change what is executed; the others affect only timing and caches.
pub(super) const COOPERATIVE: u32 = 2;
pub(super) const CLUSTER_DIMENSION: u32 = 4;
const PROGRAMMATIC_EVENT: u32 = 7;
const COMPLETION_EVENT: u32 = 12;

impl Config {
    pub(super) fn shape(&self) -> Fallible<Shape> {
        let mut shape = Shape {
            grid: self.grid,
            block: self.block,
            cluster: None,
            dynamic_shared: self.dynamic_shared,
            cooperative: false,
        };
        for Attribute { id, value, .. } in self.attributes.list(self.count as usize)? {
            match id {
                COOPERATIVE => shape.cooperative = value[0] != 0,
                CLUSTER_DIMENSION => shape.cluster = Some([value[0], value[1], value[2]]),
                PROGRAMMATIC_EVENT | COMPLETION_EVENT => return Err(Code::NOT_SUPPORTED),
                _ => {}
            }
        }
        Ok(shape)
    }
}

/// The keys in `extra`.
const END: usize = 0;
const BUFFER: usize = 1;
const BUFFER_SIZE: usize = 2;

/// Reads the arguments of a kernel from an array of their addresses, or from the buffer that `extra`, a list of keys and values, describes.
pub(super) fn arguments(
    function: &Function,
    addresses: In<HostPtr>,
    extra: In<usize>,
) -> Fallible<Vec<Vec<u8>>> {
    let params = &function.params;
    if !extra.is_null() && addresses.is_null() {
        return buffer(function, extra);
    }
    let addresses = addresses.list(params.len())?;
    let argument = |(param, address): (&warpwright_sim::Param, HostPtr)| {
        if address.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(address.read(param.size, <[u8]>::to_vec))
    };
    params.iter().zip(addresses).map(argument).collect()
}

fn buffer(function: &Function, extra: In<usize>) -> Fallible<Vec<Vec<u8>>> {
    let (mut address, mut size) = (HostPtr(0), 0);
    for i in 0.. {
        let [key, value] = extra.pair(i)?;
        match key {
            END => break,
            BUFFER => address = HostPtr(value),
            BUFFER_SIZE => size = HostPtr(value).word(),
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    let argument = |param: &warpwright_sim::Param| {
        if param.offset + param.size > size || address.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        Ok(address.offset(param.offset as u64).read(param.size, <[u8]>::to_vec))
    };
    function.params.iter().map(argument).collect()
}

fn launch(
    function: &Arc<Function>,
    shape: Shape,
    addresses: In<HostPtr>,
    extra: In<usize>,
    stream: &Stream,
) -> Fallible {
    let args = arguments(function, addresses, extra)?;
    Kernel::new(function, shape, args)?.submit(stream)
}

fn launch_host(stream: Handle, own: bool, function: HostFunction, data: HostPtr) -> Fallible {
    Stream::of(stream, own)?.submit(Callback { function, data }.operation()?)
}

entries! {
    fn cuLaunchKernel | cuLaunchKernel_ptsz own (
        function: Handle,
        grid_x: u32, grid_y: u32, grid_z: u32,
        block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared: u32, stream: Handle, addresses: In<HostPtr>, extra: In<usize>,
    ) {
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            cluster: None,
            dynamic_shared,
            cooperative: false,
        };
        launch(&function_of(function)?, shape, addresses, extra, &*Stream::of(stream, own)?)
    }

    fn cuLaunchCooperativeKernel | cuLaunchCooperativeKernel_ptsz own (
        function: Handle,
        grid_x: u32, grid_y: u32, grid_z: u32,
        block_x: u32, block_y: u32, block_z: u32,
        dynamic_shared: u32, stream: Handle, addresses: In<HostPtr>,
    ) {
        let shape = Shape {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            cluster: None,
            dynamic_shared,
            cooperative: true,
        };
        launch(&function_of(function)?, shape, addresses, In::NULL, &*Stream::of(stream, own)?)
    }

    fn cuLaunchKernelEx | cuLaunchKernelEx_ptsz own (
        config: In<Config>, function: Handle, addresses: In<HostPtr>, extra: In<usize>,
    ) {
        let config = config.get()?;
        launch(&function_of(function)?, config.shape()?, addresses, extra, &*Stream::of(config.stream, own)?)
    }

    fn cuLaunchHostFunc | cuLaunchHostFunc_ptsz own (stream: Handle, function: HostFunction, data: HostPtr) {
        launch_host(stream, own, function, data)
    }

    fn cuLaunchHostFunc_v2 | cuLaunchHostFunc_v2_ptsz own (
        stream: Handle, function: HostFunction, data: HostPtr, _sync_mode: u32,
    ) {
        launch_host(stream, own, function, data)
    }
}
