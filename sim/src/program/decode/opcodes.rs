//! The table of opcodes. Each family lists its own opcodes with the properties that the PTX text alone determines: the class under which
//! they are counted, the order of their qualifiers, and the method that decodes them.

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use crate::arith::Float;
use crate::program::code::Op;
use crate::program::decode::instruction::Decoder;
use crate::program::decode::order::Order;
use crate::program::decode::{
    Decoded, arithmetic, async_copy, atomic, barrier, cancel, compare, control, convert, data, float,
    integer, matrix, mbarrier, memory, stack, tensor, tensormap, texture, unsupported, video, warp, wgmma,
    wmma,
};
use crate::program::types::Type;
use crate::report::InstructionClass;

/// A row of the table: opcodes that the same method decodes.
pub(super) struct Opcodes {
    names: &'static [&'static str],
    pub(super) counted: Counted,
    pub(super) order: Order,
    pub(super) decode: Decode,
}

/// A method that decodes the qualifiers and operands in order. Remaining qualifiers are errors.
type Decode = fn(&mut Decoder<'_, '_, '_>) -> Decoded<Op>;

/// The class under which instructions are counted.
pub(super) enum Counted {
    As(InstructionClass),
    /// The qualifiers determine the class.
    By(fn(&[&str]) -> InstructionClass),
}

/// The class determined by the last type.
pub(super) const BY_TYPE: Counted = Counted::By(|words| {
    if words.contains(&"f32x2") {
        return InstructionClass::Float;
    }
    let ty = words.iter().rev().find_map(|word| Type::parse(word));
    match ty.and_then(Type::float) {
        Some(Float::F64) => InstructionClass::Double,
        Some(_) => InstructionClass::Float,
        None => InstructionClass::Integer,
    }
});

impl Counted {
    /// Returns the class of an instruction with these qualifiers.
    pub(super) fn of(&self, words: &[&str]) -> InstructionClass {
        match self {
            Counted::As(class) => *class,
            Counted::By(class) => class(words),
        }
    }
}

pub(super) const fn row(
    names: &'static [&'static str],
    counted: Counted,
    order: Order,
    decode: Decode,
) -> Opcodes {
    Opcodes { names, counted, order, decode }
}

/// The families of opcodes.
const FAMILIES: [&[Opcodes]; 23] = [
    arithmetic::OPCODES,
    async_copy::OPCODES,
    atomic::OPCODES,
    barrier::OPCODES,
    cancel::OPCODES,
    compare::OPCODES,
    control::OPCODES,
    convert::OPCODES,
    data::OPCODES,
    float::OPCODES,
    integer::OPCODES,
    matrix::OPCODES,
    mbarrier::OPCODES,
    memory::OPCODES,
    stack::OPCODES,
    tensor::OPCODES,
    tensormap::OPCODES,
    texture::OPCODES,
    unsupported::OPCODES,
    video::OPCODES,
    warp::OPCODES,
    wgmma::OPCODES,
    wmma::OPCODES,
];

fn rows() -> impl Iterator<Item = (&'static str, &'static Opcodes)> {
    let rows = FAMILIES.iter().copied().flatten();
    rows.flat_map(|row| row.names.iter().map(move |&name| (name, row)))
}

/// Returns the row of an opcode.
pub(super) fn find(name: &str) -> Option<&'static Opcodes> {
    static ROWS: LazyLock<FxHashMap<&str, &Opcodes>> = LazyLock::new(|| rows().collect());
    ROWS.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_opcode_has_one_row() {
        let mut names = HashSet::new();
        assert_eq!(rows().map(|(name, _)| name).find(|name| !names.insert(*name)), None);
    }

    #[test]
    fn arithmetic_is_counted_by_its_type() {
        let class = |words: &[&str]| BY_TYPE.of(words);
        assert_eq!(class(&["rn", "f64"]), InstructionClass::Double);
        assert_eq!(class(&["rn", "bf16x2"]), InstructionClass::Float);
        assert_eq!(class(&["rn", "f32x2"]), InstructionClass::Float);
        assert_eq!(class(&["lo", "s32"]), InstructionClass::Integer);
        assert_eq!(class(&["s16x2"]), InstructionClass::Integer);
    }
}
