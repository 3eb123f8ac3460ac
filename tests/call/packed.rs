//! Sequences of different lengths, stored one after the other.

use warpwright::{
    kernels::{
        AttentionMask,
        call::{self, HeadOrder, PackedShape},
    },
    run::{AnyDevice, Device, KernelCache, Simulator},
    sim::Arch,
};
use warpwright_reference::{dot, weighted_values};

use super::{
    heads::row_of,
    numbers::{assert_near, downloaded_floats, downloaded_halves, halves, in_f64, on_hopper, results},
};

/// The first rows of sequences, of which one is empty, in 2 rows before the first sequence and 3 after the last.
const QUERY_STARTS: [u32; 5] = [2, 72, 72, 90, 103];
const KEY_STARTS: [u32; 5] = [0, 70, 75, 175, 176];

const SHAPE: PackedShape = PackedShape {
    kv_heads: 2,
    keys: 176,
    mask: AttentionMask::CausalFromEnd,
    ..PackedShape::new(4, 4, 106, 70, 64)
};

/// Returns the first element of a row of `size` elements of a head, of matrices of `heads` heads of `rows` rows.
fn at(order: HeadOrder, [heads, rows, size]: [u32; 3], head: usize, row: usize) -> usize {
    let [heads, rows, size] = [heads, rows, size].map(|n| n as usize);
    size * row_of(order, [heads, rows], [0, head, row])
}

fn check(device: &AnyDevice, shape: &PackedShape) {
    let kernels = KernelCache::new(device);
    let PackedShape { heads, kv_heads, queries, keys, head_size, value_size, order, .. } = *shape;
    let [of_q, of_k, of_v] =
        [[heads, queries, head_size], [kv_heads, keys, head_size], [kv_heads, keys, value_size]];
    let of_o = [heads, queries, value_size];
    let [q, k, v] = [(of_q, 1), (of_k, 2), (of_v, 3)]
        .map(|(sizes, seed)| halves(sizes.into_iter().product::<u32>() as usize, seed));
    let [on_q, on_k, on_v] = [&q, &k, &v].map(|elements| device.upload(elements).expect("room"));
    let [query_starts, key_starts] =
        [QUERY_STARTS, KEY_STARTS].map(|starts| device.upload(&starts).expect("room"));
    let rows = (heads * queries) as usize;
    let (mut o, mut lse) = (results(device, rows * value_size as usize), results(device, rows));
    let starts = (&query_starts, &key_starts);
    call::packed_attention(&kernels, shape, starts, &on_q, &on_k, &on_v, &mut o, &mut lse).expect("launched");

    let [q, k, v] = [&q, &k, &v].map(|elements| in_f64(elements));
    let (found_o, found_lse) = (downloaded_halves(device, &o), downloaded_floats(device, &lse));
    let [size, value_size] = [head_size, value_size].map(|size| size as usize);
    for head in 0..heads as usize {
        let kv_head = head / (heads / kv_heads) as usize;
        for row in 0..queries as usize {
            let o = &found_o[at(order, of_o, head, row)..][..value_size];
            let lse = &found_lse[head * queries as usize + row];
            let sequence = (0..4).find(|&i| (QUERY_STARTS[i]..QUERY_STARTS[i + 1]).contains(&(row as u32)));
            let Some(sequence) = sequence else {
                assert!(lse.is_nan() && o.iter().all(|o| o.is_nan()), "wrote row {row}");
                continue;
            };
            let [first, last] = [0, 1].map(|i| KEY_STARTS[sequence + i] as usize);
            // The last query has the position of the last key.
            let visible =
                (row + 1 + last).saturating_sub(QUERY_STARTS[sequence + 1] as usize).max(first) - first;
            let score = |key| {
                let k = &k[at(order, of_k, kv_head, first + key)..][..size];
                dot(&q[at(order, of_q, head, row)..][..size], k) / (size as f64).sqrt()
            };
            let scores: Vec<f64> = (0..visible).map(score).collect();
            let values = |key| &v[at(order, of_v, kv_head, first + key)..];
            let expected = weighted_values(&scores, None, value_size, &values);
            let sums: Vec<f64> = expected.o.iter().map(|[sum, _]| *sum).collect();
            assert_near(&format!("o, head {head}, row {row}"), o, &sums, 0.01);
            if expected.lse.is_finite() {
                assert_near(&format!("lse, head {head}, row {row}"), &[*lse], &[expected.lse], 1e-5);
            } else {
                assert_eq!(*lse, expected.lse, "head {head}, row {row}");
            }
        }
    }
}

#[test]
fn sequences_attend_to_themselves() {
    on_hopper(|device| {
        for order in [HeadOrder::Positions, HeadOrder::Heads] {
            check(device, &PackedShape { order, ..SHAPE });
        }
    });
    check(&AnyDevice::Sim(Simulator::new().arch(Arch::Sm80)), &SHAPE);
}

#[test]
fn values_have_their_own_length() {
    on_hopper(|device| check(device, &PackedShape { head_size: 192, value_size: 128, ..SHAPE }));
}

/// A kernel is built for a mask and head size, and used for all sequences.
#[test]
fn other_sequences_have_the_same_kernel() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let reused = [(1, 5), (2, 9)].map(|(sequences, positions)| {
        let shape = PackedShape {
            mask: AttentionMask::Causal,
            ..PackedShape::new(sequences, 1, positions, positions, 64)
        };
        let elements = halves(positions as usize * 64, 1);
        let q = device.upload(&elements).expect("room");
        let starts: Vec<u32> = (0..=sequences).map(|i| i * positions / sequences).collect();
        let starts = device.upload(&starts).expect("room");
        let (mut o, mut lse) =
            (device.output(q.len()).expect("room"), device.output(positions as usize).expect("room"));
        call::packed_attention(&kernels, &shape, (&starts, &starts), &q, &q, &q, &mut o, &mut lse)
            .expect("launched")
            .reused
    });
    assert_eq!(reused, [false, true]);
}

#[test]
fn shapes_without_a_kernel_are_refused() {
    let device = Simulator::new();
    let kernels = KernelCache::new(&device);
    let shape = PackedShape::new(2, 2, 4, 4, 64);
    let q = device.upload(&halves(4 * 2 * 64, 1)).expect("room");
    let starts = device.upload(&[0u32, 4]).expect("room");
    let refused = |shape: PackedShape| {
        let (mut o, mut lse) = (device.output(q.len()).expect("room"), device.output(8).expect("room"));
        call::packed_attention(&kernels, &shape, (&starts, &starts), &q, &q, &q, &mut o, &mut lse)
            .expect_err("refused")
            .to_string()
    };
    for (shape, expected) in [
        (PackedShape { kv_heads: 3, ..shape }, "heads that are a multiple of kv_heads = 3, found 2"),
        (
            PackedShape { head_size: 40, ..shape },
            "equal head sizes of 32, 64, 96, 128 or 256, or 192 for Q and K and 128 for V, found 40 and 64",
        ),
        (PackedShape { scale: Some(0.0), ..shape }, "a positive scale of at most 2.3e38, found 0"),
        (
            PackedShape { keys: 1 << 30, order: HeadOrder::Heads, ..shape },
            "matrices of fewer than 2³² elements, found 68719476736",
        ),
    ] {
        assert_eq!(refused(shape), format!("packed_attention: expected {expected}"));
    }
    assert_eq!(
        refused(shape),
        "packed_attention: kernel `attention_bf16_64_full_packed`: parameter `query_starts`: expected a buffer of at least 3 elements, found 2"
    );
}
