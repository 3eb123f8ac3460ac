//! Products of a warpgroup: every order, swizzle, type and number of columns; A in shared memory and in registers.

use warpwright::{
    prelude::*,
    ptx::Read,
    run::{AnyDevice, Device},
    tiles::{Auto, Product, SharedSwizzle, Swizzle32, Swizzle64, Swizzle128},
};

use super::problem::{Problem, assert_same, filled, numbers, transposed, typed};
use crate::{devices::everywhere, numbers::Numeral};

/// A, Aᵀ, B, Bᵀ, C; C + A·B from A and B; A·B from A and Bᵀ, Aᵀ and B, Aᵀ and Bᵀ.
type Orders<T> = (In<T>, In<T>, In<T>, In<T>, In<f32>, Out<f32>, Out<f32>, Out<f32>, Out<f32>);

/// All orders of a 16-bit type: 64×16·`K` by 16·`K`×16·`N`.
fn orders<T: Numeral + Product<T, f32>, S: SharedSwizzle, const K: usize, const N: usize>() {
    let (n, depth) = (16 * N as u32, 16 * K as u32);
    let kernel = Kernel::<Orders<T>>::build(
        "orders(a, at, b, bt, c, ab, abt, atb, atbt)",
        Target::SM_90A,
        |k, (a, at, b, bt, c, ab, abt, atb, atbt)| {
            let block = k.block([128]);
            k.grid([1]);
            let group = k.warp_group();
            let a = filled::<T, 4, K, S>(block, &k.global(a, row_major(64, depth)));
            let at = filled::<T, K, 4, S>(block, &k.global(at, row_major(depth, 64)));
            let b = filled::<T, K, N, S>(block, &k.global(b, row_major(depth, n)));
            let bt = filled::<T, N, K, S>(block, &k.global(bt, row_major(n, depth)));
            let shape = row_major(64, n);
            let c = k.global(c, shape).tile_of(group, 0, 0).load::<f32, 1, N, Row>();
            let zeros = || group.accumulate(k.zeros::<Rt<f32, 1, N>>());
            let [ab, abt, atb, atbt] = [ab, abt, atb, atbt].map(|d| k.global(d, shape).tile_of(group, 0, 0));
            ab.store(&group.accumulate(c).mma_ab(&a, &b).wait());
            abt.store(&zeros().mma_abt(&a, &bt).wait());
            atb.store(&zeros().mma_atb(&at, &b).wait());
            atbt.store(&zeros().mma_atbt(&at, &bt).wait());
        },
    )
    .unwrap();
    crate::assemble::kernel(&kernel);
    let problem = Problem::new::<T, T>(64, 16 * N, 16 * K);
    let on = |device: &AnyDevice| {
        let Problem { m, n, depth, ref a, ref b, ref c } = problem;
        let (at, bt) = (transposed(a, m, depth), transposed(b, depth, n));
        let [a, at, b, bt] = [a, &at, b, &bt].map(|x| device.upload(&typed::<T>(x)).unwrap());
        let c = device.upload(&typed::<f32>(c)).unwrap();
        let mut d = [(); 4].map(|()| device.output::<f32>(m * n).unwrap());
        let [ab, abt, atb, atbt] = &mut d;
        device.launch(&kernel, (&a, &at, &b, &bt, &c, ab, abt, atb, atbt)).unwrap();
        d.map(|d| numbers(device.download(&d).unwrap()))
    };
    for (form, found) in ["C + AB", "ABᵀ", "AᵀB", "AᵀBᵀ"].iter().zip(everywhere(on)) {
        let expected = if form.starts_with('C') { problem.expected(1) } else { problem.product() };
        assert_same(&format!("{form} of {}, K = {K}, N = {N}", T::NAME), &found, &expected, problem.n);
    }
}

#[test]
fn every_order_with_swizzle_128() {
    orders::<bf16, Swizzle128, 4, 8>();
    // Two blocks of the swizzle along k.
    orders::<f16, Auto, 8, 4>();
}

#[test]
fn every_order_with_swizzle_64() {
    orders::<bf16, Swizzle64, 4, 2>();
}

#[test]
fn every_order_with_swizzle_32() {
    orders::<f16, Swizzle32, 2, 3>();
}

/// A, Bᵀ, C, D.
type Args<A, B, C> = (In<A>, In<B>, In<C>, Out<C>);

/// The location of A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Shared,
    Registers,
}

