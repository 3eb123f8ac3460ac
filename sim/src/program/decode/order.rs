//! Qualifiers in the manual's order.
//!
//! The manual gives qualifiers a fixed order. ptxas takes many of them in any, and compilers and libraries make use of that:
//! Triton prints `atom.global.gpu.relaxed.add.u32`, libcu++ `atom.add.relaxed.gpu.u32`. Only the order of types among each other
//! and words that belong to the opcode (`mul.lo`) are fixed.

use crate::program::decode::memory::{SCOPES, space_of};
use crate::program::types::Type;

/// What ptxas takes more than once.
const REPEATABLE: [&str; 6] = ["sat", "uni", "sync", "approx", "NaN", "cc"];

/// The qualifiers of an instruction, ordered as the manual orders them.
pub(super) fn canonical<'m>(opcode: &str, words: &'m [String]) -> Vec<&'m str> {
    let mut ordered: Vec<&str> = Vec::with_capacity(words.len());
    for word in words {
        let twice = REPEATABLE.contains(&word.as_str()) && ordered.contains(&word.as_str());
        if !twice {
            ordered.push(word);
        }
    }
    let Some(rank) = ranking(opcode, &ordered) else { return ordered };
    // Most are in order already; the sort is stable and so keeps what has equal rank.
    if !ordered.is_sorted_by_key(|word| rank(word)) {
        ordered.sort_by_key(|word| rank(word));
    }
    ordered
}

/// The order of a qualifier, if the opcode does not fix it.
fn ranking(opcode: &str, words: &[&str]) -> Option<fn(&str) -> u8> {
    let first = words.first().copied().unwrap_or("");
    let bulk = ["async", "bulk"].contains(&first);
    Some(match opcode {
        "ld" | "ldu" | "st" | "atom" | "red" if !bulk => memory,
        "mul" | "mad" | "madc" | "mul24" | "mad24" if is_type(first) => return None,
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "abs" | "neg" | "min" | "max" | "addc" | "subc"
        | "madc" | "mul24" | "mad24" | "bfind" | "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2"
        | "tanh" | "lop3" | "slct" => types_last,
        "cvt" if first != "pack" => |word| match word {
            "ftz" => 1,
            "sat" | "satfinite" | "relu" => 2,
            _ if is_type(word) => 3,
            _ => 0,
        },
        "cvta" if words.iter().skip(1).all(|word| *word != "to") => types_last,
        "prmt" => |word| u8::from(!is_type(word)),
        "set" | "setp" => comparison,
        "shfl" | "vote" => |word| if word == "sync" { 0 } else { 1 + types_last(word) },
        "ldmatrix" | "stmatrix" => matrix,
        "mma" => |word| match word {
            "sp" | "sp::ordered_metadata" => 0,
            "sync" => 1,
            "aligned" => 2,
            "row" | "col" => 4,
            "satfinite" => 5,
            _ if word.starts_with('m') => 3,
            _ => 7,
        },
        "cp" if first == "async" && words.contains(&"global") && !words.contains(&"bulk") => copy,
        "fence" => |word| if SCOPES.contains(&word) { 1 } else { 0 },
        _ => return None,
    })
}

fn is_type(word: &str) -> bool {
    Type::parse(word).is_some()
}

fn types_last(word: &str) -> u8 {
    u8::from(is_type(word))
}

/// `.sem.scope.space.op.cache.level.vec.type`.
fn memory(word: &str) -> u8 {
    match word {
        "weak" | "volatile" | "mmio" => 0,
        "relaxed" | "acquire" | "release" | "acq_rel" => 1,
        _ if SCOPES.contains(&word) => 2,
        _ if space_of(word).is_some() => 3,
        "noftz" => 5,
        "ca" | "cg" | "cs" | "lu" | "cv" | "wb" | "wt" | "nc" => 6,
        _ if word.contains("::") => 7,
        "v2" | "v4" | "v8" => 8,
        _ if is_type(word) => 9,
        _ => 4,
    }
}

/// `.cmp.bool.ftz.type`.
fn comparison(word: &str) -> u8 {
    match word {
        "and" | "or" | "xor" => 1,
        "ftz" => 2,
        _ if is_type(word) => 3,
        _ => 0,
    }
}

/// `.sync.aligned.shape.num.trans.space.type`.
fn matrix(word: &str) -> u8 {
    match word {
        "sync" => 0,
        "aligned" => 1,
        "x1" | "x2" | "x4" => 3,
        "trans" => 4,
        _ if space_of(word).is_some() => 5,
        _ if is_type(word) => 6,
        _ => 2,
    }
}

/// `.async.ca.shared.global.level`.
fn copy(word: &str) -> u8 {
    match word {
        "async" => 0,
        "ca" | "cg" => 1,
        "global" => 3,
        _ if space_of(word).is_some() => 2,
        _ => 4,
    }
}
