//! Shared memory: the addresses of arrays, and their sizes.

use proptest::prelude::*;
use warpwright::{
    prelude::*,
    run::{Device, Simulator},
};

use super::assemble::check;
use crate::require;

/// Builds a kernel with arrays of these words and alignments.
fn arrays(sizes: &[(u32, u32)]) -> Kernel<(Out<u32>,)> {
    Kernel::<(Out<u32>,)>::build("arrays(out)", Target::SM_90, |k, (out,)| {
        k.block([1]);
        k.grid([1]);
        let out = k.slice(out, sizes.len());
        let arrays: Vec<_> =
            sizes.iter().map(|&(words, align)| k.shared_aligned::<u32>(words, align)).collect();
        for (i, array) in arrays.into_iter().enumerate() {
            out.at(i as u32).store(array.address());
        }
    })
    .unwrap_or_else(|error| panic!("{sizes:?}: {error}"))
}

/// Returns the first byte of each array.
fn addresses(kernel: &Kernel<(Out<u32>,)>, count: usize) -> Vec<u32> {
    let device = Simulator::new();
    let mut out = device.output::<u32>(count).unwrap();
    device.launch(kernel, (&mut out,)).unwrap();
    device.download(&out).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn arrays_are_aligned_and_disjoint(sizes in prop::collection::vec((0u32..40, 2u32..11), 1..12)) {
        let sizes: Vec<_> = sizes.into_iter().map(|(words, align)| (words, 1 << align)).collect();
        let kernel = arrays(&sizes);
        let starts = addresses(&kernel, sizes.len());
        let mut taken: Vec<_> = std::iter::zip(&starts, &sizes)
            .filter(|(_, (words, _))| *words > 0)
            .map(|(&start, &(words, _))| (start, start + 4 * words))
            .collect();
        taken.sort_unstable();
        prop_assert!(taken.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{taken:?}");
        for (start, (_, align)) in std::iter::zip(starts, sizes) {
            prop_assert!(start.is_multiple_of(align), "{start} is not a multiple of {align}");
        }
        if let (Some((start, _)), Some((_, end))) = (taken.first(), taken.last()) {
            prop_assert!(end - start <= kernel.entry().shared_bytes());
        }
    }
}

/// If all shared arrays of a kernel are empty, because a size happens to be 0, they still have an address.
#[test]
fn empty_arrays_have_an_address() {
    for align in [8, 1024] {
        let kernel = arrays(&[(0, align), (0, 16)]);
        assert_eq!(kernel.entry().shared_bytes(), 0);
        for start in addresses(&kernel, 2) {
            assert!(start.is_multiple_of(16), "{start}");
        }
        if let Some(ptxas) = require::ptxas() {
            check(&ptxas, &kernel.ptx(), "sm_90");
        }
    }
}

/// Barriers of 8 bytes between tiles do not take another 1024 bytes each.
#[test]
fn small_arrays_fill_alignment_gaps() {
    let barriers_and_tiles = [(2, 8), (256, 1024), (4, 8), (256, 1024), (6, 8), (240, 16)];
    assert_eq!(arrays(&barriers_and_tiles).entry().shared_bytes(), 3 * 1024);
}
