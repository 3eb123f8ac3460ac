// Arrays, textures and surfaces. `textures NAME` runs a case with a bug.
#include <cstring>

#include "runtime.h"

enum { W = 8, H = 4, D = 2 };

__global__ void fetch(float *out, cudaTextureObject_t image, float x, float y) {
    *out = tex2D<float>(image, x, y);
}

__global__ void fetch_deep(float *out, cudaTextureObject_t image, float x, float y, float z) {
    *out = tex3D<float>(image, x, y, z);
}

__global__ void fetch_bytes(float4 *out, cudaTextureObject_t image, float x, float y) {
    *out = tex2D<float4>(image, x, y);
}

__global__ void fetch_linear(int *out, cudaTextureObject_t image) {
    out[threadIdx.x] = tex1Dfetch<int>(image, int(threadIdx.x) - 1);
}

// Each block copies a row to the opposite row of another surface.
__global__ void flip(cudaSurfaceObject_t to, cudaSurfaceObject_t from, int width) {
    int x = threadIdx.x, y = blockIdx.x;
    if (x < width) {
        surf2Dwrite(surf2Dread<float>(from, x * 4, y), to, x * 4, gridDim.x - 1 - y);
    }
}

static float host[D][H][W], *out;

static float result() {
    float value;
    OK(cudaMemcpy(&value, out, 4, cudaMemcpyDefault));
    return value;
}

static cudaResourceDesc of(cudaArray_t array) {
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static cudaTextureObject_t texture(const cudaResourceDesc &resource, bool linear, bool normalized) {
    cudaTextureDesc description = {};
    cudaTextureObject_t object;
    description.addressMode[0] = description.addressMode[1] = normalized ? cudaAddressModeWrap : cudaAddressModeClamp;
    description.filterMode = linear ? cudaFilterModeLinear : cudaFilterModePoint;
    description.normalizedCoords = normalized;
    OK(cudaCreateTextureObject(&object, &resource, &description, nullptr));
    return object;
}

static cudaArray_t filled() {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &format, W, H, cudaArraySurfaceLoadStore));
    OK(cudaMemcpy2DToArray(array, 0, 0, host, W * 4, W * 4, H, cudaMemcpyHostToDevice));
    return array;
}

static void flat() {
    cudaArray_t array = filled();
    cudaChannelFormatDesc format;
    cudaExtent extent;
    unsigned flags;
    OK(cudaArrayGetInfo(&format, &extent, &flags, array));
    HOLDS(format.x == 32 && format.f == cudaChannelFormatKindFloat && extent.width == W && extent.depth == 0 && flags == 2);

    cudaTextureObject_t points = texture(of(array), false, false), linear = texture(of(array), true, false);
    fetch<<<1, 1>>>(out, points, 3.7f, 2.2f);
    HOLDS(result() == 23);
    fetch<<<1, 1>>>(out, linear, 3.75f, 2.5f);
    HOLDS(result() == 23.25f);
    fetch<<<1, 1>>>(out, linear, -4, 99);
    HOLDS(result() == 30);
    fetch<<<1, 1>>>(out, texture(of(array), false, true), 1.4f, -0.1f);
    HOLDS(result() == 33);
    OK(cudaDestroyTextureObject(points));
    OK(cudaDestroyTextureObject(linear));

    // Copies of part of an array, and from one array to another.
    float part[2][3] = {}, line[W + 2] = {};
    OK(cudaMemcpy2DFromArray(part, sizeof part[0], array, 4, 1, sizeof part[0], 2, cudaMemcpyDefault));
    HOLDS(part[0][0] == 11 && part[1][2] == 23);
    cudaArray_t second = filled();
    OK(cudaMemcpy2DArrayToArray(second, 0, 0, array, 0, 2, W * 4, 2, cudaMemcpyDefault));
    OK(cudaMemcpy2DFromArray(line, W * 4, second, 0, 1, W * 4, 1, cudaMemcpyDefault));
    HOLDS(line[7] == 37);

    // Stores to a surface are visible to textures in a later kernel.
    cudaSurfaceObject_t from, to;
    cudaResourceDesc resource = of(array);
    OK(cudaCreateSurfaceObject(&from, &resource));
    resource = of(second);
    OK(cudaCreateSurfaceObject(&to, &resource));
    flip<<<H, 32>>>(to, from, W);
    fetch<<<1, 1>>>(out, texture(of(second), false, false), 5, 0);
    HOLDS(result() == 35);
    OK(cudaDestroySurfaceObject(to));
    OK(cudaFreeArray(second));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(nullptr));
}

static void deep() {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    cudaMemcpy3DParms copy = {};
    OK(cudaMalloc3DArray(&array, &format, make_cudaExtent(W, H, D)));
    copy.srcPtr = make_cudaPitchedPtr(host, W * 4, W, H);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(W, H, D);
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    fetch_deep<<<1, 1>>>(out, texture(of(array), true, false), 2.5f, 1.5f, 1.0f);
    HOLDS(result() == 62);
    // Part of a slice, starting at an element.
    float row[3] = {};
    copy = {};
    copy.srcArray = array;
    copy.srcPos = make_cudaPos(2, 3, 1);
    copy.dstPtr = make_cudaPitchedPtr(row, sizeof row, 3, 1);
    copy.extent = make_cudaExtent(3, 1, 1);
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&copy));
    HOLDS(row[0] == 132 && row[2] == 134);
}

