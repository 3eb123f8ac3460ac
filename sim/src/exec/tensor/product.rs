//! Products of matrices with raw elements: A and C are row-major, and B is column-major.

use crate::arith::mma::{Accumulator, Instruction, Shape, TensorArch, TensorOp, integer};
use crate::machine::wgmma::Scratch;
use crate::program::code::{Extents, Numbers, SmallInt};

/// Computes C ← A·B + C for all types except f64. `k_of` contains the index k of each element of a sparse A.
pub(super) fn multiply(
    scratch: &mut Scratch,
    numbers: &Numbers,
    extents: Extents,
    arch: TensorArch,
    instruction: Instruction,
    k_of: Option<&[u16]>,
) {
    let Scratch { a, b, c } = scratch;
    let shape = Shape { n: extents.n, k: extents.k };
    match *numbers {
        Numbers::Float { ab, d, .. } => {
            let op = TensorOp { arch, instruction, ty: ab, acc: d };
            match k_of {
                None => op.rows(shape, a, b, c),
                Some(k_of) => op.sparse_rows(shape, a, k_of, b, c),
            }
        }
        Numbers::Int { ab, satfinite } => {
            let a = numbers_of(a, ab.0);
            let b = numbers_of(b, ab.1);
            let mut sums: Vec<i32> = c.iter().map(|&c| c as i32).collect();
            match k_of {
                None => integer::rows(satfinite, shape, &a, &b, &mut sums),
                Some(k_of) => integer::sparse_rows(satfinite, shape, &a, k_of, &b, &mut sums),
            }
            c.iter_mut().zip(sums).for_each(|(c, sum)| *c = sum as u32);
        }
        Numbers::Bits(op) => {
            let mut sums: Vec<i32> = c.iter().map(|&c| c as i32).collect();
            integer::bit_rows(op, shape, a, b, &mut sums);
            c.iter_mut().zip(sums).for_each(|(c, sum)| *c = sum as u32);
        }
        // Computed in `small`, or, for f64, by the functions that execute `mma` and `wmma`.
        Numbers::Small { .. } | Numbers::F64 => {}
    }
}

fn numbers_of(elements: &[u32], int: SmallInt) -> Vec<i16> {
    let spare = 32 - int.bits;
    let signed = |x: u32| ((x << spare) as i32 >> spare) as i16;
    elements.iter().map(|&x| if int.signed { signed(x) } else { x as i16 }).collect()
}

/// Converts C if its floating-point type differs from D's: f16 is widened exactly, and f32 is rounded to nearest.
pub(super) fn convert_c(numbers: &Numbers, c: &mut [u32]) {
    let Numbers::Float { c: from, d: to, .. } = numbers else { return };
    match (from, to) {
        (Accumulator::F16, Accumulator::F32) => {
            c.iter_mut().for_each(|c| *c = f32::from(half::f16::from_bits(*c as u16)).to_bits());
        }
        (Accumulator::F32, Accumulator::F16) => {
            c.iter_mut().for_each(|c| *c = half::f16::from_f32(f32::from_bits(*c)).to_bits().into());
        }
        _ => {}
    }
}
