//! The tensor maps of a case.

use serde_json::Value as Json;

use super::case::{PixelColumn, TensorMap};
use super::dtype::DType;
use warpwright_sim::{Im2colMap, TensorSwizzle, TensorType};

/// Encodes a map over the buffer at `address` with elements of `dtype`.
pub(super) fn encode(map: &TensorMap, address: u64, dtype: DType) -> Result<Vec<u8>, String> {
    if !matches!(word(&map.interleave, "interleave").as_str(), "" | "none" | "0") {
        return Err(format!("expected `interleave` none, found {}", map.interleave));
    }
    let ty = match &map.dtype {
        Some(name) => element(name)?,
        None => element_of(dtype)?,
    };
    // Names, or the numeric values of the driver's header.
    let swizzle = match word(&map.swizzle, "swizzle").as_str() {
        "" | "none" | "0" => TensorSwizzle::None,
        "1" | "32" | "32b" => TensorSwizzle::B32,
        "2" | "64" | "64b" => TensorSwizzle::B64,
        "3" | "128" | "128b" => TensorSwizzle::B128,
        _ => return Err(format!("expected `swizzle` none, 32B, 64B or 128B, found {}", map.swizzle)),
    };
    let nan_fill = match word(&map.oob_fill, "float_oob_fill").as_str() {
        "" | "none" | "zero" | "zeros" | "false" | "0" => false,
        "nan" | "nan_request_zero_fma" | "true" | "1" => true,
        _ => return Err(format!("expected `oob_fill` none or nan, found {}", map.oob_fill)),
    };
    let tiled = warpwright_sim::TensorMap {
        ty,
        address,
        dims: map.dims.clone(),
        strides: map.strides_bytes.clone(),
        tile: map.tile.clone(),
        element_strides: map.element_strides.clone().unwrap_or_else(|| vec![1; map.dims.len()]),
        swizzle,
        nan_fill,
    };
    let bytes = match map.im2col.clone() {
        None => tiled.encode(),
        Some(PixelColumn { lower_corner, upper_corner, pixels }) => {
            Im2colMap::of(tiled, lower_corner, upper_corner, pixels).and_then(|map| map.encode())
        }
    };
    bytes.map(|bytes| bytes.to_vec()).map_err(|e| e.to_string())
}

/// Returns the word in lowercase, without the prefix of the driver's header: `CU_TENSOR_MAP_SWIZZLE_128B` becomes `128b`.
fn word(json: &Json, subject: &str) -> String {
    let text = match json {
        Json::Null => String::new(),
        Json::String(text) => text.to_lowercase(),
        other => other.to_string(),
    };
    let text = text.strip_prefix("cu_tensor_map_").unwrap_or(&text);
    text.strip_prefix(&format!("{subject}_")).unwrap_or(text).to_string()
}

fn element(name: &str) -> Result<TensorType, String> {
    Ok(match word(&Json::from(name), "data_type").as_str() {
        "u8" | "uint8" | "s8" | "int8" => TensorType::U8,
        "u16" | "uint16" | "s16" | "int16" => TensorType::U16,
        "u32" | "uint32" => TensorType::U32,
        "s32" | "int32" => TensorType::S32,
        "u64" | "uint64" => TensorType::U64,
        "s64" | "int64" => TensorType::S64,
        "f16" | "float16" => TensorType::F16,
        "bf16" | "bfloat16" => TensorType::Bf16,
        "f32" | "float32" => TensorType::F32,
        "f64" | "float64" => TensorType::F64,
        "float32_ftz" => TensorType::F32Ftz,
        "tf32" | "tfloat32" => TensorType::Tf32,
        "tfloat32_ftz" => TensorType::Tf32Ftz,
        _ => return Err(format!("expected an element type of tensor maps, found `{name}`")),
    })
}

fn element_of(dtype: DType) -> Result<TensorType, String> {
    Ok(match dtype {
        DType::U8 | DType::S8 => TensorType::U8,
        DType::U16 | DType::S16 => TensorType::U16,
        DType::U32 => TensorType::U32,
        DType::S32 => TensorType::S32,
        DType::U64 => TensorType::U64,
        DType::S64 => TensorType::S64,
        DType::F16 => TensorType::F16,
        DType::Bf16 => TensorType::Bf16,
        DType::F32 => TensorType::F32,
        DType::F64 => TensorType::F64,
    })
}
