//! Integer and floating-point instructions: `add`, `sub`, `mul`, `mad`, `fma`, `div`, `rem`, `abs`, `neg`, `min`, `max`, and the
//! extended-precision instructions with a carry.

use crate::arith::minmax::{Extremum, MinMaxMode};
use crate::arith::{Float, Int, Round};
use crate::program::code::{Alu, Carry, CarryKind, D1, D2, D3, FloatFn, FloatOp, H2, Op, R1, R2, R3, Reg};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{BY_TYPE, Opcodes, row};
use crate::program::decode::order::{AS_WRITTEN, TYPES_LAST, TYPES_LAST_OR_FIRST};
use crate::program::types::Type;

/// The rounding qualifiers.
const ROUNDINGS: [&str; 4] = ["rn", "rz", "rm", "rp"];

pub(super) fn round_of(word: &str) -> Option<Round> {
    Some(match word {
        "rn" => Round::Rn,
        "rz" => Round::Rz,
        "rm" => Round::Rm,
        "rp" => Round::Rp,
        "rna" => Round::Rna,
        _ => return None,
    })
}

/// Returns the function for signed or unsigned numbers.
fn pick<T>(signed: bool, of_signed: T, of_unsigned: T) -> T {
    if signed { of_signed } else { of_unsigned }
}

/// The qualifiers between an opcode and its type.
pub(super) struct Words<'m>(pub(super) Vec<&'m str>);

impl Words<'_> {
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.contains(&word)
    }

    pub(super) fn round(&self) -> Option<Round> {
        self.0.iter().find_map(|word| round_of(word))
    }
}

pub(super) const OPCODES: &[Opcodes] = &[
    row(
        &["add", "sub", "fma", "div", "abs", "neg", "min", "max", "addc", "subc"],
        BY_TYPE,
        TYPES_LAST,
        |d| d.arithmetic().map(Op::Alu),
    ),
    row(&["mul", "mad", "madc"], BY_TYPE, TYPES_LAST_OR_FIRST, |d| d.arithmetic().map(Op::Alu)),
    row(&["rem"], BY_TYPE, AS_WRITTEN, |d| d.arithmetic().map(Op::Alu)),
];

impl<'m> Decoder<'_, '_, 'm> {
    pub(super) fn words(&mut self) -> Decoded<(Words<'m>, Type)> {
        self.head().map(|(words, ty)| (Words(words), ty))
    }

    pub(super) fn arithmetic(&mut self) -> Decoded<Alu> {
        let name = self.i.opcode();
        if self.m.all().contains(&"f32x2") {
            return self.float_pairs(name);
        }
        let (words, ty) = self.words()?;
        if words.has("cc") || name.ends_with('c') {
            return self.carry(name, &words, ty);
        }
        match ty {
            Type::F32 if self.m.peek().is_some() => self.mixed_precision(name, &words),
            Type::Int(int) => self.int_arithmetic(name, &words, int),
            Type::U16x2 | Type::S16x2 => self.packed_int(name, &words, ty),
            _ if ty.float().is_some() && ty != Type::Tf32 => self.float_arithmetic(name, &words, ty),
            _ => Err(self.no_such_type(ty)),
        }
    }

    /// Decodes the operands `d, a` of a 32-bit function.
    pub(super) fn r1(&mut self, f: R1, ty: Type) -> Decoded<Alu> {
        self.arity(2)?;
        Ok(Alu::R1(f, self.dst_r(0, ty)?, self.src_r(1, ty)?))
    }

    /// Decodes the operands `d, a, b` of a 32-bit function.
    pub(super) fn r2(&mut self, f: R2, ty: Type) -> Decoded<Alu> {
        self.arity(3)?;
        Ok(Alu::R2(f, self.dst_r(0, ty)?, self.src_r(1, ty)?, self.src_r(2, ty)?))
    }

    /// Decodes the operands `d, a, b` of a 16-bit function.
    fn h2(&mut self, f: H2, ty: Type) -> Decoded<Alu> {
        self.arity(3)?;
        Ok(Alu::H2(f, self.dst_r(0, ty)?, self.src_r(1, ty)?, self.src_r(2, ty)?))
    }

