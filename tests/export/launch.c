/* Launches through exported headers with a driver that prints what it is given; C and C++. */
#include "bare.h"
#include "both.h"
#include "clustered.h"
#include "gridless.h"
#include "int.h"
#include "scale.h"
#include "views.h"
#include "views_source.h"

#include <stdio.h>
#include <string.h>

static warpwright_result print_launch(struct CUfunc_st *function, unsigned int gx, unsigned int gy, unsigned int gz,
                                      unsigned int bx, unsigned int by, unsigned int bz, unsigned int shared,
                                      struct CUstream_st *stream, void **parameters, void **extra) {
    printf("  grid %u %u %u, block %u %u %u, shared %u%s%s\n", gx, gy, gz, bx, by, bz, shared,
           function == NULL && stream == NULL && extra == NULL ? "" : ", wrong handles",
           parameters == NULL ? ", no parameters" : "");
    if (parameters != NULL && shared == SCALE_DYNAMIC_SHARED_BYTES) {
        printf("  x %llx, y %llx, n %u, by %g\n", (unsigned long long)*(uint64_t *)parameters[0],
               (unsigned long long)*(uint64_t *)parameters[1], (unsigned)*(uint32_t *)parameters[2],
               (double)*(float *)parameters[3]);
    }
    return 7;
}

static warpwright_result print_attribute(struct CUfunc_st *function, warpwright_attribute attribute, int value) {
    printf("  attribute %d = %d%s\n", attribute, value, function == NULL ? "" : ", wrong handle");
    return 9;
}

static const warpwright_driver driver = {print_launch, print_attribute};

static void try_scale(uint64_t x, uint64_t y, uint32_t n) {
    scale_args args;
    const char *problem;
    args.x.address = x;
    args.x.bytes = 256;
    args.y.address = y;
    args.y.bytes = 256;
    args.n = n;
    args.by = 1.5f;
    problem = scale_check(&args);
    printf("scale of %u: %s\n", (unsigned)n, problem == NULL ? "good" : problem);
    printf("  gives %d\n", (int)scale_launch(&driver, NULL, NULL, &args));
}

/* Buffers 2^20 bytes apart; returns the result of the check. */
static const char *check_views(uint64_t x, uint64_t y, uint64_t z, uint32_t m, uint32_t n) {
    views_args args = {{0x100000, 0}, {0x200000, 0}, {0x300000, 0}, 0, 0, 0};
    const char *problem;
    args.x.bytes = x;
    args.y.bytes = y;
    args.z.bytes = z;
    args.m = m;
    args.n = n;
    problem = views_check(&args);
    return problem == NULL ? "good" : problem;
}

static const char *check_overlap(warpwright_buffer x, warpwright_buffer y, warpwright_buffer z) {
    views_args args = {{0, 0}, {0, 0}, {0, 0}, 0, 0, 0};
    const char *problem;
    args.x = x;
    args.y = y;
    args.z = z;
    problem = views_check(&args);
    return problem == NULL ? "good" : problem;
}

static void try_views(void) {
    const uint64_t none = WARPWRIGHT_OVERFLOW;
    views_args args = {{0, 0}, {0, 0}, {0, 0}, 5, 7, 0};
    warpwright_buffer a = {0x100, 0x40}, b = {0x140, 0x10}, c = {0x130, 0x10}, empty = {0x110, 0};
    printf("views of 5 and 7: %u, %u and %u bytes\n", (unsigned)views_x_bytes(&args), (unsigned)views_y_bytes(&args),
           (unsigned)views_z_bytes(&args));
    printf("  %s\n", check_views(140, 138, 144, 5, 7));
    printf("  %s\n", check_views(139, 138, 144, 5, 7));
    printf("  %s\n", check_views(140, 137, 144, 5, 7));
    printf("  %s\n", check_views(140, 138, 143, 5, 7));
    printf("  %s\n", check_views(8000, 8000, 399, 1, 100)); /* the other view of z is longer */
    printf("  %s\n", check_views(0, 0, 0, 0, 0));
    printf("  %s\n", check_views(none - 1, none - 1, none - 1, 1, 4294901760u));
    printf("  %s\n", check_views(none - 1, none - 1, none - 1, 1, 4294901761u));
    printf("  %s\n", check_views(none - 1, none - 1, none - 1, 65537, 65535));
    args.m = 65536;
    args.n = 65536;
    printf("views of 65536: %d%d\n", views_x_bytes(&args) == 1ull << 34, views_y_bytes(&args) == none);
    args.m = args.n = 4294967295u;
    printf("views of 4294967295: %d%d\n", views_x_bytes(&args) == none, views_y_bytes(&args) == none);
    printf("overlap: %s\n", check_overlap(a, b, empty));
    printf("  %s\n", check_overlap(a, c, empty));
    printf("  %s\n", check_overlap(b, empty, b));
    printf("  %s\n", check_overlap(empty, c, a));
    printf("source: %.22s, %d\n", views_source, sizeof views_source == strlen(views_source) + 1);
}

