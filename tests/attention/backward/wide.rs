//! The gradients of wide heads, compared with f64 on every device.

use super::{both, check, packed};
use crate::{
    assemble,
    attention::problem::{Order, Sizes, mixed},
};
use warpwright::{
    kernels::{AttentionBackward, AttentionMask},
    prelude::*,
};

/// The head sizes of Q and K and of V and O.
const WIDE: [[u32; 2]; 3] = [[192, 128], [192, 192], [256, 256]];

/// Returns the atomic and the deterministic kernels.
fn wide([head_size, value_size]: [u32; 2], mask: AttentionMask) -> [AttentionBackward; 2] {
    both(head_size, mask).map(|backward| AttentionBackward { value_size, ..backward })
}

#[test]
fn wide_heads_agree_with_f64() {
    for sizes in WIDE {
        for backward in wide(sizes, AttentionMask::Full) {
            check::<bf16>(&backward, Sizes::one(140, 100), &mixed);
        }
    }
}

#[test]
fn masks_of_wide_heads_agree_with_f64() {
    let masks = [
        ([256, 256], AttentionMask::Causal),
        ([192, 128], AttentionMask::CausalFromEnd),
        ([256, 256], AttentionMask::Window { before: 40, after: 10 }),
    ];
    for (sizes, mask) in masks {
        for backward in wide(sizes, mask) {
            check::<f16>(&backward, Sizes::one(100, 150), &mixed);
        }
    }
}

/// Keys without queries, queries without keys, and lengths around those of tiles.
#[test]
fn lengths_of_wide_heads_agree_with_f64() {
    for (queries, keys) in [(1, 1), (64, 64), (65, 20), (33, 0), (0, 20)] {
        for backward in wide([256, 256], AttentionMask::Causal) {
            check::<bf16>(&backward, Sizes::one(queries, keys), &mixed);
        }
    }
}

#[test]
fn wide_heads_that_share_keys_agree_with_f64() {
    let sizes = Sizes { batches: 2, heads: 2, kv_heads: 1, queries: 70, keys: 70, order: Order::Rows };
    for backward in wide([192, 128], AttentionMask::Causal) {
        check::<bf16>(&backward, sizes, &mixed);
        check::<bf16>(&AttentionBackward { dropout: true, ..backward }, sizes, &mixed);
    }
}

#[test]
fn packed_sequences_of_wide_heads_agree_with_f64() {
    for backward in wide([256, 256], AttentionMask::CausalFromEnd) {
        packed::check(&backward, &[(70, 70), (1, 80), (0, 10), (20, 0)]);
    }
}

/// A few registers are spilled, but ptxas does not serialize products.
#[test]
fn wide_heads_are_assembled() {
    for sizes in WIDE {
        let [atomic, deterministic] = wide(sizes, AttentionMask::Full);
        for backward in [atomic, deterministic] {
            assemble::spilling(&backward.keys_kernel::<bf16>().expect("a supported size"));
        }
        assemble::spilling(&deterministic.queries_kernel::<bf16>().expect("a supported size"));
    }
}

#[test]
fn other_head_sizes_are_rejected() {
    for [head_size, value_size] in [[160, 160], [192, 256], [128, 64]] {
        let [backward, _] = wide([head_size, value_size], AttentionMask::Full);
        let expected = "expected rows of 32 and 32, 64 and 64, 96 and 96, 128 and 128, 192 and 128, 192 and 192, 256 and 256; found ";
        let expected = format!("{expected}{head_size} and {value_size}");
        let found = [
            backward.rows_kernel::<bf16>().expect_err("it is rejected"),
            backward.keys_kernel::<bf16>().expect_err("it is rejected"),
            backward.queries_kernel::<bf16>().expect_err("it is rejected"),
            backward.finish_kernel::<bf16>().expect_err("it is rejected"),
        ];
        found.iter().for_each(|found| assert!(found.to_string().contains(&expected), "{found}"));
    }
}
