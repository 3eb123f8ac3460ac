//! `wmma.load`, `wmma.store` and `wmma.mma`.

use crate::arith::mma::integer::BitOp;
use crate::arith::{Int, Round};
use crate::program::code::{D, Extents, Matrix, Numbers, Op, Reg, Space, Tensor, Wmma, WmmaAccess};
use crate::program::decode::Decoded;
use crate::program::decode::arithmetic::round_of;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::space_of;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::AS_WRITTEN;
use crate::program::decode::tensor::{accumulator, extents, float_of, numbers, small_int};
use crate::program::types::Type;
use crate::report::InstructionClass;

/// Returns the shapes for an element type of A.
fn shapes(ty: &str) -> &'static [&'static str] {
    match ty {
        "f16" | "bf16" | "s8" | "u8" => &["m16n16k16", "m32n8k16", "m8n32k16"],
        "tf32" => &["m16n16k8"],
        "f64" => &["m8n8k4"],
        "s4" | "u4" => &["m8n8k32"],
        "b1" => &["m8n8k128"],
        _ => &[],
    }
}

/// Returns the number and type of the registers of a fragment of A or B, and the number of bits per element. The matrix has `elements`
/// elements; 32 single bits count as one.
fn factor_registers(ty: &str, elements: usize) -> Option<(usize, Type, u32)> {
    Some(match ty {
        // A fragment of any shape has eight registers, even if the matrix is smaller.
        "f16" => (8, Type::B32, 16),
        "bf16" => (elements / 64, Type::B32, 16),
        "tf32" => (elements / 32, Type::B32, 32),
        "f64" => (1, Type::F64, 64),
        "s8" | "u8" => (elements / 128, Type::B32, 8),
        "s4" | "u4" => (1, Type::B32, 4),
        "b1" => (1, Type::B32, 32),
        _ => return None,
    })
}

/// Returns the same information as [`factor_registers`], but for a fragment of C or D.
fn sum_registers(ty: &str, elements: usize) -> Option<(usize, Type, u32)> {
    Some(match ty {
        "f16" => (elements / 64, Type::B32, 16),
        "f32" => (elements / 32, Type::F32, 32),
        "s32" => (elements / 32, Type::Int(Int::S32), 32),
        "f64" => (elements / 32, Type::F64, 64),
        _ => return None,
    })
}

pub(super) const OPCODES: &[Opcodes] =
    &[row(&["wmma"], Counted::As(InstructionClass::Tensor), AS_WRITTEN, |d| {
        d.wmma().map(|tensor| Op::Tensor(Box::new(tensor)))
    })];

