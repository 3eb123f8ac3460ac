/* Loads a module from a file, launches its kernel `set`, and prints the result. */
#include "driver.h"

int main(int argc, char **argv) {
    static char text[1 << 22];
    CUmodule module;
    CUfunction function;
    CUdeviceptr out;
    int result = 0;
    FILE *file = fopen(argv[argc - 1], "r");
    HOLDS(file != NULL);
    HOLDS(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    start();
    OK(cuModuleLoadData(&module, text));
    OK(cuModuleGetFunction(&function, module, "set"));
    OK(cuMemAlloc_v2(&out, 4));
    void *parameters[] = {&out};
    OK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
    OK(cuMemcpyDtoH_v2(&result, out, 4));
    printf("%d\n", result);
    return 0;
}
