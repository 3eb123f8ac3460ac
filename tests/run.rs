//! The run room: typed launches in the simulator, on a stand-in driver, and on a GPU where there is one.

#[path = "support/devices.rs"]
mod devices;
#[path = "support/require.rs"]
mod require;

mod run {
    mod choice;
    mod kernels;
    mod launch;
    mod matmul;
    mod matmul_example;
    mod sizes;

    #[cfg(feature = "cuda")]
    mod cuda;
    #[cfg(feature = "cuda")]
    mod on_device;
    #[cfg(feature = "cuda")]
    #[path = "../gpu/stand_in.rs"]
    mod stand_in;
}
