//! The atoms to which an unrecognized name may refer.

use warpwright::atoms::{copy_atoms, mma_atoms};

use super::text;
use crate::Error;

/// The maximum number of near matches that an error lists.
const MOST_MATCHES: usize = 8;

/// Returns the error for `name`. It lists the atoms whose name or instruction contains `name`, or else the most similar names.
pub(super) fn unknown(name: &str) -> Error {
    let atoms: Vec<(&str, String)> = copy_atoms()
        .map(|atom| (atom.name(), text::copy_haystack(atom)))
        .chain(mma_atoms().map(|atom| (atom.name(), text::haystack(atom))))
        .collect();
    let lower = name.to_lowercase();
    let mut near: Vec<&str> = atoms
        .iter()
        .filter(|(_, text)| text.to_lowercase().contains(&lower))
        .map(|(name, _)| *name)
        .collect();
    let found = near.len();
    if found == 0 {
        near = similar(&lower, atoms.iter().map(|(name, _)| *name));
    }
    near.truncate(MOST_MATCHES);
    let mut problem = format!("expected the name of an atom, found `{name}`");
    if !near.is_empty() {
        problem += &format!("; near matches: {}", near.join(", "));
    }
    if found > MOST_MATCHES {
        problem += &format!(" and {} more, listed by `--find {name}`", found - MOST_MATCHES);
    }
    Error(problem)
}

/// Returns the names that share the longest prefix with `name`, if this prefix is at least half as long as `name`.
fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let common =
        |known: &str| known.to_lowercase().bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
    let scored: Vec<(usize, &str)> = known.map(|known| (common(known), known)).collect();
    let best = scored.iter().map(|(score, _)| *score).max().unwrap_or(0);
    if 2 * best < name.len() {
        return Vec::new();
    }
    scored.into_iter().filter(|(score, _)| *score == best).map(|(_, known)| known).collect()
}