    /// Decodes the operands `d, a, b, c` of a 32-bit function.
    pub(super) fn r3(&mut self, f: R3, ty: Type) -> Decoded<Alu> {
        self.arity(4)?;
        Ok(Alu::R3(f, self.dst_r(0, ty)?, self.src_r(1, ty)?, self.src_r(2, ty)?, self.src_r(3, ty)?))
    }

    pub(super) fn d1(&mut self, f: D1, ty: Type) -> Decoded<Alu> {
        self.arity(2)?;
        Ok(Alu::D1(f, self.dst_d(0, ty)?, self.src_d(1, ty)?))
    }

    pub(super) fn d2(&mut self, f: D2, ty: Type) -> Decoded<Alu> {
        self.arity(3)?;
        Ok(Alu::D2(f, self.dst_d(0, ty)?, self.src_d(1, ty)?, self.src_d(2, ty)?))
    }

    pub(super) fn d3(&mut self, f: D3, ty: Type) -> Decoded<Alu> {
        self.arity(4)?;
        Ok(Alu::D3(f, self.dst_d(0, ty)?, self.src_d(1, ty)?, self.src_d(2, ty)?, self.src_d(3, ty)?))
    }

    fn int_arithmetic(&mut self, name: &str, words: &Words<'_>, int: Int) -> Decoded<Alu> {
        let ty = Type::Int(int);
        let signed = int.signed();
        let saturates = int == Int::S32 && matches!(name, "add" | "sub");
        match name {
            "mul" => return self.int_mul(words, int),
            "mad" => return self.int_mad(words, int),
            "min" | "max" if words.has("relu") => {
                self.allow(&words.0, &["relu"])?;
                if int != Int::S32 {
                    return Err(self.unknown_word("relu"));
                }
                return self.r2(if name == "min" { R2::MinSRelu } else { R2::MaxSRelu }, ty);
            }
            "fma" => return Err(self.no_such_type(ty)),
            _ => self.allow(&words.0, if saturates { &["sat"] } else { &[] })?,
        }
        if matches!(name, "abs" | "neg") && !signed {
            return Err(self.no_such_type(ty));
        }
        match int.bits() {
            16 => match name {
                "add" => self.h2(H2::Add16, ty),
                "sub" => self.h2(H2::Sub16, ty),
                "div" => self.h2(pick(signed, H2::DivS16, H2::DivU16), ty),
                "rem" => self.h2(pick(signed, H2::RemS16, H2::RemU16), ty),
                "min" => self.h2(pick(signed, H2::MinS16, H2::MinU16), ty),
                "max" => self.h2(pick(signed, H2::MaxS16, H2::MaxU16), ty),
                "abs" => self.r1(R1::Abs16, ty),
                _ => self.r1(R1::Neg16, ty),
            },
            32 => match name {
                "add" if words.has("sat") => self.r2(R2::AddSat, ty),
                "sub" if words.has("sat") => self.r2(R2::SubSat, ty),
                "add" => self.r2(R2::Add, ty),
                "sub" => self.r2(R2::Sub, ty),
                "div" => self.r2(pick(signed, R2::DivS, R2::DivU), ty),
                "rem" => self.r2(pick(signed, R2::RemS, R2::RemU), ty),
                "min" => self.r2(pick(signed, R2::MinS, R2::MinU), ty),
                "max" => self.r2(pick(signed, R2::MaxS, R2::MaxU), ty),
                "abs" => self.r1(R1::Abs, ty),
                _ => self.r1(R1::Neg, ty),
            },
            64 => match name {
                "add" => self.d2(D2::Add, ty),
                "sub" => self.d2(D2::Sub, ty),
                "div" => self.d2(if signed { D2::DivS } else { D2::DivU }, ty),
                "rem" => self.d2(if signed { D2::RemS } else { D2::RemU }, ty),
                "min" => self.d2(if signed { D2::MinS } else { D2::MinU }, ty),
                "max" => self.d2(if signed { D2::MaxS } else { D2::MaxU }, ty),
                "abs" => self.d1(D1::Abs, ty),
                _ => self.d1(D1::Neg, ty),
            },
            _ => Err(self.no_such_type(ty)),
        }
    }

