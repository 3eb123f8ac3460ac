//! The gradients of packed sequences, compared with f64 on every device.

use super::{Matrices, built, compare, rows_of};
use crate::{
    attention::problem::{Half, Order, Sizes, mixed},
    devices,
};
use warpwright::{
    kernels::{AttentionBackward, AttentionMask},
    prelude::*,
    run::Device,
};

const HEADS: usize = 4;
const KV_HEADS: usize = 2;
/// The rows before the first sequence, and those after the last one.
const OUTSIDE: [usize; 2] = [3, 5];

/// Returns the parts of all sequences one after the other, between `before` and `after`.
fn joined<X: Copy>(parts: impl Iterator<Item = Vec<X>>, [before, after]: [usize; 2], outside: X) -> Vec<X> {
    let parts = parts.flatten();
    vec![outside; before].into_iter().chain(parts).chain(vec![outside; after]).collect()
}

/// Checks sequences of these numbers of queries and keys.
pub(super) fn check(backward: &AttentionBackward, lengths: &[(usize, usize)]) {
    let sequences: Vec<Matrices<bf16>> = (0..lengths.len())
        .map(|at| {
            let (queries, keys) = lengths[at];
            let sizes =
                Sizes { batches: 1, heads: HEADS, kv_heads: KV_HEADS, queries, keys, order: Order::Rows };
            let element = |which, [_, head, row, col]: [usize; 4]| mixed(which, [at, head, row, col]);
            Matrices::new(backward, sizes, &element)
        })
        .collect();
    // The elements of a row of all heads, and those of the next one.
    let pitches = sequences[0].rows.each_ref().map(|rows| rows.numbers()[2] as usize);
    let starts = |length: &dyn Fn(&(usize, usize)) -> usize| {
        let mut starts = vec![OUTSIDE[0]];
        lengths.iter().for_each(|lengths| starts.push(starts.last().expect("one") + length(lengths)));
        starts
    };
    let starts = [starts(&|lengths| lengths.0), starts(&|lengths| lengths.1)];
    let [queries, keys] = starts.each_ref().map(|starts| starts.last().expect("one") + OUTSIDE[1]);
    let factors = [0, 1, 2, 3, 4].map(|which| {
        let pitch = pitches[rows_of(which)];
        let parts = sequences.iter().map(|sequence| sequence.factors[which].clone());
        joined(parts, OUTSIDE.map(|rows| rows * pitch), bf16::ONE)
    });
    let lse: Vec<f32> = (0..HEADS)
        .flat_map(|head| {
            let parts = sequences.iter().map(|sequence| {
                let queries = sequence.sizes.queries;
                sequence.lse[head * queries..][..queries].to_vec()
            });
            joined(parts, OUTSIDE, f32::NAN)
        })
        .collect();
    let expected: Vec<_> = sequences.iter().map(|sequence| sequence.derivatives(backward.mask)).collect();
    let longest = [lengths.iter().map(|of| of.0).max(), lengths.iter().map(|of| of.1).max()];
    let longest = longest.map(|length| length.expect("a sequence") as u32);
    let sizes = [lengths.len(), KV_HEADS, HEADS / KV_HEADS, queries, keys].map(|size| size as u32);
    let [of_q, of_k, of_v, of_o] = sequences[0].rows.each_ref().map(|rows| {
        let [_, head, row] = rows.numbers();
        [head, row]
    });
    let scale = sequences[0].scale() as f32;

    let found = devices::everywhere(|device| {
        if device.capability() != (9, 0) {
            return None;
        }
        let upload = |elements: &Vec<bf16>| device.upload(elements).expect("room");
        let [q, k, v, o, d_o] = factors.each_ref().map(upload);
        let on_lse = device.upload(&lse).expect("room");
        let on_starts = starts.each_ref().map(|starts| {
            let starts: Vec<u32> = starts.iter().map(|&start| start as u32).collect();
            device.upload(&starts).expect("room")
        });
        let on_starts = on_starts.each_ref();
        let workspace = backward.packed_workspace(HEADS, lengths.len(), queries);
        let [mut rows, mut sums] =
            workspace.map(|length| device.upload(&vec![f32::NAN; length]).expect("room"));
        let [mut dq, mut dk, mut dv] = [(queries, 0), (keys, 1), (keys, 2)]
            .map(|(rows, of)| upload(&vec![bf16::NAN; rows * pitches[of]]));
        let what = |error| panic!("{backward:?}, {lengths:?}: {error}");

        let kernel = built(backward.packed_rows_kernel::<bf16>(), false);
        let arguments = (&o, &d_o, &on_lse, &mut rows, &mut sums, on_starts, sizes, longest, [of_o; 2]);
        device.launch(&kernel, arguments).unwrap_or_else(what);
        let kernel = built(backward.packed_keys_kernel::<bf16>(), backward.head_size >= 128);
        let strides = [of_q, of_k, of_v, of_o, of_k, of_v];
        let arguments =
            (&q, &k, &v, &d_o, &rows, &mut sums, &mut dk, &mut dv, on_starts, sizes, longest, strides, scale);
        device.launch(&kernel, arguments).unwrap_or_else(what);
        if backward.deterministic {
            let kernel = built(backward.packed_queries_kernel::<bf16>(), backward.head_size == 256);
            let strides = [of_q, of_k, of_v, of_o, of_q];
            let arguments = (&q, &k, &v, &d_o, &rows, &mut dq, on_starts, sizes, longest, strides, scale);
            device.launch(&kernel, arguments).unwrap_or_else(what);
        } else {
            let kernel = built(backward.packed_finish_kernel::<bf16>(), false);
            let arguments = (&sums, &mut dq, on_starts, sizes, longest, of_q, scale);
            device.launch(&kernel, arguments).unwrap_or_else(what);
        }

        let results = [&dq, &dk, &dv].map(|result| {
            device.download(result).expect("copied").into_iter().map(bf16::bits).collect::<Vec<_>>()
        });
        for (at, sequence) in sequences.iter().enumerate() {
            let of_sequence = [0, 1, 2].map(|which| {
                let [first, end] = [0, 1].map(|end| starts[which.min(1)][at + end] * pitches[which]);
                results[which][first..end].to_vec()
            });
            compare::<bf16>(backward, sequence, &of_sequence, &expected[at]);
        }
        for (which, result) in results.iter().enumerate() {
            let [first, last] = OUTSIDE.map(|rows| rows * pitches[which]);
            let outside = result[..first].iter().chain(&result[result.len() - last..]);
            let is_kept = outside.into_iter().all(|&bits| bits == bf16::NAN.to_bits());
            assert!(is_kept, "{backward:?}, {lengths:?}: wrote rows of no sequence");
        }
        Some(if backward.deterministic { results.to_vec() } else { results[1..].to_vec() })
    });
    assert!(found.is_some(), "the simulator has every capability");
}

