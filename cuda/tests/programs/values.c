/* Waits of streams for values in memory, and writes of values. With the argument "early", a copy does not wait. */
#include "driver.h"

#include <unistd.h>

typedef struct {
    unsigned operation;
    CUdeviceptr address;
    uint64_t value;
    unsigned flags;
    uint64_t rest[2];
} Operation;

CUresult cuStreamWaitValue32_v2(CUstream, CUdeviceptr, unsigned, unsigned);
CUresult cuStreamWaitValue64_v2(CUstream, CUdeviceptr, uint64_t, unsigned);
CUresult cuStreamWriteValue32(CUstream, CUdeviceptr, unsigned, unsigned);
CUresult cuStreamWriteValue32_v2(CUstream, CUdeviceptr, unsigned, unsigned);
CUresult cuStreamWriteValue64_v2(CUstream, CUdeviceptr, uint64_t, unsigned);
CUresult cuStreamBatchMemOp_v2(CUstream, unsigned, Operation *, unsigned);

enum { AT_LEAST, EQUAL, AND, NOR, FLUSH = 1 << 30 };
enum { WAIT_32 = 1, WRITE_32 = 2, WAIT_64 = 4, WRITE_64 = 5, BARRIER = 6 };

int main(int count, char **arguments) {
    CUcontext context;
    CUstream one, two, three;
    CUdeviceptr flags, x;
    unsigned *copied, *shared, word = 0;
    uint64_t wide = 0;
    int supported = 0, early = count > 1 && strcmp(arguments[1], "early") == 0;

    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuDeviceGetAttribute(&supported, 122, 0));
    HOLDS(supported == 1);
    OK(cuStreamCreate(&one, 1));
    OK(cuStreamCreate(&two, 1));
    OK(cuStreamCreate(&three, 1));
    OK(cuMemAlloc_v2(&flags, 64));
    OK(cuMemAlloc_v2(&x, 64));
    OK(cuMemHostAlloc((void **)&copied, 64, 0));
    OK(cuMemHostAlloc((void **)&shared, 64, 0));
    OK(cuMemsetD8_v2(flags, 0, 64));
    OK(cuMemsetD8_v2(x, 0, 64));
    OK(cuCtxSynchronize());
    memset(shared, 0, 64);

    /* The second stream copies the value that the first stream stored, and a third stream waits for the second. */
    if (early)
        OK(cuMemcpyDtoHAsync_v2(copied, x, 4, two));
    OK(cuStreamWaitValue32_v2(three, flags + 8, 9, EQUAL));
    OK(cuMemsetD32Async(x, 43, 1, three));
    OK(cuStreamWaitValue32_v2(two, flags, 3, AT_LEAST | FLUSH));
    if (!early)
        OK(cuMemcpyDtoHAsync_v2(copied, x, 4, two));
    OK(cuStreamWriteValue32_v2(two, flags + 8, 9, 0));
    usleep(20000);
    EXPECT(NOT_READY, cuStreamQuery(two));
    OK(cuMemsetD32Async(x, 42, 1, one));
    OK(cuStreamWriteValue32(one, flags, 3, 0));
    OK(cuStreamSynchronize(three));
    HOLDS(early || copied[0] == 42);
    OK(cuMemcpyDtoH_v2(&word, x, 4));
    HOLDS(word == 43);

    /* The host writes the value. */
    OK(cuStreamWaitValue32_v2(one, (CUdeviceptr)(shared + 2), 4, AND));
    OK(cuMemsetD32Async(x, 44, 1, one));
    usleep(20000);
    EXPECT(NOT_READY, cuStreamQuery(one));
    *(volatile unsigned *)(shared + 2) = 6;
    OK(cuStreamSynchronize(one));

    /* Batches of operations: the first batch waits for the last write of the second. */
    Operation waits[] = {{BARRIER, 0, 0, 0, {0}}, {WAIT_64, flags + 16, 7ull << 32, EQUAL, {0}}, {WRITE_32, flags + 24, ~0u, 0, {0}}};
    Operation writes[] = {{WRITE_32, flags + 16, 1, 0, {0}}, {WRITE_64, flags + 16, 7ull << 32, 0, {0}}};
    OK(cuStreamBatchMemOp_v2(one, 3, waits, 0));
    OK(cuStreamBatchMemOp_v2(two, 2, writes, 0));
    OK(cuStreamSynchronize(one));
    OK(cuMemcpyDtoH_v2(&wide, flags + 16, 8));
    HOLDS(wide == 7ull << 32);
    OK(cuMemcpyDtoH_v2(&wide, flags + 24, 8));
    HOLDS(wide == 0xffffffff);
    OK(cuStreamWaitValue64_v2(one, flags + 24, 0, NOR));
    OK(cuStreamWriteValue64_v2(one, flags + 24, 5, 1));
    OK(cuStreamSynchronize(one));

    EXPECT(INVALID_VALUE, cuStreamWriteValue32_v2(one, flags + 2, 0, 0));
    EXPECT(INVALID_VALUE, cuStreamWriteValue64_v2(one, flags + 4, 0, 0));
    EXPECT(INVALID_VALUE, cuStreamWriteValue32_v2(one, flags + 64, 0, 0));
    EXPECT(INVALID_VALUE, cuStreamWriteValue32_v2(one, 0, 0, 0));
    EXPECT(INVALID_VALUE, cuStreamWaitValue32_v2(one, flags, 0, 4));
    EXPECT(INVALID_VALUE, cuStreamBatchMemOp_v2(one, 257, writes, 0));
    waits[0].operation = 99;
    EXPECT(INVALID_VALUE, cuStreamBatchMemOp_v2(one, 1, waits, 0));
    OK(cuMemFree_v2(flags));
    OK(cuMemFree_v2(x));
    OK(cuMemFreeHost(copied));
    OK(cuMemFreeHost(shared));
    puts("done");
    return 0;
}
