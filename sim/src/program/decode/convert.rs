//! `cvt` (PTX ISA, "Data Movement and Conversion Instructions: cvt").

use crate::arith::cvt::{CvtMode, packed_bits};
use crate::arith::{Float, Int, Round, Ty};
use crate::program::code::{
    Alu, Cvt, CvtPack, CvtStochastic, CvtUnpack, D1, Narrow, Op, PackSat, R1, Reg, Widen,
};
use crate::program::decode::Decoded;
use crate::program::decode::arithmetic::round_of;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::{Order, is_type};
use crate::program::types::{Meaning, Type};
use crate::report::InstructionClass;
use crate::text::ast::Operand;

/// The qualifiers before the types.
#[derive(Default)]
struct Head {
    float_round: Option<Round>,
    int_round: Option<Round>,
    ftz: bool,
    sat: bool,
    satfinite: bool,
    relu: bool,
}

impl Head {
    fn mode(&self, integer: bool) -> CvtMode {
        CvtMode {
            round: self.float_round.or(self.int_round).unwrap_or(Round::Rn),
            integer,
            ftz: self.ftz,
            sat: self.sat,
            satfinite: self.satfinite,
            relu: self.relu,
        }
    }
}

fn int_round(word: &str) -> Option<Round> {
    Some(match word {
        "rni" => Round::Rn,
        "rzi" => Round::Rz,
        "rmi" => Round::Rm,
        "rpi" => Round::Rp,
        _ => return None,
    })
}

/// The order `.round.ftz.sat.types`. The qualifiers of `cvt.pack` have a fixed order.
const ORDER: Order = |words| {
    (words.first() != Some(&"pack")).then_some(|word| match word {
        "ftz" => 1,
        "sat" | "satfinite" | "relu" => 2,
        _ if is_type(word) => 3,
        _ => 0,
    })
};

pub(super) const OPCODES: &[Opcodes] =
    &[row(&["cvt"], Counted::As(InstructionClass::Conversion), ORDER, |d| d.cvt().map(Op::Alu))];

