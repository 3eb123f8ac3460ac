//! Matrix instructions, with A on the left, B above, and C in the corner.

use super::error::DrawError;
use super::grid::{Cell, Picture, Table, Tint};
use super::thread_values::{Highlight, Owners};
use crate::atoms::{MmaAtom, MmaOperand, Source};
use crate::tensor::TiledMma;

impl Picture {
    /// Draws the owners of each element of A, B and C for a matrix instruction. In each cell, `T` is the lane, or the thread of a
    /// warpgroup, and `V` is the index of the thread's value, in register order.
    ///
    /// C is in the corner, with A to its left and B above it. B is drawn with k as rows and n as columns, so that the rows of A and the
    /// columns of B align with those of C. A sparse A is drawn as the uncompressed matrix. The table of an operand in shared memory is
    /// empty.
    ///
    /// # Errors
    /// Returns the same errors as [`Picture::of_thread_values`].
    pub fn of_mma(atom: &MmaAtom, highlight: Highlight) -> Result<Picture, DrawError> {
        let table = |operand| operand_table(atom, operand, highlight);
        let (a, b, c) = (table(MmaOperand::A)?, table(MmaOperand::B)?, table(MmaOperand::C)?);
        let mut title = atom.name().to_owned();
        if !atom.mnemonic().is_empty() {
            title = format!("{title}: {}", atom.mnemonic());
        }
        Ok(Picture { title, tables: vec![vec![None, Some(b)], vec![Some(a), Some(c)]], notes: Vec::new() })
    }
}

impl Picture {
    /// Draws the owners of each element of A, B and C for one tile of a tiled MMA, in the same arrangement as [`of_mma`](Self::of_mma).
    /// Each element of an operand in shared memory is owned by all threads of the instruction.
    ///
    /// # Errors
    /// Returns the same errors as [`Picture::of_thread_values`], and [`DrawError::Tensor`] if an operand has no valid (thread, value)
    /// layout.
    pub fn of_tiled_mma(mma: &TiledMma, highlight: Highlight) -> Result<Picture, DrawError> {
        let table = |operand: MmaOperand| {
            let map = mma.map(operand)?;
            let [rows, cols] = mma.operand_tile(operand);
            let owners = Owners::new(map.layout(), (rows, cols), highlight);
            let owners = if operand == MmaOperand::B { owners.transposed() } else { owners };
            Ok::<_, DrawError>(with_axes(owners.table(title(mma.atom(), operand, ""))?, operand))
        };
        let (a, b, c) = (table(MmaOperand::A)?, table(MmaOperand::B)?, table(MmaOperand::C)?);
        let [m, n, k] = mma.tile();
        let title = format!("{}, tile {m}×{n}×{k}, {} threads", mma.atom().name(), mma.threads());
        Ok(Picture { title, tables: vec![vec![None, Some(b)], vec![Some(a), Some(c)]], notes: Vec::new() })
    }
}

fn operand_table(atom: &MmaAtom, operand: MmaOperand, highlight: Highlight) -> Result<Table, DrawError> {
    let (rows, cols) = atom.operand_size(operand);
    let is_b = operand == MmaOperand::B;
    let table = if atom.source(operand) == Source::Shared {
        let size = if is_b { (cols, rows) } else { (rows, cols) };
        let plain = |_, _| Cell { lines: vec![], tint: Tint::Plain, alarm: false };
        Table::new(title(atom, operand, ", in shared memory"), (size.0 as usize, size.1 as usize), plain)?
    } else {
        let owners = Owners::new(atom.layout(operand), (rows.into(), cols.into()), highlight)
            .with_threads(atom.thread_ids());
        let owners = if is_b { owners.transposed() } else { owners };
        owners.table(title(atom, operand, ""))?
    };
    Ok(with_axes(table, operand))
}

fn title(atom: &MmaAtom, operand: MmaOperand, suffix: &str) -> String {
    format!("{operand:?}: {}{suffix}", atom.operand_type(operand))
}

fn with_axes(table: Table, operand: MmaOperand) -> Table {
    match operand {
        MmaOperand::A => table.with_axes("m", "k"),
        MmaOperand::B => table.with_axes("k", "n"),
        MmaOperand::C | MmaOperand::D => table.with_axes("m", "n"),
    }
}
