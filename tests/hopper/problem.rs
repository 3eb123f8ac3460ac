//! Products of small integers, whose sums are exact in every type.

use warpwright::{
    prelude::*,
    ptx::{ProxySpace, Read},
    tensor::TensorElement,
    tiles::{Filled, SharedSwizzle},
};

use crate::numbers::{Numeral, Random};

/// C + A·B: A `m`×`depth`, B `depth`×`n`, C `m`×`n`, in row-major order.
pub(super) struct Problem {
    pub(super) m: usize,
    pub(super) n: usize,
    pub(super) depth: usize,
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    pub(super) c: Vec<f64>,
}

impl Problem {
    /// Random factors of these types.
    pub(super) fn new<A: Numeral, B: Numeral>(m: usize, n: usize, depth: usize) -> Self {
        let mut random = Random((m * 7919 + n * 31 + depth) as u64);
        let mut some =
            |count, small: fn(&mut Random) -> f64| (0..count).map(|_| small(&mut random)).collect();
        Self {
            m,
            n,
            depth,
            a: some(m * depth, |random| A::small(random).number()),
            b: some(depth * n, |random| B::small(random).number()),
            c: some(m * n, |random| i8::small(random).number()),
        }
    }

    /// The product alone.
    pub(super) fn product(&self) -> Vec<f64> {
        warpwright_reference::product(&self.a, &self.b, [self.m, self.n, self.depth])
    }

    /// C + `times` · A·B.
    pub(super) fn expected(&self, times: usize) -> Vec<f64> {
        self.c.iter().zip(self.product()).map(|(c, product)| c + times as f64 * product).collect()
    }
}

/// The numbers in a type.
pub(super) fn typed<T: Numeral>(numbers: &[f64]) -> Vec<T> {
    numbers.iter().map(|&number| T::of(number)).collect()
}

/// The elements as numbers.
pub(super) fn numbers<T: Numeral>(elements: Vec<T>) -> Vec<f64> {
    elements.into_iter().map(T::number).collect()
}

/// The transpose of a matrix of `rows`×`cols`.
pub(super) fn transposed(matrix: &[f64], rows: usize, cols: usize) -> Vec<f64> {
    (0..rows * cols).map(|i| matrix[i % rows * cols + i / rows]).collect()
}

/// Panics at the first element of a result with `cols` columns that differs.
#[track_caller]
pub(super) fn assert_same(what: &str, found: &[f64], expected: &[f64], cols: usize) {
    assert_eq!(found.len(), expected.len(), "{what}");
    if let Some(at) = (0..found.len()).find(|&at| found[at] != expected[at]) {
        let (row, col, found, expected) = (at / cols, at % cols, found[at], expected[at]);
        panic!("{what}: element ({row}, {col}): expected {expected}, found {found}");
    }
}

/// The first tile of a matrix in shared memory, visible to products.
pub(super) fn filled<'k, T: TensorElement, const H: usize, const W: usize, S: SharedSwizzle>(
    block: Block<'k>,
    from: &Gl<'k, T, Read>,
) -> Filled<St<'k, T, H, W, S>> {
    let k = block.kernel();
    let tile = k.shared_tile::<St<T, H, W, S>>().fill(from.tile(0, 0)).wait();
    k.fence_proxy_async(ProxySpace::Shared);
    block.sync();
    tile
}
