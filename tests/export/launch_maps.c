/* Launches kernels whose tensor maps the header creates, with a driver that prints what it is given; C and C++. */
#include "batches.h"
#include "capped.h"
#include "gemm_bf16_row_col_128x128.h"
#include "resident.h"

#include <stdio.h>
#include <string.h>

static int multiprocessors = 132; /* negative: the query fails with this result */
static int encode_result = 0;
static int encoded = 0;

static void print_list(const char *name, const uint64_t *wide, const uint32_t *narrow, uint32_t count) {
    uint32_t i;
    printf(" %s", name);
    for (i = 0; i < count; i++)
        printf(" %llu", (unsigned long long)(wide != NULL ? wide[i] : narrow[i]));
}

/* Writes its number into every byte of the map. */
static warpwright_result encode(struct CUtensorMap_st *map, warpwright_map_type type, uint32_t rank, void *address,
                                const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                                const uint32_t *element_strides, warpwright_map_interleave interleave,
                                warpwright_map_swizzle swizzle, warpwright_map_promotion promotion,
                                warpwright_map_fill fill) {
    encoded++;
    printf("  map %d%s: type %d, at %llx,", encoded, (uintptr_t)map % 64 == 0 ? "" : " (misaligned)", type,
           (unsigned long long)(uintptr_t)address);
    print_list("dims", dims, NULL, rank);
    print_list("strides", strides, NULL, rank - 1);
    print_list("box", NULL, box, rank);
    print_list("element strides", NULL, element_strides, rank);
    printf(", interleave %d, swizzle %d, promotion %d, fill %d\n", interleave, swizzle, promotion, fill);
    if (encode_result == 0) memset((void *)map, encoded, 128);
    return (warpwright_result)encode_result;
}

/* The number in every byte of a map. */
static int number(const void *map) {
    const unsigned char *bytes = (const unsigned char *)map;
    int i;
    for (i = 1; i < 128; i++) {
        if (bytes[i] != bytes[0]) return -1;
    }
    return bytes[0];
}

static int parameters_before_maps = 0, maps = 0;

static warpwright_result print_launch(struct CUfunc_st *function, unsigned int gx, unsigned int gy, unsigned int gz,
                                      unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                      struct CUstream_st *stream, void **parameters, void **extra) {
    int i;
    (void)shared;
    printf("  grid %u %u %u, block %u %u %u%s, first %llx, maps", gx, gy, gz, bx, by, bz,
           function == NULL && stream == NULL && extra == NULL ? "" : ", wrong handles",
           (unsigned long long)*(uint64_t *)parameters[0]);
    for (i = 0; i < maps; i++) printf(" %d", number(parameters[parameters_before_maps + i]));
    printf("\n");
    return 7;
}

static warpwright_result print_attribute(struct CUfunc_st *function, warpwright_attribute attribute, int value) {
    (void)function;
    printf("  attribute %d = %d\n", attribute, value);
    return 9;
}

static warpwright_result get_device(int *device) {
    *device = 3;
    return 0;
}

static warpwright_result get_attribute(int *value, warpwright_device_attribute attribute, int device) {
    if (multiprocessors < 0) return (warpwright_result)-multiprocessors;
    *value = attribute == 16 && device == 3 ? multiprocessors : -1;
    return 0;
}

static const warpwright_extended_driver driver = {{print_launch, print_attribute}, encode, get_device, get_attribute};

static gemm_bf16_row_col_128x128_args product(uint32_t m, uint32_t n, uint32_t k, uint32_t padding) {
    gemm_bf16_row_col_128x128_args args;
    args.a.address = 0x10000000u;
    args.b.address = 0x20000000u;
    args.d.address = 0x30000000u;
    args.a.bytes = args.b.bytes = args.d.bytes = 0x10000000u;
    args.lda = args.ldb = k + padding;
    args.ldd = n + padding;
    args.m = m;
    args.n = n;
    args.k = k;
    return args;
}

