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

/// X, D, E, all of 64×128 elements.
type Both = (In<f32>, InOut<f32>, Out<f32>);

/// Threads store to E from slots from which tensor copies have added to D.
#[test]
fn threads_store_after_copies() {
    let kernel = Kernel::<Both>::build("both(x, d, e)", Target::SM_90A, |k, (x, d, e)| {
        k.block([256]);
        k.grid([1]);
        let (x, d) = (k.global(x, row_major(64, 128)), k.global(d, row_major(64, 128)));
        let e = k.global(e, row_major(64, 128));
        let outbox = k.outbox::<f32, 1, 2, 1>().by_threads(true);
        k.specialize(
            producer(40, |_| ()),
            consumers::<1, _>(160, |c| {
                k.for_(4, |j| {
                    let tile = || x.tile_of(c.group(), 0, j).load::<f32, 1, 2, Row>();
                    c.add(&outbox, [tile()], |_| d.tile(0, j));
                    c.store(&outbox, [tile() * 2.0], |_| e.tile(0, j));
                });
            }),
        );
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<f32> = (0..64 * 128).map(|at| (at % 101) as f32).collect();
    everywhere(|device| {
        let on_device = device.upload(&x).unwrap();
        let mut d = device.upload(&vec![7.0f32; x.len()]).unwrap();
        let mut e = device.upload(&vec![f32::NAN; x.len()]).unwrap();
        device.launch(&kernel, (&on_device, &mut d, &mut e)).unwrap();
        let added: Vec<f32> = x.iter().map(|x| x + 7.0).collect();
        let doubled: Vec<f32> = x.iter().map(|x| x * 2.0).collect();
        assert!(device.download(&d).unwrap() == added, "the sums differ");
        assert!(device.download(&e).unwrap() == doubled, "the stored elements differ");
    });
}

/// Tiles that start at any column, in a matrix whose rows end in the middle of a unit of 16 bytes.
#[test]
fn stores_at_any_column() {
    type Args = (In<f32>, Out<bf16>, u32, u32, u32);
    fn kernel<const W: usize, const SLOTS: usize>(at: Option<u32>) -> Kernel<Args> {
        let kernel = Kernel::<Args>::build("send(x, d, n, pitch, col)", Target::SM_90A, |k, args| {
            let (x, d, n, pitch, col) = args;
            k.block([256]);
            k.grid([1]);
            let (x, d) =
                (k.global(x, row_major(64, 64)), k.global(d, row_major(128, n).with_row_stride(pitch)));
            let outbox = k.outbox::<bf16, W, SLOTS, 1>();
            k.specialize(
                producer(40, |_| ()),
                consumers::<1, _>(160, |c| {
                    let store = |row, col| {
                        let tile = x.tile_of(c.group(), 0, 0).load::<f32, 1, 4, Row>();
                        c.store(&outbox, [tile], |_| d.tile_at(row, col));
                    };
                    // Copies from the slots precede the stores by threads.
                    store(64, Val::from(0));
                    store(0, at.map_or(col, Val::from));
                }),
            );
        });
        let kernel = kernel.unwrap();
        crate::assemble::kernel(&kernel);
        kernel
    }
    let (n, pitch) = (77, 80);
    let x: Vec<f64> = (0..64 * 64).map(|at| (at % 101) as f64).collect();
    for col in [10u32, 16, 74] {
        for kernel in
            [kernel::<4, 1>(None), kernel::<2, 2>(None), kernel::<4, 1>(Some(col)), kernel::<2, 2>(Some(col))]
        {
            let found = everywhere(|device| {
                let x = device.upload(&typed::<f32>(&x)).unwrap();
                let mut d = device.upload(&typed::<bf16>(&vec![CANARY; 128 * pitch])).unwrap();
                device.launch(&kernel, (&x, &mut d, n as u32, pitch as u32, col)).unwrap();
                numbers(device.download(&d).unwrap())
            });
            let element = |at: usize| {
                let (row, col, first) =
                    (at / pitch, at % pitch, if at < 64 * pitch { col as usize } else { 0 });
                if col < n && (first..first + 64).contains(&col) {
                    x[row % 64 * 64 + col - first]
                } else {
                    CANARY
                }
            };
            let expected: Vec<f64> = (0..128 * pitch).map(element).collect();
            assert_same(&format!("column {col}"), &found, &expected, pitch);
        }
    }
}
