"""Times the way from source to the end of the first launch of a bf16 product of row-major matrices with sums in f32, for comparison with
`warpwright bench gemm --overhead`: a Triton kernel with one configuration, and CUDA C++ with `nvcuda::wmma` that nvcc compiles to a shared library.

Each is compiled with empty caches, after CUDA has been initialized and the modules have been imported. Prints the median of 5 times in milliseconds, and
compares the results with PyTorch's.
"""

import ctypes
import os
import statistics
import subprocess
import tempfile
import time

import torch
import triton
import triton.language as tl

SIZE = 4096
ROUNDS = 5

CUDA = r"""
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;
constexpr int TILE = 128, DEPTH = 32;

// A block of 8 warps computes 128x128 elements, each warp 32x64.
__global__ void __launch_bounds__(256) matmul(const __nv_bfloat16 *a, const __nv_bfloat16 *b, float *d, int n, int depth) {
    __shared__ __nv_bfloat16 sa[TILE][DEPTH + 8], sb[DEPTH][TILE + 8];
    int warp = threadIdx.x / 32, row = blockIdx.y * TILE, col = blockIdx.x * TILE;
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sums[2][4];
    for (auto &line : sums)
        for (auto &sum : line)
            wmma::fill_fragment(sum, 0.0f);
    for (int k = 0; k < depth; k += DEPTH) {
        for (int i = threadIdx.x * 8; i < TILE * DEPTH; i += 256 * 8) {
            *(uint4 *)&sa[i / DEPTH][i % DEPTH] = *(const uint4 *)&a[(size_t)(row + i / DEPTH) * depth + k + i % DEPTH];
            *(uint4 *)&sb[i / TILE][i % TILE] = *(const uint4 *)&b[(size_t)(k + i / TILE) * n + col + i % TILE];
        }
        __syncthreads();
        for (int s = 0; s < DEPTH; s += 16) {
            wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left[2];
            wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> right[4];
            for (int i = 0; i < 2; i++)
                wmma::load_matrix_sync(left[i], &sa[warp / 2 * 32 + i * 16][s], DEPTH + 8);
            for (int j = 0; j < 4; j++)
                wmma::load_matrix_sync(right[j], &sb[s][warp % 2 * 64 + j * 16], TILE + 8);
            for (int i = 0; i < 2; i++)
                for (int j = 0; j < 4; j++)
                    wmma::mma_sync(sums[i][j], left[i], right[j], sums[i][j]);
        }
        __syncthreads();
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 4; j++)
            wmma::store_matrix_sync(&d[(size_t)(row + warp / 2 * 32 + i * 16) * n + col + warp % 2 * 64 + j * 16], sums[i][j], n, wmma::mem_row_major);
}

extern "C" int launch(const void *a, const void *b, void *d, int m, int n, int depth) {
    matmul<<<dim3(n / TILE, m / TILE), 256>>>((const __nv_bfloat16 *)a, (const __nv_bfloat16 *)b, (float *)d, n, depth);
    return cudaDeviceSynchronize();
}
"""


def triton_kernel():
    @triton.jit
    def matmul(a, b, d, n, depth, TILE: tl.constexpr, DEPTH: tl.constexpr):
        rows = tl.program_id(1) * TILE + tl.arange(0, TILE)
        cols = tl.program_id(0) * TILE + tl.arange(0, TILE)
        steps = tl.arange(0, DEPTH)
        total = tl.zeros((TILE, TILE), tl.float32)
        for k in range(0, depth, DEPTH):
            left = tl.load(a + rows[:, None] * depth + k + steps[None, :])
            right = tl.load(b + (k + steps[:, None]) * n + cols[None, :])
            total = tl.dot(left, right, total)
        tl.store(d + rows[:, None] * n + cols[None, :], total)

    return matmul


def first_triton(a, b, d):
    with tempfile.TemporaryDirectory() as cache:
        # Triton reads the variable for each kernel that it compiles.
        os.environ["TRITON_CACHE_DIR"] = cache
        start = time.perf_counter()
        triton_kernel()[SIZE // 128, SIZE // 128](a, b, d, SIZE, SIZE, TILE=128, DEPTH=64, num_warps=8, num_stages=3)
        torch.cuda.synchronize()
        return time.perf_counter() - start


def first_nvcc(a, b, d):
    with tempfile.TemporaryDirectory() as folder:
        source, library = f"{folder}/matmul.cu", f"{folder}/matmul.so"
        with open(source, "w") as file:
            file.write(CUDA)
        start = time.perf_counter()
        subprocess.run(["nvcc", "-arch=sm_90a", "-O3", "-shared", "-Xcompiler", "-fPIC", "-o", library, source], check=True)
        pointers = [ctypes.c_void_p(x.data_ptr()) for x in (a, b, d)]
        status = ctypes.CDLL(library).launch(*pointers, SIZE, SIZE, SIZE)
        taken = time.perf_counter() - start
        assert status == 0, f"launch failed: {status}"
        return taken


def main():
    a, b = (torch.randn(SIZE, SIZE, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    expected = a.float() @ b.float()
    for name, first in [("Triton", first_triton), ("nvcc", first_nvcc)]:
        times = []
        for _ in range(ROUNDS):
            d = torch.full((SIZE, SIZE), float("nan"), device="cuda")
            times.append(first(a, b, d) * 1e3)
            error = ((d - expected).norm() / expected.norm()).item()
            assert error < 1e-3, f"{name}: relative error {error}"
        print(f"{name:8} {statistics.median(times):9.1f} ms ({min(times):.1f} … {max(times):.1f})")


main()
