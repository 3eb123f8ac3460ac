//! `wgmma`.

use crate::arith::mma::integer::BitOp;
use crate::program::code::{Control, Extents, Numbers, Op, Tensor, Wgmma, WgmmaA};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::AS_WRITTEN;
use crate::program::decode::tensor::{extents, numbers};
use crate::program::types::Type;
use crate::report::InstructionClass;

/// The class of products and of the instructions that order them.
const CLASS: Counted = Counted::By(|words| match words.first() {
    Some(&"mma_async") => InstructionClass::Tensor,
    _ => InstructionClass::Barrier,
});

pub(super) const OPCODES: &[Opcodes] = &[row(&["wgmma"], CLASS, AS_WRITTEN, |d| d.wgmma())];

impl Decoder<'_, '_, '_> {
    pub(super) fn wgmma(&mut self) -> Decoded<Op> {
        let word = self.m.next().unwrap_or("");
        if word == "mma_async" {
            return self.mma_async().map(|tensor| Op::Tensor(Box::new(tensor)));
        }
        let groups = usize::from(word == "wait_group");
        if !matches!(word, "fence" | "commit_group" | "wait_group") {
            return Err(self.unknown());
        }
        self.want_word("sync")?;
        self.want_word("aligned")?;
        self.arity(groups)?;
        Ok(Op::Control(match word {
            "commit_group" => Control::WgmmaCommit,
            "fence" => Control::WgmmaFence,
            _ => match self.constant(0, "the number of groups")? {
                n @ 0..=7 => Control::WgmmaWait(n as u32),
                _ => return Err(self.error_at(self.operand(0), "`wgmma.wait_group` takes 0 to 7")),
            },
        }))
    }

    /// Decodes `wgmma.mma_async[.sp].sync.aligned.shape[.satfinite].dtype.atype.btype[.op.popc] d, a, b[, e, f], scale-d[, scales and
    /// transposes]`.
    fn mma_async(&mut self) -> Decoded<Tensor> {
        let sparse = self.m.eat("sp");
        self.want_word("sync")?;
        self.want_word("aligned")?;
        let shape = self.m.next().unwrap_or("");
        let early = self.m.eat("satfinite");
        let [d, a, b]: [&str; 3] = std::array::from_fn(|_| self.m.next().unwrap_or(""));
        let satfinite = early || self.m.eat("satfinite");
        let bit_op: Option<BitOp> = self.bit_op();
        let (Some(extents), Some(numbers)) = (extents(shape), numbers([d, a, b, d], satfinite, bit_op))
        else {
            return Err(self.unknown());
        };
        let stored_k = if sparse { extents.k / 2 } else { extents.k };
        if !known(&Extents { k: stored_k, ..extents }, &numbers) || (sparse && bit_op.is_some()) {
            return Err(self.unknown());
        }
        let Extents { n, k, .. } = extents;
        let k = if matches!(numbers, Numbers::Bits(_)) { k / 32 } else { k };
        let float = matches!(numbers, Numbers::Float { .. });
        let sixteen = numbers.bits().0 == 16;
        let from_registers = self.is_vector(1);
        let transposes = match (sixteen, from_registers) {
            (false, _) => 0,
            (true, true) => 1,
            (true, false) => 2,
        };
        let scales = if float { 2 } else { 0 };
        // The operands after the descriptors may all be omitted together.
        let metadata = if sparse { 2 } else { 0 };
        if self.count() != 3 || sparse {
            self.arity(4 + metadata + scales + transposes)?;
        }
        let d_bits = numbers.sum_bits().1;
        let ty = match numbers {
            Numbers::Float { .. } if d_bits == 32 => Type::F32,
            Numbers::Float { .. } => Type::B32,
            _ => Type::Int(crate::arith::Int::S32),
        };
        let count = 64 * n * d_bits as usize / 32 / 128;
        let regs = self.destinations(0, count, ty, Fit::Exact)?;
        self.uses.extend_from_slice(&regs);
        let d = self.words_of(0, &regs)?;
        let a = if from_registers {
            let stored_k = if sparse { k / 2 } else { k };
            let count = 64 * stored_k * numbers.bits().0 as usize / 32 / 128;
            let regs = self.sources(1, count, Type::B32, Fit::Exact)?;
            WgmmaA::Registers(self.words_of(1, &regs)?)
        } else {
            WgmmaA::Shared(self.descriptor(1)?)
        };
        let b = self.descriptor(2)?;
        let extents = Extents { m: 16, n, k };
        let sparse = if sparse { Some(self.sparse(3, &extents, &numbers)?) } else { None };
        let scale_d = 3 + metadata;
        let keep = if self.count() > 3 { Some(self.src_p(self.operand(scale_d))?) } else { None };
        let mut immediates = vec![];
        for n in scale_d + 1..self.count() {
            immediates.push(self.constant(n, "a scale or transpose")?);
        }
        let (given_scales, given_transposes) = immediates.split_at(scales.min(immediates.len()));
        if given_scales.iter().any(|s| !matches!(s, 1 | -1))
            || given_transposes.iter().any(|t| !matches!(t, 0 | 1))
        {
            return Err(self.error("scales are 1 or -1, transposes 0 or 1"));
        }
        let negative = |i: usize| given_scales.get(i) == Some(&-1);
        let set = |i: usize| given_transposes.get(i) == Some(&1);
        let transposed = if from_registers { (false, set(0)) } else { (set(0), set(1)) };
        let negate = (negative(0), negative(1));
        Ok(Tensor::Wgmma(Wgmma { extents, numbers, sparse, d, a, b, keep, negate, transposed }))
    }
}

/// Returns whether the shape exists (PTX ISA, "wgmma.mma_async": "Matrix Shape").
fn known(extents: &Extents, numbers: &Numbers) -> bool {
    let Extents { m, n, k } = *extents;
    let any_n = n % 8 == 0 && (8..=256).contains(&n);
    // For integers, N is a multiple of 8 up to 32, and a multiple of 16 above.
    let integer_n = any_n && (n <= 32 || n % 16 == 0);
    m == 64
        && match numbers {
            Numbers::Float { ab: (a, _), .. } => any_n && k * a.bits() as usize == 256,
            Numbers::Int { ab: (a, _), .. } => integer_n && a.bits == 8 && k == 32,
            Numbers::Bits(BitOp::And) => integer_n && k == 256,
            Numbers::Bits(BitOp::Xor) | Numbers::F64 | Numbers::Small { .. } => false,
        }
}
