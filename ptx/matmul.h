/* matmul.h: how to launch what is in matmul.ptx.
 * Written by warpwright 0.1.0; changes will be lost.
 */
#ifndef WARPWRIGHT_EXPORT_MATMUL_H
#define WARPWRIGHT_EXPORT_MATMUL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Functions of the CUDA driver that a launch calls: linked, or looked up in the driver's library at run time. */
#ifndef WARPWRIGHT_DRIVER
#define WARPWRIGHT_DRIVER

#ifdef CUDA_VERSION /* <cuda.h> was included */
typedef CUresult warpwright_result;
typedef CUfunction_attribute warpwright_attribute;
#else
typedef int warpwright_result; /* CUresult: 0 is success */
typedef int warpwright_attribute; /* CUfunction_attribute */
#endif

#ifdef _WIN32
#define WARPWRIGHT_API __stdcall
#else
#define WARPWRIGHT_API
#endif

struct CUfunc_st; /* CUfunction is a pointer to it */
struct CUstream_st; /* CUstream is a pointer to it */

typedef struct warpwright_driver {
    /* cuLaunchKernel */
    warpwright_result (WARPWRIGHT_API *launch_kernel)(
        struct CUfunc_st *function,
        unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
        unsigned int block_x, unsigned int block_y, unsigned int block_z,
        unsigned int dynamic_shared_bytes, struct CUstream_st *stream, void **parameters, void **extra);
    /* cuFuncSetAttribute */
    warpwright_result (WARPWRIGHT_API *func_set_attribute)(
        struct CUfunc_st *function, warpwright_attribute attribute, int value);
} warpwright_driver;

#endif /* WARPWRIGHT_DRIVER */

/* The module: load the text of this file with cuModuleLoadData. */
#define MATMUL_PTX "matmul.ptx"
#define MATMUL_PTX_VERSION "7.0"
#define MATMUL_TARGET "sm_80"

/* Whether a device of compute capability `major.minor` runs it. */
static inline int matmul_runs_on(int major, int minor) {
    return 10 * major + minor >= 80;
}

/* Kernel matmul_bf16
 * D = A·B: A m×k, B k×n (bf16), D m×n (f32), row-major; any sizes
 */
#define MATMUL_BF16_NAME "matmul_bf16"
#define MATMUL_BF16_BLOCK_X 128u
#define MATMUL_BF16_BLOCK_Y 1u
#define MATMUL_BF16_BLOCK_Z 1u
#define MATMUL_BF16_STATIC_SHARED_BYTES 49152u
#define MATMUL_BF16_DYNAMIC_SHARED_BYTES 0u

typedef struct matmul_bf16_args {
    uint64_t a; /* device address of bf16 that are read, a multiple of 16 */
    uint64_t b; /* device address of bf16 that are read, a multiple of 16 */
    uint64_t d; /* device address of f32 that are written, a multiple of 16 */
    uint32_t m;
    uint32_t n;
    uint32_t k;
} matmul_bf16_args;

/* Blocks of a launch in x, y and z. */
static inline void matmul_bf16_grid(const matmul_bf16_args *args, uint64_t grid[3]) {
    grid[0] = ((uint64_t)args->n + 127) / 128;
    grid[1] = ((uint64_t)args->m + 127) / 128;
    grid[2] = 1;
}

/* What is wrong with these arguments, or null. */
static inline const char *matmul_bf16_check(const matmul_bf16_args *args) {
    if (args->a % 16 != 0) return "a is not a multiple of 16";
    if (args->b % 16 != 0) return "b is not a multiple of 16";
    if (args->d % 16 != 0) return "d is not a multiple of 16";
    {
        uint64_t grid[3];
        matmul_bf16_grid(args, grid);
        if (grid[0] > 2147483647u || grid[1] > 65535u || grid[2] > 65535u) return "the grid is too large";
    }
    return NULL;
}

