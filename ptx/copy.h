/* copy.h: how to launch what is in copy.ptx.
 * Written by warpwright 0.1.0; changes will be lost.
 */
#ifndef WARPWRIGHT_EXPORT_COPY_H
#define WARPWRIGHT_EXPORT_COPY_H

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
#define COPY_PTX "copy.ptx"
#define COPY_PTX_VERSION "7.0"
#define COPY_TARGET "sm_80"

/* Whether a device of compute capability `major.minor` runs it. */
static inline int copy_runs_on(int major, int minor) {
    return 10 * major + minor >= 80;
}

/* Kernel copy_f32
 * y = x: n elements of f32
 */
#define COPY_F32_NAME "copy_f32"
#define COPY_F32_BLOCK_X 256u
#define COPY_F32_BLOCK_Y 1u
#define COPY_F32_BLOCK_Z 1u
#define COPY_F32_STATIC_SHARED_BYTES 0u
#define COPY_F32_DYNAMIC_SHARED_BYTES 0u

typedef struct copy_f32_args {
    uint64_t x; /* device address of f32 that are read, a multiple of 16 */
    uint64_t y; /* device address of f32 that are written, a multiple of 16 */
    uint32_t n;
} copy_f32_args;

/* Blocks of a launch in x, y and z. */
static inline void copy_f32_grid(const copy_f32_args *args, uint64_t grid[3]) {
    grid[0] = ((uint64_t)args->n + 4095) / 4096;
    grid[1] = 1;
    grid[2] = 1;
}

/* What is wrong with these arguments, or null. */
static inline const char *copy_f32_check(const copy_f32_args *args) {
    if (args->x % 16 != 0) return "x is not a multiple of 16";
    if (args->y % 16 != 0) return "y is not a multiple of 16";
    {
        uint64_t grid[3];
        copy_f32_grid(args, grid);
        if (grid[0] > 2147483647u || grid[1] > 65535u || grid[2] > 65535u) return "the grid is too large";
    }
    return NULL;
}

/* To call once after cuModuleGetFunction: lets the kernel have its dynamic shared memory. */
static inline warpwright_result copy_f32_prepare(
    const warpwright_driver *driver, struct CUfunc_st *function) {
    (void)driver;
    (void)function;
    return (warpwright_result)0;
}

/* Launches the kernel; does not wait for it.
 * CUDA_ERROR_INVALID_VALUE if the check above finds something. A grid without blocks is no launch, and succeeds. */
static inline warpwright_result copy_f32_launch(
    const warpwright_driver *driver, struct CUfunc_st *function, struct CUstream_st *stream,
    const copy_f32_args *args) {
    copy_f32_args copy = *args;
    void *parameters[] = {&copy.x, &copy.y, &copy.n};
    uint64_t grid[3];
    if (copy_f32_check(args) != NULL) return (warpwright_result)1;
    copy_f32_grid(args, grid);
    if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return (warpwright_result)0;
    return driver->launch_kernel(
        function, (unsigned int)grid[0], (unsigned int)grid[1], (unsigned int)grid[2],
        COPY_F32_BLOCK_X, COPY_F32_BLOCK_Y, COPY_F32_BLOCK_Z,
        COPY_F32_DYNAMIC_SHARED_BYTES, stream, parameters, NULL);
}

#ifdef __cplusplus
}
#endif

#endif /* WARPWRIGHT_EXPORT_COPY_H */
