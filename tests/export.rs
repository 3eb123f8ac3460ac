//! Exports: what the files say, what C and C++ compilers make of the header, and the C++ example.

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
