//! Products of parts of shared tiles, and of several blocks of 64 rows.

use warpwright::{
    prelude::*,
    run::Device,
    tiles::{Auto, Filled, InFlight},
};

use super::problem::{Problem, assert_same, filled, numbers, transposed, typed};
use crate::devices::everywhere;

/// A of 128×128, Bᵀ of 32×128, D of 128×32.
type Args = (In<bf16>, In<bf16>, Out<f32>);

const M: usize = 128;
const N: usize = 32;
const K: usize = 128;

/// The shared tiles of a kernel: A (or Aᵀ) and Bᵀ.
struct Tiles<'k> {
    a: Filled<St<'k, bf16, 8, 8>>,
    b: Filled<St<'k, bf16, 2, 8>>,
}

type Sums<'k> = [Rt<'k, f32, 1, 2>; 2];

/// Builds a kernel with D = A·Bᵀ, of which `product` computes the two blocks of 64 rows, and runs it. A is stored transposed if
/// `is_transposed`.
fn check(
    what: &str,
    is_transposed: bool,
    product: &dyn for<'k> Fn(InFlight<'k, Sums<'k>>, &Tiles<'k>) -> InFlight<'k, Sums<'k>>,
) {
    let kernel = Kernel::<Args>::build("parts(a, b, d)", Target::SM_90A, |k, (a, b, d)| {
        let block = k.block([128]);
        k.grid([1]);
        let a = filled::<bf16, 8, 8, Auto>(block, &k.global(a, row_major(M as u32, K as u32)));
        let b = filled::<bf16, 2, 8, Auto>(block, &k.global(b, row_major(N as u32, K as u32)));
        let group = k.warp_group();
        let zeros = [(); 2].map(|()| k.zeros::<Rt<f32, 1, 2>>());
        let sums = product(group.accumulate(zeros), &Tiles { a, b }).wait();
        let d = k.global(d, row_major(M as u32, N as u32));
        for (block, sum) in (0u32..).zip(&sums) {
            d.tile_of(group, block, 0).store(sum);
        }
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let problem = Problem::new::<bf16, bf16>(M, N, K);
    let found = everywhere(|device| {
        let a = if is_transposed { transposed(&problem.a, M, K) } else { problem.a.clone() };
        let a = device.upload(&typed::<bf16>(&a)).unwrap();
        let b = device.upload(&typed::<bf16>(&transposed(&problem.b, K, N))).unwrap();
        let mut d = device.output::<f32>(M * N).unwrap();
        device.launch(&kernel, (&a, &b, &mut d)).unwrap();
        numbers(device.download(&d).unwrap())
    });
    assert_same(what, &found, &problem.product(), N);
}

#[test]
fn two_blocks_of_rows() {
    check("A·Bᵀ", false, &|sums, tiles| sums.mma_abt(&tiles.a, &tiles.b));
    check("(Aᵀ)ᵀ·Bᵀ", true, &|sums, tiles| sums.mma_atbt(&tiles.a, &tiles.b));
}

#[test]
fn columns_along_k() {
    check("halves of k", false, &|sums, Tiles { a, b }| {
        // In two groups, the second half first.
        sums.mma_abt(a.cols::<4>(1), b.cols::<4>(1)).mma_abt(a.cols::<4>(0), b.cols::<4>(0))
    });
}

#[test]
fn rows_of_a_transposed_tile_are_parts_of_k() {
    check("halves of k, transposed", true, &|sums, Tiles { a, b }| {
        (0..2u32).fold(sums, |sums, half| {
            sums.mma_ab(a.rows::<4>(half).transposed(), b.cols::<4>(half).transposed())
        })
    });
}

#[test]
fn a_transposed_matrix_is_the_other_order() {
    check("transposed()", false, &|sums, Tiles { a, b }| {
        let at = a.as_matrix().transposed();
        sums.mma_atb(at, b.as_matrix().transposed())
    });
}

/// A part whose index is in a register: each of two warpgroups multiplies its half of the rows of A.
#[test]
fn rows_of_a_warpgroup() {
    let kernel = Kernel::<Args>::build("halves(a, b, d)", Target::SM_90A, |k, (a, b, d)| {
        let block = k.block([256]);
        k.grid([1]);
        let a = filled::<bf16, 8, 8, Auto>(block, &k.global(a, row_major(M as u32, K as u32)));
        let b = filled::<bf16, 2, 8, Auto>(block, &k.global(b, row_major(N as u32, K as u32)));
        let group = k.warp_group();
        let sum = group.accumulate(k.zeros::<Rt<f32, 1, 2>>());
        let sum = sum.mma_abt(a.rows::<4>(group.rank()), &b).wait();
        k.global(d, row_major(M as u32, N as u32)).tile_of(group, group.rank(), 0).store(&sum);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let problem = Problem::new::<bf16, bf16>(M, N, K);
    let found = everywhere(|device| {
        let a = device.upload(&typed::<bf16>(&problem.a)).unwrap();
        let b = device.upload(&typed::<bf16>(&transposed(&problem.b, K, N))).unwrap();
        let mut d = device.output::<f32>(M * N).unwrap();
        device.launch(&kernel, (&a, &b, &mut d)).unwrap();
        numbers(device.download(&d).unwrap())
    });
    assert_same("halves", &found, &problem.product(), N);
}
