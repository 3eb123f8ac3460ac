//! The tests that tables name exist and use what their rows name: those of `tests/tiles.rs` and of `docs/tiles.md`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use crate::tokens::{Placed, Token, tokens};

/// The names of tests, `module::test`, in a row of a table.
fn tests_of(row: &str) -> Vec<(&str, &str)> {
    let names = row.split('`').filter(|name| !name.contains([' ', '<', '(', '.', '|']));
    names
        .filter_map(|name| name.split_once("::"))
        .filter(|(module, _)| module.starts_with(char::is_lowercase))
        .collect()
}

/// The functions, macros and tests of a module: the words in each.
struct Tests {
    items: BTreeMap<String, BTreeSet<String>>,
    /// Tests that are rows of a macro's invocation.
    rows: BTreeMap<String, BTreeSet<String>>,
}

/// The index after the bracket that closes the one at `open`.
fn after_bracket(all: &[Placed], open: usize) -> usize {
    let mut depth = 0;
    for (at, (token, _)) in all.iter().enumerate().skip(open) {
        match token {
            Token::Mark('{' | '(' | '[') => depth += 1,
            Token::Mark('}' | ')' | ']') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    all.len()
}

/// The words among tokens.
fn words(all: &[Placed]) -> BTreeSet<String> {
    all.iter().filter_map(|(token, _)| token.word()).map(str::to_owned).collect()
}

impl Tests {
    /// The tests of a module: of its file, and of the files of its folder.
    fn of_module(module: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tiles");
        let path = folder.join(format!("{module}.rs"));
        let mut source = fs::read_to_string(path).unwrap_or_else(|error| panic!("{module}: {error}"));
        for entry in fs::read_dir(folder.join(module)).into_iter().flatten() {
            source += &fs::read_to_string(entry.unwrap().path()).unwrap();
        }
        Self::of_source(&source)
    }

    fn of_source(source: &str) -> Self {
        let all = tokens(source);
        let (mut tests, mut macros) = (Self { items: BTreeMap::new(), rows: BTreeMap::new() }, Vec::new());
        for at in 0..all.len().saturating_sub(2) {
            let name = match &all[at].0 {
                token if token.is_word("fn") => all[at + 1].0.word(),
                token if token.is_word("macro_rules") => {
                    all[at + 2].0.word().inspect(|name| macros.push(*name))
                }
                _ => None,
            };
            let is_end = |token: &Token| token.is_mark('{') || token.is_mark(';');
            let open = (at..all.len()).find(|&at| is_end(&all[at].0)).filter(|&at| all[at].0.is_mark('{'));
            if let (Some(name), Some(open)) = (name, open) {
                let body = words(&all[at..after_bracket(&all, open)]);
                tests.items.entry(name.to_owned()).or_default().extend(body);
            }
        }
        for at in 0..all.len().saturating_sub(2) {
            let Some(name) = all[at].0.word().filter(|word| macros.contains(word)) else { continue };
            if !all[at + 1].0.is_mark('!') || !all[at + 2].0.is_mark('{') {
                continue;
            }
            let rows = all[at + 3..after_bracket(&all, at + 2)].split(|(token, _)| token.is_mark(';'));
            for row in rows {
                // The name of a test may follow a word that describes the row.
                for test in row.iter().filter_map(|(token, _)| token.word()).take(2) {
                    let words = tests.rows.entry(test.to_owned()).or_default();
                    words.extend(self::words(row));
                    words.insert(name.to_owned());
                }
            }
        }
        tests
    }

    /// The words of a test, and of the functions and macros of its module that it uses, directly or not.
    fn words_of(&self, test: &str) -> Option<BTreeSet<String>> {
        let mut found = self.items.get(test).or_else(|| self.rows.get(test))?.clone();
        let mut next: Vec<String> = found.iter().cloned().collect();
        while let Some(word) = next.pop() {
            for word in self.items.get(&word).into_iter().flatten() {
                if found.insert(word.clone()) {
                    next.push(word.clone());
                }
            }
        }
        Some(found)
    }
}

/// The modules that tables name.
#[derive(Default)]
struct Modules(BTreeMap<String, Tests>);

impl Modules {
    /// The words of a test, which must be defined, as a function or in a table of a macro.
    fn words_of(&mut self, (module, test): (&str, &str)) -> BTreeSet<String> {
        let tests = self.0.entry(module.to_owned()).or_insert_with(|| Tests::of_module(module));
        tests.words_of(test).unwrap_or_else(|| panic!("{module}::{test} is not defined"))
    }
}

#[test]
fn tests_in_the_table_exist() {
    let table = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tiles.rs")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("//! |")).skip(2).collect();
    assert_eq!(rows.len(), 16, "a row for each area");
    let mut modules = Modules::default();
    for row in rows {
        let names = tests_of(row);
        assert!(!names.is_empty(), "a test for {row}");
        names.into_iter().for_each(|name| drop(modules.words_of(name)));
    }
}

/// The names of methods, functions, types and constants in a cell: whole code spans that are a name or a path, of which the last part counts,
/// and names that are called.
fn names_in(cell: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut names = Vec::new();
    for span in cell.split('`').skip(1).step_by(2) {
        let is_path = !span.contains(['(', '.', ' ']);
        let last = span.rsplit("::").next().unwrap_or_default();
        if is_path && !last.is_empty() && last.chars().all(is_word) {
            names.push(last);
        }
        for (at, _) in span.match_indices('(') {
            // `f(` and `f::<T>(`.
            let before = span[..at].split("::<").next().unwrap_or_default();
            let before = if span[..at].ends_with('>') { before } else { &span[..at] };
            let called = before.rsplit(|c| !is_word(c)).next().unwrap_or_default();
            if !called.is_empty() {
                names.push(called);
            }
        }
    }
    names
}

/// The rows of a table of docs/tiles.md, by its first line after the heading "From ThunderKittens", without rows that are headings.
fn rows_of_thunderkittens(text: &str, first: &str) -> Vec<String> {
    let rows =
        text.lines().skip_while(|line| *line != "## From ThunderKittens").skip_while(|line| *line != first);
    let rows = rows.take_while(|line| line.starts_with('|')).skip(2);
    rows.filter(|row| !row.starts_with("| **")).map(str::to_owned).collect()
}

fn docs() -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tiles.md")).unwrap()
}

/// The names below the level of tiles are used in the files that their rows name.
#[test]
fn names_below_tiles_have_tests() {
    let rows = rows_of_thunderkittens(&docs(), "| ThunderKittens | warpwright | tests |");
    assert!(rows.len() >= 10, "{} rows", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [_, here, files] = cells[..] else { panic!("three cells: {row}") };
        let used: BTreeSet<String> = files
            .split('`')
            .filter(|span| span.ends_with(".rs"))
            .flat_map(|file| {
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
                let source = fs::read_to_string(path).unwrap_or_else(|error| panic!("{file}: {error}"));
                words(&tokens(&source))
            })
            .collect();
        let missing: Vec<&str> = names_in(here).into_iter().filter(|name| !used.contains(*name)).collect();
        assert!(missing.is_empty(), "{row}: {missing:?}");
    }
}

/// Each row of the map from ThunderKittens' names has tests that use what the row names.
#[test]
fn names_of_thunderkittens_have_tests() {
    let rows = rows_of_thunderkittens(&docs(), "| ThunderKittens | warpwright | test |");
    assert!(rows.len() > 60, "a row for each type and operation: {}", rows.len());
    let (mut modules, mut untested) = (Modules::default(), Vec::new());
    for row in &rows {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let [_, here, tests] = cells[..] else { panic!("three cells: {row}") };
        let tests = tests_of(tests);
        assert!(!tests.is_empty(), "a test for {row}");
        let used: BTreeSet<String> = tests.iter().flat_map(|test| modules.words_of(*test)).collect();
        let missing: Vec<&str> = names_in(here).into_iter().filter(|name| !used.contains(*name)).collect();
        if !missing.is_empty() {
            untested.push(format!("{row}: {missing:?}"));
        }
    }
    assert!(untested.is_empty(), "tests that do not use what their rows name:\n{}", untested.join("\n"));
}

/// The words of a test do not include those of other tests of its module.
#[test]
fn words_are_those_of_one_test() {
    let tests = Tests::of_source(
        "macro_rules! cases { ($($name:ident $t:ty;)*) => { fn $name() { helper::<$t>(); } }; } fn helper() { first(); } \
         cases! { a f32; b bf16; } fn other() { second(); }",
    );
    let has = |test: &str, word: &str| tests.words_of(test).unwrap().contains(word);
    assert!(has("a", "first") && has("a", "f32") && has("other", "second"));
    assert!(!has("a", "second") && !has("a", "bf16") && !has("other", "first"));
    assert_eq!(tests.words_of("c"), None);
}
