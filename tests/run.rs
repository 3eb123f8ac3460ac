//! Typed launches in the simulator, on a stand-in driver, and on a GPU if one is available.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[path = "tiles/numbers.rs"]
#[allow(dead_code, reason = "these tests use only the lists of types")]
mod numbers;
#[path = "support/require.rs"]
mod require;

mod run {
    mod checked;
    mod choice;
    mod elements;
    mod hostile;
    mod kernels;
    mod launch;
    mod matmul;
    mod matmul_example;
    mod matmul_simt;
    mod printed;
    mod sizes;
    mod wide;

    #[cfg(feature = "cuda")]
    mod cuda;
    #[cfg(feature = "cuda")]
    mod on_device;
    #[cfg(feature = "cuda")]
    #[path = "../gpu/stand_in.rs"]
    mod stand_in;
}
