//! Products with a sparse A, for every type that has an `mma.sp`: compressed on the host, from and to matrices with edges.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    run::Device,
    tensor::TensorElement,
    tiles::{NotSparse, SparseElement, SparseMatrix, SparseProduct, SparseRt},
};

use super::numbers::{Numeral, Random};
use crate::cases::everywhere;

/// Values and metadata of A, Bᵀ, C, C + A·B, the extents m, n and k.
type Args<A, B, C> = (In<A>, In<u16>, In<B>, In<C>, Out<C>, u32, u32, u32);

/// The product of `M`×2`W` by 2`W`×`N` subtiles, accumulated along k, where `K` is 2`W`; a block takes `M` rows of subtiles. B is a
/// column tile, or the transpose of a row tile.
fn kernel<A, B, C, const M: usize, const N: usize, const W: usize, const K: usize>(
    target: Target,
    is_transposed: bool,
) -> Result<Kernel<Args<A, B, C>>, BuildError>
where
    A: SparseProduct<B, C>,
    B: TensorElement,
    C: TensorElement,
{
    Kernel::<Args<A, B, C>>::build("sparse", target, |k, (values, metadata, bt, c, d, m, n, depth)| {
        k.block([32]);
        k.grid([m.tiles(16 * M as u32)]);
        let depth = depth.multiple_of(4);
        let a = k.sparse(values, metadata, m, depth);
        let bt = k.global(bt, row_major(n, depth));
        let of_c = row_major(m, n);
        let row = k.ctaid_x();
        let start: Rt<C, M, N> = k.global(c, of_c).tile(row, 0).load();
        let sum = k.fold(depth.ceil_div(SparseRt::<A, M, W>::COLS), start, |step, sum| {
            let a: SparseRt<A, M, W> = a.tile(row, step).load();
            if is_transposed {
                let bt: Rt<B, N, K> = bt.tile(0, step).load();
                sum.mma_abt_sparse(&a, &bt)
            } else {
                let b: Rt<B, K, N, Col> = bt.transposed().tile(step, 0).load();
                sum.mma_ab_sparse(&a, &b)
            }
        });
        k.global(d, of_c).tile(row, 0).store(&sum);
    })
}

/// A matrix with any elements in half of the positions of each chunk, and fewer in some.
fn sparse<T: Numeral + SparseElement>(rows: usize, cols: usize, random: &mut Random) -> Vec<T> {
    let chunk = if T::SIZE == 4 { 2 } else { 4 };
    let mut dense = vec![T::of(0.0); rows * cols];
    for chunk in dense.chunks_mut(chunk) {
        for _ in 0..chunk.len() / 2 {
            let at = random.next() as usize % chunk.len();
            chunk[at] = T::small(random);
        }
    }
    dense
}

/// Checks C + A·B of whole numbers, which is exact, for matrices that are not multiples of the tile.
fn shape<A, B, C, const M: usize, const N: usize, const W: usize, const K: usize>(target: Target)
where
    A: Numeral + SparseProduct<B, C>,
    B: Numeral,
    C: Numeral,
{
    let kernels = [false, true].map(|is_transposed| {
        let kernel = kernel::<A, B, C, M, N, W, K>(target, is_transposed).unwrap();
        crate::assemble::kernel(&kernel);
        kernel
    });
    let mut random = Random(0x5eed + (M * 100 + N * 10 + W) as u64);
    let whole = SparseRt::<A, M, W>::COLS as usize;
    for [m, n, depth] in [[32 * M, 16 * N, 2 * whole], [16 * M + 5, 16 * N - 3, whole + 12], [7, 9, 8]] {
        let a = sparse::<A>(m, depth, &mut random);
        let bt: Vec<B> = (0..n * depth).map(|_| B::small(&mut random)).collect();
        let c: Vec<C> = (0..m * n).map(|_| C::small(&mut random)).collect();
        let compressed = SparseMatrix::compress(&a, m, depth).unwrap();
        let found = everywhere(|device| {
            let values = device.upload(&compressed.values).unwrap();
            let metadata = device.upload(&compressed.metadata).unwrap();
            let (bt, c) = (device.upload(&bt).unwrap(), device.upload(&c).unwrap());
            kernels.each_ref().map(|kernel| {
                let mut d = device.output::<C>(m * n).unwrap();
                let sizes = (m as u32, n as u32, depth as u32);
                let arguments = (&values, &metadata, &bt, &c, &mut d, sizes.0, sizes.1, sizes.2);
                device.launch(kernel, arguments).unwrap();
                device.download(&d).unwrap().into_iter().map(C::number).collect::<Vec<_>>()
            })
        });
        let element = |at: usize| {
            let terms = (0..depth).map(|k| a[at / n * depth + k].number() * bt[at % n * depth + k].number());
            c[at].number() + terms.sum::<f64>()
        };
        let expected: Vec<f64> = (0..m * n).map(element).collect();
        assert_eq!(found, [expected.clone(), expected], "{} and {}, {m}×{n} by {depth}", A::NAME, B::NAME);
    }
}

