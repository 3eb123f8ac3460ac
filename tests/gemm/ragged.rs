//! Groups of any number of rows, each with its own factor.

use super::problem::{Matrix, assert_same, entry, product};
use crate::{assemble, devices};
use warpwright::{
    kernels::{Gemm, GemmTile, MatrixOrder, call},
    prelude::*,
    run::{Device, KernelCache},
};

/// The numbers of rows of groups: none, one, those of several tiles, and groups that end with a tile.
const GROUPS: [usize; 9] = [0, 1, 130, 0, 64, 1, 0, 200, 3];
/// The rows before the first group and after the last one.
const OUTSIDE: [usize; 2] = [3, 5];

/// The entry of matrix `number`.
fn numbered(number: usize) -> impl Fn(usize, usize) -> i32 + Copy {
    entry(true, 2 + 5 * number)
}

/// A product of groups, the offsets of the groups, and the expected result.
struct Ragged {
    a: Matrix,
    b: Matrix,
    d: Matrix,
    offsets: Vec<u32>,
    on_a: Vec<bf16>,
    on_b: Vec<bf16>,
    expected: Vec<f32>,
    size: [u32; 3],
}

impl Ragged {
    fn new(groups: &[usize], outside: [usize; 2], order_of_b: MatrixOrder) -> Self {
        let (n, k, m) = (200, 104, outside[0] + groups.iter().sum::<usize>() + outside[1]);
        let a = Matrix::new(m, k, MatrixOrder::Row, 16);
        let b = Matrix::new(k, n, order_of_b, 0);
        let d = Matrix::new(m, n, MatrixOrder::Row, 3);
        let mut offsets = vec![outside[0] as u32];
        for &rows in groups {
            offsets.push(offsets[offsets.len() - 1] + rows as u32);
        }
        let at_a = entry(true, 1);
        let products: Vec<_> =
            (0..groups.len()).map(|group| product([m, n, k], at_a, numbered(group))).collect();
        let group_of =
            |row: usize| (0..groups.len()).find(|&g| (offsets[g]..offsets[g + 1]).contains(&(row as u32)));
        // Rows outside of all groups keep their elements.
        let expected = d.elements(|row, col| group_of(row).map_or(16_384, |group| products[group](row, col)));
        let on_b = (0..groups.len()).flat_map(|group| b.elements::<bf16>(numbered(group))).collect();
        Self { on_a: a.elements(at_a), on_b, expected, offsets, a, b, d, size: [m, n, k].map(|x| x as u32) }
    }

    fn run(&self, gemm: &Gemm) {
        let kernel =
            gemm.ragged_kernel::<bf16, f32, f32>().unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
        assemble::kernel(&kernel);
        for device in devices::all().iter().filter(|device| device.capability() == (9, 0)) {
            let (on_a, on_b) =
                (device.upload(&self.on_a).expect("room"), device.upload(&self.on_b).expect("room"));
            let offsets = device.upload(&self.offsets).expect("room");
            let mut on_d = device.upload(&vec![16_384.0; self.d.len()]).expect("room");
            let [lda, ldb, ldd] = [&self.a, &self.b, &self.d].map(|matrix| matrix.stride as u32);
            let ([m, n, k], apart) = (self.size, self.b.len() as u32);
            let groups = self.offsets.len() as u32 - 1;
            let arguments = (&on_a, lda, &on_b, ldb, apart, &mut on_d, ldd, &offsets, groups, m, n, k);
            device.launch(&kernel, arguments).unwrap_or_else(|error| panic!("{gemm:?}: {error}"));
            let found = device.download(&on_d).expect("copied");
            assert_same(&format!("{gemm:?}, {}", device.name()), &found, &self.expected, self.d.stride);
        }
    }
}

#[test]
fn groups_have_any_number_of_rows() {
    use GemmTile::{T16x64, T64x64, T64x128, T128x128, T128x192};
    for order in [MatrixOrder::Row, MatrixOrder::Col] {
        let ragged = Ragged::new(&GROUPS, OUTSIDE, order);
        for tile in [T16x64, T64x128, T128x128, T128x192] {
            ragged.run(&Gemm { b: order, ..Gemm::new(tile) });
        }
        ragged.run(&Gemm { b: order, cluster: [1, 2], ..Gemm::new(T64x64) });
        for tile in [T64x64, T128x128] {
            ragged.run(&Gemm { target: Target::SM_80, b: order, ..Gemm::new(tile) });
        }
    }
}

