//! Operations that combine tiles, vectors and memory in ways that the tables of the other tests do not cover: broadcasts with a function,
//! rows stored to shared tiles, fills past edges, parts in place, queries of shared tiles; two blocks, two launches, poisoned outputs.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::{Element, Params},
    run::Device,
    tiles::{Aligned, Broadcast, Convert, Naive, RegisterLayout, SaturatingElement, VectorLayout},
};

use super::{
    codes::{Coded, code, coded},
    numbers::Numeral,
};
use crate::cases::everywhere;

fn build<A: Params>(
    target: Target,
    threads: u32,
    write: &dyn for<'k> Fn(Builder<'k>, A::Handles<'k>),
) -> Kernel<A> {
    let kernel = Kernel::<A>::build("vocabulary", target, |k, arguments| {
        k.block([threads]);
        k.grid([2]);
        write(k, arguments);
    });
    let kernel = kernel.unwrap_or_else(|error| panic!("{error}"));
    crate::assemble::kernel(&kernel);
    kernel
}

/// The results of two launches on a poisoned output, in f64; the second on the numbers of the other blocks.
fn run<T: Numeral, U: Numeral>(
    kernel: &Kernel<(In<T>, Out<U>)>,
    input: &[T],
    outputs: usize,
) -> [Vec<f64>; 2] {
    let mut other = input.to_vec();
    other.rotate_left(input.len() / 2);
    everywhere(|device| {
        let mut y = device.upload(&vec![U::of(-77.0); outputs]).unwrap();
        [input, &other].map(|input| {
            device.launch(kernel, (&device.upload(input).unwrap(), &mut y)).unwrap();
            let numbers: Vec<f64> = device.download(&y).unwrap().into_iter().map(U::number).collect();
            // NaN are equal here.
            numbers.into_iter().map(|x| if x.is_nan() { f64::from(u16::MAX) } else { x }).collect()
        })
    })
}

/// The results of the two launches of [`run`], of matrices of `rows` rows for each block.
fn each_launch(rows: usize, f: &OfTile<'_>) -> [Vec<f64>; 2] {
    [[0, 1], [1, 0]].map(|order| {
        let tile = |block: usize| {
            f(&move |row, col| f64::from(code::<f32>((block * rows + row) as u32, col as u32)))
        };
        order.into_iter().flat_map(tile).collect()
    })
}

/// The results of a tile, given its elements.
type OfTile<'a> = dyn Fn(&dyn Fn(usize, usize) -> f64) -> Vec<f64> + 'a;

fn zips<T, L: RegisterLayout>()
where
    T: Coded + Numeral + Convert<f32>,
    f32: Convert<T>,
    L::PerRow<T::Length>: Broadcast<L, 2, 3, 2, T::Length>,
{
    let kernel = build::<(In<T>, Out<f32>)>(Target::SM_80, 32, &|k, (x, y)| {
        let t: Rt<f32, 2, 3, L> = k.global(x, row_major(64, 48)).tile(k.ctaid_x(), 0).load();
        let (rows, cols) = (t.row_min(), t.col_min());
        let indices = cols.map_to::<i32>(|x| x.cast::<i32>());
        let t = t
            .zip_rows(&rows, |x, least| x - least * 2.0)
            .zip_cols(&indices, |x, least| x + least.cast::<f32>());
        let t = &t + &Rt::<f32, 2, 3, L>::broadcast(&rows.map(|x| x * 512.0));
        let t = t.zip_rows(&rows, |x, _| x + 0.5);
        k.global(y, row_major(64, 48)).tile(k.ctaid_x(), 0).store(&t);
    });
    let expected = each_launch(32, &|x| {
        let row = |row: usize| (0..48).map(|col| x(row, col)).fold(999.0, f64::min);
        let col = |col: usize| (0..32).map(|row| x(row, col)).fold(999.0, f64::min);
        (0..32 * 48)
            .map(|at| (at / 48, at % 48))
            .map(|(i, j)| x(i, j) + row(i) * 510.0 + col(j) + 0.5)
            .collect()
    });
    assert_eq!(run(&kernel, &coded::<T>(64, 48), 64 * 48), expected);
}

#[test]
fn vectors_are_zipped_with_tiles() {
    zips::<f32, Row>();
    zips::<bf16, Col>();
}

