/* Triangular systems of equations by cuBLAS, compared with products in double precision. With the argument "short", a system reads past
   the end of A. */
#include "blas.h"

int cublasStrsm_v2(Handle, int, int, int, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int);
int cublasDtrsm_v2(Handle, int, int, int, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int);
int cublasStrsmBatched(Handle, int, int, int, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int, int);
int cublasDtrsmBatched(Handle, int, int, int, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int, int);

enum { LEFT, RIGHT };
enum { LOWER, UPPER };
enum { NON_UNIT, UNIT };

/* The sizes of B, including single equations and more columns or rows than a block has threads. */
static const struct {
    int m, n;
} SIZES[] = {{1, 1}, {1, 5}, {7, 1}, {6, 9}, {9, 6}, {130, 3}, {3, 131}};

enum { SINGLE, ARRAYS, FORMS };
enum { BATCH = 3 };

/* A call: its arguments, the value of alpha, and whether alpha is on the device. */
typedef struct {
    int type, form, side, fill, operation, diagonal, m, n;
    double alpha;
    int on_device;
} Case;

/* Generates the triangle of a matrix A, with zeros in the other triangle and ones on a unit diagonal. Diagonal elements are powers of 2,
   so that all results are exact. */
static void triangle(const Case *c, double *a, int order, int leading) {
    static const double DIAGONAL[] = {1, -1, 2, -2, 4, 0.5};
    for (int j = 0; j < order; ++j)
        for (int i = 0; i < order; ++i) {
            int outside = c->fill == LOWER ? i < j : i > j;
            double diagonal = c->diagonal == UNIT ? 1 : DIAGONAL[(next(300) + 300) % 6];
            a[i + (size_t)j * leading] = i == j ? diagonal : outside ? 0 : next(3);
        }
}

/* Copies the elements of A that may be read: the triangle, without a unit diagonal. */
static void copy_triangle(const Case *c, CUdeviceptr to, const double *a, int order, int leading) {
    unsigned char *column = calloc(order, 8);
    for (int j = 0; j < order; ++j) {
        int first = c->fill == LOWER ? j + c->diagonal : 0, last = c->fill == LOWER ? order : j + 1 - c->diagonal;
        for (int i = first; i < last; ++i)
            store(column, c->type, i - first, a[i + (size_t)j * leading]);
        if (first < last)
            OK(cuMemcpyHtoD_v2(to + (first + (size_t)j * leading) * bytes(c->type), column, (last - first) * bytes(c->type)));
    }
    free(column);
}

/* An element of op(A) · X, or of X · op(A). */
static double product(const Case *c, const double *a, int lda, const double *x, int ldb, int i, int j) {
    double sum = 0;
    for (int k = 0; k < (c->side == LEFT ? c->m : c->n); ++k) {
        int row = c->side == LEFT ? i : k, column = c->side == LEFT ? k : j;
        double factor = c->operation ? a[column + (size_t)row * lda] : a[row + (size_t)column * lda];
        sum += factor * (c->side == LEFT ? x[k + (size_t)j * ldb] : x[i + (size_t)k * ldb]);
    }
    return sum;
}

static int solve(Handle handle, const Case *c, const void *alpha, CUdeviceptr a, int lda, CUdeviceptr b, int ldb) {
    if (c->form == SINGLE)
        return (c->type == F32 ? cublasStrsm_v2 : cublasDtrsm_v2)(handle, c->side, c->fill, c->operation, c->diagonal, c->m, c->n, alpha,
                                                                  a, lda, b, ldb);
    return (c->type == F32 ? cublasStrsmBatched : cublasDtrsmBatched)(handle, c->side, c->fill, c->operation, c->diagonal, c->m, c->n,
                                                                      alpha, a, lda, b, ldb, BATCH);
}

