//! Compression of sparse matrices on the host.

use thiserror::Error;

use super::sparse::{SparseElement, sparsity};
use crate::{atoms::Sparsity, tensor::TensorElement};

/// A compressed sparse matrix.
///
/// Each row is divided into chunks of 4 elements (2 for tf32), and at least half of the elements of each chunk must be zero. This is known
/// as 2:4 sparsity (1:2 for tf32). Half of the elements of each chunk, including all nonzero elements, are stored.
///
/// ```
/// use warpwright::{prelude::*, tiles::SparseMatrix};
///
/// let dense = [0, 5, 7, 0, /* */ 3, 0, 0, 0];
/// let a = SparseMatrix::<i8>::compress(&dense, 1, 8)?;
/// assert_eq!(a.values, [5, 7, 3, 0]);
/// // The positions of stored elements in their chunks, 2 bits each: 1 and 2, then 0 and 1.
/// assert_eq!(a.metadata[0] & 0xff, 0b01_00_10_01);
///
/// let error = SparseMatrix::<i8>::compress(&[1, 2, 3, 0], 1, 4).unwrap_err();
/// assert_eq!(error.to_string(), "row 0, columns 0 to 3: expected at most 2 elements that are not 0, found 3");
/// # Ok::<(), warpwright::tiles::NotSparse>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SparseMatrix<T> {
    /// The stored elements, row by row, with `cols` / 2 elements per row.
    pub values: Vec<T>,
    /// The positions of the stored elements, row by row. Each row consists of whole words, which contain the [`Sparsity::code`] of each
    /// stored element, with the first element in the lowest bits. A word covers 16 columns of the matrix (8 for tf32).
    pub metadata: Vec<u16>,
    /// The number of rows.
    pub rows: usize,
    /// The number of columns of the matrix before compression.
    pub cols: usize,
}

/// The reason a matrix cannot be compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotSparse {
    /// The number of elements is not `rows` · `cols`.
    #[error("expected {expected} elements in {rows}×{cols}, found {found}")]
    Length {
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        cols: usize,
        /// The product of `rows` and `cols`.
        expected: usize,
        /// The number of elements in the slice.
        found: usize,
    },
    /// The number of columns is not a multiple of the chunk size.
    #[error("expected a multiple of {chunk} columns, found {found}")]
    Columns {
        /// The number of elements per chunk.
        chunk: usize,
        /// The number of columns.
        found: usize,
    },
    /// More than half of the elements of a chunk are nonzero.
    #[error(
        "row {row}, columns {first} to {last}: expected at most {max} elements that are not 0, found {found}"
    )]
    Dense {
        /// The index of the row.
        row: usize,
        /// The first column of the chunk.
        first: usize,
        /// The last column of the chunk.
        last: usize,
        /// The maximum number of nonzero elements: the number of stored elements per chunk.
        max: usize,
        /// The number of nonzero elements in the chunk.
        found: usize,
    },
}

/// The number of bits in a word of metadata.
pub(super) const WORD_BITS: u32 = 16;

/// The word of metadata for chunks of zeros: for every type, the first half of each chunk is stored.
pub(super) const ALL_ZERO: u16 = 0x4444;

/// Returns the number of columns that a word of metadata covers.
pub(super) fn columns_per_word(sparsity: &Sparsity) -> u32 {
    2 * WORD_BITS / sparsity.bits_per_unit()
}

impl<T: SparseElement> SparseMatrix<T> {
    /// Compresses a matrix of `rows`×`cols` elements in row-major order. −0 counts as zero; NaN does not.
    ///
    /// # Errors
    /// Returns [`NotSparse::Length`] or [`NotSparse::Columns`] if the size is not valid, or [`NotSparse::Dense`] for the first chunk in
    /// which more than half of the elements are nonzero.
    pub fn compress(dense: &[T], rows: usize, cols: usize) -> Result<Self, NotSparse> {
        let sparsity = sparsity::<T>();
        let chunk = sparsity.chunk() as usize;
        if rows.checked_mul(cols) != Some(dense.len()) {
            let expected = rows.saturating_mul(cols);
            return Err(NotSparse::Length { rows, cols, expected, found: dense.len() });
        }
        if !cols.is_multiple_of(chunk) {
            return Err(NotSparse::Columns { chunk, found: cols });
        }
        let per_row = cols.div_ceil(columns_per_word(sparsity) as usize);
        let mut matrix = Self {
            values: Vec::with_capacity(dense.len() / 2),
            metadata: vec![ALL_ZERO; rows * per_row],
            rows,
            cols,
        };
        for row in 0..rows {
            let metadata = &mut matrix.metadata[row * per_row..][..per_row];
            for first in (0..cols).step_by(chunk) {
                let elements = &dense[row * cols + first..][..chunk];
                let stored = stored(elements).map_err(|found| {
                    let (last, max) = (first + chunk - 1, chunk / 2);
                    NotSparse::Dense { row, first, last, max, found }
                })?;
                for (at, place) in (first / 2..).zip(stored) {
                    matrix.values.push(elements[place]);
                    write_code(metadata, sparsity, at, place);
                }
            }
        }
        Ok(matrix)
    }
}

/// Returns the positions of the stored elements of a chunk, in order: those of all nonzero elements and, if fewer than half of the elements
/// are nonzero, those of the first zeros. If more than half of the elements are nonzero, returns their number as an error.
fn stored<T: TensorElement>(chunk: &[T]) -> Result<Vec<usize>, usize> {
    let is_zero = |place: &usize| chunk[*place] == T::from_mem_bits(0);
    let (zero, mut stored): (Vec<usize>, Vec<usize>) = (0..chunk.len()).partition(is_zero);
    let free = (chunk.len() / 2).checked_sub(stored.len()).ok_or(stored.len())?;
    stored.extend(&zero[..free]);
    stored.sort_unstable();
    Ok(stored)
}

/// Writes `place`, the position of a stored element in its chunk, to the metadata of a row; `at` is the element's index among the row's
/// stored elements.
fn write_code(row: &mut [u16], sparsity: &Sparsity, at: usize, place: usize) {
    let bits = sparsity.bits_per_unit();
    let bit = at * bits as usize;
    let (word, shift) = (&mut row[bit / WORD_BITS as usize], bit as u32 % WORD_BITS);
    *word &= !(((1u16 << bits) - 1) << shift);
    *word |= (sparsity.code(place as u32) as u16) << shift;
}
