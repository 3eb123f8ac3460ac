/* A stand-in for the NVIDIA driver that runs two matrix products on the CPU. One is D = A B, bf16 in, f32 out, row-major; the
 * other is D = A B through tensor maps, all bf16, with columns of B contiguous.
 *
 * -DNO_DEVICE: there is none. -DWRONG_ELEMENT: the last element is off. -DBEYOND: one element too many is written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"))) int
enum { OK = 0, INVALID_VALUE = 1, NO_DEVICE_FOUND = 100, INVALID_PTX = 218, NOT_FOUND = 500 };

static char context, module, kernel, mapped_kernel;

API cuInit(unsigned flags) {
    (void)flags;
#ifdef NO_DEVICE
    return NO_DEVICE_FOUND;
#else
    return OK;
#endif
}

API cuGetErrorString(int code, const char **text) {
    *text = code == NO_DEVICE_FOUND ? "no CUDA-capable device is detected" : "an error";
    return OK;
}

API cuDeviceGet(int *device, int ordinal) { *device = ordinal; return OK; }
API cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    snprintf(name, (size_t)length, "Fake GPU");
    return OK;
}
API cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == 75 ? 9 : attribute == 16 ? 132 : 0;
    return OK;
}
API cuCtxGetDevice(int *device) { *device = 0; return OK; }
API cuDevicePrimaryCtxRetain(void **out, int device) { (void)device; *out = &context; return OK; }
API cuCtxSetCurrent(void *current) { return current == &context ? OK : INVALID_VALUE; }
API cuCtxSynchronize(void) { return OK; }

API cuModuleLoadDataEx(void **out, const char *text, unsigned count, int *options, void **values) {
    if (strstr(text, ".visible .entry matmul_bf16(") == NULL && strstr(text, ".visible .entry gemm_bf16_row_col_128x128(") == NULL) {
        if (count == 2 && options[0] == 5) snprintf((char *)values[0], (size_t)values[1], "not the kernel");
        return INVALID_PTX;
    }
    *out = &module;
    return OK;
}
API cuModuleGetFunction(void **out, void *from, const char *name) {
    const int mapped = strcmp(name, "gemm_bf16_row_col_128x128") == 0;
    if (from != &module || (!mapped && strcmp(name, "matmul_bf16") != 0 && strcmp(name, "matmul_bf16_by8") != 0)) return NOT_FOUND;
    *out = mapped ? &mapped_kernel : &kernel;
    return OK;
}
API cuFuncSetAttribute(void *function, int attribute, int value) {
    return (function == &kernel || function == &mapped_kernel) && attribute == 8 && value > 0 ? OK : INVALID_VALUE;
}

API cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    *address = (uint64_t)(uintptr_t)aligned_alloc(256, (bytes + 255) / 256 * 256);
    return OK;
}
API cuMemFree_v2(uint64_t address) { free((void *)(uintptr_t)address); return OK; }
API cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    return OK;
}
API cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    memcpy(to, (const void *)(uintptr_t)from, bytes);
    return OK;
}

static float widen(uint16_t half) {
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint16_t narrow(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* What this driver stores in the 128 bytes of a tensor map of two dimensions. */
struct map {
    uint16_t *address;
    uint64_t dims[2], stride;
};

API cuTensorMapEncodeTiled(void *out, int type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides,
                           const uint32_t *box, const uint32_t *element_strides, int interleave, int swizzle, int promotion,
                           int fill) {
    struct map map = {address, {dims[0], dims[1]}, strides[0] / 2};
    if ((uintptr_t)out % 64 != 0 || type != 9 || rank != 2 || (uintptr_t)address % 16 != 0 || strides[0] % 16 != 0 ||
        box[0] * 2 > 128 || box[1] > 256 || element_strides[0] != 1 || element_strides[1] != 1 || interleave != 0 ||
        swizzle != 3 || promotion != 2 || fill != 0)
        return INVALID_VALUE;
    memcpy(out, &map, sizeof map);
    return OK;
}

/* The product of the matrices that the maps of A and B describe, which are passed after the parameters. The map of D describes the part that
 * copies of whole units of 16 bytes can write. */
static int mapped_product(void **parameters) {
    struct map a, b, d;
    uint16_t *out = (uint16_t *)(uintptr_t)*(uint64_t *)parameters[4];
    uint32_t pitch = *(uint32_t *)parameters[5], m = *(uint32_t *)parameters[6], n = *(uint32_t *)parameters[7];
    memcpy(&a, parameters[9], sizeof a);
    memcpy(&b, parameters[10], sizeof b);
    memcpy(&d, parameters[11], sizeof d);
    if (a.dims[0] != b.dims[0] || a.dims[1] != m || b.dims[1] != n) return INVALID_VALUE;
    if (n >= 8 && (d.address != out || d.dims[0] != n / 8 * 8 || d.dims[1] != m || (m > 1 && d.stride != pitch)))
        return INVALID_VALUE;
    for (uint64_t row = 0; row < m; row++) {
        for (uint64_t column = 0; column < n; column++) {
            float sum = 0;
            for (uint64_t i = 0; i < a.dims[0]; i++)
                sum += widen(a.address[row * a.stride + i]) * widen(b.address[column * b.stride + i]);
            out[row * pitch + column] = narrow(sum);
        }
    }
#ifdef WRONG_ELEMENT
    out[(uint64_t)(m - 1) * pitch + n - 1] ^= 0x40;
#endif
#ifdef BEYOND
    out[n] = 0;
#endif
    return OK;
}

/* The product through the addresses. */
static int product(void **parameters) {
    const uint16_t *a = (const uint16_t *)(uintptr_t)*(uint64_t *)parameters[0];
    const uint16_t *b = (const uint16_t *)(uintptr_t)*(uint64_t *)parameters[1];
    float *d = (float *)(uintptr_t)*(uint64_t *)parameters[2];
    uint32_t m = *(uint32_t *)parameters[3], n = *(uint32_t *)parameters[4], k = *(uint32_t *)parameters[5];
for (uint32_t row = 0; row < m; row++) {
        for (uint32_t column = 0; column < n; column++) {
            float sum = 0;
            for (uint32_t i = 0; i < k; i++)
                sum += widen(a[(size_t)row * k + i]) * widen(b[(size_t)i * n + column]);
            d[(size_t)row * n + column] = sum;
        }
    }
#ifdef WRONG_ELEMENT
    d[(size_t)m * n - 1] += 0.01f;
#endif
#ifdef BEYOND
    d[(size_t)m * n] = 0;
#endif
    return OK;
}

API cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    (void)shared;
    if (stream != NULL || extra != NULL || gx * gy * gz == 0 || bx * by * bz == 0) return INVALID_VALUE;
    if (function == &mapped_kernel) return mapped_product(parameters);
    return function == &kernel ? product(parameters) : INVALID_VALUE;
}
