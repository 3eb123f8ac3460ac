//! Results stored and added by tensor copies: types, parts, slots and edges.

use warpwright::{
    prelude::*,
    run::Device,
    tensor::AtomicElement,
    tiles::{Convert, consumers, producer},
};

use super::problem::{assert_same, numbers, typed};
use crate::{devices::everywhere, numbers::Numeral};

/// X, D, m, n, the pitch of both.
type Args<T> = (In<f32>, InOut<T>, u32, u32, u32);

/// The operation on D.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Store,
    /// Results are added twice, by all blocks of a grid.
    Add,
}

/// A number that is not a result.
const CANARY: f64 = 77.0;

/// Copies X to D, in tiles of `H` · 64 rows for each of `C` consumers and `N` subtiles of columns.
fn kernel<T, const H: usize, const N: usize, const W: usize, const SLOTS: usize, const C: usize>(
    to: To,
) -> Kernel<Args<T>>
where
    T: AtomicElement,
    f32: Convert<T>,
{
    let kernel =
        Kernel::<Args<T>>::build("send(x, d, m, n, pitch)", Target::SM_90A, |k, (x, d, m, n, pitch)| {
            k.block([128 * (1 + C as u32)]);
            k.grid([if to == To::Add { 2 } else { 1 }]);
            // Elements are added in whole units of 16 bytes.
            let n = if to == To::Add { n.multiple_of(8) } else { n };
            let layout = row_major(m, n).with_row_stride(pitch);
            let (x, d) = (k.global(x, layout), k.global(d, layout));
            let outbox = k.outbox::<T, W, SLOTS, C>();
            k.specialize(
                producer(40, |_| ()),
                consumers::<C, _>(160, |c| {
                    // More than once, so that slots are used again.
                    k.for_(n.ceil_div(N as u32 * T::SUBTILE_LENGTH), |j| {
                        let first = c.rank() * H as u32;
                        let tiles: [_; H] = std::array::from_fn(|block| {
                            x.tile_of(c.group(), first + block as u32, j).load::<f32, 1, N, Row>()
                        });
                        match to {
                            To::Store => c.store(&outbox, tiles, |block| d.tile(first + block, j)),
                            To::Add => c.add(&outbox, tiles, |block| d.tile(first + block, j)),
                        }
                    });
                }),
            );
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    kernel
}

/// Runs the kernel for matrices with edges in all tiles; elements past the edges must not change.
fn check<T, const H: usize, const N: usize, const W: usize, const SLOTS: usize, const C: usize>(to: To)
where
    T: AtomicElement + Numeral,
    f32: Convert<T>,
{
    let kernel = kernel::<T, H, N, W, SLOTS, C>(to);
    let most = (64 * H * C, 16 * N);
    let whole = if to == To::Add { 8 } else { 1 };
    let part = (2 * most.1 - 3).next_multiple_of(whole) - 8 * (whole / 8);
    for (m, n, pitch) in
        [(most.0, 2 * most.1, 2 * most.1), (most.0 - 5, part, 2 * most.1 + 8), (3, whole, 16)]
    {
        // Two more rows than the extents in the kernel.
        let elements = (m + 2) * pitch;
        let x: Vec<f64> = (0..elements).map(|at| (at % 15) as f64 - 7.0).collect();
        let found = everywhere(|device| {
            let x = device.upload(&typed::<f32>(&x)).unwrap();
            let mut d = device.upload(&typed::<T>(&vec![CANARY; elements])).unwrap();
            device.launch(&kernel, (&x, &mut d, m as u32, n as u32, pitch as u32)).unwrap();
            numbers(device.download(&d).unwrap())
        });
        let expected: Vec<f64> = (0..elements)
            .map(|at| match to {
                _ if at / pitch >= m || at % pitch >= n => CANARY,
                To::Store => x[at],
                To::Add => CANARY + 2.0 * x[at],
            })
            .collect();
        let what = format!("{to:?} {} in {SLOTS} slots, {m}×{n} of pitch {pitch}", T::NAME);
        assert_same(&what, &found, &expected, pitch);
    }
}

#[test]
fn stores_in_one_slot() {
    check::<bf16, 1, 4, 4, 1, 1>(To::Store);
    check::<f32, 1, 2, 1, 1, 2>(To::Store);
}

#[test]
fn stores_in_two_slots() {
    check::<bf16, 2, 4, 2, 2, 2>(To::Store);
    check::<f32, 1, 4, 2, 2, 1>(To::Store);
}

#[test]
fn stores_in_three_slots() {
    check::<bf16, 1, 3, 1, 3, 1>(To::Store);
    check::<f32, 3, 2, 2, 3, 1>(To::Store);
}

#[test]
fn adds() {
    check::<f32, 2, 2, 2, 1, 1>(To::Add);
    check::<f32, 1, 4, 2, 2, 2>(To::Add);
    check::<bf16, 1, 4, 2, 2, 1>(To::Add);
}

/// Outboxes that store only the first rows of every 64, by tensor copies and by threads, with rows that end inside of a tile.
#[test]
fn stores_first_rows() {
    for (rows, by_threads) in [8, 16, 32, 64].into_iter().flat_map(|rows| [(rows, false), (rows, true)]) {
        let kernel = Kernel::<Args<bf16>>::build("send(x, d, m, n, pitch)", Target::SM_90A, |k, args| {
            let (x, d, m, n, pitch) = args;
            k.block([256]);
            k.grid([1]);
            let layout = row_major(m, n).with_row_stride(pitch);
            let (x, d) = (k.global(x, layout), k.global(d, layout));
            let outbox = k.outbox::<bf16, 4, 2, 1>().by_threads(by_threads).first_rows(rows);
            k.specialize(
                producer(40, |_| ()),
                consumers::<1, _>(232, |c| {
                    k.for_(n.ceil_div(128), |j| {
                        // Block `b` has rows 64·b … of X, and stores the first of them to tile 1 − b of D.
                        let tiles: [_; 2] = std::array::from_fn(|block| {
                            x.tile_of(c.group(), block as u32, j).load::<f32, 1, 8, Row>()
                        });
                        c.store(&outbox, tiles, |block| d.tile(1 - block, j));
                    });
                }),
            );
        })
        .unwrap();
        crate::assemble::kernel(&kernel);
        let pitches: &[usize] = if by_threads { &[208, 205] } else { &[208] };
        for &pitch in pitches {
            let (m, n, rows) = (128, 201, rows as usize);
            let x: Vec<f64> = (0..m * pitch).map(|at| (at % 101) as f64).collect();
            let found = everywhere(|device| {
                let x = device.upload(&typed::<f32>(&x)).unwrap();
                let mut d = device.upload(&typed::<bf16>(&vec![CANARY + 50.0; m * pitch])).unwrap();
                device.launch(&kernel, (&x, &mut d, m as u32, n as u32, pitch as u32)).unwrap();
                numbers(device.download(&d).unwrap())
            });
            let element = |at: usize| match (at / pitch, at % pitch) {
                (row, col) if row < rows && col < n => x[(64 + row) * pitch + col],
                (row, col) if row < 2 * rows && col < n => x[(row - rows) * pitch + col],
                _ => CANARY + 50.0,
            };
            let what = format!("{rows} rows of pitch {pitch}, by threads: {by_threads}");
            assert_same(&what, &found, &(0..m * pitch).map(element).collect::<Vec<_>>(), pitch);
        }
    }
}
