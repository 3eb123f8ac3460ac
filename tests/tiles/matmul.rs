//! Corner cases of the matrix product kernel, on every device; arbitrary shapes are tested in `tests/run`.

use warpwright::{
    kernels::{MatmulArgs, matmul, pitch_divisor},
    prelude::*,
    ptx::traits::HalfPair,
    run::Device,
    tensor::TensorElement,
    tiles::Product,
};

use super::codes::Coded;
use crate::cases::{Counted, everywhere};

/// Normal deviates (Box and Muller) from a seed.
fn normal<T: Coded>(count: usize, seed: u64) -> Vec<T> {
    let mut state = seed;
    let mut uniform = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    };
    let one = |_| T::from_f64((-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos());
    (0..count).map(one).collect()
}

struct Problem<T> {
    sizes: [u32; 3],
    a: Vec<T>,
    b: Vec<T>,
}

impl<T> Problem<T>
where
    T: Coded + TensorElement<Word: HalfPair> + Product<T, f32>,
{
    fn new(m: u32, n: u32, k: u32, seed: u64) -> Self {
        let (a, b) = (normal((m * k) as usize, seed), normal((k * n) as usize, !seed));
        Self { sizes: [m, n, k], a, b }
    }

    /// The product on every device, which must agree to the bit.
    fn everywhere(&self) -> Vec<u32> {
        let [_, n, k] = self.sizes;
        let kernel = matmul::<T>(Target::SM_80, pitch_divisor(n, k)).unwrap();
        crate::assemble::kernel(&kernel);
        everywhere(|device| self.run(&kernel, device))
    }

    fn run(&self, kernel: &Kernel<MatmulArgs<T>>, device: &Counted<'_>) -> Vec<u32> {
        let [m, n, k] = self.sizes;
        let (a, b) = (device.upload(&self.a).unwrap(), device.upload(&self.b).unwrap());
        let mut d = device.output::<f32>((m * n) as usize).unwrap();
        device.launch(kernel, (&a, &b, &mut d, m, n, k)).unwrap();
        device.download(&d).unwrap().into_iter().map(f32::to_bits).collect()
    }

    /// Checks every element.
    ///
    /// One `mma` over 16 products truncates each of 17 terms at 2⁻²⁵ of the largest and the sum at 2⁻²³ (on sm_80: twice 9
    /// terms at 2⁻²⁴), so with s = Σ|a·b| each of the ⌈k/16⌉ steps is off by at most 2⁻²³·(18/2 + 2)·s, a little more for
    /// the error that s itself has grown by.
    fn check(&self, d: &[u32]) {
        let [_, n, k] = self.sizes.map(|size| size as usize);
        let bound = 11.5 * (k.div_ceil(16)) as f64 / f64::from(1 << 23);
        for (i, &got) in d.iter().enumerate() {
            let terms = (0..k).map(|p| self.a[i / n * k + p].to_f64() * self.b[p * n + i % n].to_f64());
            let (sum, size) = terms.fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
            let error = (f64::from(f32::from_bits(got)) - sum).abs();
            assert!(error <= bound * size, "{:?}: element ({}, {}): {error:e}", self.sizes, i / n, i % n);
        }
    }
}

#[test]
fn f16_inputs() {
    for (m, n, k) in [(1, 1, 1), (65, 130, 33), (128, 64, 96)] {
        let problem = Problem::<f16>::new(m, n, k, 7);
        problem.check(&problem.everywhere());
    }
}

/// Warps whose whole tile is past the matrix's edge, although the sizes are multiples of the tile's.
#[test]
fn tiles_past_the_edge() {
    let problem = Problem::<bf16>::new(64, 64, 64, 3);
    let kernel = matmul::<bf16>(Target::SM_80, 64).unwrap();
    crate::assemble::kernel(&kernel);
    problem.check(&everywhere(|device| problem.run(&kernel, device)));
}
