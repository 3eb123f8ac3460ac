// Runs an exported product with tensor maps on the first NVIDIA GPU and checks every element of its result: D = A B with A m x k
// row-major, B k x n column-major and D m x n row-major, all bf16. The launch creates a tensor map for each matrix.
//
//     gemm [gemm.ptx [m n k]]
//
// Exit codes: 0 verified, 1 wrong result, 2 cannot run (no driver, no GPU, another architecture) or invalid usage.

#include "gemm.h"

#include "product.h"

namespace {

// The exported kernel.
constexpr auto kernel = KERNEL(gemm_bf16_row_col_128x128, GEMM_BF16_ROW_COL_128X128);

int run(int argc, char **argv) {
    if (argc != 1 && argc != 2 && argc != 5) {
        throw CannotRun("usage: gemm [gemm.ptx [m n k]]");
    }
    const std::string ptx = read_file(argc > 1 ? argv[1] : GEMM_PTX);
    const Size size = argc == 5 ? Size{parse_size(argv[2]), parse_size(argv[3]), parse_size(argv[4])} : Size{};
    const Driver driver;
    const std::string device = open_device(driver, gemm_runs_on, GEMM_TARGET);
    Product<Bf16, Bf16> product(size, Order::column);
    product.run(driver, load_module(driver, ptx), kernel);
    return product.report(device, kernel.name, GEMM_TARGET) ? 0 : 1;
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
