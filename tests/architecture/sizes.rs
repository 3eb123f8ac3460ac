//! Rust files are short: each file covers one subject.

use super::files;

const MOST_LINES: usize = 700;

fn complaint(name: &str, source: &str) -> Option<String> {
    let lines = source.lines().count();
    (lines >= MOST_LINES).then(|| {
        format!("{name}: {lines} lines, but a file has fewer than {MOST_LINES}: split it by subject")
    })
}

#[test]
fn files_are_short() {
    let complaints: Vec<_> =
        files::rust().iter().filter_map(|(name, source)| complaint(name, source)).collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn a_long_file_is_found() {
    assert!(complaint("src/a.rs", &"//\n".repeat(MOST_LINES)).is_some());
    assert_eq!(complaint("src/a.rs", &"//\n".repeat(MOST_LINES - 1)), None);
}