macro_rules! products {
    ($($test:ident: $a:ty, $b:ty => $c:ty, $target:ident, [$(($m:literal, $n:literal, $w:literal, $k:literal))*];)*) => {$(
        #[test]
        fn $test() {
            $(shape::<$a, $b, $c, $m, $n, $w, $k>(Target::$target);)*
        }
    )*};
}

// Steps that share a register of metadata, those that do not, and several rows and columns of subtiles.
products! {
    bf16_in_f32:      bf16, bf16 => f32, SM_80, [(1, 1, 1, 2) (2, 1, 2, 4) (1, 2, 3, 6)];
    f16_in_f32:       f16,  f16  => f32, SM_80, [(1, 1, 1, 2) (2, 1, 2, 4) (1, 2, 3, 6)];
    f16_in_f16:       f16,  f16  => f16, SM_80, [(1, 1, 1, 2) (2, 1, 2, 4) (1, 2, 3, 6)];
    tf32_in_f32:      tf32, tf32 => f32, SM_80, [(1, 1, 1, 2) (2, 2, 1, 2) (1, 1, 2, 4)];
    e4m3_e4m3_in_f32: e4m3, e4m3 => f32, SM_89, [(1, 1, 1, 2) (2, 1, 2, 4)];
    e4m3_e5m2_in_f32: e4m3, e5m2 => f32, SM_89, [(1, 2, 1, 2)];
    e5m2_e4m3_in_f32: e5m2, e4m3 => f32, SM_89, [(1, 1, 2, 4)];
    e5m2_e5m2_in_f32: e5m2, e5m2 => f32, SM_89, [(1, 1, 1, 2)];
    s8_s8_in_s32:     i8,   i8   => i32, SM_80, [(1, 1, 1, 2) (2, 1, 2, 4)];
    s8_u8_in_s32:     i8,   u8   => i32, SM_80, [(1, 2, 1, 2)];
    u8_s8_in_s32:     u8,   i8   => i32, SM_80, [(1, 1, 2, 4)];
    u8_u8_in_s32:     u8,   u8   => i32, SM_80, [(1, 1, 1, 2)];
}

