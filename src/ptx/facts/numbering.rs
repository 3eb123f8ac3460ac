//! Local value numbering: an instruction whose result is already in a register is not emitted again.
//!
//! It applies to instructions with a single result that depends only on their operands, at positions that the earlier instruction
//! dominates. Operands are identified by register and version, so a register that has been written since is a different operand. A result
//! that several values share is no longer overwritten in place ([`Body::is_shared`]): accumulators and loop state that would overwrite it
//! are moved to separate registers.

use std::hash::{Hash, Hasher};

use rustc_hash::{FxBuildHasher, FxHashMap};

use super::{Body, RegId};
use crate::ptx::{mnemonic::Mnemonic, operand::Operand, types::RegClass};

/// The first components of the mnemonics of pure instructions, whose results depend only on their operands.
const PURE: &[&str] = &[
    "abs",
    "add",
    "and",
    "bfe",
    "bfi",
    "bfind",
    "bmsk",
    "brev",
    "clz",
    "cnot",
    "copysign",
    "cos",
    "createpolicy",
    "cvt",
    "cvta",
    "div",
    "dp2a",
    "dp4a",
    "ex2",
    "fma",
    "fns",
    "getctarank",
    "isspacep",
    "lg2",
    "lop3",
    "mad",
    "mad24",
    "mapa",
    "max",
    "min",
    "mov",
    "mul",
    "mul24",
    "neg",
    "not",
    "or",
    "popc",
    "prmt",
    "rcp",
    "rem",
    "rsqrt",
    "sad",
    "selp",
    "set",
    "setp",
    "shf",
    "shl",
    "shr",
    "sin",
    "slct",
    "sqrt",
    "sub",
    "szext",
    "tanh",
    "testp",
    "xor",
];

/// The special registers that may change while a thread runs.
const CHANGING: &[&str] = &["%clock", "%clock_hi", "%clock64", "%globaltimer", "%smid", "%warpid"];

/// Returns whether an instruction's result depends only on its operands. Extended-precision arithmetic also accesses the carry flag.
pub(in crate::ptx) fn is_pure(mnemonic: &str) -> bool {
    let root = mnemonic.split('.').next().unwrap_or_default();
    PURE.binary_search(&root).is_ok() && !mnemonic.split('.').any(|part| part == "cc")
        || root.starts_with('%') && !CHANGING.contains(&mnemonic)
}

/// Returns whether the first two operands commute. In f64 they do not, because a NaN result has the bits of one of the NaN operands, and
/// the operand order determines which one.
pub(in crate::ptx) fn is_commutative(mnemonic: &str) -> bool {
    let mut parts = mnemonic.split('.');
    match parts.next() {
        _ if mnemonic.ends_with(".f64") => false,
        Some("add" | "and" | "fma" | "mad" | "mad24" | "max" | "min" | "mul" | "mul24" | "or" | "xor") => {
            true
        }
        Some("setp") => matches!(parts.next(), Some("eq" | "ne")),
        _ => false,
    }
}

/// The number of expressions to reserve capacity for; it suffices for most kernels.
const COMMON_EXPRESSIONS: usize = 512;

/// The maximum number of operands of an expression.
const MOST: usize = 4;

/// An instruction without its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Expression {
    mnemonic: u32,
    /// Kinds of the operands, four bits each; above them, the class of the result and whether the operands are halves.
    kinds: u32,
    operands: [u64; MOST],
}

impl Hash for Expression {
    /// Hashes the operands one by one, because a slice would be hashed as bytes.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.mnemonic) << 32 | u64::from(self.kinds));
        self.operands.iter().for_each(|&operand| state.write_u64(operand));
    }
}

/// Kinds of operands.
const REGISTER: u32 = 1;
const CONSTANT: u32 = 2;
const NAME: u32 = 3;
/// Marks an expression in which the operands are the halves of one operand.
const HALVES: u32 = 1 << 20;

