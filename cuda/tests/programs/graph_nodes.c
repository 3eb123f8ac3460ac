/* Graphs: nodes of any type, their parameters, events, attributes of kernels, and the dependencies of a capture. */
#include "driver.h"

#include <pthread.h>
#include <unistd.h>

CUresult cuGraphDestroy(CUgraph);
CUresult cuGraphKernelNodeGetParams_v2(CUgraphNode, CUDA_KERNEL_NODE_PARAMS *);
CUresult cuGraphKernelNodeSetParams_v2(CUgraphNode, const CUDA_KERNEL_NODE_PARAMS *);
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode, int, const void *);
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode, int, void *);
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode, CUgraphNode);
CUresult cuGraphAddEventRecordNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
CUresult cuGraphAddEventWaitNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUevent);
CUresult cuGraphEventRecordNodeGetEvent(CUgraphNode, CUevent *);
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec, CUgraphNode, CUevent);
CUresult cuGraphNodeGetContainingGraph(CUgraphNode, CUgraph *);
CUresult cuGraphGetId(CUgraph, unsigned *);
CUresult cuEventRecordWithFlags(CUevent, CUstream, unsigned);
CUresult cuStreamGetCaptureInfo_v3(CUstream, int *, uint64_t *, CUgraph *, const CUgraphNode **, const void **, size_t *);
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream, CUgraphNode *, const void *, size_t, unsigned);

/* `CUgraphNodeParams`: the parameters of a type start at `bytes`; the `CUDA_MEMCPY3D` of a copy starts 16 bytes later. */
typedef struct {
    int type, reserved[3];
    union {
        long long words[29];
        char bytes[232];
        CUDA_KERNEL_NODE_PARAMS kernel;
        struct {
            CUdeviceptr dst;
            size_t pitch;
            unsigned value, elementSize;
            size_t width, height;
        } fill;
        struct {
            void (*function)(void *);
            void *data;
        } host;
        CUevent event;
    } of;
    long long end;
} CUgraphNodeParams;
CUresult cuGraphAddNode_v2(CUgraphNode *, CUgraph, const CUgraphNode *, const void *, size_t, CUgraphNodeParams *);
CUresult cuGraphNodeGetParams(CUgraphNode, CUgraphNodeParams *);
CUresult cuGraphNodeSetParams(CUgraphNode, CUgraphNodeParams *);
CUresult cuGraphExecNodeSetParams(CUgraphExec, CUgraphNode, CUgraphNodeParams *);
CUresult cuGraphAddMemcpyNode(CUgraphNode *, CUgraph, const CUgraphNode *, size_t, const void *, CUcontext);
CUresult cuGraphMemcpyNodeGetParams(CUgraphNode, void *);

/* `CUDA_MEMCPY3D`. */
typedef struct {
    size_t x, y, z, level;
    unsigned memory;
    const void *host;
    CUdeviceptr device;
    void *array, *reserved;
    size_t pitch, height;
} Side;
typedef struct {
    Side from, to;
    size_t width, height, depth;
} Copy;

static CUdeviceptr x, y;
static CUfunction function;
static float *pinned;
static int calls;

