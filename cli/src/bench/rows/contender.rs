//! The contenders that are timed in turn, and their buffers.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use warpwright::gpu::Gpu;

use super::element::Element;
use crate::bench::{
    Failed, Fallible,
    normals::{filled, normals},
};

/// Contiguous m×n matrices, and vectors of n elements.
pub(super) struct Buffers<E: Element> {
    pub(super) m: u32,
    pub(super) n: u32,
    pub(super) x: CudaSlice<E::Stored>,
    pub(super) r: CudaSlice<E::Stored>,
    pub(super) w: CudaSlice<E::Stored>,
    pub(super) b: CudaSlice<E::Stored>,
    pub(super) y: CudaSlice<E::Stored>,
    pub(super) h: CudaSlice<E::Stored>,
}

impl<E: Element> Buffers<E> {
    /// Allocates matrices of at most `bytes` bytes.
    pub(super) fn new(gpu: &Gpu, bytes: usize, n: u32) -> Fallible<Self> {
        let stream = gpu.stream();
        let row = n as usize;
        let m = (bytes / (row * size_of::<E::Stored>())).clamp(1, u32::MAX as usize);
        let numbers: Vec<E::Stored> = normals(1 << 22).map(E::stored).collect();
        let source = stream.clone_htod(&numbers)?;
        let matrix = |seed| filled(&stream, &source, m * row, seed);
        let vector = |seed| filled(&stream, &source, row, seed);
        Ok(Self {
            m: m as u32,
            n,
            x: matrix(1)?,
            r: matrix(2)?,
            w: vector(3)?,
            b: vector(4)?,
            y: stream.alloc_zeros(m * row)?,
            h: stream.alloc_zeros(m * row)?,
        })
    }

    /// Returns the size of a matrix in bytes.
    pub(super) fn matrix(&self) -> f64 {
        (self.x.len() * size_of::<E::Stored>()) as f64
    }
}

/// Queues a launch.
pub(super) type Launch<E> = Box<dyn Fn(&Arc<CudaStream>, &mut Buffers<E>) -> Result<(), Failed>>;

/// The inputs of a row of the result, in f64.
pub(super) struct Rows {
    /// The index of the row.
    pub(super) at: usize,
    pub(super) x: Vec<f64>,
    pub(super) r: Vec<f64>,
    pub(super) w: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// Rounds to the element type.
    pub(super) round: fn(f64) -> f64,
}

/// Computes a row of y.
pub(super) type Reference = Box<dyn Fn(&Rows) -> Vec<f64>>;

/// A contender.
pub(super) struct Contender<E: Element> {
    pub(super) name: String,
    /// The number of bytes that must be read and written.
    pub(super) bytes: f64,
    pub(super) launch: Launch<E>,
    /// The reference for y; `None` if it is not verified.
    pub(super) reference: Option<Reference>,
}

/// The error of f32 sums, relative to the largest result in a row.
const CANCELLED: f64 = 1e-6;
/// The number of rows that are compared with f64.
const VERIFIED: usize = 5;

impl<E: Element> Contender<E> {
    /// Returns the driver's copy.
    pub(super) fn driver(buffers: &Buffers<E>) -> Self {
        Self {
            name: "driver's copy".into(),
            bytes: 2.0 * buffers.matrix(),
            launch: Box::new(|stream, buffers| {
                stream.memcpy_dtod(&buffers.x, &mut buffers.y).map_err(Failed::of)
            }),
            reference: None,
        }
    }

    /// Compares some rows of the result with f64.
    pub(super) fn verify(&self, gpu: &Gpu, buffers: &mut Buffers<E>) -> Fallible<()> {
        let Some(reference) = &self.reference else { return Ok(()) };
        let stream = gpu.stream();
        stream.memset_zeros(&mut buffers.y)?;
        (self.launch)(&stream, buffers)?;
        let (m, n) = (buffers.m as usize, buffers.n as usize);
        let load = |from: &CudaSlice<E::Stored>, row: usize| -> Fallible<Vec<f64>> {
            let row = stream.clone_dtoh(&from.slice(row * n..(row + 1) * n))?;
            Ok(row.into_iter().map(E::number).collect())
        };
        let (w, b) = (load(&buffers.w, 0)?, load(&buffers.b, 0)?);
        for row in (0..VERIFIED).map(|i| i * (m - 1) / (VERIFIED - 1)) {
            let (x, r) = (load(&buffers.x, row)?, load(&buffers.r, row)?);
            let (w, b) = (w.clone(), b.clone());
            let expected =
                reference(&Rows { at: row, x, r, w, b, round: |x| E::number(E::stored(x as f32)) });
            // If terms cancel, their errors remain.
            let largest = expected.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
            for (col, (expected, found)) in expected.into_iter().zip(load(&buffers.y, row)?).enumerate() {
                let error = (found - expected).abs();
                if error.is_nan() || error > E::TOLERANCE * expected.abs() + CANCELLED * largest {
                    let name = &self.name;
                    return Err(format!(
                        "{name}: row {row} of {n}, column {col}: expected {expected}, found {found}"
                    )
                    .into());
                }
            }
        }
        Ok(())
    }
}
