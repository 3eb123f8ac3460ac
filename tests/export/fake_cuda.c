/* A stand-in for the NVIDIA driver that runs one kernel, the matrix product, on the CPU: D = A B, bf16 in, f32 out, row-major.
 *
 * -DNO_DEVICE: there is none. -DWRONG_ELEMENT: the last element is off. -DBEYOND: one element too many is written. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"))) int
enum { OK = 0, INVALID_VALUE = 1, NO_DEVICE_FOUND = 100, INVALID_PTX = 218, NOT_FOUND = 500 };

static char context, module, kernel;

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
    *value = attribute == 75 ? 9 : 0;
    return OK;
}
API cuDevicePrimaryCtxRetain(void **out, int device) { (void)device; *out = &context; return OK; }
API cuCtxSetCurrent(void *current) { return current == &context ? OK : INVALID_VALUE; }
API cuCtxSynchronize(void) { return OK; }

API cuModuleLoadDataEx(void **out, const char *text, unsigned count, int *options, void **values) {
    if (strstr(text, ".visible .entry matmul_bf16(") == NULL) {
        if (count == 2 && options[0] == 5) snprintf((char *)values[0], (size_t)values[1], "not the kernel");
        return INVALID_PTX;
    }
    *out = &module;
    return OK;
}
API cuModuleGetFunction(void **out, void *from, const char *name) {
    if (from != &module || (strcmp(name, "matmul_bf16") != 0 && strcmp(name, "matmul_bf16_by8") != 0)) return NOT_FOUND;
    *out = &kernel;
    return OK;
}
API cuFuncSetAttribute(void *function, int attribute, int value) {
    return function == &kernel && attribute == 8 && value > 0 ? OK : INVALID_VALUE;
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

API cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, void *stream, void **parameters, void **extra) {
    const uint16_t *a = (const uint16_t *)(uintptr_t)*(uint64_t *)parameters[0];
    const uint16_t *b = (const uint16_t *)(uintptr_t)*(uint64_t *)parameters[1];
    float *d = (float *)(uintptr_t)*(uint64_t *)parameters[2];
    uint32_t m = *(uint32_t *)parameters[3], n = *(uint32_t *)parameters[4], k = *(uint32_t *)parameters[5];
    (void)shared;
    if (function != &kernel || stream != NULL || extra != NULL || gx * gy * gz == 0 || bx * by * bz == 0)
        return INVALID_VALUE;
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
