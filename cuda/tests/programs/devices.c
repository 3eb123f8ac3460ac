/* Two devices: contexts, peer access, and a library loaded on both. */
#include "driver.h"

int main(void) {
    CUcontext first, second, current;
    CUlibrary library;
    CUkernel kernel;
    CUdeviceptr x, y;
    CUdevice device;
    float value = 3;
    int count;

    OK(cuInit(0));
    OK(cuDeviceGetCount(&count));
    HOLDS(count == 2);
    OK(cuDevicePrimaryCtxRetain(&first, 0));
    OK(cuCtxCreate_v2(&second, 0, 1));
    OK(cuCtxGetDevice(&device));
    HOLDS(device == 1);
    OK(cuMemAlloc_v2(&y, 4));
    OK(cuCtxPushCurrent_v2(first));
    OK(cuMemAlloc_v2(&x, 4));
    OK(cuMemcpyHtoD_v2(x, &value, 4));

    OK(cuLibraryLoadData(&library, SCALE, NULL, NULL, 0, NULL, NULL, 0));
    OK(cuLibraryGetKernel(&kernel, library, "scale"));
    OK(launch((CUfunction)kernel, x, x, 2, 1, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxPopCurrent_v2(&current));
    HOLDS(current == first);
    OK(cuCtxEnablePeerAccess(first, 0));
    EXPECT(704, cuCtxEnablePeerAccess(first, 0)); /* CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED */
    OK(launch((CUfunction)kernel, y, x, 2, 1, NULL));
    OK(cuMemcpyDtoH_v2(&value, y, 4));
    HOLDS(value == 12);
    OK(cuLibraryUnload(library));
    EXPECT(INVALID_HANDLE, launch((CUfunction)kernel, y, x, 2, 1, NULL));

    /* Destroying a context frees its memory. */
    OK(cuCtxDestroy_v2(second));
    OK(cuCtxPushCurrent_v2(first));
    EXPECT(NOT_FOUND, cuMemGetAddressRange_v2(NULL, NULL, y));
    puts("done");
    return 0;
}
