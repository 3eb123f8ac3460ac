//! Instructions that access only registers of the executing lane.

mod flow;
mod forms;

use crate::arith::compare::{Class, Compare};
use crate::arith::cvt::CvtMode;
use crate::arith::minmax::{Extremum, MinMaxMode};
use crate::arith::{Float, Round, Ty};
use crate::program::code::{D, P, R, Reg, Video};

pub(crate) use crate::program::code::alu::flow::Flow;
use crate::program::code::alu::flow::{A, B, Spread};
pub(crate) use crate::program::code::alu::forms::{D1, D2, D3, DR, H2, Narrow, R1, R2, R3, Widen};

/// Register-only instructions, by the classes of their operands.
#[derive(Clone, Debug)]
pub(crate) enum Alu {
    R1(R1, R, R),
    R2(R2, R, R, R),
    /// A function of 16-bit values.
    H2(H2, R, R, R),
    R3(R3, R, R, R, R),
    /// `lop3.b32` with its truth table.
    Lop3(R, R, R, R, u8),
    /// `lop3.BoolOp.b32 d|p, a, b, c, lut, q`.
    Lop3Pred {
        d: R,
        p: P,
        a: R,
        b: R,
        c: R,
        lut: u8,
        or: bool,
        q: P,
        negate: bool,
    },
    /// `bfi.b32 d, a, b, position, length`.
    Bfi(R, R, R, R, R),
    D1(D1, D, D),
    D2(D2, D, D, D),
    D3(D3, D, D, D, D),
    /// `d = f(a: 64 bits, b: 32 bits)`.
    DR(DR, D, D, R),
    /// `bfe.u64 / .s64 d, a, position, length`.
    BfeD {
        signed: bool,
        d: D,
        a: D,
        position: R,
        length: R,
    },
    /// `bfi.b64`.
    BfiD {
        d: D,
        a: D,
        b: D,
        position: R,
        length: R,
    },
    /// A function from 32 to 64 bits.
    Widen(Widen, D, R),
    /// A function from 64 to 32 bits.
    Narrow(Narrow, R, D),
    /// `mul.wide.s32 / .u32`.
    MulWide {
        signed: bool,
        d: D,
        a: R,
        b: R,
    },
    /// `mad.wide.s32 / .u32`.
    MadWide {
        signed: bool,
        d: D,
        a: R,
        b: R,
        c: D,
    },
    /// An addition, subtraction or multiply-add with the carry flag.
    Carry(Box<Carry>),
    MovP {
        d: P,
        a: P,
        negate: bool,
    },
    LogicP(Logic, P, P, P),
    MovQ {
        d: D,
        a: D,
    },
    /// `mov.b32 d, {lo, hi}`.
    PackHalves(R, R, R),
    /// `mov.b32 {lo, hi}, a`.
    SplitHalves(R, R, R),
    /// `mov.v4 d, %tid`.
    MovVector {
        d: [R; 4],
        a: [R; 4],
        half: bool,
    },
    /// `mov.b64 d, {lo, hi}`.
    PackWords(D, R, R),
    /// `mov.b64 {lo, hi}, a`.
    SplitWords(R, R, D),
    /// The other variants of `mov` with a vector.
    Pack {
        d: Reg,
        parts: Box<[Reg]>,
        bits: u32,
    },
    Split {
        parts: Box<[Reg]>,
        a: Reg,
        bits: u32,
    },
    /// A special register that changes while the warp runs.
    Clock(Clock, Reg),
    SelectR(R, R, R, P),
    SelectD(D, D, D, P),
    /// `slct.dtype.ctype d, a, b, c`.
    Slct {
        d: Reg,
        a: Reg,
        b: Reg,
        c: R,
        float: bool,
        ftz: bool,
    },
    Setp(Box<Setp>),
    Set(Box<Set>),
    /// Scalar or packed floating-point arithmetic with any modifiers.
    Float(Box<FloatOp>),
    /// `testp`.
    Testp {
        class: Class,
        ty: Float,
        d: P,
        a: Reg,
    },
    Cvt(Box<Cvt>),
    /// A conversion of two numbers to one packed register: `cvt.rn.f16x2.f32 d, a, b`.
    CvtPack(Box<CvtPack>),
    /// A conversion of a packed register: `cvt.rn.f16x2.e4m3x2 d, a`.
    CvtUnpack(Box<CvtUnpack>),
    /// `cvt.rs`.
    CvtStochastic(Box<CvtStochastic>),
    /// Integer `cvt.pack`.
    PackSat(Box<PackSat>),
    /// An instruction before which registers are copied for a later `fma`.
    Kept(Box<Kept>),
    /// `dp4a` or `dp2a`.
    Dot(Box<DotOp>),
    Video(Box<Video>),
    Mapa(Box<Mapa>),
    /// `getctarank`.
    CtaRank {
        d: R,
        a: Reg,
    },
}

