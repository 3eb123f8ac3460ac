//! `mma` for floats of at most 8 bits, with and without block scales (PTX ISA, "Block Scaling for mma.sync").

use crate::arith::Float;
use crate::arith::mma::{Scales, Shape, SmallOp};
use crate::machine::registers::Regs;
use crate::machine::wgmma::Scratch;
use crate::program::code::{BlockScales, Mma, ScaleOperand};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// Computes C ← A·B + C.
pub(super) fn multiply(scratch: &mut Scratch, regs: &Regs, op: &Mma, small: SmallOp) -> Outcome<()> {
    let Scratch { a, b, c } = scratch;
    let shape = Shape { n: op.extents.n, k: op.extents.k };
    if !small.grouped {
        // In a byte, a 4-bit element has two bits of padding on either side; a 6-bit element has two above.
        unpad(small.ty.0, a);
        unpad(small.ty.1, b);
    }
    match &op.scales {
        None => small.rows(shape, a, b, |_, _| Scales::default(), c),
        Some(scales) => {
            let (a_scales, b_scales) = (rows(regs, scales)?, columns(regs, scales)?);
            let of = |row: usize, column: usize| Scales {
                a: &a_scales[row][..scales.count],
                b: &b_scales[column][..scales.count],
            };
            SmallOp { scale: Some(scales.ty), ..small }.rows(shape, a, b, of, c);
        }
    }
    Ok(())
}

fn unpad(ty: Float, elements: &mut [u32]) {
    if ty == Float::E2m1 {
        elements.iter_mut().for_each(|bits| *bits >>= 2);
    }
}

/// Returns the scales of the rows of A. In each group of four lanes, lanes 2·thread and 2·thread + 1 provide the scales of rows g and g +
/// 8.
fn rows(regs: &Regs, scales: &BlockScales) -> Outcome<[[u8; 4]; 16]> {
    let (first, thread) = selectors(regs, &scales.a, scales.count, 2)?;
    Ok(std::array::from_fn(|row| bytes(regs, &scales.a, 4 * (row % 8) + 2 * thread + row / 8, first)))
}

/// Returns the scales of the columns of B. In each group of four lanes, lane `thread` provides the scales of column g.
fn columns(regs: &Regs, scales: &BlockScales) -> Outcome<[[u8; 4]; 8]> {
    let (first, thread) = selectors(regs, &scales.b, scales.count, 4)?;
    Ok(std::array::from_fn(|column| bytes(regs, &scales.b, 4 * column + thread, first)))
}

/// Returns the bytes of a lane's register, starting with byte `first`.
fn bytes(regs: &Regs, operand: &ScaleOperand, lane: usize, first: usize) -> [u8; 4] {
    (regs.r(operand.bits)[lane] >> (8 * first)).to_le_bytes()
}

/// Returns the byte selector and the thread selector, which must be the same in all lanes.
fn selectors(regs: &Regs, operand: &ScaleOperand, count: usize, threads: usize) -> Outcome<(usize, usize)> {
    let (byte, thread) = (regs.r(operand.byte)[0] as u16 as usize, regs.r(operand.thread)[0] as u16 as usize);
    if byte % count != 0 || byte + count > 4 || thread >= threads {
        let message = format!("there are no {count} scales at byte {byte} of thread {thread} of {threads}");
        return Err(Fault::new(FindingKind::InvalidOperand, message));
    }
    Ok((byte, thread))
}
