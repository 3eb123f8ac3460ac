//! The elements of a tile that a thread computes.

use crate::{
    kernels::MatrixOrder,
    ptx::{Builder, Val},
    tensor::Fragment,
};

/// The number of subtiles along k in a stage.
pub(super) const DEPTH: usize = 2;
/// The number of elements along k that a thread loads at a time.
pub(super) const STEP: usize = 2;
/// The number of lanes of a warp along m, and along n.
const LANES: [usize; 2] = [4, 8];
/// The number of adjacent rows or columns in each group that a thread computes, if adjacent rows or columns of the operand are contiguous
/// in memory.
const ADJACENT: usize = 4;

/// The rows or the columns of a tile of D, and their division among threads.
#[derive(Clone, Copy)]
struct Axis {
    /// The number of rows or columns per thread.
    count: usize,
    lanes: usize,
    warps: usize,
    /// Whether a thread computes groups of adjacent rows or columns. Otherwise, adjacent rows or columns belong to adjacent lanes.
    ///
    /// A thread loads vectors from a stage. If adjacent rows or columns of the operand are contiguous, a vector contains adjacent rows or
    /// columns; otherwise, it contains adjacent elements along k. In both cases, the vectors of a warp are in different banks.
    grouped: bool,
}

impl Axis {
    /// Divides `subtiles` subtiles among warps.
    const fn new(subtiles: usize, lanes: usize, warps: usize, grouped: bool) -> Self {
        Self { count: 16 * subtiles / (lanes * warps), lanes, warps, grouped }
    }

    /// Returns the distances between lanes and between warps.
    const fn strides(self) -> [usize; 2] {
        if self.grouped { [ADJACENT, self.lanes * self.count] } else { [1, self.lanes] }
    }

    /// Returns the shape and the strides of a thread's rows or columns, given the stride `unit` between adjacent rows or columns.
    fn own(self, unit: usize) -> [String; 2] {
        let Self { count, lanes, warps, grouped } = self;
        if grouped {
            let groups = count / ADJACENT;
            [format!("({ADJACENT},{groups})"), format!("({unit},{})", lanes * ADJACENT * unit)]
        } else {
            [count.to_string(), (lanes * warps * unit).to_string()]
        }
    }

    /// Returns the shape and the strides of a thread's elements in a stage of the operand, with elements numbered in column-major order.
    /// The last mode counts steps.
    fn of_stage(self) -> [String; 2] {
        let Self { count, lanes, warps, grouped } = self;
        let (deep, steps) = (16 * DEPTH, 16 * DEPTH / STEP);
        if grouped {
            let [shape, strides] = self.own(deep);
            [format!("({shape},{STEP},{steps})"), format!("({strides},1,{STEP})")]
        } else {
            let length = count * lanes * warps;
            let [shape, strides] = self.own(1);
            [format!("({STEP},{shape},{steps})"), format!("({length},{strides},{})", STEP * length)]
        }
    }

    /// Returns the distance, in a stage, between adjacent rows or columns of the operand.
    const fn unit(self) -> usize {
        if self.grouped { 16 * DEPTH } else { 1 }
    }

    /// Returns the element of `factors` for row or column `i` and index `step` along k. `factors` contains the elements of the operand that
    /// a thread has loaded.
    fn factor<T>(self, factors: &[T], i: usize, step: usize) -> &T {
        &factors[if self.grouped { self.count * step + i } else { STEP * i + step }]
    }
}

/// The elements of a tile of D that a thread computes.
#[derive(Clone, Copy)]
pub(super) struct Share {
    rows: Axis,
    cols: Axis,
}

impl Share {
    /// Returns the share of a thread in a tile of `height`×`width` subtiles, which `rows`×`cols` warps compute from operands in the orders
    /// `a` and `b`.
    pub(super) fn new(
        [height, width]: [usize; 2],
        [rows, cols]: [usize; 2],
        [a, b]: [MatrixOrder; 2],
    ) -> Self {
        Self {
            rows: Axis::new(height, LANES[0], rows, a == MatrixOrder::Col),
            cols: Axis::new(width, LANES[1], cols, b == MatrixOrder::Row),
        }
    }

    /// Returns the number of rows and the number of columns per thread.
    pub(super) const fn size(self) -> [usize; 2] {
        [self.rows.count, self.cols.count]
    }

    /// Returns the (thread, value) layouts of a stage of A, a stage of B and a tile of D, all with elements numbered in column-major order.
    /// The last mode of the values counts steps for A and B, and rows for D.
    pub(super) fn parts(self) -> [String; 3] {
        let Self { rows, cols } = self;
        let threads = format!("({},{},{},{})", cols.lanes, rows.lanes, rows.warps, cols.warps);
        let ([row_lane, row_warp], [col_lane, col_warp]) = (rows.strides(), cols.strides());
        let ([a_shape, a_strides], [b_shape, b_strides]) = (rows.of_stage(), cols.of_stage());
        let height = rows.count * rows.lanes * rows.warps;
        let ([rows_shape, rows_strides], [cols_shape, cols_strides]) = (rows.own(1), cols.own(height));
        let (a, b) = (rows.unit(), cols.unit());
        [
            format!("({threads},{a_shape}):((0,{},{},0),{a_strides})", a * row_lane, a * row_warp),
            format!("({threads},{b_shape}):(({},0,0,{}),{b_strides})", b * col_lane, b * col_warp),
            format!(
                "({threads},({cols_shape},{rows_shape})):(({},{row_lane},{row_warp},{}),({cols_strides},{rows_strides}))",
                height * col_lane,
                height * col_warp
            ),
        ]
    }

    /// Adds the products of a step of [`STEP`] elements along k.
    ///
    /// Sums are visited in 2×2 squares, along rows of squares in alternating directions. Each multiply-add shares a factor with the
    /// preceding multiply-add, so this factor is not read from the register file again.
    #[track_caller]
    pub(super) fn multiply<'k>(
        self,
        k: Builder<'k>,
        sums: &Fragment<'k, f32>,
        a: &[Val<'k, f32>],
        b: &[Val<'k, f32>],
    ) {
        let [rows, cols] = self.size();
        let [a, b] = [a, b].map(|factor| factor.iter().map(|x| x.in_register(k)).collect::<Vec<_>>());
        let sums: Vec<_> = sums.all_registers().chunks(cols).collect();
        for step in 0..STEP {
            for row in (0..rows).step_by(2) {
                for col in (0..cols).step_by(2) {
                    let col = if row % 4 == 0 { col } else { cols - 2 - col };
                    for (row, col) in [(row, col), (row + 1, col), (row + 1, col + 1), (row, col + 1)] {
                        let sum = sums[row][col];
                        let (a, b) = (self.rows.factor(&a, row, step), self.cols.factor(&b, col, step));
                        k.mad_of_registers::<f32>([sum, *a, *b, sum]);
                    }
                }
            }
        }
    }
}
