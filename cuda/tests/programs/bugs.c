/* Programs with bugs, selected by name: `bugs NAME` has the bug, and `bugs NAME fixed` does not. If QUICK_EXIT is set, exit handlers do not
   run. */
#include <stdlib.h>
#include "driver.h"

enum { N = 256, BYTES = 4 * N };

static CUfunction kernel;
static CUdeviceptr x, y;
static CUstream one, two; /* CU_STREAM_NON_BLOCKING */
static CUevent event;
static float host[N], *pinned;
static int fixed;

/* Makes the second stream wait for the first. */
static void order(CUstream first, CUstream second) {
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
}

static void use_after_free(void) {
    if (!fixed) {
        OK(cuMemFree_v2(x));
    }
    OK(launch(kernel, y, x, 2, N, NULL));
    cuCtxSynchronize();
}

static void copy_after_free(void) {
    if (!fixed) {
        OK(cuMemFree_v2(x));
    }
    cuMemcpyDtoH_v2(host, x, BYTES);
}

static void fill_after_free_in_stream(void) {
    CUdeviceptr z;
    OK(cuMemAllocAsync(&z, BYTES, one));
    if (!fixed) {
        OK(cuMemFreeAsync(z, one));
        OK(cuStreamSynchronize(one));
    }
    cuMemsetD32Async(z, 0, N, one);
    if (fixed) {
        OK(cuMemFreeAsync(z, one));
    }
}

static void double_free(void) {
    OK(cuMemFree_v2(x));
    if (!fixed) {
        cuMemFree_v2(x);
    }
}

static void leak(void) {
    CUdeviceptr z;
    OK(cuMemAlloc_v2(&z, 12345));
    if (fixed) {
        OK(cuMemFree_v2(z));
    }
}

static void uninitialized_copy(void) {
    OK(launch(kernel, y, x, 2, fixed ? N : N - 2, NULL));
    OK(cuMemcpyDtoH_v2(host, y, BYTES));
}

static void uninitialized_copy_of_a_copy(void) {
    CUdeviceptr z;
    OK(cuMemAlloc_v2(&z, BYTES));
    OK(launch(kernel, y, x, 2, fixed ? N : N / 2, NULL));
    OK(cuMemcpyDtoD_v2(z, y, BYTES));
    OK(cuMemcpyDtoHAsync_v2(pinned, z, BYTES, NULL));
}

static void uninitialized_argument(void) {
    if (fixed) {
        OK(cuMemsetD8_v2(y, 0, BYTES));
    }
    OK(launch(kernel, x, y, 2, N, NULL));
}

/* The buffer of the next step is overwritten by a copy while a kernel reads it. */
static void copy_over_a_kernel(void) {
    OK(launch(kernel, y, x, 2, N, one));
    if (fixed) {
        order(one, two);
    }
    OK(cuMemcpyHtoDAsync_v2(x, pinned, BYTES, two));
}

static void result_before_the_kernel(void) {
    OK(cuMemsetD8_v2(y, 0, BYTES));
    OK(cuCtxSynchronize());
    OK(launch(kernel, y, x, 2, N, one));
    if (fixed) {
        OK(cuStreamSynchronize(one));
    }
    OK(cuMemcpyDtoHAsync_v2(pinned, y, BYTES, two));
}

/* Two copies use the same host buffer. */
static void staging_buffer_used_twice(void) {
    OK(cuMemcpyDtoHAsync_v2(pinned, x, BYTES, one));
    if (fixed) {
        order(one, two);
    }
    OK(cuMemcpyHtoDAsync_v2(y, pinned, BYTES, two));
}

/* A non-blocking stream is not ordered with the default stream. */
static void fill_in_the_default_stream(void) {
    CUstream stream = one;
    if (fixed) {
        OK(cuStreamCreate(&stream, 0));
    }
    OK(launch(kernel, y, x, 2, N, stream));
    OK(cuMemsetD32Async(x, 0, N, NULL));
}

