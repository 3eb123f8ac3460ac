//! Instructions that do not fold, run in the simulator: carry chains, shuffles, votes, reductions, atomics, address spaces.
#![allow(unsafe_code, reason = "generic addresses")]

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright::{
    prelude::*,
    ptx::{Comparison, FULL_MASK, MemoryScope, Order, Shuffle},
    run::{Device, Simulator},
};

/// Results of a kernel of one warp, `rows` of 32.
fn run(
    rows: usize,
    write: impl for<'k> Fn(Builder<'k>, Val<'k, u32>, &mut dyn FnMut(Val<'k, u32>)),
) -> Vec<Vec<u32>> {
    let kernel = Kernel::<(Out<u32>,)>::build("lanes(out)", Target::SM_90, |k, (out,)| {
        k.block([32]);
        k.grid([1]);
        let lane = k.laneid();
        let (out, mut at) = (k.slice(out, 32 * rows), lane);
        write(k, lane, &mut |value| {
            out.at(at).store(value);
            at = at + 32;
        });
    })
    .unwrap_or_else(|e| panic!("{e}"));
    let device = Simulator::new();
    let mut out = device.output::<u32>(32 * rows).unwrap();
    device.launch(&kernel, (&mut out,)).unwrap_or_else(|e| panic!("{e}"));
    device.download(&out).unwrap().chunks(32).map(<[u32]>::to_vec).collect()
}

fn each_lane(f: impl Fn(u32) -> u32) -> Vec<u32> {
    (0..32).map(f).collect()
}

/// A scope is compared by its rank.
#[test]
fn scopes_are_compared_with_numbers() {
    let rows = run(3, |k, _, out| {
        out(k.lane().eq(3).select(1, 0));
        out(k.lane().lt(2).select(1, 0));
        out(k.warp().ge(1).select(1, 0));
    });
    assert_eq!(
        rows,
        [each_lane(|lane| u32::from(lane == 3)), each_lane(|lane| u32::from(lane < 2)), vec![0; 32]]
    );
}

#[test]
fn shuffles_stay_in_the_warp() {
    let rows = run(5, |k, lane, out| {
        let value = lane * 10;
        out(k.shfl_up(value, 3));
        out(k.shfl_down(value, 3));
        out(k.shfl_bfly(value, 5));
        out(k.shfl_idx(value, 7));
        // Quarters of the warp: lanes 8 to a segment.
        let (value, in_range) = k.shfl_with(Shuffle::Down, value, 1, 0x1800 | 31, FULL_MASK);
        out(in_range.select(value, 999));
    });
    let expected = [
        each_lane(|lane| 10 * if lane < 3 { lane } else { lane - 3 }),
        each_lane(|lane| 10 * if lane > 28 { lane } else { lane + 3 }),
        each_lane(|lane| 10 * (lane ^ 5)),
        each_lane(|_| 70),
        each_lane(|lane| if lane % 8 == 7 { 999 } else { 10 * (lane + 1) }),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn votes_and_reductions_see_every_lane() {
    let rows = run(9, |k, lane, out| {
        let even = (lane & 1).eq(0);
        out(k.vote_ballot(even, FULL_MASK));
        out(k.vote_all(lane.lt(32), FULL_MASK).select(1, 0));
        out(k.vote_any(lane.gt(31), FULL_MASK).select(1, 0));
        out(k.vote_uni(even, FULL_MASK).select(1, 0));
        out(k.redux_add(lane, FULL_MASK));
        out(k.redux_xor(lane << 1, FULL_MASK));
        out(k.match_any(lane >> 3, FULL_MASK));
        out(k.sync_threads_count(even));
        out(k.redux_min(lane.cast::<i32>() - 5, FULL_MASK).bits());
    });
    let expected = [
        each_lane(|_| 0x5555_5555),
        each_lane(|_| 1),
        each_lane(|_| 0),
        each_lane(|_| 0),
        each_lane(|_| (0..32).sum()),
        each_lane(|_| (0..32).fold(0, |x, lane| x ^ (lane << 1))),
        each_lane(|lane| 0xff << (lane / 8 * 8)),
        each_lane(|_| 16),
        each_lane(|_| -5i32 as u32),
    ];
    assert_eq!(rows, expected);
}

#[test]
fn atomics_add_up_through_generic_addresses_too() {
    let rows = run(4, |k, lane, out| {
        let shared = k.shared::<u32>(4);
        k.if_(lane.lt(4), || shared.at(lane).store(0));
        k.sync_threads();
        shared.atomic().order(Order::AcqRel).scope(MemoryScope::Cta).add(lane);
        unsafe { shared.byte_offset(4).generic().reduction() }.max(lane);
        shared.byte_offset(8).atomic().or(lane);
        shared.byte_offset(12).atomic().inc(9);
        k.sync_threads();
        for i in 0..4 {
            out(shared.at(i).load());
        }
    });
    assert_eq!(rows, [496, 31, 31, 2].map(|total| each_lane(|_| total)));
}

#[test]
fn masks_are_all_ones_or_zero() {
    let rows = run(1, |_, lane, out| out(lane.compare_mask(Comparison::Lt, 3)));
    assert_eq!(rows, [each_lane(|lane| if lane < 3 { u32::MAX } else { 0 })]);
}

/// Words of a number, low word first.
fn words(x: u128) -> [u32; 4] {
    std::array::from_fn(|i| (x >> (32 * i)) as u32)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn carry_chains_are_arithmetic_on_long_numbers(
        a in any::<u128>(),
        b in prop_oneof![any::<u128>(), Just(u128::MAX), Just(1)],
        factor in any::<u32>(),
    ) {
        let rows = run(12, |k, lane, out| {
            // Adding a 0 that the builder does not recognize as 0 keeps the words in registers.
            let zero = lane & !lane;
            let [a, b] = [a, b].map(|x| words(x).map(|word| zero + word));
            let long = [k.add_words(a, b), k.sub_words(a, b), k.mad_words(a, zero + factor, b)];
            long.as_flattened().iter().for_each(|word| out(*word));
        });
        let expected = [a.wrapping_add(b), a.wrapping_sub(b), a.wrapping_mul(factor.into()).wrapping_add(b)];
        let found: Vec<u32> = rows.iter().map(|row| row[0]).collect();
        prop_assert_eq!(found, expected.map(words).concat());
    }
}
