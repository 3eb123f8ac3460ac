//! Kernels of one matrix instruction: every lane loads its registers, executes the instruction, and stores the registers of D.
#![allow(dead_code, reason = "each test binary uses its own part")]

use warpwright::{
    atoms::{Metadata, MmaAtom, MmaOperand, MmaType, Scale},
    prelude::*,
    ptx::{Element, IntoDim, Readable, RegClass, Scalar},
};

/// A, B, C, three further words for each lane (metadata, scales of A, scales of B), D, and the number of blocks.
pub(crate) type Args<F, C, D> = (In<F>, In<F>, In<C>, In<u32>, Out<D>, u32);

/// A type of register contents that can be loaded.
pub(crate) trait Word: Element<Reg = Self> + Scalar {}

impl<T: Element<Reg = T> + Scalar> Word for T {}

/// An operation that is generic over the types of an atom's registers: those of A and B, of C and of D.
pub(crate) trait WithTypes {
    type Output;
    fn with<F: Word, C: Word, D: Word>(self) -> Self::Output;
}

/// Executes `what` with the types of the registers of `atom`.
pub(crate) fn with_types<W: WithTypes>(atom: &MmaAtom, what: W) -> W::Output {
    use RegClass::{B32, F32, F64, Half};
    let class = |operand| atom.register_class(operand);
    match (class(MmaOperand::A), class(MmaOperand::C), class(MmaOperand::D)) {
        (B32, B32, B32) => what.with::<u32, u32, u32>(),
        (B32, F32, F32) => what.with::<u32, f32, f32>(),
        (B32, B32, F32) => what.with::<u32, u32, f32>(),
        (F32, F32, F32) => what.with::<f32, f32, f32>(),
        (F64, F64, F64) => what.with::<f64, f64, f64>(),
        (Half, ..) if atom.operand_type(MmaOperand::A) == MmaType::F16 => what.with::<f16, f16, f16>(),
        (Half, ..) => what.with::<bf16, bf16, bf16>(),
        other => panic!("{atom}: no registers of {other:?}"),
    }
}

/// Builds the kernel for the lowest target that supports the instruction. A block is one warp.
pub(crate) fn kernel<F: Word, C: Word, D: Word>(
    atom: &MmaAtom,
    selector: u32,
) -> Result<Kernel<Args<F, C, D>>, BuildError> {
    Kernel::<Args<F, C, D>>::build(
        "product(a, b, c, e, d, blocks)",
        atom.target(),
        |k, (a, b, c, e, d, blocks)| {
            k.block([32]);
            k.grid([blocks.tiles(1)]);
            let lane = k.ctaid_x() * 32 + k.tid_x();
            let count = |operand| atom.registers(operand);
            let length = |count: u32| blocks.into_dim() * (32 * count);
            let words = |operand| length(count(operand));
            let (a, b, c) = (
                load(k.slice(a, words(MmaOperand::A)), lane, count(MmaOperand::A)),
                load(k.slice(b, words(MmaOperand::B)), lane, count(MmaOperand::B)),
                load(k.slice(c, words(MmaOperand::C)), lane, count(MmaOperand::C)),
            );
            let e = load(k.slice(e, length(3)), lane, 3);
            let metadata = Metadata { bits: e[0], selector };
            let scales = [e[1], e[2]].map(|bits| Scale { bits, byte: 0, thread: 0 });
            let sums: Vec<Val<'_, D>> = match (atom.sparsity(), atom.block_scale()) {
                (None, None) => k.mma(atom, &a, &b, &c),
                (Some(_), None) => k.mma_sparse(atom, &a, &b, &c, metadata),
                (None, Some(_)) => k.mma_scaled(atom, &a, &b, &c, scales),
                (Some(_), Some(_)) => k.mma_sparse_scaled(atom, &a, &b, &c, metadata, scales),
            };
            let d = k.slice(d, words(MmaOperand::D));
            for (i, sum) in (0u32..).zip(&sums) {
                d.at(lane * count(MmaOperand::D) + i).store(*sum);
            }
        },
    )
}

fn load<'k, T: Word>(
    from: Slice<'k, T, Global, impl Readable>,
    lane: Val<'k, u32>,
    count: u32,
) -> Vec<Val<'k, T>> {
    (0..count).map(|i| from.at(lane * count + i).load()).collect()
}

struct Text<'a>(&'a MmaAtom);

impl WithTypes for Text<'_> {
    type Output = String;
    fn with<F: Word, C: Word, D: Word>(self) -> String {
        kernel::<F, C, D>(self.0, 0).unwrap_or_else(|why| panic!("{why}")).ptx()
    }
}

/// Returns the module of an atom's kernel.
pub(crate) fn ptx(atom: &MmaAtom) -> String {
    with_types(atom, Text(atom))
}
