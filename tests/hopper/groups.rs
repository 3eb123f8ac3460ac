//! Several groups of products in flight, in any order, and across the back edge of a loop.

use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Auto, Filled},
};

use super::problem::{Problem, assert_same, filled, numbers, transposed, typed};
use crate::devices::everywhere;

/// A 64×64, Bᵀ 32×64, three results of 64×32, the number of iterations.
type Args = (In<bf16>, In<bf16>, Out<f32>, Out<f32>, Out<f32>, u32);

type Sum<'k> = Rt<'k, f32, 1, 2>;

/// Three sums, created before products are in flight: ptxas waits for those before it writes accumulators.
fn zeros<'k>(k: Builder<'k>) -> [Sum<'k>; 3] {
    [(); 3].map(|()| k.zeros())
}

/// The operands of a kernel's products.
struct Operands<'k> {
    group: WarpGroup<'k>,
    a: Filled<St<'k, bf16, 4, 4>>,
    b: Filled<St<'k, bf16, 2, 4>>,
    count: Val<'k, u32>,
}

/// Builds a kernel that stores the three tiles that `products` returns, which must be A·Bᵀ this many times for a count.
fn check(
    what: &str,
    products: &dyn for<'k> Fn(Builder<'k>, &Operands<'k>) -> [Sum<'k>; 3],
    times: &dyn Fn(usize) -> [usize; 3],
) {
    let name = "groups(a, b, x, y, z, count)";
    let kernel = Kernel::<Args>::build(name, Target::SM_90A, |k, (a, b, x, y, z, count)| {
        let block = k.block([128]);
        k.grid([1]);
        let a = filled::<bf16, 4, 4, Auto>(block, &k.global(a, row_major(64, 64)));
        let b = filled::<bf16, 2, 4, Auto>(block, &k.global(b, row_major(32, 64)));
        let group = k.warp_group();
        let sums = products(k, &Operands { group, a, b, count });
        for (d, sum) in [x, y, z].into_iter().zip(&sums) {
            k.global(d, row_major(64, 32)).tile_of(group, 0, 0).store(sum);
        }
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let problem = Problem::new::<bf16, bf16>(64, 32, 64);
    let product = problem.product();
    for count in [0, 1, 2, 5] {
        let found = everywhere(|device| {
            let a = device.upload(&typed::<bf16>(&problem.a)).unwrap();
            let b = device.upload(&typed::<bf16>(&transposed(&problem.b, 64, 32))).unwrap();
            let mut d = [(); 3].map(|()| device.output::<f32>(64 * 32).unwrap());
            let [x, y, z] = &mut d;
            device.launch(&kernel, (&a, &b, x, y, z, count as u32)).unwrap();
            d.map(|d| numbers(device.download(&d).unwrap()))
        });
        for (found, times) in found.iter().zip(times(count)) {
            let expected: Vec<f64> = product.iter().map(|x| times as f64 * x).collect();
            assert_same(&format!("{what}, {count} iterations"), found, &expected, 32);
        }
    }
}

/// Each group is waited for alone; the others remain in flight.
#[test]
fn groups_are_waited_for_in_any_order() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        check(
            &format!("waits in the order {order:?}"),
            &|k, Operands { group, a, b, .. }| {
                let mut times = 0;
                let mut flying = zeros(k).map(|sum| {
                    times += 1;
                    Some((0..times).fold(group.accumulate(sum), |sum, _| sum.mma_abt(a, b)))
                });
                let mut sums = [(); 3].map(|()| None);
                for i in order {
                    sums[i] = flying[i].take().map(|sum| sum.wait());
                }
                sums.map(|sum| sum.expect("every group was waited for"))
            },
            &|_| [1, 2, 3],
        );
    }
}

#[test]
fn products_cross_the_back_edge() {
    check(
        "one group per iteration",
        &|k, Operands { group, a, b, count }| {
            let start = zeros(k).map(|sum| group.accumulate(sum));
            let [x, y, z] = k.fold(*count, start, |_, [x, y, z]| {
                // All of one iteration are in flight when the next one starts.
                [x.mma_abt(a, b), y.mma_abt(a, b).mma_abt(a, b), z]
            });
            [z.wait(), x.wait(), y.wait()]
        },
        &|count| [0, count, 2 * count],
    );
}

/// Products that were in flight before a loop are waited for inside it; new ones are started in the tile of the old ones.
#[test]
fn a_tile_is_read_in_the_iteration_after_its_product() {
    check(
        "read in the next iteration",
        &|k, Operands { group, a, b, count }| {
            let first = group.accumulate(k.zeros::<Sum<'_>>()).mma_abt(a, b);
            let (last, total) = k.fold(*count, (first, k.zeros::<Sum<'_>>()), |_, (sum, total)| {
                let sum = sum.wait();
                let total = total + &sum;
                (group.accumulate(sum).mma_abt(a, b), total)
            });
            [last.wait(), total, k.zeros()]
        },
        &|count| [count + 1, count * (count + 1) / 2, 0],
    );
}

/// A product waits for the loop's products only as far as it must: those after the loop are not confused with those in it.
#[test]
fn groups_before_in_and_after_a_loop() {
    check(
        "around a loop",
        &|k, Operands { group, a, b, count }| {
            let [before, within, after] = zeros(k).map(|sum| group.accumulate(sum));
            let before = before.mma_abt(a, b);
            let within = k.fold(*count, within, |_, sum| sum.mma_abt(a, b));
            let after = after.mma_abt(a, b);
            [within.wait(), before.wait(), after.wait()]
        },
        &|count| [count, 1, 1],
    );
}

/// The first product overwrites the registers, also in a loop, and in two blocks of 64 rows; sums without a product are zero.
#[test]
fn sums_start_with_their_first_product() {
    check(
        "from zero",
        &|_, Operands { group, a, b, .. }| {
            let twice = group.accumulate_from_zero::<Sum<'_>>().mma_abt(a, b).mma_abt(a, b);
            let once = group.accumulate_from_zero::<Sum<'_>>().mma_abt(a, b);
            [once.wait(), twice.wait(), group.accumulate_from_zero().wait()]
        },
        &|_| [1, 2, 0],
    );
    check(
        "from zero, around and in a loop",
        &|k, Operands { group, a, b, count }| {
            let sums = (group.accumulate_from_zero::<Sum<'_>>(), k.zeros::<Sum<'_>>());
            let (sum, total) = k.fold(*count, sums, |_, (sum, total)| {
                let product = group.accumulate_from_zero::<Sum<'_>>().mma_abt(a, b).wait();
                (sum.mma_abt(a, b), total + &product)
            });
            [sum.wait(), total, group.accumulate_from_zero().wait()]
        },
        &|count| [count, count, 0],
    );
}
