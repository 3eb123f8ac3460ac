//! NaN and infinities in the inputs of linear attention.

use super::matrices::{Matrices, Sizes, States, assembled, everywhere, everywhere_with, mixed};
use warpwright::{
    kernels::{DecayedAttention, TaylorAttention},
    prelude::*,
    run::Device,
};

const SIZES: Sizes = Sizes { batches: 1, heads: 2, length: 200, rows_first: true };
/// The tokens of a chunk, whose results one product computes.
const CHUNK: usize = 64;
/// The special element: in the second chunk of the first head.
const ROW: usize = 100;
const COL: usize = 5;

/// Returns Q, K and V with these numbers of columns, and a special element in one of them.
fn inputs(cols: [usize; 3], special_in: usize, special: f64) -> [Matrices<bf16>; 3] {
    [0, 1, 2].map(|which| {
        Matrices::new(SIZES, cols[which], &|at @ [_, head, row, col]| {
            let is_special = which == special_in && [head, row, col] == [0, ROW, COL];
            if is_special { special } else { mixed(which, at) }
        })
    })
}

/// Checks which results are finite.
fn check(what: &str, found: &Matrices<bf16>, special_in: usize) {
    for (head, row) in [0, 1].into_iter().flat_map(|head| (0..SIZES.length).map(move |row| (head, row))) {
        for (col, x) in found.row((0, head), row).into_iter().enumerate() {
            let at = format!("{what}: head {head}, row {row}, column {col}: {x}");
            match special_in {
                // A query affects its own row only.
                0 => assert_eq!(x.is_finite(), !(head == 0 && row == ROW), "{at}"),
                // A key, its own result and later ones.
                1 => assert_eq!(x.is_finite(), !(head == 0 && row >= ROW), "{at}"),
                // A value, also earlier results of its chunk, in which it is multiplied by 0.
                _ if head == 0 && col == COL && row >= ROW => assert!(!x.is_finite(), "{at}"),
                _ if head == 0 && col == COL && row >= ROW / CHUNK * CHUNK => {}
                _ => assert!(x.is_finite(), "{at}"),
            }
        }
    }
}

#[test]
fn sums_and_decays() {
    for (special_in, special) in [0, 1, 2].into_iter().flat_map(|at| [(at, f64::NAN), (at, f64::INFINITY)]) {
        for normalized in [false, true] {
            let kernel = assembled(&|target| TaylorAttention { normalized }.kernel::<bf16>(target));
            let inputs = inputs([16, 16, 64], special_in, special);
            let empty = Matrices::poisoned(SIZES, 64);
            let [q, k, v] = &inputs;
            let strides = [q, k, v, &empty].map(Matrices::strides);
            let found = everywhere(&empty, &|device, o| {
                let [q, k, v] = inputs.each_ref().map(|x| device.upload(&x.elements).expect("room"));
                device.launch(&kernel, (&q, &k, &v, o, SIZES.numbers(), strides)).expect("launched");
            });
            check(&format!("normalized {normalized}, {special} in {special_in}"), &found, special_in);
        }

        let kernel =
            assembled(&|target| DecayedAttention { key_size: 64, value_size: 64 }.kernel::<bf16>(target));
        let inputs = inputs([64, 64, 64], special_in, special);
        let (empty, start) = (Matrices::poisoned(SIZES, 64), States::new(SIZES, 64 * 64));
        let [q, k, v] = &inputs;
        let strides = [q, k, v, &empty].map(Matrices::strides);
        let (found, _) = everywhere_with(&empty, &start, &|device, o, state| {
            let [q, k, v] = inputs.each_ref().map(|x| device.upload(&x.elements).expect("room"));
            let decays = device.upload(&[0.0f32, -0.05]).expect("room");
            let arguments = (&q, &k, &v, &decays, o, state, SIZES.numbers(), strides);
            device.launch(&kernel, arguments).expect("launched");
        });
        check(&format!("decays, {special} in {special_in}"), &found, special_in);
    }
}
