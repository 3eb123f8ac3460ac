//! `cudaDeviceProp` of CUDA 13.

use crate::driver::driver;
use crate::error::Fallible;
use crate::memory_at::out;

/// The size of the structure in bytes.
pub(crate) const SIZE: usize = 1008;

/// The members of type `int` with a device attribute: the offset of each, and the attribute.
#[rustfmt::skip]
const INTS: &[(usize, i32)] = &[
    (304, 12), (308, 10), (320, 1), (324, 2), (328, 3), (332, 4), (336, 5), (340, 6), (344, 7), (360, 75), (364, 76),
    (384, 16), (388, 18), (392, 19), (560, 31), (564, 32), (568, 33), (572, 34), (576, 50), (580, 35), (584, 40),
    (588, 41), (592, 37), (596, 38), (600, 108), (604, 39), (608, 78), (612, 79), (616, 80), (632, 82), (636, 83),
    (640, 84), (644, 85), (648, 86), (652, 88), (656, 89), (660, 90), (664, 91), (668, 95), (680, 100), (684, 101),
    (688, 106), (692, 109), (704, 99), (708, 112), (712, 113), (716, 114), (720, 115), (724, 116), (728, 117),
    (732, 118), (736, 119), (740, 121), (744, 125), (748, 120), (752, 129),
];

/// The members of type `size_t`: the offset of each, and the attribute.
#[rustfmt::skip]
const SIZES: &[(usize, i32)] = &[
    (296, 8), (312, 11), (352, 9), (368, 14), (376, 51), (552, 30), (624, 81), (672, 97), (696, 111),
];

/// The offsets of the other members.
const UUID: usize = 256;
const TOTAL_MEMORY: usize = 288;

/// `cudaChannelFormatDesc`: the bits of each component, and their kind.
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
    let driver = driver()?;
    let mut bytes = [0; SIZE];
    driver.cuDeviceGetName(out(&mut bytes), UUID as i32, device)?;
    driver.cuDeviceGetUuid_v2(out(&mut bytes[UUID]), device)?;
    driver.cuDeviceTotalMem_v2(out(&mut bytes[TOTAL_MEMORY]), device)?;
    let attribute = |name: i32| {
        let mut value = 0i32;
        driver.cuDeviceGetAttribute(out(&mut value), name, device).map(|()| value)
    };
    for &(at, name) in INTS {
        bytes[at..at + 4].copy_from_slice(&attribute(name)?.to_ne_bytes());
    }
    for &(at, name) in SIZES {
        bytes[at..at + 8].copy_from_slice(&(attribute(name)? as usize).to_ne_bytes());
    }
    Ok(bytes)
}
