//! GEMM kernels: every type, order and tile compared with integer results, on every device, and assembled without advisories.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[path = "support/require.rs"]
mod require;

mod gemm {
    mod batches;
    mod choice;
    mod edges;
    mod errors;
    mod fused;
    mod gated;
    mod large;
    mod problem;
    mod promoted;
    mod ragged;
    mod random;
    mod random_forms;
    mod split_k;
    mod table;
    mod types;
    mod warps;
}
