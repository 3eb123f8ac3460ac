//! A minimal interpreter of scalar instructions, sufficient to call the arithmetic on recorded operands.

use std::collections::HashMap;

use warpwright_sim::arith::{
    Float, Int, Round, Ty, approx,
    compare::{self, Class, Compare},
    cvt::{self, CvtMode},
    float,
    minmax::{self, MinMaxMode},
    sign,
};

use crate::{
    integer,
    truth::{Entry, Operand},
};

/// The straight-line instructions of one entry.
pub(crate) struct Program<'a> {
    entry: &'a Entry,
    lines: Vec<Line>,
}

struct Line {
    opcode: Vec<String>,
    operands: Vec<String>,
}

pub(crate) fn program(entry: &Entry) -> Option<Program<'_>> {
    let lines: Vec<Line> = entry.ptx.lines().map(parse).collect();
    let known = lines.iter().all(|line| {
        let sources = vec![0; line.operands.len() - 1];
        execute(&line.opcode, &sources, &mut false).is_some()
    });
    known.then_some(Program { entry, lines })
}

fn parse(line: &str) -> Line {
    let line = line.trim().trim_end_matches(';');
    let (opcode, operands) = line.split_once(' ').expect("an opcode and operands");
    Line {
        opcode: opcode.split('.').map(str::to_owned).collect(),
        operands: operands.split(',').map(|o| o.trim().to_owned()).collect(),
    }
}

impl Program<'_> {
    pub(crate) fn run(&self, words: &[u32]) -> Vec<u32> {
        let mut registers = HashMap::new();
        let mut words = words.iter().copied();
        for (name, operand) in names(&self.entry.inputs) {
            let low = u64::from(words.next().expect("a word"));
            let high = if operand.words() == 2 { u64::from(words.next().expect("a word")) } else { 0 };
            registers.insert(name, high << 32 | low);
        }
        let mut carry = false;
        for line in &self.lines {
            let sources: Vec<u64> = line.operands[1..]
                .iter()
                .map(|o| registers.get(o).copied().unwrap_or_else(|| o.parse().expect("an immediate")))
                .collect();
            let result = execute(&line.opcode, &sources, &mut carry).expect("a known instruction");
            registers.insert(line.operands[0].clone(), result);
        }
        names(&self.entry.outputs)
            .flat_map(|(name, operand)| {
                let bits = registers[&name];
                [bits as u32, (bits >> 32) as u32].into_iter().take(operand.words())
            })
            .collect()
    }
}

fn names(operands: &[Operand]) -> impl Iterator<Item = (String, &Operand)> {
    operands.iter().flat_map(|o| (0..o.regs).map(move |i| (format!("{}{i}", o.name), o)))
}

pub(crate) fn float_type(name: &str) -> Option<Float> {
    Some(match name {
        "f16" | "f16x2" => Float::F16,
        "bf16" | "bf16x2" => Float::Bf16,
        "f32" => Float::F32,
        "f64" => Float::F64,
        "tf32" => Float::Tf32,
        "e4m3" | "e4m3x2" => Float::E4m3,
        "e5m2" | "e5m2x2" => Float::E5m2,
        _ => return None,
    })
}

pub(crate) fn int_type(name: &str) -> Option<Int> {
    Some(match name {
        "u8" => Int::U8,
        "s8" => Int::S8,
        "u16" | "b16" => Int::U16,
        "s16" => Int::S16,
        "u32" | "b32" => Int::U32,
        "s32" => Int::S32,
        "u64" | "b64" => Int::U64,
        "s64" => Int::S64,
        _ => return None,
    })
}

pub(crate) fn any_type(name: &str) -> Option<Ty> {
    int_type(name).map(Ty::Int).or_else(|| float_type(name).map(Ty::Float))
}

fn execute(opcode: &[String], s: &[u64], carry: &mut bool) -> Option<u64> {
    floating(opcode, s).or_else(|| {
        let opcode: Vec<&str> = opcode.iter().map(String::as_str).collect();
        integer::execute(&opcode, s, carry)
    })
}

