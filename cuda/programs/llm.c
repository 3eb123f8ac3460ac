#!/usr/bin/env bash
# Compiles the kernels of llm.c, in `dev/cuda`, and runs each variant on the simulated driver: one line per variant with its outcome.
# The programs compare each variant with their own code for the CPU.
#
#     cuda/programs/llm.c CHECKOUT [NAME...]
#
# CHECKOUT is a checkout of https://github.com/karpathy/llm.c, NAME a program such as `softmax_forward` (all of them by default).
# WARPWRIGHT_NVCC names the compiler (`.ci/nvcc`). common.sh explains the outcomes. Sizes are smaller than in the programs, and times are
# measured once. cuBLAS is machine code: programs that use more of it than handles do not build.
set -uo pipefail
checkout=$(cd "$1" && pwd)
shift
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
[[ $# -gt 0 ]] || mapfile -t all < <(cd "$checkout/dev/cuda" && ls -- *.cu | sed 's/\.cu$//')
[[ $# -gt 0 ]] || set -- "${all[@]}"

cp -r "$checkout/dev/cuda" "$checkout/llmc" "$work"
mkdir "$work/include"
cat >"$work/include/cublas_v2.h" <<'HEADER'
#pragma once
#include <cuda_runtime.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
typedef int cublasStatus_t;
typedef void *cublasHandle_t, *cublasLtHandle_t;
typedef enum { CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_32F_FAST_TF32 } cublasComputeType_t;
typedef enum { CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH } cublasMath_t;
enum { CUBLAS_STATUS_SUCCESS };
inline int cublasCreate(cublasHandle_t *) { return 0; }
inline int cublasDestroy(cublasHandle_t) { return 0; }
inline int cublasLtCreate(cublasLtHandle_t *) { return 0; }
inline int cublasLtDestroy(cublasLtHandle_t) { return 0; }
inline int cublasSetMathMode(cublasHandle_t, cublasMath_t) { return 0; }
HEADER
ln -s cublas_v2.h "$work/include/cublasLt.h"

cd "$work/cuda" || exit 1
sed -i -E 's/\b(int|int64_t) B = [0-9]+/\1 B = 2/; s/\b(int|int64_t) T = 1024/\1 T = 64/; s/\bV = 50257/V = 1027/
    s/repeat_times = [0-9]+/repeat_times = 1/; s/num_parameters = 1048576/num_parameters = 16384/' ./*.cu
for name in "$@"; do
    log=$work/$name.log
    if ! compile -O3 --use_fast_math -Xcompiler -fopenmp -I "$work/include" -o "$name" "$name.cu"; then
        report_build "$name"
        continue
    fi
    # Each variant of the launch function has a case.
    variants=$(grep -oE 'case [0-9]+: *$' "$name.cu" | grep -oE '[0-9]+' | sort -nu)
    for variant in ${variants:-1}; do
        run "$name $variant" "./$name" "$variant"
    done
done