impl Decoder<'_, '_, '_> {
    fn cvt_head(&mut self) -> Decoded<(Head, Type, Type)> {
        let mut head = Head { float_round: self.m.take(round_of), ..Head::default() };
        if head.float_round.is_none() {
            head.int_round = self.m.take(int_round);
        }
        let mut seen = vec![];
        let to = loop {
            if let Some(ty) = self.m.ty() {
                break ty;
            }
            let Some(word) = self.m.next() else { return Err(self.error("`cvt` requires two types")) };
            match word {
                "ftz" => head.ftz = true,
                "sat" => head.sat = true,
                "satfinite" => head.satfinite = true,
                "relu" => head.relu = true,
                _ => return Err(self.unknown_word(word)),
            }
            if seen.contains(&word) {
                return Err(self.unknown_word(word));
            }
            seen.push(word);
        };
        let from = self.want_type()?;
        Ok((head, to, from))
    }

    pub(super) fn cvt(&mut self) -> Decoded<Alu> {
        if self.m.eat("pack") {
            return self.cvt_pack();
        }
        if self.m.eat("rs") {
            return self.cvt_stochastic();
        }
        let (head, to, from) = self.cvt_head()?;
        self.check_packed(to, from)?;
        if let (Some(low), Type::F32) = (packed(to), from) {
            return self.cvt_pair(&head, to, low);
        }
        match (to, from) {
            (Type::E4m3x2 | Type::E5m2x2 | Type::E2m1x2, Type::F16x2 | Type::Bf16x2)
            | (Type::Ue8m0x2, Type::Bf16x2) => self.cvt_from_pair(&head, to, from),
            (Type::F16x2, Type::E2m3x2 | Type::E3m2x2 | Type::E2m1x2)
            | (Type::F16x2 | Type::Bf16x2, Type::E4m3x2 | Type::E5m2x2)
            | (Type::Bf16x2, Type::Ue8m0x2) => self.cvt_to_pair(&head, to, from),
            _ => self.cvt_scalar(&head, to, from),
        }
    }

    /// Checks that registers for formats without a register type have exactly the width of the format and are declared with a `.b` type.
    fn check_packed(&mut self, to: Type, from: Type) -> Decoded<()> {
        for (n, operand) in self.i.operands.iter().enumerate() {
            self.check_packed_operand(operand, if n == 0 { to } else { from })?;
        }
        Ok(())
    }

    fn check_packed_operand(&mut self, operand: &Operand, ty: Type) -> Decoded<()> {
        let own = matches!(ty, Type::Bf16 | Type::Tf32 | Type::F16x2 | Type::Bf16x2);
        match self.register_of(operand)? {
            Some((_, found))
                if (own || ty.packs_small_floats())
                    && (found.meaning() != Meaning::Bits || found.bits() != ty.bits()) =>
            {
                Err(self.mismatch(operand, ty, found))
            }
            _ => Ok(()),
        }
    }

    fn cvt_scalar(&mut self, head: &Head, to: Type, from: Type) -> Decoded<Alu> {
        self.check_scalar(head, to, from)?;
        self.arity(2)?;
        let (Some(to_number), Some(from_number)) = (to.number(), from.number()) else {
            return Err(self.error(format!("there is no conversion from {from} to {to}")));
        };
        let d_ty = self.declared(0)?.unwrap_or(to);
        let d = self.dst_as(self.operand(0), to, Fit::Wider)?;
        let a = self.src_as(self.operand(1), from, Fit::Wider)?;
        if let (Ty::Int(to), Ty::Int(from), false) = (to_number, from_number, head.sat) {
            let fast = int_to_int(to, from, d_ty.bits(), d, a);
            if let Some(alu) = fast {
                return Ok(alu);
            }
        }
        let mask = u64::MAX >> (64 - d_ty.bits().min(64));
        let integer = head.int_round.is_some();
        Ok(Alu::Cvt(Box::new(Cvt { to: to_number, from: from_number, mode: head.mode(integer), d, mask, a })))
    }

    /// Returns the declared type of the register in operand `n`, if the operand is a register.
    fn declared(&mut self, n: usize) -> Decoded<Option<Type>> {
        Ok(self.register_of(self.operand(n))?.map(|(_, ty)| ty))
    }

    /// Checks that the qualifiers are valid for a pair of types.
    fn check_scalar(&self, head: &Head, to: Type, from: Type) -> Decoded<()> {
        let fail = |what: &str| Err(self.error(format!("`{}`: {what}", self.i.mnemonic())));
        let rounds = head.float_round.is_some();
        let int_rounds = head.int_round.is_some();
        let f32_involved = to == Type::F32 || from == Type::F32;
        if head.ftz && !f32_involved {
            return fail("`.ftz` is for f32");
        }
        let extra = head.satfinite || head.relu;
        match (to, from) {
            (Type::Tf32, Type::F32) => {
                if !rounds || int_rounds || head.sat || head.ftz {
                    return fail("a conversion to tf32 requires `.rna`, `.rn` or `.rz`");
                }
                if head.relu && head.float_round == Some(Round::Rna) {
                    return fail("`.relu` goes with `.rn` or `.rz`");
                }
                return Ok(());
            }
            (Type::F16 | Type::Bf16, Type::F32) => {}
            _ if extra => return fail("`.relu` and `.satfinite` go with conversions from f32"),
            _ => {}
        }
        if head.float_round == Some(Round::Rna) {
            return fail("`.rna` is for tf32");
        }
        if to == Type::Bf16 || from == Type::Bf16 {
            if head.sat {
                return fail("there is no `.sat` with bf16");
            }
            if to.bits() == 8 || from.bits() == 8 {
                return fail("there is no conversion between bf16 and 8 bits");
            }
        }
        match (to.meaning_of_number(), from.meaning_of_number()) {
            (Some(Ty::Int(to)), Some(Ty::Int(from))) => {
                if rounds || int_rounds {
                    return fail("an integer is not rounded");
                }
                if head.sat && holds(to, from) {
                    return fail("every value fits, so that `.sat` has nothing to do");
                }
            }
            (Some(Ty::Int(_)), Some(Ty::Float(_))) => {
                if !int_rounds {
                    return fail("a conversion to an integer requires `.rni`, `.rzi`, `.rmi` or `.rpi`");
                }
            }
            (Some(Ty::Float(_)), Some(Ty::Int(_))) => {
                if !rounds {
                    return fail("a conversion from an integer requires a rounding such as `.rn`");
                }
            }
            (Some(Ty::Float(a)), Some(Ty::Float(b))) => {
                if a == b && rounds {
                    return fail("rounding to the same type requires `.rni`, `.rzi`, `.rmi` or `.rpi`");
                }
                if a != b && int_rounds {
                    return fail("a rounding to integers keeps the type");
                }
                let narrows = a.bits() < b.bits();
                if narrows && !rounds {
                    return fail("a conversion to a narrower type requires a rounding such as `.rn`");
                }
                if !narrows && a != b && rounds && a != Float::Bf16 && b != Float::Bf16 {
                    return fail("a conversion to a wider type is exact and takes no rounding");
                }
            }
            _ => return fail("there is no such conversion"),
        }
        Ok(())
    }

    /// Decodes `cvt.rn.f16x2.f32 d, a, b` and the 8-bit variants. `a` is converted to the upper half.
    fn cvt_pair(&mut self, head: &Head, to: Type, low: Float) -> Decoded<Alu> {
        self.arity(3)?;
        self.check_packed_rounding(head, to)?;
        self.want_satfinite(head, to)?;
        let d = self.dst_r(0, to)?;
        let (a, b) = (self.src_r(1, Type::F32)?, self.src_r(2, Type::F32)?);
        let mode = head.mode(false);
        Ok(Alu::CvtPack(Box::new(CvtPack { to: low, from: Float::F32, mode, d, a, b: Some(b) })))
    }

    /// Checks the rounding of a conversion to a packed type.
    fn check_packed_rounding(&self, head: &Head, to: Type) -> Decoded<()> {
        let roundings: &[Round] = match to {
            Type::F16x2 | Type::Bf16x2 => &[Round::Rn, Round::Rz],
            Type::Ue8m0x2 => &[Round::Rz, Round::Rp],
            _ => &[Round::Rn],
        };
        if head.float_round.is_some_and(|round| roundings.contains(&round)) && !head.sat && !head.ftz {
            return Ok(());
        }
        let names: Vec<String> =
            roundings.iter().map(|round| format!("`.{round:?}`").to_lowercase()).collect();
        Err(self.error(format!("a conversion to {to} requires {}", names.join(" or "))))
    }

    /// Checks that conversions to formats of at most 8 bits, except ue8m0, have `.satfinite`.
    fn want_satfinite(&self, head: &Head, to: Type) -> Decoded<()> {
        if to.packs_small_floats() && to != Type::Ue8m0x2 && !head.satfinite {
            return Err(self.error(format!("a conversion to {to} requires `.satfinite`")));
        }
        Ok(())
    }

    fn cvt_from_pair(&mut self, head: &Head, to: Type, from: Type) -> Decoded<Alu> {
        self.arity(2)?;
        self.check_packed_rounding(head, to)?;
        self.want_satfinite(head, to)?;
        let (Some(low), Some(high)) = (to.float(), from.float()) else { return Err(self.no_such_type(to)) };
        let d = self.dst_r(0, to)?;
        let a = self.src_r(1, from)?;
        Ok(Alu::CvtPack(Box::new(CvtPack { to: low, from: high, mode: head.mode(false), d, a, b: None })))
    }

    fn cvt_to_pair(&mut self, head: &Head, to: Type, from: Type) -> Decoded<Alu> {
        self.arity(2)?;
        if head.float_round != Some(Round::Rn) || head.sat || head.ftz || head.satfinite {
            return Err(self.error(format!("a conversion from {from} requires `.rn`")));
        }
        let (Some(high), Some(low)) = (to.float(), from.float()) else { return Err(self.no_such_type(to)) };
        let d = self.dst_r(0, to)?;
        let a = self.src_r(1, from)?;
        Ok(Alu::CvtUnpack(Box::new(CvtUnpack { to: high, from: low, mode: head.mode(false), d, a })))
    }

    /// Decodes `cvt.rs[.relu][.satfinite].f16x2.f32 d, a, b, random` and `cvt.rs[.relu].satfinite.e4m3x4.f32 d, {a, b, e, f}, random`.
    fn cvt_stochastic(&mut self) -> Decoded<Alu> {
        let (head, to, from) = self.cvt_head()?;
        let fail =
            |decoder: &Self, what: &str| Err(decoder.error(format!("`{}`: {what}", decoder.i.mnemonic())));
        if head.float_round.is_some() || head.int_round.is_some() || head.ftz || head.sat {
            return fail(self, "`.rs` goes with `.relu` and `.satfinite` only");
        }
        let pair = matches!(to, Type::F16x2 | Type::Bf16x2);
        let (Some(format), Type::F32) = (to.float(), from) else {
            return fail(self, "`.rs` converts from f32 to packed types");
        };
        let four = to.packs_small_floats() && to.bits() == 4 * packed_bits(format);
        if !pair && !four {
            return fail(self, "`.rs` converts to pairs of 16 bits or four numbers of fewer");
        }
        if !pair {
            self.want_satfinite(&head, to)?;
        }
        self.arity(if pair { 4 } else { 3 })?;
        self.check_packed_operand(self.operand(0), to)?;
        let d = self.dst_r(0, to)?;
        let numbers = match pair {
            true => [1, 2].into_iter().map(|n| self.src_r(n, from)).collect::<Decoded<_>>()?,
            false => {
                let regs = self.sources(1, 4, from, Fit::Exact)?;
                self.words_of(1, &regs)?
            }
        };
        let n = self.count() - 1;
        if self.register_of(self.operand(n))?.is_none() {
            return Err(self.error_at(self.operand(n), "the random bits are in a register"));
        }
        let random = self.src_r(n, Type::B32)?;
        Ok(Alu::CvtStochastic(Box::new(CvtStochastic { to: format, relu: head.relu, d, numbers, random })))
    }

    /// Decodes `cvt.pack.sat.convertType.abType[.cType] d, a, b[, c]`.
    fn cvt_pack(&mut self) -> Decoded<Alu> {
        self.want_word("sat")?;
        let (bits, signed) = self.want("an integer type of up to 16 bits", |word| {
            let bits = word.strip_prefix(['u', 's'])?.parse().ok()?;
            matches!(bits, 2 | 4 | 8 | 16).then(|| (bits, word.starts_with('s')))
        })?;
        let from = self.want_type()?;
        if from != Type::Int(Int::S32) {
            return Err(self.error("`cvt.pack` converts `.s32`"));
        }
        let with_c = self.m.eat("b32");
        if (bits == 16) == with_c {
            return Err(self.error("`cvt.pack` to 16 bits takes no third operand, to fewer it takes `.b32`"));
        }
        self.arity(if with_c { 4 } else { 3 })?;
        let d = self.dst_r(0, Type::B32)?;
        let (a, b) = (self.src_r(1, from)?, self.src_r(2, from)?);
        let c = if with_c { Some(self.src_r(3, Type::B32)?) } else { None };
        Ok(Alu::PackSat(Box::new(PackSat { bits, signed, d, a, b, c })))
    }
}

