//! Convolutions of long sequences.

mod fft;

pub use fft::{FftConvolution, FftConvolutionArgs};
