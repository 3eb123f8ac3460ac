//! Instructions that only read and write registers of the executing lane.

use crate::arith::compare::{Class, Compare};
use crate::arith::cvt::CvtMode;
use crate::arith::minmax::{Extremum, MinMaxMode};
use crate::arith::{Float, Round, Ty};
use crate::program::code::{D, P, R, Reg, Video};

/// Register-only instructions by the classes of their operands.
#[derive(Clone, Debug)]
pub(crate) enum Alu {
    R1(R1, R, R),
    R2(R2, R, R, R),
    R3(R3, R, R, R, R),
    /// `lop3.b32` with its table.
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
    /// 32 → 64 bits.
    Widen(Widen, D, R),
    /// 64 → 32 bits.
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
    /// With the carry flag: add, sub or mad.
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
    /// The other forms of `mov` with a vector.
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
    /// Scalar or packed floating-point arithmetic at full generality.
    Float(Box<FloatOp>),
    /// `testp`.
    Testp {
        class: Class,
        ty: Float,
        d: P,
        a: Reg,
    },
    Cvt(Box<Cvt>),
    /// Two values into one register: `cvt.rn.f16x2.f32 d, a, b`.
    CvtPack(Box<CvtPack>),
    /// `cvt.rn.f16x2.e4m3x2 d, a`.
    CvtUnpack(Box<CvtUnpack>),
    /// `cvt.rs`.
    CvtStochastic(Box<CvtStochastic>),
    /// Integer `cvt.pack`.
    PackSat(Box<PackSat>),
    /// An instruction after some of its operands were copied, for a later `fma` that they outlive.
    Kept(Box<Kept>),
    /// `dp4a`, `dp2a`.
    Dot(Box<DotOp>),
    Video(Box<Video>),
    Mapa(Box<Mapa>),
    /// `getctarank`.
    CtaRank {
        d: R,
        a: Reg,
    },
}

/// One 32-bit operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum R1 {
    Mov,
    Mov16,
    Not,
    Not16,
    Neg,
    Neg16,
    Abs,
    Abs16,
    Cnot,
    Cnot16,
    Clz,
    Popc,
    Brev,
    BfindU,
    BfindS,
    BfindShiftU,
    BfindShiftS,
    Sext8,
    Sext16,
    /// Sign-extended into 16 bits.
    Sext8To16,
    Zext8,
    NegF32,
    AbsF32,
}

/// Two 32-bit operands. `16` marks the forms that work on the low halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum R2 {
    Add,
    Sub,
    MulLo,
    MulHiU,
    MulHiS,
    Mul24LoU,
    Mul24LoS,
    Mul24HiU,
    Mul24HiS,
    DivU,
    DivS,
    RemU,
    RemS,
    MinU,
    MinS,
    MaxU,
    MaxS,
    MinSRelu,
    MaxSRelu,
    AddSat,
    SubSat,
    And,
    Or,
    Xor,
    Shl,
    ShrU,
    ShrS,
    Add16,
    Sub16,
    MulLo16,
    MulHiU16,
    MulHiS16,
    MulWideU16,
    MulWideS16,
    DivU16,
    DivS16,
    RemU16,
    RemS16,
    MinU16,
    MinS16,
    MaxU16,
    MaxS16,
    Shl16,
    ShrU16,
    ShrS16,
    Add16x2,
    MinU16x2,
    MinS16x2,
    MaxU16x2,
    MaxS16x2,
    MinS16x2Relu,
    MaxS16x2Relu,
    BmskClamp,
    BmskWrap,
    SzextUClamp,
    SzextUWrap,
    SzextSClamp,
    SzextSWrap,
    AddF32,
    SubF32,
    MulF32,
    CopysignF32,
}

/// Three 32-bit operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum R3 {
    MadLo,
    MadHiU,
    MadHiS,
    MadHiSSat,
    Mad24LoU,
    Mad24LoS,
    Mad24HiU,
    Mad24HiS,
    Mad24HiSSat,
    MadLo16,
    MadHiU16,
    MadHiS16,
    MadWideU16,
    MadWideS16,
    SadU,
    SadS,
    SadU16,
    SadS16,
    BfeU,
    BfeS,
    ShfLClamp,
    ShfLWrap,
    ShfRClamp,
    ShfRWrap,
    Prmt,
    PrmtF4e,
    PrmtB4e,
    PrmtRc8,
    PrmtEcl,
    PrmtEcr,
    PrmtRc16,
    Fns,
    FmaF32,
    /// `a · b − c`, `c − a · b` and `−a · b − c`: contracted from `mul` and `add` or `sub`.
    FmsF32,
    FnmaF32,
    FnmsF32,
}

