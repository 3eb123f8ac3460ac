// A sum in shared memory without a barrier between its steps.
#include <cstdio>

__global__ void sum(int *out) {
    __shared__ int partial[64];
    partial[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 32) {
        partial[threadIdx.x] += partial[threadIdx.x + 32];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        int total = 0;
        for (int i = 0; i < 32; ++i) {
            total += partial[i];
        }
        *out = total;
    }
}

int main() {
    int *out, total;
    cudaMalloc(&out, sizeof total);
    for (int i = 0; i < 3; ++i) {
        sum<<<1, 64>>>(out);
    }
    cudaError_t error = cudaMemcpy(&total, out, sizeof total, cudaMemcpyDeviceToHost);
    std::printf("%s\n", cudaGetErrorString(error));
    return 0;
}