static void count(void *by) {
    calls += *(int *)by;
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void pass(void *unused) {
    (void)unused;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

static CUgraphNodeParams of_type(int type) {
    CUgraphNodeParams params;
    memset(&params, 0, sizeof params);
    params.type = type;
    return params;
}

/* pinned[0] = 2 * fill, computed by a fill, a kernel, a copy and a host function; then with other parameters. */
static void parameters(void) {
    CUgraph graph, containing;
    CUgraphExec exec;
    CUgraphNode fill, work, copy, call, empty;
    CUgraphNodeParams params;
    float two = 2, three = 3;
    unsigned n = 100, id;
    void *arguments[] = {&y, &x, &two, &n};
    Copy moved;
    static int one = 1, ten = 10;

    OK(cuGraphCreate(&graph, 0));
    params = of_type(2);
    params.of.fill.dst = x;
    params.of.fill.value = 0x3f800000;
    params.of.fill.elementSize = 4;
    params.of.fill.width = 100;
    params.of.fill.height = 1;
    OK(cuGraphAddNode_v2(&fill, graph, NULL, NULL, 0, &params));
    params = of_type(0);
    params.of.kernel = (CUDA_KERNEL_NODE_PARAMS){function, 1, 1, 1, 128, 1, 1, 0, arguments, NULL, NULL, NULL};
    OK(cuGraphAddNode_v2(&work, graph, &fill, NULL, 1, &params));
    params = of_type(1);
    moved = (Copy){{.memory = 2, .device = y, .pitch = 4}, {.memory = 1, .host = pinned, .pitch = 4}, 4, 1, 1};
    memcpy(params.of.bytes + 16, &moved, sizeof moved);
    OK(cuGraphAddNode_v2(&copy, graph, &work, NULL, 1, &params));
    params = of_type(3);
    params.of.host.function = count;
    params.of.host.data = &one;
    OK(cuGraphAddNode_v2(&call, graph, &copy, NULL, 1, &params));
    params = of_type(5);
    OK(cuGraphAddNode_v2(&empty, graph, &call, NULL, 1, &params));
    params = of_type(13);
    EXPECT(NOT_SUPPORTED, cuGraphAddNode_v2(&empty, graph, NULL, NULL, 0, &params));
    params = of_type(77);
    EXPECT(INVALID_VALUE, cuGraphAddNode_v2(&empty, graph, NULL, NULL, 0, &params));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuStreamSynchronize(NULL));
    HOLDS(pinned[0] == 2 && calls == 1);

    /* The parameters are those that were set. The node keeps a copy of the kernel's arguments. */
    OK(cuGraphNodeGetParams(fill, &params));
    HOLDS(params.type == 2 && params.of.fill.dst == x && params.of.fill.value == 0x3f800000 && params.of.fill.width == 100);
    OK(cuGraphNodeGetParams(call, &params));
    HOLDS(params.type == 3 && params.of.host.function == count && params.of.host.data == &one);
    OK(cuGraphNodeGetParams(copy, &params));
    memcpy(&moved, params.of.bytes + 16, sizeof moved);
    HOLDS(moved.from.device == y && moved.from.memory == 2 && moved.to.host == pinned && moved.width == 4 && moved.depth == 1);
    OK(cuGraphMemcpyNodeGetParams(copy, &moved));
    HOLDS(moved.from.device == y && moved.to.memory == 1);
    OK(cuGraphNodeGetParams(work, &params));
    HOLDS(params.type == 0 && params.of.kernel.blockDimX == 128 && *(float *)params.of.kernel.kernelParams[2] == 2);
    two = 5;
    HOLDS(*(float *)params.of.kernel.kernelParams[2] == 2);

    /* Changes to the executable graph affect later launches; changes to a node affect only later instantiations. */
    arguments[2] = &three;
    params.of.kernel.kernelParams = arguments;
    OK(cuGraphExecNodeSetParams(exec, work, &params));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuStreamSynchronize(NULL));
    HOLDS(pinned[0] == 3 && calls == 2);
    params = of_type(3);
    params.of.host.function = count;
    params.of.host.data = &ten;
    EXPECT(INVALID_VALUE, cuGraphNodeSetParams(work, &params));
    OK(cuGraphNodeSetParams(call, &params));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuStreamSynchronize(NULL));
    HOLDS(calls == 3);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, NULL));
    OK(cuStreamSynchronize(NULL));
    HOLDS(pinned[0] == 2 && calls == 13);

    OK(cuGraphNodeGetContainingGraph(work, &containing));
    HOLDS(containing == graph);
    OK(cuGraphGetId(graph, &id));
    HOLDS(id > 0);
}

/* A kernel node keeps its attributes when its parameters change. */
static void attributes(void) {
    CUgraph graph;
    CUgraphNode node, other;
    float two = 2;
    unsigned n = 100, value[16] = {0};
    void *arguments[] = {&y, &x, &two, &n};
    CUDA_KERNEL_NODE_PARAMS params = {function, 2, 1, 1, 128, 1, 1, 0, arguments, NULL, NULL, NULL};

    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddKernelNode_v2(&node, graph, NULL, 0, &params));
    OK(cuGraphAddKernelNode_v2(&other, graph, NULL, 0, &params));
    value[0] = 2;
    value[1] = value[2] = 1;
    OK(cuGraphKernelNodeSetAttribute(node, 4, value)); /* CU_KERNEL_NODE_ATTRIBUTE_CLUSTER_DIMENSION */
    params.gridDimX = 4;
    OK(cuGraphKernelNodeSetParams_v2(node, &params));
    memset(value, 0, sizeof value);
    OK(cuGraphKernelNodeGetAttribute(node, 4, value));
    HOLDS(value[0] == 2 && value[2] == 1);
    OK(cuGraphKernelNodeGetParams_v2(node, &params));
    HOLDS(params.gridDimX == 4);
    OK(cuGraphKernelNodeCopyAttributes(other, node));
    OK(cuGraphKernelNodeGetAttribute(other, 4, value));
    HOLDS(value[0] == 2);
    OK(cuGraphDestroy(graph));
}

