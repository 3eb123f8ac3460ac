/* The attributes that the driver reports for ranges of managed memory, textures and surfaces. */
#include "driver.h"

typedef struct {
    int type, id;
} Location;

typedef struct {
    unsigned type;
    uint64_t fields[16];
    unsigned flags;
} Resource;

typedef struct {
    unsigned modes[3], filter, flags, anisotropy, mipmap[4];
    float border[4];
    unsigned reserved[12];
} Texture;

typedef struct {
    size_t width, height, depth;
    unsigned format, channels, flags;
} Array;

CUresult cuMemAdvise_v2(CUdeviceptr, size_t, int, Location);
CUresult cuMemPrefetchAsync_v2(CUdeviceptr, size_t, Location, unsigned, CUstream);
CUresult cuMemRangeGetAttribute(void *, size_t, int, CUdeviceptr, size_t);
CUresult cuMemRangeGetAttributes(void **, size_t *, int *, size_t, CUdeviceptr, size_t);
CUresult cuArray3DCreate_v2(void **, const Array *);
CUresult cuArrayDestroy(void *);
CUresult cuTexObjectCreate(uint64_t *, const Resource *, const Texture *, const void *);
CUresult cuTexObjectDestroy(uint64_t);
CUresult cuTexObjectGetResourceDesc(Resource *, uint64_t);
CUresult cuTexObjectGetTextureDesc(Texture *, uint64_t);
CUresult cuTexObjectGetResourceViewDesc(void *, uint64_t);
CUresult cuSurfObjectCreate(uint64_t *, const Resource *);
CUresult cuSurfObjectDestroy(uint64_t);
CUresult cuSurfObjectGetResourceDesc(Resource *, uint64_t);

enum { READ_MOSTLY = 1, PREFERRED, ACCESSED_BY, PREFETCHED, PREFERRED_TYPE, PREFERRED_ID, PREFETCHED_TYPE };
enum { SET_READ_MOSTLY = 1, UNSET_READ_MOSTLY, SET_PREFERRED, UNSET_PREFERRED, SET_ACCESSED_BY, UNSET_ACCESSED_BY };
enum { CPU = -1, NONE = -2, ON_DEVICE = 1, ON_HOST = 2 };

static int of(int attribute, CUdeviceptr address, size_t bytes) {
    int value = 99;
    OK(cuMemRangeGetAttribute(&value, sizeof value, attribute, address, bytes));
    return value;
}

