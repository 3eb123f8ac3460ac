/* A stand-in for the NVIDIA driver, to run the GPU layer without a GPU.
 *
 * "Device memory" is host memory. A module is its text: `BAD` in it makes the load fail with a log, and `SLOW` makes the
 * compiler's log contain advisory notes. Calls whose effect
 * the tests check print a line to stdout. The macros below change its answers; `-Dcu<Name>=absent` hides a symbol. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default"))) int
enum { OK = 0, INVALID_VALUE = 1, INVALID_PTX = 218, NOT_FOUND = 500 };

#ifndef CAPTURING
#define CAPTURING 0 /* the status of all streams */
#endif
#ifndef VERSION
#define VERSION 13000
#endif
#ifndef DEVICES
#define DEVICES 1
#endif
#ifndef INIT
#define INIT OK
#endif
#ifndef CAPABILITY
#define CAPABILITY 9
#endif
#ifndef BAD_LINE /* where a refused module is wrong first */
#define BAD_LINE 7
#endif
#ifndef MAP /* whether the kernel takes a tensor map as its fourth parameter */
#define MAP 1
#endif

/* Handles: anything distinct and not null. */
static _Thread_local void *current;
static char context, module, kernel;
static const size_t param_sizes[] = {8, 8, 4, 128};

API cuDriverGetVersion(int *version) { *version = VERSION; return OK; }

/* Everything else can be missing, as in a stub library. */
#ifndef STUB
API cuInit(unsigned flags) {
    (void)flags;
    setvbuf(stdout, NULL, _IONBF, 0); /* in order with what the test prints */
    return INIT;
}
API cuGetErrorName(int code, const char **name) { (void)code; *name = "FAKE"; return OK; }
API cuGetErrorString(int code, const char **text) { (void)code; *text = "fake"; return OK; }

API cuDeviceGetCount(int *count) { *count = DEVICES; return OK; }
API cuDeviceGet(int *device, int ordinal) { *device = ordinal; return OK; }
API cuDeviceTotalMem_v2(size_t *bytes, int device) { (void)device; *bytes = (size_t)3 << 30; return OK; }
API cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    snprintf(name, (size_t)length, "Fake GPU");
    return OK;
}
API cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    switch (attribute) {
    case 1: *value = 1024; break;                     /* threads per block */
    case 2: case 3: *value = 1024; break;             /* block x, y */
    case 4: *value = 64; break;                       /* block z */
    case 5: *value = 0x7fffffff; break;               /* grid x */
    case 6: case 7: *value = 65535; break;            /* grid y, z */
    case 8: *value = 48 << 10; break;                 /* shared memory per block */
    case 13: *value = 1980000; break;                 /* clock */
    case 16: *value = 132; break;                     /* multiprocessors */
    case 38: *value = 50 << 20; break;                /* L2 */
    case 75: *value = CAPABILITY; break;
    case 76: *value = 0; break;
    case 81: *value = 228 << 10; break;               /* shared memory per multiprocessor */
    case 82: *value = 65536; break;                   /* registers */
    case 97: *value = 227 << 10; break;               /* shared memory per block, opt-in */
    case 115: *value = 1; break;                      /* memory pools */
    default: return INVALID_VALUE;
    }
    return OK;
}

API cuDevicePrimaryCtxRetain(void **out, int device) { (void)device; *out = &context; return OK; }
API cuDevicePrimaryCtxRelease_v2(int device) { (void)device; return OK; }
API cuCtxDestroy_v2(void *ctx) { (void)ctx; return OK; }
API cuCtxGetCurrent(void **out) { *out = current; return OK; }
API cuCtxSetCurrent(void *ctx) { current = ctx; return OK; }
API cuCtxPushCurrent_v2(void *ctx) { current = ctx; return OK; }
API cuCtxPopCurrent_v2(void **out) { *out = current; current = NULL; return OK; }
API cuCtxSynchronize(void) { return OK; }

API cuStreamCreate(void **out, unsigned flags) { (void)flags; *out = malloc(1); return OK; }
API cuStreamDestroy_v2(void *stream) { free(stream); return OK; }
API cuStreamSynchronize(void *stream) { (void)stream; return OK; }
API cuStreamIsCapturing(void *stream, unsigned *status) {
    (void)stream;
    *status = CAPTURING;
    return OK;
}
API cuStreamWaitEvent(void *stream, void *event, unsigned flags) {
    (void)stream, (void)flags;
    printf("wait for event %d\n", *(int *)event);
    return OK;
}
API cuEventCreate(void **out, unsigned flags) {
    static int count;
    int *event = malloc(sizeof *event * 2);
    event[0] = count++, event[1] = (int)flags;
    *out = event;
    return OK;
}
API cuEventDestroy_v2(void *event) { free(event); return OK; }
API cuEventRecord(void *event, void *stream) {
    (void)stream;
    printf("record event %d\n", *(int *)event);
    return OK;
}
API cuEventSynchronize(void *event) { (void)event; return OK; }
API cuEventQuery(void *event) { (void)event; return OK; }
API cuEventElapsedTime(float *ms, const int *start, const int *end) {
    enum { DISABLE_TIMING = 2 };
    *ms = 0.25f;
    return (start[1] | end[1]) & DISABLE_TIMING ? INVALID_VALUE : OK;
}

