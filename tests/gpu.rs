//! The GPU room: everything but `on_device` runs without a GPU, much of it on a stand-in driver.
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
