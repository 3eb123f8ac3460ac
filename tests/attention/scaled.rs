//! Attention of 8-bit floats with a scale for each head.

use super::{
    problem::{Order, Rows, Sizes, each, mixed},
    reference::Reference,
};
use crate::{assemble, devices};
use warpwright::{
    kernels::{AttentionMask, AttentionOverlap, ProductOrder, ScaledAttention},
    prelude::*,
    ptx::e4m3,
    run::Device,
    tiles::Schedule,
};
use warpwright_reference::dot;

/// The relative error of a weight of `e4m3`, and of an element of bf16, and that of sums of 8-bit products.
const ERROR: f64 = 1.0 / 16.0 + 1.0 / 128.0;
const LOG_ERROR: f64 = 2e-3;

/// Q, K or V with gaps between rows, and a scale for each head.
struct Matrix {
    rows: Rows,
    elements: Vec<e4m3>,
    numbers: Vec<f64>,
    scales: Vec<f32>,
}

impl Matrix {
    /// The gaps between rows are 16 bytes.
    fn new(
        which: char,
        order: Order,
        [batches, heads, count, size]: [usize; 4],
        scale: fn(char, usize) -> f32,
    ) -> Self {
        let rows = Rows::with_gap(order, [batches, heads, count, size], 16);
        let mut elements = vec![e4m3::NAN; rows.length];
        for (batch, head, row) in each([batches, heads, count]) {
            for col in 0..size {
                // Of both signs, and also subnormal numbers.
                let x = mixed(which, [batch, head, row, col]) * if col % 7 == 0 { 0.005 } else { 2.0 };
                elements[rows.at(batch, head, row) + col] = e4m3::from_f32(x);
            }
        }
        let numbers = elements.iter().map(|x| f64::from(x.to_f32())).collect();
        let scales = (0..batches * heads).map(|head| scale(which, head)).collect();
        Self { rows, elements, numbers, scales }
    }

    fn row(&self, at: [usize; 3], size: usize) -> &[f64] {
        &self.numbers[self.rows.at(at[0], at[1], at[2])..][..size]
    }
}

fn check(attention: &ScaledAttention, sizes: Sizes) {
    check_with(attention, sizes, |_, head| 0.25 + (head * 5 % 7) as f32 * 0.125);
}

/// `scale` returns the scale of a head of Q, K or V.
fn check_with(attention: &ScaledAttention, sizes: Sizes, scale_of: fn(char, usize) -> f32) {
    let Sizes { batches, heads, kv_heads, queries, keys, order } = sizes;
    let size = attention.head_size as usize;
    let shapes = [(heads, queries), (kv_heads, keys), (kv_heads, keys)];
    let [q, k, v] = [0, 1, 2].map(|which| {
        let (heads, rows) = shapes[which];
        Matrix::new(['q', 'k', 'v'][which], order, [batches, heads, rows, size], scale_of)
    });
    let of_o = Rows::new(order, [batches, heads, queries, size]);
    let scale = 1.0 / (size as f32).sqrt();
    let transposing = attention.values_kernel().unwrap_or_else(|error| panic!("{error}"));
    let kernel = attention.kernel::<bf16>().unwrap_or_else(|error| panic!("{error}"));
    assemble::kernel(&transposing);
    assemble::kernel(&kernel);
    let what = format!("{attention:?}, {sizes:?}");

    let found = devices::everywhere(|device| {
        if device.capability() != (9, 0) {
            return None;
        }
        let [on_q, on_k, on_v] = [&q, &k, &v].map(|matrix| device.upload(&matrix.elements).expect("room"));
        let scales = [&q, &k, &v].map(|matrix| device.upload(&matrix.scales).expect("room"));
        let values = attention.values(batches * kv_heads, keys);
        let mut values = device.upload(&vec![e4m3::NAN; values]).expect("room");
        let mut o = device.upload(&vec![bf16::NAN; of_o.length]).expect("room");
        let mut lse = device.upload(&vec![f32::NAN; batches * heads * queries]).expect("room");
        let [b, g, n] = [batches, kv_heads, keys].map(|size| size as u32);
        let launched = device.launch(&transposing, (&on_v, &mut values, [b, g, n], v.rows.numbers()));
        launched.unwrap_or_else(|error| panic!("{what}: {error}"));
        let strides = [q.rows.numbers(), k.rows.numbers(), of_o.numbers()];
        let arguments =
            (&on_q, &on_k, &values, &mut o, &mut lse, scales.each_ref(), sizes.numbers(), strides, scale);
        let launched = device.launch(&kernel, arguments);
        launched.unwrap_or_else(|error| panic!("{what}: {error}"));
        let o: Vec<_> = device.download(&o).expect("copied").into_iter().map(bf16::to_bits).collect();
        let lse: Vec<_> = device.download(&lse).expect("copied").into_iter().map(f32::to_bits).collect();
        Some((o, lse))
    });
    let (o, lse) = found.expect("the simulator has every capability");
    for (batch, head) in (0..batches).flat_map(|batch| (0..heads).map(move |head| (batch, head))) {
        let kv_head = head / (heads / kv_heads);
        let of_head = batch * heads + head;
        let of_keys = batch * kv_heads + kv_head;
        let factor = f64::from(q.scales[of_head] * scale) * f64::from(k.scales[of_keys]);
        let score =
            |query, key| dot(q.row([batch, head, query], size), k.row([batch, kv_head, key], size)) * factor;
        let reference = Reference {
            mask: attention.mask,
            queries,
            keys,
            score: &score,
            value: &|key| v.row([batch, kv_head, key], size),
            columns: size,
            soft_cap: None,
            slope: 0.0,
            sink: None,
            dropout: None,
        };
        for query in 0..queries {
            let expected = reference.row(query);
            let start = of_o.at(batch, head, query);
            for (col, [sum, terms]) in expected.o.iter().enumerate() {
                let values = f64::from(v.scales[of_keys]);
                let found = bf16::from_bits(o[start + col]).to_f64();
                assert!(
                    (found - sum * values).abs() <= terms * values * ERROR + 1e-6,
                    "{what}: batch {batch}, head {head}, query {query}, column {col}: expected {}, found {found}",
                    sum * values
                );
            }
            let behind = &o[start + size..][..8];
            assert!(behind.iter().all(|&bits| bits == bf16::NAN.to_bits()), "{what}: wrote past the row");
            let found = f64::from(f32::from_bits(lse[of_head * queries + query]));
            let agrees =
                found == expected.lse || (found - expected.lse).abs() <= LOG_ERROR * (1.0 + found.abs());
            assert!(agrees, "{what}: query {query}: expected logarithm {}, found {found}", expected.lse);
        }
    }
}

