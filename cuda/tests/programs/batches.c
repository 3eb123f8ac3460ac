/* Copies with attributes, batches of copies, and attributes of streams. */
#include "driver.h"

#include <pthread.h>
#include <unistd.h>

/* `CUmemcpyAttributes`: when the source is read (1: in stream order; 2: during the call), and hints. */
typedef struct {
    int order, hints[4];
    unsigned flags;
} Attributes;
typedef struct {
    int type;
    CUdeviceptr address;
    size_t row, height;
    int location[2];
} Operand;
typedef struct {
    Operand from, to;
    size_t width, height, depth;
    int order;
    unsigned flags;
} Box;

CUresult cuMemcpyWithAttributesAsync(CUdeviceptr, CUdeviceptr, size_t, const Attributes *, CUstream);
CUresult cuMemcpyBatchAsync_v2(
    const CUdeviceptr *, const CUdeviceptr *, const size_t *, size_t, const Attributes *, const size_t *, size_t, CUstream);
CUresult cuMemcpy3DBatchAsync_v2(size_t, const Box *, unsigned long long, CUstream);
CUresult cuStreamSetAttribute(CUstream, int, const void *);
CUresult cuStreamGetAttribute(CUstream, int, void *);
CUresult cuStreamCopyAttributes(CUstream, CUstream);

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

static void pass(void *unused) {
    (void)unused;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

int main(void) {
    enum { N = 64 };
    static int a[N], b[N], back[2 * N];
    CUstream stream, other;
    CUdeviceptr x;
    Attributes in_order = {1, {0}, 0}, during_call = {2, {0}, 0}, wrong = {9, {0}, 0}, both[2];
    unsigned value[16] = {0};

    start();
    OK(cuStreamCreate(&stream, 1));
    OK(cuStreamCreate(&other, 1));
    OK(cuMemAlloc_v2(&x, sizeof back));

    /* The source is read in stream order, or during the call. */
    pthread_mutex_lock(&gate);
    OK(cuLaunchHostFunc(stream, pass, NULL));
    a[0] = b[0] = 1;
    {
        CUdeviceptr to[] = {x, x + sizeof a}, from[] = {(CUdeviceptr)(uintptr_t)a, (CUdeviceptr)(uintptr_t)b};
        size_t sizes[] = {sizeof a, sizeof b}, starts[] = {0, 1}, late[] = {0, 2}, same[] = {0, 0};
        both[0] = in_order;
        both[1] = during_call;
        OK(cuMemcpyBatchAsync_v2(to, from, sizes, 2, both, starts, 2, stream));
        EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, from, sizes, 2, both, late, 2, stream));
        EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, from, sizes, 2, both, same, 2, stream));
        EXPECT(INVALID_VALUE, cuMemcpyBatchAsync_v2(to, from, sizes, 0, both, starts, 1, stream));
    }
    a[0] = b[0] = 2;
    pthread_mutex_unlock(&gate);
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(back, x, sizeof back));
    HOLDS(back[0] == 2 && back[N] == 1);

    a[1] = 7;
    OK(cuMemcpyWithAttributesAsync(x, (CUdeviceptr)(uintptr_t)a, sizeof a, &during_call, stream));
    EXPECT(INVALID_VALUE, cuMemcpyWithAttributesAsync(x, (CUdeviceptr)(uintptr_t)a, sizeof a, &wrong, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(back, x, sizeof a));
    HOLDS(back[1] == 7);

    /* A box: 2 of the 4 rows of 16 bytes. */
    {
        Box box = {{1, x, 64, 4, {0}}, {1, x + sizeof a, 16, 2, {0}}, 16, 2, 1, 1, 0};
        for (int i = 0; i < N; ++i) {
            a[i] = i;
        }
        OK(cuMemcpyHtoD_v2(x, a, sizeof a));
        OK(cuMemcpy3DBatchAsync_v2(1, &box, 0, stream));
        EXPECT(INVALID_VALUE, cuMemcpy3DBatchAsync_v2(1, &box, 1, stream));
        OK(cuStreamSynchronize(stream));
        OK(cuMemcpyDtoH_v2(back, x, sizeof back));
        HOLDS(back[N] == 0 && back[N + 3] == 3 && back[N + 4] == 16 && back[N + 7] == 19);
    }

    /* A stream stores its attributes. */
    value[0] = 3;
    OK(cuStreamSetAttribute(stream, 3, value)); /* CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY */
    EXPECT(INVALID_VALUE, cuStreamSetAttribute(stream, 2, value));
    OK(cuStreamCopyAttributes(other, stream));
    value[0] = 0;
    OK(cuStreamGetAttribute(other, 3, value));
    HOLDS(value[0] == 3);
    OK(cuStreamGetAttribute(other, 9, value)); /* CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP */
    HOLDS(value[0] == 0x100);
    puts("done");
    return 0;
}