/// One 64-bit operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum D1 {
    Mov,
    Not,
    Neg,
    Abs,
    Cnot,
    Brev,
    Sext8,
    Sext16,
    Sext32,
    Zext8,
    Zext16,
    Zext32,
    /// The address of a shared variable made generic, and back.
    SharedToGeneric,
    GenericToShared,
    LocalToGeneric,
    GenericToLocal,
    ParamToGeneric,
    GenericToParam,
}

/// Two 64-bit operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum D2 {
    Add,
    Sub,
    MulLo,
    MulHiU,
    MulHiS,
    DivU,
    DivS,
    RemU,
    RemS,
    MinU,
    MinS,
    MaxU,
    MaxS,
    And,
    Or,
    Xor,
    AddF64,
    SubF64,
    MulF64,
}

/// Three 64-bit operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum D3 {
    MadLo,
    MadHiU,
    MadHiS,
    SadU,
    SadS,
    FmaF64,
    /// As of f32.
    FmsF64,
    FnmaF64,
    FnmsF64,
}

/// A 64-bit and a 32-bit operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DR {
    Shl,
    ShrU,
    ShrS,
}

/// From 32 to 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Widen {
    U32,
    S32,
    U16,
    S16,
    U8,
    S8,
}

/// From 64 to 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Narrow {
    Low,
    Low16,
    Low8,
    Clz,
    Popc,
    BfindU,
    BfindS,
    BfindShiftU,
    BfindShiftS,
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

/// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc`, `madc` and their `.cc` forms.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carry {
    pub(crate) kind: CarryKind,
    pub(crate) read: bool,
    pub(crate) write: bool,
    /// Only `madc.hi.sat.s32`.
    pub(crate) sat: bool,
    pub(crate) bits: u32,
    pub(crate) d: Reg,
    pub(crate) a: Reg,
    pub(crate) b: Reg,
    pub(crate) c: Reg,
    pub(crate) flag: P,
}

/// Logic on predicates and the combination of `setp`.
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
    /// `%clock`, `%globaltimer_lo`.
    Low,
    /// `%clock_hi`, `%globaltimer_hi`.
    High,
    /// `%clock64`, `%globaltimer`.
    Whole,
}

/// `setp.cmp[.bool].type d|q, a, b, c`, for pairs one result per half.
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
    /// The bits of "true" in one result.
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

/// An instruction and what is copied before it: to, from.
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
    /// Works on both 16-bit halves.
    pub(crate) pair: bool,
    pub(crate) round: Round,
    pub(crate) ftz: bool,
    pub(crate) sat: bool,
    pub(crate) d: Reg,
    pub(crate) a: Reg,
    pub(crate) b: Reg,
    pub(crate) c: Reg,
}

/// `cvt` between two numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cvt {
    pub(crate) to: Ty,
    pub(crate) from: Ty,
    pub(crate) mode: CvtMode,
    pub(crate) d: Reg,
    /// The width of the destination register, to which integers are extended.
    pub(crate) mask: u64,
    pub(crate) a: Reg,
}

/// `cvt` of two numbers into the halves of one register; `a` goes to the upper half.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CvtPack {
    pub(crate) to: Float,
    pub(crate) from: Float,
    pub(crate) mode: CvtMode,
    pub(crate) d: R,
    pub(crate) a: R,
    /// `None`: both numbers are the halves of `a`.
    pub(crate) b: Option<R>,
}

/// `cvt` of the two halves of a 16-bit register into the halves of a 32-bit one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CvtUnpack {
    pub(crate) to: Float,
    pub(crate) from: Float,
    pub(crate) mode: CvtMode,
    pub(crate) d: R,
    pub(crate) a: R,
}

/// `cvt.rs` of two or four f32 into one register.
#[derive(Clone, Debug)]
pub(crate) struct CvtStochastic {
    pub(crate) to: Float,
    pub(crate) relu: bool,
    pub(crate) d: R,
    /// The first goes to the highest bits.
    pub(crate) numbers: Box<[R]>,
    pub(crate) random: R,
}

/// `cvt.pack.sat.convertType.abType[.cType] d, a, b[, c]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PackSat {
    /// Bits of a part: 16, 8, 4 or 2.
    pub(crate) bits: u32,
    pub(crate) signed: bool,
    pub(crate) d: R,
    pub(crate) a: R,
    pub(crate) b: R,
    pub(crate) c: Option<R>,
}

/// `dp4a.atype.btype`, `dp2a.{lo,hi}.atype.btype`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DotOp {
    pub(crate) a_signed: bool,
    pub(crate) b_signed: bool,
    /// `dp2a`, and whether it takes the upper bytes of b.
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
