//! Tensor maps in terms of `cuTensorMapEncodeTiled` (CUDA Driver API, "Tensor Map Object Management").

use crate::ptx::{ParamDecl, SwizzleMode};

/// An enumerator of `cuda.h`: its name and its value.
pub(super) type Enumerator = (&'static str, u32);

/// The fetch size of the L2 cache, and the value of out-of-bounds elements.
pub(super) const L2_PROMOTION: Enumerator = ("CU_TENSOR_MAP_L2_PROMOTION_L2_128B", 2);
pub(super) const OOB_FILL: Enumerator = ("CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE", 0);

/// Returns the `CUtensorMapDataType` for the elements of a buffer.
pub(super) fn data_type(param: &ParamDecl) -> Enumerator {
    match (param.element, param.element_bytes) {
        ("f16", _) => ("CU_TENSOR_MAP_DATA_TYPE_FLOAT16", 6),
        ("bf16", _) => ("CU_TENSOR_MAP_DATA_TYPE_BFLOAT16", 9),
        // The kernel rounds to tf32; copies leave the bits as they are.
        ("f32" | "tf32", _) => ("CU_TENSOR_MAP_DATA_TYPE_FLOAT32", 7),
        ("f64", _) => ("CU_TENSOR_MAP_DATA_TYPE_FLOAT64", 8),
        ("i32", _) => ("CU_TENSOR_MAP_DATA_TYPE_INT32", 3),
        ("i64", _) => ("CU_TENSOR_MAP_DATA_TYPE_INT64", 5),
        (_, 1) => ("CU_TENSOR_MAP_DATA_TYPE_UINT8", 0),
        (_, 2) => ("CU_TENSOR_MAP_DATA_TYPE_UINT16", 1),
        (_, 4) => ("CU_TENSOR_MAP_DATA_TYPE_UINT32", 2),
        _ => ("CU_TENSOR_MAP_DATA_TYPE_UINT64", 4),
    }
}

/// Returns the `CUtensorMapSwizzle`.
pub(super) const fn swizzle(mode: SwizzleMode) -> Enumerator {
    match mode {
        SwizzleMode::None => ("CU_TENSOR_MAP_SWIZZLE_NONE", 0),
        SwizzleMode::B32 => ("CU_TENSOR_MAP_SWIZZLE_32B", 1),
        SwizzleMode::B64 => ("CU_TENSOR_MAP_SWIZZLE_64B", 2),
        SwizzleMode::B128 => ("CU_TENSOR_MAP_SWIZZLE_128B", 3),
    }
}