/// Builds C + A·Bᵀ of 64×`K` by `K`×`N` subtiles.
fn kernel<A, B, C, const K: usize, const N: usize>(
    product: impl for<'k> FnOnce(Block<'k>, Gl<'k, A, Read>, Gl<'k, B, Read>, Rt<'k, C, 1, N>) -> Rt<'k, C, 1, N>,
) -> Kernel<Args<A, B, C>>
where
    A: Numeral,
    B: Numeral,
    C: Numeral,
{
    let (n, depth) = (16 * N as u32, A::SUBTILE_LENGTH * K as u32);
    let kernel = Kernel::<Args<A, B, C>>::build("product(a, b, c, d)", Target::SM_90A, |k, (a, b, c, d)| {
        let block = k.block([128]);
        k.grid([1]);
        let (a, b) = (k.global(a, row_major(64, depth)), k.global(b, row_major(n, depth)));
        let c = k.global(c, row_major(64, n)).tile_of(block, 0, 0).load::<C, 1, N, Row>();
        let sum = product(block, a, b, c);
        k.global(d, row_major(64, n)).tile_of(block, 0, 0).store(&sum);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    kernel
}

/// Runs a kernel on every device.
fn check<A, B, C, const K: usize, const N: usize>(kernel: &Kernel<Args<A, B, C>>, from: Left)
where
    A: Numeral,
    B: Numeral,
    C: Numeral,
{
    let problem = Problem::new::<A, B>(64, 16 * N, A::SUBTILE_LENGTH as usize * K);
    let found = everywhere(|device| {
        let Problem { n, depth, ref a, ref b, ref c, .. } = problem;
        let a = device.upload(&typed::<A>(a)).unwrap();
        let b = device.upload(&typed::<B>(&transposed(b, depth, n))).unwrap();
        let c = device.upload(&typed::<C>(c)).unwrap();
        let mut d = device.output::<C>(64 * n).unwrap();
        device.launch(kernel, (&a, &b, &c, &mut d)).unwrap();
        numbers(device.download(&d).unwrap())
    });
    let what = format!("{}·{} in {}, A in {from:?}, K = {K}, N = {N}", A::NAME, B::NAME, C::NAME);
    assert_same(&what, &found, &problem.expected(1), problem.n);
}

/// A in shared memory.
fn shared<A, B, C, const K: usize, const N: usize>()
where
    A: Numeral + Product<B, C>,
    B: Numeral,
    C: Numeral,
{
    let kernel = kernel::<A, B, C, K, N>(|block, a, b, sum| {
        let (a, b) = (filled::<A, 4, K, Auto>(block, &a), filled::<B, N, K, Auto>(block, &b));
        block.kernel().warp_group().accumulate(sum).mma_abt(&a, &b).wait()
    });
    check::<A, B, C, K, N>(&kernel, Left::Shared);
}

/// A in registers.
fn registers<A, B, C, const K: usize, const N: usize>()
where
    A: Numeral + Product<B, C>,
    B: Numeral,
    C: Numeral,
{
    let kernel = kernel::<A, B, C, K, N>(|block, a, b, sum| {
        let b = filled::<B, N, K, Auto>(block, &b);
        let a = a.tile_of(block, 0, 0).load::<A, 1, K, Row>();
        block.kernel().warp_group().accumulate(sum).mma_abt(a, &b).wait()
    });
    check::<A, B, C, K, N>(&kernel, Left::Registers);
}

#[test]
fn columns() {
    shared::<bf16, bf16, f32, 1, 1>();
    shared::<bf16, bf16, f32, 2, 5>();
    shared::<bf16, bf16, f32, 1, 16>();
}

#[test]
fn sums_of_16_bits() {
    shared::<f16, f16, f16, 4, 3>();
    shared::<e4m3, e5m2, f16, 2, 2>();
}

#[test]
fn floats_of_8_bits() {
    shared::<e4m3, e4m3, f32, 4, 2>();
    shared::<e5m2, e4m3, f32, 1, 3>();
}

#[test]
fn integers() {
    shared::<i8, i8, i32, 4, 2>();
    shared::<u8, i8, i32, 2, 3>();
    shared::<u8, u8, i32, 8, 1>();
}

#[test]
fn tf32_rows_of_two_blocks() {
    shared::<tf32, tf32, f32, 4, 2>();
    shared::<tf32, tf32, f32, 1, 3>();
}

#[test]
fn left_factor_in_registers() {
    registers::<bf16, bf16, f32, 4, 2>();
    registers::<f16, f16, f16, 2, 3>();
    registers::<e4m3, e5m2, f32, 2, 2>();
    registers::<i8, u8, i32, 4, 1>();
}
