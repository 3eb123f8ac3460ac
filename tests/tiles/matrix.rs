//! Matrices on the host: the references of operations on tiles.

/// A matrix of f64 by rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Matrix {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) elements: Vec<f64>,
}

impl Matrix {
    pub(super) fn from_fn(rows: usize, cols: usize, f: impl Fn(usize, usize) -> f64) -> Self {
        let elements = (0..rows * cols).map(|at| f(at / cols, at % cols)).collect();
        Self { rows, cols, elements }
    }

    pub(super) fn at(&self, row: usize, col: usize) -> f64 {
        self.elements[row * self.cols + col]
    }

    pub(super) fn row(&self, row: usize) -> impl Iterator<Item = f64> + '_ {
        (0..self.cols).map(move |col| self.at(row, col))
    }

    pub(super) fn col(&self, col: usize) -> impl Iterator<Item = f64> + '_ {
        (0..self.rows).map(move |row| self.at(row, col))
    }

    pub(super) fn map(&self, f: impl Fn(usize, usize, f64) -> f64) -> Self {
        Self::from_fn(self.rows, self.cols, |row, col| f(row, col, self.at(row, col)))
    }

    /// A matrix of the same size with one number everywhere.
    pub(super) fn full(&self, number: f64) -> Self {
        self.map(|_, _, _| number)
    }

    /// A matrix of the same size with one number for each row.
    pub(super) fn per_row(&self, number: impl Fn(usize) -> f64) -> Self {
        let numbers: Vec<f64> = (0..self.rows).map(number).collect();
        self.map(|row, _, _| numbers[row])
    }

    /// A matrix of the same size with one number for each column.
    pub(super) fn per_col(&self, number: impl Fn(usize) -> f64) -> Self {
        let numbers: Vec<f64> = (0..self.cols).map(number).collect();
        self.map(|_, col, _| numbers[col])
    }
}

/// A line's reduction on the host.
pub(super) type Reduce = fn(&mut dyn Iterator<Item = f64>) -> f64;

pub(super) const SUM: Reduce = |line| line.sum();
pub(super) const MAX: Reduce = |line| line.fold(f64::NEG_INFINITY, f64::max);
pub(super) const MIN: Reduce = |line| line.fold(f64::INFINITY, f64::min);

pub(super) fn rows_reduced(x: &Matrix, f: Reduce) -> Matrix {
    x.per_row(|row| f(&mut x.row(row)))
}

pub(super) fn cols_reduced(x: &Matrix, f: Reduce) -> Matrix {
    x.per_col(|col| f(&mut x.col(col)))
}

/// The first index of the largest element.
pub(super) fn argmax(line: impl Iterator<Item = f64>) -> f64 {
    let first =
        |(best, at): (f64, usize), (index, x): (usize, f64)| if x > best { (x, index) } else { (best, at) };
    line.enumerate().fold((f64::NEG_INFINITY, 0), first).1 as f64
}

/// The first index of the smallest element.
pub(super) fn argmin(line: impl Iterator<Item = f64>) -> f64 {
    argmax(line.map(|x| -x))
}
