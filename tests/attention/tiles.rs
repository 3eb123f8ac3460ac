//! Every tile and order of tiles, and invalid tiles.

use super::problem::{Order, Sizes, TARGETS, built, check, mixed};
use warpwright::{
    kernels::{Attention, AttentionMask, AttentionTile},
    prelude::*,
    tiles::Schedule,
};

/// More queries and keys than one tile of every size, but not multiples of any tile; more steps than stages.
const SIZES: Sizes =
    Sizes { batches: 1, heads: 2, kv_heads: 1, queries: 230, keys: 700, order: Order::Heads };

fn every_tile(head_size: u32) {
    for target in TARGETS {
        for tile in AttentionTile::all(target, head_size, head_size) {
            for mask in [AttentionMask::Full, AttentionMask::CausalFromEnd] {
                let attention = Attention { tile, ..Attention::new(target, head_size, head_size, mask) };
                check(&attention, &built::<bf16>(&attention), SIZES, &mixed);
            }
        }
    }
}

#[test]
fn every_tile_of_64() {
    every_tile(64);
}

#[test]
fn every_tile_of_128() {
    every_tile(128);
}

/// With fewer keys, a mask leaves enough registers for rows of 256.
#[test]
fn fewest_keys_of_256() {
    let tile = AttentionTile { queries: 128, keys: 48 };
    for mask in [AttentionMask::CausalFromEnd, AttentionMask::Window { before: 90, after: 10 }] {
        let attention = Attention { tile, ..Attention::new(Target::SM_90A, 256, 256, mask) };
        check(&attention, &built::<bf16>(&attention), SIZES, &mixed);
    }
}

#[test]
fn orders_of_tiles() {
    for schedule in [Schedule::linear(), Schedule::grouped(2), Schedule::linear().back_and_forth()] {
        let attention =
            Attention { schedule, ..Attention::new(Target::SM_90A, 64, 64, AttentionMask::Causal) };
        let kernel = built::<bf16>(&attention);
        let sizes = Sizes { heads: 3, kv_heads: 3, queries: 450, keys: 450, ..SIZES };
        check(&attention, &kernel, sizes, &mixed);
    }
}

#[test]
fn other_tiles_are_rejected() {
    for (target, first) in TARGETS.into_iter().zip(["192 queries and 128 keys", "128 queries and 64 keys"]) {
        let tile = AttentionTile { queries: 320, keys: 128 };
        let attention = Attention { tile, ..Attention::new(target, 64, 64, AttentionMask::Full) };
        let found = attention.kernel::<bf16>().expect_err("it is rejected").to_string();
        assert!(found.contains(&format!("expected {first} for rows of 32 and 32, ")), "{found}");
        assert!(found.contains("found 320 queries and 128 keys for rows of 64 and 64"), "{found}");
    }
}
