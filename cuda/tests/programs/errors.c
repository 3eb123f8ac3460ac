/* Wrong arguments, stale handles, and missing functions. */
#include "driver.h"

int main(void) {
    CUdevice device;
    CUcontext context, other;
    CUmodule module;
    CUfunction function, stale;
    CUstream stream;
    CUevent event;
    CUdeviceptr x;
    size_t offset, size;
    int status, value;
    void *address;
    char log[200] = "";

    EXPECT(3, cuDeviceGet(&device, 0)); /* CUDA_ERROR_NOT_INITIALIZED */
    OK(cuInit(0));
    EXPECT(INVALID_DEVICE, cuDeviceGet(&device, 7));
    EXPECT(INVALID_VALUE, cuDeviceGet(NULL, 0));
    OK(cuDeviceGetAttribute(&value, 75, 0));
    HOLDS(value == 9);
    EXPECT(INVALID_VALUE, cuDeviceGetAttribute(&value, 1000, 0));
    EXPECT(INVALID_CONTEXT, cuMemAlloc_v2(&x, 4));
    start();
    OK(cuCtxGetCurrent(&context));
    EXPECT(INVALID_CONTEXT, cuCtxPushCurrent_v2((CUcontext)1234));
    OK(cuCtxCreate_v2(&other, 0, 0));
    OK(cuCtxDestroy_v2(other));
    EXPECT(INVALID_CONTEXT, cuCtxSetCurrent(other));
    OK(cuCtxSetCurrent(context));

    /* Memory. */
    EXPECT(INVALID_VALUE, cuMemAlloc_v2(&x, 0));
    EXPECT(2, cuMemAlloc_v2(&x, (size_t)1 << 50)); /* CUDA_ERROR_OUT_OF_MEMORY */
    OK(cuMemAlloc_v2(&x, 100));
    EXPECT(INVALID_VALUE, cuMemFree_v2(x + 4));
    EXPECT(INVALID_VALUE, cuMemcpyHtoD_v2(x, log, 101));
    EXPECT(INVALID_VALUE, cuMemcpyHtoD_v2(x, NULL, 4));
    EXPECT(INVALID_VALUE, cuMemsetD8_v2(x + 99, 0, 2));
    EXPECT(INVALID_VALUE, cuMemsetD16_v2(x + 1, 0, 2));
    OK(cuMemFree_v2(x));
    EXPECT(INVALID_VALUE, cuMemFree_v2(x));
    EXPECT(INVALID_VALUE, cuMemcpyHtoD_v2(x, log, 4));
    OK(cuMemFree_v2(0));

    /* Handles. */
    OK(cuStreamCreate(&stream, 0));
    OK(cuStreamDestroy_v2(stream));
    EXPECT(INVALID_HANDLE, cuStreamSynchronize(stream));
    EXPECT(INVALID_VALUE, cuStreamCreate(&stream, 77));
    OK(cuEventCreate(&event, 0));
    EXPECT(INVALID_HANDLE, cuEventRecord((CUevent)stream, NULL));
    OK(cuEventDestroy_v2(event));
    EXPECT(INVALID_HANDLE, cuEventQuery(event));

    /* Modules. */
    {
        const char broken[] = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n    frobnicate;\n}\n";
        int keys[] = {5, 6}; /* CU_JIT_ERROR_LOG_BUFFER, _SIZE_BYTES */
        void *values[] = {log, (void *)sizeof log};
        EXPECT(INVALID_PTX, cuModuleLoadDataEx(&module, broken, 2, keys, values));
        HOLDS(strstr(log, "line 6; error   : ") != NULL && (size_t)values[1] == strlen(log));

        /* A linker uses the log buffer passed at its creation. */
        log[0] = 0;
        values[1] = (void *)sizeof log;
        OK(cuLinkCreate_v2(2, keys, values, &address));
        EXPECT(INVALID_PTX, cuLinkAddData_v2(address, 1, (void *)broken, sizeof broken, "broken", 0, NULL, NULL));
        HOLDS(strstr(log, "line 6; error   : ") != NULL && (size_t)values[1] == strlen(log));
        OK(cuLinkDestroy(address));
    }
    EXPECT(INVALID_PTX, cuModuleLoadData(&module, ".version 8.7\n.target sm_100a\n.address_size 64\n"));
    EXPECT(209, cuModuleLoadData(&module, "\177ELF")); /* CUDA_ERROR_NO_BINARY_FOR_GPU */
    OK(cuModuleLoadData(&module, SCALE));
    EXPECT(NOT_FOUND, cuModuleGetFunction(&function, module, "scala"));
    EXPECT(NOT_FOUND, cuModuleGetGlobal_v2(&x, &size, module, "question"));
    OK(cuModuleGetFunction(&stale, module, "scale"));
    OK(cuFuncGetParamInfo(stale, 2, &offset, &size));
    HOLDS(offset == 16 && size == 4);
    EXPECT(INVALID_VALUE, cuFuncGetParamInfo(stale, 4, &offset, &size));
    OK(cuFuncGetParamCount(stale, &size));
    HOLDS(size == 4);
    OK(cuModuleUnload(module));
    EXPECT(INVALID_HANDLE, cuFuncGetAttribute(&value, 0, stale));
    EXPECT(INVALID_HANDLE, launch(stale, 0, 0, 1, 1, NULL));

    /* Launches. */
    function = scale();
    EXPECT(INVALID_VALUE, cuLaunchKernel(function, 0, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(INVALID_VALUE, cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(INVALID_VALUE, cuLaunchKernel(function, 1, 1, 1, 2000, 1, 1, 0, NULL, NULL, NULL));
    EXPECT(INVALID_VALUE, cuFuncSetAttribute(function, 8, 1 << 20));

    /* Functions by name. */
    OK(cuGetProcAddress_v2("cuMemAlloc", &address, 12000, 0, &status));
    HOLDS(address == (void *)cuMemAlloc_v2 && status == 0);
    OK(cuGetProcAddress_v2("cuFrobnicate", &address, 12000, 0, &status));
    HOLDS(address == NULL && status == 1);
    EXPECT(NOT_FOUND, cuGetProcAddress_v2("cuFrobnicate", &address, 12000, 0, NULL));
    EXPECT(NOT_SUPPORTED, cuGraphicsUnregisterResource(NULL));
    OK(cuGetProcAddress_v2("cuGraphicsUnregisterResource", &address, 12000, 0, &status));
    HOLDS(address == (void *)cuGraphicsUnregisterResource);
    puts("done");
    return 0;
}