impl Expression {
    fn push(&mut self, count: &mut usize, kind: u32, operand: u64) -> Option<()> {
        *self.operands.get_mut(*count)? = operand;
        self.kinds |= kind << (4 * *count);
        *count += 1;
        Some(())
    }
}

/// The expressions emitted so far, and the registers that contain their values.
#[derive(Debug)]
pub(in crate::ptx) struct Numbering {
    /// The register that each expression was last assigned to, and its version at that time.
    values: FxHashMap<Expression, (RegId, u32)>,
}

impl Default for Numbering {
    fn default() -> Self {
        Self { values: FxHashMap::with_capacity_and_hasher(COMMON_EXPRESSIONS, FxBuildHasher) }
    }
}

impl Numbering {
    /// Discards all expressions.
    pub(in crate::ptx) fn clear(&mut self) {
        self.values.clear();
    }
}

/// The register assigned to an expression.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) enum Numbered {
    /// A register already contains its value.
    Known(RegId),
    /// It must be emitted with a fresh register as its result.
    New(RegId, Recorded),
}

/// An expression with a recorded register.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct Recorded(Expression);

impl Body {
    /// Returns the register of class `class` for the result of a pure instruction, or `None` if the instruction is not numbered.
    pub(in crate::ptx) fn number(
        &mut self,
        mnemonic: Mnemonic,
        class: RegClass,
        operands: &[Operand<'_>],
    ) -> Option<Numbered> {
        if !mnemonic.properties.pure {
            return None;
        }
        let expression = self.expression(mnemonic, class, operands)?;
        let recorded = self.numbering.values.get(&expression).copied();
        if let Some(known) = recorded.filter(|&known| self.is_unchanged(known)) {
            let (reg, _) = known;
            self.facts_mut(reg).shared = true;
            return Some(Numbered::Known(reg));
        }
        let reg = self.fresh(class);
        self.numbering.values.insert(expression, (reg, self.facts(reg).version));
        Some(Numbered::New(reg, Recorded(expression)))
    }

    /// Discards a recorded expression.
    pub(in crate::ptx) fn forget(&mut self, Recorded(expression): Recorded) {
        self.numbering.values.remove(&expression);
    }

    fn expression(
        &mut self,
        mnemonic: Mnemonic,
        class: RegClass,
        operands: &[Operand<'_>],
    ) -> Option<Expression> {
        let kinds = (class.index() as u32) << 16;
        let mut expression = Expression { mnemonic: mnemonic.number, kinds, operands: [0; MOST] };
        let mut count = 0;
        for operand in operands {
            match *operand {
                // A copy to a register of the same class is intentional.
                Operand::Reg(reg) if mnemonic.properties.moves && reg.class == class => return None,
                Operand::Vector(halves) => {
                    expression.kinds |= HALVES;
                    for half in halves {
                        let (kind, half) = self.plain(half)?;
                        expression.push(&mut count, kind, half)?;
                    }
                }
                ref operand => {
                    let (kind, operand) = self.plain(operand)?;
                    expression.push(&mut count, kind, operand)?;
                }
            }
        }
        let kind = |i: usize| expression.kinds >> (4 * i) & 15;
        let ordered = (kind(0), expression.operands[0]) <= (kind(1), expression.operands[1]);
        if mnemonic.properties.commutative && !ordered {
            let (first, second) = (kind(0), kind(1));
            expression.kinds = expression.kinds & !0xff | second | first << 4;
            expression.operands.swap(0, 1);
        }
        Some(expression)
    }

    fn plain(&mut self, operand: &Operand<'_>) -> Option<(u32, u64)> {
        match *operand {
            Operand::Reg(reg) => {
                let facts = self.facts(reg);
                let number = u64::from(reg.index) << 4 | reg.class.index() as u64;
                (!facts.variable && !facts.recomputed && reg.index < 1 << 28)
                    .then_some((REGISTER, number << 32 | u64::from(facts.version)))
            }
            Operand::Imm(immediate) => Some((CONSTANT, immediate.bits())),
            Operand::Name(name) => self.special_number(name).map(|number| (NAME, number.into())),
            _ => None,
        }
    }
}
