//! Elements that show which of them were read, and special numbers: NaN and infinities.

use super::problem::{Sizes, TARGETS, built, check, mixed};
use warpwright::{
    kernels::{Attention, AttentionMask},
    prelude::bf16,
};

/// Every query has one key with a weight of almost 1, whose values are its own.
#[test]
fn each_query_finds_its_key() {
    for (target, head_size) in TARGETS.into_iter().flat_map(|target| [(target, 64), (target, 128)]) {
        let attention = Attention::new(target, head_size, head_size, AttentionMask::Full);
        let size = head_size as usize;
        let coded = move |which: char, [_, _, row, col]: [usize; 4]| match which {
            'q' => f32::from(u8::from(row * 7 % size == col)) * 24.0,
            'k' => f32::from(u8::from(row == col)) * 24.0,
            _ => (row * size + col) as f32 % 251.0,
        };
        check(&attention, &built::<bf16>(&attention), Sizes::one(150, size), &coded);
    }
}

/// As with PyTorch: a score of NaN or +∞ makes the query's row NaN, and one of −∞ has no weight.
#[test]
fn scores_that_are_not_numbers() {
    for target in TARGETS {
        let attention = Attention::new(target, 64, 64, AttentionMask::Causal);
        let kernel = built::<bf16>(&attention);
        for special in [f32::NAN, f32::INFINITY] {
            let keys = |which: char, at: [usize; 4]| {
                if which == 'k' && at[2..] == [130, 5] { special } else { mixed(which, at) }
            };
            check(&attention, &kernel, Sizes::one(200, 200), &keys);
            let queries = |which: char, at: [usize; 4]| {
                if which == 'q' && at[2..] == [70, 5] { special } else { mixed(which, at) }
            };
            check(&attention, &kernel, Sizes::one(200, 200), &queries);
        }
    }
}

#[test]
fn values_that_are_not_numbers() {
    for target in TARGETS {
        let attention = Attention::new(target, 128, 128, AttentionMask::Full);
        let kernel = built::<bf16>(&attention);
        for special in [f32::NAN, f32::INFINITY] {
            let values = |which: char, at: [usize; 4]| {
                if which == 'v' && at[2..] == [200, 77] { special } else { mixed(which, at) }
            };
            check(&attention, &kernel, Sizes::one(100, 250), &values);
        }
    }
}

/// Scores between −600 and 600: most weights are 0, and the maximum grows from step to step.
#[test]
fn large_scores() {
    for target in TARGETS {
        let attention = Attention::new(target, 128, 128, AttentionMask::Full);
        let grown = |which: char, at: [usize; 4]| {
            let growth = if which == 'k' { at[2] as f32 / 10.0 } else { 3.0 };
            if which == 'v' { mixed(which, at) } else { mixed(which, at) * growth }
        };
        check(&attention, &built::<bf16>(&attention), Sizes::one(100, 600), &grown);
    }
}
