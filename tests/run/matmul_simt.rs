//! The product without tensor cores on every device, equal to chains of fused multiply-adds on the host bit for bit.

use crate::{assemble, devices};
use proptest::prelude::*;
use warpwright::{
    kernels::{Activation, Epilogue, FusedGemmArgs, GemmArgs, MatmulSimt, MatrixOrder, SimtTile},
    prelude::*,
    run::{AnyDevice, Buffer, Device},
};

/// The elements after D that a kernel must not write, like those between its rows.
const MARGIN: usize = 64;
const UNTOUCHED: f32 = -12_345.0;
/// The factors of the epilogue.
const ALPHA: f32 = 0.75;
const BETA: f32 = -1.5;

/// A matrix whose contiguous rows, or columns, have gaps between them.
struct Matrix {
    order: MatrixOrder,
    stride: usize,
    elements: Vec<f32>,
}

impl Matrix {
    fn new(order: MatrixOrder, [rows, cols]: [usize; 2], gap: usize, seed: usize) -> Self {
        let [count, length] = if order == MatrixOrder::Row { [rows, cols] } else { [cols, rows] };
        let entry = |i: usize| ((i * 7919 + seed) % 1013) as f32 / 512.0 - 1.0;
        let stride = length + gap;
        // No gap after the last one.
        Self { order, stride, elements: (0..(count - 1) * stride + length).map(entry).collect() }
    }

    fn at(&self, row: usize, col: usize) -> f32 {
        let [count, i] = if self.order == MatrixOrder::Row { [row, col] } else { [col, row] };
        self.elements[count * self.stride + i]
    }
}

/// The factors of a product, and what its epilogue adds and multiplies.
struct Problem {
    sizes: [usize; 3],
    a: Matrix,
    b: Matrix,
    c: Matrix,
    /// The stride between rows of D.
    ldd: usize,
    bias: Vec<f32>,
    row_scales: Vec<f32>,
    col_scales: Vec<f32>,
}

impl Problem {
    fn new(sizes @ [m, n, k]: [usize; 3], [of_a, of_b]: [MatrixOrder; 2], gap: usize) -> Self {
        let vector = |length, seed| Matrix::new(MatrixOrder::Row, [1, length], 0, seed).elements;
        Self {
            sizes,
            a: Matrix::new(of_a, [m, k], gap, 1),
            b: Matrix::new(of_b, [k, n], gap, 2),
            c: Matrix::new(MatrixOrder::Row, [m, n], gap, 3),
            ldd: n + gap,
            bias: vector(n, 4),
            row_scales: vector(m, 5),
            col_scales: vector(n, 6),
        }
    }

    fn sum(&self, row: usize, col: usize) -> f32 {
        (0..self.sizes[2]).fold(0.0, |sum, i| self.a.at(row, i).mul_add(self.b.at(i, col), sum))
    }

    /// Checks the product alone.
    fn check(&self, device: &impl Device, kernel: &Kernel<GemmArgs<f32, f32>>) {
        let [m, n, k] = self.sizes.map(|size| size as u32);
        let [a, b] = [&self.a, &self.b].map(|matrix| device.upload(&matrix.elements).expect("room"));
        let [lda, ldb] = [&self.a, &self.b].map(|matrix| matrix.stride as u32);
        let ldd = self.ldd as u32;
        self.compare(device, kernel.name(), &|row, col| self.sum(row, col), |d| {
            device
                .launch(kernel, (&a, lda, &b, ldb, d, ldd, m, n, k))
                .map(drop)
                .map_err(|error| error.to_string())
        });
    }

    /// Checks the product with an epilogue, and max(x, 0).
    fn check_fused(
        &self,
        device: &impl Device,
        kernel: &Kernel<FusedGemmArgs<f32, f32>>,
        epilogue: Epilogue,
    ) {
        let [m, n, k] = self.sizes.map(|size| size as u32);
        let upload = |elements: &Vec<f32>, is_used: bool| {
            device.upload(if is_used { elements.as_slice() } else { &[] }).expect("room")
        };
        let [a, b] = [&self.a, &self.b].map(|matrix| upload(&matrix.elements, true));
        let c = upload(&self.c.elements, epilogue.c);
        let bias = upload(&self.bias, epilogue.bias);
        let rows = upload(&self.row_scales, epilogue.row_scales);
        let cols = upload(&self.col_scales, epilogue.col_scales);
        let [lda, ldb, ldc] = [&self.a, &self.b, &self.c].map(|matrix| matrix.stride as u32);
        let ldd = self.ldd as u32;
        let expected = |row: usize, col: usize| {
            let mut x = self.sum(row, col);
            if epilogue.alpha {
                x *= ALPHA;
            }
            if epilogue.row_scales {
                x *= self.row_scales[row];
            }
            if epilogue.col_scales {
                x *= self.col_scales[col];
            }
            if epilogue.c {
                x += self.c.at(row, col) * BETA;
            }
            if epilogue.bias {
                x += self.bias[col];
            }
            if x > 0.0 { x } else { 0.0 }
        };
        self.compare(device, kernel.name(), &expected, |d| {
            let arguments = (&a, lda, &b, ldb, d, ldd, m, n, k, ALPHA, BETA, &c, ldc, &bias, &rows, &cols);
            device.launch(kernel, arguments).map(drop).map_err(|error| error.to_string())
        });
    }