static void ranges(void) {
    const Location device = {ON_DEVICE, 0}, host = {ON_HOST, 0};
    CUdeviceptr x, y;
    int devices[3], value, type, names[2] = {READ_MOSTLY, PREFERRED_TYPE};
    void *outs[2] = {&value, &type};
    size_t sizes[2] = {sizeof value, sizeof type};

    OK(cuMemAllocManaged(&x, 8192, 1));
    HOLDS(of(READ_MOSTLY, x, 8192) == 0 && of(PREFERRED, x, 8192) == NONE && of(PREFETCHED, x, 1) == NONE);
    OK(cuMemAdvise_v2(x, 8192, SET_READ_MOSTLY, device));
    OK(cuMemAdvise_v2(x, 4096, SET_PREFERRED, host));
    OK(cuMemAdvise_v2(x + 4096, 4096, SET_PREFERRED, device));
    OK(cuMemAdvise_v2(x, 8192, SET_ACCESSED_BY, device));
    OK(cuMemAdvise_v2(x, 4096, SET_ACCESSED_BY, host));
    HOLDS(of(READ_MOSTLY, x, 8192) == 1);
    /* A range has a location only if all of its bytes have this location. */
    HOLDS(of(PREFERRED, x, 4096) == CPU && of(PREFERRED, x + 4096, 4096) == 0 && of(PREFERRED, x + 4095, 2) == NONE);
    HOLDS(of(PREFERRED_TYPE, x, 4096) == ON_HOST && of(PREFERRED_TYPE, x, 8192) == 0 && of(PREFERRED_ID, x + 4096, 1) == 0);
    OK(cuMemRangeGetAttribute(devices, sizeof devices, ACCESSED_BY, x, 4096));
    HOLDS(devices[0] == 0 && devices[1] == CPU && devices[2] == NONE);
    OK(cuMemRangeGetAttribute(devices, sizeof devices, ACCESSED_BY, x, 8192));
    HOLDS(devices[0] == 0 && devices[1] == NONE);
    OK(cuMemAdvise_v2(x + 100, 8, UNSET_READ_MOSTLY, device));
    OK(cuMemAdvise_v2(x, 4096, UNSET_PREFERRED, device));
    OK(cuMemAdvise_v2(x, 8192, UNSET_ACCESSED_BY, device));
    HOLDS(of(READ_MOSTLY, x, 8192) == 0 && of(READ_MOSTLY, x + 108, 100) == 1 && of(PREFERRED, x, 4096) == NONE);
    OK(cuMemRangeGetAttribute(devices, sizeof devices, ACCESSED_BY, x, 4096));
    HOLDS(devices[0] == CPU && devices[1] == NONE);
    OK(cuMemPrefetchAsync_v2(x, 8192, device, 0, NULL));
    HOLDS(of(PREFETCHED, x, 8192) == 0 && of(PREFETCHED_TYPE, x, 8192) == ON_DEVICE);
    OK(cuMemRangeGetAttributes(outs, sizes, names, 2, x + 4096, 4096));
    HOLDS(value == 1 && type == ON_DEVICE);

    EXPECT(INVALID_VALUE, cuMemRangeGetAttribute(&value, 8, READ_MOSTLY, x, 1));
    EXPECT(INVALID_VALUE, cuMemRangeGetAttribute(&value, 4, READ_MOSTLY, x + 1, 8192));
    EXPECT(INVALID_VALUE, cuMemRangeGetAttribute(&value, 4, 99, x, 1));
    EXPECT(INVALID_VALUE, cuMemAdvise_v2(x, 1, 7, device));
    OK(cuMemAlloc_v2(&y, 64));
    EXPECT(INVALID_VALUE, cuMemRangeGetAttribute(&value, 4, READ_MOSTLY, y, 1));
    OK(cuMemFree_v2(y));
    /* Advice does not outlive the memory. */
    OK(cuMemFree_v2(x));
    OK(cuMemAllocManaged(&y, 8192, 1));
    HOLDS(of(READ_MOSTLY, y, 8192) == 0 && of(PREFETCHED, y, 8192) == NONE);
    OK(cuMemFree_v2(y));
}

static void descriptors(void) {
    const Array shape = {16, 8, 0, 0x20, 1, 2};
    /* Pitched memory: address, format and channels, width, height, and pitch. */
    Resource linear = {3, {0, 0x20 | 1ull << 32, 16, 8, 64}, 0}, image = {0, {0}, 0}, resource;
    const Texture sampler = {{1, 0, 3}, 1, 2, 0, {0}, {0.5f, 1, 2, 3}, {0}};
    Texture read;
    uint64_t texture, surface;
    CUdeviceptr x;
    void *array;

    OK(cuMemAlloc_v2(&x, 512));
    OK(cuArray3DCreate_v2(&array, &shape));
    linear.fields[0] = x;
    image.fields[0] = (uint64_t)array;
    OK(cuTexObjectCreate(&texture, &linear, &sampler, NULL));
    OK(cuSurfObjectCreate(&surface, &image));
    OK(cuTexObjectGetResourceDesc(&resource, texture));
    HOLDS(resource.type == 3 && memcmp(resource.fields, linear.fields, sizeof resource.fields) == 0 && resource.flags == 0);
    OK(cuTexObjectGetTextureDesc(&read, texture));
    HOLDS(memcmp(&read, &sampler, sizeof read) == 0);
    EXPECT(INVALID_VALUE, cuTexObjectGetResourceViewDesc(&resource, texture));
    OK(cuSurfObjectGetResourceDesc(&resource, surface));
    HOLDS(resource.type == 0 && resource.fields[0] == (uint64_t)array);
    EXPECT(INVALID_VALUE, cuSurfObjectGetResourceDesc(&resource, texture));
    EXPECT(INVALID_VALUE, cuTexObjectGetTextureDesc(&read, surface));
    OK(cuTexObjectDestroy(texture));
    OK(cuSurfObjectDestroy(surface));
    EXPECT(INVALID_VALUE, cuTexObjectGetResourceDesc(&resource, texture));
    OK(cuArrayDestroy(array));
    OK(cuMemFree_v2(x));
}

int main(void) {
    CUcontext context;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    ranges();
    descriptors();
    puts("done");
    return 0;
}
