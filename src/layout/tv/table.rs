//! The owners of a tile as a table.

use std::fmt;

use super::{Owner, TvLayout};

/// The names of a register's slots, as in CUDA's vector types.
const SLOTS: [char; 4] = ['x', 'y', 'z', 'w'];

impl TvLayout {
    fn cell(&self, index: i64) -> String {
        match (self.first_owner(index), self.per_register) {
            (None, _) => "-".to_owned(),
            (Some(Owner { thread, value, .. }), 1) => format!("T{thread}V{value}"),
            (Some(Owner { thread, register, slot, .. }), 2..=4) => {
                format!("{thread}.{register}{}", SLOTS[slot as usize])
            }
            (Some(Owner { thread, register, slot, .. }), _) => format!("{thread}.{register}.{slot}"),
        }
    }
}

/// Prints the first owner of each element. Rows correspond to mode 0 of the tile, and columns to the remaining modes. `T3V1` is value 1 of
/// thread 3. If several values share a register, `3.1x` is slot 0 of register 1 of thread 3, and `y`, `z` and `w` are slots 1, 2 and 3;
/// with more than four values per register, the slot is a number.
impl fmt::Display for TvLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} onto {}", self.name, self.layout, self.shape)?;
        let (rows, cols) = (self.rows(), self.cols());
        let cells: Vec<String> = (0..rows * cols).map(|index| self.cell(index)).collect();
        let width = cells.iter().map(String::len).max().unwrap_or(1);
        let margin = rows.to_string().len().max(3);
        write!(f, "{:>margin$}", "r\\c")?;
        for col in 0..cols {
            write!(f, " {col:>width$}")?;
        }
        for row in 0..rows {
            write!(f, "\n{row:>margin$}")?;
            for col in 0..cols {
                write!(f, " {:>width$}", cells[(row + col * rows) as usize])?;
            }
        }
        Ok(())
    }
}
