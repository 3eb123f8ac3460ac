//! `mbarrier`, and instructions for the shared memory of clusters: `mapa`, `getctarank`.

use crate::arith::Int;
use crate::program::code::{Alu, Arrive, D, Mapa, Mbarrier, MbarrierFn, Memory, Op, PhaseOperand, Space};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::{SCOPES, space_of};
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::decode::order::AS_WRITTEN;
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::OperandKind;

const U32: Type = Type::Int(Int::U32);

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["mbarrier"], Counted::As(InstructionClass::Async), AS_WRITTEN, |d| d.mbarrier().map(Op::Memory)),
    row(&["mapa"], Counted::As(InstructionClass::Move), AS_WRITTEN, |d| d.mapa().map(Op::Alu)),
    row(&["getctarank"], Counted::As(InstructionClass::Move), AS_WRITTEN, |d| d.getctarank().map(Op::Alu)),
    row(&["setmaxnreg"], Counted::As(InstructionClass::Other), AS_WRITTEN, |d| {
        d.setmaxnreg().map(Op::Control)
    }),
];

impl Decoder<'_, '_, '_> {
    /// Decodes the qualifiers after the operation: `.sem.scope.space.b64`.
    fn mbarrier_tail(&mut self) -> Decoded<Space> {
        self.m.eat_any(&["acquire", "release", "relaxed"]);
        self.m.eat_any(&SCOPES);
        let space = self.m.take(space_of).unwrap_or(Space::Generic);
        if !matches!(space, Space::Generic | Space::Shared | Space::SharedCluster) {
            return Err(self.error("an mbarrier is in shared space"));
        }
        self.want_word("b64")?;
        Ok(space)
    }

    pub(super) fn mbarrier(&mut self) -> Decoded<Memory> {
        let word = self.m.next().unwrap_or("");
        if word == "pending_count" {
            self.want_word("b64")?;
            self.arity(2)?;
            let (d, state) = (self.dst_r(0, U32)?, self.src_d(1, Type::B64)?);
            return Ok(Memory::PendingCount { d, state });
        }
        let drop = word == "arrive_drop";
        let no_complete = (word == "arrive" || drop) && self.m.eat("noComplete");
        let expect = (word == "arrive" || drop) && self.m.eat("expect_tx");
        let parity = matches!(word, "test_wait" | "try_wait") && self.m.eat("parity");
        let space = self.mbarrier_tail()?;
        let (at, f) = match word {
            "init" => {
                self.arity(2)?;
                (0, MbarrierFn::Init(self.src_r(1, U32)?))
            }
            "inval" => {
                self.arity(1)?;
                (0, MbarrierFn::Inval)
            }
            "expect_tx" | "complete_tx" => {
                self.arity(2)?;
                let bytes = self.src_r(1, U32)?;
                (
                    0,
                    if word == "expect_tx" {
                        MbarrierFn::ExpectTx(bytes)
                    } else {
                        MbarrierFn::CompleteTx(bytes)
                    },
                )
            }
            "arrive" | "arrive_drop" => self.arrive(drop, no_complete, expect)?,
            "test_wait" | "try_wait" => {
                self.arity_of(3, if word == "try_wait" { 4 } else { 3 })?;
                let d = self.dst_p(self.operand(0))?;
                let phase = if parity {
                    PhaseOperand::Parity(self.src_r(2, U32)?)
                } else {
                    PhaseOperand::State(self.src_d(2, Type::B64)?)
                };
                if self.count() == 4 {
                    self.src_r(3, U32)?;
                }
                (1, MbarrierFn::Test { d, phase })
            }
            _ => return Err(self.unknown()),
        };
        if space == Space::SharedCluster && matches!(f, MbarrierFn::Arrive(Arrive { state: Some(_), .. })) {
            let message = "an mbarrier of the cluster gives no state: `_` goes here";
            return Err(self.error_at(self.operand(0), message));
        }
        let (addr, space) = self.addr(at, space)?;
        Ok(Memory::Mbarrier(Box::new(Mbarrier { f, space, addr })))
    }

    /// Decodes the operands `[state | _,] [addr][, count | bytes]` of an arrival.
    fn arrive(&mut self, drop: bool, no_complete: bool, expect: bool) -> Decoded<(usize, MbarrierFn)> {
        let at =
            usize::from(!matches!(self.i.operands.first().map(|o| &o.kind), Some(OperandKind::Address(_))));
        let rest = usize::from(expect || no_complete);
        self.arity_of(at + 1 + rest, at + 2)?;
        let state: Option<D> = match (at, self.i.operands.first().map(|o| &o.kind)) {
            (0, _) => None,
            (_, Some(OperandKind::Name(name))) if **name == *"_" => None,
            _ => Some(self.dst_d(0, Type::B64)?),
        };
        let operand = if self.count() == at + 2 { Some(self.src_r(at + 1, U32)?) } else { None };
        let (count, expect) = if expect { (None, operand) } else { (operand, None) };
        Ok((at, MbarrierFn::Arrive(Arrive { count, expect, drop, no_complete, state })))
    }

    /// Decodes `cp.async.mbarrier.arrive[.noinc][.shared].b64 [addr]`.
    pub(super) fn copies_arrive(&mut self) -> Decoded<Memory> {
        self.want_word("arrive")?;
        let noinc = self.m.eat("noinc");
        let space = self.mbarrier_tail()?;
        self.arity(1)?;
        let (addr, space) = self.addr(0, space)?;
        let f = MbarrierFn::CopiesArrive { noinc };
        Ok(Memory::Mbarrier(Box::new(Mbarrier { f, space, addr })))
    }

    /// Decodes `mapa[.shared::cluster].{u32,u64} d, a, rank`.
    pub(super) fn mapa(&mut self) -> Decoded<Alu> {
        self.m.eat("shared::cluster");
        let ty = self.want_type()?;
        if !matches!(ty, Type::Int(Int::U32 | Int::U64)) {
            return Err(self.no_such_type(ty));
        }
        self.arity(3)?;
        let d = self.dst(0, ty)?;
        let a = match self.symbol_value(self.operand(1), ty, false)? {
            Some(Ok(a)) => a,
            _ => self.src_as(self.operand(1), ty, Fit::Exact)?,
        };
        let rank = self.src_r(2, U32)?;
        Ok(Alu::Mapa(Box::new(Mapa { d, a, rank })))
    }

    /// Decodes `getctarank[.shared::cluster].{u32,u64} d, a`.
    pub(super) fn getctarank(&mut self) -> Decoded<Alu> {
        self.m.eat("shared::cluster");
        let ty = self.want_type()?;
        if !matches!(ty, Type::Int(Int::U32 | Int::U64)) {
            return Err(self.no_such_type(ty));
        }
        self.arity(2)?;
        let d = self.dst_r(0, U32)?;
        let a = self.src(1, ty)?;
        Ok(Alu::CtaRank { d, a })
    }

    /// Decodes `setmaxnreg.{inc,dec}.sync.aligned.u32 n`.
    pub(super) fn setmaxnreg(&mut self) -> Decoded<crate::program::code::Control> {
        let more = self.m.eat("inc");
        if !more && !self.m.eat("dec") {
            return Err(self.error("`setmaxnreg` requires `.inc` or `.dec`"));
        }
        for word in ["sync", "aligned", "u32"] {
            self.want_word(word)?;
        }
        self.arity(1)?;
        match self.constant(0, "a register count")? {
            n if (24..=256).contains(&n) && n % 8 == 0 => {
                Ok(crate::program::code::Control::MaxRegisters { count: n as u32, more })
            }
            n => Err(self.error_at(self.operand(0), format!("{n} is not a multiple of 8 in 24 … 256"))),
        }
    }
}
