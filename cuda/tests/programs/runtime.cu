// A program of the runtime interface, as nvcc compiles it: kernels and variables by name, memory, streams, events, errors.
#include <cooperative_groups.h>

#include "runtime.h"

__device__ int counter = 40;
__constant__ float factors[4];
__managed__ int shared_counter = 7;

template <typename T>
__global__ void scale(T *y, const T *x, unsigned n) {
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = static_cast<T>(factors[1]) * x[i];
    }
    if (i == 0) {
        atomicAdd(&counter, 2);
        atomicAdd(&shared_counter, 1);
        printf("scale of %d bytes\n", int(sizeof(T)));
    }
}

// The sum of a block's values, in dynamic shared memory.
__global__ void sums(int *out, const int *in) {
    extern __shared__ int partial[];
    partial[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        __syncthreads();
        if (threadIdx.x < half) {
            partial[threadIdx.x] += partial[threadIdx.x + half];
        }
    }
    if (threadIdx.x == 0) {
        out[blockIdx.x] = partial[0];
    }
}

// Each block reads the value that the next block wrote before the grid barrier.
__global__ void rotate(int *a, int *b) {
    a[blockIdx.x] = blockIdx.x;
    cooperative_groups::this_grid().sync();
    b[blockIdx.x] = a[(blockIdx.x + 1) % gridDim.x];
}

static void memory_and_symbols() {
    float host[100], *x, *y;
    const float f[4] = {1, 3, 5, 7};
    double *wide;
    int count;
    OK(cudaMemcpyToSymbol(factors, f, sizeof f));
    OK(cudaMalloc(&x, sizeof host));
    OK(cudaMalloc(&y, sizeof host));
    OK(cudaMallocManaged(&wide, 2 * sizeof *wide));
    for (int i = 0; i < 100; ++i) {
        host[i] = float(i);
    }
    OK(cudaMemcpy(x, host, sizeof host, cudaMemcpyHostToDevice));
    scale<<<1, 128>>>(y, x, 100);
    OK(cudaGetLastError());
    OK(cudaMemcpy(host, y, sizeof host, cudaMemcpyDeviceToHost));
    HOLDS(host[99] == 297);
    wide[0] = 2;
    scale<<<1, 32>>>(wide + 1, wide, 1);
    OK(cudaDeviceSynchronize());
    HOLDS(wide[1] == 6 && shared_counter == 9);
    OK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
    HOLDS(count == 44);
    cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, wide));
    HOLDS(attributes.type == cudaMemoryTypeManaged && attributes.hostPointer == wide);
    OK(cudaPointerGetAttributes(&attributes, host));
    HOLDS(attributes.type == cudaMemoryTypeUnregistered);
    OK(cudaFree(x));
    OK(cudaFree(y));
    OK(cudaFree(wide));
    OK(cudaFree(nullptr));
}

static void streams_and_events() {
    enum { BLOCKS = 4, THREADS = 256 };
    int *host, *in, *out;
    float ms;
    cudaStream_t stream, second;
    cudaEvent_t start, end;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaEventCreate(&start));
    OK(cudaEventCreate(&end));
    OK(cudaMallocHost(&host, (BLOCKS + 1) * THREADS * sizeof *host));
    OK(cudaMallocAsync(&in, BLOCKS * THREADS * sizeof *in, stream));
    OK(cudaMallocAsync(&out, BLOCKS * sizeof *out, stream));
    for (int i = 0; i < BLOCKS * THREADS; ++i) {
        host[i] = i;
    }
    OK(cudaEventRecord(start, stream));
    OK(cudaMemcpyAsync(in, host, BLOCKS * THREADS * sizeof *in, cudaMemcpyDefault, stream));
    sums<<<BLOCKS, THREADS, THREADS * sizeof(int), stream>>>(out, in);
    OK(cudaEventRecord(end, stream));
    OK(cudaStreamWaitEvent(second, end, 0));
    OK(cudaMemcpyAsync(host + BLOCKS * THREADS, out, BLOCKS * sizeof *out, cudaMemcpyDefault, second));
    OK(cudaStreamSynchronize(second));
    for (int block = 0; block < BLOCKS; ++block) {
        HOLDS(host[BLOCKS * THREADS + block] == THREADS * THREADS * block + THREADS * (THREADS - 1) / 2);
    }
    OK(cudaEventElapsedTime(&ms, start, end));
    HOLDS(ms > 0);
    OK(cudaFreeAsync(in, stream));
    OK(cudaFreeAsync(out, stream));
    OK(cudaFreeHost(host));
    OK(cudaStreamDestroy(stream));
}

