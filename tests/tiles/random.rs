//! Random tiles and dropout, compared with a reference on the host that reproduces the published results of Random123.

use pretty_assertions::assert_eq;
use warpwright::{
    prelude::*,
    ptx::e4m3,
    run::Device,
    tiles::{Accumulate, Random, RegisterLayout},
};

use super::codes::Coded;
use crate::{cases::everywhere, philox::philox};

const SEED: u64 = 0x0123_4567_89ab_cdef;
const OFFSET: u64 = 0xfedc_ba98_0000_0007;

/// The word of an element, as documented.
fn word(row: usize, col: usize) -> u32 {
    let [row, col] = [row, col].map(|x| x as u32);
    let counter = [row & !8, col & !8, OFFSET as u32, (OFFSET >> 32) as u32];
    philox(counter, [SEED as u32, (SEED >> 32) as u32])[(row / 8 % 2 * 2 + col / 8 % 2) as usize]
}

/// Counter, key and result of `kat_vectors` of Random123 for "philox4x32 10".
const KNOWN: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
    ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
    ([u32::MAX; 4], [u32::MAX; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
    (
        [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
        [0xa409_3822, 0x299f_31d0],
        [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
    ),
];

#[test]
fn known_answers() {
    for (counter, key, expected) in KNOWN {
        assert_eq!(philox(counter, key), expected, "the reference");
    }
    // From registers, and from constants, which are folded.
    let kernel = Kernel::<(In<u32>, Out<u32>)>::build("known(x, y)", Target::SM_75, |k, (x, y)| {
        k.block([1]);
        k.grid([1]);
        let (x, y) = (k.global(x, row_major(3, 6)), k.global(y, row_major(6, 4)));
        for (row, (counter, key, _)) in (0..).zip(KNOWN) {
            let of = |col: u32| x.at(row, col).load();
            let loaded = k.philox4x32([of(0), of(1), of(2), of(3)], [of(4), of(5)]);
            let constant = k.philox4x32(counter.map(Val::from), key.map(Val::from));
            assert!(constant.iter().all(|word| word.as_constant().is_some()));
            for (col, (loaded, constant)) in (0u32..).zip(loaded.into_iter().zip(constant)) {
                y.at(row, col).store(loaded);
                y.at(row + 3, col).store(constant);
            }
        }
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<u32> = KNOWN.iter().flat_map(|(counter, key, _)| counter.iter().chain(key)).copied().collect();
    let found = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let mut y = device.output::<u32>(24).unwrap();
        device.launch(&kernel, (&x, &mut y)).unwrap();
        device.download(&y).unwrap()
    });
    let expected: Vec<u32> = KNOWN.iter().flat_map(|(.., result)| *result).collect();
    assert_eq!(found, expected.repeat(2));
}

/// The matrix of the tests of tiles.
const ROWS: usize = 96;
const COLS: usize = 96;

/// Applies `store` to every tile of `height`×`width` subtiles: two blocks of three warps, each warp one tile at a time.
fn every_tile<'k>(k: Builder<'k>, [height, width]: [u32; 2], store: impl FnOnce(Val<'k, u32>, Val<'k, u32>)) {
    k.block([96]);
    k.grid([2]);
    let (across, count) = (COLS as u32 / 16 / width, (ROWS * COLS) as u32 / 256 / (height * width));
    let warp = k.ctaid_x() * 3 + k.warp();
    k.for_(count.div_ceil(6), |step| {
        let tile = step * 6 + warp;
        k.when(tile.lt(count), || store(tile / across, tile % across));
    });
}

/// The bits and the uniform numbers of all elements, and the bits of the transpose, in tiles of one shape and layout.
fn in_tiles<const H: usize, const W: usize, L: RegisterLayout>() {
    type Args = (Out<u32>, Out<u32>, Out<f32>, u64, u64);
    let signature = "random(bits, transposed, uniform, seed, offset)";
    let kernel = Kernel::<Args>::build(signature, Target::SM_75, |k, args| {
        let (bits, transposed, uniform, seed, offset) = args;
        let shape = row_major(ROWS as u32, COLS as u32);
        let [bits, transposed] = [bits, transposed].map(|bits| k.global(bits, shape));
        let uniform = k.global(uniform, shape);
        let random: Random<'_> = k.random(seed, offset);
        every_tile(k, [H as u32, W as u32], |row, col| {
            transposed.tile(row, col).store(&random.transposed().tile(row, col).bits::<H, W, L>());
            let random = random.tile(row, col);
            bits.tile(row, col).store(&random.bits::<H, W, L>());
            uniform.tile(row, col).store(&random.uniform::<H, W, L>());
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let (bits, transposed, uniform) = everywhere(|device| {
        let [mut bits, mut transposed] = [(); 2].map(|()| device.output::<u32>(ROWS * COLS).unwrap());
        let mut uniform = device.output::<f32>(ROWS * COLS).unwrap();
        device.launch(&kernel, (&mut bits, &mut transposed, &mut uniform, SEED, OFFSET)).unwrap();
        let bits = [bits, transposed].map(|bits| device.download(&bits).unwrap());
        let [bits, transposed] = bits;
        (bits, transposed, device.download(&uniform).unwrap())
    });
    for (at, (&bits, &uniform)) in bits.iter().zip(&uniform).enumerate() {
        let expected = word(at / COLS, at % COLS);
        let number = f64::from(expected >> 8) / f64::from(1 << 24);
        let place = format!("element {at} in tiles of {H}×{W} {:?}", L::LAYOUT);
        assert_eq!((bits, f64::from(uniform)), (expected, number), "{place}");
        assert_eq!(transposed[at], word(at % COLS, at / COLS), "{place}, transposed");
    }
}

#[test]
fn independent_of_tiles() {
    in_tiles::<1, 1, Row>();
    in_tiles::<1, 1, Col>();
    in_tiles::<2, 3, Row>();
    in_tiles::<3, 1, Col>();
}

/// A 16×16 subtile takes two calls per lane, whose eight words are all used, and tiles share what is common.
#[test]
fn every_word_is_used() {
    let products = |kernel: Kernel<(Out<f32>, u64)>| kernel.ptx().matches("mul.wide.u32").count();
    fn of<const H: usize, const W: usize, L: RegisterLayout>() -> Kernel<(Out<f32>, u64)> {
        Kernel::<(Out<f32>, u64)>::build("random(y, seed)", Target::SM_80, |k, (y, seed)| {
            k.block([32]);
            k.grid([1]);
            let y = k.global(y, row_major(64, 64));
            y.tile(0, 0).store(&k.random(seed, 1).tile(0, 0).uniform::<H, W, L>());
        })
        .unwrap()
    }
    // Two products in each of ten rounds; the constant offset's product of the first round is folded.
    let [row, col, wide] =
        [products(of::<1, 1, Row>()), products(of::<1, 1, Col>()), products(of::<1, 4, Row>())];
    assert!(row <= 2 * 19 && col <= 2 * 19 && wide <= 8 * 19, "{row} {col} {wide}");
}

/// The type of a kernel that drops elements: with a constant probability, and with one in a parameter.
type Dropping<T> = (In<T>, Out<T>, Out<T>, f32);

/// Dropout of every element of a matrix; the kept ones are multiplied in f32 and rounded once.
fn dropped<T, L: RegisterLayout>(p: f32)
where
    T: Coded + Accumulate<Sum = f32>,
{
    let kernel =
        Kernel::<Dropping<T>>::build("dropout(x, y, z, p)", Target::SM_80, |k, (x, y, z, dynamic)| {
            let shape = row_major(ROWS as u32, COLS as u32);
            let (x, y, z) = (k.global(x, shape), k.global(y, shape), k.global(z, shape));
            let random = k.random(SEED, OFFSET);
            every_tile(k, [1, 2], |row, col| {
                let t: Rt<T, 1, 2, L> = x.tile(row, col).load();
                y.tile(row, col).store(&t.dropout(p, &random.tile(row, col)));
                let t: Rt<T, 1, 2, L> = x.tile(row, col).load();
                z.tile(row, col).store(&t.dropout(dynamic, &random.tile(row, col)));
            });
        })
        .unwrap();
    crate::assemble::kernel(&kernel);
    let x: Vec<T> = (0..ROWS * COLS).map(|i| T::from_f64((i % 127) as f64 - 63.0)).collect();
    let [y, z] = everywhere(|device| {
        let x = device.upload(&x).unwrap();
        let mut y = device.output::<T>(x.len()).unwrap();
        let mut z = device.output::<T>(x.len()).unwrap();
        device.launch(&kernel, (&x, &mut y, &mut z, p)).unwrap();
        [y, z].map(|d| device.download(&d).unwrap().iter().map(|x| x.to_f64()).collect::<Vec<_>>())
    });
    let scale = 1.0 / (1.0 - p);
    let mut kept = 0;
    for (at, x) in x.iter().enumerate() {
        let is_kept = f64::from(word(at / COLS, at % COLS) >> 8) / f64::from(1 << 24) >= f64::from(p);
        kept += usize::from(is_kept);
        let product = x.to_f64() as f32 * scale;
        let expected = if is_kept { T::from_f64(product.into()).to_f64() } else { 0.0 };
        assert_eq!([y[at], z[at]], [expected; 2], "element {at} of {} dropped by {p}", T::NAME);
    }
    // Four standard deviations of the binomial distribution.
    let (count, p) = ((ROWS * COLS) as f64, f64::from(p));
    let deviation = (kept as f64 - count * (1.0 - p)).abs();
    assert!(deviation <= 4.0 * (count * p * (1.0 - p)).sqrt(), "{kept} of {count} kept");
}

#[test]
fn dropout() {
    dropped::<f32, Row>(0.1);
    dropped::<f32, Col>(0.5);
    dropped::<bf16, Row>(0.3);
    dropped::<f16, Col>(0.25);
    for p in [0.0, 1.0] {
        dropped::<f32, Row>(p);
        dropped::<bf16, Col>(p);
    }
}

/// Dropout of 8-bit elements, with the same random words as those of any other type.
fn dropped_bytes<L: RegisterLayout>(rows: usize, cols: usize) {
    let kernel = Kernel::<(In<e4m3>, Out<e4m3>)>::build("dropout(x, y)", Target::SM_89, |k, (x, y)| {
        k.block([32]);
        k.grid([(64 / rows) as u32, (64 / cols) as u32]);
        let (x, y) = (k.global(x, row_major(64, 64)), k.global(y, row_major(64, 64)));
        let (row, col) = (k.ctaid_x(), k.ctaid_y());
        let t: Rt<e4m3, 1, 1, L> = x.tile(row, col).load();
        y.tile(row, col).store(&t.dropout(0.5, &k.random(SEED, OFFSET).tile(row, col)));
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let number = |at: usize| (at % 7 + 1) as f32;
    let found = everywhere(|device| {
        let x: Vec<e4m3> = (0..64 * 64).map(|at| e4m3::from_f32(number(at))).collect();
        let mut y = device.output::<e4m3>(x.len()).unwrap();
        device.launch(&kernel, (&device.upload(&x).unwrap(), &mut y)).unwrap();
        device.download(&y).unwrap().into_iter().map(e4m3::to_f32).collect::<Vec<_>>()
    });
    let kept = |at: usize| word(at / 64, at % 64) >= 1 << 31;
    let expected: Vec<f32> = (0..64 * 64).map(|at| if kept(at) { 2.0 * number(at) } else { 0.0 }).collect();
    assert_eq!(found, expected, "{:?}", L::LAYOUT);
}

#[test]
fn dropout_of_bytes() {
    dropped_bytes::<Row>(16, 32);
    dropped_bytes::<Col>(32, 16);
}

/// The numbers of Box and Muller in f64; their moments, and those of products of neighbors.
#[test]
fn normal_numbers() {
    let kernel = Kernel::<(Out<f32>,)>::build("normal(y)", Target::SM_75, |k, (y,)| {
        let y = k.global(y, row_major(ROWS as u32, COLS as u32));
        let random = k.random(SEED, OFFSET);
        every_tile(k, [2, 1], |row, col| {
            y.tile(row, col).store(&random.tile(row, col).normal::<2, 1, Row>());
        });
    })
    .unwrap();
    crate::assemble::kernel(&kernel);
    let found = everywhere(|device| {
        let mut y = device.output::<f32>(ROWS * COLS).unwrap();
        device.launch(&kernel, (&mut y,)).unwrap();
        device.download(&y).unwrap()
    });
    let found: Vec<f64> = found.into_iter().map(f64::from).collect();
    for (at, &found) in found.iter().enumerate() {
        let (row, col) = (at / COLS, at % COLS);
        let uniform = (f64::from(word(row, col & !8)) + 0.5) / 2.0f64.powi(32);
        let angle = f64::from(word(row, col | 8) as i32) / 2.0f64.powi(32) * std::f64::consts::TAU;
        let radius = (-2.0 * uniform.ln()).sqrt();
        let expected = radius * if col & 8 == 0 { angle.cos() } else { angle.sin() };
        assert!((found - expected).abs() < 2e-5, "element {at}: found {found}, expected {expected}");
    }
    let count = found.len() as f64;
    let mean = |f: &dyn Fn(usize) -> f64| (0..found.len()).map(f).sum::<f64>() / count;
    let bound = |variance: f64| 4.0 * (variance / count).sqrt();
    assert!(mean(&|i| found[i]).abs() < bound(1.0));
    assert!((mean(&|i| found[i].powi(2)) - 1.0).abs() < bound(2.0));
    assert!((mean(&|i| found[i].powi(4)) - 3.0).abs() < bound(96.0));
    for distance in [1, 8, COLS, 8 * COLS] {
        let product = |i: usize| found[i] * found[(i + distance) % found.len()];
        assert!(mean(&product).abs() < bound(1.0), "elements {distance} apart");
    }
}
