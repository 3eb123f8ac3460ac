//! Products, elementwise operations and conversions on register tiles.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::traits::HalfPair,
    run::Device,
    tensor::TensorElement,
    tiles::{Product, RegisterLayout},
};

use super::codes::Coded;
use crate::cases::everywhere;

/// Small whole numbers of both signs, so that every sum is exact.
fn whole<T: Coded>(count: usize, seed: u32) -> (Vec<T>, Vec<f32>) {
    let mut state = seed;
    let numbers = (0..count).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) % 7
    });
    numbers.map(|n| (T::code(n), n as f32)).unzip()
}

fn product<T, const M: usize, const N: usize, const D: usize>()
where
    T: Coded + TensorElement<Word: HalfPair> + Product<T, f32>,
{
    let (m, n, depth) = (16 * M, 16 * N, 16 * D);
    type Args<T> = (In<T>, In<T>, In<T>, Out<f32>, Out<f32>);
    let kernel = Kernel::<Args<T>>::build("product", Target::SM_80, |k, (a, b, bt, ab, abt)| {
        k.block([32]);
        k.grid([1]);
        let (m, n, depth) = (m as u32, n as u32, depth as u32);
        let a = Rt::<T, M, D>::load(k.global(a, row_major(m, depth)).tile(0, 0));
        let b = Rt::<T, D, N, Col>::load(k.global(b, row_major(depth, n)).tile(0, 0));
        let bt = Rt::<T, N, D>::load(k.global(bt, row_major(n, depth)).tile(0, 0));
        let sum = k.filled::<Rt<f32, M, N>>(1.0).mma_ab(&a, &b);
        k.global(ab, row_major(m, n)).tile(0, 0).store(&sum);
        let sum = k.zeros::<Rt<f32, M, N>>().mma_abt(&a, &bt);
        k.global(abt, row_major(m, n)).tile(0, 0).store(&sum);
    })
    .unwrap();
    let (a, a_f32) = whole::<T>(m * depth, 1);
    let (b, b_f32) = whole::<T>(depth * n, 2);
    let bt: Vec<T> = (0..n * depth).map(|i| b[i % depth * n + i / depth]).collect();
    crate::assemble::kernel(&kernel);
    let (ab, abt) = everywhere(|device| {
        let (a, b, bt) =
            (device.upload(&a).unwrap(), device.upload(&b).unwrap(), device.upload(&bt).unwrap());
        let (mut ab, mut abt) = (device.output::<f32>(m * n).unwrap(), device.output::<f32>(m * n).unwrap());
        device.launch(&kernel, (&a, &b, &bt, &mut ab, &mut abt)).unwrap();
        (device.download(&ab).unwrap(), device.download(&abt).unwrap())
    });
    let want: Vec<f32> = (0..m * n)
        .map(|i| (0..depth).map(|k| a_f32[i / n * depth + k] * b_f32[k * n + i % n]).sum())
        .collect();
    assert_eq!(abt, want);
    assert_eq!(ab, want.iter().map(|x| x + 1.0).collect::<Vec<_>>());
}

#[test]
fn products_of_bf16() {
    product::<bf16, 1, 1, 1>();
    product::<bf16, 2, 3, 4>();
    product::<bf16, 4, 1, 2>();
}

#[test]
fn products_of_f16() {
    product::<f16, 1, 1, 1>();
    product::<f16, 3, 2, 1>();
}