impl Type {
    /// Returns the number format of a type in `cvt`, or `None` for `.b` types.
    fn meaning_of_number(self) -> Option<Ty> {
        match self {
            Type::B8 | Type::B16 | Type::B32 | Type::B64 => None,
            _ => self.number(),
        }
    }
}

/// Returns whether `to` can represent every value of `from`.
fn holds(to: Int, from: Int) -> bool {
    match (to.signed(), from.signed()) {
        (true, false) => to.bits() > from.bits(),
        (false, true) => false,
        _ => to.bits() >= from.bits(),
    }
}

/// Returns the element format of a packed destination type.
fn packed(ty: Type) -> Option<Float> {
    match ty {
        Type::F16x2 | Type::Bf16x2 => ty.float(),
        _ if ty.packs_small_floats() => ty.float(),
        _ => None,
    }
}

/// Returns the instruction for an integer conversion, if it requires no arithmetic. `width` is the width of the destination register.
fn int_to_int(to: Int, from: Int, width: u32, d: Reg, a: Reg) -> Option<Alu> {
    // The result consists of the bits of the narrower type, extended to the width of the register according to this type.
    let narrow = if to.bits() <= from.bits() { to } else { from };
    let keeps_to_width = to.bits() == width || narrow.signed() == to.signed() || !narrow.signed();
    if !keeps_to_width {
        return None;
    }
    match (d, a) {
        (Reg::R(d), Reg::R(a)) => {
            let f = match (narrow.bits(), narrow.signed(), width) {
                (32, _, 32) => R1::Mov,
                (16, true, 32) => R1::Sext16,
                (16, ..) => R1::Mov16,
                (8, false, _) => R1::Zext8,
                (8, true, 32) => R1::Sext8,
                (8, true, 16) => R1::Sext8To16,
                _ => return None,
            };
            Some(Alu::R1(f, d, a))
        }
        (Reg::D(d), Reg::R(a)) => {
            let f = match (narrow.bits(), narrow.signed()) {
                (32, false) => Widen::U32,
                (32, true) => Widen::S32,
                (16, false) => Widen::U16,
                (16, true) => Widen::S16,
                (8, false) => Widen::U8,
                (8, true) => Widen::S8,
                _ => return None,
            };
            Some(Alu::Widen(f, d, a))
        }
        (Reg::R(d), Reg::D(a)) => match (narrow.bits(), narrow.signed(), width) {
            (32, _, 32) => Some(Alu::Narrow(Narrow::Low, d, a)),
            (16, false, _) | (16, _, 16) => Some(Alu::Narrow(Narrow::Low16, d, a)),
            (8, false, _) => Some(Alu::Narrow(Narrow::Low8, d, a)),
            _ => None,
        },
        (Reg::D(d), Reg::D(a)) => {
            let f = match (narrow.bits(), narrow.signed()) {
                (64, _) => D1::Mov,
                (32, false) => D1::Zext32,
                (32, true) => D1::Sext32,
                (16, false) => D1::Zext16,
                (16, true) => D1::Sext16,
                (8, false) => D1::Zext8,
                (8, true) => D1::Sext8,
                _ => return None,
            };
            Some(Alu::D1(f, d, a))
        }
        _ => None,
    }
}
