// Objects of the runtime interface: pools, libraries, attributes of functions and streams, and graph nodes of any type.
#include <cstring>

#include "runtime.h"

__device__ int offset = 5;

__global__ void add(int *y, const int *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        y[i] = x[i] + offset;
    }
}

// A kernel and a variable as PTX text, for a library.
static const char TWICE[] =
    ".version 8.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 4 .b32 answer = 42;\n"
    ".visible .entry twice(.param .u64 y)\n{\n"
    "    .reg .b32 %r<2>;\n    .reg .b64 %rd<2>;\n"
    "    ld.param.u64 %rd1, [y];\n    ld.global.u32 %r1, [%rd1];\n    add.u32 %r1, %r1, %r1;\n"
    "    st.global.u32 [%rd1], %r1;\n    ret;\n}\n";

static int value(const int *address) {
    int result;
    OK(cudaMemcpy(&result, address, sizeof result, cudaMemcpyDeviceToHost));
    return result;
}

static void pools() {
    cudaMemPool_t pool;
    cudaMemPoolProps props = {};
    cudaMemAccessFlags access;
    cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    int *x;
    props.allocType = cudaMemAllocationTypePinned;
    props.location = here;
    OK(cudaMemPoolCreate(&pool, &props));
    OK(cudaMallocFromPoolAsync(&x, 400, pool, 0));
    OK(cudaMemsetAsync(x, 0, 400, 0));
    OK(cudaMemPoolGetAccess(&access, pool, &here));
    HOLDS(access == cudaMemAccessFlagsProtReadWrite && value(x) == 0);
    OK(cudaFreeAsync(x, 0));
    OK(cudaMemPoolDestroy(pool));
    HOLDS(cudaMemPoolTrimTo(pool, 0) != cudaSuccess);
}

static void libraries() {
    cudaLibrary_t library;
    cudaKernel_t kernel, listed;
    unsigned kernels;
    int *answer, device = 7;
    size_t bytes, from, size;
    const char *name;
    cudaStream_t stream;
    OK(cudaLibraryLoadData(&library, TWICE, nullptr, nullptr, 0, nullptr, nullptr, 0));
    OK(cudaLibraryGetKernelCount(&kernels, library));
    OK(cudaLibraryGetKernel(&kernel, library, "twice"));
    OK(cudaLibraryEnumerateKernels(&listed, 1, library));
    OK(cudaLibraryGetGlobal((void **)&answer, &bytes, library, "answer"));
    HOLDS(kernels == 1 && listed == kernel && bytes == 4 && value(answer) == 42);
    void *arguments[] = {&answer};
    OK(cudaLaunchKernel((const void *)kernel, 1, 1, arguments, 0, 0));
    HOLDS(value(answer) == 84);
    HOLDS(cudaLibraryGetKernel(&kernel, library, "thrice") != cudaSuccess);
    OK(cudaLibraryUnload(library));

    OK(cudaFuncGetName(&name, (const void *)add));
    HOLDS(std::strcmp(name, "_Z3addPiPKii") == 0);
    OK(cudaFuncGetParamInfo((const void *)add, 2, &from, &size));
    HOLDS(from == 16 && size == 4);
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamGetDevice(stream, &device));
    HOLDS(device == 0);
    cudaStreamAttrValue set = {}, got = {};
    set.syncPolicy = cudaSyncPolicyYield;
    OK(cudaStreamSetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &set));
    OK(cudaStreamGetAttribute(stream, cudaStreamAttributeSynchronizationPolicy, &got));
    HOLDS(got.syncPolicy == cudaSyncPolicyYield);
}

static void boxes() {
    cudaPitchedPtr box, other;
    cudaExtent extent = make_cudaExtent(8, 4, 2);
    cudaMemcpy3DPeerParms copy = {};
    int host[16];
    OK(cudaMalloc3D(&box, extent));
    OK(cudaMalloc3D(&other, extent));
    OK(cudaMemset3DAsync(box, 3, extent, 0));
    copy.srcPtr = box;
    copy.dstPtr = other;
    copy.extent = extent;
    OK(cudaMemcpy3DPeer(&copy));
    OK(cudaMemcpy2D(host, 8, other.ptr, other.pitch, 8, 8, cudaMemcpyDeviceToHost));
    for (int word : host) {
        HOLDS(word == 0x03030303);
    }
}

