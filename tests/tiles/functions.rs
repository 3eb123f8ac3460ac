//! Elementary functions of tiles and vectors compared with the host's: the named function is applied to every element. Their errors are
//! tested for single values; here, results are compared to the precision of the type.

use std::f64::consts::{PI, SQRT_2};

use warpwright::{
    prelude::*,
    ptx::traits::{Elementary, Root, Signed},
    run::Device,
    tensor::TensorElement,
    tiles::{Aligned, Orthogonal, RegisterLayout, VectorLayout},
};

use super::codes::Coded;
use crate::cases::everywhere;

type Function = fn(f64) -> f64;

/// The functions in the order of the kernel.
const FUNCTIONS: [(&str, Function); 18] = [
    ("exp2", f64::exp2),
    ("exp", f64::exp),
    ("log2", f64::log2),
    ("ln", f64::ln),
    ("tanh", f64::tanh),
    ("sin", f64::sin),
    ("cos", f64::cos),
    ("sigmoid", logistic),
    // −∞ · 0 is NaN.
    ("silu", |x| x * logistic(x)),
    ("gelu", |x| x * normal(x)),
    ("gelu_tanh", |x| x * 0.5 * (1.0 + ((2.0 / PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())),
    ("sqrt", f64::sqrt),
    ("rsqrt", |x| x.sqrt().recip()),
    ("recip", f64::recip),
    ("abs", f64::abs),
    ("relu", |x| if x > 0.0 { x } else { 0.0 }),
    ("clamp", |x| if x.is_nan() { -1.0 } else { x.clamp(-1.0, 2.0) }),
    ("neg", |x| -x),
];

fn logistic(x: f64) -> f64 {
    (1.0 + (-x).exp()).recip()
}

/// The distribution function of the normal distribution, by the trapezoidal rule.
fn normal(x: f64) -> f64 {
    const STEPS: u32 = 2000;
    if x.is_infinite() {
        return if x > 0.0 { 1.0 } else { 0.0 };
    }
    let (from, width) = (-12.0, (x + 12.0) / f64::from(STEPS));
    let density = |i: u32| (-(from + width * f64::from(i)).powi(2) / 2.0).exp() / (PI * 2.0).sqrt();
    let inner: f64 = (1..STEPS).map(density).sum();
    (inner + (density(0) + density(STEPS)) / 2.0) * width
}

/// Passes the results to a function, one after the other: fewer registers are in use than for all at once.
macro_rules! apply {
    ($x:expr, $low:expr, $high:expr, $store:expr) => {
        $store($x.exp2());
        $store($x.exp());
        $store($x.log2());
        $store($x.ln());
        $store($x.tanh());
        $store($x.sin());
        $store($x.cos());
        $store($x.sigmoid());
        $store($x.silu());
        $store($x.gelu());
        $store($x.gelu_tanh());
        $store($x.sqrt());
        $store($x.rsqrt());
        $store($x.recip());
        $store($x.abs());
        $store($x.relu());
        $store($x.clamp($low, $high));
        $store(-$x);
    };
}

/// Elements of every magnitude for which the functions are of use, and those that are special.
fn inputs<T: Coded>(count: usize) -> Vec<T> {
    let special = [0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, SQRT_2];
    let numbers = (0..count).map(|i| {
        let magnitude = (i % 37 + 1) as f64 * 0.11;
        if i % 3 == 0 { -magnitude } else { magnitude }
    });
    let all = special.into_iter().chain(numbers).take(count);
    all.map(T::from_f64).collect()
}

fn check<T, L: RegisterLayout, V: VectorLayout, const H: usize, const W: usize>(precision: f64)
where
    T: Coded + TensorElement<Word: Elementary + Root + Signed>,
{
    let (count, [rows, cols]) = (FUNCTIONS.len() as u32, [Rt::<T, H, W, L>::ROWS, Rt::<T, H, W, L>::COLS]);
    let size = (rows * cols) as usize;
    type Args<T> = (In<T>, Out<T>, Out<T>);
    let kernel = Kernel::<Args<T>>::build("functions(x, y, z)", Target::SM_80, |k, (x, y, z)| {
        k.block([32]);
        k.grid([2]);
        let x = k.global(x, row_major(2 * rows, cols));
        let (low, high) = (T::from_f64(-1.0), T::from_f64(2.0));
        let tile = || x.tile(k.ctaid_x(), 0).load::<T, H, W, L>();
        let y = k.global(y, row_major(2 * rows * count, cols));
        let mut next = (0..count).map(|i| k.ctaid_x() * count + i);
        let mut store = |result| y.tile(next.next().expect("one tile per function"), 0).store(&result);
        apply!(tile(), low, high, store);
        // The elements of two blocks as rows of vectors.
        let vector = || x.row(k.ctaid_x() * rows).tile(0).load::<T, 1, V>();
        let z = k.global(z, row_major(2 * count, 16));
        let mut next = (0..count).map(|i| k.ctaid_x() * count + i);
        let mut store = |result| z.row(next.next().expect("one row per function")).tile(0).store(&result);
        apply!(vector(), low, high, store);
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x = inputs::<T>(2 * size);
    let found = everywhere(|device| {
        let poison = T::from_f64(-77.0);
        let mut y = device.upload(&vec![poison; 2 * size * FUNCTIONS.len()]).unwrap();
        let mut z = device.upload(&vec![poison; 32 * FUNCTIONS.len()]).unwrap();
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y, &mut z)).unwrap();
        [y, z].map(|y| device.download(&y).unwrap().iter().map(|y| y.to_mem_bits()).collect::<Vec<_>>())
    });
    let [tiles, vectors] = found;
    let compare = |found: &[u64], length: usize, what: &str| {
        for (band, found) in found.chunks(length).enumerate() {
            let (block, (name, function)) = (band / FUNCTIONS.len(), FUNCTIONS[band % FUNCTIONS.len()]);
            for (at, &bits) in found.iter().enumerate() {
                let x = x[size * block + at].to_f64();
                let (found, expected) = (T::from_mem_bits(bits).to_f64(), function(x));
                let close = (found - expected).abs() <= precision * expected.abs().max(0.25);
                assert!(
                    close || found == expected || found.is_nan() && expected.is_nan(),
                    "{name} of a {what} of {}: of {x} found {found}, expected {expected}",
                    T::NAME
                );
            }
        }
    };
    compare(&tiles, size, "tile");
    compare(&vectors, 16, "vector");
}

#[test]
fn functions_of_f32() {
    check::<f32, Row, Aligned, 2, 3>(1e-3);
}

#[test]
fn functions_of_bf16() {
    check::<bf16, Col, Aligned, 1, 1>(1.0 / 64.0);
    check::<bf16, Row, Orthogonal, 4, 2>(1.0 / 64.0);
}

#[test]
fn functions_of_f16() {
    check::<f16, Row, Aligned, 1, 8>(1.0 / 256.0);
    check::<f16, Col, Orthogonal, 3, 1>(1.0 / 256.0);
}
