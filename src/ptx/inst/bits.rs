//! Counting, finding and moving bits: `popc`, `clz`, `bfind`, `fns`, `brev`, `bfe`, `bfi`, `szext`, `bmsk`.

use super::{
    Operands::{In, Known},
    logic::Bits,
    operands,
};
use crate::ptx::{
    facts,
    fold::Integer,
    types::{B32, B64, Scalar},
    val::Val,
};

/// A type that supports bit counting, reversal and insertion: a 32-bit or 64-bit integer, [`B32`] or [`B64`].
pub trait WideBits: Bits {}

impl WideBits for u32 {}
impl WideBits for i32 {}
impl WideBits for u64 {}
impl WideBits for i64 {}
impl WideBits for B32 {}
impl WideBits for B64 {}

/// The treatment of shift amounts, bit positions and bit counts of 32 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftMode {
    /// The amount, position or count is clamped to 32.
    #[doc(alias = ".clamp")]
    Clamp,
    /// Only the low 5 bits of the amount, position or count are used.
    #[doc(alias = ".wrap")]
    Wrap,
}

impl ShiftMode {
    pub(super) const fn suffix(self) -> &'static str {
        match self {
            Self::Clamp => ".clamp",
            Self::Wrap => ".wrap",
        }
    }

    /// Returns the effective amount for a width of 32 bits.
    pub(super) fn of(self, amount: u32) -> u32 {
        match self {
            Self::Clamp => amount.min(32),
            Self::Wrap => amount % 32,
        }
    }
}

impl<'k, T: WideBits> Val<'k, T> {
    #[track_caller]
    fn count(self, ptx: &str, fold: impl Fn(u64) -> u32) -> Val<'k, u32> {
        match self.reg() {
            None => self.as_constant().map_or(0, |c| fold(c.to_bits())).into(),
            Some((_, k)) => k.integer(
                facts::Known::at_most((8 * T::BYTES).into(), 32),
                format_args!("{ptx}.{}", T::UNTYPED),
                &[self.operand(k)],
            ),
        }
    }

    /// Returns the number of one bits.
    #[doc(alias = "popc")]
    #[track_caller]
    pub fn count_ones(self) -> Val<'k, u32> {
        self.count("popc", u64::count_ones)
    }

    /// Returns the number of zero bits above the highest one bit, or the width in bits if the value is 0.
    #[doc(alias = "clz")]
    #[track_caller]
    pub fn leading_zeros(self) -> Val<'k, u32> {
        self.count("clz", |bits| bits.leading_zeros() - (64 - 8 * T::BYTES))
    }

    /// Reverses the order of the bits.
    #[doc(alias = "brev")]
    #[track_caller]
    pub fn reverse_bits(self) -> Self {
        match self.reg() {
            None => self
                .as_constant()
                .map_or(self, |c| T::from_bits(c.to_bits().reverse_bits() >> (64 - 8 * T::BYTES)).into()),
            Some((_, k)) => k.result(["brev.", T::UNTYPED], &[self.operand(k)]),
        }
    }

    /// Returns `into` with the `length` bits that start at bit `position` replaced by the low bits of this value. `position` and `length`
    /// must be between 0 and 255; bits beyond the width are dropped.
    #[doc(alias = "bfi")]
    #[track_caller]
    pub fn insert_bits(
        self,
        into: impl Into<Self>,
        position: impl Into<Val<'k, u32>>,
        length: impl Into<Val<'k, u32>>,
    ) -> Self {
        let (into, position, length) = (into.into(), position.into(), length.into());
        match (operands(self, into), operands(position, length)) {
            (Known(a, b), Known(position, length)) => {
                fold_insert(a, b, in_field::<T>(position), in_field::<T>(length)).into()
            }
            (In(k), _) | (_, In(k)) => {
                let [position, length] = [position, length].map(|amount| immediate::<T>(amount).operand(k));
                let operands = [self.operand(k), into.operand(k), position, length];
                k.result(["bfi.", T::UNTYPED], &operands)
            }
        }
    }
}

