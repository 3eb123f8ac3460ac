//! Bit fields, shifts, permutations and searches.
//!
//! See PTX ISA, "Integer Arithmetic Instructions" (`popc` to `szext`), "Logic and Shift Instructions" and "prmt".

use super::format::Int;

/// How positions and widths that exceed the register are handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Beyond {
    /// `.clamp`: limited to the width of the register.
    Clamp,
    /// `.wrap`: modulo the width of the register.
    Wrap,
}

impl Beyond {
    fn limit(self, amount: u32) -> u32 {
        match self {
            Self::Clamp => amount.min(32),
            Self::Wrap => amount & 31,
        }
    }
}

/// Returns `a << b`, or 0 if `b` is at least the width of the type.
pub fn shl(ty: Int, a: u64, b: u32) -> u64 {
    if b >= ty.bits() { 0 } else { (a << b) & ty.mask() }
}

/// Returns `a >> b`, filled with zeros or, for signed types, with the sign.
pub fn shr(ty: Int, a: u64, b: u32) -> u64 {
    ty.wrap(ty.value(a) >> b.min(ty.bits()))
}

/// Returns the upper 32 bits of `high:low << amount` (`shf.l`).
#[doc(alias = "shf.l")]
pub fn funnel_left(beyond: Beyond, low: u32, high: u32, amount: u32) -> u32 {
    let pair = u64::from(high) << 32 | u64::from(low);
    (pair << beyond.limit(amount) >> 32) as u32
}

/// Returns the lower 32 bits of `high:low >> amount` (`shf.r`).
#[doc(alias = "shf.r")]
pub fn funnel_right(beyond: Beyond, low: u32, high: u32, amount: u32) -> u32 {
    let pair = u64::from(high) << 32 | u64::from(low);
    (pair >> beyond.limit(amount)) as u32
}

/// Returns the number of zero bits above the highest set bit.
pub fn clz(ty: Int, a: u64) -> u32 {
    (a & ty.mask()).leading_zeros() - (64 - ty.bits())
}

/// Returns the number of set bits.
pub fn popc(ty: Int, a: u64) -> u32 {
    (a & ty.mask()).count_ones()
}

/// Returns the position of the highest bit that differs from the sign bit (for unsigned types, of the highest set bit). With `shiftamt`,
/// returns the distance of this bit from the highest bit. Returns all ones if there is no such bit.
pub fn bfind(ty: Int, shiftamt: bool, a: u64) -> u32 {
    let value = ty.value(a);
    let significant = if value < 0 { !value } else { value } as u128;
    match significant.checked_ilog2() {
        None => u32::MAX,
        Some(position) if shiftamt => ty.bits() - 1 - position,
        Some(position) => position,
    }
}

/// Returns the bits in reverse order.
pub fn brev(ty: Int, a: u64) -> u64 {
    a.reverse_bits() >> (64 - ty.bits())
}

/// Returns the field of `length` bits that starts at `position`, sign-extended for signed types. Bits beyond the register are read as the
/// sign bit (as zero for unsigned types). For 32-bit types, only the low 8 bits of `position` and `length` are used.
pub fn bfe(ty: Int, a: u64, position: u32, length: u32) -> u64 {
    let (position, length) = field_operands(ty, position, length);
    let field = ty.value(a) >> position.min(ty.bits());
    match length {
        0 => 0,
        1..=64 if ty.signed() => ty.wrap(field << (128 - length) >> (128 - length)),
        1..=64 => ty.wrap(field & ((1 << length) - 1)),
        _ => ty.wrap(field),
    }
}

/// Returns `b` with the field of `length` bits that starts at `position` replaced by the low bits of `a`. For 32-bit types, only the low 8
/// bits of `position` and `length` are used.
pub fn bfi(ty: Int, a: u64, b: u64, position: u32, length: u32) -> u64 {
    let (position, length) = field_operands(ty, position, length);
    if position >= ty.bits() {
        return b & ty.mask();
    }
    let ones = if length >= 64 { u64::MAX } else { (1 << length) - 1 };
    let field = ones << position;
    ((b & !field) | (a << position & field)) & ty.mask()
}

fn field_operands(ty: Int, position: u32, length: u32) -> (u32, u32) {
    if ty.bits() == 32 { (position & 0xff, length & 0xff) } else { (position, length) }
}