#[test]
fn every_tile_and_mask() {
    let masks = [
        AttentionMask::Full,
        AttentionMask::Causal,
        AttentionMask::CausalFromEnd,
        AttentionMask::Window { before: 90, after: 10 },
    ];
    for head_size in [64, 128] {
        for tile in ScaledAttention::tiles(head_size) {
            for mask in masks {
                let attention = ScaledAttention { tile, ..ScaledAttention::new(head_size, mask) };
                check(&attention, Sizes::one(230, 300));
            }
        }
    }
}

/// With a causal mask, warpgroups skip steps.
#[test]
fn every_order_of_products() {
    for head_size in [64, 128] {
        let new = ScaledAttention::new(head_size, AttentionMask::Causal);
        let check = |tile, order, rounds_early| {
            let overlap = AttentionOverlap { order, rounds_early };
            check(&ScaledAttention { tile, overlap, ..new }, Sizes::one(270, 300));
        };
        for tile in ScaledAttention::tiles(head_size) {
            check(tile, ProductOrder::Staggered, true);
        }
        for order in ProductOrder::ALL {
            check(new.tile, order, false);
        }
        check(new.tile, ProductOrder::InTurn, true);
    }
}

#[test]
fn every_length() {
    for (queries, keys) in [(1, 1), (64, 128), (130, 77), (33, 0), (40, 273)] {
        check(&ScaledAttention::new(128, AttentionMask::Full), Sizes::one(queries, keys));
    }
}

#[test]
fn heads_have_their_own_scales() {
    for order in [Order::Heads, Order::Rows] {
        let schedule = Schedule::grouped(2);
        let attention = ScaledAttention { schedule, ..ScaledAttention::new(64, AttentionMask::Causal) };
        let sizes = Sizes { batches: 2, heads: 4, kv_heads: 2, queries: 200, keys: 200, order };
        check(&attention, sizes);
    }
}

/// The scale of a group of zeros is 0; all keys that are visible have the same weight.
#[test]
fn scales_may_be_zero() {
    let sizes = Sizes { batches: 1, heads: 4, kv_heads: 2, queries: 150, keys: 150, order: Order::Heads };
    let scale_of: fn(char, usize) -> f32 = |which, head| match (which, head) {
        ('q', 0) | ('k', 1) => 0.0,
        _ => 0.5,
    };
    for mask in [AttentionMask::Full, AttentionMask::Causal] {
        check_with(&ScaledAttention::new(64, mask), sizes, scale_of);
    }
}

/// Keys are in the order in which a lane has their weights, and padded with zeros.
#[test]
fn values_are_transposed() {
    let (heads, keys, size) = (2, 150, 64);
    let attention = ScaledAttention::new(64, AttentionMask::Full);
    let kernel = attention.values_kernel().expect("a valid kernel");
    let elements: Vec<e4m3> =
        (0..heads * keys * size).map(|at| e4m3::from_bits((at * 37 % 119) as u8)).collect();
    let found = devices::everywhere(|device| {
        if device.capability() != (9, 0) {
            return None;
        }
        let v = device.upload(&elements).expect("room");
        let mut values = device.output::<e4m3>(attention.values(heads, keys)).expect("room");
        let strides = [heads * keys * size, keys * size, size].map(|stride| stride as u32);
        device.launch(&kernel, (&v, &mut values, [1, heads as u32, keys as u32], strides)).expect("launched");
        Some(device.download(&values).expect("copied").into_iter().map(e4m3::to_bits).collect::<Vec<_>>())
    });
    let found = found.expect("the simulator has every capability");
    let order = [0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15];
    for (head, col, at) in each([heads, size, 160]) {
        let key = at / 16 * 16 + order[at % 16];
        let expected = if key < keys { elements[(head * keys + key) * size + col].to_bits() } else { 0 };
        assert_eq!(
            found[(head * size + col) * 160 + at],
            expected,
            "head {head}, column {col}, position {at}"
        );
    }
}

#[test]
fn other_sizes_are_rejected() {
    let attention = ScaledAttention::new(96, AttentionMask::Full);
    let found = attention.kernel::<bf16>().expect_err("it is rejected").to_string();
    assert!(found.contains("expected a head size, queries and keys of"), "{found}");
    let found = attention.values_kernel().expect_err("it is rejected").to_string();
    assert!(found.contains("expected a head size of 64 or 128, found 96"), "{found}");
}