    /// Compares the results of a launch with `expected`, and the elements between and after rows with what they were.
    fn compare(
        &self,
        device: &impl Device,
        kernel: &str,
        expected: &dyn Fn(usize, usize) -> f32,
        launch: impl FnOnce(&mut Buffer<f32>) -> Result<(), String>,
    ) {
        let [m, n, k] = self.sizes;
        let mut d = device.upload(&vec![UNTOUCHED; m * self.ldd + MARGIN]).expect("room");
        launch(&mut d).unwrap_or_else(|error| panic!("{kernel}, {m}×{n}×{k}: {error}"));
        for (i, &found) in device.download(&d).expect("copied").iter().enumerate() {
            let (row, col) = (i / self.ldd, i % self.ldd);
            let expected = if row < m && col < n { expected(row, col) } else { UNTOUCHED };
            assert_eq!(
                found.to_bits(),
                expected.to_bits(),
                "{kernel}, {m}×{n}×{k}, row {row}, column {col}: {found}, not {expected}"
            );
        }
    }
}

/// Both orders of A and of B.
fn orders() -> impl Iterator<Item = [MatrixOrder; 2]> {
    MatrixOrder::ALL.into_iter().flat_map(|a| MatrixOrder::ALL.map(|b| [a, b]))
}

/// Returns whether blocks of the device have the shared memory of those of a target.
fn has_room(device: &AnyDevice, target: Target) -> bool {
    let small = matches!(device.capability(), (8, 6 | 9) | (12, _));
    !small || target.max_shared_bytes() <= Target::SM_86.max_shared_bytes()
}

/// Sizes up to 150, with a bias toward those that allow wide copies.
fn size() -> impl Strategy<Value = usize> {
    prop_oneof![2 => 1..=150usize, 1 => (1..=37usize).prop_map(|n| 4 * n), 1 => (1..=75usize).prop_map(|n| 2 * n)]
}

/// Gaps between rows, with a bias toward those that allow wide copies.
fn gap() -> impl Strategy<Value = usize> {
    prop_oneof![2 => Just(0usize), 1 => (0..=5usize).prop_map(|n| 4 * n), 1 => 0..=9usize]
}

/// Returns the kernel for a problem, in this tile.
fn kernel_for(problem: &Problem, tile: SimtTile, target: Target) -> MatmulSimt {
    let strides = [problem.a.stride, problem.b.stride, problem.ldd].map(|stride| stride as u32);
    let sizes = problem.sizes.map(|size| size as u32);
    let chosen = MatmulSimt::for_strides(target, problem.a.order, problem.b.order, sizes, strides, 132);
    let supported = SimtTile::all(target, chosen.divisor).any(|other| other == tile);
    MatmulSimt { tile: if supported { tile } else { chosen.tile }, ..chosen }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_sizes_and_strides_are_exact(m in size(), n in size(), k in size(), gap in gap()) {
        let devices = devices::all();
        for (number, orders) in orders().enumerate() {
            let problem = Problem::new([m, n, k], orders, gap);
            // A tile for each order, other ones each time.
            let tiles: Vec<_> = SimtTile::all(Target::SM_80, 4).collect();
            let simt = kernel_for(&problem, tiles[(number + m + n) % tiles.len()], Target::SM_80);
            let kernel = simt.kernel(Target::SM_80).expect("it builds");
            for device in devices.iter().filter(|device| has_room(device, Target::SM_80)) {
                problem.check(device, &kernel);
            }
        }
    }

    #[test]
    fn epilogues_are_exact(
        m in size(),
        n in size(),
        gap in gap(),
        parts in proptest::array::uniform5(any::<bool>()),
        order in 0..4usize,
        tile in 0..6usize,
    ) {
        let [alpha, row_scales, col_scales, c, bias] = parts;
        let epilogue = Epilogue { alpha, row_scales, col_scales, c, bias };
        let problem = Problem::new([m, n, 20], orders().nth(order).expect("one of four"), gap);
        let tile = SimtTile::all(Target::SM_80, 4).nth(tile).expect("one of six");
        let simt = MatmulSimt { activation: Some(Activation::Relu), ..kernel_for(&problem, tile, Target::SM_80) };
        let kernel = simt.fused_kernel(Target::SM_80, epilogue).expect("it builds");
        for device in devices::all().iter().filter(|device| has_room(device, Target::SM_80)) {
            problem.check_fused(device, &kernel, epilogue);
        }
    }
}

