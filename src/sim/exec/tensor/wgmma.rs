//! wgmma.mma_async: each warp of a warpgroup computes 16 of its 64 rows.

use super::descriptor::Descriptor;
use super::{fragment, product};
use crate::sim::arith::mma::Instruction;
use crate::sim::code::{Numbers, Wgmma, WgmmaA};
use crate::sim::exec::lanes::FULL;
use crate::sim::fault::{Fault, Outcome};
use crate::sim::launch::Checks;
use crate::sim::machine::{Cx, Shared};
use crate::sim::report::Kind;
use crate::sim::warp::Warp;

/// Rows of one warp.
const ROWS: usize = 16;

pub(super) fn execute<const CHECKED: bool>(cx: &mut Cx<'_>, warp: &mut Warp, op: &Wgmma) -> Outcome<()> {
    let arch = cx.machine.tensor;
    let check = CHECKED && cx.machine.checks.contains(Checks::UNINITIALIZED_SHARED);
    let (n, k) = (op.extents.n, op.extents.k);
    let (a_bits, b_bits) = op.numbers.bits();
    let (_, d_bits) = op.numbers.sum_bits();
    let first_row = ROWS * (warp.index as usize % 4);
    let shared = &cx.ctas[warp.cta].shared;
    let scratch = &mut cx.scratch;
    scratch.a.resize(ROWS * k, 0);
    scratch.b.resize(n * k, 0);
    scratch.c.clear();
    scratch.c.resize(ROWS * n, 0);
    match &op.a {
        WgmmaA::Registers(regs) => {
            for (i, &reg) in regs.iter().enumerate() {
                fragment::put_a(warp.regs.r(reg), i, (ROWS, k), a_bits, &mut scratch.a);
            }
        }
        WgmmaA::Shared(descriptor) => {
            let descriptor = Descriptor::new(warp.regs.d(*descriptor)[0])?;
            let source = Source { shared, descriptor, bits: a_bits, mn_major: op.transposed.0, check };
            source.read(first_row, ROWS, k, &mut scratch.a)?;
        }
    }
    let descriptor = Descriptor::new(warp.regs.d(op.b)[0])?;
    let source = Source { shared, descriptor, bits: b_bits, mn_major: op.transposed.1, check };
    source.read(0, n, k, &mut scratch.b)?;
    let keep = op.keep.is_none_or(|(p, negated)| warp.regs.predicate(p, negated) & 1 == 1);
    if keep {
        for (i, &reg) in op.d.iter().enumerate() {
            fragment::put_c(warp.regs.r(reg), i, n, d_bits, &mut scratch.c);
        }
    }
    if let Numbers::Float { ab: (a, b), .. } = op.numbers {
        let flip = |elements: &mut [u32], sign: u64| elements.iter_mut().for_each(|x| *x ^= sign as u32);
        if op.negate.0 {
            flip(&mut scratch.a, a.sign_bit());
        }
        if op.negate.1 {
            flip(&mut scratch.b, b.sign_bit());
        }
    }
    product::multiply(scratch, &op.numbers, op.extents, arch, Instruction::Wgmma, None);
    for (i, &reg) in op.d.iter().enumerate() {
        let out = fragment::get_d(&scratch.c, i, n, d_bits);
        warp.regs.put_r(reg, FULL, &out);
    }
    Ok(())
}

/// A matrix in shared memory.
struct Source<'a> {
    shared: &'a Shared,
    descriptor: Descriptor,
    bits: u32,
    mn_major: bool,
    check: bool,
}

impl Source<'_> {
    /// Reads rows `first …` of `k` elements each.
    fn read(&self, first: usize, rows: usize, k: usize, out: &mut [u32]) -> Outcome<()> {
        let bytes = (self.bits / 8) as u64;
        let mask = u32::MAX >> (32 - self.bits);
        for row in 0..rows {
            for j in 0..k {
                let address = self.descriptor.address(first + row, j, self.bits as usize, self.mn_major);
                if address as u64 + bytes > u64::from(self.shared.bytes) {
                    return Err(Fault::new(
                        Kind::SharedOutOfBounds,
                        format!(
                            "shared memory out of bounds: wgmma reads {address:#x}; the block has {} bytes",
                            self.shared.bytes
                        ),
                    ));
                }
                if self.check {
                    self.shared.initialised(&[address as u64; 32], bytes, 1, "wgmma")?;
                }
                let word = self.shared.words[address / 4];
                out[row * k + j] = word >> (8 * (address % 4)) & mask;
            }
        }
        Ok(())
    }
}
