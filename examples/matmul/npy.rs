//! Matrices in NumPy's `.npy` files.

use std::{fs, io, path::Path};

use npyz::{NpyFile, Order, WriterBuilder};
use warpwright::ptx::f16;

/// A matrix in memory, row after row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) values: Vec<f32>,
}

/// Reads a file; the error is a line that begins with its name.
pub(crate) fn read(path: &Path) -> Result<Matrix, String> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|why| format!("{name} cannot be read: {why}"))?;
    parse(&name, &bytes)
}

/// Reads a file's bytes.
pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Matrix, String> {
    let file = NpyFile::new(bytes).map_err(|why| format!("{name} is no .npy file: {}", one_line(&why)))?;
    let shape = file.shape().to_vec();
    let &[rows, cols] = shape.as_slice() else {
        let found = shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×");
        let rank = shape.len();
        return Err(format!("{name} has {rank} dimensions ({found}): a matrix with 2 is wanted"));
    };
    let too_large = || format!("{name} is {rows}×{cols}: at most 2^32 − 1 rows and columns are possible");
    let (rows, cols) =
        (u32::try_from(rows).map_err(|_| too_large())?, u32::try_from(cols).map_err(|_| too_large())?);
    let order = file.order();
    let stored = floats(name, file)?;
    let (wanted, found) = (u64::from(rows) * u64::from(cols), stored.len());
    if found as u64 != wanted {
        return Err(format!("{name} holds {found} values: {rows}×{cols} need {wanted}"));
    }
    let values = match order {
        Order::C => stored,
        Order::Fortran => transposed(&stored, rows as usize, cols as usize),
    };
    Ok(Matrix { rows, cols, values })
}

fn floats(name: &str, file: NpyFile<&[u8]>) -> Result<Vec<f32>, String> {
    let broken = |why: io::Error| format!("{name} ends too early or is damaged: {}", one_line(&why));
    let file = match file.try_data::<f32>() {
        Ok(data) => return data.collect::<Result<_, _>>().map_err(broken),
        Err(file) => file,
    };
    match file.try_data::<f16>() {
        Ok(data) => data.map(|x| x.map(f16::to_f32)).collect::<Result<_, _>>().map_err(broken),
        Err(file) => {
            let found = file.dtype().descr();
            Err(format!(
                "{name} has elements of type {}: f32 ('<f4') or f16 ('<f2') is wanted",
                one_line(&found)
            ))
        }
    }
}

/// From column after column to row after row.
fn transposed(stored: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|i| stored[i % cols * rows + i / cols]).collect()
}

/// Writes a matrix of f32.
pub(crate) fn write(path: &Path, matrix: &Matrix) -> io::Result<()> {
    let mut bytes = Vec::new();
    let shape = [matrix.rows.into(), matrix.cols.into()];
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(&shape).writer(&mut bytes).begin_nd()?;
    writer.extend(matrix.values.iter().copied())?;
    writer.finish()?;
    fs::write(path, bytes)
}

fn one_line(text: &impl ToString) -> String {
    text.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}
