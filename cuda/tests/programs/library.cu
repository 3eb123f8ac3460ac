// A shared library with a kernel, a variable and a linked-in copy of NVIDIA's runtime library.
#include <cstdio>

__device__ int factor = 2;

__global__ void multiply(int *x) {
    *x *= factor;
}

extern "C" int product(int value, int by) {
    int *x, result = -1;
    cudaMalloc(&x, sizeof *x);
    cudaMemcpyToSymbol(factor, &by, sizeof by);
    cudaMemcpy(x, &value, sizeof value, cudaMemcpyHostToDevice);
    multiply<<<1, 1>>>(x);
    cudaMemcpy(&result, x, sizeof result, cudaMemcpyDeviceToHost);
    cudaFree(x);
    if (cudaGetLastError() != cudaSuccess) {
        std::puts("an error");
    }
    return result;
}