/// The words of a packed tile and of packed vectors.
#[test]
fn vectors_are_zipped_with_packed_tiles() {
    let kernel = build::<(In<bf16>, Out<bf16>)>(Target::SM_90, 32, &|k, (x, y)| {
        let t: Rt<bf16, 1, 2> = k.global(x, row_major(32, 32)).tile(k.ctaid_x(), 0).load();
        let (rows, cols) = (t.row_min().convert::<bf16>(), t.col_min().convert::<bf16>());
        let t = t.zip_rows(&rows, |x, least| x - least).zip_cols(&cols, |x, least| x.max(least));
        let t = t - &Rt::<bf16, 1, 2>::broadcast(&cols);
        k.global(y, row_major(32, 32)).tile(k.ctaid_x(), 0).store(&t);
    });
    let expected = each_launch(16, &|x| {
        let row = |row: usize| (0..32).map(|col| x(row, col)).fold(999.0, f64::min);
        let col = |col: usize| (0..16).map(|row| x(row, col)).fold(999.0, f64::min);
        (0..512).map(|at| (x(at / 32, at % 32) - row(at / 32)).max(col(at % 32)) - col(at % 32)).collect()
    });
    assert_eq!(run(&kernel, &coded::<bf16>(32, 32), 1024), expected);
}

/// Rows of a shared tile are stored from vectors of every layout, columns too; the tile is then loaded as a whole.
fn rows_of_shared<T, V: VectorLayout>()
where
    T: Coded + Numeral + Convert<f32>,
    f32: Convert<T>,
{
    let kernel = build::<(In<T>, Out<f32>)>(Target::SM_80, 64, &|k, (x, y)| {
        let (x, b) = (k.global(x, row_major(32, 32)), k.ctaid_x());
        let tile = k.shared_tile::<St<T, 1, 2>>().store_with(|tile| {
            k.over_warps(15, |row| {
                let v: Rv<T, 2, V> = x.row(b * 16 + row).tile(0).load();
                tile.row(15 - row).store(&v);
            });
            k.when_warp(0, |_| tile.row(0).store(&x.row(b * 16 + 15).tile(0).load::<f32, 2, V>()));
        });
        let tile = tile.wait();
        k.when_warp(1, |_| {
            let rows: Rt<f32, 1, 2> = tile.load_as();
            k.global(y, row_major(32, 32)).tile(b, 0).store(&rows);
        });
    });
    let expected = each_launch(16, &|x| (0..512).map(|at| x(15 - at / 32, at % 32)).collect());
    assert_eq!(run(&kernel, &coded::<T>(32, 32), 1024), expected, "{}", V::NAME);
}

#[test]
fn rows_are_stored_to_shared_tiles() {
    rows_of_shared::<bf16, Naive>();
    rows_of_shared::<f32, Aligned>();
    let kernel = build::<(In<f32>, Out<f32>)>(Target::SM_80, 32, &|k, (x, y)| {
        let (x, b) = (k.global(x, row_major(32, 16)), k.ctaid_x());
        let tile = k.shared_tile::<St<f32, 1, 1>>().store_with(|tile| {
            k.for_(16, |col| tile.col(col).store(&x.row(b * 16 + col).tile(0).load::<f32, 1, Naive>()));
        });
        k.global(y, row_major(32, 16)).tile(b, 0).store(&tile.wait().load::<Row>());
    });
    let expected = each_launch(16, &|x| (0..256).map(|at| x(at % 16, at / 16)).collect());
    assert_eq!(run(&kernel, &coded::<f32>(32, 16), 512), expected);
}

