//! Records a launch as a case that `warpwright sim` runs.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use serde_json::{Value as Json, json};

use super::{
    argument::{Kind, Number, Value},
    buffer::Store,
    device::{Device, Request, other_device},
    error::RunError,
    plan::Seen,
    tensor_map::{PixelColumn, TensorBox},
};
use crate::ptx::{ParamDecl, SwizzleMode};

/// An error that occurs when [`Device::record_case`](super::Device::record_case) records a launch.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The launch is not valid, or a buffer could not be read.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A file could not be written, or the folder could not be created.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// An argument is a tensor map that the application has encoded, so its tensor is not known.
    #[cfg(feature = "cuda")]
    #[error(
        "parameter `{parameter}`: expected a `TensorBox` in a buffer, found an `UncheckedMap`, which cannot be recorded"
    )]
    UncheckedMap {
        /// The name of the parameter.
        parameter: String,
    },
}

/// Writes `case.json`, `kernel.ptx` and one `in_NAME.npy` per buffer into `dir`.
pub(super) fn record(
    device: &(impl Device + ?Sized),
    request: &Request<'_, '_>,
    dir: &Path,
) -> Result<(), RecordError> {
    let Request { entry, text, plan, args } = request;
    fs::create_dir_all(dir).map_err(|source| RecordError::Write { path: dir.to_path_buf(), source })?;
    let mut arguments = Vec::with_capacity(args.len() + entry.maps.len());
    let mut mapped = Vec::new();
    for (param, Value(value)) in entry.params.iter().zip(args) {
        let buffer = |store, elements, out| buffer(device, dir, param, store, elements, out);
        match value {
            Kind::Number(number) => arguments.push(scalar(param, number)),
            Kind::Empty => arguments.push(json!({"kind": "scalar", "dtype": "u64", "value": 0})),
            Kind::Read(store, elements) => arguments.push(buffer(store, *elements, false)?),
            Kind::Write(store, elements) => arguments.push(buffer(store, *elements, true)?),
            Kind::Mapped(of, tensor) => {
                let (Some(store), Seen::Buffer { elements, .. }) = (of.store(), of.seen()) else {
                    return Err(other_device(entry, arguments.len(), device.name()).into());
                };
                mapped.push(buffer(store, elements as usize, param.kind.is_written())?);
                arguments.push(tensor_map(param, tensor));
            }
            #[cfg(feature = "cuda")]
            Kind::UncheckedMap(_) => return Err(RecordError::UncheckedMap { parameter: param.name.clone() }),
            #[cfg(feature = "cuda")]
            Kind::ReadSlice(..) | Kind::WriteSlice(..) => {
                return Err(other_device(entry, arguments.len(), device.name()).into());
            }
        }
    }
    for (index, map) in entry.maps.iter().enumerate() {
        let tensor = plan.maps.get(index).filter(|map| !map.is_empty).map(|map| map.tensor());
        arguments.push(match tensor {
            Some(tensor) => tensor_map(&entry.params[map.parameter], &tensor),
            // A tensor without elements has no map, and a case, unlike a launch, has no memory to use in its place.
            None => json!({"kind": "struct", "size": 128, "fields": []}),
        });
    }
    let case = json!({
        "ptx": "kernel.ptx",
        "entry": entry.name,
        "grid": plan.grid,
        "block": plan.block,
        "dynamic_shared_bytes": plan.dynamic_shared_bytes,
        "args": arguments,
        "extra_buffers": mapped,
    });
    write_file(&dir.join("kernel.ptx"), |out| out.write_all(text.as_bytes()))?;
    write_file(&dir.join("case.json"), |out| writeln!(out, "{case:#}"))
}

