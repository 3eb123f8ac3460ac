//! Bitwise functions of three operands, funnel shifts, and byte permutations: `lop3`, `shf`, `prmt`.

use super::{bits::ShiftMode, float::kernel_of};
use crate::ptx::{
    operand::{Immediate, Operand},
    types::RegClass,
    val::Val,
};

/// The rule by which [`Val::permute_with`] selects four of the eight source bytes (PTX ISA, "prmt").
///
/// In the descriptions of the variants, `n` is the value of the selector's low two bits. Source bytes are numbered from 0 (lowest) to 7.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permute {
    /// Bytes `n`, `n + 1`, `n + 2` and `n + 3`.
    F4e,
    /// Bytes `n`, `n − 1`, `n − 2` and `n − 3`, modulo 8.
    B4e,
    /// Byte `n`, four times.
    Rc8,
    /// Bytes 0 to 3, with the bytes below byte `n` replaced by byte `n`.
    Ecl,
    /// Bytes 0 to 3, with the bytes above byte `n` replaced by byte `n`.
    Ecr,
    /// Bytes `2m` and `2m + 1`, twice, where `m` is `n` mod 2.
    Rc16,
}

impl Permute {
    const fn suffix(self) -> &'static str {
        match self {
            Self::F4e => ".f4e",
            Self::B4e => ".b4e",
            Self::Rc8 => ".rc8",
            Self::Ecl => ".ecl",
            Self::Ecr => ".ecr",
            Self::Rc16 => ".rc16",
        }
    }

    /// Returns the index (0 to 7) of the source byte for byte `i` of the result.
    fn source(self, selector: u32, i: u32) -> u32 {
        let at = selector & 3;
        match self {
            Self::F4e => (at + i) & 7,
            Self::B4e => at.wrapping_sub(i) & 7,
            Self::Rc8 => at,
            Self::Ecl => at.max(i),
            Self::Ecr => at.min(i),
            Self::Rc16 => 2 * (at & 1) + i % 2,
        }
    }
}

/// Returns the truth table of a bitwise function of three operands, for [`Val::lop3`]: `lop3_table(|a, b, c| a & b | c)`. `f` may combine
/// its arguments only with `&`, `|`, `^` and `!`, because it is called only once, with 0xf0, 0xcc and 0xaa.
pub fn lop3_table(f: impl Fn(u8, u8, u8) -> u8) -> u8 {
    f(0xf0, 0xcc, 0xaa)
}

fn fold_lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    (0..8).filter(|row| table >> row & 1 == 1).fold(0, |result, row| {
        let side = |x: u32, bit: u32| if row >> bit & 1 == 1 { x } else { !x };
        result | side(a, 2) & side(b, 1) & side(c, 0)
    })
}

fn byte_of(low: u32, high: u32, i: u32) -> u32 {
    (u64::from(high) << 32 | u64::from(low)).to_le_bytes()[(i & 7) as usize].into()
}

/// Permutes bytes. For each byte of the result, four bits of the selector specify the source byte and whether its sign bit is replicated
/// instead.
fn fold_permute(low: u32, high: u32, selector: u32) -> u32 {
    let byte = |i: u32| {
        let select = selector >> (4 * i) & 15;
        let byte = byte_of(low, high, select);
        match (select & 8 != 0, byte & 0x80 != 0) {
            (false, _) => byte,
            (true, negative) => {
                if negative {
                    0xff
                } else {
                    0
                }
            }
        }
    };
    (0..4).map(|i| byte(i) << (8 * i)).sum()
}

type Known3 = (Option<u32>, Option<u32>, Option<u32>);

fn known(a: Val<'_, u32>, b: Val<'_, u32>, c: Val<'_, u32>) -> Known3 {
    (a.as_constant(), b.as_constant(), c.as_constant())
}

impl<'k> Val<'k, u32> {
    /// Applies a bitwise function of three operands to `self`, `b` and `c`. `table` is the truth table of the function, as returned by
    /// [`lop3_table`]: bit `4x + 2y + z` is the result for a bit x of `self`, y of `b` and z of `c`.
    #[track_caller]
    pub fn lop3(self, b: impl Into<Self>, c: impl Into<Self>, table: u8) -> Self {
        let (b, c) = (b.into(), c.into());
        match (known(self, b, c), kernel_of([self, b, c])) {
            ((Some(a), Some(b), Some(c)), _) => fold_lop3(a, b, c, table).into(),
            (_, None) => self,
            (_, Some(k)) => {
                let operands = [self.operand(k), b.operand(k), c.operand(k), lookup(table)];
                k.result(format_args!("lop3.b32"), &operands)
            }
        }
    }

    /// Returns the result of [`lop3`](Self::lop3) and the predicate `result != 0 || predicate`.
    #[doc(alias = "lop3.or")]
    #[track_caller]
    pub fn lop3_or(
        self,
        b: impl Into<Self>,
        c: impl Into<Self>,
        table: u8,
        predicate: impl Into<Val<'k, bool>>,
    ) -> (Self, Val<'k, bool>) {
        self.lop3_with("or", b.into(), c.into(), table, predicate.into(), |a, b| a | b)
    }

