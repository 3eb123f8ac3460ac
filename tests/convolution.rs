//! Convolutions compared with f64, on every device, and assembled without advisories.

#[path = "support/assemble.rs"]
mod assemble;
#[path = "support/devices.rs"]
mod devices;
#[path = "support/half.rs"]
mod half;
#[path = "support/require.rs"]
mod require;

mod convolution {
    mod fft;
}
