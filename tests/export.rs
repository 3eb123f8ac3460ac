//! Exports: the contents of the files, the header in C and C++ compilers, and the C++ example.

#[path = "support/assemble.rs"]
mod ptxas;
#[path = "support/require.rs"]
mod require;

mod export {
    mod compiler;
    mod example;
    mod files;
    mod header;
    mod kernels;
    mod manifest;
    mod mapped_kernels;
    mod tensor_maps;
}
