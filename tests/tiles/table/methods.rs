//! Every public method of tiles and vectors has a row in the document, or emits nothing.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    ops::Range,
    path::Path,
};

use crate::tokens::{Placed, Token, tokens};

/// The types whose methods have rows, and the names of their values in the document.
const TYPES: [(&str, &[&str]); 5] = [
    ("Rt", &["t.", "Rt::"]),
    ("Rv", &["v.", "Rv::"]),
    ("St", &["st."]),
    ("Sv", &["sv."]),
    ("Crt", &["c.", "Crt::"]),
];

/// The methods that emit nothing, or whose instructions are those of another method: facts and views of tiles, and loads, which are
/// methods of what they load from.
const OTHERS: [&str; 25] = [
    // Facts.
    "assert_bijective",
    "elements",
    "fragment",
    "owner",
    "shared_layout",
    // Only on sm_100a, in the table of targets.
    "convert_stochastic",
    "narrow_stochastic",
    // Registers, fragments, tensors, and memory.
    "from_fragment",
    "into_fragment",
    "registers",
    "reuse",
    "reuse_for_two",
    "tensor",
    "written",
    // Views, from which `load` loads.
    "col",
    "exchange",
    "in_block",
    "row",
    "subtile",
    "tile",
    "tile_of",
    // `Rt::load(x.tile(0, 0))` is `x.tile(0, 0).load()`; complex tiles load and store their two parts.
    "load",
    "load_as",
    "store",
    "store_with",
];

/// The tokens in the brackets that open at `at`, and the index after the closing bracket.
fn bracketed(all: &[Placed], at: usize) -> (&[Placed], usize) {
    let mut depth = 0;
    for (offset, (token, _)) in all[at..].iter().enumerate() {
        match token {
            Token::Mark('{' | '(' | '[') => depth += 1,
            Token::Mark('}' | ')' | ']') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return (&all[at + 1..at + offset], at + offset + 1);
        }
    }
    panic!("a bracket that does not close");
}

/// The index of the next token that `is_wanted`.
fn next(all: &[Placed], from: usize, is_wanted: impl Fn(&Token) -> bool) -> Option<usize> {
    all[from..].iter().position(|(token, _)| is_wanted(token)).map(|offset| from + offset)
}

/// The name of a function, or the variable of a macro that is its name.
enum Name<'a> {
    Word(&'a str),
    Variable(&'a str),
}

/// The public functions in these tokens.
fn functions(body: &[Placed]) -> Vec<Name<'_>> {
    let starts = body.windows(4).filter(|of| of[0].0.is_word("pub") && of[1].0.is_word("fn"));
    let names = starts.filter_map(|of| match of[2].0.is_mark('$') {
        true => of[3].0.word().map(Name::Variable),
        false => of[2].0.word().map(Name::Word),
    });
    names.collect()
}

/// The types of tiles and vectors among these tokens.
fn types_in(tokens: &[Placed]) -> BTreeSet<&str> {
    let names = tokens.iter().filter_map(|(token, _)| token.word());
    names.filter_map(|word| TYPES.iter().find(|(name, _)| *name == word)).map(|(name, _)| *name).collect()
}

/// The type that an `impl` is for; its head ends before the body.
fn implementing(head: &[Placed]) -> Vec<Placed> {
    let (mut depth, mut start) = (0, 0);
    for (at, (token, _)) in head.iter().enumerate() {
        match token {
            Token::Mark('<') => depth += 1,
            // The `>` of an arrow is not one of generics.
            Token::Mark('>') if !head[at - 1].0.is_mark('-') => {
                depth -= 1;
                if depth == 0 && start == 0 {
                    start = at + 1;
                }
            }
            Token::Word(word) if word == "where" => return head[start..at].to_vec(),
            _ => {}
        }
    }
    head[start..].to_vec()
}

/// A macro of a file: the tokens of its definition, and those with which it is invoked.
struct Macro<'a> {
    range: Range<usize>,
    definition: &'a [Placed],
    arguments: Vec<&'a [Placed]>,
}

impl<'a> Macro<'a> {
    fn all(tokens: &'a [Placed]) -> Vec<Self> {
        let starts = (0..tokens.len()).filter(|&at| tokens[at].0.is_word("macro_rules"));
        let of_definition = |start: usize| {
            let (name, (_, end)) = (tokens[start + 2].0.word()?, bracketed(tokens, start + 3));
            let calls = tokens
                .windows(3)
                .enumerate()
                .filter(|(_, of)| of[0].0.is_word(name) && of[1].0.is_mark('!') && of[2].0.is_mark('{'));
            let definition = &tokens[start..end];
            Some(Self {
                range: start..end,
                definition,
                arguments: calls.map(|(at, _)| bracketed(tokens, at + 2).0).collect(),
            })
        };
        starts.filter_map(of_definition).collect()
    }