/// Reduces a constant position or length to the range 0 to 255, as ptxas requires. This preserves the result: 32-bit instructions use only
/// the low 8 bits, and for 64-bit instructions, 255 exceeds the width, as larger values do.
fn immediate<T: Scalar>(amount: Val<'_, u32>) -> Val<'_, u32> {
    amount.as_constant().map_or(amount, |amount| in_field::<T>(amount).min(255).into())
}

/// Returns the effective position or length of a bit field: 32-bit instructions use only its low 8 bits.
fn in_field<T: Scalar>(amount: u32) -> u32 {
    if T::BYTES == 4 { amount & 255 } else { amount }
}

/// Returns a mask of `length` one bits that starts at bit `position`.
fn field(position: u32, length: u32) -> u64 {
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    ones.checked_shl(position).unwrap_or(0)
}

fn fold_insert<T: Scalar>(a: T, b: T, position: u32, length: u32) -> T {
    let mask = field(position, length);
    T::from_bits(b.to_bits() & !mask | a.to_bits().checked_shl(position).unwrap_or(0) & mask)
}

impl<'k, T: WideBits + Integer> Val<'k, T> {
    /// Returns the position of the highest one bit or, for a negative number, of the highest zero bit. Returns `u32::MAX` if there is no
    /// such bit.
    #[doc(alias = "bfind")]
    #[track_caller]
    pub fn highest_bit(self) -> Val<'k, u32> {
        self.find("", |bit, _| bit)
    }

    /// Returns the left-shift amount that moves the [`highest_bit`](Self::highest_bit) to the most significant position, or `u32::MAX` if
    /// there is no such bit.
    #[doc(alias = "bfind.shiftamt")]
    #[track_caller]
    pub fn normalizing_shift(self) -> Val<'k, u32> {
        self.find(".shiftamt", |bit, top| top - bit)
    }

    #[track_caller]
    fn find(self, modifier: &str, found: impl Fn(u32, u32) -> u32) -> Val<'k, u32> {
        match self.reg() {
            None => {
                let value = self.as_constant().map_or(0, sign_extended);
                let bits = if T::SIGNED && (value as i64) < 0 { !value } else { value };
                bits.checked_ilog2().map_or(u32::MAX, |bit| found(bit, 8 * T::BYTES - 1)).into()
            }
            Some((_, k)) => k.result(format_args!("bfind{modifier}.{}", T::PTX), &[self.operand(k)]),
        }
    }

    /// Returns the `length` bits that start at bit `position`, zero-extended or, for signed types, sign-extended. `position` and `length`
    /// must be between 0 and 255; bits beyond the width are 0 or, for signed types, copies of the sign bit.
    #[doc(alias = "bfe")]
    #[track_caller]
    pub fn extract_bits(self, position: impl Into<Val<'k, u32>>, length: impl Into<Val<'k, u32>>) -> Self {
        let (position, length) = (position.into(), length.into());
        match (self.as_constant(), operands(position, length), self.kernel()) {
            (Some(a), Known(position, length), _) => {
                fold_extract(a, in_field::<T>(position), in_field::<T>(length)).into()
            }
            (_, In(k), _) | (.., Some(k)) => {
                let known = self.extracted(position, length);
                let [position, length] = [position, length].map(|amount| immediate::<T>(amount).operand(k));
                let operands = [self.operand(k), position, length];
                k.integer(known, ["bfe.", T::PTX], &operands)
            }
            (None, Known(..), None) => self,
        }
    }
}

impl<T: WideBits + Integer> Val<'_, T> {
    /// Returns the known facts about the extracted bits, if position and length are constants.
    fn extracted(self, position: Val<'_, u32>, length: Val<'_, u32>) -> facts::Known {
        let width = 8 * T::BYTES;
        match (position.as_constant(), length.as_constant()) {
            (Some(position), Some(length)) if !T::SIGNED => {
                let mask = facts::Known::constant(field(0, in_field::<T>(length)), width);
                self.known().shr(in_field::<T>(position)).and(mask)
            }
            _ => facts::Known::nothing(width),
        }
    }
}

