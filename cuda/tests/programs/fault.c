/* A kernel that reads past its buffer: the fault is returned by later calls of its context until that is destroyed. */
#include "driver.h"

int main(void) {
    CUdeviceptr x, y;
    CUcontext context;
    start();
    OK(cuMemAlloc_v2(&x, 400));
    OK(cuMemAlloc_v2(&y, 800));
    OK(cuMemsetD8_v2(x, 0, 400));
    OK(launch(scale(), y, x, 2, 101, NULL));
    EXPECT(ILLEGAL_ADDRESS, cuCtxSynchronize());
    EXPECT(ILLEGAL_ADDRESS, cuMemAlloc_v2(&x, 4));
    EXPECT(ILLEGAL_ADDRESS, cuMemsetD8_v2(y, 0, 1));

    /* Another context is not affected. */
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuMemAlloc_v2(&x, 404));
    OK(cuMemAlloc_v2(&y, 404));
    OK(cuMemsetD8_v2(x, 0, 404));
    OK(launch(scale(), y, x, 2, 101, NULL));
    OK(cuCtxDestroy_v2(context));

    /* The primary context starts again. */
    OK(cuDevicePrimaryCtxRelease_v2(0));
    start();
    OK(cuCtxSynchronize());
    puts("done");
    return 0;
}
