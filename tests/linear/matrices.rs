//! Matrices of batches and heads with gaps between rows, and their comparison with f64.

use crate::{
    assemble, devices,
    half::{self, Half},
};
use warpwright::{
    prelude::*,
    run::{AnyDevice, Buffer, Device},
};

/// The extents of the matrices of a problem.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizes {
    pub(super) batches: usize,
    pub(super) heads: usize,
    pub(super) length: usize,
    /// Whether the rows of all heads alternate in memory.
    pub(super) rows_first: bool,
}

impl Sizes {
    pub(super) fn numbers(self) -> [u32; 3] {
        [self.batches, self.heads, self.length].map(|size| size as u32)
    }

    /// Every batch and head.
    pub(super) fn each(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.batches).flat_map(move |batch| (0..self.heads).map(move |head| (batch, head)))
    }
}

/// The elements after each row in memory.
const GAP: usize = 8;

/// Matrices of `cols` columns, with gaps of NaN between rows.
pub(super) struct Matrices<T> {
    strides: [usize; 3],
    cols: usize,
    pub(super) elements: Vec<T>,
}

impl<T: Half> Matrices<T> {
    /// Full of NaN.
    pub(super) fn poisoned(sizes: Sizes, cols: usize) -> Self {
        let Sizes { batches, heads, length, rows_first } = sizes;
        let pitch = cols + GAP;
        let strides = if rows_first {
            [heads * length * pitch, pitch, heads * pitch]
        } else {
            [heads * length * pitch, length * pitch, pitch]
        };
        Self { strides, cols, elements: vec![T::NAN; batches * heads * length * pitch] }
    }

    pub(super) fn new(sizes: Sizes, cols: usize, element: &dyn Fn([usize; 4]) -> f64) -> Self {
        let mut all = Self::poisoned(sizes, cols);
        for (batch, head) in sizes.each() {
            for (row, col) in (0..sizes.length).flat_map(|row| (0..cols).map(move |col| (row, col))) {
                let at = all.at(batch, head, row) + col;
                all.elements[at] = T::of(element([batch, head, row, col]));
            }
        }
        all
    }

    fn at(&self, batch: usize, head: usize, row: usize) -> usize {
        let [per_batch, per_head, per_row] = self.strides;
        batch * per_batch + head * per_head + row * per_row
    }

    pub(super) fn strides(&self) -> [u32; 3] {
        self.strides.map(|stride| stride as u32)
    }

    /// Returns a row as f64.
    pub(super) fn row(&self, (batch, head): (usize, usize), row: usize) -> Vec<f64> {
        let from = self.at(batch, head, row);
        self.elements[from..from + self.cols].iter().map(|x| x.number()).collect()
    }

    /// Compares a row with expected numbers, each with the sum of the absolute values of its terms. The elements after the row must be NaN.
    pub(super) fn compare(&self, what: &str, at: (usize, usize), row: usize, expected: &[[f64; 2]]) {
        for (col, (found, [expected, size])) in self.row(at, row).into_iter().zip(expected).enumerate() {
            let agrees = (found - expected).abs() <= size * T::ERROR + 1e-6;
            assert!(agrees, "{what}: {at:?}, row {row}, column {col}: expected {expected}, found {found}");
        }
        let end = self.at(at.0, at.1, row) + self.cols;
        let gap = &self.elements[end..end + GAP];
        assert!(gap.iter().all(|x| x.number().is_nan()), "{what}: {at:?}: wrote past row {row}");
    }
}

/// Numbers between −1.5 and 1.5, without a pattern; `which` selects a matrix.
pub(super) fn mixed(which: usize, [batch, head, row, col]: [usize; 4]) -> f64 {
    let index = (((batch * 7 + head) * 1009 + row) * 263 + col) * 8 + which;
    1.5 * half::mixed(index)
}

/// Builds a kernel for sm_80, which must succeed, and checks it with ptxas, for sm_90a too.
pub(super) fn assembled<A>(kernel: &dyn Fn(Target) -> Result<Kernel<A>, BuildError>) -> Kernel<A> {
    let [kernel, _] = [Target::SM_80, Target::SM_90A].map(|target| {
        let kernel = kernel(target).unwrap_or_else(|error| panic!("{error}"));
        assemble::kernel(&kernel);
        kernel
    });
    kernel
}

/// The matrix of f32 numbers of each batch and head that a kernel changes.
pub(super) struct States {
    pub(super) size: usize,
    pub(super) elements: Vec<f32>,
}

impl States {
    pub(super) fn new(sizes: Sizes, size: usize) -> Self {
        let element = |at: usize| mixed(7, [0, 0, at / 64, at % 64]) as f32;
        Self { size, elements: (0..sizes.batches * sizes.heads * size).map(element).collect() }
    }

    /// Returns the matrix of a batch and head.
    pub(super) fn of(&self, sizes: Sizes, (batch, head): (usize, usize)) -> Vec<f64> {
        let from = (batch * sizes.heads + head) * self.size;
        self.elements[from..from + self.size].iter().map(|&x| x.into()).collect()
    }

    /// Compares a matrix with expected numbers, each with the sum of the absolute values of its terms.
    pub(super) fn compare<T: Half>(
        &self,
        what: &str,
        sizes: Sizes,
        at: (usize, usize),
        expected: &[[f64; 2]],
    ) {
        for (i, (found, [expected, size])) in self.of(sizes, at).into_iter().zip(expected).enumerate() {
            let agrees = (found - expected).abs() <= size * T::ERROR + 1e-6;
            assert!(agrees, "{what}: {at:?}, state {i}: expected {expected}, found {found}");
        }
    }
}

/// Launches twice on every device with results of NaN, and returns what was written, which must be the same each time.
pub(super) fn everywhere<T: Half>(
    results: &Matrices<T>,
    launch: &dyn Fn(&AnyDevice, &mut Buffer<T>),
) -> Matrices<T> {
    let no_states = States { size: 0, elements: Vec::new() };
    everywhere_with(results, &no_states, &|device, buffer, _| launch(device, buffer)).0
}

/// A launch with a result and states that it changes.
type Launch<'a, T> = &'a dyn Fn(&AnyDevice, &mut Buffer<T>, &mut Buffer<f32>);

/// [`everywhere`], and states that the launch changes.
pub(super) fn everywhere_with<T: Half>(
    results: &Matrices<T>,
    states: &States,
    launch: Launch<'_, T>,
) -> (Matrices<T>, States) {
    let (bits, changed) = devices::everywhere(|device| {
        let run = || {
            let mut buffer = device.upload(&results.elements).expect("room");
            let mut states = device.upload(&states.elements).expect("room");
            launch(device, &mut buffer, &mut states);
            let elements = device.download(&buffer).expect("copied");
            let states = device.download(&states).expect("copied");
            let bits: Vec<_> = elements.into_iter().map(|x| x.to_mem_bits()).collect();
            (bits, states.into_iter().map(f32::to_bits).collect::<Vec<_>>())
        };
        let (first, second) = (run(), run());
        assert!(first == second, "two launches differ");
        first
    });
    let elements = bits.into_iter().map(T::from_mem_bits).collect();
    let changed = changed.into_iter().map(f32::from_bits).collect();
    (
        Matrices { strides: results.strides, cols: results.cols, elements },
        States { size: states.size, elements: changed },
    )
}
