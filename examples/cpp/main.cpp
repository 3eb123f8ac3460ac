// Runs the exported matrix product on the first NVIDIA GPU and checks every element of its result: D = A B with
// A m x k, B k x n (bf16) and D m x n (f32), all row-major.
//
//     matmul [matmul.ptx [m n k]]
//
// Exit codes: 0 verified, 1 wrong result, 2 cannot run (no driver, no GPU, too old) or invalid usage.

#include "matmul.h"

#include "driver.h"
#include "elements.h"
#include "host.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

// The exported kernel for any sizes, and the faster one for n and k that are multiples of 8.
struct AnySize {
    using Args = matmul_bf16_args;
    static constexpr const char *name = MATMUL_BF16_NAME;
    static constexpr auto prepare = matmul_bf16_prepare;
    static constexpr auto check = matmul_bf16_check;
    static constexpr auto launch = matmul_bf16_launch;
};

struct By8 {
    using Args = matmul_bf16_by8_args;
    static constexpr const char *name = MATMUL_BF16_BY8_NAME;
    static constexpr auto prepare = matmul_bf16_by8_prepare;
    static constexpr auto check = matmul_bf16_by8_check;
    static constexpr auto launch = matmul_bf16_by8_launch;
};

bool suits_by8(const Size &size) {
    return size.n % MATMUL_BF16_BY8_N_MULTIPLE_OF == 0 && size.k % MATMUL_BF16_BY8_K_MULTIPLE_OF == 0;
}

// Elements past the end of D that the kernel must not write.
constexpr std::size_t margin = 64;

// Runs the kernel and returns D with its margin.
template <class Kernel>
std::vector<float> multiply(const Driver &driver, const std::string &ptx, const Size &size,
                            const std::vector<std::uint16_t> &a, const std::vector<std::uint16_t> &b) {
    const Driver::Module module = load_module(driver, ptx);
    Driver::Function function = nullptr;
    driver.check(driver.module_get_function(&function, module, Kernel::name), "cuModuleGetFunction");
    driver.check(Kernel::prepare(&driver.launcher, function), "cuFuncSetAttribute");

    // NaN everywhere: elements that are not written are detected.
    std::vector<float> d(std::size_t{size.m} * size.n + margin, std::nanf(""));
    const Buffer device_a(driver, a.size() * sizeof a[0]);
    const Buffer device_b(driver, b.size() * sizeof b[0]);
    const Buffer device_d(driver, d.size() * sizeof d[0]);
    driver.check(driver.memcpy_to_device(device_a.address, a.data(), a.size() * sizeof a[0]), "copy of A");
    driver.check(driver.memcpy_to_device(device_b.address, b.data(), b.size() * sizeof b[0]), "copy of B");
    driver.check(driver.memcpy_to_device(device_d.address, d.data(), d.size() * sizeof d[0]), "copy to D");

    typename Kernel::Args args{};
    args.a = {device_a.address, a.size() * sizeof a[0]};
    args.b = {device_b.address, b.size() * sizeof b[0]};
    args.d = {device_d.address, d.size() * sizeof d[0]};
    args.m = size.m;
    args.n = size.n;
    args.k = size.k;
    if (const char *problem = Kernel::check(&args)) {
        throw CannotRun(std::string("invalid arguments: ") + problem);
    }
    driver.check(Kernel::launch(&driver.launcher, function, nullptr, &args), "cuLaunchKernel");
    driver.check(driver.context_synchronize(), "the kernel");
    driver.check(driver.memcpy_to_host(d.data(), device_d.address, d.size() * sizeof d[0]), "copy of D");
    return d;
}

// Compares every element with its sum in double precision; prints the first wrong element.
bool verify(const Size &size, const std::vector<std::uint16_t> &a, const std::vector<std::uint16_t> &b,
            const std::vector<float> &d, double &worst) {
    for (std::uint32_t row = 0; row < size.m; ++row) {
        for (std::uint32_t column = 0; column < size.n; ++column) {
            double sum = 0, magnitude = 0;
            for (std::uint32_t i = 0; i < size.k; ++i) {
                const double product = Bf16::value(a[std::size_t{row} * size.k + i]) *
                                       Bf16::value(b[std::size_t{i} * size.n + column]);
                sum += product;
                magnitude += std::abs(product);
            }
            // Products of bf16 are exact in f32; each of the k sums is off by at most 2^-23 of the magnitude.
            const double bound = size.k * std::ldexp(magnitude, -23);
            const float found = d[std::size_t{row} * size.n + column];
            const double error = std::abs(found - sum);
            if (!(error <= bound)) {
                std::printf("wrong: D[%" PRIu32 "][%" PRIu32 "] is %.9g, expected %.9g within %.3g\n", row, column,
                            static_cast<double>(found), sum, bound);
                return false;
            }
            worst = std::max(worst, error);
        }
    }
    for (std::size_t i = d.size() - margin; i < d.size(); ++i) {
        if (!std::isnan(d[i])) {
            std::printf("wrong: element %zu, past the end of D, was written\n", i);
            return false;
        }
    }
    return true;
}

int run(int argc, char **argv) {
    if (argc != 1 && argc != 2 && argc != 5) {
        throw CannotRun("usage: matmul [matmul.ptx [m n k]]");
    }
    const std::string path = argc > 1 ? argv[1] : MATMUL_PTX;
    Size size;
    if (argc == 5) {
        size = {parse_size(argv[2]), parse_size(argv[3]), parse_size(argv[4])};
    }
    const std::string ptx = read_file(path);
    const Driver driver;
    const std::string device = open_device(driver, matmul_runs_on, MATMUL_TARGET);
    const auto a = random_elements<Bf16>(std::size_t{size.m} * size.k, 1);
    const auto b = random_elements<Bf16>(std::size_t{size.k} * size.n, 2);
    const bool by8 = suits_by8(size);
    const auto d = by8 ? multiply<By8>(driver, ptx, size, a, b) : multiply<AnySize>(driver, ptx, size, a, b);
    double worst = 0;
    const bool good = verify(size, a, b, d, worst);
    std::printf("%s: %s (%s), m = %" PRIu32 ", n = %" PRIu32 ", k = %" PRIu32 ": ", device.c_str(),
                by8 ? By8::name : AnySize::name, MATMUL_TARGET, size.m, size.n, size.k);
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
        std::fprintf(stderr, "matmul: %s\n", error.what());
        return 2;
    }
}
