//! fp8 `mma` on Hopper, which ptxas translates to f16 `mma`.
//!
//! A and B are unpacked to f16. t0 is a fused dot-add over the indices k with `k mod 4` in {0, 1}, starting from zero; t1 is a fused
//! dot-add over the other indices, starting from t0. Both have the type of D. D is C + t1, rounded like an ordinary sum. With a sparse A, k
//! counts the stored elements.

use std::sync::LazyLock;

use super::arch::Datapath;
use super::fused::fused_dot_add;
use super::op::{Shape, TensorOp};
use super::tile::fused_rows;
use crate::arith::{
    Float, Round,
    cvt::{CvtMode, cvt},
    float,
};

const F16_PAIR: (Float, Float) = (Float::F16, Float::F16);

pub(super) fn dot(op: &TensorOp, a: &[u32], b: &[u32], c: u32) -> u32 {
    let k = a.len().min(b.len());
    let reorder = |x: &[u32], ty| unpack(ty, (0..2).flat_map(|half| positions(k, half)).map(|k| x[k]));
    let (a, b) = (reorder(a, op.ty.0), reorder(b, op.ty.1));
    let datapath = datapath(op, k);
    let sum = a
        .chunks(datapath.step)
        .zip(b.chunks(datapath.step))
        .fold(0, |t, (a, b)| fused_dot_add(datapath, F16_PAIR, op.acc, a, b, t));
    add(op, c, sum)
}

pub(super) fn rows(op: &TensorOp, shape: Shape, a: &[u32], b: &[u32], k_of: Option<&[u16]>, c: &mut [u32]) {
    let products = if k_of.is_some() { shape.k / 2 } else { shape.k };
    if products == 0 {
        return;
    }
    let order: Vec<usize> = (0..2).flat_map(|half| positions(products, half)).collect();
    let reorder = |x: &[u32]| -> Vec<u32> {
        x.chunks_exact(products).flat_map(|row| order.iter().map(|&k| row[k])).collect()
    };
    let a = unpack(op.ty.0, reorder(a).into_iter());
    let mut sums = vec![0; c.len()];
    let datapath = datapath(op, products);
    match k_of {
        None => {
            let b = unpack(op.ty.1, reorder(b).into_iter());
            fused_rows(datapath, F16_PAIR, op.acc, shape, &a, &b, None, &mut sums);
        }
        Some(k_of) => {
            let k_of: Vec<u16> =
                k_of.chunks_exact(products).flat_map(|row| order.iter().map(|&k| row[k])).collect();
            let b = unpack(op.ty.1, b.iter().copied());
            fused_rows(datapath, F16_PAIR, op.acc, shape, &a, &b, Some(&k_of), &mut sums);
        }
    }
    for (c, sum) in c.iter_mut().zip(sums) {
        *c = add(op, *c, sum);
    }
}

/// Returns the indices k of one of the two fused dot-adds.
fn positions(k: usize, half: usize) -> impl Iterator<Item = usize> {
    (0..k).filter(move |k| k / 2 % 2 == half)
}

/// Returns the f16 datapath, with half of the products per step.
fn datapath(op: &TensorOp, products: usize) -> Datapath {
    Datapath { step: (products / 2).max(1), ..op.arch.datapath(Float::F16, products) }
}

fn unpack(ty: Float, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    static E4M3: LazyLock<[u16; 256]> = LazyLock::new(|| table(Float::E4m3));
    static E5M2: LazyLock<[u16; 256]> = LazyLock::new(|| table(Float::E5m2));
    let table = if ty == Float::E4m3 { &*E4M3 } else { &*E5M2 };
    numbers.map(|bits| table[bits as usize & 0xff].into()).collect()
}

fn table(ty: Float) -> [u16; 256] {
    std::array::from_fn(|bits| cvt(Float::F16.into(), ty.into(), CvtMode::default(), bits as u64) as u16)
}

fn add(op: &TensorOp, c: u32, sum: u32) -> u32 {
    float::add(op.acc.float(), Round::Rn, false, false, c.into(), sum.into()) as u32
}
