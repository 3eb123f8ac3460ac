//! The selection of the elements of B by which a sparse A is multiplied (PTX ISA, "Sparse matrix storage").

use crate::arith::Float;
use crate::machine::registers::Regs;
use crate::program::code::{Extents, Numbers, Sparse};
use crate::report::FindingKind;
use crate::report::fault::{Fault, Outcome};

/// Returns the index k of each element of A, row by row.
pub(super) fn k_of(regs: &Regs, sparse: Sparse, extents: Extents, numbers: &Numbers) -> Outcome<Vec<u16>> {
    let Extents { m, k, .. } = extents;
    let (metadata, selector) = (regs.r(sparse.metadata), sparse.selector as usize);
    let (bits, _) = numbers.bits();
    let tf32 = matches!(numbers, Numbers::Float { ab: (Float::Tf32, _), .. });
    let per_row = match bits {
        _ if tf32 => 2 * k,
        4 => k / 2,
        _ => k,
    };
    let mut k_of = Vec::with_capacity(m * k / 2);
    for row in 0..m {
        let (group, half) = (row % 8, row / 8);
        let word = |lane: usize| u64::from(metadata[4 * group + lane]);
        let bits_of_row = match per_row {
            // One lane of each four provides the metadata of both rows.
            16 => word(selector & 3) >> (16 * half) & 0xffff,
            // Two lanes provide the metadata. Each provides one row for narrow elements, or half of both rows for wider ones.
            32 if bits <= 8 => word(2 * (selector & 1) + half),
            32 => {
                let part = |lane: usize| word(2 * (selector & 1) + lane) >> (16 * half) & 0xffff;
                part(0) | part(1) << 16
            }
            // Four lanes provide the metadata, two for each row.
            _ => word(half) | word(2 + half) << 32,
        };
        for element in 0..k / 2 {
            let index = match bits {
                _ if tf32 => match bits_of_row >> (4 * element) & 15 {
                    0b1110 => 2 * element + 1,
                    0b0100 => 2 * element,
                    other => {
                        return Err(invalid(format!("the metadata of tf32 elements holds {other:#06b}")));
                    }
                },
                // Pairs of 4-bit elements are kept together.
                4 => element / 4 * 8 + 2 * (bits_of_row >> (element / 2 * 2) & 3) as usize + element % 2,
                _ => element / 2 * 4 + (bits_of_row >> (2 * element) & 3) as usize,
            };
            k_of.push(index as u16);
        }
    }
    Ok(k_of)
}

fn invalid(message: String) -> Box<Fault> {
    Fault::new(FindingKind::InvalidOperand, message)
}
