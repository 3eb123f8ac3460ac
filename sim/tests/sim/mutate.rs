//! Damages kernels, one token at a time; the same seed gives the same damage.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A generator of pseudo-random numbers (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
pub(crate) struct SplitMix(pub(crate) u64);

impl SplitMix {
    pub(crate) fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % n as u64) as usize
    }
}

/// Returns the byte ranges of the tokens, without comments and debug sections.
pub(crate) fn tokens(text: &str) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let word = |c: u8| c.is_ascii_alphanumeric() || b"_$%".contains(&c);
    let end = text.find("\n\t.section").or(text.find("\n.section")).unwrap_or(text.len());
    let mut found = vec![];
    let mut at = 0;
    while at < end {
        let start = at;
        match bytes[at] {
            c if c.is_ascii_whitespace() => {
                at += 1;
                continue;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => {
                at = text[at..].find('\n').map_or(end, |n| at + n);
                continue;
            }
            b'"' => at = text[at + 1..].find('"').map_or(end, |n| at + n + 2),
            c if word(c) || (c == b'.' && bytes.get(at + 1).is_some_and(|&c| word(c))) => {
                at += 1;
                while at < end && (word(bytes[at]) || text[at..].starts_with("::")) {
                    at += if bytes[at] == b':' { 2 } else { 1 };
                }
            }
            _ => at += 1,
        }
        found.push((start, at));
    }
    found
}

/// Returns the class of a token; tokens are replaced by others of their class.
pub(crate) fn class(token: &str) -> u8 {
    match token.as_bytes() {
        [b'.', ..] => 0,
        [b'%', ..] => 1,
        [c, ..] if c.is_ascii_digit() => 2,
        [c, ..] if c.is_ascii_alphabetic() || *c == b'$' || *c == b'_' => 3,
        _ => 4,
    }
}

/// Returns the text with one token deleted, duplicated, exchanged with the next one or replaced; the kind of change; and its line.
pub(crate) fn mutate(
    text: &str,
    vocabulary: &BTreeMap<u8, Vec<String>>,
    random: &mut SplitMix,
) -> (String, String) {
    let tokens = tokens(text);
    let (start, end) = tokens[random.below(tokens.len())];
    let token = &text[start..end];
    let of_class = |random: &mut SplitMix, class: u8| {
        let words = &vocabulary[&class];
        words[random.below(words.len())].clone()
    };
    let here = |random: &mut SplitMix| {
        let like: Vec<&str> =
            tokens.iter().map(|&(a, b)| &text[a..b]).filter(|t| class(t) == class(token)).collect();
        like[random.below(like.len())].to_string()
    };
    let (how, with) = match random.below(10) {
        0 => ("delete", String::new()),
        1 => ("double", format!("{token} {token}")),
        2..6 => ("replace by a like one of the kernel", here(random)),
        6..9 => ("replace by a like one", of_class(random, class(token))),
        _ => {
            let any = random.below(5) as u8;
            ("replace by any", of_class(random, any))
        }
    };
    let line = text[..start].lines().count();
    (
        format!("{}{with}{}", &text[..start], &text[end..]),
        format!("line {line}: {how}: `{token}` -> `{with}`"),
    )
}

/// Returns the text with one register or number replaced by another one from the same text. Most such texts still run.
pub(crate) fn exchange(text: &str, random: &mut SplitMix) -> String {
    let operands: Vec<(usize, usize)> =
        tokens(text).into_iter().filter(|&(a, b)| matches!(class(&text[a..b]), 1 | 2)).collect();
    let (start, end) = operands[random.below(operands.len())];
    let like: Vec<(usize, usize)> =
        operands.iter().copied().filter(|&(a, b)| class(&text[a..b]) == class(&text[start..end])).collect();
    let (from, to) = like[random.below(like.len())];
    format!("{}{}{}", &text[..start], &text[from..to], &text[end..])
}

/// Returns all tokens of the texts, by class.
pub(crate) fn vocabulary<'t>(texts: impl IntoIterator<Item = &'t str>) -> BTreeMap<u8, Vec<String>> {
    let mut words: BTreeMap<u8, Vec<String>> = BTreeMap::new();
    for text in texts {
        for (a, b) in tokens(text) {
            words.entry(class(&text[a..b])).or_default().push(text[a..b].to_string());
        }
    }
    for words in words.values_mut() {
        words.sort();
        words.dedup();
    }
    words
}

/// Returns the name and the text of every kernel of the corpus.
pub(crate) fn kernels() -> Vec<(String, String)> {
    let folder = match std::env::var_os("WARPWRIGHT_CORPUS") {
        Some(path) => PathBuf::from(path),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/corpus"),
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the corpus")
        .map(|entry| entry.expect("an entry").path().join("kernel.ptx"))
        .filter(|path| path.exists())
        .collect();
    paths.sort();
    let name =
        |path: &Path| path.parent().and_then(Path::file_name).unwrap_or_default().display().to_string();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).expect("text"))).collect()
}

/// Returns the number in an environment variable.
pub(crate) fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
