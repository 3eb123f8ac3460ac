//! `shfl`, `vote`, `match`, `redux`, `activemask` and `elect`.

use crate::arith::Int;
use crate::arith::minmax::Extremum;
use crate::program::code::{Op, P, R, Redux, Reg, Shfl, ShflMode, VoteKind, WarpOp};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::{AS_WRITTEN, Order, types_last};
use crate::program::types::Type;
use crate::report::InstructionClass;

const U32: Type = Type::Int(Int::U32);

/// The order `.sync.mode.type`.
const SYNC_FIRST: Order = |_| Some(|word| if word == "sync" { 0 } else { 1 + types_last(word) });

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["shfl"], Counted::As(InstructionClass::Warp), SYNC_FIRST, |d| d.shfl().map(Op::Warp)),
    row(&["vote"], Counted::As(InstructionClass::Warp), SYNC_FIRST, |d| d.vote().map(Op::Warp)),
    row(&["match"], Counted::As(InstructionClass::Warp), AS_WRITTEN, |d| d.match_sync().map(Op::Warp)),
    row(&["redux"], Counted::As(InstructionClass::Warp), AS_WRITTEN, |d| d.redux().map(Op::Warp)),
    row(&["activemask"], Counted::As(InstructionClass::Warp), AS_WRITTEN, |d| d.activemask().map(Op::Warp)),
    row(&["elect"], Counted::As(InstructionClass::Warp), AS_WRITTEN, |d| d.elect().map(Op::Warp)),
];

impl Decoder<'_, '_, '_> {
    /// Decodes the destinations `d|p` or `d`.
    fn result_pair(&mut self, ty: Type) -> Decoded<(R, Option<P>)> {
        let (d, p) = self.pair(self.operand(0));
        let reg = self.dst_as(d, ty, Fit::Exact)?;
        let d = self.only_r(d, reg)?;
        let p = match p {
            Some(p) => Some(self.dst_p(p)?),
            None => None,
        };
        Ok((d, p))
    }

    /// Decodes `shfl[.sync].{up,down,bfly,idx}.b32 d|p, a, b, c[, mask]`.
    pub(super) fn shfl(&mut self) -> Decoded<WarpOp> {
        let sync = self.m.eat("sync");
        let mode = self.want("a mode such as `.bfly`", |word| {
            Some(match word {
                "up" => ShflMode::Up,
                "down" => ShflMode::Down,
                "bfly" => ShflMode::Bfly,
                "idx" => ShflMode::Idx,
                _ => return None,
            })
        })?;
        self.want_word("b32")?;
        self.arity(if sync { 5 } else { 4 })?;
        let (d, p) = self.result_pair(Type::B32)?;
        let (a, b, c) = (self.src_r(1, Type::B32)?, self.src_r(2, Type::B32)?, self.src_r(3, Type::B32)?);
        let mask = if sync { Some(self.src_r(4, U32)?) } else { None };
        Ok(WarpOp::Shfl(Box::new(Shfl { mode, d, p, a, b, c, mask })))
    }

    /// Decodes `vote[.sync].{all,any,uni}.pred d, a[, mask]` and `vote[.sync].ballot.b32 d, a[, mask]`.
    pub(super) fn vote(&mut self) -> Decoded<WarpOp> {
        let sync = self.m.eat("sync");
        let kind = self.want("a mode such as `.ballot`", |word| {
            Some(match word {
                "all" => VoteKind::All,
                "any" => VoteKind::Any,
                "uni" => VoteKind::Uni,
                "ballot" => VoteKind::Ballot,
                _ => return None,
            })
        })?;
        let ty = if kind == VoteKind::Ballot { Type::B32 } else { Type::Pred };
        self.want_word(if kind == VoteKind::Ballot { "b32" } else { "pred" })?;
        self.arity(if sync { 3 } else { 2 })?;
        let d = self.dst(0, ty)?;
        let (a, negated) = self.src_p(self.operand(1))?;
        let mask = if sync { Some(self.src_r(2, U32)?) } else { None };
        Ok(WarpOp::Vote(kind, d, a, negated, mask))
    }

    /// Decodes `match.{any,all}.sync.{b32,b64} d[|p], a, mask`.
    pub(super) fn match_sync(&mut self) -> Decoded<WarpOp> {
        let all = self.want("`.any` or `.all`", |word| match word {
            "any" => Some(false),
            "all" => Some(true),
            _ => None,
        })?;
        self.want_word("sync")?;
        let ty = self.want_type()?;
        if !matches!(ty, Type::B32 | Type::B64) {
            return Err(self.no_such_type(ty));
        }
        self.arity(3)?;
        let (d, p) = self.result_pair(U32)?;
        if p.is_some() && !all {
            return Err(self.error_at(self.operand(0), "`match.any` gives no predicate"));
        }
        let a: Reg = self.src(1, ty)?;
        let mask = self.src_r(2, U32)?;
        Ok(WarpOp::Match { all, d, p, a, mask })
    }

    /// Decodes `redux.sync.op.{u32,s32,b32} d, a, mask` and `redux.sync.op[.abs][.NaN].f32 d, a, mask`.
    pub(super) fn redux(&mut self) -> Decoded<WarpOp> {
        self.want_word("sync")?;
        let op = self.m.next().unwrap_or("");
        let (words, ty) = self.words()?;
        self.allow(&words.0, if ty == Type::F32 { &["abs", "NaN"] } else { &[] })?;
        let float = |which| Redux::Float { which, abs: words.has("abs"), nan: words.has("NaN") };
        let f = match (op, ty) {
            ("min", Type::F32) => float(Extremum::Min),
            ("max", Type::F32) => float(Extremum::Max),
            ("add", Type::Int(Int::U32 | Int::S32)) => Redux::Add,
            ("min", Type::Int(Int::U32)) => Redux::MinU,
            ("min", Type::Int(Int::S32)) => Redux::MinS,
            ("max", Type::Int(Int::U32)) => Redux::MaxU,
            ("max", Type::Int(Int::S32)) => Redux::MaxS,
            ("and", Type::B32) => Redux::And,
            ("or", Type::B32) => Redux::Or,
            ("xor", Type::B32) => Redux::Xor,
            _ => return Err(self.error(format!("there is no `redux.sync.{op}` on {ty}"))),
        };
        self.arity(3)?;
        let (d, a) = (self.dst_r(0, ty)?, self.src_r(1, ty)?);
        Ok(WarpOp::Redux { f, d, a, mask: self.src_r(2, U32)? })
    }

    pub(super) fn activemask(&mut self) -> Decoded<WarpOp> {
        self.want_word("b32")?;
        self.arity(1)?;
        Ok(WarpOp::ActiveMask(self.dst_r(0, Type::B32)?))
    }

    /// Decodes `elect.sync d|p, mask`.
    pub(super) fn elect(&mut self) -> Decoded<WarpOp> {
        self.want_word("sync")?;
        self.arity(2)?;
        let (d, p) = self.result_pair(Type::B32)?;
        let Some(p) = p else { return Err(self.error_at(self.operand(0), "expected `d|p`")) };
        Ok(WarpOp::Elect(d, p, self.src_r(1, U32)?))
    }
}
