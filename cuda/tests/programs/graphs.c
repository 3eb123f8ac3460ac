/* Graphs: built node by node, and captured from streams. */
#include "driver.h"

typedef struct {
    CUdeviceptr dst;
    size_t pitch;
    unsigned value, elementSize;
    size_t width, height;
} MemsetParams;
typedef struct {
    void (*fn)(void *);
    void *data;
} HostParams;
typedef struct {
    int result;
    CUgraphNode errorNode, errorFromNode;
} UpdateResult;

CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphClone(CUgraph *, CUgraph);
CUresult cuGraphAddMemsetNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const MemsetParams *, CUcontext);
CUresult cuGraphAddHostNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const HostParams *);
CUresult cuGraphAddDependencies(CUgraph, const CUgraphNode *, const CUgraphNode *, size_t);
CUresult cuGraphGetNodes(CUgraph, CUgraphNode *, size_t *);
CUresult cuGraphNodeGetType(CUgraphNode, int *);
CUresult cuGraphNodeGetDependencies(CUgraphNode, CUgraphNode *, size_t *);
CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *);
CUresult cuGraphExecUpdate_v2(CUgraphExec, CUgraph, UpdateResult *);
CUresult cuGraphNodeSetEnabled(CUgraphExec, CUgraphNode, unsigned);
CUresult cuGraphExecDestroy(CUgraphExec);
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode, CUDA_MEM_ALLOC_NODE_PARAMS *);
CUresult cuGraphMemFreeNodeGetParams(CUgraphNode, CUdeviceptr *);
CUresult cuDeviceGetGraphMemAttribute(CUdevice, int, uint64_t *);
CUresult cuDeviceSetGraphMemAttribute(CUdevice, int, uint64_t *);
CUresult cuStreamIsCapturing(CUstream, int *);

static CUdeviceptr x, y;
static CUfunction function;

static void count(void *calls) {
    ++*(int *)calls;
}

static CUDA_KERNEL_NODE_PARAMS kernel(void **arguments) {
    CUDA_KERNEL_NODE_PARAMS params = {function, 1, 1, 1, 128, 1, 1, 0, arguments, NULL, NULL, NULL};
    return params;
}

static float value(CUdeviceptr address) {
    float result;
    OK(cuMemcpyDtoH_v2(&result, address, 4));
    return result;
}

static void node_by_node(void) {
    CUgraph graph, clone;
    CUgraphExec exec;
    CUgraphNode fill, first, second, host, nodes[5];
    float two = 2, three = 3;
    unsigned n = 100;
    int calls = 0, type;
    size_t size = 5;
    void *up[] = {&y, &x, &two, &n}, *down[] = {&x, &y, &three, &n};
    CUDA_KERNEL_NODE_PARAMS params = kernel(up);
    MemsetParams one = {x, 0, 0x3f800000, 4, 100, 1};
    HostParams counter = {count, &calls};
    UpdateResult result;

    /* Nodes added out of order; the dependencies give the order x = 1, y = 2x, x = 3y, host call. */
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&first, graph, NULL, 0, &params));
    OK(cuGraphAddMemsetNode(&fill, graph, NULL, 0, &one, NULL));
    OK(cuGraphAddDependencies(graph, &fill, &first, 1));
    params = kernel(down);
    OK(cuGraphAddKernelNode_v2(&second, graph, &first, 1, &params));
    OK(cuGraphAddHostNode(&host, graph, &second, 1, &counter));
    OK(cuGraphGetNodes(graph, nodes, &size));
    HOLDS(size == 4 && nodes[0] == first && nodes[4] == NULL);
    OK(cuGraphNodeGetType(fill, &type));
    HOLDS(type == 2);
    OK(cuGraphNodeGetDependencies(second, NULL, &size));
    HOLDS(size == 1);
    EXPECT(INVALID_VALUE, cuGraphAddDependencies(graph, &fill, &first, 1));
    EXPECT(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 5));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    HOLDS(value(x + 396) == 6 && value(y) == 2 && calls == 1);

    /* Changes to the executable graph affect later launches. */
    three = 5;
    OK(cuGraphLaunch(exec, NULL));
    HOLDS(value(x) == 6);
    OK(cuGraphExecKernelNodeSetParams_v2(exec, second, &params));
    OK(cuGraphLaunch(exec, NULL));
    HOLDS(value(x) == 10 && calls == 3);
    OK(cuGraphNodeSetEnabled(exec, second, 0));
    OK(cuGraphLaunch(exec, NULL));
    HOLDS(value(x) == 1 && calls == 4);
    OK(cuGraphNodeSetEnabled(exec, second, 1));
    EXPECT(INVALID_VALUE, cuGraphNodeSetEnabled(exec, host, 0));
    OK(cuGraphExecUpdate_v2(exec, graph, &result));
    OK(cuGraphLaunch(exec, NULL));
    HOLDS(value(x) == 6 && result.result == 0);

    OK(cuGraphClone(&clone, graph));
    OK(cuGraphDestroy(graph));
    EXPECT(INVALID_VALUE, cuGraphNodeGetType(fill, &type));
    OK(cuGraphAddHostNode(&host, clone, NULL, 0, &counter));
    EXPECT(910, cuGraphExecUpdate_v2(exec, clone, &result)); /* CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE */
    HOLDS(result.result == 2);
    OK(cuGraphExecDestroy(exec));
    EXPECT(INVALID_VALUE, cuGraphLaunch(exec, NULL));

    /* A cycle cannot be executed. */
    OK(cuGraphGetNodes(clone, nodes, (size = 5, &size)));
    OK(cuGraphAddDependencies(clone, &nodes[3], &nodes[1], 1));
    EXPECT(INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, clone, 0));
}

