/* Memory pools: the amounts that they report, as observed with driver version 580, and the pool of each address. */
#include "driver.h"

typedef struct {
    int type, handleTypes, locationType, location;
    unsigned long long rest[9];
} CUmemPoolProps;

enum { THRESHOLD = 4, RESERVED, RESERVED_HIGH, USED, USED_HIGH, MEMPOOL_HANDLE = 17, UNIT = 32 << 20 };

static unsigned long long get(CUmemoryPool pool, int attribute) {
    unsigned long long value = 77;
    OK(cuMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static CUresult set(CUmemoryPool pool, int attribute, unsigned long long value) {
    return cuMemPoolSetAttribute(pool, attribute, &value);
}

static CUmemoryPool pool_of(CUdeviceptr address) {
    CUmemoryPool pool;
    OK(cuPointerGetAttribute(&pool, MEMPOOL_HANDLE, address));
    return pool;
}

static void amounts(CUmemoryPool pool, unsigned long long reserved, unsigned long long used) {
    HOLDS(get(pool, RESERVED) == reserved);
    HOLDS(get(pool, USED) == used);
}

int main(void) {
    const CUmemPoolProps properties = {1, 0, 1, 0, {0}};
    CUmemoryPool standard, own;
    CUdeviceptr plain, small, large;
    CUstream stream;
    start();
    OK(cuStreamCreate(&stream, 1));
    OK(cuDeviceGetDefaultMemPool(&standard, 0));
    OK(cuMemPoolCreate(&own, &properties));
    amounts(own, 0, 0);

    OK(cuMemAlloc_v2(&plain, 64));
    OK(cuMemAllocAsync(&small, 1000, stream));
    OK(cuMemAllocFromPoolAsync(&large, 5000, own, stream));
    HOLDS(pool_of(plain) == NULL && pool_of(small) == standard && pool_of(large) == own);
    amounts(standard, UNIT, 1000);
    amounts(own, UNIT, 5000);

    /* Freed memory is released, unless the program sets a threshold. */
    OK(cuMemFreeAsync(large, stream));
    OK(cuStreamSynchronize(stream));
    amounts(own, 0, 0);
    HOLDS(get(own, RESERVED_HIGH) == UNIT && get(own, USED_HIGH) == 5000);
    OK(set(own, THRESHOLD, ~0ull));
    OK(cuMemAllocFromPoolAsync(&large, 2ull * UNIT - 1, own, stream));
    OK(cuMemFreeAsync(large, stream));
    OK(cuStreamSynchronize(stream));
    amounts(own, 2ull * UNIT, 0);
    OK(cuMemPoolTrimTo(own, 1));
    amounts(own, UNIT, 0);
    OK(cuMemPoolTrimTo(own, 0));
    amounts(own, 0, 0);

    /* Peak amounts can only be reset to 0. Current amounts cannot be set. */
    EXPECT(INVALID_VALUE, set(own, RESERVED, 0));
    EXPECT(INVALID_VALUE, set(own, USED, 0));
    EXPECT(INVALID_VALUE, set(own, USED_HIGH, 7));
    OK(set(own, USED_HIGH, 0));
    HOLDS(get(own, USED_HIGH) == 0 && get(own, RESERVED_HIGH) == 2ull * UNIT);
    EXPECT(INVALID_VALUE, set(own, 9, 0));

    /* Memory outlives its pool. */
    OK(cuMemAllocFromPoolAsync(&large, 5000, own, stream));
    OK(cuMemPoolDestroy(own));
    HOLDS(pool_of(large) == own);
    OK(cuMemFreeAsync(large, stream));
    OK(cuMemFree_v2(small));
    OK(cuMemFree_v2(plain));
    amounts(standard, 0, 0);
    puts("done");
    return 0;
}