/* To call once after cuModuleGetFunction: lets the kernel have its dynamic shared memory. */
static inline warpwright_result matmul_bf16_prepare(
    const warpwright_driver *driver, struct CUfunc_st *function) {
    (void)driver;
    (void)function;
    return (warpwright_result)0;
}

/* Launches the kernel; does not wait for it.
 * CUDA_ERROR_INVALID_VALUE if the check above finds something. A grid without blocks is no launch, and succeeds. */
static inline warpwright_result matmul_bf16_launch(
    const warpwright_driver *driver, struct CUfunc_st *function, struct CUstream_st *stream,
    const matmul_bf16_args *args) {
    matmul_bf16_args copy = *args;
    void *parameters[] = {&copy.a, &copy.b, &copy.d, &copy.m, &copy.n, &copy.k};
    uint64_t grid[3];
    if (matmul_bf16_check(args) != NULL) return (warpwright_result)1;
    matmul_bf16_grid(args, grid);
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return (warpwright_result)0;
    return driver->launch_kernel(
        function, (unsigned int)grid[0], (unsigned int)grid[1], (unsigned int)grid[2],
        MATMUL_BF16_BLOCK_X, MATMUL_BF16_BLOCK_Y, MATMUL_BF16_BLOCK_Z,
        MATMUL_BF16_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);
}

/* Kernel matmul_f16
 * D = A·B: A m×k, B k×n (f16), D m×n (f32), row-major; any sizes
 */
#define MATMUL_F16_NAME "matmul_f16"
#define MATMUL_F16_BLOCK_X 128u
#define MATMUL_F16_BLOCK_Y 1u
#define MATMUL_F16_BLOCK_Z 1u
#define MATMUL_F16_STATIC_SHARED_BYTES 49152u
#define MATMUL_F16_DYNAMIC_SHARED_BYTES 0u

typedef struct matmul_f16_args {
    uint64_t a; /* device address of f16 that are read, a multiple of 16 */
    uint64_t b; /* device address of f16 that are read, a multiple of 16 */
    uint64_t d; /* device address of f32 that are written, a multiple of 16 */
    uint32_t m;
    uint32_t n;
    uint32_t k;
} matmul_f16_args;

/* Blocks of a launch in x, y and z. */
static inline void matmul_f16_grid(const matmul_f16_args *args, uint64_t grid[3]) {
    grid[0] = ((uint64_t)args->n + 127) / 128;
    grid[1] = ((uint64_t)args->m + 127) / 128;
    grid[2] = 1;
}

/* What is wrong with these arguments, or null. */
static inline const char *matmul_f16_check(const matmul_f16_args *args) {
    if (args->a % 16 != 0) return "a is not a multiple of 16";
    if (args->b % 16 != 0) return "b is not a multiple of 16";
    if (args->d % 16 != 0) return "d is not a multiple of 16";
    {
        uint64_t grid[3];
        matmul_f16_grid(args, grid);
        if (grid[0] > 2147483647u || grid[1] > 65535u || grid[2] > 65535u) return "the grid is too large";
    }
    return NULL;
}

/* To call once after cuModuleGetFunction: lets the kernel have its dynamic shared memory. */
static inline warpwright_result matmul_f16_prepare(
    const warpwright_driver *driver, struct CUfunc_st *function) {
    (void)driver;
    (void)function;
    return (warpwright_result)0;
}

/* Launches the kernel; does not wait for it.
 * CUDA_ERROR_INVALID_VALUE if the check above finds something. A grid without blocks is no launch, and succeeds. */
static inline warpwright_result matmul_f16_launch(
    const warpwright_driver *driver, struct CUfunc_st *function, struct CUstream_st *stream,
    const matmul_f16_args *args) {
    matmul_f16_args copy = *args;
    void *parameters[] = {&copy.a, &copy.b, &copy.d, &copy.m, &copy.n, &copy.k};
    uint64_t grid[3];
    if (matmul_f16_check(args) != NULL) return (warpwright_result)1;
    matmul_f16_grid(args, grid);
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return (warpwright_result)0;
    return driver->launch_kernel(
        function, (unsigned int)grid[0], (unsigned int)grid[1], (unsigned int)grid[2],
        MATMUL_F16_BLOCK_X, MATMUL_F16_BLOCK_Y, MATMUL_F16_BLOCK_Z,
        MATMUL_F16_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);
}