    fn packed_int(&mut self, name: &str, words: &Words<'_>, ty: Type) -> Decoded<Alu> {
        let signed = ty == Type::S16x2;
        let relu = words.has("relu");
        self.allow(&words.0, if signed && matches!(name, "min" | "max") { &["relu"] } else { &[] })?;
        let f = match (name, signed) {
            ("add", _) => H2::Add16x2,
            ("min", true) if relu => H2::MinS16x2Relu,
            ("max", true) if relu => H2::MaxS16x2Relu,
            ("min", true) => H2::MinS16x2,
            ("min", false) => H2::MinU16x2,
            ("max", true) => H2::MaxS16x2,
            ("max", false) => H2::MaxU16x2,
            _ => return Err(self.no_such_type(ty)),
        };
        self.h2(f, ty)
    }

    fn int_mul(&mut self, words: &Words<'_>, int: Int) -> Decoded<Alu> {
        let (ty, signed) = (Type::Int(int), int.signed());
        match (&words.0[..], int.bits()) {
            (["lo"], 16) => self.h2(H2::MulLo16, ty),
            (["hi"], 16) => self.h2(pick(signed, H2::MulHiS16, H2::MulHiU16), ty),
            (["wide"], 16) => {
                self.arity(3)?;
                let d = self.dst_r(0, Type::Int(if signed { Int::S32 } else { Int::U32 }))?;
                Ok(Alu::H2(
                    pick(signed, H2::MulWideS16, H2::MulWideU16),
                    d,
                    self.src_r(1, ty)?,
                    self.src_r(2, ty)?,
                ))
            }
            (["lo"], 32) => self.r2(R2::MulLo, ty),
            (["hi"], 32) => self.r2(pick(signed, R2::MulHiS, R2::MulHiU), ty),
            (["wide"], 32) => {
                self.arity(3)?;
                let d = self.dst_d(0, Type::Int(if signed { Int::S64 } else { Int::U64 }))?;
                Ok(Alu::MulWide { signed, d, a: self.src_r(1, ty)?, b: self.src_r(2, ty)? })
            }
            (["lo"], 64) => self.d2(D2::MulLo, ty),
            (["hi"], 64) => self.d2(if signed { D2::MulHiS } else { D2::MulHiU }, ty),
            (_, 16..) => Err(self.error("an integer `mul` requires `.lo`, `.hi` or, up to 32 bits, `.wide`")),
            _ => Err(self.no_such_type(ty)),
        }
    }

    fn int_mad(&mut self, words: &Words<'_>, int: Int) -> Decoded<Alu> {
        let (ty, signed) = (Type::Int(int), int.signed());
        match (&words.0[..], int.bits()) {
            (["lo"], 16) => self.r3(R3::MadLo16, ty),
            (["hi"], 16) => self.r3(pick(signed, R3::MadHiS16, R3::MadHiU16), ty),
            (["wide"], 16) => {
                self.arity(4)?;
                let wide = Type::Int(if signed { Int::S32 } else { Int::U32 });
                let d = self.dst_r(0, wide)?;
                let (a, b, c) = (self.src_r(1, ty)?, self.src_r(2, ty)?, self.src_r(3, wide)?);
                Ok(Alu::R3(pick(signed, R3::MadWideS16, R3::MadWideU16), d, a, b, c))
            }
            (["lo"], 32) => self.r3(R3::MadLo, ty),
            (["hi"], 32) => self.r3(pick(signed, R3::MadHiS, R3::MadHiU), ty),
            (["hi", "sat"], 32) if signed => self.r3(R3::MadHiSSat, ty),
            (["wide"], 32) => {
                self.arity(4)?;
                let wide = Type::Int(if signed { Int::S64 } else { Int::U64 });
                let d = self.dst_d(0, wide)?;
                let (a, b, c) = (self.src_r(1, ty)?, self.src_r(2, ty)?, self.src_d(3, wide)?);
                Ok(Alu::MadWide { signed, d, a, b, c })
            }
            (["lo"], 64) => self.d3(D3::MadLo, ty),
            (["hi"], 64) => self.d3(if signed { D3::MadHiS } else { D3::MadHiU }, ty),
            (_, 16..) => Err(self.error("an integer `mad` requires `.lo`, `.hi` or, up to 32 bits, `.wide`")),
            _ => Err(self.no_such_type(ty)),
        }
    }

