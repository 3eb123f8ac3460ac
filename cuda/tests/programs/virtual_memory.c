/* Virtual memory management: addresses, memory and access. */
#include "driver.h"

CUresult cuMemGetAllocationGranularity(size_t *, const void *, int);
CUresult cuMemRetainAllocationHandle(unsigned long long *, CUdeviceptr);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *, unsigned long long);
CUresult cuMemGetAccess(unsigned long long *, const void *, CUdeviceptr);
CUresult cuMemGetInfo_v2(size_t *, size_t *);

static size_t unit;

static size_t available(void) {
    size_t told;
    OK(cuMemGetInfo_v2(&told, NULL));
    return told;
}

static float value(CUdeviceptr address) {
    float result;
    OK(cuMemcpyDtoH_v2(&result, address, 4));
    return result;
}

int main(void) {
    enum { LARGE = 3 };
    CUdeviceptr range, alias, base;
    unsigned long long first, second, again, access;
    const CUmemAllocationProp shared = {1, 1, 1, 0, NULL, {0}};
    CUmemAllocationProp told;
    size_t size, before;
    CUfunction kernel;
    int supported;

    start();
    OK(cuDeviceGetAttribute(&supported, 102, 0)); /* CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED */
    HOLDS(supported == 1);
    OK(cuMemGetAllocationGranularity(&unit, &PROPERTIES, 0));
    kernel = scale();
    before = available();

    /* A range that grows. Copies and kernels can cross the boundary between adjacent mappings. */
    OK(cuMemAddressReserve(&range, LARGE * unit, 0, 0, 0));
    OK(cuMemCreate(&first, unit, &PROPERTIES, 0));
    OK(cuMemCreate(&second, unit, &PROPERTIES, 0));
    HOLDS(available() == before - 2 * unit);
    OK(cuMemMap(range, unit, 0, first, 0));
    EXPECT(INVALID_VALUE, cuMemsetD8_v2(range, 0, 4));
    OK(cuMemSetAccess(range, unit, &READS_AND_WRITES, 1));
    OK(cuMemsetD32Async(range, 0x3f800000, unit / 4, NULL));
    OK(cuMemMap(range + unit, unit, 0, second, 0));
    OK(cuMemSetAccess(range, 2 * unit, &READS_AND_WRITES, 1));
    HOLDS(value(range + unit - 4) == 1);
    OK(cuMemcpyDtoD_v2(range + unit - 8, range, 32));
    HOLDS(value(range + unit + 20) == 1);
    OK(launch(kernel, range + unit - 256, range, 3, 128, NULL));
    HOLDS(value(range + unit - 4) == 3 && value(range + unit + 252) == 3);
    EXPECT(INVALID_VALUE, cuMemcpyDtoD_v2(range + 2 * unit - 4, range, 8));

    /* Queries. */
    OK(cuMemGetAddressRange_v2(&base, &size, range + unit + 5));
    HOLDS(base == range + unit && size == unit);
    OK(cuMemGetAccess(&access, &READS, range));
    HOLDS(access == 3);
    OK(cuMemGetAllocationPropertiesFromHandle(&told, first));
    HOLDS(told.type == 1 && told.locationType == 1 && told.location == 0);

    /* Memory mapped at two addresses: writes at one are visible at the other. */
    OK(cuMemAddressReserve(&alias, unit, 0, 0, 0));
    OK(cuMemMap(alias, unit, 0, second, 0));
    OK(cuMemSetAccess(alias, unit, &READS, 1));
    HOLDS(value(alias + 252) == 3);
    OK(cuMemsetD32Async(range + unit + 1024, 0x40a00000, 1, NULL));
    HOLDS(value(alias + 1024) == 5);
    value(alias + unit - 4);
    value(range + 2 * unit - 4);

    /* A mapping keeps its memory alive, and the memory can be mapped at another address. */
    OK(cuMemRelease(second));
    EXPECT(INVALID_VALUE, cuMemRelease(second));
    OK(cuMemUnmap(range + unit, unit));
    EXPECT(INVALID_VALUE, cuMemcpyDtoD_v2(range, range + unit, 4));
    HOLDS(value(alias + 1024) == 5);
    OK(cuMemRetainAllocationHandle(&again, alias + 77));
    HOLDS(again == second);
    OK(cuMemMap(range + 2 * unit, unit, 0, again, 0));
    OK(cuMemSetAccess(range + 2 * unit, unit, &READS_AND_WRITES, 1));
    HOLDS(value(range + 2 * unit + 1024) == 5);

    /* Invalid and unsupported calls. */
    EXPECT(INVALID_VALUE, cuMemCreate(&again, unit - 1, &PROPERTIES, 0));
    EXPECT(NOT_SUPPORTED, cuMemCreate(&again, unit, &shared, 0));
    EXPECT(INVALID_VALUE, cuMemMap(range, unit, 0, first, 0));
    EXPECT(INVALID_VALUE, cuMemMap(range + LARGE * unit, unit, 0, first, 0));
    EXPECT(INVALID_VALUE, cuMemSetAccess(range, 2 * unit, &READS, 1));
    EXPECT(INVALID_VALUE, cuMemUnmap(range, LARGE * unit));
    EXPECT(INVALID_VALUE, cuMemAddressFree(range, LARGE * unit));
    EXPECT(INVALID_VALUE, cuMemFree_v2(range));

    OK(cuMemUnmap(range, unit));
    OK(cuMemUnmap(range + 2 * unit, unit));
    OK(cuMemUnmap(alias, unit));
    HOLDS(available() == before - 2 * unit);
    OK(cuMemRelease(first));
    OK(cuMemRelease(second));
    HOLDS(available() == before);
    OK(cuMemAddressFree(alias, unit));
    OK(cuMemAddressFree(range, LARGE * unit));
    puts("done");
    return 0;
}
