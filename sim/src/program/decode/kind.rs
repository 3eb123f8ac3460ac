//! `mma` with `.kind`: floating-point numbers of at most 8 bits, with and without block scales.

use crate::arith::{Float, Int, Round};
use crate::program::code::{BlockScales, Extents, Mma, Numbers, ScaleOperand, Tensor};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::operand::Fit;
use crate::program::decode::tensor::{accumulator, float_of};
use crate::program::types::Type;

fn small_float(word: &str) -> Option<Float> {
    Some(match word {
        "e2m3" => Float::E2m3,
        "e3m2" => Float::E3m2,
        "e2m1" => Float::E2m1,
        _ => float_of(word).filter(|ty| matches!(ty, Float::E4m3 | Float::E5m2))?,
    })
}

impl Decoder<'_, '_, '_> {
    /// Decodes `mma.sync.aligned.shape.row.col.kind[.block_scale[.scale_vec_size]].dtype.atype.btype.ctype[.stype] d, a, b, c [, scale-a,
    /// {byte, thread}, scale-b, {byte, thread}]`.
    pub(super) fn mma_of_kind(
        &mut self,
        kind: &str,
        shape: &str,
        layouts: (Option<&str>, Option<&str>),
    ) -> Decoded<Tensor> {
        self.m.next();
        let packed = matches!(kind, "mxf4" | "mxf4nvf4");
        let k = match (kind, shape) {
            ("f8f6f4", "m16n8k16") => 16,
            ("f8f6f4" | "mxf8f6f4", "m16n8k32") => 32,
            ("mxf4" | "mxf4nvf4", "m16n8k64") => 64,
            _ => return Err(self.unknown()),
        };
        if layouts != (Some("row"), Some("col")) {
            return Err(self.unknown());
        }
        let scaled = self.m.eat("block_scale");
        let vector = self.m.take(|word| word.strip_prefix("scale_vec::")?.strip_suffix('X')?.parse().ok());
        let types: [&str; 4] = std::array::from_fn(|_| self.m.next().unwrap_or(""));
        let (Some(a), Some(b)) = (small_float(types[1]), small_float(types[2])) else {
            return Err(self.unknown());
        };
        let scale_type = if scaled { self.m.next().unwrap_or("") } else { "" };
        let scale = match (kind, vector, scale_type) {
            ("f8f6f4", None, "") if !scaled => None,
            ("mxf8f6f4", None | Some(1), "ue8m0") => Some((Float::Ue8m0, 1)),
            ("mxf4", None | Some(2), "ue8m0") | ("mxf4nvf4", Some(2), "ue8m0") => Some((Float::Ue8m0, 2)),
            ("mxf4nvf4", Some(4), "ue4m3") => Some((Float::E4m3, 4)),
            _ => return Err(self.unknown()),
        };
        let (Some(d), Some(c)) = (accumulator(types[0]), accumulator(types[3])) else {
            return Err(self.unknown());
        };
        let four_bits = (a, b) == (Float::E2m1, Float::E2m1);
        if d != c || packed && !four_bits || scale.is_some() && d.float() != Float::F32 {
            return Err(self.unknown());
        }
        self.arity(if scale.is_some() { 8 } else { 4 })?;
        let extents = Extents { m: 16, n: 8, k };
        let numbers = Numbers::Small { ab: (a, b), packed, acc: d };
        let (bits, sum_bits) = (numbers.bits().0, numbers.sum_bits().0);
        let sum_type = if sum_bits == 32 { Type::F32 } else { Type::B32 };
        let d = self.fragment(0, 16 * 8, sum_bits, sum_type, true)?;
        let a = self.fragment(1, 16 * k, bits, Type::B32, false)?;
        let b = self.fragment(2, 8 * k, bits, Type::B32, false)?;
        let c = self.fragment(3, 16 * 8, sum_bits, sum_type, false)?;
        let scales = match scale {
            None => None,
            Some((ty, count)) => {
                let (a, b) = (self.scales(4)?, self.scales(6)?);
                Some(BlockScales { ty, count, a, b })
            }
        };
        Ok(Tensor::Mma(Mma { extents, numbers, sparse: None, scales, round: Round::Rn, d, a, b, c }))
    }

    /// Decodes operands `n` and `n` + 1: the scales, and the selectors of their first byte and lane.
    fn scales(&mut self, n: usize) -> Decoded<ScaleOperand> {
        let bits = self.src_r(n, Type::B32)?;
        let selectors = self.sources(n + 1, 2, Type::Int(Int::U16), Fit::Exact)?;
        let selectors = self.words_of(n + 1, &selectors)?;
        Ok(ScaleOperand { bits, byte: selectors[0], thread: selectors[1] })
    }
}
