//! The GPU layer. All tests except `on_device` run without a GPU, most of them on a stand-in driver.
#![cfg(feature = "cuda")]

#[path = "support/require.rs"]
mod require;

mod gpu {
    mod errors;
    mod fake;
    mod jit;
    mod launch_config;
    mod on_device;
    mod probe;
    mod stand_in;
    mod tensor_map;
    mod timings;
    mod traits;
}