/// Writes the contents of a parameter's buffer into `dir`, and returns its entry in `case.json`.
fn buffer(
    device: &(impl Device + ?Sized),
    dir: &Path,
    param: &ParamDecl,
    store: &Store,
    elements: usize,
    out: bool,
) -> Result<Json, RecordError> {
    let bytes = device.read(store, elements * param.element_bytes as usize)?;
    let dtype = dtype(param);
    let file = format!("in_{}.npy", param.name);
    write_file(&dir.join(&file), |out| write_npy(out, dtype, elements, &bytes))?;
    Ok(json!({
        "kind": "buffer", "name": param.name, "dtype": dtype, "shape": [elements], "init": "file", "file": file, "out": out,
    }))
}

/// Returns, as JSON, the map of a tensor in a parameter's buffer.
fn tensor_map(param: &ParamDecl, tensor: &TensorBox) -> Json {
    let swizzle = match tensor.swizzle {
        SwizzleMode::None => "none",
        SwizzleMode::B32 => "32B",
        SwizzleMode::B64 => "64B",
        SwizzleMode::B128 => "128B",
    };
    let mut map = json!({
        "kind": "tensormap",
        "of": param.name,
        "dims": tensor.dims,
        // The launch was checked, so the strides fit in 64 bits.
        "strides_bytes": tensor.strides.iter().map(|stride| stride.saturating_mul(param.element_bytes.into())).collect::<Vec<_>>(),
        "box": tensor.box_dims,
        "element_strides": tensor.element_strides,
        "swizzle": swizzle,
        "oob_fill": if tensor.nan_fill { "nan" } else { "none" },
    });
    if let Some(PixelColumn { lower_corner, upper_corner, pixels }) = &tensor.column {
        map["im2col"] = json!({"lower_corner": lower_corner, "upper_corner": upper_corner, "pixels": pixels});
    }
    map
}

/// Returns the element type as `case.json` names it: packed pairs and raw bits are unsigned integers.
fn dtype(param: &ParamDecl) -> &'static str {
    match (param.element, param.element_bytes) {
        ("f16", _) => "f16",
        ("bf16", _) => "bf16",
        ("f32" | "tf32", _) => "f32",
        ("f64", _) => "f64",
        ("i8", _) => "s8",
        ("i16", _) => "s16",
        ("i32", _) => "s32",
        ("i64", _) => "s64",
        (_, 1) => "u8",
        (_, 2) => "u16",
        (_, 4) => "u32",
        _ => "u64",
    }
}

/// Returns a number as JSON. A float is recorded as a hexadecimal string of its bits, because JSON has no NaN, and decimal text would lose
/// the sign and payload of a NaN.
fn scalar(param: &ParamDecl, number: &Number) -> Json {
    let (dtype, value) = match number.integer {
        Some(n) => (dtype(param), i64::try_from(n).map_or_else(|_| json!(number.bits), |n| json!(n))),
        None => (param.element, json!(format!("{:#x}", number.bits))),
    };
    json!({"kind": "scalar", "dtype": dtype, "value": value})
}

fn write_file(
    path: &Path,
    contents: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), RecordError> {
    let write = || {
        let mut out = BufWriter::new(File::create(path)?);
        contents(&mut out)?;
        out.flush()
    };
    write().map_err(|source| RecordError::Write { path: path.to_path_buf(), source })
}

/// Writes an array of little-endian elements in NumPy's format (NumPy reference, "numpy.lib.format"). NumPy has no bf16 type, so bf16
/// elements are stored as `u16`.
fn write_npy(out: &mut impl Write, dtype: &str, elements: usize, bytes: &[u8]) -> io::Result<()> {
    let descr = match dtype {
        "u8" => "|u1",
        "s8" => "|i1",
        "s16" => "<i2",
        "u16" | "bf16" => "<u2",
        "f16" => "<f2",
        "s32" => "<i4",
        "u32" => "<u4",
        "f32" => "<f4",
        "s64" => "<i8",
        "f64" => "<f8",
        _ => "<u8",
    };
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({elements},), }}");
    // The data starts at a multiple of 64 bytes, after a line feed.
    let len = (10 + header.len() + 1).next_multiple_of(64) - 10;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(len as u16).to_le_bytes())?;
    writeln!(out, "{header:<0$}", len - 1)?;
    out.write_all(bytes)
}
