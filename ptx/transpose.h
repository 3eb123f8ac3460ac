/* transpose.h: how to launch what is in transpose.ptx.
 * Written by warpwright 0.1.0; changes will be lost.
 */
#ifndef WARPWRIGHT_EXPORT_TRANSPOSE_H
#define WARPWRIGHT_EXPORT_TRANSPOSE_H

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
#define TRANSPOSE_PTX "transpose.ptx"
#define TRANSPOSE_PTX_VERSION "7.0"
#define TRANSPOSE_TARGET "sm_80"

/* Whether a device of compute capability `major.minor` runs it. */
static inline int transpose_runs_on(int major, int minor) {
    return 10 * major + minor >= 80;
}

/* Kernel transpose_f32
 * y = x transposed: x m×n, y n×m (f32), row-major; any sizes
 */
#define TRANSPOSE_F32_NAME "transpose_f32"
#define TRANSPOSE_F32_BLOCK_X 512u
#define TRANSPOSE_F32_BLOCK_Y 1u
#define TRANSPOSE_F32_BLOCK_Z 1u
#define TRANSPOSE_F32_STATIC_SHARED_BYTES 18720u
#define TRANSPOSE_F32_DYNAMIC_SHARED_BYTES 0u

typedef struct transpose_f32_args {
    uint64_t x; /* device address of f32 that are read, a multiple of 16 */
    uint64_t y; /* device address of f32 that are written, a multiple of 16 */
    uint32_t m;
    uint32_t n;
} transpose_f32_args;

/* Blocks of a launch in x, y and z. */
static inline void transpose_f32_grid(const transpose_f32_args *args, uint64_t grid[3]) {
    grid[0] = ((uint64_t)args->m + 7 + 63) / 64;
    grid[1] = ((uint64_t)args->n + 63) / 64;
    grid[2] = 1;
}

/* What is wrong with these arguments, or null. */
static inline const char *transpose_f32_check(const transpose_f32_args *args) {
    if (args->x % 16 != 0) return "x is not a multiple of 16";
    if (args->y % 16 != 0) return "y is not a multiple of 16";
    {
        uint64_t grid[3];
        transpose_f32_grid(args, grid);
        if (grid[0] > 2147483647u || grid[1] > 65535u || grid[2] > 65535u) return "the grid is too large";
    }
    return NULL;
}

/* To call once after cuModuleGetFunction: lets the kernel have its dynamic shared memory. */
static inline warpwright_result transpose_f32_prepare(
    const warpwright_driver *driver, struct CUfunc_st *function) {
    (void)driver;
    (void)function;
    return (warpwright_result)0;
}

/* Launches the kernel; does not wait for it.
 * CUDA_ERROR_INVALID_VALUE if the check above finds something. A grid without blocks is no launch, and succeeds. */
static inline warpwright_result transpose_f32_launch(
    const warpwright_driver *driver, struct CUfunc_st *function, struct CUstream_st *stream,
    const transpose_f32_args *args) {
    transpose_f32_args copy = *args;
    void *parameters[] = {&copy.x, &copy.y, &copy.m, &copy.n};
    uint64_t grid[3];
    if (transpose_f32_check(args) != NULL) return (warpwright_result)1;
    transpose_f32_grid(args, grid);
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return (warpwright_result)0;
    return driver->launch_kernel(
        function, (unsigned int)grid[0], (unsigned int)grid[1], (unsigned int)grid[2],
        TRANSPOSE_F32_BLOCK_X, TRANSPOSE_F32_BLOCK_Y, TRANSPOSE_F32_BLOCK_Z,
        TRANSPOSE_F32_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);
}

/* Kernel transpose_f32_by4
 * y = x transposed: x m×n, y n×m (f32), row-major; 4 divides m and n
 */
#define TRANSPOSE_F32_BY4_NAME "transpose_f32_by4"
#define TRANSPOSE_F32_BY4_BLOCK_X 256u
#define TRANSPOSE_F32_BY4_BLOCK_Y 1u
#define TRANSPOSE_F32_BY4_BLOCK_Z 1u
#define TRANSPOSE_F32_BY4_M_MULTIPLE_OF 4
#define TRANSPOSE_F32_BY4_N_MULTIPLE_OF 4
#define TRANSPOSE_F32_BY4_STATIC_SHARED_BYTES 16384u
#define TRANSPOSE_F32_BY4_DYNAMIC_SHARED_BYTES 0u

typedef struct transpose_f32_by4_args {
    uint64_t x; /* device address of f32 that are read, a multiple of 16 */
    uint64_t y; /* device address of f32 that are written, a multiple of 16 */
    uint32_t m; /* a multiple of 4 */
    uint32_t n; /* a multiple of 4 */
} transpose_f32_by4_args;

/* Blocks of a launch in x, y and z. */
static inline void transpose_f32_by4_grid(const transpose_f32_by4_args *args, uint64_t grid[3]) {
    grid[0] = ((uint64_t)args->n + 63) / 64;
    grid[1] = ((uint64_t)args->m + 63) / 64;
    grid[2] = 1;
}

/* What is wrong with these arguments, or null. */
static inline const char *transpose_f32_by4_check(const transpose_f32_by4_args *args) {
    if (args->x % 16 != 0) return "x is not a multiple of 16";
    if (args->y % 16 != 0) return "y is not a multiple of 16";
    if (args->m % 4 != 0) return "m is not a multiple of 4";
    if (args->n % 4 != 0) return "n is not a multiple of 4";
    {
        uint64_t grid[3];
        transpose_f32_by4_grid(args, grid);
        if (grid[0] > 2147483647u || grid[1] > 65535u || grid[2] > 65535u) return "the grid is too large";
    }
    return NULL;
}

/* To call once after cuModuleGetFunction: lets the kernel have its dynamic shared memory. */
static inline warpwright_result transpose_f32_by4_prepare(
    const warpwright_driver *driver, struct CUfunc_st *function) {
    (void)driver;
    (void)function;
    return (warpwright_result)0;
}

/* Launches the kernel; does not wait for it.
 * CUDA_ERROR_INVALID_VALUE if the check above finds something. A grid without blocks is no launch, and succeeds. */
static inline warpwright_result transpose_f32_by4_launch(
    const warpwright_driver *driver, struct CUfunc_st *function, struct CUstream_st *stream,
    const transpose_f32_by4_args *args) {
    transpose_f32_by4_args copy = *args;
    void *parameters[] = {&copy.x, &copy.y, &copy.m, &copy.n};
    uint64_t grid[3];
    if (transpose_f32_by4_check(args) != NULL) return (warpwright_result)1;
    transpose_f32_by4_grid(args, grid);
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return (warpwright_result)0;
    return driver->launch_kernel(
        function, (unsigned int)grid[0], (unsigned int)grid[1], (unsigned int)grid[2],
        TRANSPOSE_F32_BY4_BLOCK_X, TRANSPOSE_F32_BY4_BLOCK_Y, TRANSPOSE_F32_BY4_BLOCK_Z,
        TRANSPOSE_F32_BY4_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);
}

#ifdef __cplusplus
}
#endif

#endif /* WARPWRIGHT_EXPORT_TRANSPOSE_H */