static void memory_as_textures() {
    int values[W], *linear, found[W + 2];
    unsigned char *bytes;
    float4 color, *colors;
    size_t pitch;
    for (int i = 0; i < W; ++i) {
        values[i] = 100 - i;
    }
    OK(cudaMalloc(&linear, 4 * sizeof values));
    OK(cudaMemcpy(linear, values, sizeof values, cudaMemcpyDefault));
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = linear;
    resource.res.linear.desc = cudaCreateChannelDesc<int>();
    resource.res.linear.sizeInBytes = sizeof values;
    fetch_linear<<<1, W + 2>>>(linear + W, texture(resource, false, false));
    OK(cudaMemcpy(found, linear + W, sizeof found, cudaMemcpyDefault));
    HOLDS(found[0] == 0 && found[1] == 100 && found[W] == 101 - W && found[W + 1] == 0);

    OK(cudaMallocPitch(&bytes, &pitch, 4 * W, H));
    OK(cudaMemset2D(bytes, pitch, 51, 4 * W, H));
    OK(cudaMalloc(&colors, sizeof *colors));
    resource = {};
    resource.resType = cudaResourceTypePitch2D;
    resource.res.pitch2D.devPtr = bytes;
    resource.res.pitch2D.desc = cudaCreateChannelDesc<uchar4>();
    resource.res.pitch2D.width = W;
    resource.res.pitch2D.height = H;
    resource.res.pitch2D.pitchInBytes = pitch;
    cudaTextureDesc description = {};
    cudaTextureObject_t image;
    description.filterMode = cudaFilterModeLinear;
    HOLDS(cudaCreateTextureObject(&image, &resource, &description, nullptr) == cudaErrorInvalidFilterSetting);
    description.readMode = cudaReadModeNormalizedFloat;
    OK(cudaCreateTextureObject(&image, &resource, &description, nullptr));
    fetch_bytes<<<1, 1>>>(colors, image, 3, 2);
    OK(cudaMemcpy(&color, colors, sizeof color, cudaMemcpyDefault));
    HOLDS(color.x == 0.2f && color.w == 0.2f);
    resource.res.pitch2D.devPtr = bytes + 4;
    HOLDS(cudaCreateTextureObject(&image, &resource, &description, nullptr) == cudaErrorInvalidValue);
}

static void surface_too_narrow() {
    cudaSurfaceObject_t surface;
    cudaArray_t array = filled();
    cudaResourceDesc resource = of(array);
    OK(cudaCreateSurfaceObject(&surface, &resource));
    flip<<<H / 2, 32>>>(surface, surface, W + 1);
}

static void array_never_written() {
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    OK(cudaMallocArray(&array, &format, W, H));
    fetch<<<1, 1>>>(out, texture(of(array), false, false), 0, 0);
}

static void texture_destroyed_early() {
    cudaTextureObject_t image = texture(of(filled()), false, false);
    OK(cudaDestroyTextureObject(image));
    fetch<<<1, 1>>>(out, image, 0, 0);
}

static void array_freed_early() {
    cudaArray_t array = filled();
    cudaTextureObject_t image = texture(of(array), false, false);
    OK(cudaFreeArray(array));
    fetch<<<1, 1>>>(out, image, 0, 0);
}

static void copy_during_a_fetch() {
    cudaStream_t one, two;
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    cudaArray_t array = filled();
    fetch<<<1, 1, 0, one>>>(out, texture(of(array), false, false), 0, 0);
    OK(cudaMemcpy2DToArrayAsync(array, 0, 0, host, W * 4, W * 4, H, cudaMemcpyHostToDevice, two));
}

int main(int count, char **names) {
    static const struct {
        const char *name;
        void (*run)();
    } BUGS[] = {
        {"surface_too_narrow", surface_too_narrow},
        {"array_never_written", array_never_written},
        {"texture_destroyed_early", texture_destroyed_early},
        {"array_freed_early", array_freed_early},
        {"copy_during_a_fetch", copy_during_a_fetch},
    };
    for (int z = 0; z < D; ++z) {
        for (int y = 0; y < H; ++y) {
            for (int x = 0; x < W; ++x) {
                host[z][y][x] = float(100 * z + 10 * y + x);
            }
        }
    }
    OK(cudaMalloc(&out, 4));
    for (const auto &bug : BUGS) {
        if (count > 1 && std::strcmp(bug.name, names[1]) == 0) {
            bug.run();
        }
    }
    if (count == 1) {
        flat();
        deep();
        memory_as_textures();
    }
    cudaDeviceSynchronize();
    std::puts("done");
}
