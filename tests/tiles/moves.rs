//! Elements that move between lanes: transpositions, changes of layout and of element width, vectors in other layouts; and parts of
//! tiles, which do not.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{B16, B32, Element, Params},
    run::Device,
    tensor::TensorElement,
    tiles::{Aligned, Cgl, Convert, Crt, Cst, Naive, Orthogonal, RegisterLayout, VectorLayout},
};

use super::numbers::Numeral;
use crate::cases::everywhere;

/// The number of blocks; each works on a matrix of its own, below the others.
const BLOCKS: usize = 2;

/// An element whose bits encode its index: neighbors differ in every bit of the index.
fn coded<T: TensorElement>(index: usize) -> T {
    let hash = (index as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    T::from_mem_bits(hash >> (64 - 8 * T::SIZE) as u64)
}

fn bits<T: Element>(elements: &[T]) -> Vec<u64> {
    elements.iter().map(|element| element.to_mem_bits()).collect()
}

/// Runs a kernel of two buffers on coded elements, and returns the bits of input and output.
fn run<T: Element, U: Element>(kernel: &Kernel<(In<T>, Out<U>)>, input: &[T], outputs: usize) -> Vec<u64> {
    crate::assemble::kernel(kernel);
    everywhere(|device| {
        let x = device.upload(input).unwrap();
        let mut y = device.output::<U>(outputs).unwrap();
        device.launch(kernel, (&x, &mut y)).unwrap();
        bits(&device.download(&y).unwrap())
    })
}

fn build<A: Params>(write: impl for<'k> FnOnce(Builder<'k>, A::Handles<'k>)) -> Kernel<A> {
    Kernel::<A>::build("moves", Target::SM_89, |k, arguments| {
        k.block([32]);
        k.grid([BLOCKS as u32]);
        write(k, arguments);
    })
    .unwrap_or_else(|why| panic!("{why}"))
}

/// The number of lines of a kernel that start with `mnemonic`.
fn count<A>(kernel: &Kernel<A>, mnemonic: &str) -> usize {
    kernel.ptx().lines().filter(|line| line.trim().starts_with(mnemonic)).count()
}

/// The matrices of `rows`×`cols` of all blocks, each transposed.
fn transposed<T: Copy>(matrices: &[T], rows: usize, cols: usize) -> Vec<T> {
    let transpose =
        |matrix: &[T]| -> Vec<T> { (0..rows * cols).map(|i| matrix[i % rows * cols + i / rows]).collect() };
    matrices.chunks(rows * cols).flat_map(transpose).collect()
}

// ── Transpositions ───────────────────────────────────────────────────────────────────────────────────────────────────

/// Tests one shape of a type: in the same registers, in the other layout, and transposed in the same layout. A subtile may take
/// `$count` instructions `$mnemonic`.
macro_rules! transpositions {
    ($($test:ident: $t:ty, $layout:ident to $other:ident, $h:literal x $w:literal, swapped $sh:literal x $sw:literal, transposed $th:literal x $tw:literal,
       $count:literal $mnemonic:literal;)*) => {$(
        #[test]
        fn $test() {
            type Tile<'k> = Rt<'k, $t, $h, $w, $layout>;
            let (rows, cols) = (Tile::ROWS, Tile::COLS);
            let blocks = BLOCKS as u32;
            let input: Vec<$t> = (0..BLOCKS * (rows * cols) as usize).map(coded).collect();
            let flipped = bits(&transposed(&input, rows as usize, cols as usize));

            let kernel = build::<(In<$t>, Out<$t>)>(|k, (x, y)| {
                let tile: Tile = k.global(x, row_major(blocks * rows, cols)).tile(k.ctaid_x(), 0).load();
                let other: Rt<$t, $w, $h, $other> = tile.into_transposed();
                k.global(y, row_major(blocks * cols, rows)).tile(k.ctaid_x(), 0).store(&other);
            });
            assert_eq!(run(&kernel, &input, input.len()), flipped, "in the same registers");
            assert_eq!(count(&kernel, "shfl") + count(&kernel, "movmatrix"), 0, "{}", kernel.ptx());

            let kernel = build::<(In<$t>, Out<$t>)>(|k, (x, y)| {
                let tile: Tile = k.global(x, row_major(blocks * rows, cols)).tile(k.ctaid_x(), 0).load();
                let other: Rt<$t, $sh, $sw, $other> = tile.swap_layout();
                k.global(y, row_major(blocks * rows, cols)).tile(k.ctaid_x(), 0).store(&other);
            });
            assert_eq!(run(&kernel, &input, input.len()), bits(&input), "in the other layout");
            assert_eq!(count(&kernel, $mnemonic), $h * $w * $count, "{}", kernel.ptx());

            let kernel = build::<(In<$t>, Out<$t>)>(|k, (x, y)| {
                let tile: Tile = k.global(x, row_major(blocks * rows, cols)).tile(k.ctaid_x(), 0).load();
                let other: Rt<$t, $th, $tw, $layout> = tile.transpose();
                k.global(y, row_major(blocks * cols, rows)).tile(k.ctaid_x(), 0).store(&other);
            });
            assert_eq!(run(&kernel, &input, input.len()), flipped, "in the same layout");
            assert_eq!(count(&kernel, $mnemonic), $h * $w * $count, "{}", kernel.ptx());
        }
    )*};
}

transpositions! {
    bf16_rows: bf16, Row to Col, 2 x 3, swapped 2 x 3, transposed 3 x 2, 4 "movmatrix";
    f16_cols:  f16,  Col to Row, 1 x 4, swapped 1 x 4, transposed 4 x 1, 4 "movmatrix";
    b16_rows:  B16,  Row to Col, 1 x 1, swapped 1 x 1, transposed 1 x 1, 4 "movmatrix";
    f32_rows:  f32,  Row to Col, 2 x 1, swapped 2 x 1, transposed 1 x 2, 8 "shfl";
    b32_cols:  B32,  Col to Row, 2 x 3, swapped 2 x 3, transposed 3 x 2, 8 "shfl";
    tf32_rows: tf32, Row to Col, 1 x 1, swapped 1 x 1, transposed 1 x 1, 8 "shfl";
    f64_rows:  f64,  Row to Col, 1 x 2, swapped 1 x 2, transposed 2 x 1, 16 "shfl";
    u64_cols:  u64,  Col to Row, 1 x 1, swapped 1 x 1, transposed 1 x 1, 16 "shfl";
    u8_rows:   u8,   Row to Col, 2 x 1, swapped 1 x 2, transposed 2 x 1, 8 "shfl";
    i8_rows:   i8,   Row to Col, 4 x 3, swapped 2 x 6, transposed 6 x 2, 8 "shfl";
    e4m3_cols: e4m3, Col to Row, 1 x 2, swapped 2 x 1, transposed 1 x 2, 8 "shfl";
    e5m2_cols: e5m2, Col to Row, 2 x 4, swapped 4 x 2, transposed 2 x 4, 8 "shfl";
}

// ── Width ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// 8-bit elements to a wider type and back: every value of the 8-bit type, and values outside of its range.
macro_rules! widths {
    ($($test:ident: $narrow:ty, $wide:ty, $layout:ident, $h:literal x $w:literal, $h2:literal x $w2:literal;)*) => {$(
        #[test]
        fn $test() {
            type Narrow<'k> = Rt<'k, $narrow, $h, $w, $layout>;
            type Wide<'k> = Rt<'k, $wide, $h2, $w2, $layout>;
            let (rows, cols) = (Narrow::ROWS, Narrow::COLS);
            let all_rows = BLOCKS as u32 * rows;
            let count_of_elements = BLOCKS * (rows * cols) as usize;

            let kernel = build::<(In<$narrow>, Out<$wide>)>(|k, (x, y)| {
                let tile: Narrow = k.global(x, row_major(all_rows, cols)).tile(k.ctaid_x(), 0).load();
                let wide: Wide = tile.widen();
                k.global(y, row_major(all_rows, cols)).tile(k.ctaid_x(), 0).store(&wide);
            });
            let bytes: Vec<$narrow> = (0..count_of_elements).map(|i| <$narrow as Element>::from_mem_bits((i * 37 + i / 256) as u64 % 256)).collect();
            let found = run(&kernel, &bytes, bytes.len());
            for (at, (&byte, found)) in bytes.iter().zip(found).enumerate() {
                let (found, expected) = (<$wide as Element>::from_mem_bits(found).number(), byte.number());
                assert!(found == expected || found.is_nan() && expected.is_nan(), "element {at}: {found}, expected {expected}");
            }
            assert_eq!(count(&kernel, "shfl"), 4 * $h * $w);

            let kernel = build::<(In<$wide>, Out<$narrow>)>(|k, (x, y)| {
                let tile: Wide = k.global(x, row_major(all_rows, cols)).tile(k.ctaid_x(), 0).load();
                let narrow: Narrow = tile.narrow();
                k.global(y, row_major(all_rows, cols)).tile(k.ctaid_x(), 0).store(&narrow);
            });
            let numbers: Vec<$wide> = (0..count_of_elements).map(|i| <$wide>::of(((i * 37) as f64 % 701.0 - 300.0) / if <$narrow>::of(0.5).number() == 0.0 { 1.0 } else { 4.0 })).collect();
            let found = run(&kernel, &numbers, numbers.len());
            let expected: Vec<u64> = numbers.iter().map(|number| <$narrow>::of(number.number()).to_mem_bits()).collect();
            assert_eq!(found, expected);
            assert_eq!(count(&kernel, "shfl"), 4 * $h * $w);
        }
    )*};
}

widths! {
    e4m3_and_bf16: e4m3, bf16, Row, 1 x 2, 1 x 4;
    e4m3_and_f16:  e4m3, f16,  Col, 2 x 1, 4 x 1;
    e4m3_and_f32:  e4m3, f32,  Row, 2 x 1, 2 x 2;
    e5m2_and_f16:  e5m2, f16,  Row, 1 x 1, 1 x 2;
    e5m2_and_f32:  e5m2, f32,  Col, 1 x 2, 2 x 2;
    s8_and_s32:    i8,   i32,  Row, 2 x 2, 2 x 4;
    u8_and_s32:    u8,   i32,  Col, 1 x 1, 2 x 1;
    s8_and_f32:    i8,   f32,  Row, 1 x 1, 1 x 2;
    u8_and_f32:    u8,   f32,  Row, 1 x 2, 1 x 4;
}

// ── Vectors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// A vector of the rows' numbers in layout `V`, converted to layout `V2`: the registers of every lane.
fn kernel<T, const N: usize, V: VectorLayout, V2: VectorLayout>() -> Kernel<(In<f32>, Out<T::Word>)>
where
    T: TensorElement<Word: Element<Reg = T::Word>>,
    f32: Convert<T>,
{
    let outputs = Rv::<T, N, V2>::fragment().registers() as u32;
    build::<(In<f32>, Out<T::Word>)>(|k, (x, y)| {
        let x = k.global(x, row_major(BLOCKS as u32 * 16 * N as u32, 16));
        let tile = x.tile(k.ctaid_x(), 0).load::<f32, N, 1, Row>();
        let vector = tile.row_max().convert::<T>().to_layout::<V>().to_layout::<V2>();
        let y = k.slice(y, BLOCKS as u32 * 32 * outputs);
        let thread = k.ctaid_x() * 32 + k.tid_x();
        for (at, word) in (0..outputs).zip(vector.registers()) {
            y.at(thread * outputs + at).store(word);
        }
    })
}

/// Checks the registers of every lane against the layout, and returns the number of `shfl` of the conversion.
fn convert<T, const N: usize, V: VectorLayout, V2: VectorLayout>() -> usize
where
    T: Numeral + TensorElement<Word: Element<Reg = T::Word>>,
    f32: Convert<T>,
{
    let kernel = kernel::<T, N, V, V2>();
    let number = |block: usize, row: usize| (block * 16 * N + row) as f64 + 1.0;
    let rows = (0..BLOCKS).flat_map(|block| (0..16 * N).map(move |row| number(block, row) as f32));
    let input: Vec<f32> = rows.flat_map(|number| [number; 16]).collect();
    let layout = Rv::<T, N, V2>::fragment();
    let mut expected = vec![0u64; BLOCKS * (32 * layout.registers()) as usize];
    for (block, lane) in (0..BLOCKS).flat_map(|block| (0..32).map(move |lane| (block, lane))) {
        for element in layout.elements(lane).unwrap() {
            let bits = T::of(number(block, element.row() as usize)).to_mem_bits();
            let thread = block as i64 * 32 + lane;
            expected[(thread * layout.registers() + element.register) as usize] |=
                bits << (element.slot as u32 * 8 * T::SIZE);
        }
    }
    let found = run(&kernel, &input, expected.len());
    assert_eq!(found, expected, "{} {N}·16, {} to {}", T::NAME, V::NAME, V2::NAME);
    count(&kernel, "shfl") - count(&self::kernel::<T, N, V, V>(), "shfl")
}

/// All nine conversions of one length, each of which emits at most as many `shfl` as `most`, and none if the layouts are the same.
/// Lengths of `Naive` vectors count the elements of a lane.
fn conversions<T, const N: usize>(most: impl Fn(usize, usize) -> [[usize; 3]; 3])
where
    T: Numeral + TensorElement<Word: Element<Reg = T::Word>>,
    f32: Convert<T>,
{
    let found = [
        [
            convert::<T, N, Orthogonal, Orthogonal>(),
            convert::<T, N, Orthogonal, Aligned>(),
            convert::<T, N, Orthogonal, Naive>(),
        ],
        [
            convert::<T, N, Aligned, Orthogonal>(),
            convert::<T, N, Aligned, Aligned>(),
            convert::<T, N, Aligned, Naive>(),
        ],
        [
            convert::<T, N, Naive, Orthogonal>(),
            convert::<T, N, Naive, Aligned>(),
            convert::<T, N, Naive, Naive>(),
        ],
    ];
    let most = most(N, Rv::<T, N, Naive>::fragment().values() as usize);
    let is_few = found.iter().flatten().zip(most.iter().flatten()).all(|(found, most)| found <= most);
    assert!(is_few, "{} {N}·16: {found:?}, expected at most {most:?}", T::NAME);
}

/// A lane receives each register of the result at most once.
#[test]
fn vectors_of_32_bits() {
    let most = |n, own| [[0, 4 * n, own], [2 * n, 0, own], [2 * n, 4 * n, 0]];
    conversions::<f32, 1>(most);
    conversions::<f32, 3>(most);
    conversions::<f32, 4>(most);
    conversions::<f32, 8>(most);
}

/// The two elements of a register share a `shfl` if they have the same owner: not g and g + 8 of an orthogonal vector in the others.
#[test]
fn vectors_of_16_bits() {
    let most = |n, own| [[0, 2 * n, own], [n, 0, own / 2], [2 * n, 2 * n, 0]];
    conversions::<bf16, 1>(most);
    conversions::<bf16, 4>(most);
    conversions::<f16, 16>(most);
}

// ── Columns ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Gathers columns of `H`×`W` subtiles; a subtile may take `most` shuffles.
fn gather<T: TensorElement, const H: usize, const W: usize, L: RegisterLayout>(
    from: fn(u32) -> u32,
    most: usize,
) {
    let (rows, cols) = (Rt::<T, H, W, L>::ROWS, Rt::<T, H, W, L>::COLS);
    let input: Vec<T> = (0..BLOCKS * (rows * cols) as usize).map(coded).collect();
    let kernel = build::<(In<T>, Out<T>)>(|k, (x, y)| {
        let matrix = || row_major(BLOCKS as u32 * rows, cols);
        let tile: Rt<T, H, W, L> = k.global(x, matrix()).tile(k.ctaid_x(), 0).load();
        k.global(y, matrix()).tile(k.ctaid_x(), 0).store(&tile.gather_cols(from));
    });
    let element = |at: usize| {
        let (row, col) = (at / cols as usize, at as u32 % cols);
        input[row * cols as usize + from(col) as usize].to_mem_bits()
    };
    let what = format!("{}, {H}x{W}", T::NAME);
    assert_eq!(
        run(&kernel, &input, input.len()),
        (0..input.len()).map(element).collect::<Vec<_>>(),
        "{what}"
    );
    assert!(count(&kernel, "shfl") <= most * H * W, "{what}: {}", kernel.ptx());
}

/// Permutations of a lane's own elements take no shuffle, those between lanes one per register.
#[test]
fn columns_are_gathered() {
    gather::<bf16, 2, 1, Row>(|col| col, 0);
    gather::<bf16, 2, 1, Row>(|col| col ^ 9, 0);
    gather::<bf16, 1, 1, Row>(|col| col ^ 2 ^ (col >> 1 & 1), 4);
    gather::<bf16, 1, 1, Row>(|col| col ^ 14 ^ (col >> 3), 4);
    gather::<f16, 1, 2, Col>(|col| col ^ 16 ^ 8, 0);
    gather::<f16, 1, 1, Col>(|col| col ^ 5 ^ (col >> 2 & 1), 4);
    gather::<f32, 1, 1, Row>(|col| col ^ 4, 8);
    gather::<f32, 2, 2, Col>(|col| 31 - col, 8);
    gather::<u8, 1, 1, Row>(|col| (col + 1) % 32, 8);
    gather::<bf16, 1, 2, Row>(|col| col * 5 % 32, 8);
    gather::<f64, 1, 1, Row>(|_| 7, 16);
}

/// A column that the tile does not have.
#[test]
fn gathered_columns_exist() {
    let error = Kernel::<()>::build("outside", Target::SM_80, |k, ()| {
        let _ = k.zeros::<Rt<bf16, 1, 2>>().gather_cols(|col| col + 1);
    });
    let text = error.expect_err("no column 32").to_string();
    assert!(text.contains("expected a source column below 32 for column 31, found 32"), "{text}");
}

// ── Prefix sums ──────────────────────────────────────────────────────────────────────────────────────────────────────

/// Prefix sums of a vector of small integers, in every layout.
fn scan<const N: usize, V: VectorLayout>() {
    let length = Rv::<f32, N, V>::LENGTH;
    let input: Vec<f32> = (0..BLOCKS as u32 * length).map(|i| (i * 37 % 23) as f32 - 9.0).collect();
    let kernel = build::<(In<f32>, Out<f32>)>(|k, (x, y)| {
        let whole = || vector(BLOCKS as u32 * length);
        let elements: Rv<f32, N, V> = k.global(x, whole()).tile(k.ctaid_x()).load();
        k.global(y, whole()).tile(k.ctaid_x()).store(&elements.scan());
    });
    let sums = |block: &[f32]| {
        block
            .iter()
            .scan(0.0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect::<Vec<f32>>()
    };
    let expected: Vec<f32> = input.chunks(length as usize).flat_map(sums).collect();
    assert_eq!(run(&kernel, &input, input.len()), bits(&expected), "{} {N}·16", V::NAME);
}

#[test]
fn vectors_are_summed_up() {
    scan::<1, Orthogonal>();
    scan::<4, Orthogonal>();
    scan::<3, Aligned>();
    scan::<1, Naive>();
    scan::<3, Naive>();
    scan::<4, Naive>();
    scan::<16, Naive>();
}

// ── Parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// A tile is split, its parts are exchanged and joined, and only the copy of a part moves registers.
#[test]
fn parts() {
    let (rows, cols) = (64, 48);
    let all_rows = BLOCKS as u32 * rows;
    let input: Vec<bf16> = (0..BLOCKS * (rows * cols) as usize).map(coded).collect();
    let kernel = build::<(In<bf16>, Out<bf16>)>(|k, (x, y)| {
        let tile: Rt<bf16, 4, 3> = k.global(x, row_major(all_rows, cols)).tile(k.ctaid_x(), 0).load();
        let [top, bottom] = tile.vsplit::<2, 2>();
        let tile = Rt::<bf16, 4, 3>::vconcat([bottom, top]);
        let [left, middle, right] = tile.hsplit::<1, 3>();
        let tile = Rt::<bf16, 4, 3>::hconcat([middle, right, left]);
        k.global(y, row_major(all_rows, cols)).tile(k.ctaid_x(), 0).store(&tile);
    });
    let element = |at: usize| {
        let (block, row, col) = (at / (64 * 48), at / 48 % 64, at % 48);
        input[block * 64 * 48 + (row + 32) % 64 * 48 + (col + 16) % 48].to_mem_bits()
    };
    assert_eq!(run(&kernel, &input, input.len()), (0..input.len()).map(element).collect::<Vec<_>>());
    assert_eq!(count(&kernel, "mov.b32"), 0, "{}", kernel.ptx());

    let kernel = build::<(In<bf16>, Out<bf16>)>(|k, (x, y)| {
        let tile: Rt<bf16, 4, 3> = k.global(x, row_major(all_rows, cols)).tile(k.ctaid_x(), 0).load();
        k.global(y, row_major(BLOCKS as u32 * 32, 16))
            .tile(k.ctaid_x(), 0)
            .store(&tile.subtile::<2, 1>(1, 2));
    });
    let element = |at: usize| {
        let (block, row, col) = (at / (32 * 16), at / 16 % 32, at % 16);
        input[block * 64 * 48 + (row + 16) * 48 + col + 32].to_mem_bits()
    };
    assert_eq!(
        run(&kernel, &input, BLOCKS * 32 * 16),
        (0..BLOCKS * 32 * 16).map(element).collect::<Vec<_>>()
    );
}

/// The two halves of a complex tile are stored to shared memory in the opposite order, and loaded as a whole and in parts.
#[test]
fn parts_of_complex_tiles() {
    type Args = (In<bf16>, In<bf16>, Out<bf16>, Out<bf16>);
    let (rows, cols) = (32, 32);
    let input: Vec<bf16> = (0..2 * BLOCKS * rows * cols).map(coded).collect();
    let (re, im) = input.split_at(BLOCKS * rows * cols);
    let kernel = build::<Args>(|k, (re, im, y, z)| {
        let matrix = || row_major(BLOCKS as u32 * 32, 32);
        let x = Cgl { re: k.global(re, matrix()), im: k.global(im, matrix()) };
        let tile: Crt<bf16, 2, 2> = x.tile(k.ctaid_x(), 0).load();
        let swapped = k.shared_tile::<Cst<bf16, 2, 2>>().store_with(|all| {
            all.subtile(1, 0).store(&tile.subtile::<1, 2>(0, 0));
            all.subtile(0, 0).store(&tile.subtile::<1, 2>(1, 0));
        });
        let swapped = swapped.wait();
        k.global(y, matrix()).tile(k.ctaid_x(), 0).store(&swapped.load::<Row>().im);
        for i in 0..2 {
            let part = swapped.subtile(i, 0).load::<1, 2, Row>();
            k.global(z, matrix()).tile(k.ctaid_x() * 2 + i, 0).store(&part.re);
        }
    });
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let (a, b) = (device.upload(re).unwrap(), device.upload(im).unwrap());
        let [mut y, mut z] = [(); 2].map(|()| device.output::<bf16>(re.len()).unwrap());
        device.launch(&kernel, (&a, &b, &mut y, &mut z)).unwrap();
        [bits(&device.download(&y).unwrap()), bits(&device.download(&z).unwrap())]
    });
    let swapped = |part: &[bf16]| -> Vec<u64> {
        let blocks = part.chunks(rows * cols);
        blocks
            .flat_map(|block| bits(&[&block[rows * cols / 2..], &block[..rows * cols / 2]].concat()))
            .collect()
    };
    assert_eq!(found, [swapped(im), swapped(re)]);
}

/// A part that reaches past its tile.
#[test]
fn parts_stay_inside() {
    let error = Kernel::<()>::build("outside", Target::SM_80, |k, ()| {
        let _ = k.zeros::<Rt<bf16, 2, 2>>().subtile::<2, 1>(1, 0);
    });
    let text = error.expect_err("two rows from row 1 of two").to_string();
    assert!(text.contains("expected a part of 2×2 subtiles, found 2×1 at (1, 0)"), "{text}");
}