/// Several tiles of every size, their edges, and depths around those of stages.
#[test]
fn edges_of_tiles_are_exact() {
    let devices = devices::all();
    for (target, divisor) in
        [(Target::SM_90A, 4), (Target::SM_89, 4), (Target::SM_80, 2), (Target::SM_90A, 1)]
    {
        for tile in SimtTile::all(target, divisor) {
            for [a, b] in orders() {
                let simt = MatmulSimt { a, b, tile, divisor, activation: None };
                let kernel = simt.kernel(target).expect("it builds");
                assemble::kernel(&kernel);
                let runs = |device: &&AnyDevice| {
                    has_room(device, target) && (target != Target::SM_90A || device.capability() == (9, 0))
                };
                for [m, n, k] in [[257, 132, 36], [255, 128, 32], [1, 4, 4], [128, 260, 28], [33, 68, 100]] {
                    // The divisor divides the lengths of columns.
                    let m = if a == MatrixOrder::Col { usize::next_multiple_of(m, 4) } else { m };
                    for device in devices.iter().filter(runs) {
                        Problem::new([m, n, k], [a, b], 0).check(device, &kernel);
                    }
                }
            }
        }
    }
}

/// The largest tiles leave few registers for the operands of an epilogue.
#[test]
fn epilogues_do_not_spill() {
    for ([a, b], activation) in orders().zip([Activation::GeluTanh, Activation::Silu].into_iter().cycle()) {
        for (tile, divisor) in [(SimtTile::T256x128, 4), (SimtTile::T128x128, 1)] {
            let simt = MatmulSimt { a, b, tile, divisor, activation: Some(activation) };
            let all = Epilogue { alpha: true, row_scales: true, col_scales: true, c: true, bias: true };
            assemble::kernel(&simt.fused_kernel(Target::SM_90A, all).expect("it builds"));
        }
    }
}

/// Tiles are small enough that few multiprocessors are idle, and otherwise large.
#[test]
fn tiles_are_chosen_for_the_number_of_multiprocessors() {
    use MatrixOrder::{Col, Row};
    for (target, a, b, sizes, multiprocessors, tile, divisor) in [
        (Target::SM_90, Row, Row, [4096; 3], 132, "256x128", 4),
        (Target::SM_90, Row, Col, [4096; 3], 132, "256x128", 4),
        (Target::SM_90, Col, Row, [4096; 3], 132, "128x128", 4),
        (Target::SM_90, Col, Col, [4096; 3], 132, "128x128", 4),
        (Target::SM_90, Row, Row, [2048; 3], 132, "256x128", 4),
        (Target::SM_90, Row, Row, [1000; 3], 132, "64x128", 4),
        (Target::SM_90, Row, Row, [512; 3], 132, "32x64", 4),
        (Target::SM_90, Row, Row, [1; 3], 132, "32x64", 1),
        // m counts only if A is in columns, and n always.
        (Target::SM_90, Row, Col, [33, 4, 4], 132, "32x64", 4),
        (Target::SM_90, Col, Col, [33, 4, 4], 132, "32x64", 1),
        (Target::SM_90, Row, Col, [4, 6, 4], 132, "32x64", 2),
        // Large tiles require 16-byte copies, and shared memory.
        (Target::SM_90, Row, Row, [4095, 4097, 4096], 132, "128x128", 1),
        (Target::SM_86, Row, Row, [4096; 3], 84, "128x128", 4),
        (Target::SM_90, Row, Row, [1000; 3], 1, "256x128", 4),
    ] {
        let chosen = MatmulSimt::for_problem(target, a, b, sizes, multiprocessors);
        assert_eq!(
            (chosen.tile.to_string().as_str(), chosen.divisor),
            (tile, divisor),
            "{a:?} {b:?} {sizes:?}"
        );
        assert_eq!((chosen.a, chosen.b, chosen.activation), (a, b, None));
    }
    // Rows of D with gaps allow only copies of two elements.
    let strided = MatmulSimt::for_strides(Target::SM_90, Row, Row, [4096; 3], [4096, 4096, 4098], 132);
    assert_eq!((strided.tile, strided.divisor), (SimtTile::T128x128, 2));
}

#[test]
fn invalid_tiles_and_divisors_are_rejected() {
    let refused = |tile, divisor, target| {
        let (a, b) = (MatrixOrder::Row, MatrixOrder::Col);
        let simt = MatmulSimt { a, b, tile, divisor, activation: None };
        simt.kernel(target).map(drop).expect_err("it is rejected").to_string()
    };
    let error = refused(SimtTile::T64x64, 0, Target::SM_80);
    assert!(error.contains("expected a divisor of sizes, found 0"), "{error}");
    for (divisor, target) in [(2, Target::SM_80), (4, Target::SM_86)] {
        let error = refused(SimtTile::T256x128, divisor, target);
        let expected = format!("for tiles of 256x128, found {divisor} and {target}");
        assert!(error.ends_with(&expected), "{error}");
    }
}