/* A graph waits for an event and records another event, for which a stream waits. */
static void events(void) {
    CUstream one, two, three;
    CUevent before, after, told;
    CUgraph graph;
    CUgraphExec exec;
    CUgraphNode wait, fill, record;
    CUgraphNodeParams params;

    OK(cuStreamCreate(&one, 1));
    OK(cuStreamCreate(&two, 1));
    OK(cuStreamCreate(&three, 1));
    OK(cuEventCreate(&before, 0));
    OK(cuEventCreate(&after, 0));
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddEventWaitNode(&wait, graph, NULL, 0, before));
    params = of_type(2);
    params.of.fill.dst = x;
    params.of.fill.value = 9;
    params.of.fill.elementSize = 4;
    params.of.fill.width = params.of.fill.height = 1;
    OK(cuGraphAddNode_v2(&fill, graph, &wait, NULL, 1, &params));
    OK(cuGraphAddEventRecordNode(&record, graph, &fill, 1, before));
    OK(cuGraphEventRecordNodeGetEvent(record, &told));
    HOLDS(told == before);
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphExecEventRecordNodeSetEvent(exec, record, after));

    pthread_mutex_lock(&gate);
    OK(cuLaunchHostFunc_v2(one, pass, NULL, 0));
    OK(cuMemsetD32Async(x, 8, 1, one));
    OK(cuEventRecord(before, one));
    OK(cuGraphLaunch(exec, two));
    OK(cuStreamWaitEvent(three, after, 0));
    OK(cuMemcpyDtoHAsync_v2(pinned, x, 4, three));
    usleep(10000);
    EXPECT(NOT_READY, cuEventQuery(after));
    EXPECT(NOT_READY, cuStreamQuery(three));
    pthread_mutex_unlock(&gate);
    OK(cuStreamSynchronize(three));
    HOLDS(*(int *)pinned == 9);

    /* The same nodes, created by a capture. */
    OK(cuStreamBeginCapture_v2(two, 0));
    OK(cuStreamWaitEvent(two, before, 1)); /* CU_EVENT_WAIT_EXTERNAL */
    OK(cuMemsetD32Async(x, 7, 1, two));
    OK(cuEventRecordWithFlags(after, two, 1)); /* CU_EVENT_RECORD_EXTERNAL */
    OK(cuStreamEndCapture(two, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    pthread_mutex_lock(&gate);
    OK(cuLaunchHostFunc(one, pass, NULL));
    OK(cuMemsetD32Async(x, 6, 1, one));
    OK(cuEventRecord(before, one));
    OK(cuGraphLaunch(exec, two));
    usleep(10000);
    EXPECT(NOT_READY, cuEventQuery(after));
    pthread_mutex_unlock(&gate);
    OK(cuEventSynchronize(after));
    OK(cuMemcpyDtoH_v2(pinned, x, 4));
    HOLDS(*(int *)pinned == 7);
}

/* The nodes on which the next operation of a capturing stream depends can be queried and replaced. */
static void dependencies(void) {
    CUstream stream;
    CUgraph graph;
    const CUgraphNode *nodes;
    CUgraphNode first;
    uint64_t id;
    size_t count;
    int status;

    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamBeginCapture_v2(stream, 0));
    OK(cuMemsetD32Async(x, 1, 1, stream));
    OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &nodes, NULL, &count));
    HOLDS(status == 1 && count == 1);
    first = nodes[0];
    OK(cuMemsetD32Async(y, 1, 1, stream));
    OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &nodes, NULL, &count));
    HOLDS(count == 1 && nodes[0] != first);
    OK(cuStreamUpdateCaptureDependencies_v2(stream, &first, NULL, 1, 0)); /* adds */
    OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &nodes, NULL, &count));
    HOLDS(count == 2);
    OK(cuStreamUpdateCaptureDependencies_v2(stream, &first, NULL, 1, 1)); /* replaces */
    OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, &graph, &nodes, NULL, &count));
    HOLDS(count == 1 && nodes[0] == first);
    OK(cuStreamEndCapture(stream, &graph));
    EXPECT(401, cuStreamUpdateCaptureDependencies_v2(stream, &first, NULL, 1, 1)); /* CUDA_ERROR_ILLEGAL_STATE */
}

int main(void) {
    start();
    function = scale();
    OK(cuMemAlloc_v2(&x, 400));
    OK(cuMemAlloc_v2(&y, 400));
    OK(cuMemHostAlloc((void **)&pinned, 4096, 0));
    parameters();
    attributes();
    events();
    dependencies();
    puts("done");
    return 0;
}
