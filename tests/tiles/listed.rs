//! The tests that the table of `tests/tiles.rs` names exist.

use std::{fs, path::Path};

#[test]
fn tests_in_the_table_exist() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(folder.join("tiles.rs")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("//! |")).skip(2).collect();
    assert_eq!(rows.len(), 16, "a row for each area");
    for row in rows {
        let names: Vec<&str> = row.split('`').filter(|name| name.contains("::")).collect();
        assert!(!names.is_empty(), "a test for {row}");
        for name in names {
            let (module, test) = name.split_once("::").unwrap();
            let source = fs::read_to_string(folder.join(format!("tiles/{module}.rs"))).unwrap();
            let is_defined = |line: &str| {
                let words: Vec<&str> = line.split([' ', '(', ':']).filter(|word| !word.is_empty()).collect();
                words.starts_with(&["fn", test]) || words.first() == Some(&test)
            };
            assert!(source.lines().any(is_defined), "{name} is not defined");
        }
    }
}