static void grid_barrier() {
    enum { BLOCKS = 8 };
    int *a, *b, host[BLOCKS];
    OK(cudaMalloc(&a, sizeof host));
    OK(cudaMalloc(&b, sizeof host));
    void *arguments[] = {&a, &b};
    OK(cudaLaunchCooperativeKernel((const void *)rotate, dim3(BLOCKS), dim3(1), arguments, 0, nullptr));
    OK(cudaMemcpy(host, b, sizeof host, cudaMemcpyDefault));
    for (int block = 0; block < BLOCKS; ++block) {
        HOLDS(host[block] == (block + 1) % BLOCKS);
    }
}

// A captured graph, launched several times.
static void graphs() {
    float host[32], *x;
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    size_t nodes;
    OK(cudaMalloc(&x, sizeof host));
    for (float &value : host) {
        value = 1;
    }
    OK(cudaMemcpy(x, host, sizeof host, cudaMemcpyDefault));
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    scale<<<1, 32, 0, stream>>>(x, x, 32);
    scale<<<1, 32, 0, stream>>>(x, x, 32);
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, nullptr, &nodes));
    HOLDS(nodes == 2);
    OK(cudaGraphInstantiate(&exec, graph, 0));
    for (int i = 0; i < 2; ++i) {
        OK(cudaGraphLaunch(exec, stream));
    }
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(host, x, sizeof host, cudaMemcpyDefault));
    HOLDS(host[31] == 81);
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaFree(x));
}

static void rows() {
    char host[3 * 10], *device;
    size_t pitch;
    HOLDS(cudaMallocPitch(&device, &pitch, (size_t)1 << 32, (size_t)1 << 32) == cudaErrorMemoryAllocation);
    OK(cudaMallocPitch(&device, &pitch, 8, 3));
    OK(cudaMemset2D(device, pitch, 5, 8, 3));
    OK(cudaMemset(device + pitch, 6, 1));
    HOLDS(cudaMemcpy2D(host, 4, device, pitch, 8, 3, cudaMemcpyDeviceToHost) == cudaErrorInvalidPitchValue);
    OK(cudaMemcpy2D(host, 10, device, pitch, 8, 3, cudaMemcpyDeviceToHost));
    HOLDS(host[0] == 5 && host[7] == 5 && host[10] == 6 && host[11] == 5 && host[27] == 5);
}

static void errors_and_properties() {
    cudaDeviceProp properties;
    cudaFuncAttributes attributes;
    int *pointer, blocks, block_size, grid_size;
    OK(cudaGetDeviceProperties(&properties, 0));
    HOLDS(properties.major == 9 && properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024);
    HOLDS(properties.sharedMemPerBlockOptin == 227 << 10 && properties.clusterLaunch == 1);
    OK(cudaFuncGetAttributes(&attributes, sums));
    HOLDS(attributes.maxThreadsPerBlock == 1024 && attributes.ptxVersion == 80);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, sums, 1024, 0));
    HOLDS(blocks == 2);
    OK(cudaOccupancyMaxPotentialBlockSize(&grid_size, &block_size, sums, 0, 0));
    HOLDS(block_size == 1024 && grid_size == 2 * properties.multiProcessorCount);
    HOLDS(cudaMalloc(&pointer, size_t(1) << 50) == cudaErrorMemoryAllocation);
    HOLDS(cudaPeekAtLastError() == cudaErrorMemoryAllocation);
    HOLDS(cudaGetLastError() == cudaErrorMemoryAllocation && cudaGetLastError() == cudaSuccess);
    sums<<<1, 2000>>>(nullptr, nullptr);
    HOLDS(cudaGetLastError() == cudaErrorInvalidConfiguration);
    sums<<<1, 32, 100 << 10>>>(nullptr, nullptr);
    HOLDS(cudaGetLastError() == cudaErrorInvalidValue);
    OK(cudaFuncSetAttribute(sums, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 << 10));
    HOLDS(cudaSetDevice(1) == cudaErrorInvalidDevice);
    cudaIpcMemHandle_t shared;
    HOLDS(cudaIpcGetMemHandle(&shared, nullptr) == cudaErrorNotSupported);
    cudaGetLastError();
    std::printf("%s: %s\n", cudaGetErrorName(cudaErrorIllegalAddress), cudaGetErrorString(cudaErrorIllegalAddress));
}

int main() {
    memory_and_symbols();
    streams_and_events();
    grid_barrier();
    graphs();
    rows();
    errors_and_properties();
    std::puts("done");
}