/* Kernel matmul_bf16_by8
 * D = A·B: A m×k, B k×n (bf16), D m×n (f32), row-major; 8 divides n and k
 */
#define MATMUL_BF16_BY8_NAME "matmul_bf16_by8"
#define MATMUL_BF16_BY8_BLOCK_X 128u
#define MATMUL_BF16_BY8_BLOCK_Y 1u
#define MATMUL_BF16_BY8_BLOCK_Z 1u
#define MATMUL_BF16_BY8_N_MULTIPLE_OF 8
#define MATMUL_BF16_BY8_K_MULTIPLE_OF 8
#define MATMUL_BF16_BY8_STATIC_SHARED_BYTES 49152u
#define MATMUL_BF16_BY8_DYNAMIC_SHARED_BYTES 0u

typedef struct matmul_bf16_by8_args {
    uint64_t a; /* device address of bf16 that are read, a multiple of 16 */
    uint64_t b; /* device address of bf16 that are read, a multiple of 16 */
    uint64_t d; /* device address of f32 that are written, a multiple of 16 */
    uint32_t m;
    uint32_t n; /* a multiple of 8 */
    uint32_t k; /* a multiple of 8 */
} matmul_bf16_by8_args;

/* Blocks of a launch in x, y and z. */
static inline void matmul_bf16_by8_grid(const matmul_bf16_by8_args *args, uint64_t grid[3]) {
    grid[0] = ((uint64_t)args->n + 127) / 128;
    grid[1] = ((uint64_t)args->m + 127) / 128;
    grid[2] = 1;
}

/* What is wrong with these arguments, or null. */
static inline const char *matmul_bf16_by8_check(const matmul_bf16_by8_args *args) {
    if (args->a % 16 != 0) return "a is not a multiple of 16";
    if (args->b % 16 != 0) return "b is not a multiple of 16";
    if (args->d % 16 != 0) return "d is not a multiple of 16";
    if (args->n % 8 != 0) return "n is not a multiple of 8";
    if (args->k % 8 != 0) return "k is not a multiple of 8";
    {
        uint64_t grid[3];
        matmul_bf16_by8_grid(args, grid);
        if (grid[0] > 2147483647u || grid[1] > 65535u || grid[2] > 65535u) return "the grid is too large";
    }
    return NULL;
}

/* To call once after cuModuleGetFunction: lets the kernel have its dynamic shared memory. */
static inline warpwright_result matmul_bf16_by8_prepare(
    const warpwright_driver *driver, struct CUfunc_st *function) {
    (void)driver;
    (void)function;
    return (warpwright_result)0;
}

/* Launches the kernel; does not wait for it.
 * CUDA_ERROR_INVALID_VALUE if the check above finds something. A grid without blocks is no launch, and succeeds. */
static inline warpwright_result matmul_bf16_by8_launch(
    const warpwright_driver *driver, struct CUfunc_st *function, struct CUstream_st *stream,
    const matmul_bf16_by8_args *args) {
    matmul_bf16_by8_args copy = *args;
    void *parameters[] = {&copy.a, &copy.b, &copy.d, &copy.m, &copy.n, &copy.k};
    uint64_t grid[3];
    if (matmul_bf16_by8_check(args) != NULL) return (warpwright_result)1;
    matmul_bf16_by8_grid(args, grid);
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return (warpwright_result)0;
    return driver->launch_kernel(
        function, (unsigned int)grid[0], (unsigned int)grid[1], (unsigned int)grid[2],
        MATMUL_BF16_BY8_BLOCK_X, MATMUL_BF16_BY8_BLOCK_Y, MATMUL_BF16_BY8_BLOCK_Z,
        MATMUL_BF16_BY8_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);
}

