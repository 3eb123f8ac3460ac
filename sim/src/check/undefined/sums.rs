//! Undefined values in the products of `mma`.

use crate::lanes::Lanes64;
use crate::program::code::{Mma, Reg};

/// What is undefined of the registers of D, given what is of those of A, B and C: an element is as a whole, if something in
/// its row of A, its column of B or its place in C is.
pub(super) fn undefined_sums(op: &Mma, of: impl Fn(Reg) -> Lanes64) -> Vec<Lanes64> {
    let (m, n) = (op.extents.m, op.extents.n);
    // Element i of a lane in C and D (PTX ISA, "Matrix Fragments for mma.…").
    let place =
        |lane: usize, i: usize| (lane / 4 + 8 * (i / 2 % 2)) * n + 2 * (lane % 4) + i % 2 + 8 * (i / 4);
    let mut rows = vec![false; m];
    let mut columns = vec![false; n];
    // A lane's registers of A lie in rows lane / 4 and, every other one of them, lane / 4 + 8.
    for (i, &reg) in op.a.iter().enumerate() {
        let bits = of(reg);
        (0..32).for_each(|lane| rows[lane / 4 + 8 * (i % (m / 8))] |= bits[lane] != 0);
    }
    for &reg in op.b.iter() {
        let bits = of(reg);
        (0..32).for_each(|lane| columns[lane / 4] |= bits[lane] != 0);
    }
    let (c_bits, d_bits) = op.numbers.sum_bits();
    // Elements of C and D in a register.
    let (of_c, of_d) = ((32 / c_bits).max(1) as usize, (32 / d_bits).max(1) as usize);
    let mut undefined = vec![false; m * n];
    for (place, undefined) in undefined.iter_mut().enumerate() {
        *undefined = rows[place / n] || columns[place % n];
    }
    for (i, &reg) in op.c.iter().enumerate() {
        let bits = of(reg);
        for (lane, part) in (0..32).flat_map(|lane| (0..of_c).map(move |part| (lane, part))) {
            let element = if of_c == 2 { bits[lane] >> (16 * part) & 0xffff } else { bits[lane] };
            undefined[place(lane, of_c * i + part)] |= element != 0;
        }
    }
    let width = u64::MAX >> (64 - d_bits);
    let word = |i: usize, lane: usize| {
        (0..of_d).fold(0, |word, part| {
            let whole = undefined[place(lane, of_d * i + part)];
            word | if whole { width << (d_bits as usize * part) } else { 0 }
        })
    };
    (0..op.d.len()).map(|i| std::array::from_fn(|lane| word(i, lane))).collect()
}