    /// Decodes `add.cc`, `addc[.cc]`, `sub.cc`, `subc[.cc]`, `mad.{lo,hi}.cc` and `madc.{lo,hi}[.cc]`.
    fn carry(&mut self, name: &str, words: &Words<'_>, ty: Type) -> Decoded<Alu> {
        let read = name.ends_with('c');
        let write = words.has("cc");
        let Type::Int(int) = ty else { return Err(self.no_such_type(ty)) };
        let whole = int.bits() >= 32;
        if !whole && (write || name != "madc") {
            return Err(self.no_such_type(ty));
        }
        let half = match name.trim_end_matches('c') {
            "mad" if words.has("hi") => "hi",
            "mad" => "lo",
            "add" | "sub" => "",
            _ => return Err(self.unknown_word("cc")),
        };
        let sat = name == "madc" && half == "hi" && ty == Type::Int(Int::S32) && !write && words.has("sat");
        self.allow(&words.0, &[if sat { "sat" } else { "cc" }, half])?;
        if !half.is_empty() && !words.has(half) {
            return Err(self.error(format!("`{name}` requires `.lo` or `.hi`")));
        }
        let kind = match (name.trim_end_matches('c'), half) {
            ("add", _) => CarryKind::Add,
            ("sub", _) => CarryKind::Sub,
            (_, "lo") => CarryKind::MadLo,
            _ if int.signed() => CarryKind::MadHiS,
            _ => CarryKind::MadHiU,
        };
        self.arity(if half.is_empty() { 3 } else { 4 })?;
        let d = self.dst(0, ty)?;
        let (a, b) = (self.src(1, ty)?, self.src(2, ty)?);
        let c = if half.is_empty() { b } else { self.src(3, ty)? };
        let flag = self.body.carry();
        Ok(Alu::Carry(Box::new(Carry { kind, read, write, sat, bits: int.bits(), d, a, b, c, flag })))
    }

    /// Decodes the operands of a floating-point instruction with `sources` sources.
    pub(super) fn float_op(
        &mut self,
        f: FloatFn,
        ty: Type,
        words: &Words<'_>,
        sources: usize,
    ) -> Decoded<Alu> {
        self.arity(sources + 1)?;
        let Some(float) = ty.float() else { return Err(self.no_such_type(ty)) };
        let d = self.dst(0, ty)?;
        let a = self.src(1, ty)?;
        let b = if sources > 1 { self.src(2, ty)? } else { a };
        let c = if sources > 2 { self.src(3, ty)? } else { a };
        // `.ftz` has no effect on a rounded `rcp` of f64.
        let ftz = words.has("ftz") && (f, ty) != (FloatFn::Rcp, Type::F64);
        let sat = words.has("sat");
        let round = words.round().unwrap_or(Round::Rn);
        Ok(Alu::Float(Box::new(FloatOp { f, ty: float, pair: ty.is_pair(), round, ftz, sat, d, a, b, c })))
    }