/* Chooses A and X, computes B, and solves for X. With an alpha of 0, neither A nor the addresses of its matrices are written. */
static void system_of(Handle handle, CUstream stream, const Case *c) {
    int order = c->side == LEFT ? c->m : c->n, lda = order + 2, ldb = c->m + 1, size = bytes(c->type);
    int matrices = c->form == SINGLE ? 1 : BATCH;
    size_t a_count = (size_t)lda * order, b_count = (size_t)ldb * c->n;
    double *a = calloc(a_count, 8), *x = calloc(b_count * matrices, 8), alpha = 0;
    unsigned char *b = calloc(b_count * matrices, size);
    CUdeviceptr da, db, arrays, scalar, addresses[2 * BATCH] = {0};
    OK(cuMemAlloc_v2(&da, a_count * matrices * size));
    OK(cuMemAlloc_v2(&db, b_count * matrices * size));
    OK(cuMemAlloc_v2(&arrays, sizeof addresses));
    OK(cuMemAlloc_v2(&scalar, 8));
    for (int z = 0; z < matrices; ++z) {
        double *xz = x + z * b_count;
        addresses[z] = da + z * a_count * size;
        addresses[BATCH + z] = db + z * b_count * size;
        triangle(c, a, order, lda);
        if (c->alpha != 0)
            copy_triangle(c, addresses[z], a, order, lda);
        for (size_t i = 0; i < b_count; ++i) {
            xz[i] = next(8);
            store(b, c->type, z * b_count + i, xz[i]);
        }
        for (int j = 0; j < c->n; ++j)
            for (int i = 0; i < c->m && c->alpha != 0; ++i)
                store(b, c->type, z * b_count + i + (size_t)j * ldb, product(c, a, lda, xz, ldb, i, j) / c->alpha);
        /* With an alpha of 0, B is not read. */
        for (int j = 0; j < c->n; ++j) {
            size_t at = z * b_count + (size_t)j * ldb, skipped = c->alpha != 0 ? 0 : c->m;
            OK(cuMemcpyHtoD_v2(db + (at + skipped) * size, b + (at + skipped) * size, (ldb - skipped) * size));
            for (int i = 0; i < c->m && c->alpha == 0; ++i)
                xz[i + (size_t)j * ldb] = 0;
        }
    }
    if (c->alpha != 0)
        OK(cuMemcpyHtoD_v2(arrays, addresses, BATCH * 8));
    OK(cuMemcpyHtoD_v2(arrays + BATCH * 8, addresses + BATCH, BATCH * 8));
    store(&alpha, c->type, 0, c->alpha);
    OK(cuMemcpyHtoD_v2(scalar, &alpha, 8));
    OK(cublasSetPointerMode_v2(handle, c->on_device));
    OK(solve(handle, c, c->on_device ? (void *)scalar : &alpha, c->form == SINGLE ? da : arrays, lda,
             c->form == SINGLE ? db : arrays + BATCH * 8, ldb));
    OK(cuStreamSynchronize(stream));
    OK(cuMemcpyDtoH_v2(b, db, b_count * matrices * size));
    /* The rows between m and the leading dimension are unchanged. */
    for (size_t i = 0; i < b_count * matrices; ++i)
        if (load(b, c->type, i) != x[i]) {
            printf("type %d, form %d, side %d, fill %d, operation %d, diagonal %d, size %d %d, alpha %g: element %zu: expected %g, found %g\n",
                   c->type, c->form, c->side, c->fill, c->operation, c->diagonal, c->m, c->n, c->alpha, i, x[i], load(b, c->type, i));
            exit(1);
        }
    free(a);
    free(x);
    free(b);
    OK(cuMemFree_v2(da));
    OK(cuMemFree_v2(db));
    OK(cuMemFree_v2(arrays));
    OK(cuMemFree_v2(scalar));
}

/* Systems with fractions are rounded: the error of an equation is at most that of one rounding to f32 per product. */
static void fractions(Handle handle) {
    enum { ORDER = 60, COLUMNS = 7 };
    static float a[ORDER * ORDER], b[ORDER * COLUMNS], x[ORDER * COLUMNS];
    const float alpha = 0.7f;
    CUdeviceptr da, db;
    for (int i = 0; i < ORDER * ORDER; ++i)
        a[i] = i % (ORDER + 1) == 0 ? 3 + next(10000) / 9973.f : next(10000) / 29917.f;
    for (int i = 0; i < ORDER * COLUMNS; ++i)
        b[i] = next(10000) / 9967.f;
    OK(cuMemAlloc_v2(&da, sizeof a));
    OK(cuMemAlloc_v2(&db, sizeof b));
    OK(cuMemcpyHtoD_v2(da, a, sizeof a));
    OK(cuMemcpyHtoD_v2(db, b, sizeof b));
    OK(cublasSetPointerMode_v2(handle, 0));
    OK(cublasSetStream_v2(handle, NULL));
    OK(cublasStrsm_v2(handle, LEFT, UPPER, 0, NON_UNIT, ORDER, COLUMNS, &alpha, da, ORDER, db, ORDER));
    OK(cuMemcpyDtoH_v2(x, db, sizeof x));
    for (int i = 0; i < ORDER; ++i)
        for (int j = 0; j < COLUMNS; ++j) {
            double right = (double)alpha * b[i + j * ORDER], error = -right, size = right < 0 ? -right : right;
            for (int k = i; k < ORDER; ++k) {
                double term = (double)a[i + k * ORDER] * x[k + j * ORDER];
                error += term;
                size += term < 0 ? -term : term;
            }
            HOLDS((error < 0 ? -error : error) <= size * (ORDER - i + 1) / (1 << 24));
        }
    OK(cuMemFree_v2(da));
    OK(cuMemFree_v2(db));
}

