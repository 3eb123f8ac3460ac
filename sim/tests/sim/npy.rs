//! The contents of `.npy` files.

use std::path::Path;

/// Returns the raw little-endian elements of a `.npy` file.
pub(crate) fn read(path: &Path) -> Vec<u8> {
    let data = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    assert_eq!(&data[..6], b"\x93NUMPY", "{}", path.display());
    let start = if data[6] >= 2 {
        12 + u32::from_le_bytes([data[8], data[9], data[10], data[11]]) as usize
    } else {
        10 + usize::from(u16::from_le_bytes([data[8], data[9]]))
    };
    data[start..].to_vec()
}
