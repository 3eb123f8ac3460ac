/* Memory of all kinds, copies, fills, and the attributes of an address. */
#include "driver.h"

static unsigned char bytes[4096];

static unsigned attribute(int name, CUdeviceptr address) {
    unsigned value = 0;
    OK(cuPointerGetAttribute(&value, name, address));
    return value;
}

int main(void) {
    CUdeviceptr x, y, managed, rows, base, late, variable;
    CUmodule module;
    CUdeviceptr registered;
    size_t pitch, size;
    unsigned *shared, word;
    void *pinned;
    static float own[64];

    start();
    OK(cuMemAlloc_v2(&x, 1000));
    OK(cuMemGetAddressRange_v2(&base, &size, x + 999));
    HOLDS(base == x && size == 1000);
    EXPECT(NOT_FOUND, cuMemGetAddressRange_v2(&base, &size, x + 1000));

    /* Copies of any alignment. */
    for (int i = 0; i < 4096; ++i) {
        bytes[i] = (unsigned char)(i * 7);
    }
    OK(cuMemAlloc_v2(&y, 1000));
    for (int shift = 0; shift < 8; ++shift) {
        unsigned char back[64] = {0};
        OK(cuMemcpyHtoD_v2(x + shift, bytes, 51));
        OK(cuMemcpyDtoD_v2(y + 3, x + shift, 51));
        OK(cuMemcpyDtoH_v2(back + 1, y + 3, 51));
        HOLDS(memcmp(back + 1, bytes, 51) == 0 && back[0] == 0 && back[52] == 0);
    }

    /* Fills, and copies of a rectangle. */
    OK(cuMemAllocPitch_v2(&rows, &pitch, 100, 3, 4));
    HOLDS(pitch == 512);
    OK(cuMemsetD2D8_v2(rows, pitch, 9, 100, 3));
    OK(cuMemsetD16_v2(rows + pitch, 0x0201, 2));
    {
        unsigned char back[30] = {0};
        CUDA_MEMCPY2D copy = {0};
        copy.srcMemoryType = 2;
        copy.srcDevice = rows;
        copy.srcPitch = pitch;
        copy.srcY = 1;
        copy.srcXInBytes = 2;
        copy.dstMemoryType = 1;
        copy.dstHost = back;
        copy.dstPitch = 10;
        copy.WidthInBytes = 4;
        copy.Height = 2;
        OK(cuMemcpy2D_v2(&copy));
        HOLDS(back[0] == 1 && back[1] == 2 && back[2] == 9 && back[4] == 0 && back[10] == 9);
        copy.Height = 3;
        EXPECT(INVALID_VALUE, cuMemcpy2D_v2(&copy));
    }

    /* Managed memory has the same address on the host and in kernels. */
    OK(cuMemAllocManaged(&managed, 8192, 1));
    shared = (unsigned *)(uintptr_t)managed;
    shared[2000] = 5;
    OK(cuMemcpyDtoH_v2(&word, managed + 8000, 4));
    HOLDS(word == 5);
    ((float *)shared)[0] = 3;
    OK(launch(scale(), managed + 4, managed, 2, 1, NULL));
    OK(cuCtxSynchronize());
    HOLDS(((float *)shared)[1] == 6);
    HOLDS(attribute(2, managed) == 2 && attribute(8, managed) == 1);
    OK(cuMemFree_v2(managed));

    /* Registered host memory has a different address in kernels. */
    OK(cuMemHostRegister_v2(own, sizeof own, 0));
    EXPECT(712, cuMemHostRegister_v2(own, sizeof own, 0)); /* CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED */
    OK(cuMemHostGetDevicePointer_v2(&registered, own + 32, 0));
    own[0] = 4;
    OK(launch(scale(), registered, registered - 128, 2, 1, NULL));
    OK(cuCtxSynchronize());
    HOLDS(own[32] == 8);
    HOLDS(attribute(2, (CUdeviceptr)(uintptr_t)own) == 1);
    OK(cuMemHostUnregister(own));
    EXPECT(713, cuMemHostUnregister(own)); /* CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED */

    /* Copies whose direction is determined by the addresses. */
    OK(cuMemHostAlloc(&pinned, 16, 0));
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)pinned, x, 16));
    OK(cuMemcpy((CUdeviceptr)(uintptr_t)own, (CUdeviceptr)(uintptr_t)pinned, 16));
    OK(cuMemcpyDtoH_v2(bytes, x, 16));
    HOLDS(memcmp(own, bytes, 16) == 0 && memcmp(pinned, bytes, 16) == 0);
    HOLDS(attribute(2, (CUdeviceptr)(uintptr_t)pinned) == 1 && attribute(2, x) == 2);
    EXPECT(INVALID_VALUE, cuPointerGetAttribute(&word, 2, (CUdeviceptr)(uintptr_t)bytes));
    OK(cuMemFreeHost(pinned));
    EXPECT(INVALID_VALUE, cuMemFreeHost(pinned));

    /* Stream-ordered memory. */
    OK(cuMemAllocAsync(&late, 64, NULL));
    OK(cuMemsetD32Async(late, 17, 16, NULL));
    OK(cuMemcpyDtoH_v2(&word, late + 60, 4));
    HOLDS(word == 17);
    OK(cuMemFreeAsync(late, NULL));
    OK(cuCtxSynchronize());
    EXPECT(NOT_FOUND, cuMemGetAddressRange_v2(NULL, NULL, late));
    OK(cuMemAllocAsync(&late, 0, NULL));
    HOLDS(late == 0);
    OK(cuMemFreeAsync(late, NULL));
    EXPECT(INVALID_VALUE, cuMemAlloc_v2(&late, 0));

    /* An operation on 0 bytes accepts any address. */
    OK(cuMemcpyHtoDAsync_v2(0, bytes, 0, NULL));
    OK(cuMemsetD32Async(0, 0, 0, NULL));
    OK(cuMemcpyDtoH_v2(NULL, 0, 0));
    OK(cuCtxSynchronize());

    /* Variables of a module. */
    OK(cuModuleLoadData(&module, SCALE));
    OK(cuModuleGetGlobal_v2(&variable, &size, module, "answer"));
    OK(cuMemcpyDtoH_v2(&word, variable, 4));
    HOLDS(word == 42 && size == 4);
    OK(cuModuleUnload(module));
    EXPECT(NOT_FOUND, cuMemGetAddressRange_v2(NULL, NULL, variable));

    /* The linker returns code that can be loaded. */
    {
        void *linker, *image;
        OK(cuLinkCreate_v2(0, NULL, NULL, &linker));
        OK(cuLinkAddData_v2(linker, 1, (void *)SCALE, sizeof SCALE, "scale", 0, NULL, NULL));
        OK(cuLinkComplete(linker, &image, &size));
        OK(cuModuleLoadData(&module, image));
        OK(cuModuleGetGlobal_v2(&variable, NULL, module, "answer"));
        OK(cuLinkDestroy(linker));

        /* A function declared in one module and defined in another, and a weak function whose first definition is kept. */
#define WEAK(RESULT) \
    ".weak .func  (.param .b32 r) unit(\n    .param .b32 x\n);\n" \
    ".weak .func  (.param .b32 r)\n unit(\n    .param .b32 x\n)  // a comment {\n" \
    "{\n    .reg .b32 %r<2>;\n    {\n    ld.param.b32 %r1, [x];\n    }\n    st.param.b32 [r], " RESULT ";\n    ret;\n}\n"
        {
            char caller[] = ".version 8.0\n.target sm_80\n.address_size 64\n" WEAK("%r1")
                            ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
                            ".common .global .align 8 .b64 environment;\n"
                            ".visible .entry k(.param .u64 p)\n{\n"
                            "    .reg .b32 %r<3>;\n    .reg .b64 %rd<2>;\n"
                            "    ld.param.u64 %rd1, [p];\n    ld.global.u32 %r1, [%rd1];\n"
                            "    {\n    .param .b32 x;\n    .param .b32 r;\n    st.param.b32 [x], %r1;\n"
                            "    call (r), twice, (x);\n    ld.param.b32 %r2, [r];\n    }\n"
                            "    .loc 1 7 3\n    st.global.u32 [%rd1], %r2;\n    ret;\n}\n.file 1 \"the caller.cu\"\n";
            char callee[] = ".version 8.1\n.target sm_80\n.address_size 64\n" WEAK("7")
                            ".common .global .align 8 .b64 environment;\n"
                            ".visible .func (.param .b32 r) twice(.param .b32 x)\n{\n"
                            "    .reg .b32 %r<3>;\n    {\n    .param .b32 y;\n    .param .b32 z;\n    ld.param.b32 %r1, [x];\n"
                            "    st.param.b32 [y], %r1;\n    call (z), unit, (y);\n    ld.param.b32 %r2, [z];\n    }\n"
                            "    add.u32 %r2, %r2, %r1;\n"
                            "    .loc 1 2 9\n    st.param.b32 [r], %r2;\n    ret;\n}\n.file 1 \"callee.cu\"\n";
            void *arguments[] = {&x};
            CUfunction function;
            OK(cuLinkCreate_v2(0, NULL, NULL, &linker));
            OK(cuLinkAddData_v2(linker, 1, caller, sizeof caller, "caller", 0, NULL, NULL));
            OK(cuLinkAddData_v2(linker, 1, callee, sizeof callee, "callee", 0, NULL, NULL));
            OK(cuLinkComplete(linker, &image, &size));
            OK(cuModuleLoadData(&module, image));
            OK(cuModuleGetFunction(&function, module, "k"));
            word = 21;
            OK(cuMemcpyHtoD_v2(x, &word, 4));
            OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, arguments, NULL));
            OK(cuMemcpyDtoH_v2(&word, x, 4));
            HOLDS(word == 42);
            OK(cuLinkDestroy(linker));
        }
        EXPECT(INVALID_HANDLE, cuLinkComplete(linker, &image, &size));
    }
    puts("done");
    return 0;
}
