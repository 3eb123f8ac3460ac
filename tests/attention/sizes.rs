//! Every length of rows, and both types.

use super::problem::{Half, Order, Sizes, TARGETS, built, check, mixed};
use warpwright::{
    kernels::{Attention, AttentionMask},
    prelude::*,
    tiles::Convert,
};

/// The lengths of rows of Q and K, and of V and O.
pub(super) const ROWS: [[u32; 2]; 6] = [[32, 32], [64, 64], [96, 96], [128, 128], [192, 128], [256, 256]];

fn every_length<T: Half>()
where
    f32: Convert<T>,
{
    let sizes = Sizes { batches: 1, heads: 2, kv_heads: 1, queries: 230, keys: 300, order: Order::Rows };
    for target in TARGETS {
        for [head_size, value_size] in ROWS {
            // Rows of 256 leave no registers for a mask: some are spilled, once a tile.
            let mask = if head_size == 256 { AttentionMask::Full } else { AttentionMask::CausalFromEnd };
            let attention = Attention::new(target, head_size, value_size, mask);
            check(&attention, &built::<T>(&attention), sizes, &mixed);
        }
        let attention = Attention::new(target, 256, 256, AttentionMask::CausalFromEnd);
        check(&attention, &attention.kernel::<T>().expect("a valid kernel"), sizes, &mixed);
    }
}

#[test]
fn every_length_of_bf16() {
    every_length::<bf16>();
}

#[test]
fn every_length_of_f16() {
    every_length::<f16>();
}
