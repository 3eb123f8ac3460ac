//! Matrices in NumPy's `.npy` files (NumPy reference, "numpy.lib.format").

use std::{fs, io, path::Path};

use warpwright::ptx::f16;

/// A row-major matrix in memory.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matrix {
    pub(crate) rows: u32,
    pub(crate) cols: u32,
    pub(crate) values: Vec<f32>,
}

/// Reads a file; the error is one line that starts with its name.
pub(crate) fn read(path: &Path) -> Result<Matrix, String> {
    let name = path.display().to_string();
    let bytes = fs::read(path).map_err(|why| format!("{name} cannot be read: {why}"))?;
    parse(&name, &bytes)
}

/// Parses the bytes of a file.
pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Matrix, String> {
    let (header, data) =
        header(bytes).map_err(|problem| format!("{name} is not a valid .npy file: {problem}"))?;
    let &[rows, cols] = header.shape.as_slice() else {
        let found = header.shape.iter().map(u64::to_string).collect::<Vec<_>>().join("×");
        let rank = header.shape.len();
        return Err(format!("{name}: expected a matrix of 2 dimensions, found {rank} ({found})"));
    };
    let too_large = || format!("{name}: expected at most 2^32 − 1 rows and columns, found {rows}×{cols}");
    let (rows, cols) =
        (u32::try_from(rows).map_err(|_| too_large())?, u32::try_from(cols).map_err(|_| too_large())?);
    let stored = floats(name, header.descr, data)?;
    let (expected, found) = (u64::from(rows) * u64::from(cols), stored.len());
    if found as u64 != expected {
        return Err(format!("{name}: expected {expected} values for {rows}×{cols}, found {found}"));
    }
    let values =
        if header.fortran_order { transposed(&stored, rows as usize, cols as usize) } else { stored };
    Ok(Matrix { rows, cols, values })
}

/// The header of a file.
struct Header<'f> {
    /// The type of the elements, as a Python literal.
    descr: &'f str,
    fortran_order: bool,
    shape: Vec<u64>,
}

/// Returns the header and the data; the error describes what is wrong with the header.
fn header(bytes: &[u8]) -> Result<(Header<'_>, &[u8]), &'static str> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("expected the magic bytes \\x93NUMPY")?;
    let (len, rest) = match rest {
        [1, _, a, b, rest @ ..] => (usize::from(u16::from_le_bytes([*a, *b])), rest),
        [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
        _ => return Err("expected version 1, 2 or 3 of the format"),
    };
    let (text, data) = rest.split_at_checked(len).ok_or("the header is cut off")?;
    let text = str::from_utf8(text).map_err(|_| "the header is not UTF-8")?;
    let value = |key: &str| Some(text.split_once(key)?.1.trim_start().strip_prefix(':')?.trim_start());
    let read = || {
        let descr = value("'descr'")?;
        let end = match descr.strip_prefix('\'') {
            Some(rest) => rest.find('\'')? + 2,
            None => descr.find(']')? + 1,
        };
        let (shape, _) = value("'shape'")?.strip_prefix('(')?.split_once(')')?;
        let extents = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
        Some(Header {
            descr: &descr[..end],
            fortran_order: value("'fortran_order'")?.starts_with("True"),
            shape: extents.map(|extent| extent.parse().ok()).collect::<Option<_>>()?,
        })
    };
    Ok((read().ok_or("expected 'descr', 'fortran_order' and 'shape' in the header")?, data))
}

fn floats(name: &str, descr: &str, data: &[u8]) -> Result<Vec<f32>, String> {
    let size = match descr {
        "'<f4'" => 4,
        "'<f2'" => 2,
        _ => return Err(format!("{name}: expected elements of f32 ('<f4') or f16 ('<f2'), found {descr}")),
    };
    if !data.len().is_multiple_of(size) {
        return Err(format!("{name} ends in the middle of an element"));
    }
    Ok(match size {
        4 => data.chunks_exact(4).map(|x| f32::from_le_bytes([x[0], x[1], x[2], x[3]])).collect(),
        _ => data.chunks_exact(2).map(|x| f16::from_le_bytes([x[0], x[1]]).to_f32()).collect(),
    })
}

/// Converts column-major to row-major order.
fn transposed(stored: &[f32], rows: usize, cols: usize) -> Vec<f32> {
    (0..rows * cols).map(|i| stored[i % cols * rows + i / cols]).collect()
}

/// Writes a matrix of f32.
pub(crate) fn write(path: &Path, matrix: &Matrix) -> io::Result<()> {
    let (rows, cols) = (matrix.rows, matrix.cols);
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {cols}), }}");
    // The data start at a multiple of 64 bytes, after a line feed.
    let len = (10 + header.len() + 1).next_multiple_of(64) - 10;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((len as u16).to_le_bytes());
    bytes.extend(format!("{header:<0$}\n", len - 1).bytes());
    bytes.extend(matrix.values.iter().flat_map(|x| x.to_le_bytes()));
    fs::write(path, bytes)
}