static void captured(void) {
    CUstream one, two;
    CUevent fork, join;
    CUgraph graph;
    CUgraphExec exec;
    int status;
    size_t size = 0;
    OK(cuStreamCreate(&one, 0));
    OK(cuStreamCreate(&two, 1));
    OK(cuEventCreate(&fork, 0));
    OK(cuEventCreate(&join, 0));

    /* x and y are filled on two streams, then y is scaled. */
    OK(cuMemsetD32Async(x, 0, 100, one));
    OK(cuStreamSynchronize(one));
    OK(cuStreamBeginCapture_v2(one, 0));
    OK(cuEventRecord(fork, one));
    OK(cuStreamWaitEvent(two, fork, 0));
    OK(cuMemsetD32Async(x, 0x3f800000, 100, one));
    OK(cuMemsetD32Async(y, 0x40000000, 100, two));
    OK(cuStreamIsCapturing(two, &status));
    HOLDS(status == 1);
    OK(cuEventRecord(join, two));
    OK(cuStreamWaitEvent(one, join, 0));
    OK(launch(function, y, y, 4, 100, one));
    EXPECT(903, cuStreamEndCapture(two, &graph)); /* CUDA_ERROR_STREAM_CAPTURE_UNMATCHED */
    OK(cuStreamEndCapture(one, &graph));
    OK(cuGraphGetNodes(graph, NULL, &size));
    HOLDS(size == 3);
    OK(cuStreamIsCapturing(two, &status));
    HOLDS(status == 0 && value(x) == 0);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, two));
    OK(cuStreamSynchronize(two));
    HOLDS(value(x) == 1 && value(y) == 8);

    /* A call that waits invalidates a capture. So does a forked stream that does not rejoin it. */
    OK(cuStreamBeginCapture_v2(one, 0));
    OK(cuMemsetD32Async(x, 0, 1, one));
    EXPECT(900, cuStreamSynchronize(one)); /* CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
    EXPECT(901, cuMemsetD32Async(x, 0, 1, one)); /* CUDA_ERROR_STREAM_CAPTURE_INVALIDATED */
    EXPECT(901, cuStreamEndCapture(one, &graph));
    HOLDS(graph == NULL);
    OK(cuStreamBeginCapture_v2(one, 0));
    OK(cuEventRecord(fork, one));
    OK(cuStreamWaitEvent(two, fork, 0));
    OK(cuMemsetD32Async(x, 0, 1, two));
    EXPECT(904, cuStreamEndCapture(one, &graph)); /* CUDA_ERROR_STREAM_CAPTURE_UNJOINED */
    OK(cuStreamBeginCapture_v2(one, 0));
    EXPECT(906, cuMemsetD32Async(x, 0, 1, NULL)); /* CUDA_ERROR_STREAM_CAPTURE_IMPLICIT */
    EXPECT(901, cuStreamEndCapture(one, &graph));
    EXPECT(900, cuStreamBeginCapture_v2(NULL, 0));
}

