// Runs an exported product D = A B through tensor maps and checks every element: A is m x k, B is k x n, D is m x n and row-major.
#pragma once

#include "driver.h"
#include "elements.h"
#include "host.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <string>
#include <type_traits>
#include <vector>

// The functions of a kernel in its exported header.
template <class Args>
struct Kernel {
    const char *name;
    warpwright_result (*prepare)(const warpwright_extended_driver *, struct CUfunc_st *);
    const char *(*check)(const Args *, std::uint32_t);
    warpwright_result (*launch)(const warpwright_extended_driver *, struct CUfunc_st *, struct CUstream_st *, const Args *);
};

// The functions of the exported kernel with this name, in lower and in upper case.
#define KERNEL(lower, UPPER) \
    Kernel<lower##_args> { UPPER##_NAME, lower##_prepare, lower##_check, lower##_launch }

enum class Order { row, column };

// A product of elements of type `A` with results of type `D`. A is row-major.
template <class A, class D>
class Product {
public:
    Product(const Size &sizes, Order order_b) : size(sizes), order(order_b) {
        a = random_elements<A>(std::size_t{size.m} * pitch<A>(size.k), 1);
        b = random_elements<A>(order == Order::column ? std::size_t{size.n} * pitch<A>(size.k)
                                                      : std::size_t{size.k} * pitch<A>(size.n),
                               2);
        d.assign(std::size_t{size.m} * pitch<D>(size.n) + margin, D::unwritten);
    }

    // Runs the kernel and copies D with its margin to the host.
    template <class Args>
    void run(const Driver &driver, Driver::Module module, const Kernel<Args> &kernel) {
        Driver::Function function = nullptr;
        driver.check(driver.module_get_function(&function, module, kernel.name), "cuModuleGetFunction");
        driver.check(kernel.prepare(&driver.launcher, function), "cuFuncSetAttribute");
        const Upload device_a(driver, a), device_b(driver, b), device_d(driver, d);

        Args args{};
        args.a = device_a.buffer();
        args.b = device_b.buffer();
        args.d = device_d.buffer();
        args.lda = pitch<A>(size.k);
        args.ldb = pitch<A>(order == Order::column ? size.k : size.n);
        args.ldd = pitch<D>(size.n);
        args.m = size.m;
        args.n = size.n;
        args.k = size.k;
        std::uint32_t multiprocessors = 0;
        driver.check(warpwright_multiprocessors(&driver.launcher, &multiprocessors), "number of multiprocessors");
        if (const char *problem = kernel.check(&args, multiprocessors)) {
            throw CannotRun(std::string("invalid arguments: ") + problem);
        }
        driver.check(kernel.launch(&driver.launcher, function, nullptr, &args), "cuLaunchKernel");
        driver.check(driver.context_synchronize(), "the kernel");
        driver.check(driver.memcpy_to_host(d.data(), args.d.address, args.d.bytes), "copy of D");
    }

    // Verifies and prints the outcome; whether every element is right.
    bool report(const std::string &device, const char *name, const char *target) const {
        double worst = 0;
        const bool good = verify(worst);
        std::printf("%s: %s (%s), m = %" PRIu32 ", n = %" PRIu32 ", k = %" PRIu32 ": ", device.c_str(), name, target,
                    size.m, size.n, size.k);
        if (good) {
            std::printf("worst error %.3g, verified\n", worst);
        } else {
            std::printf("wrong\n");
        }
        return good;
    }

private:
    // Elements past the end of D, which the kernel must not write, like those between its rows.
    static constexpr std::size_t margin = 64;

    // A copy in device memory.
    template <class T>
    class Upload {
    public:
        Upload(const Driver &driver, const std::vector<T> &host) : bytes(host.size() * sizeof(T)), device(driver, bytes) {
            driver.check(driver.memcpy_to_device(device.address, host.data(), bytes), "copy to the device");
        }
        warpwright_buffer buffer() const { return {device.address, bytes}; }

    private:
        std::size_t bytes;
        Buffer device;
    };

    // The elements between the starts of rows (or columns): tensor maps require multiples of 16 bytes.
    template <class T>
    static std::uint32_t pitch(std::uint32_t length) {
        constexpr std::uint32_t elements = 16 / sizeof(typename T::Storage);
        return (length + elements - 1) / elements * elements;
    }

    typename A::Storage of_b(std::uint32_t i, std::uint32_t column) const {
        return order == Order::column ? b[std::size_t{column} * pitch<A>(size.k) + i]
                                      : b[std::size_t{i} * pitch<A>(size.n) + column];
    }

    // Compares every element with its sum in double precision; prints the first wrong element.
    bool verify(double &worst) const {
        for (std::uint32_t row = 0; row < size.m; ++row) {
            for (std::uint32_t column = 0; column < size.n; ++column) {
                double sum = 0, largest = 0;
                for (std::uint32_t i = 0; i < size.k; ++i) {
                    const double product = A::value(a[std::size_t{row} * pitch<A>(size.k) + i]) * A::value(of_b(i, column));
                    sum += product;
                    largest = std::max({largest, std::abs(product), std::abs(sum)});
                }
                const double found = D::value(d[std::size_t{row} * pitch<D>(size.n) + column]);
                const double error = std::abs(found - sum);
                if (!(error <= bound(sum, largest))) {
                    std::printf("wrong: D[%" PRIu32 "][%" PRIu32 "] is %.9g, expected %.9g within %.3g\n", row, column,
                                found, sum, bound(sum, largest));
                    return false;
                }
                worst = std::max(worst, error);
            }
        }
        for (std::size_t i = 0; i < d.size(); ++i) {
            const bool inside = i / pitch<D>(size.n) < size.m && i % pitch<D>(size.n) < size.n;
            if (!inside && d[i] != D::unwritten) {
                std::printf("wrong: element %zu, outside of D, was written\n", i);
                return false;
            }
        }
        return true;
    }

    // `largest` is the magnitude of the largest product or partial sum.
    double bound(double sum, double largest) const {
        if constexpr (std::is_same_v<D, I32>) {
            return 0;
        } else {
            const double steps = std::ceil(static_cast<double>(size.k) / A::products);
            return steps * (A::products + 2) * std::ldexp(largest, 1 - A::fraction) + D::rounding * std::abs(sum);
        }
    }

    Size size;
    Order order;
    std::vector<typename A::Storage> a, b;
    std::vector<typename D::Storage> d;
};