fn check_both(head_size: u32, mask: AttentionMask, lengths: &[(usize, usize)]) {
    super::both(head_size, mask).iter().for_each(|backward| check(backward, lengths));
}

/// Sequences around the sizes of tiles, keys without queries, queries without keys, and neither.
const LENGTHS: [&[(usize, usize)]; 3] = [
    &[(100, 100), (1, 250), (200, 37), (0, 10), (64, 0), (128, 128)],
    &[(193, 320)],
    &[(0, 0), (130, 130), (0, 7)],
];

#[test]
fn packed_sequences_agree_with_f64() {
    for lengths in LENGTHS {
        check_both(64, AttentionMask::Full, lengths);
    }
    check_both(128, AttentionMask::CausalFromEnd, LENGTHS[0]);
    check_both(32, AttentionMask::Window { before: 70, after: 10 }, LENGTHS[0]);
}

#[test]
fn sequences_without_queries_have_gradients() {
    check_both(128, AttentionMask::Full, &[(0, 200), (0, 3)]);
}

#[test]
fn dropout_of_packed_sequences_is_rejected() {
    let backward = AttentionBackward { dropout: true, ..AttentionBackward::new(64, AttentionMask::Full) };
    let expected = "expected packed sequences without dropout, found dropout";
    let found = backward.packed_keys_kernel::<bf16>().expect_err("it is rejected").to_string();
    assert!(found.contains(expected), "{found}");
    let found = backward.packed_queries_kernel::<bf16>().expect_err("it is rejected").to_string();
    assert!(found.contains(expected), "{found}");
}
