//! Arrays in `.npy` files, as bytes.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read};
use std::path::Path;

use npyz::{AutoSerialize, NpyHeader, Order, Serialize, WriterBuilder};

use super::dtype::DType;
use crate::Error;

/// Reads the elements of a file, which must have the shape `shape` and the type `dtype`, as little-endian bytes in row-major order.
pub(super) fn read(path: &Path, dtype: DType, shape: &[u64]) -> Result<Vec<u8>, Error> {
    let bad = |problem: String| Error::of(path.display(), problem);
    let mut file = BufReader::new(File::open(path).map_err(|e| bad(e.to_string()))?);
    let header = NpyHeader::from_reader(&mut file).map_err(|e| bad(e.to_string()))?;
    if header.shape() != shape {
        return Err(bad(format!("expected the shape {shape:?}, found {:?}", header.shape())));
    }
    if header.order() == Order::Fortran && shape.len() > 1 {
        return Err(bad("expected row-major order, found column-major".into()));
    }
    let found = header.dtype().descr();
    if !is_stored_as(dtype, &found) {
        return Err(bad(format!("expected little-endian elements of {}, found {found}", dtype.name())));
    }
    let expected = shape.iter().product::<u64>() as usize * dtype.bytes();
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(expected).map_err(|e| bad(e.to_string()))?;
    file.take(expected as u64).read_to_end(&mut bytes).map_err(|e| bad(e.to_string()))?;
    if bytes.len() != expected {
        return Err(bad(format!("expected {expected} bytes of elements, found {}", bytes.len())));
    }
    Ok(bytes)
}

/// Returns whether files may store elements of `dtype` as `found`, such as `'<f4'`. NumPy has no bf16.
fn is_stored_as(dtype: DType, found: &str) -> bool {
    let kinds: &[char] = match dtype {
        DType::U8 | DType::U16 | DType::U32 | DType::U64 => &['u'],
        DType::S8 | DType::S16 | DType::S32 | DType::S64 => &['i'],
        DType::F16 | DType::F32 | DType::F64 => &['f'],
        DType::Bf16 => &['u', 'V'],
    };
    let found = found.trim_matches('\'').trim_start_matches(['<', '|']);
    kinds.iter().any(|kind| found == format!("{kind}{}", dtype.bytes()))
}

/// Writes little-endian, row-major elements.
pub(super) fn write(path: &Path, dtype: DType, shape: &[u64], bytes: &[u8]) -> Result<(), Error> {
    let written = match dtype {
        DType::U8 => elements(path, shape, bytes, u8::from_le_bytes),
        DType::S8 => elements(path, shape, bytes, i8::from_le_bytes),
        DType::U16 | DType::Bf16 => elements(path, shape, bytes, u16::from_le_bytes),
        DType::S16 => elements(path, shape, bytes, i16::from_le_bytes),
        DType::U32 => elements(path, shape, bytes, u32::from_le_bytes),
        DType::S32 => elements(path, shape, bytes, i32::from_le_bytes),
        DType::U64 => elements(path, shape, bytes, u64::from_le_bytes),
        DType::S64 => elements(path, shape, bytes, i64::from_le_bytes),
        DType::F16 => elements(path, shape, bytes, half::f16::from_le_bytes),
        DType::F32 => elements(path, shape, bytes, f32::from_le_bytes),
        DType::F64 => elements(path, shape, bytes, f64::from_le_bytes),
    };
    written.map_err(|e| Error::of(path.display(), e))
}

fn elements<T: Serialize + AutoSerialize, const N: usize>(
    path: &Path,
    shape: &[u64],
    bytes: &[u8],
    of: fn([u8; N]) -> T,
) -> std::io::Result<()> {
    let file = BufWriter::new(File::create(path)?);
    let mut writer = npyz::WriteOptions::new().default_dtype().shape(shape).writer(file).begin_nd()?;
    let (chunks, _) = bytes.as_chunks::<N>();
    writer.extend(chunks.iter().map(|chunk| of(*chunk)))?;
    writer.finish()
}
