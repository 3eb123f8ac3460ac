//! Random normal numbers in device memory.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits};

use super::Fallible;

/// Returns a fixed sequence of random normal numbers (Box–Muller transform).
pub(super) fn normals(count: usize) -> impl Iterator<Item = f32> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut uniform = move || {
        // Xorshift.
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((state >> 40) as f32 + 0.5) / (1 << 24) as f32
    };
    (0..count).map(move |_| {
        let radius = (-2.0 * uniform().ln()).sqrt();
        radius * (std::f32::consts::TAU * uniform()).cos()
    })
}

/// Returns a buffer of `length` elements, filled with runs of `source` that start at different offsets.
pub(super) fn filled<T: DeviceRepr + ValidAsZeroBits>(
    stream: &Arc<CudaStream>,
    source: &CudaSlice<T>,
    length: usize,
    seed: usize,
) -> Fallible<CudaSlice<T>> {
    let mut to = stream.alloc_zeros::<T>(length)?;
    let (mut at, mut from) = (0, seed * 1_000_003 % (source.len() / 2));
    while at < length {
        let count = (source.len() - from).min(length - at);
        stream.memcpy_dtod(&source.slice(from..from + count), &mut to.slice_mut(at..at + count))?;
        at += count;
        from = (from + 7_919) % (source.len() / 2);
    }
    Ok(to)
}

#[cfg(test)]
mod tests {
    use super::normals;

    #[test]
    fn mean_variance_and_tails_are_those_of_normal_numbers() {
        const COUNT: f64 = (1 << 20) as f64;
        let numbers: Vec<f64> = normals(1 << 20).map(f64::from).collect();
        let mean = numbers.iter().sum::<f64>() / COUNT;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / COUNT;
        let beyond_2 = numbers.iter().filter(|x| x.abs() > 2.0).count() as f64 / COUNT;
        assert!(mean.abs() < 0.005, "{mean}");
        assert!((variance - 1.0).abs() < 0.01, "{variance}");
        assert!((beyond_2 - 0.0455).abs() < 0.001, "{beyond_2}");
    }
}
