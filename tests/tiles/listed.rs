//! The tests that tables name exist: those of `tests/tiles.rs` and of `docs/tiles.md`.

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

/// Each row of the map from ThunderKittens' names has a test.
#[test]
fn names_of_thunderkittens_have_tests() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tiles.md")).unwrap();
    let rows = text.lines().skip_while(|line| *line != "## From ThunderKittens").skip(1);
    let rows = rows.take_while(|line| !line.starts_with("## ")).filter(|line| line.starts_with('|')).skip(2);
    let rows: Vec<&str> = rows.filter(|row| !row.starts_with("| **")).collect();
    assert!(rows.len() > 60, "a row for each type and operation: {}", rows.len());
    let mut sources = BTreeMap::new();
    for row in rows {
        let test = row.trim_end_matches('|').rsplit('|').next().unwrap_or_default();
        let names = tests_of(test);
        assert_eq!(names.len(), 1, "one test for {row}");
        names.into_iter().for_each(|name| check(&mut sources, name));
    }
}
