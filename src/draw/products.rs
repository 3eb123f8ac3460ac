//! Matrix instructions: A at the left, B on top, C in the corner.

use super::error::DrawError;
use super::grid::{Cell, Picture, Table, Tint};
use super::thread_values::{Highlight, Owners};
use crate::atoms::{MmaAtom, MmaOperand, Source};

impl Picture {
    /// Which thread holds which element of A, B and C of a matrix instruction: `T` the lane, `V` its value, in register order.
    ///
    /// C is in the corner, A at its left with the same rows, B on top with the same columns (so B's table has rows k and
    /// columns n). Of a sparse A it is the uncompressed matrix. An operand that is read from shared memory has an empty table.
    ///
    /// # Errors
    /// As [`Picture::of_thread_values`].
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

fn operand_table(atom: &MmaAtom, operand: MmaOperand, highlight: Highlight) -> Result<Table, DrawError> {
    let (rows, cols) = atom.operand_size(operand);
    let title = |suffix: &str| format!("{operand:?}: {}{suffix}", atom.operand_type(operand));
    let is_b = operand == MmaOperand::B;
    let table = if atom.source(operand) == Source::Shared {
        let size = if is_b { (cols, rows) } else { (rows, cols) };
        let plain = |_, _| Cell { lines: vec![], tint: Tint::Plain, alarm: false };
        Table::new(title(", in shared memory"), (size.0 as usize, size.1 as usize), plain)?
    } else {
        let owners =
            Owners::new(atom.layout(operand), (rows, cols), highlight).with_threads(atom.thread_ids());
        let owners = if is_b { owners.transposed() } else { owners };
        owners.table(title(""))?
    };
    Ok(match operand {
        MmaOperand::A => table.with_axes("m", "k"),
        MmaOperand::B => table.with_axes("k", "n"),
        MmaOperand::C | MmaOperand::D => table.with_axes("m", "n"),
    })
}