/* Kernel matmul_f16_by8
 * D = A·B: A m×k, B k×n (f16), D m×n (f32), row-major; 8 divides n and k
 */
#define MATMUL_F16_BY8_NAME "matmul_f16_by8"
#define MATMUL_F16_BY8_BLOCK_X 128u
#define MATMUL_F16_BY8_BLOCK_Y 1u
#define MATMUL_F16_BY8_BLOCK_Z 1u
#define MATMUL_F16_BY8_N_MULTIPLE_OF 8
#define MATMUL_F16_BY8_K_MULTIPLE_OF 8
#define MATMUL_F16_BY8_STATIC_SHARED_BYTES 49152u
#define MATMUL_F16_BY8_DYNAMIC_SHARED_BYTES 0u

typedef struct matmul_f16_by8_args {
    uint64_t a; /* device address of f16 that are read, a multiple of 16 */
    uint64_t b; /* device address of f16 that are read, a multiple of 16 */
    uint64_t d; /* device address of f32 that are written, a multiple of 16 */
    uint32_t m;
    uint32_t n; /* a multiple of 8 */
    uint32_t k; /* a multiple of 8 */
} matmul_f16_by8_args;

/* Blocks of a launch in x, y and z. */
static inline void matmul_f16_by8_grid(const matmul_f16_by8_args *args, uint64_t grid[3]) {
    grid[0] = ((uint64_t)args->n + 127) / 128;
    grid[1] = ((uint64_t)args->m + 127) / 128;
    grid[2] = 1;
}

/* What is wrong with these arguments, or null. */
static inline const char *matmul_f16_by8_check(const matmul_f16_by8_args *args) {
    if (args->a % 16 != 0) return "a is not a multiple of 16";
    if (args->b % 16 != 0) return "b is not a multiple of 16";
    if (args->d % 16 != 0) return "d is not a multiple of 16";
    if (args->n % 8 != 0) return "n is not a multiple of 8";
    if (args->k % 8 != 0) return "k is not a multiple of 8";
    {
        uint64_t grid[3];
        matmul_f16_by8_grid(args, grid);
        if (grid[0] > 2147483647u || grid[1] > 65535u || grid[2] > 65535u) return "the grid is too large";
    }
    return NULL;
}

/* To call once after cuModuleGetFunction: lets the kernel have its dynamic shared memory. */
static inline warpwright_result matmul_f16_by8_prepare(
    const warpwright_driver *driver, struct CUfunc_st *function) {
    (void)driver;
    (void)function;
    return (warpwright_result)0;
}

/* Launches the kernel; does not wait for it.
 * CUDA_ERROR_INVALID_VALUE if the check above finds something. A grid without blocks is no launch, and succeeds. */
static inline warpwright_result matmul_f16_by8_launch(
    const warpwright_driver *driver, struct CUfunc_st *function, struct CUstream_st *stream,
    const matmul_f16_by8_args *args) {
    matmul_f16_by8_args copy = *args;
    void *parameters[] = {&copy.a, &copy.b, &copy.d, &copy.m, &copy.n, &copy.k};
    uint64_t grid[3];
    if (matmul_f16_by8_check(args) != NULL) return (warpwright_result)1;
    matmul_f16_by8_grid(args, grid);
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return (warpwright_result)0;
    return driver->launch_kernel(
        function, (unsigned int)grid[0], (unsigned int)grid[1], (unsigned int)grid[2],
        MATMUL_F16_BY8_BLOCK_X, MATMUL_F16_BY8_BLOCK_Y, MATMUL_F16_BY8_BLOCK_Z,
        MATMUL_F16_BY8_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);
}

#ifdef __cplusplus
}
#endif

#endif /* WARPWRIGHT_EXPORT_MATMUL_H */