/* Nor are the operations of a non-blocking stream that has been destroyed. */
static void destroyed_stream(void) {
    CUstream stream;
    OK(cuStreamCreate(&stream, fixed ? 0 : 1));
    OK(launch(kernel, y, x, 2, N, stream));
    OK(cuStreamDestroy_v2(stream));
    OK(cuMemsetD32Async(x, 0, N, NULL));
}

/* A per-thread default stream is ordered with the legacy default stream, but not with non-blocking streams. */
static void default_stream_of_the_thread(void) {
    CUstream own = (CUstream)2; /* CU_STREAM_PER_THREAD */
    OK(launch(kernel, y, x, 2, N, fixed ? NULL : two));
    OK(cuMemsetD32Async(y, 0, N, own));
}

static void free_in_another_stream(void) {
    CUdeviceptr z;
    OK(cuMemAllocAsync(&z, BYTES, one));
    OK(launch(kernel, z, x, 2, N, one));
    if (fixed) {
        order(one, two);
    }
    OK(cuMemFreeAsync(z, two));
}

static void use_before_allocation(void) {
    CUdeviceptr z;
    OK(cuMemAllocAsync(&z, BYTES, one));
    if (fixed) {
        order(one, two);
    }
    OK(launch(kernel, z, x, 2, N, two));
}

static void branches_of_a_graph(void) {
    CUgraph graph;
    CUgraphExec executable;
    OK(cuStreamBeginCapture_v2(one, 0));
    order(one, two);
    OK(launch(kernel, y, x, 2, N, one));
    OK(cuMemsetD32Async(fixed ? y + BYTES : y, 0, N, two));
    order(two, one);
    OK(cuStreamEndCapture(one, &graph));
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    OK(cuGraphLaunch(executable, one));
}

/* Memory of a graph that is used and freed by nodes that may run concurrently. */
static void memory_of_a_graph(int used_late, int freed_late) {
    CUgraph graph;
    CUgraphExec executable;
    CUgraphNode alloc, work, node;
    CUDA_MEM_ALLOC_NODE_PARAMS params = {1, 0, 1, 0, {0}, NULL, 0, BYTES, 0};
    OK(cuGraphCreate(&graph, 0));
    OK(cuGraphAddMemAllocNode(&alloc, graph, NULL, 0, &params));
    void *arguments[] = {&params.dptr, &x, (float[]){2}, (int[]){N}};
    CUDA_KERNEL_NODE_PARAMS launched = {kernel, 2, 1, 1, 128, 1, 1, 0, arguments, NULL, NULL, NULL};
    OK(cuGraphAddKernelNode_v2(&work, graph, &alloc, used_late, &launched));
    OK(cuGraphAddMemFreeNode(&node, graph, freed_late ? &work : &alloc, 1, params.dptr));
    OK(cuGraphInstantiateWithFlags(&executable, graph, 0));
    OK(cuGraphLaunch(executable, one));
}

static void graph_uses_memory_early(void) {
    memory_of_a_graph(fixed, 1);
}

static void graph_frees_memory_early(void) {
    memory_of_a_graph(1, fixed);
}

/* Maps memory at the start of a reserved range of twice its size. */
static CUdeviceptr mapped(const CUmemAccessDesc *access) {
    size_t unit = 2 << 20;
    CUdeviceptr range;
    unsigned long long memory;
    OK(cuMemAddressReserve(&range, 2 * unit, 0, 0, 0));
    OK(cuMemCreate(&memory, unit, &PROPERTIES, 0));
    OK(cuMemMap(range, unit, 0, memory, 0));
    OK(cuMemSetAccess(range, unit, &READS_AND_WRITES, 1));
    OK(cuMemsetD8_v2(range, 0, unit - BYTES));
    OK(cuMemSetAccess(range, unit, access, 1));
    return range;
}

static void behind_the_mapping(void) {
    CUdeviceptr range = mapped(&READS_AND_WRITES);
    OK(launch(kernel, y, range + (fixed ? 0 : 2 << 20), 2, N, NULL));
}

static void mapping_without_access(void) {
    CUdeviceptr range = mapped(fixed ? &READS : &NO_ACCESS);
    OK(launch(kernel, y, range, 2, N, NULL));
}