    fn float_arithmetic(&mut self, name: &str, words: &Words<'_>, ty: Type) -> Decoded<Alu> {
        let plain = words.0.iter().all(|word| *word == "rn");
        let half = matches!(ty, Type::F16 | Type::F16x2);
        let bf16 = matches!(ty, Type::Bf16 | Type::Bf16x2);
        let allowed: &[&str] = match ty {
            Type::F32 => &["rn", "rz", "rm", "rp", "ftz", "sat"],
            Type::F64 => &ROUNDINGS,
            _ if half => &["rn", "ftz", "sat"],
            _ => &["rn"],
        };
        match (name, ty) {
            ("add" | "sub" | "mul", _) => {
                self.allow_one_rounding(words, allowed)?;
                self.contractible = words.round().is_none();
                match (name, ty) {
                    ("add", Type::F32) if plain => self.r2(R2::AddF32, ty),
                    ("sub", Type::F32) if plain => self.r2(R2::SubF32, ty),
                    ("mul", Type::F32) if plain => self.r2(R2::MulF32, ty),
                    ("add", Type::F64) if plain => self.d2(D2::AddF64, ty),
                    ("sub", Type::F64) if plain => self.d2(D2::SubF64, ty),
                    ("mul", Type::F64) if plain => self.d2(D2::MulF64, ty),
                    ("add", _) => self.float_op(FloatFn::Add, ty, words, 2),
                    ("sub", _) => self.float_op(FloatFn::Sub, ty, words, 2),
                    _ => self.float_op(FloatFn::Mul, ty, words, 2),
                }
            }
            ("fma" | "mad", _) => {
                if name == "mad" && !matches!(ty, Type::F32 | Type::F64) {
                    return Err(self.no_such_type(ty));
                }
                if words.round().is_none() {
                    return Err(self.error(format!("`{name}{ty}` requires a rounding such as `.rn`")));
                }
                match ty {
                    _ if half => self.allow(&words.0, &["rn", "ftz", "sat", "relu", "oob"])?,
                    _ if bf16 => self.allow(&words.0, &["rn", "relu", "oob"])?,
                    _ => self.allow_one_rounding(words, allowed)?,
                }
                match ty {
                    Type::F32 if plain => self.r3(R3::FmaF32, ty),
                    Type::F64 if plain => self.d3(D3::FmaF64, ty),
                    // The bits of the out-of-bounds NaN, for which `.oob` returns 0, are not documented.
                    _ if words.has("relu") => self.float_op(FloatFn::FmaRelu, ty, words, 3),
                    _ => self.float_op(FloatFn::Fma, ty, words, 3),
                }
            }
            ("div", Type::F32) => {
                self.allow_one_rounding(words, &["rn", "rz", "rm", "rp", "ftz", "approx", "full"])?;
                match (words.has("approx"), words.has("full"), words.round()) {
                    (true, false, None) => self.float_op(FloatFn::DivApprox, ty, words, 2),
                    (false, true, None) => self.float_op(FloatFn::DivFull, ty, words, 2),
                    (false, false, Some(_)) => self.float_op(FloatFn::Div, ty, words, 2),
                    _ => Err(self.error("`div.f32` requires one of `.approx`, `.full` or a rounding")),
                }
            }
            ("div", Type::F64) => {
                self.allow_one_rounding(words, &ROUNDINGS)?;
                if words.round().is_none() {
                    return Err(self.error("`div.f64` requires a rounding such as `.rn`"));
                }
                self.float_op(FloatFn::Div, ty, words, 2)
            }
            ("abs" | "neg", _) => {
                self.allow(&words.0, if matches!(ty, Type::F32) || half { &["ftz"] } else { &[] })?;
                match (name, ty) {
                    ("abs", Type::F32) if !words.has("ftz") => self.r1(R1::AbsF32, ty),
                    ("neg", Type::F32) if !words.has("ftz") => self.r1(R1::NegF32, ty),
                    ("abs", _) => self.float_op(FloatFn::Abs, ty, words, 1),
                    _ => self.float_op(FloatFn::Neg, ty, words, 1),
                }
            }
            ("min" | "max", _) => self.float_minmax(name, words, ty),
            _ => Err(self.no_such_type(ty)),
        }
    }

    /// Decodes `add`, `sub`, `mul` and `fma` of two f32 numbers in a `.b64` register.
    fn float_pairs(&mut self, name: &str) -> Decoded<Alu> {
        let mut words = vec![];
        while !self.m.eat("f32x2") {
            words.extend(self.m.next());
        }
        let words = Words(words);
        let (f, sources) = match name {
            "add" => (FloatFn::Add, 2),
            "sub" => (FloatFn::Sub, 2),
            "mul" => (FloatFn::Mul, 2),
            "fma" => (FloatFn::Fma, 3),
            _ => return Err(self.unknown()),
        };
        self.allow_one_rounding(&words, &["rn", "rz", "rm", "rp", "ftz"])?;
        if name == "fma" && words.round().is_none() {
            return Err(self.error("`fma.f32x2` requires a rounding such as `.rn`"));
        }
        self.arity(sources + 1)?;
        for operand in &self.i.operands {
            if !matches!(self.register_of(operand)?, Some((_, Type::B64))) {
                return Err(self.error_at(operand, format!("expected a .b64 register, found `{operand}`")));
            }
        }
        let d = self.dst(0, Type::B64)?;
        let (a, b) = (self.src(1, Type::B64)?, self.src(2, Type::B64)?);
        let c = if sources > 2 { self.src(3, Type::B64)? } else { a };
        let round = words.round().unwrap_or(Round::Rn);
        let ftz = words.has("ftz");
        // ptxas 13.0 fuses pairs even with `.rn`.
        self.contractible = round == Round::Rn;
        let pairs = FloatOp { f, ty: Float::F32, pair: true, round, ftz, sat: false, d, a, b, c };
        Ok(Alu::Float(Box::new(pairs)))
    }