/// A product with the stored elements of A and with B in a pipeline of shared tiles; `K` is 2`W`.
fn piped<T, C, const W: usize, const K: usize>()
where
    T: Numeral + SparseProduct<T, C>,
    C: Numeral,
{
    type Args<T, C> = (In<T>, In<u16>, In<T>, Out<C>, u32, u32);
    let kernel =
        Kernel::<Args<T, C>>::build("piped(values, metadata, bt, d, m, k)", Target::SM_80, |k, args| {
            let (values, metadata, bt, d, m, depth) = args;
            k.block([64]);
            k.grid([m.tiles(32)]);
            let depth = depth.multiple_of(32);
            let (a, bt) = (k.sparse(values, metadata, m, depth), k.global(bt, row_major(16, depth)));
            let (row, warp) = (k.ctaid_x(), k.warp().rank());
            let sum = k.pipeline::<(St<T, 2, W>, St<T, 1, K>), 3>().run_indexed(
                depth.ceil_div(SparseRt::<T, 1, W>::COLS),
                k.zeros::<Rt<C, 1, 1>>(),
                |i, stage| stage.fill((a.values().tile(row, i), bt.tile(0, i))),
                |i, sum, (values, bt)| {
                    let values: Rt<T, 1, W> = values.subtile(warp, 0).load();
                    let a: SparseRt<T, 1, W> = a.tile(row * 2 + warp, i).load_with(values);
                    sum.mma_abt_sparse(&a, &bt.load())
                },
            );
            k.global(d, row_major(m, 16)).tile(row * 2 + warp, 0).store(&sum);
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let (m, depth) = (71, 96);
    let mut random = Random(11);
    let a = sparse::<T>(m, depth, &mut random);
    let bt: Vec<T> = (0..16 * depth).map(|_| T::small(&mut random)).collect();
    let compressed = SparseMatrix::compress(&a, m, depth).unwrap();
    let found = everywhere(|device| {
        let values = device.upload(&compressed.values).unwrap();
        let metadata = device.upload(&compressed.metadata).unwrap();
        let (bt, mut d) = (device.upload(&bt).unwrap(), device.output::<C>(m * 16).unwrap());
        device.launch(&kernel, (&values, &metadata, &bt, &mut d, m as u32, depth as u32)).unwrap();
        device.download(&d).unwrap().into_iter().map(C::number).collect::<Vec<_>>()
    });
    let element = |at: usize| {
        let terms = (0..depth).map(|k| a[at / 16 * depth + k].number() * bt[at % 16 * depth + k].number());
        terms.sum::<f64>()
    };
    assert_eq!(found, (0..m * 16).map(element).collect::<Vec<_>>(), "{}", T::NAME);
}

#[test]
fn in_a_pipeline() {
    piped::<bf16, f32, 1, 2>();
    piped::<f16, f16, 2, 4>();
    piped::<tf32, f32, 1, 2>();
    piped::<tf32, f32, 2, 4>();
    piped::<i8, i32, 1, 2>();
}

/// Every later target assembles the instructions.
#[test]
fn on_every_target() {
    let half = kernel::<bf16, bf16, f32, 2, 2, 2, 4>(Target::SM_80, false).unwrap();
    crate::assemble::everywhere(&half.ptx(), Target::SM_80);
    let byte = kernel::<e4m3, e5m2, f32, 1, 1, 1, 2>(Target::SM_89, true).unwrap();
    crate::assemble::everywhere(&byte.ptx(), Target::SM_89);
}

/// Half as many instructions as a dense product, without shuffles, and one word of metadata for 16×64 elements.
#[test]
fn as_few_instructions_as_possible() {
    let kernel = Kernel::<(In<bf16>, In<u16>, In<bf16>, Out<f32>)>::build("few", Target::SM_80, |k, args| {
        let (values, metadata, b, d) = args;
        k.block([32]);
        k.grid([1]);
        let a: SparseRt<bf16, 2, 2> = k.sparse(values, metadata, 32, 64).tile(0, 0).load();
        let b: Rt<bf16, 4, 1, Col> = k.global(b, row_major(64, 16)).tile(0, 0).load();
        let sum = k.zeros::<Rt<f32, 2, 1>>().mma_ab_sparse(&a, &b);
        k.global(d, row_major(32, 16)).tile(0, 0).store(&sum);
    });
    let ptx = kernel.unwrap().ptx();
    let count = |mnemonic: &str| ptx.lines().filter(|line| line.trim().starts_with(mnemonic)).count();
    // A product of 32×64 by 64×16: four dense instructions for 16×16 by 32.
    assert_eq!((count("mma.sp"), count("shfl")), (2 * 2 * 2, 0), "{ptx}");
    // Of A, 2×2 registers of two rows, and of metadata, half words of two rows; of B, 4×4 registers of two elements each.
    let loads = ["b32", "u16", "b16"].map(|ty| count(&format!("ld.global.nc.{ty}")));
    assert_eq!(loads, [16, 4, 32], "{ptx}");
}

/// A target without an instruction of the types is rejected, and the error names the first that has one.
#[test]
fn targets_without_an_instruction() {
    fn lowest(error: BuildError) -> String {
        let warpwright::ptx::BuildErrorKind::Unsupported { lowest, .. } = error.kind() else {
            panic!("{error}")
        };
        lowest.to_string()
    }
    assert_eq!(lowest(kernel::<f16, f16, f16, 1, 1, 1, 2>(Target::SM_75, true).unwrap_err()), "sm_80");
    assert_eq!(lowest(kernel::<e4m3, e4m3, f32, 1, 1, 1, 2>(Target::SM_80, true).unwrap_err()), "sm_89");
}

/// The matrix that values and metadata represent (PTX ISA, "Sparse matrix storage").
fn expanded<T: Numeral>(matrix: &SparseMatrix<T>) -> Vec<f64> {
    let [chunk, bits] = if T::SIZE == 4 { [2, 4] } else { [4, 2] };
    let words = (matrix.cols / 2 * bits).div_ceil(16);
    let mut dense = vec![0.0; matrix.rows * matrix.cols];
    for row in 0..matrix.rows {
        for at in 0..matrix.cols / 2 {
            let word = matrix.metadata[row * words + at * bits / 16];
            let place = match (T::SIZE, usize::from(word) >> (at * bits % 16) & ((1 << bits) - 1)) {
                (4, 0b0100) => 0,
                (4, 0b1110) => 1,
                (4, code) => panic!("{code:#06b} is not a position of tf32"),
                (_, place) => place,
            };
            let col = at / (chunk / 2) * chunk + place;
            dense[row * matrix.cols + col] = matrix.values[row * matrix.cols / 2 + at].number();
        }
    }
    dense
}

#[test]
fn compression() {
    fn check<T: Numeral + SparseElement>() {
        let mut random = Random(7);
        for (rows, cols) in [(1, 4), (3, 64), (5, 44), (0, 8), (2, 0)] {
            let dense = sparse::<T>(rows, cols, &mut random);
            let compressed = SparseMatrix::compress(&dense, rows, cols).unwrap();
            assert_eq!(compressed.values.len(), rows * cols / 2);
            let numbers: Vec<f64> = dense.into_iter().map(T::number).collect();
            assert_eq!(expanded(&compressed), numbers, "{} {rows}×{cols}", T::NAME);
        }
    }
    check::<bf16>();
    check::<tf32>();
    check::<e5m2>();
    check::<u8>();
}

#[test]
fn matrices_that_are_not_sparse() {
    let of = |dense: &[f32], rows, cols| {
        let dense: Vec<f16> = dense.iter().map(|&x| f16::from_f32(x)).collect();
        SparseMatrix::compress(&dense, rows, cols).unwrap_err()
    };
    let mut dense = vec![0.0; 24];
    dense[16..20].copy_from_slice(&[1.0, f32::NAN, -0.0, 2.0]);
    let error = of(&dense, 2, 12);
    assert_eq!(error, NotSparse::Dense { row: 1, first: 4, last: 7, max: 2, found: 3 });
    assert_eq!(
        error.to_string(),
        "row 1, columns 4 to 7: expected at most 2 elements that are not 0, found 3"
    );
    assert_eq!(of(&dense, 4, 6).to_string(), "expected a multiple of 4 columns, found 6");
    assert_eq!(of(&dense, 3, 4).to_string(), "expected 12 elements in 3×4, found 24");
    assert_eq!(
        of(&dense, usize::MAX, 4),
        NotSparse::Length { rows: usize::MAX, cols: 4, expected: usize::MAX, found: 24 }
    );
    let pair = [1.0, 2.0].map(tf32::from_f32);
    let error = SparseMatrix::compress(&pair, 1, 2).unwrap_err();
    assert_eq!(error, NotSparse::Dense { row: 0, first: 0, last: 1, max: 1, found: 2 });
}

/// A launch computes the lengths of both buffers from the matrix's extents.
#[test]
fn launches_check_both_buffers() {
    let kernel = Kernel::<(In<e4m3>, In<u16>, Out<f32>, u32)>::build("extents", Target::SM_89, |k, args| {
        let (values, metadata, d, cols) = args;
        k.block([32]);
        k.grid([1]);
        let a: SparseRt<e4m3, 1, 1> = k.sparse(values, metadata, 16, cols).tile(0, 0).load();
        let b = k.zeros::<Rt<e4m3, 1, 2>>();
        let sum = k.zeros::<Rt<f32, 1, 1>>().mma_abt_sparse(&a, &b);
        k.global(d, row_major(16, 16)).tile(0, 0).store(&sum);
    })
    .unwrap();
    let device = warpwright::run::Simulator::new();
    let launch = |values: usize, metadata: usize| {
        let values = device.upload(&vec![e4m3::from_f32(1.0); values]).unwrap();
        let metadata = device.upload(&vec![0x4444u16; metadata]).unwrap();
        let mut d = device.output::<f32>(256).unwrap();
        device
            .launch(&kernel, (&values, &metadata, &mut d, 36))
            .map(|_| ())
            .map_err(|error| error.to_string())
    };
    // Rows of 36 elements, of which 18 are stored; their positions take 36 bits in three words.
    assert_eq!(launch(16 * 18, 16 * 3), Ok(()));
    assert!(launch(16 * 18 - 1, 16 * 3).is_err_and(|error| error.contains("288")));
    assert!(launch(16 * 18, 16 * 3 - 1).is_err_and(|error| error.contains("48")));
}
