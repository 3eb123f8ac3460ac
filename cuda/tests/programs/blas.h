/* The parts of cuBLAS that the programs use: handles, statuses, and matrix elements. */
#ifndef BLAS_H
#define BLAS_H

#include "driver.h"

typedef void *Handle;
int cublasCreate_v2(Handle *);
int cublasDestroy_v2(Handle);
int cublasSetStream_v2(Handle, CUstream);
int cublasSetPointerMode_v2(Handle, int);
int cublasSetMatrix(int, int, int, const void *, int, CUdeviceptr, int);

/* Statuses (`cublasStatus_t`). */
enum { NO_HANDLE = 1, INVALID = 7, UNSUPPORTED = 15 };

/* Data types (`cudaDataType_t`). */
enum { F32 = 0, F64 = 1, F16 = 2, S8 = 3, S32 = 10, BF16 = 14 };

static inline int bytes(int type) {
    return type == S8 ? 1 : type == F16 || type == BF16 ? 2 : type == F64 ? 8 : 4;
}

static inline void store(void *at, int type, size_t i, double x) {
    float single = x;
    unsigned bits;
    memcpy(&bits, &single, 4);
    switch (type) {
    case F32: ((float *)at)[i] = single; break;
    case F64: ((double *)at)[i] = x; break;
    case F16: ((_Float16 *)at)[i] = x; break;
    case S8: ((signed char *)at)[i] = x; break;
    case S32: ((int *)at)[i] = x; break;
    case BF16: ((unsigned short *)at)[i] = bits >> 16; break;
    }
}

static inline double load(const void *at, int type, size_t i) {
    unsigned bits;
    float single;
    switch (type) {
    case F32: return ((const float *)at)[i];
    case F64: return ((const double *)at)[i];
    case F16: return ((const _Float16 *)at)[i];
    case S8: return ((const signed char *)at)[i];
    case S32: return ((const int *)at)[i];
    }
    bits = (unsigned)((const unsigned short *)at)[i] << 16;
    memcpy(&single, &bits, 4);
    return single;
}

/* Pseudorandom numbers from -most to most, which are the same in each run. */
static unsigned state = 1;
static inline int next(int most) {
    state = state * 1664525u + 1013904223u;
    return (int)(state >> 16) % (2 * most + 1) - most;
}

#endif
