//! Sequences of different lengths, stored one after the other.

use super::{
    problem::{Element, Matrices, On, Order, Sizes, TARGETS, compare_row, everywhere, mixed, scale},
    reference::Reference,
};
use crate::assemble;
use warpwright::{
    kernels::{Attention, AttentionMask, PackedAttentionArgs},
    prelude::*,
    run::Device,
};
use warpwright_reference::dot;

const HEADS: usize = 2;

/// Checks sequences of these numbers of queries and keys, with rows before and after them that belong to no sequence.
fn check(attention: &Attention, lengths: &[(usize, usize)], element: Element<'_>) {
    let kernel: Kernel<PackedAttentionArgs<bf16>> = attention.packed_kernel().expect("a valid kernel");
    assemble::kernel(&kernel);
    let starts = |length: &dyn Fn(&(usize, usize)) -> usize| {
        let mut starts = vec![3];
        lengths.iter().for_each(|lengths| starts.push(starts.last().expect("one") + length(lengths)));
        starts
    };
    let (of_queries, of_keys) = (starts(&|lengths| lengths.0), starts(&|lengths| lengths.1));
    let all = |starts: &[usize]| starts.last().expect("one") + 5;
    let (queries, keys) = (all(&of_queries), all(&of_keys));
    let sizes = Sizes { batches: 1, heads: HEADS, kv_heads: 1, queries, keys, order: Order::Rows };
    let matrices = Matrices::<bf16>::new(attention, sizes, element);
    let longest = lengths.iter().map(|lengths| lengths.0).max().expect("a sequence") as u32;
    let found = everywhere(&matrices, HEADS * queries, &|device, on| {
        let On { factors: [q, k, v], o, lse } = on;
        let numbers = |starts: &[usize]| starts.iter().map(|&start| start as u32).collect::<Vec<_>>();
        let starts = [&of_queries, &of_keys].map(|starts| device.upload(&numbers(starts)).expect("room"));
        let sizes = [lengths.len(), 1, HEADS, queries, keys].map(|size| size as u32);
        let strides = matrices.strides().map(|[_, head, row]| [head, row]);
        let arguments = (&*q, &*k, &*v, o, lse, starts.each_ref(), sizes, longest, strides, scale(attention));
        let launched = device.launch(&kernel, arguments);
        launched.unwrap_or_else(|error| panic!("{attention:?}, {lengths:?}: {error}"));
    });
    let mut in_sequence = vec![false; queries];
    for (at, &(of_sequence, keys)) in lengths.iter().enumerate() {
        let (first_query, first_key) = (of_queries[at], of_keys[at]);
        for head in 0..HEADS {
            let score = |query, key| {
                let (q, k) = (
                    matrices.row(0, [0, head, first_query + query]),
                    matrices.row(1, [0, 0, first_key + key]),
                );
                dot(q, k) * f64::from(scale(attention))
            };
            let reference = Reference {
                mask: attention.mask,
                queries: of_sequence,
                keys,
                score: &score,
                value: &|key| matrices.row(2, [0, 0, first_key + key]),
                columns: attention.value_size as usize,
                soft_cap: None,
                slope: 0.0,
                sink: None,
                dropout: None,
            };
            for query in 0..of_sequence {
                let row = first_query + query;
                in_sequence[row] = true;
                let what = format!("{attention:?}, {lengths:?}: sequence {at}, head {head}, query {query}");
                let o = &found.o[matrices.rows[3].at(0, head, row)..];
                compare_row::<bf16>(&what, &reference.row(query), o, found.lse[head * queries + row]);
            }
        }
    }
    for (row, _) in in_sequence.iter().enumerate().filter(|(_, is_in)| !**is_in) {
        for head in 0..HEADS {
            let o = &found.o[matrices.rows[3].at(0, head, row)..][..attention.value_size as usize];
            let is_kept = o.iter().all(|&bits| bits == bf16::NAN.to_bits());
            assert!(is_kept && found.lse[head * queries + row].is_nan(), "{lengths:?}: wrote row {row}");
        }
    }
}

const LENGTHS: [&[(usize, usize)]; 3] =
    [&[(100, 100), (1, 250), (200, 37), (0, 10), (64, 0)], &[(193, 320)], &[(0, 0), (130, 130), (0, 7)]];

#[test]
fn full() {
    for target in TARGETS {
        for lengths in LENGTHS {
            check(&Attention::new(target, 64, 64, AttentionMask::Full), lengths, &mixed);
        }
    }
}

#[test]
fn causal_from_end() {
    for target in TARGETS {
        for lengths in LENGTHS {
            check(&Attention::new(target, 128, 128, AttentionMask::CausalFromEnd), lengths, &mixed);
        }
    }
}

/// NaN and infinities in the keys and values of one sequence, and in rows of none, do not reach the others, although tiles contain both.
#[test]
fn rows_of_other_sequences() {
    for target in TARGETS {
        for (mask, size) in
            [(AttentionMask::Full, 64), (AttentionMask::CausalFromEnd, 128), (AttentionMask::Causal, 32)]
        {
            for special in [f32::NAN, f32::INFINITY] {
                // The keys of the last sequence with queries end at row 390; rows 0 to 2 and those from 400 on belong to none.
                let element = |which: char, at: [usize; 4]| match (which, at[2]) {
                    ('k' | 'v', 0..3 | 390..) => special,
                    _ => mixed(which, at),
                };
                check(&Attention::new(target, size, size, mask), LENGTHS[0], &element);
                // All keys of the second sequence, and thus its results; the first and third ones are next to it.
                let element = |which: char, at: [usize; 4]| match (which, at[2]) {
                    ('v', 103..353) => special,
                    _ => mixed(which, at),
                };
                let full = Attention::new(target, size, size, AttentionMask::Full);
                check(&full, LENGTHS[0], &element);
            }
        }
    }
}

#[test]
fn windows() {
    for target in TARGETS {
        let mask = AttentionMask::Window { before: 70, after: 10 };
        check(&Attention::new(target, 64, 64, mask), LENGTHS[0], &mixed);
    }
}
