//! `docs/instructions.md` is written from the table: `WARPWRIGHT_BLESS=1` writes it anew.

use std::{collections::BTreeSet, env, fmt::Write, fs, path::PathBuf};

use pretty_assertions::assert_eq;
use warpwright::ptx::table::{self, Form};

/// Width of the column of mnemonics; a longer one has a line of its own.
const COLUMN: usize = 72;

const HEAD: &str = "\
# Instructions

Every form of an instruction that the assembler writes, from its table (`src/ptx/table`). `{.a|.b}` is one of these or
none, `(.a|.b)` is one of these; PTX is the lowest `.version` that has the form, target the lowest `.target`. `Builder::raw`
takes any other line of PTX.

This file is written by `cargo test --test ptx coverage` with `WARPWRIGHT_BLESS=1`; the same test fails when it is stale.
";

/// A line of columns, the first of which may have a line of its own.
fn line(mnemonic: &str, [version, target, reference, rust]: [&str; 4]) -> String {
    let rest = format!("{version:<5} {target:<7} {reference:<22} {rust}");
    match mnemonic.len() {
        ..COLUMN => format!("{mnemonic:<COLUMN$}{rest}\n"),
        _ => format!("{mnemonic}\n{:COLUMN$}{rest}\n", ""),
    }
}

fn row(form: &Form) -> String {
    let (version, target) = (form.version.to_string(), form.needs.lowest_target().to_string());
    line(form.mnemonic, [&version, &target, form.reference, form.rust])
}

fn document() -> String {
    let mut text = HEAD.to_string();
    for (chapter, forms) in table::chapters() {
        let _ = write!(text, "\n## {chapter}\n\n```text\n");
        text += &line("form", ["PTX", "target", "PTX ISA", "Rust"]);
        text.extend(forms.iter().map(row));
        text += "```\n";
    }
    text
}

#[test]
fn the_document_is_up_to_date() {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "..", "docs", "instructions.md"].iter().collect();
    let wanted = document();
    if env::var_os("WARPWRIGHT_BLESS").is_some() {
        fs::write(&path, &wanted).expect("docs/instructions.md can be written");
    }
    let found = fs::read_to_string(&path).expect("docs/instructions.md can be read");
    assert_eq!(found, wanted, "docs/instructions.md is stale: run this test with WARPWRIGHT_BLESS=1");
}

/// The names in a row's last column, such as `fence` and `fence_sc` of `Builder::fence, Builder::fence_sc`.
fn methods(form: &Form) -> impl Iterator<Item = &str> {
    let words =
        form.rust.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').filter(|w| w.len() > 1);
    let methods = form.rust.contains("::");
    words.filter(move |_| methods).filter_map(|word| word.rsplit("::").next())
}

#[test]
fn the_methods_that_the_table_names_exist() {
    let sources = ["src/ptx", "src/ptx/inst", "src/ptx/fold", "src/ptx/print", "src/atoms"];
    let mut words = BTreeSet::new();
    for folder in sources {
        for file in fs::read_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(folder))
            .expect("a folder of sources")
        {
            let path = file.expect("an entry").path();
            if path.is_file() {
                let text = fs::read_to_string(path).expect("a source file");
                words.extend(text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_string));
            }
        }
    }
    let missing: Vec<(&str, &str)> = table::forms()
        .flat_map(|form| methods(form).map(move |name| (form.mnemonic, name)))
        .filter(|(_, name)| !words.contains(*name))
        .collect();
    assert_eq!(missing, [], "rows that name a method that is not there");
}
