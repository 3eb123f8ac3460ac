//! The matmul kernel on every device: verified against f64, with identical bits in the simulator and on a GPU.

use super::matmul_example::check::{Factors, check};
use proptest::prelude::*;
use warpwright::{
    kernels::{matmul, pitch_divisor},
    prelude::*,
    run::{Device, Simulator},
    sim::Arch,
};

/// Sizes of a product.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    m: usize,
    n: usize,
    k: usize,
}

/// Two matrices of roughly normal numbers.
struct Problem {
    sizes: Sizes,
    a: Vec<bf16>,
    b: Vec<bf16>,
}

impl Problem {
    fn new(sizes: Sizes, seed: u64) -> Self {
        let Sizes { m, n, k } = sizes;
        let mut state = seed;
        // Splitmix64; the sum of four uniform numbers is sufficiently close to normal.
        let mut next = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            let quarters = (z ^ (z >> 31)).to_le_bytes();
            let sum: u32 = quarters.chunks(2).map(|q| u32::from(u16::from_le_bytes([q[0], q[1]]))).sum();
            bf16::from_f32((sum as f32 - 131_070.0) / 37_837.0)
        };
        let a = (0..m * k).map(|_| next()).collect();
        let b = (0..k * n).map(|_| next()).collect();
        Self { sizes, a, b }
    }

    fn on(&self, device: &impl Device) -> Vec<f32> {
        let Sizes { m, n, k } = self.sizes;
        let [rows, cols, depth] = [m, n, k].map(|size| size as u32);
        let kernel = matmul::<bf16>(Target::SM_80, pitch_divisor(cols, depth)).expect("it builds");
        let a = device.upload(&self.a).expect("room");
        let b = device.upload(&self.b).expect("room");
        let mut d = device.output(m * n).expect("room");
        device.launch(&kernel, (&a, &b, &mut d, rows, cols, depth)).unwrap_or_else(|error| panic!("{error}"));
        device.download(&d).expect("copied")
    }

    /// Checks every element.
    fn assert_right(&self, d: &[f32]) {
        let Sizes { m, n, k } = self.sizes;
        let verdict = check(&Factors { a: &self.a, b: &self.b, m, n, k }, d);
        assert_eq!(verdict.wrong, 0, "{:?}: {verdict:?}", self.sizes);
    }

    /// Checks the elements of some rows and columns if checking all would take too long.
    #[cfg(feature = "cuda")]
    fn assert_sample_right(&self, d: &[f32], rows: &[usize], cols: &[usize]) {
        let Sizes { n, k, .. } = self.sizes;
        let a = rows.iter().flat_map(|&row| &self.a[row * k..][..k]).copied().collect();
        let b = (0..k).flat_map(|at| cols.iter().map(move |&col| self.b[at * n + col])).collect();
        let d: Vec<f32> =
            rows.iter().flat_map(|&row| cols.iter().map(move |&col| d[row * n + col])).collect();
        let sizes = Sizes { m: rows.len(), n: cols.len(), k };
        Self { sizes, a, b }.assert_right(&d);
    }
}

/// Sizes up to 300, with a bias toward those that allow wide copies.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![2 => 1..=300usize, 1 => (1..=37usize).prop_map(|n| 8 * n), 1 => (1..=75usize).prop_map(|n| 4 * n)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sizes_are_correct_in_the_simulator(m in size(), n in size(), k in size(), seed: u64) {
        let problem = Problem::new(Sizes { m, n, k }, seed);
        for arch in [Arch::Sm80, Arch::Sm90] {
            problem.assert_right(&problem.on(&Simulator::new().arch(arch)));
        }
    }
}

#[cfg(feature = "cuda")]
mod on_device {
    use super::*;
    use crate::devices::{gpu, pair};
    use proptest::test_runner::{Config, TestRunner};

    fn bits(d: &[f32]) -> Vec<u32> {
        d.iter().map(|d| d.to_bits()).collect()
    }

    #[test]
    fn any_sizes_give_the_same_bits_as_in_the_simulator() {
        let Some((gpu, simulator)) = pair() else { return };
        let config = Config { cases: 48, failure_persistence: None, ..Config::default() };
        let outcome =
            TestRunner::new(config).run(&(size(), size(), size(), any::<u64>()), |(m, n, k, seed)| {
                let problem = Problem::new(Sizes { m, n, k }, seed);
                let d = problem.on(&gpu);
                problem.assert_right(&d);
                prop_assert!(bits(&d) == bits(&problem.on(&simulator)), "{:?}, seed {}", problem.sizes, seed);
                Ok(())
            });
        outcome.unwrap_or_else(|failure| panic!("{failure}"));
    }

    #[test]
    fn large_sizes_are_correct() {
        let Some(gpu) = gpu() else { return };
        let odd = Problem::new(Sizes { m: 1000, n: 1001, k: 1003 }, 1);
        odd.assert_right(&odd.on(&gpu));
        let even = Problem::new(Sizes { m: 4096, n: 4096, k: 4096 }, 2);
        let places: Vec<usize> = (0..4096).step_by(63).chain([4095]).collect();
        even.assert_sample_right(&even.on(&gpu), &places, &places);
    }
}