    /// Decodes f32 `add`, `sub` and `fma` in which all operands except the last are 16-bit.
    fn mixed_precision(&mut self, name: &str, words: &Words<'_>) -> Decoded<Alu> {
        let ty = self.m.take(Type::parse).filter(|ty| matches!(ty, Type::F16 | Type::Bf16));
        let Some((ty, float)) = ty.and_then(|ty| Some((ty, ty.float()?))) else { return Err(self.unknown()) };
        let f = match name {
            "add" => FloatFn::AddMixed(float),
            "sub" => FloatFn::SubMixed(float),
            "fma" => FloatFn::FmaMixed(float),
            _ => return Err(self.unknown()),
        };
        self.allow_one_rounding(words, &["rn", "rz", "rm", "rp", "sat"])?;
        if name == "fma" && words.round().is_none() {
            return Err(self.error(format!("`fma.f32{ty}` requires a rounding such as `.rn`")));
        }
        let factors = if name == "fma" { 2 } else { 1 };
        self.arity(factors + 2)?;
        let d = self.dst(0, Type::F32)?;
        let a = self.src(1, ty)?;
        let b = self.src(2, if factors == 2 { ty } else { Type::F32 })?;
        let c = if factors == 2 { self.src(3, Type::F32)? } else { b };
        let (round, sat) = (words.round().unwrap_or(Round::Rn), words.has("sat"));
        let mixed = FloatOp { f, ty: Float::F32, pair: false, round, ftz: false, sat, d, a, b, c };
        Ok(Alu::Float(Box::new(mixed)))
    }

    fn float_minmax(&mut self, name: &str, words: &Words<'_>, ty: Type) -> Decoded<Alu> {
        self.allow(
            &words.0,
            match ty {
                Type::F64 => &[],
                Type::Bf16 | Type::Bf16x2 => &["NaN", "xorsign", "abs"],
                _ => &["ftz", "NaN", "xorsign", "abs"],
            },
        )?;
        let which = if name == "min" { Extremum::Min } else { Extremum::Max };
        if self.count() == 4 && ty == Type::F32 && !words.has("xorsign") {
            let (nan, abs) = (words.has("NaN"), words.has("abs"));
            return self.float_op(FloatFn::MinMax3 { which, nan, abs }, ty, words, 3);
        }
        if words.has("xorsign") != words.has("abs") {
            return Err(self.error("`.xorsign` and `.abs` go together"));
        }
        let mode =
            MinMaxMode { ftz: words.has("ftz"), nan: words.has("NaN"), xorsign_abs: words.has("xorsign") };
        self.float_op(FloatFn::MinMax(which, mode), ty, words, 2)
    }

    /// Rejects qualifiers that are not in `allowed`, as `allow` does, and also rejects more than one rounding qualifier.
    pub(super) fn allow_one_rounding(&self, words: &Words<'_>, allowed: &[&str]) -> Decoded<()> {
        self.allow(&words.0, allowed)?;
        let mut roundings = words.0.iter().filter(|word| round_of(word).is_some());
        match (roundings.next(), roundings.next()) {
            (Some(_), Some(second)) => Err(self.unknown_word(second)),
            _ => Ok(()),
        }
    }

    /// Returns the format of a scalar floating-point type.
    pub(super) fn float_ty(&self, ty: Type) -> Decoded<Float> {
        ty.float().ok_or_else(|| self.no_such_type(ty))
    }

    /// Returns the register of operand `n` as a slot of any class, for instructions that support both widths.
    pub(super) fn any(&mut self, n: usize, ty: Type) -> Decoded<Reg> {
        self.src(n, ty)
    }
}
