/* A kernel that reads past its buffer: later calls in its context return the fault until the context is destroyed. */
#include "driver.h"

/* Functions that are queued before the fault is known: a callback receives the error, and a host function is not called. */
static void callback(CUstream stream, CUresult status, void *received) {
    (void)stream;
    *(CUresult *)received = status;
}

static void host_function(void *called) {
    *(int *)called = 1;
}

/* Waits until the other functions have been queued. */
static void hold(void *held) {
    while (__atomic_load_n((int *)held, __ATOMIC_ACQUIRE)) {
    }
}

int main(void) {
    CUresult before = -1, after = -1;
    int called = 0, held = 1;
    CUdeviceptr x, y;
    CUcontext context;
    start();
    OK(cuMemAlloc_v2(&x, 400));
    OK(cuMemAlloc_v2(&y, 800));
    OK(cuMemsetD8_v2(x, 0, 400));
    OK(cuLaunchHostFunc(NULL, hold, &held));
    OK(cuStreamAddCallback(NULL, callback, &before, 0));
    OK(launch(scale(), y, x, 2, 101, NULL));
    OK(cuStreamAddCallback(NULL, callback, &after, 0));
    OK(cuLaunchHostFunc(NULL, host_function, &called));
    __atomic_store_n(&held, 0, __ATOMIC_RELEASE);
    EXPECT(ILLEGAL_ADDRESS, cuCtxSynchronize());
    HOLDS(before == 0 && after == ILLEGAL_ADDRESS && !called);
    EXPECT(ILLEGAL_ADDRESS, cuStreamAddCallback(NULL, callback, &after, 0));
    EXPECT(ILLEGAL_ADDRESS, cuMemAlloc_v2(&x, 4));
    EXPECT(ILLEGAL_ADDRESS, cuMemsetD8_v2(y, 0, 1));

    /* Another context is not affected. */
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&x, 404));
    OK(cuMemAlloc_v2(&y, 404));
    OK(cuMemsetD8_v2(x, 0, 404));
    OK(launch(scale(), y, x, 2, 101, NULL));
    OK(cuCtxDestroy_v2(context));

    /* The primary context is usable again after its release. */
    OK(cuDevicePrimaryCtxRelease_v2(0));
    start();
    OK(cuCtxSynchronize());
    puts("done");
    return 0;
}
