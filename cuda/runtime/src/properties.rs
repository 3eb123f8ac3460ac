//! `cudaDeviceProp` in CUDA 13, and in CUDA 12, where some members have different offsets.

use warpwright_cuda_calls::address_of;

use crate::driver::driver;
use crate::error::Fallible;

/// The sizes of the structures in bytes.
const SIZE: usize = 1008;
const SIZE_12: usize = 1032;

/// The members of type `int` that correspond to a device attribute: their offsets and attributes.
#[rustfmt::skip]
const INTS: &[(usize, i32)] = &[
    (304, 12), (308, 10), (320, 1), (324, 2), (328, 3), (332, 4), (336, 5), (340, 6), (344, 7), (360, 75), (364, 76),
    (384, 16), (388, 18), (392, 19), (560, 31), (564, 32), (568, 33), (572, 34), (576, 50), (580, 35), (584, 40),
    (588, 41), (592, 37), (596, 38), (600, 108), (604, 39), (608, 78), (612, 79), (616, 80), (632, 82), (636, 83),
    (640, 84), (644, 85), (648, 86), (652, 88), (656, 89), (660, 90), (664, 91), (668, 95), (680, 100), (684, 101),
    (688, 106), (692, 109), (704, 99), (708, 112), (712, 113), (716, 114), (720, 115), (724, 116), (728, 117),
    (732, 118), (736, 119), (740, 121), (744, 125), (748, 120), (752, 129),
];

/// The members of type `size_t` that correspond to a device attribute: their offsets and attributes.
#[rustfmt::skip]
const SIZES: &[(usize, i32)] = &[
    (296, 8), (312, 11), (352, 9), (368, 14), (376, 51), (552, 30), (624, 81), (672, 97), (696, 111),
];

/// The members of the CUDA 12 structure.
#[rustfmt::skip]
const INTS_12: &[(usize, i32)] = &[
    (304, 12), (308, 10), (320, 1), (324, 2), (328, 3), (332, 4), (336, 5), (340, 6), (344, 7), (348, 13), (360, 75),
    (364, 76), (384, 15), (388, 16), (392, 17), (396, 18), (400, 19), (404, 20), (576, 31), (580, 32), (584, 33),
    (588, 34), (592, 50), (596, 35), (600, 40), (604, 41), (608, 36), (612, 37), (616, 38), (620, 108), (624, 39),
    (628, 78), (632, 79), (636, 80), (648, 82), (652, 83), (656, 84), (660, 85), (664, 86), (668, 87), (672, 88),
    (676, 89), (680, 90), (684, 91), (688, 95), (692, 96), (704, 100), (708, 101), (712, 106), (716, 109), (728, 99),
    (732, 112), (736, 113), (740, 114), (744, 115), (748, 116), (752, 117), (756, 118), (760, 119), (764, 121),
    (768, 125), (772, 120), (776, 129),
];
#[rustfmt::skip]
const SIZES_12: &[(usize, i32)] = &[
    (296, 8), (312, 11), (352, 9), (368, 14), (376, 51), (568, 30), (640, 81), (696, 97), (720, 111),
];

/// The offsets of the other members.
const UUID: usize = 256;
const TOTAL_MEMORY: usize = 288;

/// `cudaChannelFormatDesc`: the number of bits of each component, and their kind.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ChannelFormat {
    pub(crate) bits: [i32; 4],
    pub(crate) kind: u32,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn cudaCreateChannelDesc(x: i32, y: i32, z: i32, w: i32, kind: u32) -> ChannelFormat {
    ChannelFormat { bits: [x, y, z, w], kind }
}

/// Returns the properties of a device.
pub(crate) fn read(device: i32) -> Fallible<[u8; SIZE]> {
    fill(device, INTS, SIZES)
}

/// Returns the properties of a device, for programs compiled with CUDA 12.
pub(crate) fn read_12(device: i32) -> Fallible<[u8; SIZE_12]> {
    fill(device, INTS_12, SIZES_12)
}

fn fill<const N: usize>(device: i32, ints: &[(usize, i32)], sizes: &[(usize, i32)]) -> Fallible<[u8; N]> {
    let driver = driver()?;
    let mut bytes = [0; N];
    driver.cuDeviceGetName(address_of(&mut bytes), UUID as i32, device)?;
    driver.cuDeviceGetUuid_v2(address_of(&mut bytes[UUID]), device)?;
    driver.cuDeviceTotalMem_v2(address_of(&mut bytes[TOTAL_MEMORY]), device)?;
    let attribute = |name: i32| {
        let mut value = 0i32;
        driver.cuDeviceGetAttribute(address_of(&mut value), name, device).map(|()| value)
    };
    for &(at, name) in ints {
        bytes[at..at + 4].copy_from_slice(&attribute(name)?.to_ne_bytes());
    }
    for &(at, name) in sizes {
        bytes[at..at + 8].copy_from_slice(&(attribute(name)? as usize).to_ne_bytes());
    }
    Ok(bytes)
}
