//! Copy instructions: what each thread gives and what it gets.

use super::error::DrawError;
use super::grid::{Picture, Table};
use super::thread_values::{Highlight, Owners};
use crate::atoms::{CopyAtom, CopyKind, CopySide};
use crate::layout::TvLayout;
use crate::tensor::TiledCopy;

/// Bits of a row of an 8×8 matrix of 16-bit elements.
const ROW_BITS: i64 = 128;

impl Picture {
    /// What each thread gives and gets: `T` the thread, `V` its value, the same data at the same place of both tables.
    ///
    /// Cells are elements of `bits` bits; without a wish, of the 16 (or 8) bits of a matrix instruction, and of 32 bits or what
    /// stays together otherwise. Rows are 128 bits: a row of an 8×8 matrix.
    ///
    /// # Errors
    /// As [`Picture::of_thread_values`]; [`DrawError::Layout`] if threads hold parts of such elements.
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
    /// What each thread reads and writes of a tile in a tiled copy: the same element at the same place of both tables.
    ///
    /// # Errors
    /// As [`Picture::of_thread_values`]; [`DrawError::Tensor`] if a side has no map.
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
    // Elements count along a row first.
    Owners::new(&layout, (cols, rows), highlight).with_threads(atom.thread_ids()).transposed().table(title)
}