static void nodes() {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaGraphNode_t fill, work, copy;
    cudaGraphNodeParams params = {};
    cudaKernelNodeParams kernel;
    cudaMemcpy3DParms moved;
    int *x, *y, n = 100, *pinned;
    OK(cudaMalloc(&x, 400));
    OK(cudaMalloc(&y, 400));
    OK(cudaMallocHost(&pinned, 400));
    void *arguments[] = {&y, &x, &n};
    OK(cudaGraphCreate(&graph, 0));
    params.type = cudaGraphNodeTypeMemset;
    params.memset.dst = x;
    params.memset.elementSize = 4;
    params.memset.value = 2;
    params.memset.width = 100;
    params.memset.height = 1;
    OK(cudaGraphAddNode(&fill, graph, nullptr, nullptr, 0, &params));
    params = {};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = (void *)add;
    params.kernel.gridDim = dim3(1);
    params.kernel.blockDim = dim3(128);
    params.kernel.kernelParams = arguments;
    OK(cudaGraphAddNode(&work, graph, &fill, nullptr, 1, &params));
    params = {};
    params.type = cudaGraphNodeTypeMemcpy;
    params.memcpy.copyParams.srcPtr = make_cudaPitchedPtr(y, 400, 400, 1);
    params.memcpy.copyParams.dstPtr = make_cudaPitchedPtr(pinned, 400, 400, 1);
    params.memcpy.copyParams.extent = make_cudaExtent(400, 1, 1);
    params.memcpy.copyParams.kind = cudaMemcpyDefault;
    OK(cudaGraphAddNode(&copy, graph, &work, nullptr, 1, &params));
    OK(cudaGraphInstantiate(&exec, graph, 0));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    HOLDS(pinned[0] == 7 && pinned[99] == 7);

    OK(cudaGraphKernelNodeGetParams(work, &kernel));
    HOLDS(kernel.func == (void *)add && kernel.blockDim.x == 128 && *(int *)kernel.kernelParams[2] == 100);
    OK(cudaGraphMemcpyNodeGetParams(copy, &moved));
    HOLDS(moved.srcPtr.ptr == y && moved.dstPtr.ptr == pinned && moved.extent.width == 400 && moved.extent.depth == 1);
    n = 50;
    params = {};
    params.type = cudaGraphNodeTypeKernel;
    params.kernel.func = (void *)add;
    params.kernel.gridDim = dim3(1);
    params.kernel.blockDim = dim3(128);
    arguments[1] = arguments[0];
    params.kernel.kernelParams = arguments;
    OK(cudaGraphExecNodeSetParams(exec, work, &params));
    OK(cudaGraphLaunch(exec, 0));
    OK(cudaStreamSynchronize(0));
    HOLDS(pinned[0] == 12 && pinned[49] == 12 && pinned[50] == 7);
}

// The advice for a range of managed memory can be queried.
static void advice() {
    const cudaMemLocation here = {cudaMemLocationTypeDevice, {0}};
    int *x, mostly = 0, preferred = 99;
    void *outs[1] = {&preferred};
    size_t sizes[1] = {sizeof preferred};
    cudaMemRangeAttribute names[1] = {cudaMemRangeAttributePreferredLocation};
    OK(cudaMallocManaged(&x, 400));
    OK(cudaMemAdvise(x, 400, cudaMemAdviseSetReadMostly, here));
    OK(cudaMemAdvise(x, 400, cudaMemAdviseSetPreferredLocation, here));
    OK(cudaMemRangeGetAttribute(&mostly, sizeof mostly, cudaMemRangeAttributeReadMostly, x, 400));
    OK(cudaMemRangeGetAttributes(outs, sizes, names, 1, x, 400));
    HOLDS(mostly == 1 && preferred == 0);
    OK(cudaFree(x));
}

int main() {
    pools();
    advice();
    libraries();
    boxes();
    nodes();
    std::puts("done");
}
