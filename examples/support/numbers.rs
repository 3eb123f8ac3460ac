//! Inputs of examples.

use warpwright::ptx::bf16;

/// Returns pseudo-random numbers from −1 to 1, by a linear congruential generator.
pub(crate) fn uniform(count: usize, seed: u32) -> Vec<bf16> {
    let mut state = seed;
    let number = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        bf16::from_f32((state >> 16) as f32 / 32_768.0 - 1.0)
    };
    (0..count).map(number).collect()
}
