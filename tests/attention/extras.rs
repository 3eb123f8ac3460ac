//! Caps of scores, slopes and sinks.

use super::{
    problem::{Added, Order, Sizes, TARGETS, check_with, mixed},
    sizes::ROWS,
};
use warpwright::{
    kernels::{Attention, AttentionExtras, AttentionMask},
    prelude::bf16,
};

const SIZES: Sizes =
    Sizes { batches: 2, heads: 2, kv_heads: 1, queries: 150, keys: 280, order: Order::Heads };

/// Scores between −20 and 20.
fn large(which: char, at: [usize; 4]) -> f32 {
    if which == 'q' { mixed(which, at) * 8.0 } else { mixed(which, at) }
}

fn with(mask: AttentionMask, added: &Added) {
    for target in TARGETS {
        check_with::<bf16>(&Attention::new(target, 64, 64, mask), added, SIZES, &large);
    }
}

const NONE: Added = Added { soft_cap: None, slopes: Vec::new(), sinks: Vec::new(), dropout: None };

#[test]
fn caps() {
    for target in TARGETS {
        for soft_cap in [2.0, 50.0] {
            let attention = Attention::new(target, 64, 64, AttentionMask::Full).with_tile_for_cap();
            check_with::<bf16>(&attention, &Added { soft_cap: Some(soft_cap), ..NONE }, SIZES, &large);
        }
    }
}

#[test]
fn slopes() {
    for mask in
        [AttentionMask::Full, AttentionMask::CausalFromEnd, AttentionMask::Window { before: 90, after: 30 }]
    {
        with(mask, &Added { slopes: vec![0.25, 1.0 / 256.0], ..NONE });
    }
}

/// Sinks above and below all scores, sinks without weight, and sinks of rows that have no keys.
#[test]
fn sinks() {
    for sinks in [[0.5, -3.0], [300.0, f32::NEG_INFINITY]] {
        let added = Added { sinks: sinks.to_vec(), ..NONE };
        with(AttentionMask::Full, &added);
        let sizes = Sizes { queries: 300, keys: 100, ..SIZES };
        for target in TARGETS {
            let attention = Attention::new(target, 64, 64, AttentionMask::CausalFromEnd);
            check_with::<bf16>(&attention, &added, sizes, &large);
        }
    }
}

#[test]
fn all_of_them() {
    for target in TARGETS {
        let added =
            Added { soft_cap: Some(10.0), slopes: vec![0.125, 0.5], sinks: vec![1.0, 2.0], dropout: None };
        for [head_size, value_size] in ROWS {
            // Rows of 256 leave no registers for a window too.
            let window = AttentionMask::Window { before: 120, after: 0 };
            let mask = if head_size == 256 { AttentionMask::Full } else { window };
            let attention = Attention::new(target, head_size, value_size, mask).with_tile_for_cap();
            check_with::<bf16>(&attention, &added, SIZES, &large);
        }
    }
}

#[test]
fn caps_are_positive() {
    for target in TARGETS {
        for cap in [0.0, -1.0, 1e5, f32::NAN, f32::INFINITY] {
            let extras = AttentionExtras { soft_cap: Some(cap), ..AttentionExtras::default() };
            let attention = Attention::new(target, 64, 64, AttentionMask::Full);
            let found = attention.kernel_with_extras::<bf16>(extras).expect_err("it is rejected").to_string();
            assert!(
                found.contains(&format!("expected a soft cap from 0.001 to 10000, found {cap}")),
                "{found}"
            );
        }
    }
}
