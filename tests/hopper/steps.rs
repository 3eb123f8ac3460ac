//! Closures of `Consumer::run` that do more than start the products of a stage.

use warpwright::{
    prelude::*,
    tiles::{Consumer, Filled, InFlight, consumers, producer},
};

use super::{
    gemm::{Args, launch},
    problem::{Problem, assert_same},
};

type Sum<'k> = Rt<'k, f32, 1, 4>;
type Square<'k> = St<'k, bf16, 4, 4>;
type Stage<'k> = (Filled<Square<'k>>, Filled<Square<'k>>);
/// Starts the products of a stage, given the number of the step.
type Work<'a> = &'a dyn for<'k> Fn(
    Consumer<'k, 1>,
    Val<'k, u32>,
    InFlight<'k, Sum<'k>>,
    &Stage<'k>,
) -> InFlight<'k, Sum<'k>>;

/// Builds D = A·Bᵀ in tiles of 64×64 through `N` stages.
fn kernel<const N: usize>(work: Work<'_>) -> Result<Kernel<Args>, BuildError> {
    Kernel::<Args>::build("gemm(a, b, d, m, n, k)", Target::SM_90A, |k, (a, b, d, m, n, depth)| {
        k.block([256]);
        k.grid([m.tiles(64), n.tiles(64)]);
        let (a, b) = (k.global(a, row_major(m, depth)), k.global(b, row_major(n, depth)));
        let d = k.global(d, row_major(m, n));
        let (i, j, steps) = (k.ctaid_x(), k.ctaid_y(), depth.ceil_div(64));
        let ring = k.ring::<(Square<'_>, Square<'_>), N, 1>();
        k.specialize(
            producer(40, |p| {
                p.run(&ring, steps, |step, stage| stage.fill((a.tile(i, step), b.tile(j, step))));
            }),
            consumers::<1, _>(160, |c| {
                let step = k.var(0);
                let sum = c.run(&ring, steps, k.zeros(), |sum, stage| {
                    let sum = work(c, step.get(), sum, stage);
                    step.update(|step| step + 1);
                    sum
                });
                d.tile_of(c.group(), i, j).store(&sum);
            }),
        );
    })
}

const STEPS: usize = 7;

/// Runs the kernel with A of which only the steps for which `counts` holds are not zero; panics unless the product is right.
#[track_caller]
fn check(what: &str, kernel: &Kernel<Args>, counts: impl Fn(usize) -> bool) {
    crate::assemble::kernel(kernel);
    let depth = 64 * STEPS;
    let mut problem = Problem::new::<bf16, bf16>(64, 64, depth);
    let skipped = |at: usize| !counts(at % depth / 64);
    problem.a.iter_mut().enumerate().filter(|&(at, _)| skipped(at)).for_each(|(_, a)| *a = 0.0);
    let expected = problem.product();
    for device in crate::devices::all() {
        let what = format!("{what} on {device:?}");
        let (found, _) = launch(&device, kernel, &problem).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_same(&what, &found, &expected, 64);
    }
}

/// Every second step has no product: the products of the preceding step must be complete before its stage is released.
#[test]
fn skipped_products() {
    let work: Work<'_> =
        &|c, step, sum, (a, b)| c.group().kernel().fold(step & 1, sum, |_, sum| sum.mma_abt(a, b));
    check("2 stages", &kernel::<2>(work).unwrap(), |step| step % 2 == 1);
    check("3 stages", &kernel::<3>(work).unwrap(), |step| step % 2 == 1);
}

/// A in registers, which the next iteration overwrites, and whose stage the next copies fill.
#[test]
fn loaded_operands() {
    let work: Work<'_> = &|c, _, sum, (a, b)| {
        let a: Rt<'_, bf16, 1, 4> = a.tile_of(c.group()).load();
        sum.mma_abt(a, b)
    };
    check("A in registers, 1 stage", &kernel::<1>(work).unwrap(), |_| true);
    check("A in registers, 4 stages", &kernel::<4>(work).unwrap(), |_| true);
}

/// Copies must not overtake the loads of the threads of a stage.
#[test]
fn loaded_stages() {
    let work: Work<'_> = &|c, _, sum, (a, b)| {
        let first: Rt<'_, bf16, 1, 1> = b.subtile(c.warp(), 0).load();
        let _ = first.convert::<f32>();
        sum.mma_abt(a, b)
    };
    for kernel in [kernel::<1>(work), kernel::<2>(work)].map(Result::unwrap) {
        check("loads", &kernel, |_| true);
        let text = kernel.ptx();
        let after = |start: usize, what: &str| text[start..].find(what).map(|at| start + at).expect(what);
        let products = after(0, "wgmma.commit_group");
        let fence = after(products, "fence.proxy.async");
        let released = after(after(fence, "bar.warp.sync"), "mbarrier.arrive");
        // Without a branch back to the loads.
        assert!(!text[products..released].contains("bra $loop"), "{text}");
    }
}