API cuMemAllocAsync(uint64_t *out, size_t bytes, void *s) { (void)s; *out = (uintptr_t)malloc(bytes + 1); return OK; }
API cuMemAlloc_v2(uint64_t *out, size_t bytes) { *out = (uintptr_t)malloc(bytes + 1); return OK; }
API cuMemFreeAsync(uint64_t p, void *s) { (void)s; free((void *)(uintptr_t)p); return OK; }
API cuMemFree_v2(uint64_t p) { free((void *)(uintptr_t)p); return OK; }
API cuMemGetInfo_v2(size_t *available, size_t *total) { *available = 1, *total = 2; return OK; }
API cuMemHostAlloc(void **out, size_t bytes, unsigned flags) { (void)flags; *out = malloc(bytes); return OK; }
API cuMemFreeHost(void *p) { free(p); return OK; }
API cuMemsetD8Async(uint64_t p, unsigned char v, size_t n, void *s) { (void)s; memset((void *)(uintptr_t)p, v, n); return OK; }
API cuMemcpyHtoDAsync_v2(uint64_t d, const void *h, size_t n, void *s) { (void)s; memcpy((void *)(uintptr_t)d, h, n); return OK; }
API cuMemcpyDtoHAsync_v2(void *h, uint64_t d, size_t n, void *s) { (void)s; memcpy(h, (void *)(uintptr_t)d, n); return OK; }
API cuMemcpyDtoDAsync_v2(uint64_t a, uint64_t b, size_t n, void *s) {
    (void)s;
    memcpy((void *)(uintptr_t)a, (void *)(uintptr_t)b, n);
    return OK;
}
API cuMemcpyPeerAsync(void) { return INVALID_VALUE; }

API cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options, void **values) {
    char *info = NULL, *error = NULL;
    size_t info_bytes = 0, error_bytes = 0;
    int verbose = 0;
    if (current != &context) return 201;
    for (unsigned i = 0; i < count; i++) {
        size_t number = (size_t)values[i];
        switch (options[i]) {
        case 0: printf("jit max registers %zu\n", number); break;
        case 2: { float ms = 8.5f; values[i] = NULL; memcpy(&values[i], &ms, 4); break; }
        case 3: info = values[i]; break;
        case 4: info_bytes = number; break;
        case 5: error = values[i]; break;
        case 6: error_bytes = number; break;
        case 7: printf("jit optimization %zu\n", number); break;
        case 12: verbose = (int)number; break;
        case 13: printf("jit line info %zu\n", number); break;
        default: return INVALID_VALUE;
        }
    }
    if (strstr(image, "BAD")) {
        snprintf(error, error_bytes,
                 "ptxas application ptx input, line %d; error   : Arguments mismatch for instruction 'add'\n"
                 "ptxas application ptx input, line %d; error   : Unknown symbol '%%r9'\n"
                 "ptxas fatal   : Ptx assembly aborted due to errors", BAD_LINE, BAD_LINE + 2);
        return INVALID_PTX;
    }
    if (strstr(image, "SLOW")) {
        snprintf(info, info_bytes,
                 "ptxas info    : (C7508) Potential Performance Loss: 'setmaxnreg' ignored; unable to determine register count at entry.\n"
                 "ptxas info    : (C7517) warpgroup.wait is injected in around line %d by compiler to allow use of registers defined by "
                 "GMMA in function 'kernel'\n"
                 "ptxas info    : Compiling entry function 'kernel' for 'sm_90a'\n"
                 "ptxas info    : Used 10 registers", BAD_LINE);
    } else if (verbose) {
        snprintf(info, info_bytes,
                 "ptxas info    : 0 bytes gmem\n"
                 "ptxas info    : Compiling entry function 'kernel' for 'sm_90a'\n"
                 "ptxas info    : Function properties for 'kernel'\n"
                 "ptxas         .     0 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
                 "ptxas info    : Used 10 registers, used 1 barriers, 2048 bytes smem\n"
                 "ptxas info    : Compile time = 2.650 ms");
    }
    *out = &module;
    return OK;
}
API cuModuleUnload(void *m) {
    printf("unload %s\n", m == &module && current == &context ? "ok" : "wrong");
    return OK;
}
API cuModuleGetFunction(void **out, void *m, const char *name) {
    (void)m;
    *out = &kernel;
    return strcmp(name, "kernel") == 0 ? OK : NOT_FOUND;
}
API cuModuleGetGlobal_v2(uint64_t *address, size_t *bytes, void *m, const char *name) {
    (void)m;
    *address = 4096, *bytes = 64;
    return strcmp(name, "table") == 0 ? OK : NOT_FOUND;
}

