//! The kernels on rows: every tiling, odd lengths and pitches, and NaN and infinities among the elements, compared with f64, on every
//! device, and assembled without advisories.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[path = "support/philox.rs"]
mod philox;
#[path = "support/require.rs"]
mod require;

mod rows {
    mod adamw;
    mod backward;
    mod dropout;
    mod embedding;
    mod invalid;
    mod matrix;
    mod norm;
    mod pointwise;
    mod quantize;
    mod reductions;
    mod rotary;
    mod sample;
    mod scan;
    mod softmax;
    mod tilings;
    mod top_k;
}