fn sign_extended<T: Integer>(value: T) -> u64 {
    let unused = 64 - 8 * T::BYTES;
    if T::SIGNED { ((value.to_bits() << unused) as i64 >> unused) as u64 } else { value.to_bits() }
}

/// Implements PTX ISA, "bfe": the sign is the highest bit of the field that is within the number.
fn fold_extract<T: Integer>(a: T, position: u32, length: u32) -> T {
    let top = 8 * T::BYTES - 1;
    let bit = |i: u32| a.to_bits() >> i & 1 == 1;
    let negative = T::SIGNED && length > 0 && bit((position.saturating_add(length) - 1).min(top));
    let inside = length.min((top + 1).saturating_sub(position));
    let low = a.to_bits().checked_shr(position).unwrap_or(0) & field(0, inside);
    T::from_bits(if negative { low | !field(0, inside) } else { low })
}

/// A type that supports [`extend_from`](Val::extend_from): `u32` or `i32`.
pub trait Extend: WideBits + Integer {}

impl Extend for u32 {}
impl Extend for i32 {}

impl<'k, T: Extend> Val<'k, T> {
    /// Returns the low `bits` bits, sign-extended (`i32`) or zero-extended (`u32`). If `bits` is 32 or more, `mode` determines how it is
    /// treated.
    #[doc(alias = "szext")]
    #[track_caller]
    pub fn extend_from(self, bits: impl Into<Val<'k, u32>>, mode: ShiftMode) -> Self {
        let bits = bits.into();
        match operands(self, bits) {
            Known(a, n) => fold_extract(a, 0, mode.of(n)).into(),
            In(k) => {
                let operands = [self.operand(k), bits.operand(k)];
                k.result(["szext", mode.suffix(), ".", T::PTX], &operands)
            }
        }
    }
}

impl<'k> Val<'k, u32> {
    /// Returns a mask of `length` one bits that starts at bit `position`. `mode` determines how positions and lengths of 32 or more are
    /// treated.
    #[doc(alias = "bmsk")]
    #[track_caller]
    pub fn bit_mask(position: impl Into<Self>, length: impl Into<Self>, mode: ShiftMode) -> Self {
        let (position, length) = (position.into(), length.into());
        match operands(position, length) {
            Known(p, n) => (field(mode.of(p), mode.of(n)) as u32).into(),
            In(k) => position.binary(k, ["bmsk", mode.suffix(), ".b32"], length),
        }
    }

    /// Returns the position of the `|offset|`-th one bit, counting from bit `base` inclusive, or `u32::MAX` if there is no such bit. A
    /// positive `offset` counts upward, and a negative one downward. If `offset` is 0, only bit `base` is examined. `base` must be between
    /// 0 and 31.
    #[doc(alias = "fns")]
    #[track_caller]
    pub fn find_nth_set(self, base: impl Into<Self>, offset: impl Into<Val<'k, i32>>) -> Self {
        let (base, offset) = (base.into(), offset.into());
        match (operands(self, base), offset.as_constant(), offset.kernel()) {
            (Known(mask, base), Some(offset), _) => fold_find_nth(mask, base, offset).into(),
            (In(k), ..) | (.., Some(k)) => {
                k.result(format_args!("fns.b32"), &[self.operand(k), base.operand(k), offset.operand(k)])
            }
            (Known(..), None, None) => self,
        }
    }

    /// Returns 1 if the value is 0, and 0 otherwise, like C's `!x`.
    #[track_caller]
    pub fn cnot(self) -> Self {
        match self.reg() {
            None => self.as_constant().map_or(self, |c| u32::from(c == 0).into()),
            Some((_, k)) => k.result(format_args!("cnot.b32"), &[self.operand(k)]),
        }
    }
}

/// Implements PTX ISA, "fns".
fn fold_find_nth(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |i: &u32| mask.checked_shr(*i).is_some_and(|bits| bits & 1 == 1);
    let nth = offset.unsigned_abs().saturating_sub(1) as usize;
    match offset {
        0 => Some(base).filter(set),
        1.. => (base..32).filter(set).nth(nth),
        _ if base > 31 => None,
        _ => (0..=base).rev().filter(set).nth(nth),
    }
    .unwrap_or(u32::MAX)
}
