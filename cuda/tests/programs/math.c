/* Matrix products by cuBLAS and random numbers by cuRAND, compared with products in double precision and with the moments of the
   distributions. With the argument "short", a product reads past the end of B. */
#include "blas.h"

int cublasGetVersion_v2(Handle, int *);
const char *cublasGetStatusName(int);
int cublasSgemm_v2(Handle, int, int, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int, const void *, CUdeviceptr, int);
int cublasDgemm_v2(Handle, int, int, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int, const void *, CUdeviceptr, int);
int cublasHgemm(Handle, int, int, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int, const void *, CUdeviceptr, int);
int cublasGemmEx(Handle, int, int, int, int, int, const void *, CUdeviceptr, int, int, CUdeviceptr, int, int, const void *, CUdeviceptr,
                 int, int, int, int);
int cublasGemmStridedBatchedEx(Handle, int, int, int, int, int, const void *, CUdeviceptr, int, int, long long, CUdeviceptr, int, int,
                               long long, const void *, CUdeviceptr, int, int, long long, int, int, int);
int cublasGemmBatchedEx(Handle, int, int, int, int, int, const void *, CUdeviceptr, int, int, CUdeviceptr, int, int, const void *,
                        CUdeviceptr, int, int, int, int, int);
int cublasSgemv_v2(Handle, int, int, int, const void *, CUdeviceptr, int, CUdeviceptr, int, const void *, CUdeviceptr, int);
int cublasSaxpy_v2(void);
int curandCreateGenerator(Handle *, int);
int curandDestroyGenerator(Handle);
int curandSetStream(Handle, CUstream);
int curandSetPseudoRandomGeneratorSeed(Handle, unsigned long long);
int curandGenerateUniform(Handle, CUdeviceptr, size_t);
int curandGenerateLongLong(Handle, CUdeviceptr, size_t);
int curandGenerateNormalDouble(Handle, CUdeviceptr, size_t, double, double);
int curandGenerateNormal(Handle, CUdeviceptr, size_t, float, float);

/* Statuses of cuRAND (`curandStatus_t`). */
enum { NO_GENERATOR = 101, WRONG_TYPE = 103, ODD_LENGTH = 105 };

/* The types of a product: of A and B, of C, of alpha and beta, and the compute type. `most` bounds the elements so that every result
   is exact. */
typedef struct {
    int operand, result, scalar, compute, most;
} Kind;
static const Kind KINDS[] = {
    {F32, F32, F32, 68, 100}, {F32, F32, F32, 77, 100}, {F64, F64, F64, 70, 1000}, {F16, F16, F16, 64, 4}, {F16, F16, F32, 68, 4},
    {F16, F32, F32, 68, 20},  {BF16, BF16, F32, 68, 1}, {BF16, F32, F32, 75, 20},  {S8, S32, S32, 72, 127}, {S8, F32, F32, 68, 20},
};

static const struct {
    int m, n, k;
} SIZES[] = {{1, 1, 1}, {5, 7, 3}, {33, 18, 40}, {64, 1, 9}, {3, 5, 0}};

enum { SINGLE, STRIDED, ARRAYS, FORMS };
enum { BATCH = 3 };

/* A matrix of a batch: the host copy and the device addresses. */
typedef struct {
    unsigned char *host;
    CUdeviceptr device, array;
    int rows, leading, columns, type;
    size_t stride;
} Matrix;

static Matrix matrix(int rows, int columns, int type, int most, int written) {
    Matrix a = {NULL, 0, 0, rows, rows + 2, columns, type, 0};
    CUdeviceptr addresses[BATCH];
    a.stride = (size_t)a.leading * columns + 5;
    a.host = calloc(a.stride * BATCH, bytes(type));
    OK(cuMemAlloc_v2(&a.device, a.stride * BATCH * bytes(type)));
    for (int z = 0; z < BATCH; ++z) {
        addresses[z] = a.device + z * a.stride * bytes(type);
        for (size_t i = 0; i < a.stride; ++i)
            store(a.host, type, z * a.stride + i, next(most));
        /* The padding between columns is not written on the device. */
        if (written && rows > 0 && columns > 0)
            OK(cublasSetMatrix(rows, columns, bytes(type), a.host + z * a.stride * bytes(type), a.leading, addresses[z], a.leading));
    }
    OK(cuMemAlloc_v2(&a.array, sizeof addresses));
    OK(cuMemcpyHtoD_v2(a.array, addresses, sizeof addresses));
    return a;
}

static void release(Matrix a) {
    free(a.host);
    OK(cuMemFree_v2(a.device));
    OK(cuMemFree_v2(a.array));
}

