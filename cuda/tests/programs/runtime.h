// Macros that check the results of the runtime interface.
#pragma once

#include <cstdio>
#include <cstdlib>

#define OK(call)                                                                                      \
    do {                                                                                              \
        cudaError_t error_of_call = (call);                                                           \
        if (error_of_call != cudaSuccess) {                                                           \
            std::printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, cudaGetErrorName(error_of_call), #call); \
            std::exit(1);                                                                             \
        }                                                                                             \
    } while (0)
#define HOLDS(condition)                                                                              \
    do {                                                                                              \
        if (!(condition)) {                                                                           \
            std::printf("%s:%d: %s\n", __FILE__, __LINE__, #condition);                               \
            std::exit(1);                                                                             \
        }                                                                                             \
    } while (0)