fn floating(opcode: &[String], s: &[u64]) -> Option<u64> {
    let has = |m: &str| opcode.iter().any(|o| o == m);
    let ty = opcode.last()?.as_str();
    if opcode[0] == "cvt" {
        return convert(opcode, s);
    }
    let round = match opcode.get(1).map(String::as_str) {
        Some("rz") => Round::Rz,
        Some("rm") => Round::Rm,
        Some("rp") => Round::Rp,
        _ => Round::Rn,
    };
    let (ftz, sat) = (has("ftz"), has("sat"));
    if opcode[0] == "setp" {
        let op = comparison(&opcode[1])?;
        return Some(u64::from(compare::compare(any_type(ty)?, op, ftz, s[0], s[1])));
    }
    let float = float_type(ty)?;
    if (has("approx") || has("full"))
        && let Some(result) = approximate(opcode, float, ftz, s)
    {
        return Some(result);
    }
    if ty.ends_with("x2") {
        let mut scalar = opcode.to_vec();
        *scalar.last_mut()? = ty.trim_end_matches("x2").to_owned();
        let half = |shift: u32| -> Option<u64> {
            let s: Vec<u64> = s.iter().map(|s| s >> shift & 0xffff).collect();
            floating(&scalar, &s)
        };
        return Some(half(0)? | half(16)? << 16);
    }
    let mode = MinMaxMode { ftz, nan: has("NaN"), xorsign_abs: has("xorsign") };
    Some(match (opcode[0].as_str(), opcode.get(1)?.as_str()) {
        ("add", _) => float::add(float, round, ftz, sat, s[0], s[1]),
        ("sub", _) => float::sub(float, round, ftz, sat, s[0], s[1]),
        ("mul", _) => float::mul(float, round, ftz, sat, s[0], s[1]),
        ("fma", _) if !has("relu") => float::fma(float, round, ftz, sat, s[0], s[1], s[2]),
        ("fma", _) => float::fma_relu(float, ftz, s[0], s[1], s[2]),
        ("div", "rn" | "rz" | "rm" | "rp") => float::div(float, round, ftz, s[0], s[1]),
        ("rcp", "rn" | "rz" | "rm" | "rp") => float::rcp(float, round, ftz, s[0]),
        ("sqrt", "rn" | "rz" | "rm" | "rp") => float::sqrt(float, round, ftz, s[0]),
        ("abs", _) => sign::abs(float, ftz, s[0]),
        ("neg", _) => sign::neg(float, ftz, s[0]),
        ("copysign", _) => sign::copysign(float, s[0], s[1]),
        ("testp", class) => u64::from(compare::testp(float, class_of(class)?, s[0])),
        ("min", _) => minmax::min(float, mode, s[0], s[1]),
        ("max", _) => minmax::max(float, mode, s[0], s[1]),
        _ => return None,
    })
}

fn approximate(opcode: &[String], ty: Float, ftz: bool, s: &[u64]) -> Option<u64> {
    let (a, b) = (s[0] as u32, *s.get(1).unwrap_or(&0) as u32);
    let half = matches!(opcode.last()?.as_str(), "f16" | "bf16");
    Some(match (opcode[0].as_str(), ty) {
        ("rsqrt", Float::F64) if ftz => approx::rsqrt_ftz_f64(s[0]),
        ("rsqrt", Float::F64) => approx::rsqrt_f64(s[0]),
        ("rcp", Float::F64) => approx::rcp_f64(s[0]),
        ("ex2", Float::F32) => approx::ex2(ftz, a).into(),
        ("lg2", Float::F32) => approx::lg2(ftz, a).into(),
        ("rcp", Float::F32) => approx::rcp(ftz, a).into(),
        ("rsqrt", Float::F32) => approx::rsqrt(ftz, a).into(),
        ("sqrt", Float::F32) => approx::sqrt(ftz, a).into(),
        ("sin", Float::F32) => approx::sin(a).into(),
        ("cos", Float::F32) => approx::cos(a).into(),
        ("tanh", Float::F32) => approx::tanh(a).into(),
        ("div", Float::F32) if opcode[1] == "full" => approx::div_full(ftz, a, b).into(),
        ("div", Float::F32) => approx::div(ftz, a, b).into(),
        ("ex2", _) if half => approx::ex2_half(ty, a & 0xffff).into(),
        ("tanh", _) if half => approx::tanh_half(ty, a & 0xffff).into(),
        _ => return None,
    })
}

fn comparison(name: &str) -> Option<Compare> {
    Some(match name {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        "equ" => Compare::Equ,
        "neu" => Compare::Neu,
        "ltu" => Compare::Ltu,
        "leu" => Compare::Leu,
        "gtu" => Compare::Gtu,
        "geu" => Compare::Geu,
        "num" => Compare::Num,
        "nan" => Compare::Nan,
        _ => return None,
    })
}

fn class_of(name: &str) -> Option<Class> {
    Some(match name {
        "finite" => Class::Finite,
        "infinite" => Class::Infinite,
        "number" => Class::Number,
        "notanumber" => Class::NotANumber,
        "normal" => Class::Normal,
        "subnormal" => Class::Subnormal,
        _ => return None,
    })
}

fn convert(opcode: &[String], s: &[u64]) -> Option<u64> {
    let [.., to, from] = opcode else { return None };
    let modifiers = &opcode[1..opcode.len() - 2];
    let mut mode = CvtMode::default();
    for modifier in modifiers {
        match modifier.as_str() {
            "rn" => mode.round = Round::Rn,
            "rna" => mode.round = Round::Rna,
            "rz" => mode.round = Round::Rz,
            "rm" => mode.round = Round::Rm,
            "rp" => mode.round = Round::Rp,
            "rni" => (mode.round, mode.integer) = (Round::Rn, true),
            "rzi" => (mode.round, mode.integer) = (Round::Rz, true),
            "rmi" => (mode.round, mode.integer) = (Round::Rm, true),
            "rpi" => (mode.round, mode.integer) = (Round::Rp, true),
            "ftz" => mode.ftz = true,
            "sat" => mode.sat = true,
            "satfinite" => mode.satfinite = true,
            "relu" => mode.relu = true,
            _ => return None,
        }
    }
    if to.ends_with("x2") {
        let (to, from_ty) = (float_type(to)?, float_type(from)?);
        return Some(match s {
            [high, low] => cvt::cvt_pair(to, from_ty, mode, *high, *low),
            _ => cvt::cvt_packed(to, from_ty, mode, s[0]),
        });
    }
    let to_ty = any_type(to)?;
    let bits = cvt::cvt(to_ty, any_type(from)?, mode, s[0]);
    Some(match to_ty {
        Ty::Int(int) if int.bits() == 8 => cvt::extend(int, bits) & 0xffff_ffff,
        _ => bits,
    })
}
