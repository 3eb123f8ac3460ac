//! Qualifiers in the manual's order.
//!
//! The manual gives qualifiers a fixed order. ptxas takes many of them in any, and compilers and libraries make use of that:
//! Triton prints `atom.global.gpu.relaxed.add.u32`, libcu++ `atom.add.relaxed.gpu.u32`. Only the order of types among each other
//! and words that belong to the opcode (`mul.lo`) are fixed.

use crate::program::types::Type;

/// What ptxas takes more than once.
const REPEATABLE: [&str; 6] = ["sat", "uni", "sync", "approx", "NaN", "cc"];

/// The rank of each qualifier of an instruction with these qualifiers, unless they have a fixed order.
pub(super) type Order = fn(&[&str]) -> Option<fn(&str) -> u8>;

/// A fixed order.
pub(super) const AS_WRITTEN: Order = |_| None;

/// Types last, the rest in any order.
pub(super) const TYPES_LAST: Order = |_| Some(types_last);

/// Types last, the rest in any order; a type in front fixes the order, because `.lo` in `mul.lo` belongs to the opcode.
pub(super) const TYPES_LAST_OR_FIRST: Order =
    |words| (!words.first().is_some_and(|word| is_type(word))).then_some(types_last);

/// The type first.
pub(super) const TYPE_FIRST: Order = |_| Some(|word| u8::from(!is_type(word)));

/// The qualifiers of an instruction, ordered as the manual orders them.
pub(super) fn canonical(order: Order, words: &[String]) -> Vec<&str> {
    let mut ordered: Vec<&str> = Vec::with_capacity(words.len());
    for word in words {
        let twice = REPEATABLE.contains(&word.as_str()) && ordered.contains(&word.as_str());
        if !twice {
            ordered.push(word);
        }
    }
    let Some(rank) = order(&ordered) else { return ordered };
    // Most are in order already; the sort is stable and so keeps what has equal rank.
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