/* The number of bytes that nodes have allocated: current (0) or peak (1). */
static uint64_t used(int attribute) {
    uint64_t bytes;
    OK(cuDeviceGetGraphMemAttribute(0, attribute, &bytes));
    return bytes;
}

static void memory_of_nodes(void) {
    CUgraph graph;
    CUgraphExec exec, cleaning;
    CUgraphNode alloc, work, copy, node;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {1, 0, 1, 0, {0}, NULL, 0, 400, 0}, told;
    CUDA_KERNEL_NODE_PARAMS launched;
    CUdeviceptr z, freed;
    float two = 2, three = 3;
    unsigned n = 100;
    void *there[] = {&z, &x, &two, &n}, *back[] = {&y, &z, &three, &n};
    int type;
    uint64_t zero = 0;

    /* z = 2x, y = 3z, where z is allocated by the graph. */
    OK(cuMemsetD32Async(x, 0x3f800000, 100, NULL));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    z = params.dptr;
    OK(cuGraphMemAllocNodeGetParams(alloc, &told));
    HOLDS(told.dptr == z && told.bytesize == 400);
    OK(cuGraphNodeGetType(alloc, &type));
    HOLDS(type == 10);
    launched = kernel(there);
    OK(cuGraphAddKernelNode_v2(&work, graph, &alloc, 1, &launched));
    launched = kernel(back);
    OK(cuGraphAddKernelNode_v2(&copy, graph, &work, 1, &launched));
    EXPECT(INVALID_VALUE, cuMemFree_v2(z));

    /* Without a node that frees it, the memory remains allocated, and the graph cannot be launched again. */
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphInstantiateWithFlags(&cleaning, graph, 1));
    HOLDS(used(0) == 0);
    OK(cuGraphLaunch(exec, NULL));
    HOLDS(value(z) == 2 && value(y) == 6 && used(0) == 400 && used(1) == 400);
    EXPECT(INVALID_VALUE, cuGraphLaunch(exec, NULL));
    OK(cuGraphLaunch(cleaning, NULL));
    HOLDS(value(z + 396) == 2);
    OK(cuMemFree_v2(z));
    HOLDS(used(0) == 0 && used(1) == 400);
    OK(cuDeviceSetGraphMemAttribute(0, 1, &zero));
    HOLDS(used(1) == 0);
    OK(cuGraphLaunch(exec, NULL));
    OK(cuMemFreeAsync(z, NULL));
    EXPECT(INVALID_VALUE, cuMemFreeAsync(z, NULL));
    OK(cuCtxSynchronize());
    HOLDS(used(0) == 0);

    OK(cuGraphAddMemFreeNode(&node, graph, &copy, 1, z));
    OK(cuGraphMemFreeNodeGetParams(node, &freed));
    HOLDS(freed == z);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    for (int i = 0; i < 3; ++i) {
        OK(cuGraphLaunch(exec, NULL));
    }
    HOLDS(value(y) == 6 && used(0) == 0 && used(1) == 400);

    /* Captured calls become allocation and free nodes. */
    {
        CUstream stream;
        CUgraph captured;
        OK(cuStreamCreate(&stream, 0));
        OK(cuStreamBeginCapture_v2(stream, 0));
        OK(cuMemAllocAsync(&z, 400, stream));
        OK(cuMemsetD32Async(z, 0x40400000, 100, stream));
        OK(launch(function, y, z, 5, 100, stream));
        OK(cuMemFreeAsync(z, stream));
        OK(cuStreamEndCapture(stream, &captured));
        OK(cuGraphInstantiateWithFlags(&exec, captured, 0));
        OK(cuGraphLaunch(exec, stream));
        OK(cuGraphLaunch(exec, stream));
        OK(cuStreamSynchronize(stream));
        HOLDS(value(y) == 15 && used(0) == 0);
    }
}

int main(void) {
    start();
    function = scale();
    OK(cuMemAlloc_v2(&x, 400));
    OK(cuMemAlloc_v2(&y, 400));
    node_by_node();
    captured();
    memory_of_nodes();
    puts("done");
    return 0;
}