/// Elements past the edges of a matrix of 40×20 and of vectors: every element, aligned and not.
fn fills<T: Coded + Numeral>(threads: u32, pitch: u32) {
    let kernel = build::<(In<T>, Out<T>)>(Target::SM_80, threads, &|k, (x, y)| {
        let x = k.global(x, row_major(40, 20).with_row_stride(pitch));
        let (y, b) = (k.global(y, row_major(96, 32)), k.ctaid_x());
        let tile = k.shared_tile::<St<T, 2, 2>>().fill_or(x.tile(b, 0), T::of(3.0)).wait();
        y.tile(b, 0).store_shared(&tile);
        let v = k.shared_tile::<Sv<T, 2>>().fill_or(x.row(b).tile(0), T::of(5.0)).wait();
        y.row(b + 64).tile(0).store_shared(&v);
        k.when_warp(0, |_| {
            y.row(b + 66).tile(0).store(&x.row(b).row_vector_or::<T, 2>(0, T::of(7.0)));
            y.row(b + 68).tile(0).store(&x.col(b).col_vector_or::<T, 2>(1, T::of(9.0)));
        });
    });
    let matrix: Vec<T> = (0..40 * pitch).map(|at| code(at / pitch, at % pitch)).collect();
    let found = everywhere(|device| {
        let mut y = device.upload(&[T::of(-77.0); 96 * 32]).unwrap();
        for _ in 0..2 {
            device.launch(&kernel, (&device.upload(&matrix).unwrap(), &mut y)).unwrap();
        }
        device.download(&y).unwrap().into_iter().map(T::number).collect::<Vec<_>>()
    });
    let at = |row: usize, col: usize, fill: f64| {
        if row < 40 && col < 20 { code::<T>(row as u32, col as u32).number() } else { fill }
    };
    for (i, found) in found.into_iter().enumerate() {
        let (row, col) = (i / 32, i % 32);
        let expected = match row {
            ..64 => at(row, col, 3.0),
            64..66 => at(row - 64, col, 5.0),
            66..68 => at(row - 66, col, 7.0),
            68..70 => at(32 + col, row - 68, 9.0),
            _ => -77.0,
        };
        assert_eq!(found, expected, "{} ({row}, {col}), pitch {pitch}", T::NAME);
    }
}

#[test]
fn elements_past_edges_are_filled() {
    fills::<f32>(32, 20);
    fills::<bf16>(64, 24);
    fills::<f16>(96, 21);
}

/// A part of a tile is replaced in place: nothing moves but what the function changes.
#[test]
fn parts_change_in_place() {
    let kernel = build::<(In<f32>, Out<f32>)>(Target::SM_80, 32, &|k, (x, y)| {
        let t: Rt<f32, 2, 3> = k.global(x, row_major(64, 48)).tile(k.ctaid_x(), 0).load();
        let t = t.update_subtile::<1, 2>(1, 1, |part| part * 2.0);
        k.global(y, row_major(64, 48)).tile(k.ctaid_x(), 0).store(&t);
    });
    let expected = each_launch(32, &|x| {
        let part = |row: usize, col: usize| if row >= 16 && col >= 16 { 2.0 } else { 1.0 };
        (0..32 * 48).map(|at| (at / 48, at % 48)).map(|(i, j)| x(i, j) * part(i, j)).collect()
    });
    assert_eq!(run(&kernel, &coded::<f32>(64, 48), 64 * 48), expected);
    let ptx = kernel.ptx();
    assert_eq!(ptx.lines().filter(|line| line.trim().starts_with("mov.f32")).count(), 0, "{ptx}");
    let error = Kernel::<()>::build("outside", Target::SM_80, |k, ()| {
        let _ = k.zeros::<Rt<bf16, 2, 2>>().update_subtile::<2, 1>(1, 0, |part| part);
    });
    let text = error.expect_err("two rows from row 1 of two").to_string();
    assert!(text.contains("expected a part of 2×2 subtiles, found 2×1 at (1, 0)"), "{text}");
}

/// Queries of shared tiles and vectors, the same in all threads: the first launch has no NaN, the second one in the second block.
fn queries<T>(warps: u32)
where
    T: Coded + Numeral + warpwright::tiles::Accumulate<Sum = f32>,
{
    let kernel = build::<(In<T>, Out<u32>)>(Target::SM_80, 32 * warps, &|k, (x, y)| {
        let (x, b) = (k.global(x, row_major(160, 32)), k.ctaid_x());
        let tile = k.shared_tile::<St<T, 5, 2>>().fill(x.tile(b, 0)).wait();
        let v = k.shared_tile::<Sv<T, 2>>().fill(x.row(b * 80 + 79).tile(0)).wait();
        let results = [
            tile.has_nan(),
            tile.any(|x| x.gt(250.0)),
            tile.all(|x| x.lt(252.0)),
            tile.all(|x| x.ge(1.0)),
            tile.any(|x| x.lt(1.0)),
            v.has_nan(),
        ];
        let y = k.slice(y, 2 * 32 * warps * 6);
        for (i, result) in (0u32..).zip(results) {
            y.at((b * 32 * warps + k.tid_x()) * 6 + i).store(result.select(1u32, 0u32));
        }
    });
    let clean = coded::<T>(160, 32);
    let found = everywhere(|device| {
        let mut y = device.upload(&vec![77u32; (2 * 32 * warps * 6) as usize]).unwrap();
        [false, true].map(|nan| {
            let mut x = clean.clone();
            if nan {
                x[159 * 32 + 31] = T::of(f64::NAN);
            }
            device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
            device.download(&y).unwrap()
        })
    });
    for (launch, found) in found.into_iter().enumerate() {
        let clean = [0, 1, 1, 1, 0, 0];
        let expected = [clean, if launch == 0 { clean } else { [1, 1, 0, 0, 0, 1] }];
        let threads = expected.into_iter().flat_map(|of| (0..32 * warps).flat_map(move |_| of));
        assert_eq!(found, threads.collect::<Vec<_>>(), "{} by {warps} warps", T::NAME);
    }
}