    /// The words that a variable stands for: those of its index in each row, up to a semicolon, or all if it is repeated.
    fn words(&self, variable: &str) -> Vec<&'a str> {
        let is_variable = |of: &[Placed]| {
            of[0].0.is_mark('$')
                && of[1].0.word().is_some()
                && of[2].0.is_mark(':')
                && of[3].0.is_word("ident")
        };
        let all: Vec<usize> =
            (0..self.definition.len() - 4).filter(|&at| is_variable(&self.definition[at..])).collect();
        let own = |at: &&usize| self.definition[**at + 1].0.is_word(variable);
        let at = *all.iter().find(own).expect("a variable of the macro");
        let is_start = |token: &Token| token.is_mark('(');
        let start = self.definition[..at].iter().rposition(|(token, _)| is_start(token)).unwrap_or(0);
        let index = all.iter().filter(|other| (start..at).contains(other)).count();
        let is_repeated = self.definition[at + 4].0.is_mark(')');
        let rows = self.arguments.iter().flat_map(|list| list.split(|(token, _)| token.is_mark(';')));
        let words = |row: &'a [Placed]| {
            let variables = (1..row.len())
                .filter(|&at| row[at - 1].0.is_mark('$') || row[at - 1].0.is_mark('@'))
                .collect::<BTreeSet<_>>();
            let words = row.iter().enumerate().filter(|(at, _)| !variables.contains(at));
            words
                .filter_map(|(_, (token, _))| token.word())
                .filter(|word| *word != "const")
                .collect::<Vec<_>>()
        };
        rows.map(words)
            .flat_map(|row| if is_repeated { row } else { row.get(index).copied().into_iter().collect() })
            .filter(|word| word.starts_with(char::is_lowercase))
            .collect()
    }
}

/// The methods of a file: the types that have each.
fn methods(source: &str) -> BTreeSet<(BTreeSet<String>, String)> {
    let all = tokens(source);
    let macros = Macro::all(&all);
    let of_macros: BTreeSet<&str> =
        macros.iter().flat_map(|of| &of.arguments).flat_map(|list| types_in(list)).collect();
    let mut found = BTreeSet::new();
    let mut add = |at: usize, types: &BTreeSet<&str>, body: &[Placed]| {
        let types: BTreeSet<String> = types.iter().map(|name| (*name).to_owned()).collect();
        for name in functions(body) {
            let names = match name {
                Name::Word(name) => vec![name],
                Name::Variable(variable) => {
                    let of = macros.iter().find(|of| of.range.contains(&at));
                    of.expect("variables are those of macros").words(variable)
                }
            };
            found.extend(names.into_iter().map(|name| (types.clone(), name.to_owned())));
        }
    };
    let (mut at, mut bodies) = (0, Vec::new());
    while let Some(start) = next(&all, at, |token| token.is_word("impl")) {
        at = start + 1;
        // `impl Trait` as the type of an argument has no generics and no body.
        if !all[at].0.is_mark('<') {
            continue;
        }
        let Some(open) = next(&all, at, |token| token.is_mark('{')) else { break };
        let head = &all[at..open];
        if head.iter().any(|(token, _)| token.is_word("for")) {
            continue;
        }
        let target = implementing(head);
        let is_variable = target.first().is_some_and(|(token, _)| token.is_mark('$'));
        let types = if is_variable { of_macros.clone() } else { types_in(&target[..target.len().min(3)]) };
        let (body, after) = bracketed(&all, open);
        add(start, &types, body);
        bodies.push(start..after);
        at = after;
    }
    // Macros that are invoked in an `impl` define functions of its type.
    for of in &macros {
        let is_free = |at: &usize| !bodies.iter().any(|body| body.contains(at));
        let starts = of.range.clone().filter(|&at| all[at].0.is_word("pub") && is_free(&at));
        starts.for_each(|at| add(at, &of_macros, &all[at..at + 4]));
    }
    found.retain(|(types, _)| !types.is_empty());
    found
}

/// Whether a row of the document begins with a method of a value.
fn has_row(document: &str, types: &BTreeSet<String>, method: &str) -> bool {
    let names = TYPES.iter().filter(|(name, _)| types.contains(*name)).flat_map(|(_, values)| *values);
    let calls: Vec<String> =
        names.flat_map(|value| ["(", "::<"].map(|end| format!("{value}{method}{end}"))).collect();
    let is_call = |head: &str| {
        calls.iter().any(|call| {
            head.match_indices(call.as_str()).any(|(at, _)| {
                !head[..at]
                    .ends_with(|before: char| before.is_alphanumeric() || before == '_' || before == '.')
            })
        })
    };
    document.lines().filter(|line| line.starts_with('|')).any(|line| {
        line.starts_with("| A, B |") && is_call(line) || line.split(" | ").next().is_some_and(is_call)
    })
}

#[test]
fn every_method_has_a_row() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/tiles");
    let mut sources = BTreeMap::new();
    for folder in [folder.clone(), folder.join("complex")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "rs") {
                sources.insert(path.clone(), fs::read_to_string(path).unwrap());
            }
        }
    }
    let document =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tile-operations.md")).unwrap();
    let (mut count, mut missing, mut used) = (0, Vec::new(), BTreeSet::new());
    for (path, source) in &sources {
        let is_complex =
            path.parent().is_some_and(|folder| folder.ends_with("complex")) || path.ends_with("complex.rs");
        for (mut types, method) in methods(source) {
            // The real tiles that a macro for complex ones names are its parts.
            types.retain(|name| (name == "Crt") == is_complex);
            if types.is_empty() {
                continue;
            }
            count += 1;
            match OTHERS.iter().find(|other| **other == method) {
                Some(other) => drop(used.insert(*other)),
                None if has_row(&document, &types, &method) => {}
                None => missing.push(format!("{types:?} {method} of {}", path.display())),
            }
        }
    }
    assert!(missing.is_empty(), "methods without a row in docs/tile-operations.md:\n{}", missing.join("\n"));
    let unused: Vec<_> = OTHERS.iter().filter(|other| !used.contains(*other)).collect();
    assert!(unused.is_empty(), "names of `OTHERS` without a method: {unused:?}");
    assert!(count > 150, "methods: {count}");
}
