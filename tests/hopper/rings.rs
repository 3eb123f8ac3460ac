//! Rings: stages, consumers, counts and clusters.

use warpwright::tiles::Schedule;

use super::gemm::{Blocks, How, check, in_turns, kernel};

const WAYS: [How; 3] = [How::Run, How::Each, How::Receive];

/// No step, fewer and more than there are stages; edges along m, n and k.
const SIZES: [[usize; 3]; 4] = [[64, 64, 0], [64, 128, 64], [72, 56, 392], [192, 128, 128]];

#[test]
fn one_stage() {
    for how in WAYS {
        check(&format!("one stage, {how:?}"), &kernel::<4, 1, 1>(how, Blocks::ALONE), &SIZES);
    }
}

#[test]
fn two_stages_and_two_consumers() {
    for how in WAYS {
        check(&format!("two stages, {how:?}"), &kernel::<8, 2, 2>(how, Blocks::ALONE), &SIZES);
    }
}

#[test]
fn three_stages() {
    check("three stages", &kernel::<4, 3, 1>(How::Run, Blocks::ALONE), &SIZES);
}

#[test]
fn four_stages() {
    for how in WAYS {
        check(&format!("four stages, {how:?}"), &kernel::<4, 4, 1>(how, Blocks::ALONE), &SIZES);
    }
}

#[test]
fn turns() {
    check("two consumers in turns, 1 stage", &in_turns::<1, 2>(Blocks::ALONE), &SIZES);
    check("two consumers in turns, 3 stages", &in_turns::<3, 2>(Blocks::ALONE), &SIZES);
    check("three consumers in turns", &in_turns::<2, 3>(Blocks::ALONE), &[[192, 256, 200], [64, 64, 64]]);
}

/// Every shape of a cluster; with tiles past the edge, which some of its blocks compute without a result.
#[test]
fn clusters() {
    let shapes = [(2, 2, 1), (2, 1, 2), (4, 2, 2), (4, 4, 1), (4, 1, 4)];
    let sizes = [[64, 64, 64], [200, 72, 200], [256, 320, 128]];
    for (cluster, rows, cols) in shapes {
        let schedule = Schedule::grouped(2).per_cluster(rows, cols);
        let what = format!("clusters of {rows}×{cols}");
        let blocks = Blocks { cluster, schedule };
        check(&what, &kernel::<4, 2, 1>(How::Run, blocks), &sizes);
        check(&format!("{what}, each"), &kernel::<4, 2, 1>(How::Each, blocks), &sizes[1..2]);
        check(&format!("{what}, in turns"), &in_turns::<3, 2>(blocks), &sizes[1..]);
    }
}
