//! The manual's order of qualifiers.
//!
//! The manual specifies a fixed order, but ptxas accepts many qualifiers in any order. Compilers and libraries rely on this: Triton emits
//! `atom.global.gpu.relaxed.add.u32`, and libcu++ emits `atom.add.relaxed.gpu.u32`. Only the order of multiple types, and of qualifiers
//! that belong to the opcode (as in `mul.lo`), is fixed.

use crate::program::types::Type;

/// The qualifiers that ptxas accepts more than once.
const REPEATABLE: [&str; 6] = ["sat", "uni", "sync", "approx", "NaN", "cc"];

/// Given the qualifiers of an instruction, returns the function that ranks each of them, or `None` if their order is fixed.
pub(super) type Order = fn(&[&str]) -> Option<fn(&str) -> u8>;

/// The order in the text.
pub(super) const AS_WRITTEN: Order = |_| None;

/// Types last; all other qualifiers in any order.
pub(super) const TYPES_LAST: Order = |_| Some(types_last);

/// Types last; all other qualifiers in any order. A type as the first qualifier fixes the order, because `.lo` in `mul.lo` belongs to the
/// opcode.
pub(super) const TYPES_LAST_OR_FIRST: Order =
    |words| (!words.first().is_some_and(|word| is_type(word))).then_some(types_last);

/// The type first; all other qualifiers in any order.
pub(super) const TYPE_FIRST: Order = |_| Some(|word| u8::from(!is_type(word)));

/// Returns the qualifiers of an instruction in the manual's order.
pub(super) fn canonical(order: Order, words: &[String]) -> Vec<&str> {
    let mut ordered: Vec<&str> = Vec::with_capacity(words.len());
    for word in words {
        let twice = REPEATABLE.contains(&word.as_str()) && ordered.contains(&word.as_str());
        if !twice {
            ordered.push(word);
        }
    }
    let Some(rank) = order(&ordered) else { return ordered };
    // Most qualifiers are already in order. The sort is stable, so qualifiers of equal rank keep their order.
    if !ordered.is_sorted_by_key(|word| rank(word)) {
        ordered.sort_by_key(|word| rank(word));
    }
    ordered
}

pub(super) fn is_type(word: &str) -> bool {
    Type::parse(word).is_some()
}

pub(super) fn types_last(word: &str) -> u8 {
    u8::from(is_type(word))
}
