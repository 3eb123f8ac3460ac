//! The fast computation of an instruction compared with the readable one, element by element.

use pretty_assertions::assert_eq;
use proptest::prelude::*;
use warpwright_sim::arith::{
    Float,
    mma::{Accumulator, TensorArch, dot, mma_tile},
};

/// The range of the exponents of a tile's operands, and the frequency of arbitrary bit patterns among them.
#[derive(Clone, Copy, Debug)]
struct Spread {
    exponents: (u32, u32),
    arbitrary_in: u32,
}

fn spread(ty: Float) -> impl Strategy<Value = Spread> {
    let top = (1 << ty.exponent_bits()) - 1;
    (0..top, 1..=top, prop_oneof![Just(u32::MAX), 4u32..400]).prop_map(move |(low, width, arbitrary_in)| {
        Spread { exponents: (low, top.min(low + width)), arbitrary_in }
    })
}

/// Returns the bits of a number for a seed.
fn number(ty: Float, spread: Spread, seed: u64) -> u32 {
    let random = (seed >> 32) as u32;
    let any_bits = random & ty.mask() as u32;
    if (seed as u32).is_multiple_of(spread.arbitrary_in) {
        return any_bits;
    }
    let (low, high) = spread.exponents;
    let exponent = low + (seed as u32 >> 8) % (high - low);
    let fraction_bits = ty.fraction_bits();
    let sign_and_fraction = ty.sign_bit() as u32 | ((1 << fraction_bits) - 1);
    any_bits & sign_and_fraction | exponent << fraction_bits
}

/// Generates numbers whose exponents are in one random range; some of them are arbitrary bits.
pub(crate) fn numbers(ty: Float, count: usize) -> impl Strategy<Value = Vec<u32>> {
    (spread(ty), prop::collection::vec(any::<u64>(), count))
        .prop_map(move |(spread, seeds)| seeds.iter().map(|&seed| number(ty, spread, seed)).collect())
}

fn halves<const K: usize>(numbers: &[u32]) -> Vec<[u16; K]> {
    numbers.chunks(K).map(|row| std::array::from_fn(|k| row[k] as u16)).collect()
}

fn check<const K: usize>(arch: TensorArch, ty: Float, acc: Accumulator, (a, b, c): &Tile) {
    let tile_a: [[u16; K]; 16] = halves(&a[..16 * K]).try_into().expect("16 rows");
    let tile_b: [[u16; K]; 8] = halves(&b[..8 * K]).try_into().expect("8 columns");
    let tile_c: [[u32; 8]; 16] = std::array::from_fn(|i| std::array::from_fn(|j| c[i * 8 + j]));
    let mut d = [[0; 8]; 16];
    mma_tile(arch, ty, acc, &tile_a, &tile_b, &tile_c, &mut d);
    for i in 0..16 {
        for j in 0..8 {
            let (row, column) = (&a[i * K..][..K], &b[j * K..][..K]);
            let want = dot(arch, (ty, ty), acc, row, column, tile_c[i][j]);
            assert_eq!(d[i][j], want, "{arch:?} {ty:?} {acc:?} k{K} row {i} column {j}");
        }
    }
}

/// The elements of A, B and C.
type Tile = (Vec<u32>, Vec<u32>, Vec<u32>);

fn operands() -> impl Strategy<Value = (TensorArch, Float, Accumulator, Tile)> {
    let arch = prop_oneof![
        Just(TensorArch::Sm70),
        Just(TensorArch::Sm75),
        Just(TensorArch::Sm80),
        Just(TensorArch::Sm90),
        Just(TensorArch::Sm100),
    ];
    let ty = prop_oneof![Just(Float::F16), Just(Float::Bf16)];
    let acc = prop_oneof![Just(Accumulator::F32), Just(Accumulator::F16)];
    (arch, ty, acc).prop_flat_map(|(arch, ty, acc)| {
        (Just(arch), Just(ty), Just(acc), (numbers(ty, 256), numbers(ty, 128), numbers(acc.float(), 128)))
    })
}

proptest! {
    #[test]
    fn mma_tile_has_the_bits_of_dot((arch, ty, acc, tile) in operands()) {
        check::<16>(arch, ty, acc, &tile);
        check::<8>(arch, ty, acc, &tile);
    }
}
