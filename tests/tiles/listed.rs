//! The tests named in the tables of `tests/tiles.rs` and of `docs/tiles.md` exist.

use std::{collections::BTreeMap, fs, path::Path};

/// The names of tests, `module::test`, in a row of a table.
fn tests_of(row: &str) -> Vec<(&str, &str)> {
    let names = row.split('`').filter(|name| !name.contains([' ', '<', '(', '.', '|']));
    names
        .filter_map(|name| name.split_once("::"))
        .filter(|(module, _)| module.starts_with(char::is_lowercase))
        .collect()
}

/// Checks that a module defines a test, as a function or in a table of a macro.
fn check(sources: &mut BTreeMap<String, String>, (module, test): (&str, &str)) {
    let source = sources.entry(module.to_owned()).or_insert_with(|| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tiles/{module}.rs"));
        fs::read_to_string(path).unwrap_or_else(|error| panic!("{module}: {error}"))
    });
    let is_defined = |line: &str| {
        let words: Vec<&str> = line.split([' ', '(', ':']).filter(|word| !word.is_empty()).collect();
        words.starts_with(&["fn", test]) || words.first() == Some(&test)
    };
    assert!(source.lines().any(is_defined), "{module}::{test} is not defined");
}

#[test]
fn tests_in_the_table_exist() {
    let table = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tiles.rs")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("//! |")).skip(2).collect();
    assert_eq!(rows.len(), 16, "a row for each area");
    let mut sources = BTreeMap::new();
    for row in rows {
        let names = tests_of(row);
        assert!(!names.is_empty(), "a test for {row}");
        names.into_iter().for_each(|name| check(&mut sources, name));
    }
}

/// The names of methods, functions and types in a cell: whole code spans that are a name, and names that are called.
fn names_in(cell: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for span in cell.split('`').skip(1).step_by(2) {
        if span.chars().all(is_word) && !span.is_empty() {
            names.push(span);
        }
        for (at, _) in span.match_indices('(') {
            let called = span[..at].rsplit(|c| !is_word(c)).next().unwrap_or_default();
            if !called.is_empty() {
                names.push(called);
            }
        }
    }
    names
}

/// Each row of the map from ThunderKittens' names has tests, in modules that use what the row names.
#[test]
fn names_of_thunderkittens_have_tests() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tiles.md")).unwrap();
    let rows = text.lines().skip_while(|line| *line != "## From ThunderKittens").skip(1);
    let rows =
        rows.skip_while(|line| !line.starts_with('|')).take_while(|line| line.starts_with('|')).skip(2);
    let rows: Vec<&str> = rows.filter(|row| !row.starts_with("| **")).collect();
    assert!(rows.len() > 60, "a row for each type and operation: {}", rows.len());
    let (mut sources, mut untested) = (BTreeMap::new(), Vec::new());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [_, here, tests] = cells[..] else { panic!("three cells: {row}") };
        let tests = tests_of(tests);
        assert!(!tests.is_empty(), "a test for {row}");
        tests.iter().for_each(|test| check(&mut sources, *test));
        let uses = |name: &str| {
            let words =
                |source: &String| source.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == name);
            tests.iter().any(|(module, _)| sources.get(*module).is_some_and(words))
        };
        let missing: Vec<&str> = names_in(here).into_iter().filter(|name| !uses(name)).collect();
        if !missing.is_empty() {
            untested.push(format!("{row}: {missing:?}"));
        }
    }
    assert!(untested.is_empty(), "tests that do not use what their rows name:\n{}", untested.join("\n"));
}