static void product(Handle handle, CUstream stream, Kind kind, int ta, int tb, int m, int n, int k, int form, double x, double y) {
    Matrix a = ta ? matrix(k, m, kind.operand, kind.most, 1) : matrix(m, k, kind.operand, kind.most, 1);
    Matrix b = tb ? matrix(n, k, kind.operand, kind.most, 1) : matrix(k, n, kind.operand, kind.most, 1);
    /* With a beta of 0, C is not read. */
    Matrix c = matrix(m, n, kind.result, kind.most, y != 0);
    int matrices = form == SINGLE ? 1 : BATCH, on_device = form == STRIDED;
    double alpha = 0, beta = 0;
    const void *alpha_at = &alpha, *beta_at = &beta;
    CUdeviceptr scalars;
    unsigned char *results = calloc(c.stride, bytes(kind.result));

    store(&alpha, kind.scalar, 0, x);
    store(&beta, kind.scalar, 0, y);
    OK(cuMemAlloc_v2(&scalars, 16));
    if (on_device) {
        OK(cuMemcpyHtoD_v2(scalars, &alpha, 8));
        OK(cuMemcpyHtoD_v2(scalars + 8, &beta, 8));
        alpha_at = (void *)scalars;
        beta_at = (void *)(scalars + 8);
    }
    OK(cublasSetPointerMode_v2(handle, on_device));
    if (form == SINGLE && kind.compute != 68 && kind.operand != S8 && kind.operand != BF16)
        OK((kind.operand == F64 ? cublasDgemm_v2 : kind.operand == F16 ? cublasHgemm : cublasSgemm_v2)(
            handle, ta, tb, m, n, k, alpha_at, a.device, a.leading, b.device, b.leading, beta_at, c.device, c.leading));
    else if (form == SINGLE)
        OK(cublasGemmEx(handle, ta, tb, m, n, k, alpha_at, a.device, kind.operand, a.leading, b.device, kind.operand, b.leading, beta_at,
                        c.device, kind.result, c.leading, kind.compute, -1));
    else if (form == STRIDED)
        OK(cublasGemmStridedBatchedEx(handle, ta, tb, m, n, k, alpha_at, a.device, kind.operand, a.leading, a.stride, b.device,
                                      kind.operand, b.leading, b.stride, beta_at, c.device, kind.result, c.leading, c.stride, BATCH,
                                      kind.compute, 99));
    else
        OK(cublasGemmBatchedEx(handle, ta, tb, m, n, k, alpha_at, a.array, kind.operand, a.leading, b.array, kind.operand, b.leading,
                               beta_at, c.array, kind.result, c.leading, BATCH, kind.compute, -1));
    OK(cuStreamSynchronize(stream));
    for (int z = 0; z < matrices; ++z)
        for (int j = 0; j < n; ++j) {
            size_t at = z * c.stride + (size_t)j * c.leading;
            OK(cuMemcpyDtoH_v2(results, c.device + at * bytes(kind.result), m * bytes(kind.result)));
            for (int i = 0; i < m; ++i) {
                double sum = 0, found = load(results, kind.result, i);
                for (int l = 0; l < k; ++l)
                    sum += load(a.host, kind.operand, z * a.stride + (ta ? l + (size_t)i * a.leading : i + (size_t)l * a.leading)) *
                           load(b.host, kind.operand, z * b.stride + (tb ? j + (size_t)l * b.leading : l + (size_t)j * b.leading));
                sum = x * sum + (y == 0 ? 0 : y * load(c.host, kind.result, at + i));
                if (sum != found) {
                    printf("types %d %d, compute %d, operations %d %d, size %d %d %d, form %d: (%d, %d) of %d: expected %g, found %g\n",
                           kind.operand, kind.result, kind.compute, ta, tb, m, n, k, form, i, j, z, sum, found);
                    exit(1);
                }
            }
        }
    free(results);
    OK(cuMemFree_v2(scalars));
    release(a);
    release(b);
    release(c);
}

