//! Copy instructions: the elements that each thread provides and receives.

use super::error::DrawError;
use super::grid::{Picture, Table};
use super::thread_values::{Highlight, Owners};
use crate::atoms::{CopyAtom, CopyKind, CopySide};
use crate::layout::TvLayout;
use crate::tensor::TiledCopy;

/// The number of bits per row of an 8×8 matrix of 16-bit elements.
const ROW_BITS: i64 = 128;

impl Picture {
    /// Draws the elements that each thread provides and receives in a copy. In a cell, `T` is the thread, and `V` is the index of the
    /// thread's value. Corresponding cells of the two tables represent the same element.
    ///
    /// Each cell is an element of `bits` bits, which should divide [`unit_bits`](CopyAtom::unit_bits) (see
    /// [`value_layout`](CopyAtom::value_layout)). If `bits` is `None`, the size of an element is its size in registers (8 or 16 bits) for
    /// `ldmatrix`, `stmatrix` and `movmatrix`, and `unit_bits`, limited to 32, for other copies. A row of a table represents 128 bits, or
    /// fewer if the copy moves fewer bits.
    ///
    /// # Errors
    /// Returns the same errors as [`Picture::of_thread_values`], and [`DrawError::Layout`] if `value_layout` returns an error.
    pub fn of_copy(atom: &CopyAtom, bits: Option<u32>, highlight: Highlight) -> Result<Picture, DrawError> {
        let bits = bits.unwrap_or(match atom.kind() {
            CopyKind::LdMatrix(matrices) | CopyKind::StMatrix(matrices) => matrices.element_bits,
            CopyKind::MovMatrix => 16,
            _ => atom.unit_bits().min(32),
        });
        let side = |side, title| side_table(atom, side, bits, title, highlight);
        let source = side(CopySide::Source, "source")?;
        let destination = side(CopySide::Destination, "destination")?;
        let mut title = atom.name().to_owned();
        if !atom.mnemonic().is_empty() {
            title = format!("{title}: {}", atom.mnemonic());
        }
        let notes = vec![format!("elements of {bits} bits")];
        Ok(Picture { title, tables: vec![vec![Some(source), Some(destination)]], notes })
    }
}

impl Picture {
    /// Draws the elements that each thread reads and writes in a tiled copy. Corresponding cells of the two tables represent the same
    /// element.
    ///
    /// # Errors
    /// Returns the same errors as [`Picture::of_thread_values`], and [`DrawError::Tensor`] if the source or destination has no valid
    /// (thread, value) layout.
    pub fn of_tiled_copy(copy: &TiledCopy, highlight: Highlight) -> Result<Picture, DrawError> {
        let table = |side: TvLayout, title: &str| {
            Owners::new(side.layout(), (side.rows(), side.cols()), highlight).table(title)
        };
        let source = table(copy.source()?, "source")?;
        let destination = table(copy.destination()?, "destination")?;
        let (name, tv) = (copy.atom().name(), copy.layout_tv());
        let title = format!("{name}, tile {}, {} threads: {tv}", copy.tile(), copy.threads());
        Ok(Picture { title, tables: vec![vec![Some(source), Some(destination)]], notes: Vec::new() })
    }
}

fn side_table(
    atom: &CopyAtom,
    side: CopySide,
    bits: u32,
    title: &str,
    highlight: Highlight,
) -> Result<Table, DrawError> {
    let layout = atom.value_layout(side, bits)?;
    let total = atom.reference().cosize() / i64::from(bits);
    let cols = (ROW_BITS / i64::from(bits)).clamp(1, total.max(1));
    let rows = total / cols;
    // Elements are numbered along rows first.
    Owners::new(&layout, (cols, rows), highlight).with_threads(atom.thread_ids()).transposed().table(title)
}