/// f16 products summed in f16.
#[test]
fn products_in_f16() {
    let kernel = Kernel::<(In<f16>, In<f16>, Out<f16>)>::build("half", Target::SM_80, |k, (a, b, d)| {
        k.block([32]);
        k.grid([1]);
        let a = Rt::<f16, 1, 2>::load(k.global(a, row_major(16, 32)).tile(0, 0));
        let b = Rt::<f16, 2, 2, Col>::load(k.global(b, row_major(32, 32)).tile(0, 0));
        let sum = k.zeros::<Rt<f16, 1, 2>>().mma_ab(&a, &b);
        k.global(d, row_major(16, 32)).tile(0, 0).store(&sum);
    })
    .unwrap();
    let (a, a_f32) = whole::<f16>(16 * 32, 3);
    let (b, b_f32) = whole::<f16>(32 * 32, 4);
    crate::assemble::kernel(&kernel);
    let d = everywhere(|device| {
        let (a, b) = (device.upload(&a).unwrap(), device.upload(&b).unwrap());
        let mut d = device.output::<f16>(16 * 32).unwrap();
        device.launch(&kernel, (&a, &b, &mut d)).unwrap();
        device.download(&d).unwrap()
    });
    let want =
        (0..16 * 32).map(|i| (0..32).map(|k| a_f32[i / 32 * 32 + k] * b_f32[k * 32 + i % 32]).sum::<f32>());
    assert_eq!(d, want.map(f16::from_f32).collect::<Vec<_>>());
}

/// (x + y) · y · 0.5, and the sum in every other type.
fn elementwise<T: Coded, L: RegisterLayout>(target: Target) {
    type Args<T> = (In<T>, In<T>, Out<T>, Out<f32>, Out<bf16>, Out<f16>);
    let kernel = Kernel::<Args<T>>::build("elementwise", target, |k, (x, y, d, single, brain, half)| {
        k.block([32]);
        k.grid([1]);
        let at = row_major(16, 32);
        let x = Rt::<T, 1, 2, L>::load(k.global(x, at).tile(0, 0));
        let y = Rt::<T, 1, 2, L>::load(k.global(y, at).tile(0, 0));
        let mut sum = &x + &y;
        k.global(single, at).tile(0, 0).store(&sum.convert::<f32>());
        k.global(brain, at).tile(0, 0).store(&sum.convert::<bf16>());
        k.global(half, at).tile(0, 0).store(&sum.convert::<f16>());
        sum *= &y;
        let two = T::ONE.to_f64() + 1.0;
        // A factor in a register gives the same as the constant.
        let half = T::from_f64(1.0 / two);
        let loaded = k.var(half).get();
        let by_register = &sum * loaded;
        let by_constant = &sum * half;
        k.global(d, at).tile(0, 0).store(&((by_register + by_constant) * half));
    })
    .unwrap();
    let (x, x_f32) = whole::<T>(512, 5);
    let (y, y_f32) = whole::<T>(512, 6);
    crate::assemble::kernel(&kernel);
    let (d, single, brain, half) = everywhere(|device| {
        let (x, y) = (device.upload(&x).unwrap(), device.upload(&y).unwrap());
        let mut d = device.output::<T>(512).unwrap();
        let mut single = device.output::<f32>(512).unwrap();
        let mut brain = device.output::<bf16>(512).unwrap();
        let mut half = device.output::<f16>(512).unwrap();
        device.launch(&kernel, (&x, &y, &mut d, &mut single, &mut brain, &mut half)).unwrap();
        (
            device.download(&d).unwrap(),
            device.download(&single).unwrap(),
            device.download(&brain).unwrap(),
            device.download(&half).unwrap(),
        )
    });
    let sums: Vec<f32> = x_f32.iter().zip(&y_f32).map(|(x, y)| x + y).collect();
    assert_eq!(single, sums);
    assert_eq!(brain, sums.iter().map(|&s| bf16::from_f32(s)).collect::<Vec<_>>());
    assert_eq!(half, sums.iter().map(|&s| f16::from_f32(s)).collect::<Vec<_>>());
    let want: Vec<f64> = sums.iter().zip(&y_f32).map(|(s, y)| f64::from(s * y) * 0.5).collect();
    assert_eq!(d.iter().map(|&x| x.to_f64()).collect::<Vec<_>>(), want);
}

#[test]
fn elementwise_operations() {
    elementwise::<f32, Row>(Target::SM_80);
    elementwise::<f16, Col>(Target::SM_80);
    // bf16 adds by `fma` before sm_90 and by `add` from then on.
    elementwise::<bf16, Row>(Target::SM_80);
    elementwise::<bf16, Col>(Target::SM_90);
}