impl Alu {
    /// Returns the way in which undefined bits of the operands propagate to the results.
    pub(crate) fn flow(&self) -> Flow {
        use Reg::{D, P, R};
        match *self {
            Alu::R1(f, _, a) => f.spread().of([R(a)]),
            Alu::R2(f, _, a, b) => f.spread().of([R(a), R(b)]),
            Alu::H2(f, _, a, b) => f.spread().of([R(a), R(b)]),
            Alu::R3(f, _, a, b, c) => f.spread().of([R(a), R(b), R(c)]),
            Alu::D1(f, _, a) => f.spread().of([D(a)]),
            Alu::D2(f, _, a, b) => f.spread().of([D(a), D(b)]),
            Alu::D3(f, _, a, b, c) => f.spread().of([D(a), D(b), D(c)]),
            Alu::DR(f, _, a, b) => f.spread().of([D(a), R(b)]),
            Alu::Widen(f, _, a) => f.spread().of([R(a)]),
            Alu::Narrow(f, _, a) => f.spread().of([D(a)]),
            Alu::Lop3(_, a, b, c, table) => Flow::Bitwise(table, [R(a), R(b), R(c)]),
            Alu::Bfi(_, a, b, position, length) => Flow::moves(&[R(a), R(b)], &[R(position), R(length)]),
            Alu::BfeD { a, position, length, .. } => Flow::moves(&[D(a)], &[R(position), R(length)]),
            Alu::BfiD { a, b, position, length, .. } => Flow::moves(&[D(a), D(b)], &[R(position), R(length)]),
            Alu::MulWide { .. } | Alu::MadWide { .. } => Flow::Carries,
            Alu::MovP { a, negate, .. } => {
                let spread = if negate { Spread::Bitwise(!A) } else { Spread::Moves(1) };
                spread.of([P(a)])
            }
            Alu::LogicP(logic, _, a, b) => {
                let table = match logic {
                    Logic::And => A & B,
                    Logic::Or => A | B,
                    Logic::Xor => A ^ B,
                };
                Spread::Bitwise(table).of([P(a), P(b)])
            }
            Alu::PackHalves(_, lo, hi) | Alu::PackWords(_, lo, hi) => Flow::moves(&[R(lo), R(hi)], &[]),
            Alu::SplitHalves(.., a) => Flow::moves(&[R(a)], &[]),
            Alu::SplitWords(.., a) => Flow::moves(&[D(a)], &[]),
            // 128-bit registers are undefined as a whole.
            Alu::Pack { d: Reg::Q(_), .. } | Alu::Split { a: Reg::Q(_), .. } => Flow::Mixes,
            Alu::Pack { ref parts, .. } => Flow::moves(parts, &[]),
            Alu::Split { a, .. } => Flow::moves(&[a], &[]),
            Alu::SelectR(_, a, b, p) => Flow::moves(&[R(a), R(b)], &[P(p)]),
            Alu::SelectD(_, a, b, p) => Flow::moves(&[D(a), D(b)], &[P(p)]),
            Alu::Slct { a, b, c, .. } => Flow::moves(&[a, b], &[R(c)]),
            Alu::Lop3Pred { .. }
            | Alu::Carry(_)
            | Alu::MovQ { .. }
            | Alu::MovVector { .. }
            | Alu::Clock(..)
            | Alu::Setp(_)
            | Alu::Set(_)
            | Alu::Float(_)
            | Alu::Testp { .. }
            | Alu::Cvt(_)
            | Alu::CvtPack(_)
            | Alu::CvtUnpack(_)
            | Alu::CvtStochastic(_)
            | Alu::PackSat(_)
            | Alu::Kept(_)
            | Alu::Dot(_)
            | Alu::Video(_)
            | Alu::Mapa(_)
            | Alu::CtaRank { .. } => Flow::Mixes,
        }
    }
}

/// The kinds of arithmetic with the carry flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CarryKind {
    Add,
    Sub,
    MadLo,
    MadHiU,
    MadHiS,
}

/// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc` and `madc`, with and without `.cc`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) kind: CarryKind,
    pub(crate) read: bool,
    pub(crate) write: bool,
    /// Whether the result saturates; only for `madc.hi.sat.s32`.
    pub(crate) sat: bool,
    pub(crate) bits: u32,
    pub(crate) d: Reg,
    pub(crate) a: Reg,
    pub(crate) b: Reg,
    pub(crate) c: Reg,
    pub(crate) flag: P,
}

/// The logic operations of `setp` and on predicates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}

/// Special registers that change while a warp runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::enum_variant_names, reason = "named like the registers")]
pub(crate) enum Clock {
    /// `%clock` or `%globaltimer_lo`.
    Low,
    /// `%clock_hi` or `%globaltimer_hi`.
    High,
    /// `%clock64` or `%globaltimer`.
    Whole,
}