/// One group, none with rows, and none at all.
#[test]
fn few_groups() {
    let gemms = [Gemm::new(GemmTile::T64x64), Gemm { target: Target::SM_80, ..Gemm::new(GemmTile::T64x64) }];
    for groups in [&[70usize][..], &[0, 0, 0], &[]] {
        let ragged = Ragged::new(groups, [0, 2], MatrixOrder::Row);
        gemms.iter().for_each(|gemm| ragged.run(gemm));
    }
}

/// Offsets that decrease or exceed the rows neither store outside of D nor twice.
#[test]
fn invalid_offsets_stay_in_the_matrix() {
    let mut ragged = Ragged::new(&[40, 40, 40], [0, 0], MatrixOrder::Row);
    ragged.offsets = vec![0, 100, 90, 4000];
    let whole = Ragged::new(&[100, 0, 20], [0, 0], MatrixOrder::Row);
    // Rows 90 to 100 are of two groups.
    let kernel = Gemm::new(GemmTile::T64x64).ragged_kernel::<bf16, f32, f32>().expect("it builds");
    for device in devices::all().iter().filter(|device| device.capability() == (9, 0)) {
        let (on_a, on_b) =
            (device.upload(&ragged.on_a).expect("room"), device.upload(&ragged.on_b).expect("room"));
        let offsets = device.upload(&ragged.offsets).expect("room");
        let mut on_d = device.upload(&vec![16_384.0; ragged.d.len()]).expect("room");
        let [lda, ldb, ldd] = [&ragged.a, &ragged.b, &ragged.d].map(|matrix| matrix.stride as u32);
        let ([m, n, k], apart) = (ragged.size, ragged.b.len() as u32);
        let arguments = (&on_a, lda, &on_b, ldb, apart, &mut on_d, ldd, &offsets, 3, m, n, k);
        // The simulator reports the race of the rows with two groups.
        if device.launch(&kernel, arguments).is_ok() {
            let found = device.download(&on_d).expect("copied");
            let stride = ragged.d.stride;
            let last = 100 * stride;
            assert_same("the first group", &found[..90 * stride], &whole.expected[..90 * stride], stride);
            assert_same("the last group", &found[last..], &whole.expected[last..], stride);
        }
    }
}

#[test]
fn calls_choose_a_kernel() {
    let ragged = Ragged::new(&[1, 0, 2, 5, 0, 1], [0, 0], MatrixOrder::Col);
    for device in devices::all() {
        let kernels = KernelCache::new(&device);
        let (on_a, on_b) =
            (device.upload(&ragged.on_a).expect("room"), device.upload(&ragged.on_b).expect("room"));
        let offsets = device.upload(&ragged.offsets).expect("room");
        let mut on_d = device.upload(&vec![16_384.0; ragged.d.len()]).expect("room");
        let [lda, ldb, ldd] = [&ragged.a, &ragged.b, &ragged.d].map(|matrix| matrix.stride as u32);
        let [m, n, k] = ragged.size;
        let shape = call::GemmShape { b: MatrixOrder::Col, ..call::GemmShape::new(m, n, k) };
        let groups = call::RaggedGroups { offsets: (&offsets).into(), count: 6, b_batch_stride: None };
        let called =
            call::ragged_gemm(&kernels, &shape, &groups, (&on_a, lda), (&on_b, ldb), (&mut on_d, ldd));
        called.unwrap_or_else(|error| panic!("{error}"));
        let found = device.download(&on_d).expect("copied");
        assert_same(&device.name(), &found, &ragged.expected, ragged.d.stride);
    }
}

#[test]
fn ragged_groups_reject_other_options() {
    let plain = Gemm::new(GemmTile::T64x64);
    for (gemm, expected) in [
        (
            Gemm { a: MatrixOrder::Col, ..plain },
            "expected row-major A for groups of any number of rows, found column-major A",
        ),
        (Gemm { parts: 2, ..plain }, "expected one part per tile for groups of any number of rows, found 2"),
        (
            Gemm { cluster: [2, 1], ..plain },
            "expected clusters of one row of tiles for several products and gated ones, found 2",
        ),
    ] {
        let found = gemm.ragged_kernel::<bf16, f32, bf16>().expect_err("it is rejected").to_string();
        assert!(found.ends_with(expected), "{found}");
    }
}
