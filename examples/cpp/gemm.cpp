// Runs an exported product with tensor maps on the first NVIDIA GPU and checks every element of its result: D = A B with A m x k
// row-major, B k x n column-major and D m x n row-major, all bf16. The launch creates a tensor map for each matrix.
//
//     gemm [gemm.ptx [m n k]]
//
// Exit codes: 0 verified, 1 wrong result, 2 cannot run (no driver, no GPU, another architecture) or invalid usage.

#include "gemm.h"

#include "bf16.h"
#include "driver.h"
#include "host.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

// The exported kernel.
using Args = gemm_bf16_row_col_128x128_args;
constexpr const char *name = GEMM_BF16_ROW_COL_128X128_NAME;
constexpr auto prepare = gemm_bf16_row_col_128x128_prepare;
constexpr auto check = gemm_bf16_row_col_128x128_check;
constexpr auto launch = gemm_bf16_row_col_128x128_launch;

// The elements between the starts of rows (of B, columns): tensor maps require multiples of 16 bytes.
std::uint32_t pitch(std::uint32_t length) { return (length + 7) / 8 * 8; }

// Elements past the end of D, which the kernel must not write, like those between its rows.
constexpr std::size_t margin = 64;
// A NaN.
constexpr std::uint16_t unwritten = 0x7fff;

// Runs the kernel and returns D with its margin.
std::vector<std::uint16_t> multiply(const Driver &driver, const std::string &ptx, const Size &size,
                                    const std::vector<std::uint16_t> &a, const std::vector<std::uint16_t> &b) {
    const Driver::Module module = load_module(driver, ptx);
    Driver::Function function = nullptr;
    driver.check(driver.module_get_function(&function, module, name), "cuModuleGetFunction");
    driver.check(prepare(&driver.launcher, function), "cuFuncSetAttribute");

    std::vector<std::uint16_t> d(std::size_t{size.m} * pitch(size.n) + margin, unwritten);
    const Buffer device_a(driver, a.size() * sizeof a[0]);
    const Buffer device_b(driver, b.size() * sizeof b[0]);
    const Buffer device_d(driver, d.size() * sizeof d[0]);
    driver.check(driver.memcpy_to_device(device_a.address, a.data(), a.size() * sizeof a[0]), "copy of A");
    driver.check(driver.memcpy_to_device(device_b.address, b.data(), b.size() * sizeof b[0]), "copy of B");
    driver.check(driver.memcpy_to_device(device_d.address, d.data(), d.size() * sizeof d[0]), "copy to D");

    Args args{};
    args.a = {device_a.address, a.size() * sizeof a[0]};
    args.b = {device_b.address, b.size() * sizeof b[0]};
    args.d = {device_d.address, d.size() * sizeof d[0]};
    args.lda = args.ldb = pitch(size.k);
    args.ldd = pitch(size.n);
    args.m = size.m;
    args.n = size.n;
    args.k = size.k;
    std::uint32_t multiprocessors = 0;
    driver.check(warpwright_multiprocessors(&driver.launcher, &multiprocessors), "number of multiprocessors");
    if (const char *problem = check(&args, multiprocessors)) {
        throw CannotRun(std::string("invalid arguments: ") + problem);
    }
    driver.check(launch(&driver.launcher, function, nullptr, &args), "cuLaunchKernel");
    driver.check(driver.context_synchronize(), "the kernel");
    driver.check(driver.memcpy_to_host(d.data(), device_d.address, d.size() * sizeof d[0]), "copy of D");
    return d;
}

// Compares every element with its sum in double precision; prints the first wrong element.
bool verify(const Size &size, const std::vector<std::uint16_t> &a, const std::vector<std::uint16_t> &b,
            const std::vector<std::uint16_t> &d, double &worst) {
    for (std::uint32_t row = 0; row < size.m; ++row) {
        for (std::uint32_t column = 0; column < size.n; ++column) {
            double sum = 0, magnitude = 0;
            for (std::uint32_t i = 0; i < size.k; ++i) {
                const double product = from_bf16(a[std::size_t{row} * pitch(size.k) + i]) *
                                       from_bf16(b[std::size_t{column} * pitch(size.k) + i]);
                sum += product;
                magnitude += std::abs(product);
            }
            // Products of bf16 are exact in f32; a tensor core truncates each of the k sums, and the result is rounded to 8 bits.
            const double bound = size.k * std::ldexp(magnitude, -21) + std::ldexp(std::abs(sum), -8);
            const double found = from_bf16(d[std::size_t{row} * pitch(size.n) + column]);
            const double error = std::abs(found - sum);
            if (!(error <= bound)) {
                std::printf("wrong: D[%" PRIu32 "][%" PRIu32 "] is %.9g, expected %.9g within %.3g\n", row, column,
                            found, sum, bound);
                return false;
            }
            worst = std::max(worst, error);
        }
    }
    for (std::size_t i = 0; i < d.size(); ++i) {
        const bool inside = i / pitch(size.n) < size.m && i % pitch(size.n) < size.n;
        if (!inside && d[i] != unwritten) {
            std::printf("wrong: element %zu, outside of D, was written\n", i);
            return false;
        }
    }
    return true;
}

int run(int argc, char **argv) {
    if (argc != 1 && argc != 2 && argc != 5) {
        throw CannotRun("usage: gemm [gemm.ptx [m n k]]");
    }
    const std::string path = argc > 1 ? argv[1] : GEMM_PTX;
    Size size;
    if (argc == 5) {
        size = {parse_size(argv[2]), parse_size(argv[3]), parse_size(argv[4])};
    }
    const std::string ptx = read_file(path);
    const Driver driver;
    const std::string device = open_device(driver, gemm_runs_on, GEMM_TARGET);
    const auto a = random_matrix(std::size_t{size.m} * pitch(size.k), 1);
    const auto b = random_matrix(std::size_t{size.n} * pitch(size.k), 2);
    const auto d = multiply(driver, ptx, size, a, b);
    double worst = 0;
    const bool good = verify(size, a, b, d, worst);
    std::printf("%s: %s (%s), m = %" PRIu32 ", n = %" PRIu32 ", k = %" PRIu32 ": ", device.c_str(), name,
                GEMM_TARGET, size.m, size.n, size.k);
    if (!good) {
        std::printf("wrong\n");
        return 1;
    }
    std::printf("worst error %.3g, verified\n", worst);
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "gemm: %s\n", error.what());
        return 2;
    }
}