/* Sums of fractions are rounded: the error is at most that of k roundings to f32. */
static void fractions(Handle handle) {
    enum { M = 20, N = 9, K = 200 };
    static float a[M * K], b[K * N], c[M * N];
    CUdeviceptr da, db, dc;
    float alpha = 0.7f, beta = 0;
    for (int i = 0; i < M * K; ++i)
        a[i] = next(10000) / 9973.f;
    for (int i = 0; i < K * N; ++i)
        b[i] = next(10000) / 9967.f;
    OK(cuMemAlloc_v2(&da, sizeof a));
    OK(cuMemAlloc_v2(&db, sizeof b));
    OK(cuMemAlloc_v2(&dc, sizeof c));
    OK(cuMemcpyHtoD_v2(da, a, sizeof a));
    OK(cuMemcpyHtoD_v2(db, b, sizeof b));
    OK(cublasSetPointerMode_v2(handle, 0));
    OK(cublasSetStream_v2(handle, NULL));
    OK(cublasSgemm_v2(handle, 0, 0, M, N, K, &alpha, da, M, db, K, &beta, dc, M));
    OK(cuMemcpyDtoH_v2(c, dc, sizeof c));
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) {
            double sum = 0, size = 0, error;
            for (int l = 0; l < K; ++l) {
                double term = (double)a[i + l * M] * b[l + j * K];
                sum += term;
                size += term < 0 ? -term : term;
            }
            error = c[i + j * M] - alpha * sum;
            HOLDS((error < 0 ? -error : error) <= alpha * size * (K + 1) / (1 << 24));
        }
    OK(cuMemFree_v2(da));
    OK(cuMemFree_v2(db));
    OK(cuMemFree_v2(dc));
}

/* A matrix with 3 rows and 2 columns; vectors with strides of 2 and -1. */
static void vectors(Handle handle) {
    const float a[6] = {1, 2, 3, 4, 5, 6}, x[4] = {10, 0, 1, 0}, y[3] = {1, 1, 1}, alpha = 2, beta = 3;
    float got[4];
    CUdeviceptr da, dx, dy;
    OK(cuMemAlloc_v2(&da, sizeof a));
    OK(cuMemAlloc_v2(&dx, sizeof x));
    OK(cuMemAlloc_v2(&dy, sizeof y));
    OK(cuMemcpyHtoD_v2(da, a, sizeof a));
    OK(cuMemcpyHtoD_v2(dx, x, sizeof x));
    OK(cuMemcpyHtoD_v2(dy, y, sizeof y));
    OK(cublasSgemv_v2(handle, 0, 3, 2, &alpha, da, 3, dx, 2, &beta, dy, -1));
    OK(cuMemcpyDtoH_v2(got, dy, sizeof y));
    /* 2 (1 · 10 + 4 · 1) + 3, 2 (2 · 10 + 5) + 3, 2 (3 · 10 + 6) + 3, from the last element to the first. */
    HOLDS(got[2] == 31 && got[1] == 53 && got[0] == 75);
    /* The transposed matrix: 2 (1 · 75 + 2 · 53 + 3 · 31) + 3 · 10, 2 (4 · 75 + 5 · 53 + 6 · 31) + 3 · 1. */
    OK(cublasSgemv_v2(handle, 1, 3, 2, &alpha, da, 3, dy, 1, &beta, dx, 2));
    OK(cuMemcpyDtoH_v2(got, dx, sizeof got));
    HOLDS(got[0] == 578 && got[1] == 0 && got[2] == 1505 && got[3] == 0);
    EXPECT(INVALID, cublasSgemv_v2(handle, 1, 3, 2, &alpha, da, 3, dy, 0, &beta, dx, 2));
    OK(cuMemFree_v2(da));
    OK(cuMemFree_v2(dx));
    OK(cuMemFree_v2(dy));
}

/* The first four moments suffice to tell the distributions apart. */
static void moments(const double *x, int n, double mean, double deviation, double fourth) {
    double first = 0, second = 0, third = 0, last = 0;
    for (int i = 0; i < n; ++i) {
        double z = (x[i] - mean) / deviation;
        first += z / n;
        second += z * z / n;
        third += z * z * z / n;
        last += z * z * z * z / n;
    }
    HOLDS(first * first < 0.0025 && third * third < 0.04);
    HOLDS((second - 1) * (second - 1) < 0.0025 && (last - fourth) * (last - fourth) < 0.09);
}

