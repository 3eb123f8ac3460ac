// Runs every product in gemm.ptx, gemm_e4m3.ptx, gemm_s8.ptx and gemm_tf32.ptx, which this project contains, on the first NVIDIA GPU, and
// checks every element of the results.
//
//     products [folder [m n k]]
//
// Exit codes: 0 verified, 1 wrong result, 2 cannot run (no driver, no GPU, another architecture) or invalid usage.

#include "gemm.h"
#include "gemm_e4m3.h"
#include "gemm_s8.h"
#include "gemm_tf32.h"

#include "product.h"

namespace {

// The kernels of a file.
class File {
public:
    File(const Driver &with, const std::string &device_name, const std::string &path, const char *target_name,
         const Size &sizes)
        : driver(with), device(device_name), target(target_name), module(load_module(with, read_file(path))),
          size(sizes) {}

    // Runs a product and checks its result.
    template <class A, class D, class Args>
    bool multiply(const Kernel<Args> &kernel, Order order_b) const {
        Product<A, D> product(size, order_b);
        product.run(driver, module, kernel);
        return product.report(device, kernel.name, target);
    }

private:
    const Driver &driver;
    std::string device;
    const char *target;
    Driver::Module module;
    Size size;
};

int run(int argc, char **argv) {
    if (argc != 1 && argc != 2 && argc != 5) {
        throw CannotRun("usage: products [folder [m n k]]");
    }
    const std::string folder = argc > 1 ? argv[1] : ".";
    const Size size = argc == 5 ? Size{parse_size(argv[2]), parse_size(argv[3]), parse_size(argv[4])} : Size{};
    const Driver driver;
    const std::string device = open_device(driver, gemm_runs_on, GEMM_TARGET);
    bool good = true;

    const File bf16(driver, device, folder + "/" GEMM_PTX, GEMM_TARGET, size);
    good &= bf16.multiply<Bf16, Bf16>(KERNEL(gemm_bf16_row_row_128x128, GEMM_BF16_ROW_ROW_128X128), Order::row);
    good &= bf16.multiply<Bf16, Bf16>(KERNEL(gemm_bf16_row_col_128x128, GEMM_BF16_ROW_COL_128X128), Order::column);
    good &= bf16.multiply<Bf16, Bf16>(KERNEL(gemm_bf16_row_row_128x192, GEMM_BF16_ROW_ROW_128X192), Order::row);
    good &= bf16.multiply<Bf16, Bf16>(KERNEL(gemm_bf16_row_col_128x192, GEMM_BF16_ROW_COL_128X192), Order::column);

    const File e4m3(driver, device, folder + "/" GEMM_E4M3_PTX, GEMM_E4M3_TARGET, size);
    good &= e4m3.multiply<E4m3, Bf16>(KERNEL(gemm_e4m3_bf16_row_col_128x128, GEMM_E4M3_BF16_ROW_COL_128X128), Order::column);
    good &= e4m3.multiply<E4m3, Bf16>(KERNEL(gemm_e4m3_bf16_row_col_128x192, GEMM_E4M3_BF16_ROW_COL_128X192), Order::column);

    const File s8(driver, device, folder + "/" GEMM_S8_PTX, GEMM_S8_TARGET, size);
    good &= s8.multiply<I8, I32>(KERNEL(gemm_i8_i32_row_col_128x128, GEMM_I8_I32_ROW_COL_128X128), Order::column);
    good &= s8.multiply<I8, I32>(KERNEL(gemm_i8_i32_row_col_128x192, GEMM_I8_I32_ROW_COL_128X192), Order::column);

    const File tf32(driver, device, folder + "/" GEMM_TF32_PTX, GEMM_TF32_TARGET, size);
    good &= tf32.multiply<Tf32, F32>(KERNEL(gemm_tf32_f32_row_col_128x128, GEMM_TF32_F32_ROW_COL_128X128), Order::column);
    good &= tf32.multiply<Tf32, F32>(KERNEL(gemm_tf32_f32_row_col_128x192, GEMM_TF32_F32_ROW_COL_128X192), Order::column);
    return good ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
    try {
        return run(argc, argv);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "products: %s\n", error.what());
        return 2;
    }
}
