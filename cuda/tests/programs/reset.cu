// Variables of two devices, one of which is reset.
#include "runtime.h"

__device__ int value = 7;
__managed__ int counter = 3;

__global__ void count() { counter += value; }

static int on_device() {
    int found;
    OK(cudaMemcpyFromSymbol(&found, value, sizeof found));
    return found;
}

int main() {
    for (int device = 0; device < 2; ++device) {
        int five = 5 + device;
        OK(cudaSetDevice(device));
        OK(cudaMemcpyToSymbol(value, &five, sizeof five));
    }
    OK(cudaSetDevice(0));
    count<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    HOLDS(counter == 8);

    OK(cudaDeviceReset());
    HOLDS(on_device() == 7);
    count<<<1, 1>>>();
    OK(cudaDeviceSynchronize());
    HOLDS(counter == 10);
    OK(cudaSetDevice(1));
    HOLDS(on_device() == 6);
    std::puts("done");
}