API cuFuncGetAttribute(int *value, int attribute, void *f) {
    static const int values[] = {512, 2048, 0, 16, 10, 80, 90};
    (void)f;
    *value = attribute < 7 ? values[attribute] : 0;
    return OK;
}
API cuFuncSetAttribute(void *f, int attribute, int value) {
    (void)f;
    printf("set attribute %d to %d\n", attribute, value);
    return OK;
}
API cuFuncGetParamInfo(void *f, size_t index, size_t *offset, size_t *size) {
    (void)f;
    if (index >= 3 + MAP) return INVALID_VALUE;
    *offset = index * 8, *size = param_sizes[index];
    return OK;
}
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *f, int threads, size_t shared) {
    (void)f;
    *blocks = 2048 / threads;
    printf("occupancy with %zu bytes\n", shared);
    return OK;
}

struct attribute { int id, pad; unsigned value[16]; };
struct launch { unsigned grid[3], block[3], shared; void *stream; struct attribute *attributes; unsigned count; };

API cuOccupancyMaxActiveClusters(int *clusters, void *f, const struct launch *l) {
    (void)f;
    *clusters = (int)l->count * 33;
    return OK;
}
API cuLaunchKernelEx(const struct launch *l, void *f, void **params, void **extra) {
    uint64_t a, b;
    int n;
    unsigned char map[128];
    if (f != &kernel || extra || current != &context) return INVALID_VALUE;
    printf("launch grid %u,%u,%u block %u,%u,%u shared %u\n", l->grid[0], l->grid[1], l->grid[2], l->block[0],
           l->block[1], l->block[2], l->shared);
    for (unsigned i = 0; i < l->count; i++)
        printf("attribute %d: %u,%u,%u\n", l->attributes[i].id, l->attributes[i].value[0],
               l->attributes[i].value[1], l->attributes[i].value[2]);
    memcpy(&a, params[0], 8), memcpy(&b, params[1], 8), memcpy(&n, params[2], 4);
    if (MAP) {
        memcpy(map, params[3], 128);
        printf("params n=%d map=%d..%d\n", n, map[0], map[127]);
    }
    /* The kernel: b[i] = 2·a[i]. */
    for (int i = 0; i < n; i++) ((float *)(uintptr_t)b)[i] = 2 * ((const float *)(uintptr_t)a)[i];
    return OK;
}

API cuTensorMapEncodeTiled(void *map, unsigned type, unsigned rank, void *address, const uint64_t *dims,
                           const uint64_t *strides, const unsigned *box, const unsigned *steps, unsigned interleave,
                           unsigned swizzle, unsigned l2, unsigned oob) {
    printf("tensor map type %u rank %u address %zu dims %u,%u stride %u box %u,%u steps %u,%u modes %u,%u,%u,%u\n",
           type, rank, (size_t)address, (unsigned)dims[0], (unsigned)dims[1], (unsigned)strides[0], box[0], box[1],
           steps[0], steps[1], interleave, swizzle, l2, oob);
    memset(map, 7, 128);
    return (uintptr_t)map % 64 ? INVALID_VALUE : OK;
}

API cuTensorMapEncodeIm2col(void *map, unsigned type, unsigned rank, void *address, const uint64_t *dims,
                            const uint64_t *strides, const int *lower, const int *upper, unsigned channels,
                            unsigned pixels, const unsigned *steps, unsigned interleave, unsigned swizzle, unsigned l2,
                            unsigned oob) {
    printf("im2col map type %u rank %u address %zu dims %u,%u,%u stride %u,%u corners %d,%d channels %u pixels %u steps %u,%u modes "
           "%u,%u,%u,%u\n",
           type, rank, (size_t)address, (unsigned)dims[0], (unsigned)dims[1], (unsigned)dims[2], (unsigned)strides[0],
           (unsigned)strides[1], lower[0], upper[0], channels, pixels, steps[0], steps[1], interleave, swizzle, l2, oob);
    memset(map, 9, 128);
    return (uintptr_t)map % 64 ? INVALID_VALUE : OK;
}
#endif
