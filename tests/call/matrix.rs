//! Matrices whose rows have odd lengths and gaps between them.

use warpwright::{
    prelude::*,
    run::{AnyDevice, Buffer, Device, KernelCache},
};

use super::numbers::{halves, in_f64};
use crate::devices;

/// The number of rows, their length, and the stride between them.
pub(super) const SIZES: [[usize; 3]; 3] = [[3, 64, 64], [2, 1001, 1003], [5, 7, 8]];

/// A matrix with gaps, and the elements of its rows.
pub(super) struct Matrix {
    pub(super) buffer: Buffer<bf16>,
    pub(super) rows: Vec<Vec<f64>>,
}

impl Matrix {
    pub(super) fn new(device: &AnyDevice, [m, n, ld]: [usize; 3], seed: u32) -> Self {
        let elements = halves(m * ld, seed);
        let rows = elements.chunks(ld).map(|row| in_f64(&row[..n])).collect();
        Self { buffer: device.upload(&elements).expect("room"), rows }
    }
}

/// Returns the rows of a result; the elements between them must be NaN.
pub(super) fn rows_of(found: &[f64], [_, n, ld]: [usize; 3]) -> Vec<f64> {
    assert!(found.iter().enumerate().all(|(at, x)| at % ld < n || x.is_nan()), "wrote between rows");
    found.iter().enumerate().filter(|(at, _)| at % ld < n).map(|(_, &x)| x).collect()
}

/// The elements of a result up to the end of its last row.
pub(super) fn length([m, n, ld]: [usize; 3]) -> usize {
    (m - 1) * ld + n
}

pub(super) fn each(test: impl Fn(&AnyDevice, &KernelCache<'_>, [usize; 3])) {
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        SIZES.into_iter().for_each(|size| test(&device, &kernels, size));
    }
}
