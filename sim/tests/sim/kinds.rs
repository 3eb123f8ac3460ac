//! The table of findings in `docs/simulator.md`; `WARPWRIGHT_BLESS=1 cargo test -p warpwright-sim --test sim kinds` rewrites it.

use std::{env, fs};

use pretty_assertions::assert_eq;
use warpwright_sim::{Checks, FindingKind};

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/simulator.md");
const HEAD: &str = "| kind | check | reported for |\n| --- | --- | --- |\n";

/// Returns the name of a check that reports a kind.
fn name_of(check: Checks) -> String {
    check.iter_names().map(|(name, _)| format!("`{}`", name.to_lowercase())).collect()
}

#[test]
fn the_document_lists_every_kind_with_its_check() {
    let row = |kind: &FindingKind| match kind.check() {
        always if always.is_empty() => format!("| `{kind}` | always | {} |\n", kind.description()),
        check => format!("| `{kind}` | {} | {} |\n", name_of(check), kind.description()),
    };
    let table: String = FindingKind::ALL.iter().map(row).collect();
    let found = fs::read_to_string(DOCUMENT).expect("docs/simulator.md");
    let (before, rest) = found.split_once(HEAD).expect("a table of findings");
    let (_, after) = rest.split_once("\n\n").expect("text after the table");
    let wanted = format!("{before}{HEAD}{table}\n{after}");
    if env::var_os("WARPWRIGHT_BLESS").is_some() {
        fs::write(DOCUMENT, &wanted).expect("docs/simulator.md is writable");
        return;
    }
    assert_eq!(found, wanted, "the table of findings is stale: run this test with WARPWRIGHT_BLESS=1");
}

#[test]
fn names_of_checks_and_kinds_are_parsed() {
    for kind in FindingKind::ALL {
        assert_eq!(kind.name().parse(), Ok(*kind));
        assert_eq!(kind.name().parse(), Ok(kind.check()), "the check of {kind}");
    }
    for (name, check) in Checks::all().iter_names() {
        assert_eq!(name.parse(), Ok(check));
    }
    assert_eq!(Checks::all().iter_names().count(), Checks::all().bits().count_ones() as usize);
}
