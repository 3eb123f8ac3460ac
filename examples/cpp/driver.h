// The CUDA driver, opened dynamically: no toolkit, no cuda.h, no link to libcuda. Include an exported header first.
#pragma once

#ifndef WARPWRIGHT_DRIVER
#error "expected an exported header before driver.h"
#endif

#include <array>
#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <utility>

// The kernel cannot run: no driver, no device, or a rejected module.
struct CannotRun : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Functions of the driver API (cuda.h), with handles as pointers and results as int.
class Driver {
public:
    using Device = int;
    using Context = struct CUctx_st *;
    using Module = struct CUmod_st *;
    using Function = struct CUfunc_st *;

    Driver() {
        load(init, "cuInit");
        load(error_string, "cuGetErrorString");
        load(device_get, "cuDeviceGet");
        load(device_get_name, "cuDeviceGetName");
        load(device_get_attribute, "cuDeviceGetAttribute");
        load(primary_context_retain, "cuDevicePrimaryCtxRetain");
        load(context_set_current, "cuCtxSetCurrent");
        load(context_synchronize, "cuCtxSynchronize");
        load(module_load_data_ex, "cuModuleLoadDataEx");
        load(module_get_function, "cuModuleGetFunction");
        load(mem_alloc, "cuMemAlloc_v2");
        load(mem_free, "cuMemFree_v2");
        load(memcpy_to_device, "cuMemcpyHtoD_v2");
        load(memcpy_to_host, "cuMemcpyDtoH_v2");
#ifdef WARPWRIGHT_EXTENDED_DRIVER
        load(launcher.basic.launch_kernel, "cuLaunchKernel");
        load(launcher.basic.func_set_attribute, "cuFuncSetAttribute");
        load(launcher.tensor_map_encode_tiled, "cuTensorMapEncodeTiled");
        load(launcher.ctx_get_device, "cuCtxGetDevice");
        load(launcher.device_get_attribute, "cuDeviceGetAttribute");
#else
        load(launcher.launch_kernel, "cuLaunchKernel");
        load(launcher.func_set_attribute, "cuFuncSetAttribute");
#endif
    }

    // Throws if a call failed.
    void check(int result, const std::string &what) const {
        if (result == 0) {
            return;
        }
        const char *text = nullptr;
        error_string(result, &text);
        throw CannotRun(what + ": " + (text != nullptr ? text : "error " + std::to_string(result)));
    }

    int (*init)(unsigned);
    int (*error_string)(int, const char **);
    int (*device_get)(Device *, int);
    int (*device_get_name)(char *, int, Device);
    int (*device_get_attribute)(int *, int, Device);
    int (*primary_context_retain)(Context *, Device);
    int (*context_set_current)(Context);
    int (*context_synchronize)();
    int (*module_load_data_ex)(Module *, const void *, unsigned, int *, void **);
    int (*module_get_function)(Function *, Module, const char *);
    int (*mem_alloc)(std::uint64_t *, std::size_t);
    int (*mem_free)(std::uint64_t);
    int (*memcpy_to_device)(std::uint64_t, const void *, std::size_t);
    int (*memcpy_to_host)(void *, std::uint64_t, std::size_t);
    // The functions that the exported header calls: more if it has kernels with tensor maps.
#ifdef WARPWRIGHT_EXTENDED_DRIVER
    warpwright_extended_driver launcher;
#else
    warpwright_driver launcher;
#endif

private:
    void *library = open();

    static void *open() {
        void *library = dlopen("libcuda.so.1", RTLD_NOW);
        if (library == nullptr) {
            throw CannotRun(std::string("no NVIDIA driver: ") + dlerror());
        }
        return library;
    }

    template <class F>
    void load(F *&function, const char *name) {
        void *address = dlsym(library, name);
        if (address == nullptr) {
            throw CannotRun(std::string("the NVIDIA driver has no ") + name);
        }
        function = reinterpret_cast<F *>(address);
    }
};

// Device memory, freed at the end of its scope.
class Buffer {
public:
    Buffer(const Driver &with, std::size_t bytes) : driver(with) {
        driver.check(driver.mem_alloc(&address, bytes), "cuMemAlloc of " + std::to_string(bytes) + " bytes");
    }
    ~Buffer() { driver.mem_free(address); }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;

    std::uint64_t address = 0;

private:
    const Driver &driver;
};

inline Driver::Module load_module(const Driver &driver, const std::string &ptx) {
    constexpr int error_log = 5, error_log_bytes = 6; // CU_JIT_ERROR_LOG_BUFFER and its size
    std::array<char, 4096> log{};
    std::array<int, 2> options{error_log, error_log_bytes};
    std::array<void *, 2> values{log.data(), reinterpret_cast<void *>(log.size())};
    Driver::Module module = nullptr;
    const int result = driver.module_load_data_ex(&module, ptx.c_str(), 2, options.data(), values.data());
    driver.check(result, std::string("cuModuleLoadDataEx: ") + log.data());
    return module;
}

// Opens the first device, makes it current in this thread, and returns its name. `runs_on` and `target` are the exported header's.
inline std::string open_device(const Driver &driver, int (*runs_on)(int, int), const char *target) {
    driver.check(driver.init(0), "cuInit");
    Driver::Device device = 0;
    driver.check(driver.device_get(&device, 0), "cuDeviceGet");
    std::array<char, 256> name{};
    driver.check(driver.device_get_name(name.data(), static_cast<int>(name.size()), device), "cuDeviceGetName");
    int major = 0, minor = 0;
    driver.check(driver.device_get_attribute(&major, 75, device), "compute capability, major");
    driver.check(driver.device_get_attribute(&minor, 76, device), "compute capability, minor");
    if (!runs_on(major, minor)) {
        throw CannotRun(std::string(name.data()) + " does not run code for " + target);
    }
    Driver::Context context = nullptr;
    driver.check(driver.primary_context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    driver.check(driver.context_set_current(context), "cuCtxSetCurrent");
    return name.data();
}