/// `setp.cmp[.bool].type d|q, a, b, c`. For pairs, there is one result per half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setp {
    pub(crate) compare: Compare,
    pub(crate) ty: Ty,
    pub(crate) pair: bool,
    pub(crate) ftz: bool,
    pub(crate) d: P,
    pub(crate) q: P,
    pub(crate) a: Reg,
    pub(crate) b: Reg,
    pub(crate) combine: Option<(Logic, P, bool)>,
}

/// `set.cmp[.bool].dtype.stype d, a, b, c`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Set {
    pub(crate) compare: Compare,
    pub(crate) ty: Ty,
    pub(crate) pair: bool,
    pub(crate) ftz: bool,
    pub(crate) d: R,
    /// The bits that represent "true" in one result.
    pub(crate) one: u32,
    pub(crate) a: Reg,
    pub(crate) b: Reg,
    pub(crate) combine: Option<(Logic, P, bool)>,
}

/// The floating-point functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FloatFn {
    Add,
    Sub,
    Mul,
    Fma,
    FmaRelu,
    /// f32 `add`, `sub` and `fma` in which `a`, and `b` for `fma`, have this type.
    AddMixed(Float),
    SubMixed(Float),
    FmaMixed(Float),
    /// `±a · b ± c`, from `mul` and `add` or `sub`.
    Contracted {
        minus_product: bool,
        minus_addend: bool,
    },
    Div,
    Rcp,
    Sqrt,
    Neg,
    Abs,
    Copysign,
    MinMax(Extremum, MinMaxMode),
    /// Three f32 operands, or their magnitudes.
    MinMax3 {
        which: Extremum,
        nan: bool,
        abs: bool,
    },
    DivApprox,
    DivFull,
    RcpApprox,
    RsqrtApprox,
    SqrtApprox,
    SinApprox,
    CosApprox,
    Ex2Approx,
    Lg2Approx,
    TanhApprox,
}

/// An instruction, and the register copies (destination and source) that precede it.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) alu: Alu,
    pub(crate) copies: Vec<(Reg, Reg)>,
}

/// A floating-point instruction with all its modifiers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FloatOp {
    pub(crate) f: FloatFn,
    pub(crate) ty: Float,
    /// Whether the operation applies to both 16-bit halves.
    pub(crate) pair: bool,
    pub(crate) round: Round,
    pub(crate) ftz: bool,
    pub(crate) sat: bool,
    pub(crate) d: Reg,
    pub(crate) a: Reg,
    pub(crate) b: Reg,
    pub(crate) c: Reg,
}

/// `cvt` of a single number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cvt {
    pub(crate) to: Ty,
    pub(crate) from: Ty,
    pub(crate) mode: CvtMode,
    pub(crate) d: Reg,
    /// The mask of all bits of the destination register. Integers are extended to its width.
    pub(crate) mask: u64,
    pub(crate) a: Reg,
}

/// `cvt` of two numbers to the two halves of one register; `a` is converted to the upper half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CvtPack {
    pub(crate) to: Float,
    pub(crate) from: Float,
    pub(crate) mode: CvtMode,
    pub(crate) d: R,
    pub(crate) a: R,
    /// The lower number, or `None` if both numbers are the halves of `a`.
    pub(crate) b: Option<R>,
}

/// `cvt` of the two halves of a 16-bit register to the two halves of a 32-bit register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CvtUnpack {
    pub(crate) to: Float,
    pub(crate) from: Float,
    pub(crate) mode: CvtMode,
    pub(crate) d: R,
    pub(crate) a: R,
}

/// `cvt.rs` of two or four f32 numbers to one register.
#[derive(Clone, Debug)]
pub(crate) struct CvtStochastic {
    pub(crate) to: Float,
    pub(crate) relu: bool,
    pub(crate) d: R,
    /// The numbers; the first is converted to the highest bits.
    pub(crate) numbers: Box<[R]>,
    pub(crate) random: R,
}

/// `cvt.pack.sat.convertType.abType[.cType] d, a, b[, c]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackSat {
    /// The number of bits of each part: 16, 8, 4 or 2.
    pub(crate) bits: u32,
    pub(crate) signed: bool,
    pub(crate) d: R,
    pub(crate) a: R,
    pub(crate) b: R,
    pub(crate) c: Option<R>,
}

/// `dp4a.atype.btype` or `dp2a.{lo,hi}.atype.btype`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DotOp {
    pub(crate) a_signed: bool,
    pub(crate) b_signed: bool,
    /// Whether `dp2a` uses the upper bytes of `b`, or `None` for `dp4a`.
    pub(crate) two: Option<bool>,
    pub(crate) d: R,
    pub(crate) a: R,
    pub(crate) b: R,
    pub(crate) c: R,
}

/// `mapa`: an address in another block's shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Mapa {
    pub(crate) d: Reg,
    pub(crate) a: Reg,
    pub(crate) rank: R,
}