/// Returns a mask of `length` ones that starts at `position`.
pub fn bmsk(beyond: Beyond, position: u32, length: u32) -> u32 {
    let ones = (1u64 << beyond.limit(length)) - 1;
    (ones << beyond.limit(position)) as u32
}

/// Returns the low `width` bits of `a`, sign-extended (`.s32`) or zero-extended (`.u32`).
pub fn szext(ty: Int, beyond: Beyond, a: u32, width: u32) -> u32 {
    match 32 - beyond.limit(width) {
        32 => 0,
        spare if ty.signed() => ((a << spare) as i32 >> spare) as u32,
        spare => a << spare >> spare,
    }
}

/// Returns the position of the `offset`-th set bit of `mask`, counted upward from bit `base` (inclusive), or downward if `offset` is
/// negative. With an offset of 0, returns `base` if this bit is set. Returns all ones if there is no such bit.
pub fn fns(mask: u32, base: u32, offset: i32) -> u32 {
    let set = |position: &u32| mask >> position & 1 != 0;
    let found = match (base, offset) {
        (32.., _) => None,
        (_, 0) => Some(base).filter(set),
        (_, 1..) => (base..32).filter(set).nth(offset as usize - 1),
        (_, ..0) => (0..=base).rev().filter(set).nth(offset.unsigned_abs() as usize - 1),
    };
    found.unwrap_or(u32::MAX)
}

/// Evaluates a bitwise function of three operands: for bits a, b and c, the result is bit `4a + 2b + c` of `table`.
pub fn lop3(a: u32, b: u32, c: u32, table: u8) -> u32 {
    (0..8).filter(|row| table >> row & 1 != 0).fold(0, |result, row| {
        let pick = |word: u32, bit: u32| if row >> bit & 1 != 0 { word } else { !word };
        result | (pick(a, 2) & pick(b, 1) & pick(c, 0))
    })
}

/// Returns 1 if `a` is zero, otherwise 0.
pub fn cnot(ty: Int, a: u64) -> u64 {
    u64::from(a & ty.mask() == 0)
}

/// The bytes that `prmt` selects (PTX ISA, "prmt").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permute {
    /// Four 4-bit selectors: each selects a byte of `b:a` or, if its top bit is set, replicates the sign bit of this byte.
    Generic,
    /// `.f4e`: four bytes, from the selected byte upward.
    F4e,
    /// `.b4e`: four bytes, from the selected byte downward.
    B4e,
    /// `.rc8`: one byte of `a`, four times.
    Rc8,
    /// `.ecl`: the bytes of `a` in order, with the selected byte in place of the bytes below it.
    Ecl,
    /// `.ecr`: the bytes of `a` in order, with the selected byte in place of the bytes above it.
    Ecr,
    /// `.rc16`: one half of `a`, twice.
    Rc16,
}

/// Returns four bytes selected from `a` (bytes 0 to 3) and `b` (bytes 4 to 7).
pub fn prmt(mode: Permute, a: u32, b: u32, selector: u32) -> u32 {
    let bytes = u64::from(b) << 32 | u64::from(a);
    let byte = |i: u32| (bytes >> (8 * (i & 7))) as u8;
    let one = selector & 3;
    let picked: [u8; 4] = std::array::from_fn(|i| {
        let i = i as u32;
        match mode {
            Permute::Generic => {
                let select = selector >> (4 * i);
                let value = byte(select);
                if select & 8 != 0 { ((value as i8) >> 7) as u8 } else { value }
            }
            Permute::F4e => byte(one + i),
            Permute::B4e => byte(one.wrapping_sub(i)),
            Permute::Rc8 => byte(one),
            Permute::Ecl => byte(i.max(one)),
            Permute::Ecr => byte(i.min(one)),
            Permute::Rc16 => byte(2 * (one & 1) + i % 2),
        }
    });
    u32::from_le_bytes(picked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truth_table_reads_a_as_its_highest_bit() {
        let (a, b, c) = (0xf0f0_f0f0, 0xcccc_cccc, 0xaaaa_aaaa);
        assert_eq!(lop3(a, b, c, 0x80), a & b & c);
        assert_eq!(lop3(a, b, c, 0x96), a ^ b ^ c);
        assert_eq!(lop3(a, b, c, 0xca), (a & b) | (!a & c));
    }
}
