//! Every mask, at lengths around those of tiles.

use super::problem::{Order, Sizes, TARGETS, built, check, mixed};
use warpwright::{
    kernels::{Attention, AttentionMask},
    prelude::bf16,
};

fn lengths(head_size: u32, mask: AttentionMask, lengths: &[(usize, usize)]) {
    for target in TARGETS {
        let attention = Attention::new(target, head_size, head_size, mask);
        let kernel = built::<bf16>(&attention);
        for &(queries, keys) in lengths {
            check(&attention, &kernel, Sizes::one(queries, keys), &mixed);
        }
    }
}

const LENGTHS: [(usize, usize); 6] = [(1, 1), (64, 128), (130, 77), (40, 300), (200, 513), (33, 0)];

#[test]
fn full_64() {
    lengths(64, AttentionMask::Full, &LENGTHS);
}

#[test]
fn full_128() {
    lengths(128, AttentionMask::Full, &LENGTHS);
}

#[test]
fn causal_64() {
    lengths(64, AttentionMask::Causal, &[(1, 1), (200, 200), (333, 333), (300, 100), (70, 400), (5, 0)]);
}

#[test]
fn causal_128() {
    lengths(128, AttentionMask::Causal, &[(1, 1), (200, 200), (333, 333), (300, 100), (70, 400), (5, 0)]);
}

#[test]
fn causal_from_end() {
    for head_size in [64, 128] {
        lengths(
            head_size,
            AttentionMask::CausalFromEnd,
            &[(1, 200), (200, 200), (100, 333), (300, 100), (5, 0)],
        );
    }
}

/// Windows that start and end within, before and after a step and a sequence.
#[test]
fn windows() {
    for (before, after) in [(0, 0), (5, 3), (130, 0), (300, 20), (1, 400), ((1 << 30) - 1, (1 << 30) - 1)] {
        lengths(64, AttentionMask::Window { before, after }, &[(500, 500), (150, 620), (300, 40), (7, 0)]);
    }
}

#[test]
fn windows_of_128() {
    lengths(128, AttentionMask::Window { before: 140, after: 0 }, &[(500, 500), (300, 620)]);
}

#[test]
fn windows_are_limited() {
    let mask = AttentionMask::Window { before: 0, after: 1 << 30 };
    for target in TARGETS {
        let found =
            Attention::new(target, 64, 64, mask).kernel::<bf16>().expect_err("it is rejected").to_string();
        let expected = "expected a window of less than 2³⁰ positions, found 0 before and 1073741824 after";
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn several_heads_in_both_orders() {
    for (target, mask) in TARGETS
        .into_iter()
        .flat_map(|target| [(target, AttentionMask::Causal), (target, AttentionMask::Full)])
    {
        let attention = Attention::new(target, 64, 64, mask);
        let kernel = built::<bf16>(&attention);
        for order in [Order::Heads, Order::Rows] {
            for (batches, heads, kv_heads) in [(2, 3, 3), (1, 4, 2), (3, 2, 1)] {
                let sizes = Sizes { batches, heads, kv_heads, queries: 210, keys: 150, order };
                check(&attention, &kernel, sizes, &mixed);
            }
        }
    }
}