/* Division by a zero on the diagonal returns infinity. */
static void singular(Handle handle) {
    const double a = 0, b = -3, alpha = 1;
    double x;
    CUdeviceptr da, db;
    OK(cuMemAlloc_v2(&da, 8));
    OK(cuMemAlloc_v2(&db, 8));
    OK(cuMemcpyHtoD_v2(da, &a, 8));
    OK(cuMemcpyHtoD_v2(db, &b, 8));
    OK(cublasDtrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, 1, 1, &alpha, da, 1, db, 1));
    OK(cuMemcpyDtoH_v2(&x, db, 8));
    HOLDS(x == -1 / 0.0);
    OK(cuMemFree_v2(da));
    OK(cuMemFree_v2(db));
}

/* Calls that do not launch a kernel: their matrices are null. */
static void arguments(Handle handle) {
    const float one = 1;
    /* Invalid enumerators, and `CUBLAS_FILL_MODE_FULL`. */
    EXPECT(INVALID, cublasStrsm_v2(handle, 2, LOWER, 0, NON_UNIT, 1, 1, &one, 0, 1, 0, 1));
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, 2, 0, NON_UNIT, 1, 1, &one, 0, 1, 0, 1));
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, LOWER, 3, NON_UNIT, 1, 1, &one, 0, 1, 0, 1));
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, LOWER, 0, 2, 1, 1, &one, 0, 1, 0, 1));
    /* Negative sizes, and leading dimensions less than the number of rows (A has n rows if it is on the right). */
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, -1, 1, &one, 0, 1, 0, 1));
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, 1, -1, &one, 0, 1, 0, 1));
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, 3, 2, &one, 0, 2, 0, 3));
    EXPECT(INVALID, cublasStrsm_v2(handle, RIGHT, LOWER, 1, NON_UNIT, 2, 3, &one, 0, 2, 0, 2));
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, 3, 2, &one, 0, 3, 0, 2));
    EXPECT(INVALID, cublasStrsm_v2(handle, RIGHT, LOWER, 0, NON_UNIT, 3, 2, &one, 0, 2, 0, 2));
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, 0, 0, &one, 0, 0, 0, 1));
    EXPECT(INVALID, cublasStrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, 1, 1, NULL, 0, 1, 0, 1));
    EXPECT(INVALID, cublasDtrsmBatched(handle, LEFT, LOWER, 0, NON_UNIT, 1, 1, &one, 0, 1, 0, 1, -1));
    /* Nothing to solve. */
    OK(cublasStrsm_v2(handle, RIGHT, LOWER, 0, NON_UNIT, 3, 0, &one, 0, 1, 0, 3));
    OK(cublasStrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, 0, 2, &one, 0, 1, 0, 1));
    OK(cublasDtrsmBatched(handle, LEFT, LOWER, 0, NON_UNIT, 1, 1, &one, 0, 1, 0, 1, 0));
}

static void too_short(Handle handle) {
    CUdeviceptr a, b;
    const double alpha = 1;
    OK(cuMemAlloc_v2(&a, 63 * 8));
    OK(cuMemAlloc_v2(&b, 64 * 8));
    OK(cuMemsetD8_v2(a, 0, 63 * 8));
    OK(cuMemsetD8_v2(b, 0, 64 * 8));
    OK(cublasDtrsm_v2(handle, RIGHT, UPPER, 0, NON_UNIT, 8, 8, &alpha, a, 8, b, 8));
}

int main(int count, char **arguments_of_main) {
    static const double ALPHAS[] = {1, -0.5, 2, 0};
    Handle handle;
    CUstream stream;
    const float one = 1;

    OK(cublasCreate_v2(&handle));
    if (count > 1 && strcmp(arguments_of_main[1], "short") == 0) {
        too_short(handle);
        OK(cublasDestroy_v2(handle));
        return 0;
    }
    OK(cuStreamCreate(&stream, 1));
    OK(cublasSetStream_v2(handle, stream));
    for (size_t size = 0; size < sizeof SIZES / sizeof *SIZES; ++size)
        for (int form = 0; form < FORMS; ++form)
            for (int type = F32; type <= F64; ++type)
                for (int t = 0; t < 24; ++t) {
                    int turn = size + form + type + t;
                    Case c = {type, form, t & 1, t >> 1 & 1, t >> 3, t >> 2 & 1, SIZES[size].m, SIZES[size].n, ALPHAS[turn % 3], turn & 1};
                    system_of(handle, stream, &c);
                    if (t % 8 == (int)size) {
                        c.alpha = 0;
                        system_of(handle, stream, &c);
                    }
                }
    fractions(handle);
    singular(handle);
    arguments(handle);
    OK(cublasDestroy_v2(handle));
    EXPECT(NO_HANDLE, cublasStrsm_v2(handle, LEFT, LOWER, 0, NON_UNIT, 1, 1, &one, 0, 1, 0, 1));
    OK(cuStreamDestroy_v2(stream));
    puts("done");
    return 0;
}
