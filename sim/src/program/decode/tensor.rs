//! `mma.sync` and `mma.sp`.

use crate::arith::mma::Accumulator;
use crate::arith::mma::integer::BitOp;
use crate::arith::{Float, Round};
use crate::program::code::{Extents, Mma, Numbers, Op, QuadPair, R, Reg, SmallInt, Sparse, Tensor};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::Order;
use crate::program::types::{Meaning, Type};
use crate::report::InstructionClass;

/// Returns the extents of a shape such as `m16n8k16`.
pub(super) fn extents(word: &str) -> Option<Extents> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    Some(Extents { m: m.parse().ok()?, n: n.parse().ok()?, k: k.parse().ok()? })
}

pub(super) fn float_of(word: &str) -> Option<Float> {
    Some(match word {
        "f16" => Float::F16,
        "bf16" => Float::Bf16,
        "tf32" => Float::Tf32,
        "e4m3" => Float::E4m3,
        "e5m2" => Float::E5m2,
        _ => return None,
    })
}

pub(super) fn small_int(word: &str) -> Option<SmallInt> {
    Some(match word {
        "s8" => SmallInt { bits: 8, signed: true },
        "u8" => SmallInt { bits: 8, signed: false },
        "s4" => SmallInt { bits: 4, signed: true },
        "u4" => SmallInt { bits: 4, signed: false },
        _ => return None,
    })
}

pub(super) fn accumulator(word: &str) -> Option<Accumulator> {
    match word {
        "f32" => Some(Accumulator::F32),
        "f16" => Some(Accumulator::F16),
        _ => None,
    }
}

/// Returns the number formats for the types of D, A, B and C, if the types can be combined.
pub(super) fn numbers(types: [&str; 4], satfinite: bool, bit_op: Option<BitOp>) -> Option<Numbers> {
    let [d, a, b, c] = types;
    if let Some(op) = bit_op {
        return ([d, a, b, c] == ["s32", "b1", "b1", "s32"] && !satfinite).then_some(Numbers::Bits(op));
    }
    if [d, a, b, c] == ["f64"; 4] {
        return Some(Numbers::F64);
    }
    if let (Some(a), Some(b)) = (small_int(a), small_int(b)) {
        let fits = a.bits == b.bits && d == "s32" && c == "s32";
        return fits.then_some(Numbers::Int { ab: (a, b), satfinite });
    }
    let (float_a, float_b) = (float_of(a)?, float_of(b)?);
    let eight = |x: Float| matches!(x, Float::E4m3 | Float::E5m2);
    let same = float_a == float_b || (eight(float_a) && eight(float_b));
    let (c, d) = (accumulator(c)?, accumulator(d)?);
    let half_sums = float_a == Float::F16 || eight(float_a);
    let sums = half_sums || (c, d) == (Accumulator::F32, Accumulator::F32);
    (same && sums && !satfinite).then_some(Numbers::Float { ab: (float_a, float_b), c, d })
}

/// Returns whether a shape exists for dense (or sparse) products.
fn shape_exists(shape: &str, numbers: &Numbers, sparse: bool) -> bool {
    let dense: &[&str] = match numbers {
        Numbers::Small { .. } => &[],
        Numbers::F64 => &["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"],
        Numbers::Float { ab: (Float::Tf32, _), .. } => &["m16n8k4", "m16n8k8"],
        Numbers::Float { ab: (Float::F16 | Float::Bf16, _), .. } => &["m16n8k8", "m16n8k16"],
        Numbers::Float { .. } => &["m16n8k16", "m16n8k32"],
        Numbers::Int { ab: (SmallInt { bits: 8, .. }, _), .. } => &["m8n8k16", "m16n8k16", "m16n8k32"],
        Numbers::Int { .. } => &["m8n8k32", "m16n8k32", "m16n8k64"],
        Numbers::Bits(_) => &["m8n8k128", "m16n8k128", "m16n8k256"],
    };
    let with_zeros: &[&str] = match numbers {
        Numbers::Float { ab: (Float::Tf32, _), .. } => &["m16n8k8", "m16n8k16"],
        Numbers::Float { ab: (Float::F16 | Float::Bf16, _), .. } => &["m16n8k16", "m16n8k32"],
        Numbers::Float { .. } => &["m16n8k64"],
        Numbers::Int { ab: (SmallInt { bits: 8, .. }, _), .. } => &["m16n8k32", "m16n8k64"],
        Numbers::Int { .. } => &["m16n8k64", "m16n8k128"],
        Numbers::Small { .. } | Numbers::F64 | Numbers::Bits(_) => &[],
    };
    if sparse { with_zeros.contains(&shape) } else { dense.contains(&shape) }
}

