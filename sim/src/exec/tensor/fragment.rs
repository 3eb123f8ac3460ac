//! The matrix elements in the lanes' registers for `mma` (PTX ISA, "Matrix Fragments for mma.…").
//!
//! Let g = lane / 4, t = lane mod 4, and E be the number of elements per register. The registers of A contain row g (then g+8, if M is 16)
//! and columns E·t …; each subsequent set is 4·E columns to the right. The registers of B contain column g and rows E·t …; each subsequent
//! register is 4·E rows down. The registers of C and D contain rows g (then g+8) and columns 2t and 2t+1; each subsequent set is 8 columns
//! to the right.

use crate::lanes::Lanes32;

/// Stores the elements of one register of A in a row-major `m`×`k` matrix.
pub(super) fn put_a(words: &Lanes32, register: usize, (m, k): (usize, usize), bits: u32, a: &mut [u32]) {
    let groups = m / 8;
    spread(words, bits, |lane, i, per, element| {
        let row = lane / 4 + 8 * (register % groups);
        let column = per * (lane % 4) + 4 * per * (register / groups) + i;
        a[row * k + column] = element;
    });
}

/// Stores the elements of one register of B in a column-major matrix.
pub(super) fn put_b(words: &Lanes32, register: usize, k: usize, bits: u32, b: &mut [u32]) {
    spread(words, bits, |lane, i, per, element| {
        b[lane / 4 * k + per * (lane % 4) + 4 * per * register + i] = element;
    });
}

/// Calls `f` for each element, with the lane, the element's index in the register, the number of elements per register, and the element.
#[inline(always)]
fn spread(words: &Lanes32, bits: u32, mut f: impl FnMut(usize, usize, usize, u32)) {
    match bits {
        32 => (0..32).for_each(|lane| f(lane, 0, 1, words[lane])),
        16 => {
            for (lane, word) in words.iter().enumerate() {
                f(lane, 0, 2, word & 0xffff);
                f(lane, 1, 2, word >> 16);
            }
        }
        _ => {
            let per = (32 / bits) as usize;
            for (lane, word) in words.iter().enumerate() {
                for i in 0..per {
                    f(lane, i, per, word >> (bits * i as u32) & ((1 << bits) - 1));
                }
            }
        }
    }
}

/// Returns the row-major index of element `i` of a lane in C or D with `n` columns.
#[inline(always)]
pub(super) fn place_c(lane: usize, i: usize, n: usize) -> usize {
    let (row, column) = (lane / 4 + 8 * (i / 2 % 2), 2 * (lane % 4) + i % 2 + 8 * (i / 4));
    row * n + column
}

/// Stores the elements of one register of C in a row-major matrix.
pub(super) fn put_c(words: &Lanes32, register: usize, n: usize, bits: u32, c: &mut [u32]) {
    for lane in 0..32 {
        if bits == 32 {
            c[place_c(lane, register, n)] = words[lane];
        } else {
            c[place_c(lane, 2 * register, n)] = words[lane] & 0xffff;
            c[place_c(lane, 2 * register + 1, n)] = words[lane] >> 16;
        }
    }
}

/// Returns one register of D from a row-major matrix.
pub(super) fn get_d(d: &[u32], register: usize, n: usize, bits: u32) -> Lanes32 {
    std::array::from_fn(|lane| {
        if bits == 32 {
            d[place_c(lane, register, n)]
        } else {
            (d[place_c(lane, 2 * register, n)] & 0xffff) | d[place_c(lane, 2 * register + 1, n)] << 16
        }
    })
}
