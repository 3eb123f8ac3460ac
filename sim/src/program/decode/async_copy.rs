//! `cp.async` and its groups.

use crate::arith::Int;
use crate::program::code::{CpAsync, Memory, Op, P, Space};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::space_of;
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::order::Order;
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::{Operand, OperandKind};

/// The order of `cp.async.ca.shared.global.level`. The qualifiers of other variants have a fixed order.
const ORDER: Order = |words| {
    let copies = words.first() == Some(&"async") && words.contains(&"global") && !words.contains(&"bulk");
    copies.then_some(|word| match word {
        "async" => 0,
        "ca" | "cg" => 1,
        "global" => 3,
        _ if space_of(word).is_some() => 2,
        _ => 4,
    })
};

pub(super) const OPCODES: &[Opcodes] =
    &[row(&["cp"], Counted::As(InstructionClass::Async), ORDER, |d| d.cp())];

impl Decoder<'_, '_, '_> {
    fn cp(&mut self) -> Decoded<Op> {
        self.check_qualifiers()?;
        if self.m.eat("reduce") {
            self.want_word("async")?;
            self.want_word("bulk")?;
            return self.reduce_bulk();
        }
        if !self.m.eat("async") {
            return Err(self.unknown());
        }
        match self.m.peek() {
            Some("bulk") => {
                self.m.next();
                self.bulk()
            }
            Some("mbarrier") => {
                self.m.next();
                self.copies_arrive().map(Op::Memory)
            }
            Some("commit_group") => {
                self.m.next();
                self.arity(0)?;
                Ok(Op::Memory(Memory::CpAsyncCommit))
            }
            Some("wait_group") => {
                self.m.next();
                self.arity(1)?;
                let n = self.constant(0, "the number of groups")?;
                let n = u32::try_from(n)
                    .map_err(|_| self.error_at(self.operand(0), format!("{n} is not a number of groups")))?;
                Ok(Op::Memory(Memory::CpAsyncWait(n)))
            }
            Some("wait_all") => {
                self.m.next();
                self.arity(0)?;
                Ok(Op::Memory(Memory::CpAsyncWaitAll))
            }
            Some("ca" | "cg") => self.cp_async(),
            _ => Err(self.unknown()),
        }
    }

    /// Decodes `cp.async.{ca,cg}.shared.global [dst], [src], size[, src-size | ignore-src][, policy]`.
    fn cp_async(&mut self) -> Decoded<Op> {
        let cg = self.m.eat("cg");
        if !cg {
            self.m.eat("ca");
        }
        let to = self.want("`.shared`", |word| space_of(word).filter(|s| *s == Space::Shared))?;
        let from = self.want("`.global`", |word| space_of(word).filter(|s| *s == Space::Global))?;
        let caching = self.cache_hints(&[]);
        if !caching.is_plain() {
            return Err(self.error(format!("`{}`: an eviction priority does not go here", self.i.mnemonic())));
        }
        let policy = caching.policy;
        self.arity_of(3, 5)?;
        let (dst, _) = self.addr(0, to)?;
        let (src, _) = self.addr(1, from)?;
        let bytes = match (self.constant(2, "the size of a copy")?, cg) {
            (16, _) => 16,
            (n @ (4 | 8), false) => n as u8,
            (n, true) => {
                return Err(self.error_at(self.operand(2), format!("`.cg` copies 16 bytes, not {n}")));
            }
            (n, _) => {
                return Err(self.error_at(self.operand(2), format!("a copy has 4, 8 or 16 bytes, not {n}")));
            }
        };
        let mut rest = (3..self.count()).map(|n| self.operand(n)).collect::<Vec<_>>();
        if policy {
            let Some(last) = rest.pop() else {
                return Err(self.error("`.L2::cache_hint` requires a policy operand"));
            };
            self.src_as(last, Type::B64, crate::program::decode::operand::Fit::Exact)?;
        }
        let mut copy = CpAsync { dst, src, bytes, src_bytes: None, ignore: None };
        match &rest[..] {
            [] => {}
            [Operand { kind: OperandKind::Int(n), .. }] if !(0..=i128::from(bytes)).contains(&n.get()) => {
                return Err(self
                    .error_at(rest[0], format!("a copy of {bytes} bytes cannot take {n} from its source")));
            }
            [operand] => match self.predicate_of(operand)? {
                Some(ignore) => copy.ignore = Some(ignore),
                None => {
                    let reg = self.src_as(
                        operand,
                        Type::Int(Int::U32),
                        crate::program::decode::operand::Fit::Exact,
                    )?;
                    copy.src_bytes = Some(self.only_r(operand, reg)?);
                }
            },
            [_, extra, ..] => return Err(self.error_at(extra, "unexpected operand")),
        }
        Ok(Op::Memory(Memory::CpAsync(Box::new(copy))))
    }

    /// Returns the predicate in an operand, if it contains one.
    fn predicate_of(&mut self, operand: &Operand) -> Decoded<Option<(P, bool)>> {
        let inner = match &operand.kind {
            OperandKind::Not(inner) => inner,
            _ => operand,
        };
        match self.register_of(inner)? {
            Some((_, Type::Pred)) => self.src_p(operand).map(Some),
            _ => Ok(None),
        }
    }
}