/// The order `.sp.sync.aligned.shape.layouts.satfinite.types`.
const ORDER: Order = |_| {
    Some(|word| match word {
        "sp" | "sp::ordered_metadata" => 0,
        "sync" => 1,
        "aligned" => 2,
        "row" | "col" => 4,
        "satfinite" => 5,
        _ if word.starts_with('m') => 3,
        _ => 7,
    })
};

pub(super) const OPCODES: &[Opcodes] = &[row(&["mma"], Counted::As(InstructionClass::Tensor), ORDER, |d| {
    d.mma().map(|tensor| Op::Tensor(Box::new(tensor)))
})];

impl Decoder<'_, '_, '_> {
    /// Decodes `mma[.sp].sync.aligned.shape.row.col[.satfinite].dtype.atype.btype.ctype[.op.popc] d, a, b, c[, e, f]`.
    pub(super) fn mma(&mut self) -> Decoded<Tensor> {
        let sparse = self.m.eat_any(&["sp", "sp::ordered_metadata"]);
        self.want_word("sync")?;
        self.want_word("aligned")?;
        let Some(shape) = self.m.next() else { return Err(self.unknown()) };
        let layouts = (self.m.next(), self.m.next());
        if let Some(kind) = self.m.peek().and_then(|word| word.strip_prefix("kind::")) {
            return match sparse {
                true => {
                    Err(self.unsupported("results of sparse products with `.kind` have not been recorded"))
                }
                false => self.mma_of_kind(kind, shape, layouts),
            };
        }
        let satfinite = self.m.eat("satfinite");
        let round = self.m.take(crate::program::decode::arithmetic::round_of);
        let types: [&str; 4] = std::array::from_fn(|_| self.m.next().unwrap_or(""));
        if shape == "m8n8k4" && types[1] == "f16" && !sparse {
            return self.quad_pair(layouts, types);
        }
        if types == ["f64"; 4] {
            self.m.eat("rn");
        }
        if round.is_some() && (shape != "m8n8k4" || types != ["f64"; 4] || round == Some(Round::Rna)) {
            return Err(self.unknown());
        }
        let round = round.unwrap_or(Round::Rn);
        let bit_op = self.bit_op();
        let (Some(mut extents), Some(numbers)) = (extents(shape), numbers(types, satfinite, bit_op)) else {
            return Err(self.unknown());
        };
        if let Numbers::Float { c, d, .. } = &numbers
            && c != d
        {
            return Err(self.error(format!("`{}`: C and D are of one type", self.i.mnemonic())));
        }
        if layouts != (Some("row"), Some("col")) || !shape_exists(shape, &numbers, sparse) {
            return Err(self.unknown());
        }
        if matches!(numbers, Numbers::Bits(_)) {
            extents.k /= 32;
        }
        self.arity(if sparse { 6 } else { 4 })?;
        let (a_bits, b_bits) = numbers.bits();
        let (c_bits, d_bits) = numbers.sum_bits();
        let stored_k = if sparse { extents.k / 2 } else { extents.k };
        let d = self.fragment(0, extents.m * extents.n, d_bits, sum_type(&numbers, d_bits), true)?;
        let a = self.fragment(1, extents.m * stored_k, a_bits, factor_type(&numbers), false)?;
        let b = self.fragment(2, extents.n * extents.k, b_bits, factor_type(&numbers), false)?;
        let c = self.fragment(3, extents.m * extents.n, c_bits, sum_type(&numbers, c_bits), false)?;
        let sparse = if sparse { Some(self.sparse(4, &extents, &numbers)?) } else { None };
        Ok(Tensor::Mma(Mma { extents, numbers, sparse, scales: None, round, d, a, b, c }))
    }

    /// Decodes `.and.popc` or `.xor.popc`, if present.
    pub(super) fn bit_op(&mut self) -> Option<BitOp> {
        let op = self.m.take(|word| match word {
            "xor" => Some(BitOp::Xor),
            "and" => Some(BitOp::And),
            _ => None,
        })?;
        self.m.eat("popc").then_some(op)
    }

    /// Returns the registers of a fragment; `elements` is the number of elements in the whole matrix.
    pub(super) fn fragment(
        &mut self,
        n: usize,
        elements: usize,
        bits: u32,
        ty: Type,
        destination: bool,
    ) -> Decoded<Box<[Reg]>> {
        let count = elements * bits as usize / 32 / ty.bits() as usize;
        self.check_fragment(n, ty)?;
        if destination {
            self.destinations(n, count, ty, Fit::Exact)
        } else {
            self.sources(n, count, ty, Fit::Exact)
        }
    }

    /// Checks that at least one register with packed numbers is declared with a `.b` type.
    fn check_fragment(&mut self, n: usize, ty: Type) -> Decoded<()> {
        if ty != Type::B32 {
            return Ok(());
        }
        for element in self.elements(self.operand(n))? {
            match self.register_of(&element)? {
                Some((_, found)) if found.meaning() != Meaning::Bits => {}
                _ => return Ok(()),
            }
        }
        Err(self.error_at(self.operand(n), "packed numbers are in registers of type .b32"))
    }

    /// Decodes operands `n` and `n` + 1: the metadata, and the selector of the lanes that provide it.
    pub(super) fn sparse(&mut self, n: usize, extents: &Extents, numbers: &Numbers) -> Decoded<Sparse> {
        let metadata = self.src_r(n, Type::B32)?;
        let limit = match (numbers.bits().0, extents.k) {
            (16, 16) | (32, 8) => 4,
            (16 | 8, 32) | (32, 16) | (4, 64) => 2,
            _ => 1,
        };
        match self.constant(n + 1, "the sparsity selector")? {
            selector if (0..limit).contains(&selector) => Ok(Sparse { metadata, selector: selector as u32 }),
            other => Err(self
                .error_at(self.operand(n + 1), format!("the selector {other} is not in 0 … {}", limit - 1))),
        }
    }

    /// Decodes `mma.sync.aligned.m8n8k4.alayout.blayout.dtype.f16.f16.ctype`.
    fn quad_pair(&mut self, layouts: (Option<&str>, Option<&str>), types: [&str; 4]) -> Decoded<Tensor> {
        let major = |word: Option<&str>| match word {
            Some("row") => Some(true),
            Some("col") => Some(false),
            _ => None,
        };
        let (Some(a_row), Some(b_row)) = (major(layouts.0), major(layouts.1)) else {
            return Err(self.unknown());
        };
        let (Some(d), Some(c), "f16") = (accumulator(types[0]), accumulator(types[3]), types[2]) else {
            return Err(self.unknown());
        };
        self.arity(4)?;
        let sums = |acc: Accumulator| match acc {
            Accumulator::F32 => (8, Type::F32),
            Accumulator::F16 => (4, Type::B32),
        };
        let ((d_count, d_type), (c_count, c_type)) = (sums(d), sums(c));
        let regs_d = self.destinations(0, d_count, d_type, Fit::Exact)?;
        let regs_a = self.sources(1, 2, Type::B32, Fit::Exact)?;
        let regs_b = self.sources(2, 2, Type::B32, Fit::Exact)?;
        let regs_c = self.sources(3, c_count, c_type, Fit::Exact)?;
        Ok(Tensor::QuadPair(QuadPair {
            a_row_major: a_row,
            b_column_major: !b_row,
            c,
            d,
            regs_d: self.words_of(0, &regs_d)?,
            regs_a: self.words_of(1, &regs_a)?,
            regs_b: self.words_of(2, &regs_b)?,
            regs_c: self.words_of(3, &regs_c)?,
        }))
    }

    /// Returns the 32-bit slots of operand `n`.
    pub(super) fn words_of(&self, n: usize, regs: &[Reg]) -> Decoded<Box<[R]>> {
        regs.iter().map(|&reg| self.only_r(self.operand(n), reg)).collect()
    }
}

/// Returns the type of a register of A or B.
fn factor_type(numbers: &Numbers) -> Type {
    match numbers {
        Numbers::F64 => Type::F64,
        Numbers::Int { .. } => Type::Int(crate::arith::Int::S32),
        _ => Type::B32,
    }
}

/// Returns the type of a register of C or D.
fn sum_type(numbers: &Numbers, bits: u32) -> Type {
    match numbers {
        Numbers::F64 => Type::F64,
        Numbers::Float { .. } | Numbers::Small { .. } if bits == 32 => Type::F32,
        Numbers::Float { .. } | Numbers::Small { .. } => Type::B32,
        _ => Type::Int(crate::arith::Int::S32),
    }
}