impl Decoder<'_, '_, '_> {
    pub(super) fn wmma(&mut self) -> Decoded<Tensor> {
        match self.m.next() {
            Some("load") => {
                let matrix = match self.m.next() {
                    Some("a") => Matrix::A,
                    Some("b") => Matrix::B,
                    Some("c") => Matrix::C,
                    _ => return Err(self.unknown()),
                };
                self.wmma_access(matrix, true).map(Tensor::WmmaLoad)
            }
            Some("store") => {
                self.want_word("d")?;
                self.wmma_access(Matrix::C, false).map(Tensor::WmmaStore)
            }
            Some("mma") => self.wmma_mma(),
            _ => Err(self.unknown()),
        }
    }

    /// Decodes `wmma.load.m.sync.aligned.layout.shape[.space].type r, [p][, stride]` and `wmma.store.d… [p], r[, stride]`.
    fn wmma_access(&mut self, matrix: Matrix, load: bool) -> Decoded<WmmaAccess> {
        self.want_word("sync")?;
        self.want_word("aligned")?;
        let row_major = self.want("`.row` or `.col`", |word| match word {
            "row" => Some(true),
            "col" => Some(false),
            _ => None,
        })?;
        let shape = self.m.next().unwrap_or("");
        let space = self.m.take(space_of).unwrap_or(Space::Generic);
        if !matches!(space, Space::Generic | Space::Global | Space::Shared) {
            return Err(self.unknown());
        }
        let ty = self.m.next().unwrap_or("");
        let Some(Extents { m, n, k }) = extents(shape) else { return Err(self.unknown()) };
        // Single bits are stored 32 per word.
        let k = if ty == "b1" { k / 32 } else { k };
        let (rows, columns) = match matrix {
            Matrix::A => (m, k),
            Matrix::B => (k, n),
            Matrix::C => (m, n),
        };
        let known = matrix == Matrix::C || shapes(ty).contains(&shape);
        let registers = match matrix {
            Matrix::C => sum_registers(ty, rows * columns),
            _ => factor_registers(ty, rows * columns),
        };
        let Some((count, register, bits)) = registers.filter(|_| known) else {
            return Err(self.unknown());
        };
        self.arity_of(2, 3)?;
        let (vector, address) = if load { (0, 1) } else { (1, 0) };
        let regs = if load {
            self.destinations(vector, count, register, Fit::Exact)?
        } else {
            self.sources(vector, count, register, Fit::Exact)?
        };
        let (addr, space) = self.addr(address, space)?;
        let stride = if self.count() == 3 { Some(self.src_r(2, Type::Int(Int::U32))?) } else { None };
        let temporary = match self.body.builder.new_register(Type::B64) {
            Reg::D(d) => d,
            other => unreachable!("a 64-bit register in {other:?}"),
        };
        let stride_unit = if ty == "b1" { 32 } else { 1 };
        Ok(WmmaAccess { rows, columns, row_major, bits, space, addr, stride, stride_unit, temporary, regs })
    }

    /// Decodes `wmma.mma[.op.popc].sync.aligned.alayout.blayout.shape[.rnd].dtype[.atype.btype].ctype[.satfinite]`.
    fn wmma_mma(&mut self) -> Decoded<Tensor> {
        let bit_op: Option<BitOp> = self.bit_op();
        self.want_word("sync")?;
        self.want_word("aligned")?;
        for _ in 0..2 {
            if !self.m.eat_any(&["row", "col"]) {
                return Err(self.unknown());
            }
        }
        let shape = self.m.next().unwrap_or("");
        let mut round = self.m.take(round_of);
        let mut words = vec![];
        while let Some(word) = self.m.peek().filter(|word| *word != "satfinite" && round_of(word).is_none()) {
            words.push(word);
            self.m.next();
        }
        // Compilers emit the rounding qualifier after the types.
        if round.is_none() {
            round = self.m.take(round_of);
        }
        let satfinite = self.m.eat("satfinite");
        let types = match words[..] {
            [d, c] => [d, "f16", "f16", c],
            [d, a, b, c] => [d, a, b, c],
            _ => return Err(self.unknown()),
        };
        if round.is_some() && (types != ["f64"; 4] || round == Some(Round::Rna)) {
            return Err(self.error(format!("`{}` has no such rounding", self.i.mnemonic())));
        }
        let half_saturates = satfinite && accumulator(types[0]).is_some() && float_of(types[1]).is_some();
        let Some(numbers) = numbers(types, satfinite && !half_saturates, bit_op) else {
            return Err(self.unknown());
        };
        let known =
            shapes(types[1]).contains(&shape) && (small_int(types[1]).is_some() || types[1] == types[2]);
        let (Some(mut extents), true, false) = (extents(shape), known, half_saturates) else {
            return Err(self.unknown());
        };
        if matches!(numbers, Numbers::Bits(_)) {
            extents.k /= 32;
        }
        let Extents { m, n, k } = extents;
        self.arity(4)?;
        let (Some((d_count, d_type, _)), Some((c_count, c_type, _))) =
            (sum_registers(types[0], m * n), sum_registers(types[3], m * n))
        else {
            return Err(self.unknown());
        };
        let (Some((a_count, a_type, _)), Some((b_count, b_type, _))) =
            (factor_registers(types[1], m * k), factor_registers(types[2], k * n))
        else {
            return Err(self.unknown());
        };
        let d = self.destinations(0, d_count, d_type, Fit::Exact)?;
        let a = self.sources(1, a_count, a_type, Fit::Exact)?;
        let b = self.sources(2, b_count, b_type, Fit::Exact)?;
        let c = self.sources(3, c_count, c_type, Fit::Exact)?;
        let round = round.unwrap_or(Round::Rn);
        Ok(Tensor::Wmma(Wmma { extents, numbers, round, d, a, b, c }))
    }

    /// Returns the slot of a 64-bit source, for descriptors.
    pub(super) fn descriptor(&mut self, n: usize) -> Decoded<D> {
        self.src_d(n, Type::B64)
    }
}