    /// Returns the result of [`lop3`](Self::lop3) and the predicate `result != 0 && predicate`.
    #[doc(alias = "lop3.and")]
    #[track_caller]
    pub fn lop3_and(
        self,
        b: impl Into<Self>,
        c: impl Into<Self>,
        table: u8,
        predicate: impl Into<Val<'k, bool>>,
    ) -> (Self, Val<'k, bool>) {
        self.lop3_with("and", b.into(), c.into(), table, predicate.into(), |a, b| a & b)
    }

    #[track_caller]
    fn lop3_with(
        self,
        operator: &str,
        b: Self,
        c: Self,
        table: u8,
        predicate: Val<'k, bool>,
        fold: fn(bool, bool) -> bool,
    ) -> (Self, Val<'k, bool>) {
        let kernel = kernel_of([self, b, c]).or(predicate.kernel());
        match (known(self, b, c), predicate.as_constant(), kernel) {
            ((Some(a), Some(b), Some(c)), Some(predicate), _) => {
                let result = fold_lop3(a, b, c, table);
                (result.into(), fold(result != 0, predicate).into())
            }
            (.., None) => (self, predicate),
            (.., Some(k)) => {
                let (result, holds) = (k.fresh(RegClass::B32), k.fresh(RegClass::Pred));
                let predicate = Operand::Reg(predicate.in_register(k));
                let operands = [
                    Operand::Pair(result, holds),
                    self.operand(k),
                    b.operand(k),
                    c.operand(k),
                    lookup(table),
                    predicate,
                ];
                k.emit(format_args!("lop3.{operator}.b32"), &operands);
                (Val::from_reg(result, k), Val::from_reg(holds, k))
            }
        }
    }

    /// Shifts the 64-bit value `self:low` (`self` in the upper half) left by `amount`, and returns the upper 32 bits. `mode` determines how
    /// amounts of 32 or more are treated.
    #[doc(alias = "shf.l")]
    #[track_caller]
    pub fn funnel_left(self, low: impl Into<Self>, amount: impl Into<Self>, mode: ShiftMode) -> Self {
        let fold = |low, high, n| ((u64::from(high) << 32 | u64::from(low)) << n >> 32) as u32;
        self.funnel('l', low.into(), amount.into(), mode, fold)
    }

    /// Shifts the 64-bit value `self:low` (`self` in the upper half) right by `amount`, and returns the lower 32 bits. `mode` determines
    /// how amounts of 32 or more are treated.
    #[doc(alias = "shf.r")]
    #[track_caller]
    pub fn funnel_right(self, low: impl Into<Self>, amount: impl Into<Self>, mode: ShiftMode) -> Self {
        let fold = |low, high, n| ((u64::from(high) << 32 | u64::from(low)) >> n) as u32;
        self.funnel('r', low.into(), amount.into(), mode, fold)
    }

    #[track_caller]
    fn funnel(
        self,
        side: char,
        low: Self,
        amount: Self,
        mode: ShiftMode,
        fold: fn(u32, u32, u32) -> u32,
    ) -> Self {
        match (known(low, self, amount), kernel_of([low, self, amount])) {
            ((Some(low), Some(high), Some(n)), _) => fold(low, high, mode.of(n)).into(),
            (_, Some(k)) => low.ternary(k, format_args!("shf.{side}{}.b32", mode.suffix()), self, amount),
            (_, None) => self,
        }
    }

    /// Selects each byte of the result from the eight bytes of `high:self` (`self` in the lower half). Bits `4i` to `4i + 3` of `selector`
    /// form a number n that determines byte i of the result: if n is less than 8, byte n is copied; otherwise, the sign bit of byte n − 8
    /// is copied to all 8 bits.
    #[doc(alias = "prmt")]
    #[track_caller]
    pub fn permute(self, high: impl Into<Self>, selector: impl Into<Self>) -> Self {
        self.prmt("", high.into(), selector.into(), fold_permute)
    }

    /// Selects each byte of the result from the eight bytes of `high:self` (`self` in the lower half). `rule` and the low two bits of
    /// `selector` determine which bytes are selected.
    #[doc(alias = "prmt")]
    #[track_caller]
    pub fn permute_with(self, high: impl Into<Self>, selector: impl Into<Self>, rule: Permute) -> Self {
        let fold = |low, high, selector| {
            (0..4).map(|i| byte_of(low, high, rule.source(selector, i)) << (8 * i)).sum()
        };
        self.prmt(rule.suffix(), high.into(), selector.into(), fold)
    }

    #[track_caller]
    fn prmt(self, rule: &str, high: Self, selector: Self, fold: impl Fn(u32, u32, u32) -> u32) -> Self {
        match (known(self, high, selector), kernel_of([self, high, selector])) {
            ((Some(low), Some(high), Some(selector)), _) => fold(low, high, selector).into(),
            (_, Some(k)) => self.ternary(k, format_args!("prmt.b32{rule}"), high, selector),
            (_, None) => self,
        }
    }
}

fn lookup(table: u8) -> Operand<'static> {
    Operand::Imm(Immediate::new(u32::from(table)))
}