static void store_to_a_read_only_mapping(void) {
    CUdeviceptr range = mapped(fixed ? &READS_AND_WRITES : &READS);
    OK(launch(kernel, range, x, 2, N, NULL));
}

static void uninitialized_mapping(void) {
    CUdeviceptr range = mapped(&READS);
    OK(launch(kernel, y, range + (2 << 20) - (fixed ? 2 : 1) * BYTES, 2, N, NULL));
}

static void unmapped_too_early(void) {
    CUdeviceptr range = mapped(&READS);
    if (!fixed) {
        OK(cuMemUnmap(range, 2 << 20));
    }
    OK(launch(kernel, y, range, 2, N, NULL));
}

/* The operations that precede a host function are complete when it signals the program. */
static void finished(void *flag) {
    __atomic_store_n((int *)flag, 1, __ATOMIC_RELEASE);
}

static void signal_from_a_host_function(void) {
    int flag = 0;
    OK(launch(kernel, y, x, 2, N, one));
    if (fixed) {
        OK(cuLaunchHostFunc(one, finished, &flag));
        while (!__atomic_load_n(&flag, __ATOMIC_ACQUIRE)) {
        }
    }
    OK(cuMemsetD32Async(y, 0, N, two));
}

static void block_too_large(void) {
    void *arguments[] = {&y, &x, (float[]){2}, (int[]){N}};
    cuLaunchKernel(kernel, 1, 1, 1, fixed ? 512 : 2048, 1, 1, 0, NULL, arguments, NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} BUGS[] = {
    {"use_after_free", use_after_free},
    {"copy_after_free", copy_after_free},
    {"fill_after_free_in_stream", fill_after_free_in_stream},
    {"double_free", double_free},
    {"leak", leak},
    {"uninitialized_copy", uninitialized_copy},
    {"uninitialized_copy_of_a_copy", uninitialized_copy_of_a_copy},
    {"uninitialized_argument", uninitialized_argument},
    {"copy_over_a_kernel", copy_over_a_kernel},
    {"result_before_the_kernel", result_before_the_kernel},
    {"staging_buffer_used_twice", staging_buffer_used_twice},
    {"fill_in_the_default_stream", fill_in_the_default_stream},
    {"destroyed_stream", destroyed_stream},
    {"default_stream_of_the_thread", default_stream_of_the_thread},
    {"free_in_another_stream", free_in_another_stream},
    {"use_before_allocation", use_before_allocation},
    {"branches_of_a_graph", branches_of_a_graph},
    {"graph_uses_memory_early", graph_uses_memory_early},
    {"graph_frees_memory_early", graph_frees_memory_early},
    {"behind_the_mapping", behind_the_mapping},
    {"mapping_without_access", mapping_without_access},
    {"store_to_a_read_only_mapping", store_to_a_read_only_mapping},
    {"uninitialized_mapping", uninitialized_mapping},
    {"unmapped_too_early", unmapped_too_early},
    {"signal_from_a_host_function", signal_from_a_host_function},
    {"block_too_large", block_too_large},
};

int main(int count, char **names) {
    start();
    kernel = scale();
    fixed = count > 2;
    OK(cuStreamCreate(&one, 1));
    OK(cuStreamCreate(&two, 1));
    OK(cuEventCreate(&event, 0));
    OK(cuMemAlloc_v2(&x, BYTES));
    OK(cuMemAlloc_v2(&y, 2 * BYTES));
    OK(cuMemHostAlloc((void **)&pinned, BYTES, 0));
    OK(cuMemcpyHtoD_v2(x, host, BYTES));
    for (size_t i = 0; i < sizeof BUGS / sizeof *BUGS; ++i) {
        if (strcmp(BUGS[i].name, names[1]) == 0) {
            BUGS[i].run();
        }
    }
    cuCtxSynchronize();
    puts("done");
    if (getenv("QUICK_EXIT") != NULL) {
        fflush(stdout);
        quick_exit(0);
    }
    return 0;
}
