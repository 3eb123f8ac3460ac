//! Functions of the section "Library Management".

use crate::driver::ready;
use crate::{Address, entries};

entries! {
    fn cudaLibraryLoadData(
        library: Address, code: Address, keys: Address, values: Address, count: u32,
        library_keys: Address, library_values: Address, library_count: u32,
    ) {
        ready()?.cuLibraryLoadData(library, code, keys, values, count, library_keys, library_values, library_count)
    }

    fn cudaLibraryLoadFromFile(
        library: Address, path: Address, keys: Address, values: Address, count: u32,
        library_keys: Address, library_values: Address, library_count: u32,
    ) {
        ready()?.cuLibraryLoadFromFile(library, path, keys, values, count, library_keys, library_values, library_count)
    }

    fn cudaLibraryUnload(library: Address) {
        ready()?.cuLibraryUnload(library)
    }

    fn cudaLibraryGetKernel(kernel: Address, library: Address, name: Address) {
        ready()?.cuLibraryGetKernel(kernel, library, name)
    }

    fn cudaLibraryGetGlobal(address: Address, bytes: Address, library: Address, name: Address) {
        ready()?.cuLibraryGetGlobal(address, bytes, library, name)
    }

    fn cudaLibraryGetManaged(address: Address, bytes: Address, library: Address, name: Address) {
        ready()?.cuLibraryGetManaged(address, bytes, library, name)
    }

    fn cudaLibraryGetKernelCount(count: Address, library: Address) {
        ready()?.cuLibraryGetKernelCount(count, library)
    }

    fn cudaLibraryEnumerateKernels(kernels: Address, count: u32, library: Address) {
        ready()?.cuLibraryEnumerateKernels(kernels, count, library)
    }

    fn cudaKernelSetAttributeForDevice(kernel: Address, attribute: i32, value: i32, device: i32) {
        ready()?.cuKernelSetAttribute(attribute, value, kernel, device)
    }
}
