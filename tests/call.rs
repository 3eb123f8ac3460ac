//! Calls that select their kernel, compared with f64: what is built, what is reused, and what is rejected.

#[path = "support/devices.rs"]
mod devices;
#[path = "support/require.rs"]
mod require;

mod call {
    mod adamw;
    mod attention;
    mod backward;
    mod batches;
    mod cache;
    mod convolution;
    mod copies;
    mod decode;
    mod embedding;
    mod extras;
    mod gemm;
    mod gradients;
    mod groups;
    mod heads;
    mod hedgehog;
    mod huge;
    mod linear;
    mod matrix;
    mod norms;
    mod numbers;
    mod packed;
    mod pages;
    mod promoted;
    mod quantize;
    mod reductions;
    mod refusals;
    mod rows;
    mod scaled;
    mod selection;
    mod simt;
    mod softmax;
    mod state_space;
    mod tables;

    #[cfg(feature = "cuda")]
    #[path = "../gpu/stand_in.rs"]
    mod stand_in;
    #[cfg(feature = "cuda")]
    mod streams;
}
