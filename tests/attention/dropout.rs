//! Dropout of weights on the host, and the forward kernels with it.

use super::{
    problem::{Added, Order, Sizes, TARGETS, check_tile, check_with, mixed},
    sizes::ROWS,
};
use crate::philox::philox;
use warpwright::{
    kernels::{Attention, AttentionExtras, AttentionMask, AttentionTile},
    prelude::*,
};

/// The weights that a kernel drops, of one head or, with the offset of the first, of all.
#[derive(Clone, Copy, Debug)]
pub(super) struct Dropout {
    pub(super) p: f32,
    pub(super) seed: u64,
    pub(super) offset: u64,
}

pub(super) const DROPOUT: Dropout =
    Dropout { p: 0.3, seed: 0x0123_4567_89ab_cdef, offset: 0xfedc_ba98_ffff_ffff };

impl Dropout {
    /// Returns the dropout of a head, by its number among those of all batches.
    pub(super) fn of_head(self, head: usize) -> Self {
        Self { offset: self.offset.wrapping_add(head as u64), ..self }
    }

    /// Returns the factor of a weight.
    pub(super) fn factor(self, query: usize, key: usize) -> f64 {
        let Self { p, seed, offset } = self;
        let halves = |x: u64| [x as u32, (x >> 32) as u32];
        let [low, high] = halves(offset);
        let words = philox([query as u32 & !8, key as u32 & !8, low, high], halves(seed));
        let word = words[(query >> 3 & 1) * 2 + (key >> 3 & 1)];
        let is_kept = f64::from(word >> 8) >= f64::from(p) * f64::from(1 << 24);
        if is_kept { 1.0 / (1.0 - f64::from(p)) } else { 0.0 }
    }
}

const SIZES: Sizes =
    Sizes { batches: 2, heads: 2, kv_heads: 1, queries: 150, keys: 280, order: Order::Heads };

#[test]
fn dropped_weights_agree_with_f64() {
    for target in TARGETS {
        for mask in [AttentionMask::Full, AttentionMask::CausalFromEnd] {
            for p in [0.0, 0.3, 0.9] {
                let added = Added { dropout: Some(Dropout { p, ..DROPOUT }), ..Added::default() };
                let attention = Attention::new(target, 64, 64, mask).with_tile_for_dropout();
                check_with::<bf16>(&attention, &added, SIZES, &mixed);
            }
        }
    }
}

/// The tile does not determine which weights are dropped.
#[test]
fn every_tile_drops_the_same_weights() {
    let added = Added { dropout: Some(DROPOUT), ..Added::default() };
    for target in TARGETS {
        for size in [64, 128] {
            for tile in AttentionTile::all(target, size, size) {
                let attention = Attention { tile, ..Attention::new(target, size, size, AttentionMask::Full) };
                check_tile::<f16>(&attention, &added, SIZES, &mixed, false);
            }
        }
    }
}

#[test]
fn every_head_size_drops_weights() {
    let added = Added { dropout: Some(DROPOUT), ..Added::default() };
    for target in TARGETS {
        for [head_size, value_size] in ROWS {
            let attention = Attention::new(target, head_size, value_size, AttentionMask::Full);
            let (sizes, attention) = (Sizes { batches: 1, ..SIZES }, attention.with_tile_for_dropout());
            // These leave too few registers for random numbers.
            let is_spilled = target == Target::SM_90A && matches!(head_size, 96 | 192 | 256);
            check_tile::<bf16>(&attention, &added, sizes, &mixed, !is_spilled);
        }
    }
}

#[test]
fn other_extras_are_applied_too() {
    for target in TARGETS {
        let attention = Attention::new(target, 64, 64, AttentionMask::Full).with_tile_for_dropout();
        let added = Added {
            soft_cap: Some(10.0),
            slopes: vec![0.125, 0.5],
            sinks: vec![1.0, 2.0],
            dropout: Some(DROPOUT),
        };
        check_with::<bf16>(&attention, &added, SIZES, &mixed);
    }
}

#[test]
fn kernels_are_named_after_dropout() {
    let attention = Attention::new(Target::SM_80, 64, 64, AttentionMask::Full);
    let extras = AttentionExtras { dropout: true, ..AttentionExtras::default() };
    let kernel = attention.kernel_with_extras::<bf16>(extras).expect("a valid kernel");
    assert_eq!(kernel.name(), "attention_bf16_64_full_dropout");
}