#[test]
fn shared_tiles_are_queried() {
    queries::<f32>(1);
    queries::<bf16>(4);
    queries::<f16>(8);
}

/// f64 and integers of 32 and 64 bits to one another, directly: large, halves, and out of range.
#[test]
fn long_types_convert_directly() {
    fn convert<T: Numeral + Convert<U>, U: Numeral>(numbers: &[(T, U)]) {
        let kernel = build::<(In<T>, Out<U>)>(Target::SM_80, 32, &|k, (x, y)| {
            let t = k.global(x, row_major(32, 16)).tile(k.ctaid_x(), 0).load::<T, 1, 1, Row>();
            k.global(y, row_major(32, 16)).tile(k.ctaid_x(), 0).store(&t.convert::<U>());
        });
        let input: Vec<T> = (0..512).map(|at| numbers[at % numbers.len()].0).collect();
        let found = everywhere(|device| {
            let mut y = device.output::<U>(512).unwrap();
            device.launch(&kernel, (&device.upload(&input).unwrap(), &mut y)).unwrap();
            device.download(&y).unwrap().into_iter().map(|y: U| y.to_mem_bits()).collect::<Vec<_>>()
        });
        let expected: Vec<u64> = (0..512).map(|at| numbers[at % numbers.len()].1.to_mem_bits()).collect();
        assert_eq!(found, expected, "{} to {}", T::NAME, U::NAME);
    }
    const EXACT: i64 = (1 << 53) - 1;
    convert::<f64, i32>(&[
        (2.5, 2),
        (-3.5, -4),
        (1e10, i32::MAX),
        (-1e10, i32::MIN),
        (16_777_217.0, 16_777_217),
    ]);
    convert::<i32, f64>(&[(i32::MAX, 2_147_483_647.0), (i32::MIN, -2_147_483_648.0), (7, 7.0)]);
    convert::<f64, u32>(&[(4e9, 4_000_000_000), (-1.0, 0), (0.5, 0), (1.5, 2), (1e10, u32::MAX)]);
    convert::<f64, i64>(&[(EXACT as f64, EXACT), (-2.5, -2), (1e19, i64::MAX)]);
    convert::<i64, f64>(&[(EXACT, EXACT as f64), (-5, -5.0), ((1 << 53) + 1, (1u64 << 53) as f64)]);
    convert::<f64, u64>(&[(1e19, 10_000_000_000_000_000_000), (-1.0, 0)]);
    convert::<i64, i32>(&[(1 << 40, i32::MAX), (-(1 << 40), i32::MIN), (-5, -5)]);
    convert::<i32, i64>(&[(-5, -5), (i32::MAX, 2_147_483_647)]);
    convert::<u64, i32>(&[(u64::MAX, i32::MAX), (9, 9)]);
    convert::<i32, u32>(&[(-5, 0), (i32::MAX, 2_147_483_647)]);
    convert::<u32, i32>(&[(u32::MAX, i32::MAX), (3, 3)]);
    convert::<i64, f32>(&[((1 << 24) + 1, 16_777_216.0), (-(1 << 40), -1_099_511_627_776.0)]);
    convert::<bf16, i64>(&[(bf16::from_f32(3.5), 4), (bf16::from_f32(-2.5), -2)]);
}