static void launch_product(const warpwright_extended_driver *with, uint32_t m, uint32_t n, uint32_t k, uint32_t padding) {
    gemm_bf16_row_col_128x128_args args = product(m, n, k, padding);
    const char *problem = gemm_bf16_row_col_128x128_check(&args, (uint32_t)multiprocessors);
    printf("product of %u, %u, %u: %s\n", (unsigned)m, (unsigned)n, (unsigned)k, problem == NULL ? "good" : problem);
    parameters_before_maps = 9;
    maps = GEMM_BF16_ROW_COL_128X128_TENSOR_MAPS;
    encoded = 0;
    printf("  gives %d\n", (int)gemm_bf16_row_col_128x128_launch(with, NULL, NULL, &args));
}

static void launch_batches(uint32_t count, uint32_t m, uint32_t n) {
    const uint32_t grid[3] = {1, 2, 3};
    batches_args args = {{0x10000000u, WARPWRIGHT_OVERFLOW >> 20}, {0, 0}, 0, 0, 0};
    const char *problem;
    args.y.bytes = WARPWRIGHT_OVERFLOW >> 20;
    args.y.address = args.x.address + args.x.bytes / 16 * 16 + 16;
    args.count = count;
    args.m = m;
    args.n = n;
    problem = batches_check(&args);
    printf("%u batches of %u, %u: %s\n", (unsigned)count, (unsigned)m, (unsigned)n, problem == NULL ? "good" : problem);
    parameters_before_maps = 5;
    maps = BATCHES_TENSOR_MAPS;
    encoded = 0;
    printf("  gives %d\n", (int)batches_launch(&driver, NULL, NULL, grid, &args));
}

static void launch_resident(uint32_t n) {
    resident_args args = {{0x1000, 0x100000000u}, 0};
    args.n = n;
    maps = 0;
    printf("resident %u\n", (unsigned)n);
    printf("  gives %d\n", (int)resident_launch(&driver, NULL, NULL, &args));
}

static void cap(uint32_t m, uint32_t n) {
    capped_args args;
    uint64_t grid[3];
    args.m = m;
    args.n = n;
    capped_grid(&args, grid);
    printf("capped: %d %d, %s\n", grid[0] == WARPWRIGHT_OVERFLOW ? -1 : (int)grid[0], (int)grid[1],
           capped_check(&args) == NULL ? "good" : capped_check(&args));
}

int main(void) {
    warpwright_extended_driver old = driver;
    printf("prepare gives %d\n", (int)gemm_bf16_row_col_128x128_prepare(&driver, NULL));
    launch_product(&driver, 300, 196, 100, 4);
    /* A single row and column: any stride will do, but it must be a multiple of 16 bytes. D has no whole unit of 16 bytes to copy. */
    launch_product(&driver, 1, 1, 72, 1);
    launch_product(&driver, 300, 200, 100, 1);
    launch_product(&driver, 300, 200, 0, 8);
    launch_product(&driver, 0, 200, 101, 0);
    multiprocessors = 7;
    launch_product(&driver, 300, 2000, 64, 0);
    multiprocessors = 132;

    /* Errors of the driver, and functions that it does not have. */
    encode_result = 1;
    launch_product(&driver, 300, 200, 104, 0);
    encode_result = 0;
    old.tensor_map_encode_tiled = NULL;
    launch_product(&old, 300, 200, 104, 0);
    old = driver;
    old.ctx_get_device = NULL;
    launch_product(&old, 300, 200, 104, 0);
    multiprocessors = -201;
    launch_product(&driver, 300, 200, 104, 0);
    multiprocessors = 132;

    launch_batches(3, 5, 8);
    launch_batches(1, 1, 5);
    launch_batches(3, 5, 6);
    launch_batches(1, 1, 2147483652u);
    launch_batches(0, 5, 6);
    launch_batches(1, 1, 2147483648u);
    launch_batches(2, 1, 2147483644u);
    launch_batches(2, 65536, 65536);

    launch_resident(64000);
    launch_resident(64);
    launch_resident(0);
    cap(3, 2);
    cap(3, 20);
    cap(65536, 65536);
    return 0;
}
