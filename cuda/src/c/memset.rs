//! Functions of the section "Memory Management": fills.

use crate::c::entries;
use crate::code::Fallible;
use crate::driver::copy::Fill;
use crate::driver::registry::Handle;
use crate::driver::stream::Stream;

fn fill(
    address: u64,
    pitch: usize,
    value: u32,
    unit: u64,
    extent: [usize; 2],
    stream: Handle,
    own: bool,
) -> Fallible {
    let [width, height] = extent.map(|n| n as u64);
    Fill { address, value, unit, extent: [width, height], pitch: pitch as u64 }
        .submit(&*Stream::of(stream, own)?)
}

/// The stream of fills. As in NVIDIA's driver, fills of device memory are asynchronous ("API synchronization behavior").
const DEFAULT: Handle = Handle::NULL;

entries! {
    fn cuMemsetD8_v2 | cuMemsetD8_v2_ptds own (address: u64, value: u8, n: usize) {
        fill(address, 0, value.into(), 1, [n, 1], DEFAULT, own)
    }

    fn cuMemsetD16_v2 | cuMemsetD16_v2_ptds own (address: u64, value: u16, n: usize) {
        fill(address, 0, value.into(), 2, [n, 1], DEFAULT, own)
    }

    fn cuMemsetD32_v2 | cuMemsetD32_v2_ptds own (address: u64, value: u32, n: usize) {
        fill(address, 0, value, 4, [n, 1], DEFAULT, own)
    }

    fn cuMemsetD2D8_v2 | cuMemsetD2D8_v2_ptds own (address: u64, pitch: usize, value: u8, width: usize, height: usize) {
        fill(address, pitch, value.into(), 1, [width, height], DEFAULT, own)
    }

    fn cuMemsetD2D16_v2 | cuMemsetD2D16_v2_ptds own (address: u64, pitch: usize, value: u16, width: usize, height: usize) {
        fill(address, pitch, value.into(), 2, [width, height], DEFAULT, own)
    }

    fn cuMemsetD2D32_v2 | cuMemsetD2D32_v2_ptds own (address: u64, pitch: usize, value: u32, width: usize, height: usize) {
        fill(address, pitch, value, 4, [width, height], DEFAULT, own)
    }

    fn cuMemsetD8Async | cuMemsetD8Async_ptsz own (address: u64, value: u8, n: usize, stream: Handle) {
        fill(address, 0, value.into(), 1, [n, 1], stream, own)
    }

    fn cuMemsetD16Async | cuMemsetD16Async_ptsz own (address: u64, value: u16, n: usize, stream: Handle) {
        fill(address, 0, value.into(), 2, [n, 1], stream, own)
    }

    fn cuMemsetD32Async | cuMemsetD32Async_ptsz own (address: u64, value: u32, n: usize, stream: Handle) {
        fill(address, 0, value, 4, [n, 1], stream, own)
    }

    fn cuMemsetD2D8Async | cuMemsetD2D8Async_ptsz own (
        address: u64, pitch: usize, value: u8, width: usize, height: usize, stream: Handle,
    ) {
        fill(address, pitch, value.into(), 1, [width, height], stream, own)
    }

    fn cuMemsetD2D16Async | cuMemsetD2D16Async_ptsz own (
        address: u64, pitch: usize, value: u16, width: usize, height: usize, stream: Handle,
    ) {
        fill(address, pitch, value.into(), 2, [width, height], stream, own)
    }

    fn cuMemsetD2D32Async | cuMemsetD2D32Async_ptsz own (
        address: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Handle,
    ) {
        fill(address, pitch, value, 4, [width, height], stream, own)
    }
}