/// Magnitudes above the largest finite number, infinities, NaN, and numbers that round up to an infinity.
#[test]
fn conversions_saturate() {
    fn check<T: Numeral + SaturatingElement>(most: f32) {
        let numbers = [
            1.0,
            -2.5,
            most,
            most * 1.5,
            -most * 1.5,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            3e38,
            0.1,
            most * 1.0005,
        ];
        let kernel = build::<(In<f32>, Out<T>)>(Target::SM_80, 32, &|k, (x, y)| {
            let (x, y, b) = (k.global(x, row_major(48, 16)), k.global(y, row_major(48, 16)), k.ctaid_x());
            let t: Rt<f32, 1, 1> = x.tile(b, 0).load();
            y.tile(b, 0).store(&t.convert_saturating::<T>());
            let v: Rv<f32, 1, Aligned> = x.row(32 + b).tile(0).load();
            y.row(32 + b).tile(0).store(&v.convert_saturating::<T>());
            let constant = k.filled::<Rv<f32, 1, Aligned>>(numbers[4]);
            y.row(34 + b).tile(0).store(&constant.convert_saturating::<T>());
        });
        let x: Vec<f32> = (0..768).map(|at| numbers[at % numbers.len()]).collect();
        let found = everywhere(|device| {
            let mut y = device.upload(&[T::of(77.0); 768]).unwrap();
            for _ in 0..2 {
                device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
            }
            device.download(&y).unwrap().into_iter().map(|y: T| y.number().to_bits()).collect::<Vec<_>>()
        });
        for (at, found) in found.into_iter().map(f64::from_bits).enumerate() {
            let x = if (34 * 16..36 * 16).contains(&at) { numbers[4] } else { x[at] };
            let nearest = T::of(f64::from(x)).number();
            let expected = match at / 16 {
                36.. => 77.0,
                _ if nearest.is_infinite() => f64::from(most).copysign(nearest),
                _ => nearest,
            };
            assert!(
                found == expected || found.is_nan() && expected.is_nan(),
                "{} of {x}: {found}, expected {expected}",
                T::NAME
            );
        }
    }
    check::<f16>(65504.0);
    check::<bf16>(bf16::MAX.to_f32());
}

/// The facts of a type are those of its layout.
#[test]
fn facts_of_types() {
    fn tile<
        T: Element + warpwright::tensor::TensorElement,
        const H: usize,
        const W: usize,
        L: RegisterLayout,
    >() {
        let fragment = Rt::<T, H, W, L>::fragment();
        let facts = [Rt::<T, H, W, L>::ELEMENTS_PER_LANE, Rt::<T, H, W, L>::REGISTERS];
        assert_eq!(facts, [fragment.values() as usize, fragment.registers() as usize]);
        assert_eq!(Rt::<T, H, W, L>::ELEMENTS, Rt::<T, H, W, L>::ROWS * Rt::<T, H, W, L>::COLS);
        assert_eq!(Rt::<T, H, W, L>::SUBTILES, Rt::<T, H, W, L>::HEIGHT * Rt::<T, H, W, L>::WIDTH);
        assert_eq!(Rt::<T, H, W, L>::ELEMENTS_PER_REGISTER * facts[1], facts[0]);
    }
    fn vector<T: warpwright::tensor::TensorElement, const N: usize>() {
        fn of<T: warpwright::tensor::TensorElement, const N: usize, V: VectorLayout>() {
            let fragment = Rv::<T, N, V>::fragment();
            let facts = [Rv::<T, N, V>::ELEMENTS_PER_LANE, Rv::<T, N, V>::REGISTERS];
            assert_eq!(facts, [fragment.values() as usize, fragment.registers() as usize], "{N} {}", V::NAME);
            assert_eq!(Rv::<T, N, V>::LENGTH as usize, 16 * Rv::<T, N, V>::SUBTILES);
        }
        of::<T, N, warpwright::tiles::Orthogonal>();
        of::<T, N, Aligned>();
        of::<T, N, Naive>();
    }
    tile::<bf16, 2, 3, Row>();
    tile::<f64, 1, 2, Col>();
    tile::<e4m3, 3, 1, Row>();
    vector::<f32, 1>();
    vector::<f32, 5>();
    vector::<f64, 8>();
    vector::<bf16, 12>();
    vector::<u8, 6>();
    assert_eq!((St::<bf16, 2, 3>::ELEMENTS, St::<u8, 2, 3>::ELEMENTS), (32 * 48, 32 * 96));
    assert_eq!((St::<bf16, 2, 3>::BYTES, St::<f64, 1, 1>::BYTES), (32 * 48 * 2, 256 * 8));
    assert_eq!(St::<f32, 2, 2, warpwright::tiles::Padded>::BYTES, 32 * (32 * 4 + 32));
}
