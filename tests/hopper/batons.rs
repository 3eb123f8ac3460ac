//! Consumers that take turns by a baton, and rings that one producer fills in turn.

use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Ring, consumers, producer},
};

use super::problem::{Problem, assert_same, numbers, transposed, typed};
use crate::devices::everywhere;

/// A m×k, B 64×k, D m×64, the turn in which each warpgroup held the baton in each step, the next turn, k.
type Args = (In<bf16>, In<bf16>, Out<f32>, Out<u32>, InOut<u32>, u32);

/// Stages of `H`×4 subtiles.
type Factor<'k, const H: usize, const STAGES: usize, const C: usize> =
    Ring<'k, (St<'k, bf16, H, 4>,), STAGES, C>;

/// D = A·Bᵀ by `C` consumers, with a ring of one stage for A and one of two stages for B.
fn kernel<const M: usize, const C: usize>() -> Kernel<Args> {
    const { assert!(M == 4 * C, "64 rows for each consumer") };
    let name = "batons(a, b, d, turns, next, k)";
    let kernel = Kernel::<Args>::build(name, Target::SM_90A, |k, (a, b, d, turns, next, depth)| {
        k.block([128 * (1 + C as u32)]);
        k.grid([1]);
        let (m, steps) = (16 * M as u32, depth.ceil_div(64));
        let (a, b) = (k.global(a, row_major(m, depth)), k.global(b, row_major(64, depth)));
        let (d, turns) = (k.global(d, row_major(m, 64)), k.global(turns, row_major(steps, C as u32)));
        let next = k.slice(next, 1);
        let rows: Factor<'_, M, 1, C> = k.ring();
        let cols: Factor<'_, 4, 2, C> = k.ring();
        let baton = k.baton::<C>();
        k.specialize(
            producer(24, |p| {
                k.for_(steps, |step| {
                    p.fill(&rows, |stage| stage.fill((a.tile(0, step),)));
                    p.fill(&cols, |stage| stage.fill((b.tile(0, step),)));
                });
            }),
            consumers::<C, _>(160, |c| {
                let sum = k.fold(steps, k.zeros::<Rt<f32, 1, 4>>(), |step, sum| {
                    let (a, b) = (c.receive(&rows), c.receive(&cols));
                    let sum = c.hold(&baton, || {
                        k.if_(c.group().thread().eq(0), || {
                            turns.at(step, c.rank()).store(next.at(0).atomic().add(1));
                        });
                        c.group().accumulate(sum).mma_abt(a.tiles().0.rows::<4>(c.rank()), &b.tiles().0)
                    });
                    let sum = sum.wait();
                    c.release(&rows, a);
                    c.release(&cols, b);
                    sum
                });
                d.tile_of(c.group(), c.rank(), 0).store(&sum);
            }),
        );
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    kernel
}

/// One consumer at a time holds the baton, in the order of their ranks, once in each step.
fn check<const M: usize, const C: usize>() {
    let kernel = kernel::<M, C>();
    for steps in [0, 1, 5] {
        let (m, depth) = (16 * M, 64 * steps);
        let problem = Problem::new::<bf16, bf16>(m, 64, depth);
        let (found, turns) = everywhere(|device| {
            let a = device.upload(&typed::<bf16>(&problem.a)).unwrap();
            let b = device.upload(&typed::<bf16>(&transposed(&problem.b, depth, 64))).unwrap();
            let mut d = device.upload(&vec![f32::NAN; m * 64]).unwrap();
            let (mut turns, mut next) =
                (device.upload(&vec![u32::MAX; C * steps]).unwrap(), device.upload(&[0u32]).unwrap());
            device.launch(&kernel, (&a, &b, &mut d, &mut turns, &mut next, depth as u32)).unwrap();
            (numbers(device.download(&d).unwrap()), device.download(&turns).unwrap())
        });
        assert_same(&format!("{C} consumers, {steps} steps"), &found, &problem.product(), 64);
        assert_eq!(turns, (0..(C * steps) as u32).collect::<Vec<_>>());
    }
}

#[test]
fn one_consumer() {
    check::<4, 1>();
}

#[test]
fn two_consumers() {
    check::<8, 2>();
}

#[test]
fn three_consumers() {
    check::<12, 3>();
}
