//! The state space model of Mamba-2.

use super::matrices::{Matrices, Sizes, States, assembled, everywhere_with, mixed};
use crate::half::Half;
use warpwright::{kernels::StateSpace, prelude::*, run::Device, tiles::Convert};
use warpwright_reference::dot;

/// Runs a kernel with `groups` pairs of B and C and compares its results with the recurrence, and that with the semiseparable matrix.
fn check<T: Half>(model: StateSpace, sizes: Sizes, groups: usize)
where
    f32: Convert<T>,
{
    let StateSpace { head_size, state_size } = model;
    let (p, n) = (head_size as usize, state_size as usize);
    let of_groups = Sizes { heads: groups, ..sizes };
    let per_group = sizes.heads / groups;
    let kernel = assembled(&|target| model.kernel::<T>(target));
    let x = Matrices::<T>::new(sizes, p, &|at| mixed(0, at));
    let [b, c] = [1, 2].map(|which| Matrices::<T>::new(of_groups, n, &|at| mixed(which, at)));
    let (empty, start) = (Matrices::<T>::poisoned(sizes, p), States::new(sizes, p * n));
    // Steps from 0.001 to 0.1 in most tokens, and some that forget almost everything, or nothing.
    let step = |(batch, head): (usize, usize), token: usize| match token % 37 {
        5 => 12.0,
        9 => 0.0,
        _ => 10f64.powf(mixed(3, [batch, head, token, 0]) / 1.5 - 2.0) as f32,
    };
    let of_each = |(batch, head), token| {
        ((batch * sizes.length + token) * sizes.heads + head, step((batch, head), token))
    };
    let mut steps = vec![0.0; sizes.batches * sizes.length * sizes.heads];
    for at in sizes.each() {
        for (index, step) in (0..sizes.length).map(|token| of_each(at, token)) {
            steps[index] = step;
        }
    }
    let a: Vec<f32> = (0..sizes.heads).map(|head| -0.5 - head as f32 * 3.0).collect();
    let skip: Vec<f32> = (0..sizes.heads).map(|head| 1.5 - head as f32).collect();
    let of_steps = [(sizes.length * sizes.heads) as u32, 1, sizes.heads as u32];
    let strides = [x.strides(), b.strides(), c.strides(), empty.strides(), of_steps];
    let numbers = [sizes.batches, groups, per_group, sizes.length].map(|size| size as u32);
    let (found, end) = everywhere_with(&empty, &start, &|device, y, state| {
        let [x, b, c] = [&x, &b, &c].map(|matrices| device.upload(&matrices.elements).expect("room"));
        let [dt, a, skip] = [&steps, &a, &skip].map(|numbers| device.upload(numbers).expect("room"));
        let launched = device.launch(&kernel, (&x, &dt, &a, &b, &c, &skip, y, state, numbers, strides));
        launched.unwrap_or_else(|error| panic!("{model:?}, {sizes:?}: {error}"));
    });

    let what = format!("{model:?}, {sizes:?}, {groups} groups");
    for at in sizes.each() {
        let group = (at.0, at.1 / per_group);
        let (a, skip) = (f64::from(a[at.1]), f64::from(skip[at.1]));
        let step = |token| f64::from(step(at, token));
        let first = start.of(sizes, at);
        let mut state: Vec<[f64; 2]> = first.iter().map(|&x| [x, x.abs()]).collect();
        for i in 0..sizes.length {
            let (x_i, b_i, c_i) = (x.row(at, i), b.row(group, i), c.row(group, i));
            let mut expected = Vec::new();
            for (row, x) in state.chunks_mut(n).zip(&x_i) {
                let mut y = [skip * x, (skip * x).abs()];
                for (([sum, size], b), c) in row.iter_mut().zip(&b_i).zip(&c_i) {
                    let (factor, term) = ((step(i) * a).exp(), step(i) * x * b);
                    (*sum, *size) = (*sum * factor + term, *size * factor + term.abs());
                    y = [y[0] + *sum * c, y[1] + *size * c.abs()];
                }
                expected.push(y);
            }
            // By definition, for one column: Y = (L ∘ C·Bᵀ)·(dt · X) with Lᵢⱼ = exp(Σ dt·a over the tokens behind j up to i).
            let col = i % p;
            let (mut log, mut defined) = (0.0, skip * x_i[col]);
            for j in (0..=i).rev() {
                defined += f64::exp(log) * dot(&c_i, &b.row(group, j)) * step(j) * x.row(at, j)[col];
                log += step(j) * a;
            }
            defined += f64::exp(log) * (0..n).map(|k| c_i[k] * first[col * n + k]).sum::<f64>();
            let [sum, size] = expected[col];
            assert!((defined - sum).abs() <= 1e-9 * size, "{defined} and {sum}");
            found.compare(&what, at, i, &expected);
        }
        end.compare::<T>(&what, sizes, at, &state);
    }
}

#[test]
fn rows() {
    let sizes = Sizes { batches: 1, heads: 2, length: 150, rows_first: true };
    check::<bf16>(StateSpace { head_size: 64, state_size: 64 }, sizes, 1);
    check::<bf16>(StateSpace { head_size: 64, state_size: 128 }, Sizes { batches: 2, heads: 6, ..sizes }, 3);
    check::<f16>(StateSpace { head_size: 128, state_size: 64 }, Sizes { rows_first: false, ..sizes }, 2);
    check::<f16>(StateSpace { head_size: 128, state_size: 128 }, sizes, 1);
}

/// Heads of one token, of one more token than a chunk, and of no tokens, which leaves the state unchanged.
#[test]
fn lengths() {
    for length in [0, 1, 63, 65] {
        let model = StateSpace { head_size: 64, state_size: 128 };
        check::<bf16>(model, Sizes { batches: 1, heads: 1, length, rows_first: false }, 1);
    }
}

#[test]
fn other_rows_are_refused() {
    let error = StateSpace { head_size: 64, state_size: 32 }.kernel::<bf16>(Target::SM_80);
    let text = error.expect_err("no such kernel").to_string();
    assert!(text.contains("expected rows of 64 or 128, found 64 and 32"), "{text}");
}
