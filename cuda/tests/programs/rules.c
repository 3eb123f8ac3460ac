/* Rules of the manual "CUDA Driver API" that order or forbid operations. */
#include "driver.h"
#include <sys/wait.h>
#include <unistd.h>

/* A function that the driver calls must not call the driver. */
static void calls_the_driver(void *result) {
    *(CUresult *)result = cuCtxSynchronize();
}

/* Launches of an executable graph are ordered, even in different streams. */
static void launches_of_a_graph(CUfunction function, CUdeviceptr y, CUdeviceptr x) {
    CUstream one, two;
    CUgraph graph;
    CUgraphExec executable;
    OK(cuStreamCreate(&one, 1));
    OK(cuStreamCreate(&two, 1));
    OK(cuStreamBeginCapture_v2(one, 0));
    OK(launch(function, y, x, 2, 100, one));
    OK(cuStreamEndCapture(one, &graph));
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 4; i++) OK(cuGraphLaunch(executable, i % 2 ? one : two));
    OK(cuCtxSynchronize());
}

/* A wait in the default stream is an operation: later operations of blocking streams also wait for it. */
static void waits_of_the_default_stream(CUfunction function, CUdeviceptr y, CUdeviceptr x) {
    CUstream own, blocking;
    CUevent event;
    OK(cuStreamCreate(&own, 1));
    OK(cuStreamCreate(&blocking, 0));
    OK(cuEventCreate(&event, 0));
    OK(launch(function, y, x, 2, 100, own));
    OK(cuEventRecord(event, own));
    OK(cuStreamWaitEvent(NULL, event, 0));
    OK(launch(function, y, x, 3, 100, blocking));
    OK(cuCtxSynchronize());
    OK(cuEventRecord(event, own));
    OK(launch(function, y, x, 3, 100, own));
    OK(cuEventRecord(event, own));
    OK(cuStreamWaitEvent(blocking, event, 0));
    OK(launch(function, y, x, 3, 100, NULL));
    OK(cuCtxSynchronize());
}

/* An event that was recorded in a capture cannot be used after the capture. */
static void events_of_a_capture(void) {
    CUstream one, two;
    CUevent event;
    CUgraph graph;
    OK(cuStreamCreate(&one, 1));
    OK(cuStreamCreate(&two, 1));
    OK(cuEventCreate(&event, 0));
    OK(cuStreamBeginCapture_v2(one, 0));
    OK(cuEventRecord(event, one));
    OK(cuStreamEndCapture(one, &graph));
    EXPECT(907, cuStreamWaitEvent(two, event, 0)); /* CUDA_ERROR_CAPTURED_EVENT */
    OK(cuStreamSynchronize(two));
}

/* Memory can be freed while a stream is captured in relaxed mode. */
static void frees_in_a_capture(CUfunction function, CUdeviceptr y, CUdeviceptr x) {
    CUstream one;
    CUgraph graph;
    CUdeviceptr other;
    OK(cuStreamCreate(&one, 1));
    OK(cuMemAlloc_v2(&other, 400));
    OK(cuStreamBeginCapture_v2(one, 2));
    OK(launch(function, y, x, 2, 100, one));
    OK(cuMemFree_v2(other));
    OK(cuStreamEndCapture(one, &graph));
}

static void contexts(void) {
    CUcontext first, second, current;
    OK(cuCtxGetCurrent(&first));
    OK(cuCtxCreate_v2(&second, 0, 0));
    OK(cuCtxSetCurrent(NULL)); /* pops the second */
    OK(cuCtxGetCurrent(&current));
    HOLDS(current == first);
    OK(cuCtxDestroy_v2(second));
}

int main(void) {
    static float host[100];
    CUdeviceptr x, y, registered;
    CUresult result = 0;
    float values[100];
    start();
    CUfunction function = scale();
    OK(cuMemAlloc_v2(&x, 400));
    OK(cuMemAlloc_v2(&y, 400));
    OK(cuMemsetD8_v2(x, 0, 400));
    OK(cuMemsetD8_v2(y, 0, 400));
    OK(cuCtxSynchronize()); /* non-blocking streams do not wait for the default stream */
    launches_of_a_graph(function, y, x);
    waits_of_the_default_stream(function, y, x);
    events_of_a_capture();
    frees_in_a_capture(function, y, x);
    contexts();

    OK(cuLaunchHostFunc(NULL, calls_the_driver, &result));
    OK(cuCtxSynchronize());
    HOLDS(result == 800); /* CUDA_ERROR_NOT_PERMITTED */

    /* Copies also accept the device address of registered memory. */
    for (int i = 0; i < 100; i++) host[i] = i;
    OK(cuMemHostRegister_v2(host, sizeof host, 0));
    OK(cuMemHostGetDevicePointer_v2(&registered, host, 0));
    OK(cuMemcpy(y, registered, sizeof host));
    OK(cuMemcpyDtoH_v2(values, y, sizeof values));
    HOLDS(memcmp(values, host, sizeof host) == 0);

    /* Sizes that overflow when converted to bytes. */
    EXPECT(1, cuMemsetD32Async(x, 1, ((size_t)1 << 62) + 1, NULL));
    EXPECT(1, cuMemsetD2D8_v2(x, (size_t)1 << 63, 1, 16, 3));
    OK(cuMemsetD2D8_v2(x, 16, 1, 0, (size_t)-1));
    OK(cuCtxSynchronize());

    /* Rows that overlap, and rows that do not start at a multiple of the element size. */
    CUDA_MEMCPY2D copy = {0};
    copy.srcMemoryType = copy.dstMemoryType = 2; /* CU_MEMORYTYPE_DEVICE */
    copy.srcDevice = x, copy.dstDevice = y, copy.srcXInBytes = 8, copy.srcPitch = copy.dstPitch = 16;
    copy.WidthInBytes = 16, copy.Height = 4;
    EXPECT(1, cuMemcpy2D_v2(&copy));
    copy.WidthInBytes = 8;
    OK(cuMemcpy2D_v2(&copy));
    EXPECT(1, cuMemsetD2D16_v2(x, 7, 1, 3, 2));
    OK(cuMemsetD2D16_v2(x, 8, 1, 3, 2));

    /* The driver cannot be used in a forked process, which lacks the threads of the streams. */
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(cuMemcpyDtoH_v2(values, y, 4) == 3 && cuInit(0) == 3 ? 0 : 1);
    int status = 1;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
    puts("done");
    return 0;
}