int main(void) {
    const uint32_t grid[3] = {3, 2, 1};
    const uint32_t no_grid[3] = {3, 0, 1};
    const uint32_t block[3] = {64, 1, 1};
    const uint32_t too_wide[3] = {257, 1, 1};
    const uint32_t too_high[3] = {128, 2, 1};
    bare_args none = {0};
    gridless_args values = {{4096, 64}};
    clustered_args cluster = {4, 6};
    int_args all = {1, -1, 20, 6, 12, -1, 0x3c00, 0x3f80, 1.0f, 2.0};
    uint64_t blocks[3];

    printf("%s for %s, PTX %s: %d%d%d\n", SCALE_PTX, SCALE_TARGET, SCALE_PTX_VERSION, scale_runs_on(8, 0),
           scale_runs_on(9, 0), scale_runs_on(10, 0));
    printf("%s: %d%d%d\n", BARE_NAME, bare_runs_on(7, 0), bare_runs_on(7, 5), bare_runs_on(10, 0));

    printf("prepare gives %d\n", (int)scale_prepare(&driver, NULL));
    printf("prepare gives %d\n", (int)bare_prepare(&driver, NULL));

    try_scale(256, 512, 1000);
    try_scale(256, 512, 0);
    try_scale(256, 520, 1000);
    try_scale(256, 512, 1002);
    try_scale(256, 512, 4294967292u);

    printf("bare gives %d\n", (int)bare_launch(&driver, NULL, NULL, grid, block, &none));
    printf("bare gives %d\n", (int)bare_launch(&driver, NULL, NULL, no_grid, block, &none));
    printf("gridless gives %d\n", (int)gridless_launch(&driver, NULL, NULL, grid, &values));
    values.values.address = 8;
    printf("gridless: %s\n", gridless_check(&values));

    printf("clustered gives %d\n", (int)clustered_launch(&driver, NULL, NULL, &cluster));
    cluster.n = 5;
    printf("clustered: %s\n", clustered_check(&cluster));

    int_grid(&all, blocks);
    printf("int: %u %u %u, %s\n", (unsigned)blocks[0], (unsigned)blocks[1], (unsigned)blocks[2],
           int_check(&all) == NULL ? "good" : int_check(&all));
    all.linux_ = 7;
    printf("int: %s\n", int_check(&all));
    all.linux_ = -9;
    printf("int: %s\n", int_check(&all) == NULL ? "good" : int_check(&all));
    all.NULL_ = 101;
    printf("int: %s\n", int_check(&all));
    all.NULL_ = 20;
    all.template_ = 2;
    printf("int: %s\n", int_check(&all));
    all.template_ = 12;
    printf("int of 64 threads gives %d\n", (int)int_launch(&driver, NULL, NULL, block, &all));
    printf("int of 257 threads gives %d\n", (int)int_launch(&driver, NULL, NULL, too_wide, &all));
    printf("int: %s\n", int_check_block(too_wide));
    printf("int: %s\n", int_check_block(too_high));

    try_views();
    printf("%s has %s and %s\n", BOTH_PTX, FIRST_NAME, SECOND_NAME);
    return 0;
}
