//! Random shapes of gated, batched, grouped and promoted products, of integers that are exact.

use super::problem::{Entry, Matrix, assert_same, entry, product};
use crate::devices;
use proptest::prelude::*;
use warpwright::{
    kernels::{Activation, Gemm, GemmTile, MatrixOrder},
    prelude::*,
    run::Device,
    tiles::Product,
};

#[derive(Clone, Copy, Debug)]
enum Form {
    Gated,
    Batched,
    Grouped,
    Promoted,
}

/// A product of one of the forms, with the elements between the rows of A, the columns of B and the rows of D.
#[derive(Clone, Debug)]
struct Case {
    form: Form,
    gemm: Gemm,
    size: [usize; 3],
    gaps: [usize; 3],
    /// The number of products or of groups.
    count: usize,
    seed: usize,
}

fn cases() -> impl Strategy<Value = Case> {
    use Form::{Batched, Gated, Grouped, Promoted};
    let form = proptest::sample::select(vec![Gated, Batched, Grouped, Promoted]);
    let sizes = ([1..300usize, 1..300, 1..400], [0..3usize, 0..3, 0..3]);
    (form, sizes, (0..60usize, any::<bool>(), 1..4usize, 0..100usize)).prop_map(
        |(form, (size, gaps), (tile, any_ldd, count, seed))| {
            use GemmTile::{T64x64, T64x128, T128x128, T128x192, T128x256};
            let tiles: &[_] = match form {
                Gated => &[T64x128, T128x128],
                Batched | Grouped => &[T64x64, T64x128, T128x128, T128x192, T128x256],
                Promoted => &[T128x128, T128x192],
            };
            let activation = matches!(form, Gated).then_some(Activation::Relu);
            let gemm =
                Gemm { b: MatrixOrder::Col, any_ldd, activation, ..Gemm::new(tiles[tile % tiles.len()]) };
            Case { form, gemm, size, gaps: gaps.map(|gap| 16 * gap), count, seed }
        },
    )
}

/// The operands and the expected result of a case, whose form determines how many matrices there are.
struct Operands<T> {
    a: Vec<T>,
    b: Vec<T>,
    /// The B of each row of tiles, for grouped products.
    groups: Vec<u32>,
    expected: Vec<f32>,
    strides: [usize; 3],
    /// The numbers of elements of one A, B and D.
    lengths: [usize; 3],
}

fn operands<T: Entry>(case: &Case) -> Operands<T> {
    let Case { form, gemm, size: [m, n, k], gaps: [gap_a, gap_b, gap_d], count, seed } = *case;
    let cols = if matches!(form, Form::Gated) { 2 * n } else { n };
    let (a, b) = (Matrix::new(m, k, gemm.a, gap_a), Matrix::new(k, cols, gemm.b, gap_b));
    let d = Matrix::new(m, n, MatrixOrder::Row, gap_d);
    let of_a = |number: usize| entry(true, seed + 3 * number);
    let of_b = |number: usize| entry(true, seed + 1 + 5 * number);
    let [as_, bs] = match form {
        Form::Gated | Form::Promoted => [1, 1],
        Form::Batched => [count, count],
        Form::Grouped => [1, count],
    };
    let products: Vec<_> =
        (0..bs).map(|i| product([m, cols, k], of_a(if as_ > 1 { i } else { 0 }), of_b(i))).collect();
    let height = gemm.tile.size()[0] as usize;
    let groups: Vec<u32> = (0..m.div_ceil(height)).map(|i| ((i * 7 + seed) % count) as u32).collect();
    let expected = match form {
        Form::Gated => {
            let sums = &products[0];
            d.filled(|row, col| (sums(row, col) as f32).max(0.0) * sums(row, col + n) as f32)
        }
        Form::Grouped => d.elements(|row, col| products[groups[row / height] as usize](row, col)),
        Form::Batched | Form::Promoted => products.iter().flat_map(|product| d.elements(product)).collect(),
    };
    Operands {
        a: (0..as_).flat_map(|i| a.elements(of_a(i))).collect(),
        b: (0..bs).flat_map(|i| b.elements(of_b(i))).collect(),
        groups,
        expected,
        strides: [a.stride, b.stride, d.stride],
        lengths: [a.len(), b.len(), d.len()],
    }
}

/// Computes a case on every device.
fn check<T: Entry + Product<T, f32>>(case: &Case) -> Result<(), TestCaseError> {
    let operands = operands::<T>(case);
    let Operands { a, b, groups, expected, strides, lengths } = &operands;
    let [[lda, ldb, ldd], [of_a, of_b, of_d]] = [strides, lengths].map(|of| of.map(|x| x as u32));
    let ([m, n, k], count) = (case.size.map(|size| size as u32), case.count as u32);
    for device in devices::all().iter().filter(|device| device.capability() == (9, 0)) {
        let (on_a, on_b) = (device.upload(a).expect("room"), device.upload(b).expect("room"));
        let mut on_d = device.upload(&vec![16_384.0; expected.len()]).expect("room");
        let plain = |d| (&on_a, lda, &on_b, ldb, d, ldd, m, n, k);
        let launched = match case.form {
            Form::Gated => {
                let kernel = case.gemm.gated_kernel::<T, f32, f32>().expect("it builds");
                device.launch(&kernel, plain(&mut on_d)).map(|_| ())
            }
            Form::Promoted => {
                let kernel = case.gemm.promoted_kernel::<T, f32>().expect("it builds");
                device.launch(&kernel, plain(&mut on_d)).map(|_| ())
            }
            Form::Batched => {
                let kernel = case.gemm.batched_kernel::<T, f32, f32>().expect("it builds");
                let arguments = (&on_a, lda, of_a, &on_b, ldb, of_b, &mut on_d, ldd, of_d, m, n, k, count);
                device.launch(&kernel, arguments).map(|_| ())
            }
            Form::Grouped => {
                let kernel = case.gemm.grouped_kernel::<T, f32, f32>().expect("it builds");
                let groups = device.upload(groups).expect("room");
                let arguments = (&on_a, lda, &on_b, ldb, of_b, &mut on_d, ldd, &groups, m, n, k, count);
                device.launch(&kernel, arguments).map(|_| ())
            }
        };
        prop_assert!(launched.is_ok(), "{}: {}", device.name(), launched.unwrap_err());
        let found = device.download(&on_d).expect("copied");
        assert_same(&format!("{case:?}, {}", device.name()), &found, expected, strides[2]);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn forms_of_random_shapes(case in cases()) {
        match case.form {
            Form::Promoted => check::<e4m3>(&case)?,
            _ => check::<bf16>(&case)?,
        }
    }
}
