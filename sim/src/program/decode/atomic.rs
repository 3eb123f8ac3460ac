//! `atom` and `red`.

use crate::arith::{Float, Int};
use crate::program::code::{Access, Atom, AtomFn, Memory, Op, Reg, Space};
use crate::program::decode::Decoded;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::memory::{MEMORY, Scope, space_of};
use crate::program::decode::opcodes::{Counted, Opcodes, row};
use crate::program::decode::operand::Fit;
use crate::program::types::Type;
use crate::report::InstructionClass;
use crate::text::ast::OperandKind;

pub(super) const OPCODES: &[Opcodes] = &[
    row(&["atom"], Counted::As(InstructionClass::Atomic), MEMORY, |d| d.atom(false).map(Op::Memory)),
    row(&["red"], Counted::As(InstructionClass::Atomic), MEMORY, |d| d.atom(true).map(Op::Memory)),
];

impl Decoder<'_, '_, '_> {
    /// Decodes `atom[.sem][.scope][.space].op[.level][.vec].type d, [a], b[, c]`; `red` has no `d`.
    pub(super) fn atom(&mut self, red: bool) -> Decoded<Memory> {
        if red && self.m.eat("async") {
            return self.store_async(true);
        }
        let relaxed = self.m.eat("relaxed");
        // A reduction returns no value, so it cannot acquire.
        let orders: &[&str] = if red { &["release"] } else { &["acquire", "release", "acq_rel"] };
        let synchronizes = !relaxed && self.m.eat_any(orders);
        let before = self.scope();
        let space = self.m.take(space_of).unwrap_or(Space::Generic);
        if !matches!(space, Space::Generic | Space::Global | Space::Shared | Space::SharedCluster) {
            return Err(self.error("atomics work in global and shared space"));
        }
        // `.scope` may also follow the space.
        let scope = before.or(self.scope());
        let Some(name) = self.m.next() else {
            return Err(self.error(format!("`{}` requires an operation", self.i.opcode())));
        };
        let noftz = self.m.eat("noftz");
        let caching = self.cache_hints(&[]);
        if !caching.is_plain() || caching.prefetch {
            return Err(
                self.error(format!("`{}`: of the cache hints only a policy goes here", self.i.mnemonic()))
            );
        }
        let policy = caching.policy;
        let count = if self.m.eat("v2") {
            2
        } else if self.m.eat("v4") {
            4
        } else if self.m.eat("v8") {
            8
        } else {
            1
        };
        let ty = self.want_type()?;
        let f = self.atom_function(name, ty, noftz)?;
        if count == 1 && matches!(f, AtomFn::MinFloat { .. } | AtomFn::MaxFloat { .. }) {
            return Err(self.error(format!("`.{name}` on {ty} is for vectors")));
        }
        if noftz && matches!(ty, Type::F32 | Type::F64) {
            return Err(self.unknown_word("noftz"));
        }
        if count > 1 && (ty.float().is_none() || ty == Type::F64 || space != Space::Global) {
            return Err(self.no_such_type(ty));
        }
        let first = usize::from(!red);
        let operands = first + 2 + usize::from(f == AtomFn::Cas);
        if red && matches!(f, AtomFn::Cas | AtomFn::Exch) {
            return Err(self.unknown_word(name));
        }
        self.arity(operands + usize::from(policy))?;
        let d = if red { Box::default() } else { self.atom_destination(count, ty)? };
        let (addr, space) = self.addr(first, space)?;
        let b = self.sources(first + 1, count, ty, Fit::Exact)?;
        let c = if f == AtomFn::Cas { Some(self.src(first + 2, ty)?) } else { None };
        let access = Access {
            space,
            bytes: ty.bytes() as u8,
            count: count as u8,
            signed: false,
            half: false,
            float: false,
            strong: true,
            synchronizes,
            relaxed,
            meets_blocks: scope.is_none_or(Scope::is_wide),
            addr,
        };
        Ok(Memory::Atom(Box::new(Atom { f, access, d, b, c })))
    }

    fn atom_destination(&mut self, count: usize, ty: Type) -> Decoded<Box<[Reg]>> {
        if matches!(&self.operand(0).kind, OperandKind::Name(name) if **name == *"_") {
            return Ok(Box::default());
        }
        self.destinations(0, count, ty, Fit::Exact)
    }

    fn atom_function(&self, name: &str, ty: Type, noftz: bool) -> Decoded<AtomFn> {
        let half = matches!(ty, Type::F16 | Type::F16x2 | Type::Bf16 | Type::Bf16x2);
        let float = ty.float();
        let f = match (name, ty) {
            ("and", Type::B32 | Type::B64) => AtomFn::And,
            ("or", Type::B32 | Type::B64) => AtomFn::Or,
            ("xor", Type::B32 | Type::B64) => AtomFn::Xor,
            ("exch", Type::B32 | Type::B64 | Type::B128) => AtomFn::Exch,
            ("cas", Type::B16 | Type::B32 | Type::B64 | Type::B128) => AtomFn::Cas,
            ("inc", Type::Int(Int::U32)) => AtomFn::Inc,
            ("dec", Type::Int(Int::U32)) => AtomFn::Dec,
            ("add", Type::Int(int)) if matches!(int, Int::U32 | Int::S32 | Int::U64) => AtomFn::AddInt(int),
            ("min", Type::Int(int)) if int.bits() >= 32 => AtomFn::MinInt(int),
            ("max", Type::Int(int)) if int.bits() >= 32 => AtomFn::MaxInt(int),
            ("add", Type::F32 | Type::F64) => {
                AtomFn::AddFloat { ty: float.unwrap_or(Float::F32), pair: false, ftz: false }
            }
            ("add", _) if half && noftz => {
                AtomFn::AddFloat { ty: float.unwrap_or(Float::F16), pair: ty.is_pair(), ftz: false }
            }
            ("min", _) if half && noftz => {
                AtomFn::MinFloat { ty: float.unwrap_or(Float::F16), pair: ty.is_pair() }
            }
            ("max", _) if half && noftz => {
                AtomFn::MaxFloat { ty: float.unwrap_or(Float::F16), pair: ty.is_pair() }
            }
            ("add" | "min" | "max", _) if half => return Err(self.error("atomics on halves want `.noftz`")),
            ("and" | "or" | "xor" | "exch" | "cas" | "inc" | "dec" | "add" | "min" | "max", _) => {
                return Err(self.error(format!("there is no atomic `.{name}` on {ty}")));
            }
            _ => return Err(self.unknown_word(name)),
        };
        Ok(f)
    }
}
