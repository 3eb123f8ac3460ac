//! The additional driver functions that some kernels require, for tensor maps and for the number of multiprocessors.

use super::expression::depends_on_device;
use crate::ptx::Entry;

/// Returns whether the launch function of a kernel takes the extended driver.
pub(super) fn is_required(entry: &Entry) -> bool {
    !entry.maps.is_empty() || depends_on_device(entry)
}

/// The declarations shared by all exported headers with kernels that require these functions; the first header that is included defines
/// them.
pub(super) const DRIVER: &str = "\
/* The CUDA driver functions called by launches that create tensor maps or query the number of multiprocessors. */
#ifndef WARPWRIGHT_EXTENDED_DRIVER
#define WARPWRIGHT_EXTENDED_DRIVER

#ifdef CUDA_VERSION /* <cuda.h> was included */
typedef CUdevice_attribute warpwright_device_attribute;
#else
typedef int warpwright_device_attribute; /* CUdevice_attribute */
#endif
#if defined(CUDA_VERSION) && CUDA_VERSION >= 12000
typedef CUtensorMapDataType warpwright_map_type;
typedef CUtensorMapInterleave warpwright_map_interleave;
typedef CUtensorMapSwizzle warpwright_map_swizzle;
typedef CUtensorMapL2promotion warpwright_map_promotion;
typedef CUtensorMapFloatOOBfill warpwright_map_fill;
#else
typedef int warpwright_map_type; /* CUtensorMapDataType */
typedef int warpwright_map_interleave; /* CUtensorMapInterleave */
typedef int warpwright_map_swizzle; /* CUtensorMapSwizzle */
typedef int warpwright_map_promotion; /* CUtensorMapL2promotion */
typedef int warpwright_map_fill; /* CUtensorMapFloatOOBfill */
#endif

struct CUtensorMap_st; /* CUtensorMap */

/* Functions that no kernel of the program requires may be NULL. */
typedef struct warpwright_extended_driver {
    warpwright_driver basic;
    /* cuTensorMapEncodeTiled of CUDA 12.0, for kernels with tensor maps */
    warpwright_result (WARPWRIGHT_API *tensor_map_encode_tiled)(
        struct CUtensorMap_st *map, warpwright_map_type type, uint32_t rank, void *address,
        const uint64_t *dims, const uint64_t *strides, const uint32_t *box, const uint32_t *element_strides,
        warpwright_map_interleave interleave, warpwright_map_swizzle swizzle, warpwright_map_promotion promotion,
        warpwright_map_fill fill);
    /* cuCtxGetDevice and cuDeviceGetAttribute, for kernels whose grid depends on the number of multiprocessors */
    warpwright_result (WARPWRIGHT_API *ctx_get_device)(int *device);
    warpwright_result (WARPWRIGHT_API *device_get_attribute)(
        int *value, warpwright_device_attribute attribute, int device);
} warpwright_extended_driver;

/* Stores the number of multiprocessors of the current context's device. */
static inline warpwright_result warpwright_multiprocessors(
    const warpwright_extended_driver *driver, uint32_t *multiprocessors) {
    int device = 0, value = 0;
    warpwright_result result;
    *multiprocessors = 0;
    if (driver->ctx_get_device == NULL || driver->device_get_attribute == NULL)
        return (warpwright_result)500; /* CUDA_ERROR_NOT_FOUND */
    result = driver->ctx_get_device(&device);
    if (result != (warpwright_result)0) return result;
    /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
    result = driver->device_get_attribute(&value, (warpwright_device_attribute)16, device);
    if (result == (warpwright_result)0) *multiprocessors = (uint32_t)value;
    return result;
}

/* A tensor at the start of a buffer, innermost dimension first, and the box of it that one copy moves. */
typedef struct warpwright_tensor {
    uint64_t address;
    uint64_t dims[5]; /* elements */
    uint64_t strides[4]; /* elements between the coordinates of dimensions 1 and up */
    uint32_t box[5];
    uint32_t rank;
    uint32_t element_bytes;
    int type; /* CUtensorMapDataType */
    int swizzle; /* CUtensorMapSwizzle */
} warpwright_tensor;

/* Bytes between the coordinates of dimension i + 1. */
static inline uint64_t warpwright_tensor_stride(const warpwright_tensor *tensor, uint32_t i) {
    uint64_t bytes = warpwright_mul(tensor->strides[i], tensor->element_bytes);
    if (tensor->dims[i + 1] != 1) return bytes;
    /* There is no second coordinate, so any stride that a map may have will do: at most 2^40 - 16. */
    if (bytes > 1099511627760u) return 1099511627760u;
    return bytes == 0 ? 16 : warpwright_mul(warpwright_ceil_div(bytes, 16), 16);
}

/* Whether the tensor has no elements. */
static inline int warpwright_tensor_is_empty(const warpwright_tensor *tensor) {
    uint32_t i;
    for (i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] == 0) return 1;
    }
    return 0;
}

/* 0 if there is a map of the tensor. Otherwise 1: extents of more than 64 bits; 2: more than 2^31 - 1 coordinates along a dimension;
 * 3: strides that are not multiples of 16 bytes. */
static inline int warpwright_tensor_problem(const warpwright_tensor *tensor) {
    uint32_t i;
    for (i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] == WARPWRIGHT_OVERFLOW) return 1;
        if (i > 0 && tensor->strides[i - 1] == WARPWRIGHT_OVERFLOW) return 1;
    }
    for (i = 0; i < tensor->rank; i++) {
        if (tensor->dims[i] > 0x7fffffffull) return 2;
    }
    if (warpwright_tensor_is_empty(tensor)) return 0;
    for (i = 0; i + 1 < tensor->rank; i++) {
        if (warpwright_tensor_stride(tensor, i) % 16 != 0) return 3;
    }
    return 0;
}

/* Creates the tensor's map in the 128 bytes at `map`, a multiple of 64; they are zero if it has no elements:
 * a kernel that nevertheless copies from it faults. (Launches in Rust pass the map of memory of their own.) */
static inline warpwright_result warpwright_encode(
    const warpwright_extended_driver *driver, const warpwright_tensor *tensor, unsigned char *map) {
    const uint32_t element_strides[5] = {1, 1, 1, 1, 1};
    uint64_t strides[5] = {0, 0, 0, 0, 0};
    uint32_t i;
    for (i = 0; i < 128; i++) map[i] = 0;
    if (warpwright_tensor_is_empty(tensor)) return (warpwright_result)0;
    for (i = 0; i + 1 < tensor->rank; i++) strides[i] = warpwright_tensor_stride(tensor, i);
    if (driver->tensor_map_encode_tiled == NULL) return (warpwright_result)500; /* CUDA_ERROR_NOT_FOUND */
    return driver->tensor_map_encode_tiled(
        (struct CUtensorMap_st *)(void *)map, (warpwright_map_type)tensor->type, tensor->rank,
        (void *)(uintptr_t)tensor->address, tensor->dims, strides, tensor->box, element_strides,
        (warpwright_map_interleave)0, (warpwright_map_swizzle)tensor->swizzle,
        (warpwright_map_promotion)2 /* CU_TENSOR_MAP_L2_PROMOTION_L2_128B */, (warpwright_map_fill)0 /* zeros */);
}
#endif /* WARPWRIGHT_EXTENDED_DRIVER */
";