static void random_numbers(CUstream stream) {
    enum { COUNT = 20000 };
    static float uniform[COUNT], again[COUNT];
    static double numbers[COUNT];
    Handle generator;
    CUdeviceptr singles, doubles;
    OK(cuMemAlloc_v2(&singles, sizeof uniform));
    OK(cuMemAlloc_v2(&doubles, sizeof numbers));
    OK(curandCreateGenerator(&generator, 100));
    OK(curandSetStream(generator, stream));
    OK(curandSetPseudoRandomGeneratorSeed(generator, 42));
    OK(curandGenerateUniform(generator, singles, COUNT));
    OK(cuMemcpyDtoHAsync_v2(uniform, singles, sizeof uniform, stream));
    OK(cuStreamSynchronize(stream));
    for (int i = 0; i < COUNT; ++i) {
        HOLDS(uniform[i] > 0 && uniform[i] <= 1);
        numbers[i] = uniform[i];
    }
    moments(numbers, COUNT, 0.5, 0.28867513, 1.8);
    OK(curandGenerateUniform(generator, singles, COUNT));
    OK(cuMemcpyDtoHAsync_v2(again, singles, sizeof again, stream));
    OK(cuStreamSynchronize(stream));
    HOLDS(memcmp(uniform, again, sizeof again) != 0);
    OK(curandSetPseudoRandomGeneratorSeed(generator, 42));
    OK(curandGenerateUniform(generator, singles, COUNT));
    OK(cuMemcpyDtoHAsync_v2(again, singles, sizeof again, stream));
    OK(cuStreamSynchronize(stream));
    HOLDS(memcmp(uniform, again, sizeof again) == 0);
    OK(curandGenerateNormalDouble(generator, doubles, COUNT, 3, 0.5));
    OK(cuMemcpyDtoHAsync_v2(numbers, doubles, sizeof numbers, stream));
    OK(cuStreamSynchronize(stream));
    moments(numbers, COUNT, 3, 0.5, 3);
    EXPECT(ODD_LENGTH, curandGenerateNormal(generator, singles, 3, 0, 1));
    EXPECT(WRONG_TYPE, curandGenerateLongLong(generator, doubles, COUNT));
    /* Generators do not support stream capture. */
    CUgraph graph;
    OK(cuStreamBeginCapture_v2(stream, 0));
    EXPECT(WRONG_TYPE, curandGenerateUniform(generator, singles, COUNT));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(curandDestroyGenerator(generator));
    EXPECT(NO_GENERATOR, curandGenerateUniform(generator, singles, 1));
    EXPECT(WRONG_TYPE, curandCreateGenerator(&generator, 201));
    OK(cuMemFree_v2(singles));
    OK(cuMemFree_v2(doubles));
}

static void too_short(Handle handle) {
    CUdeviceptr a, b, c;
    const float alpha = 1, beta = 0;
    OK(cuMemAlloc_v2(&a, 256));
    OK(cuMemAlloc_v2(&b, 252));
    OK(cuMemAlloc_v2(&c, 256));
    OK(cuMemsetD8_v2(a, 0, 256));
    OK(cuMemsetD8_v2(b, 0, 252));
    OK(cublasSgemm_v2(handle, 0, 0, 8, 8, 8, &alpha, a, 8, b, 8, &beta, c, 8));
}

int main(int count, char **arguments) {
    Handle handle;
    CUstream stream;
    int version;
    float one = 1;

    /* The handle makes the primary context current. */
    OK(cublasCreate_v2(&handle));
    OK(cublasGetVersion_v2(handle, &version));
    HOLDS(version == 130000);
    if (count > 1 && strcmp(arguments[1], "short") == 0) {
        too_short(handle);
        OK(cublasDestroy_v2(handle));
        return 0;
    }
    OK(cuStreamCreate(&stream, 1));
    OK(cublasSetStream_v2(handle, stream));
    for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; ++i)
        for (size_t j = 0; j < sizeof SIZES / sizeof *SIZES; ++j)
            for (int form = 0; form < FORMS; ++form) {
                int turn = i + j + form;
                for (int t = 0; t < 4; ++t)
                    product(handle, stream, KINDS[i], t & 1, t >> 1, SIZES[j].m, SIZES[j].n, SIZES[j].k, form, (turn + t) % 3 - 1,
                            (turn + t) % 4 - 1);
            }
    fractions(handle);
    vectors(handle);
    random_numbers(stream);
    /* A leading dimension less than the number of rows, a complex type, an unsupported function, and a destroyed handle. */
    EXPECT(INVALID, cublasSgemm_v2(handle, 0, 0, 2, 1, 1, &one, 0, 1, 0, 1, &one, 0, 2));
    EXPECT(UNSUPPORTED, cublasGemmEx(handle, 0, 0, 1, 1, 1, &one, 0, 4, 1, 0, 4, 1, &one, 0, 4, 1, 68, -1));
    EXPECT(UNSUPPORTED, cublasSaxpy_v2());
    HOLDS(strcmp(cublasGetStatusName(UNSUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED") == 0);
    OK(cublasDestroy_v2(handle));
    EXPECT(NO_HANDLE, cublasSgemm_v2(handle, 0, 0, 1, 1, 1, &one, 0, 1, 0, 1, &one, 0, 1));
    OK(cuStreamDestroy_v2(stream));
    puts("done");
    return 0;
}
