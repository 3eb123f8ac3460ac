//! Rust source as words and marks, without comments, strings and lifetimes.

/// An identifier, `::`, or any other single mark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(String),
    Path,
    Mark(char),
}

impl Token {
    pub(super) fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            Self::Path | Self::Mark(_) => None,
        }
    }

    pub(super) fn is_word(&self, wanted: &str) -> bool {
        self.word() == Some(wanted)
    }

    pub(super) fn is_mark(&self, wanted: char) -> bool {
        *self == Self::Mark(wanted)
    }
}

/// A token and its 1-based line.
pub(super) type Placed = (Token, usize);

/// Divides Rust source into tokens, without numbers, comments and literals.
pub(super) fn tokens(source: &str) -> Vec<Placed> {
    let mut out = Vec::new();
    let (mut rest, mut line) = (source, 1);
    while let Some(first) = rest.chars().next() {
        let (length, token) = next(rest, first);
        out.extend(token.map(|token| (token, line)));
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    out
}

/// Returns the length of the first construct in `rest`, and its token unless it is omitted.
fn next(rest: &str, first: char) -> (usize, Option<Token>) {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if rest.starts_with("//") {
        return (rest.find('\n').unwrap_or(rest.len()), None);
    }
    if rest.starts_with("/*") {
        return (block_comment(rest), None);
    }
    if let Some(length) = string(rest) {
        return (length, None);
    }
    if first == '\'' {
        return (character_or_lifetime(rest), None);
    }
    if rest.starts_with("::") {
        return (2, Some(Token::Path));
    }
    if is_word(first) {
        let raw = if rest.starts_with("r#") { 2 } else { 0 };
        let length = raw + rest[raw..].find(|c| !is_word(c)).unwrap_or(rest.len() - raw);
        let word = (!first.is_ascii_digit()).then(|| Token::Word(rest[raw..length].to_string()));
        return (length, word);
    }
    (first.len_utf8(), (!first.is_whitespace()).then_some(Token::Mark(first)))
}

/// Returns the length of a block comment; these may nest.
fn block_comment(rest: &str) -> usize {
    let (mut at, mut depth) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (at, depth) = (at + 2, depth + 1);
        } else if rest[at..].starts_with("*/") {
            (at, depth) = (at + 2, depth - 1);
            if depth == 0 {
                break;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// Returns the length of a string literal, raw or not, with its prefix.
fn string(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| {
            after.starts_with('"') || prefix.ends_with('r') && after.trim_start_matches('#').starts_with('"')
        })
    })?;
    let body = &rest[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        let close = format!("\"{}", "#".repeat(hashes));
        let start = hashes + 1;
        let end = body[start..].find(&close).map_or(body.len(), |at| start + at + close.len());
        return Some(prefix.len() + end);
    }
    let mut escaped = false;
    for (at, c) in body.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(prefix.len() + at + 1),
            _ => {}
        }
    }
    Some(rest.len())
}

/// Returns the length of `'a'`, `'\n'` or `'lifetime`.
fn character_or_lifetime(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => rest[3..].find('\'').map_or(rest.len(), |at| 3 + at + 1),
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1 + rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len() - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn words(source: &str) -> Vec<String> {
        tokens(source).iter().filter_map(|(token, _)| token.word().map(str::to_string)).collect()
    }

    #[test]
    fn comments_strings_and_lifetimes_are_dropped() {
        assert_eq!(words("a // b\n/* c /* d */ e */ f"), ["a", "f"]);
        assert_eq!(words(r##"a "b \" c" d r"e" r#"f " g"# h b"i" c"j" k"##), ["a", "d", "h", "k"]);
        assert_eq!(words(r"a 'b' '\'' '\u{1}' 'c d 1u32 r#type"), ["a", "d", "type"]);
        assert_eq!(
            words("fn f<'a>(x: &'a str) -> char { '\"' } // \"\nunsafe"),
            ["fn", "f", "x", "str", "char", "unsafe"]
        );
    }

    #[test]
    fn tokens_have_their_line() {
        let found = tokens("/* 1\n2 */ a::b\n\"3\n4\"\nc");
        let word = |name: &str| Token::Word(name.into());
        assert_eq!(found, [(word("a"), 2), (Token::Path, 2), (word("b"), 2), (word("c"), 5)]);
    }
}
