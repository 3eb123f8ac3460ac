//! Splits PTX text into tokens (PTX ISA, "Syntax": identifiers, constants, directives, comments).

use crate::text::error::ParseError;

/// A position in PTX text: 1-based line and column (in characters).
///
/// All positions compare as equal, so that comparisons of syntax trees ignore positions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pos {
    /// The 1-based line.
    pub line: u32,
    /// The 1-based column, in characters.
    pub column: u32,
}

impl PartialEq for Pos {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Pos {}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind<'s> {
    /// A name: `add`, `%r1`, `$L__BB0_1`, `_Z3foo`.
    Ident(&'s str),
    /// A word after a dot, without the dot: `global`, `f32`, `shared::cta`, `L2::128B`.
    Dot(&'s str),
    /// An integer constant of up to 64 bits.
    Int(u64),
    /// `0fXXXXXXXX`: the bits of an f32.
    Single(u32),
    /// `0dXXXXXXXXXXXXXXXX` or decimal notation: the bits of an f64.
    Double(u64),
    /// A string without its quotes, with its escapes unchanged.
    Str(&'s str),
    /// Any other character.
    Punct(char),
    /// The end of the text.
    End,
}

/// A token and its position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token<'s> {
    pub(crate) kind: Kind<'s>,
    pub(crate) pos: Pos,
    /// The byte offset of the first character.
    pub(crate) start: usize,
    /// The byte offset after the last character.
    pub(crate) end: usize,
}

const WORD: [bool; 256] = {
    let mut table = [false; 256];
    let mut c = 0;
    while c < 256 {
        let byte = c as u8;
        table[c] = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'%');
        c += 1;
    }
    table
};

fn is_word(c: u8) -> bool {
    WORD[usize::from(c)]
}

/// Produces the tokens of PTX text one at a time, without storing them in a list.
pub(crate) struct Lexer<'s> {
    text: &'s str,
    bytes: &'s [u8],
    at: usize,
    line: u32,
    line_start: usize,
    /// The number of UTF-8 continuation bytes in this line so far.
    continuations: usize,
    error: Option<ParseError>,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(text: &'s str) -> Self {
        let bytes = text.as_bytes();
        Self { text, bytes, at: 0, line: 1, line_start: 0, continuations: 0, error: None }
    }

    /// Returns a lexer that starts at the byte offset `at`, which corresponds to the position `pos`.
    pub(crate) fn starting_at(text: &'s str, at: usize, pos: Pos) -> Self {
        let before = (pos.column as usize).saturating_sub(1);
        Self { at, line: pos.line, line_start: at.saturating_sub(before), ..Self::new(text) }
    }

    /// Returns the next token, or [`Kind::End`] after the last token and after an error.
    pub(crate) fn next_token(&mut self) -> Token<'s> {
        match self.try_next() {
            Ok(token) => token,
            Err(error) => {
                self.error = Some(error);
                self.at = self.bytes.len();
                self.end()
            }
        }
    }

    /// Returns the error that ended the tokens early, if any.
    pub(crate) fn into_error(self) -> Option<ParseError> {
        self.error
    }

    fn try_next(&mut self) -> Result<Token<'s>, ParseError> {
        if !self.skip_blank()? {
            return Ok(self.end());
        }
        let (pos, start) = (self.pos(), self.at);
        let kind = self.token()?;
        Ok(Token { kind, pos, start, end: self.at })
    }

    fn end(&self) -> Token<'s> {
        Token { kind: Kind::End, pos: self.pos(), start: self.at, end: self.at }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn pos(&self) -> Pos {
        self.pos_of(self.at)
    }

    fn pos_of(&self, start: usize) -> Pos {
        Pos { line: self.line, column: (start - self.line_start - self.continuations) as u32 + 1 }
    }

    /// Moves past one byte that may be part of a multi-byte character.
    fn skip_byte(&mut self) {
        self.continuations += usize::from(self.bytes[self.at] & 0xc0 == 0x80);
        self.at += 1;
    }

    /// Returns an error that extends from `start`, at `pos`, to the current byte.
    fn error(&self, pos: Pos, start: usize, message: impl Into<String>) -> ParseError {
        let len = self.text.get(start..self.at).map_or(1, |t| t.chars().count()) as u32;
        ParseError::new(self.text, pos, len, message)
    }

    fn newline(&mut self) {
        self.at += 1;
        self.line += 1;
        self.line_start = self.at;
        self.continuations = 0;
    }

    /// Skips white space and comments. Returns `false` at the end of the text.
    fn skip_blank(&mut self) -> Result<bool, ParseError> {
        loop {
            match (self.peek(0), self.peek(1)) {
                _ if self.at >= self.bytes.len() => return Ok(false),
                (b'\n', _) => self.newline(),
                (b' ' | b'\t' | b'\r' | 0x0c | 0x0b, _) => self.at += 1,
                (b'/', b'/') => {
                    while self.at < self.bytes.len() && self.peek(0) != b'\n' {
                        self.skip_byte();
                    }
                }
                (b'/', b'*') => self.skip_block_comment()?,
                _ => return Ok(true),
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<(), ParseError> {
        let open = self.pos();
        self.at += 2;
        while self.at < self.bytes.len() {
            match (self.peek(0), self.peek(1)) {
                (b'*', b'/') => {
                    self.at += 2;
                    return Ok(());
                }
                (b'\n', _) => self.newline(),
                _ => self.skip_byte(),
            }
        }
        Err(ParseError::new(self.text, open, 2, "this comment is never closed"))
    }

    fn token(&mut self) -> Result<Kind<'s>, ParseError> {
        let start = self.at;
        match self.peek(0) {
            b'.' if self.peek(1).is_ascii_digit() && !self.after_word() => self.number(start),
            b'.' if is_word(self.peek(1)) => Ok(self.dotted()),
            b'"' => self.string(start),
            c if c.is_ascii_digit() => self.number(start),
            // Any other `%` is an operator.
            c if is_word(c) && (c != b'%' || is_word(self.peek(1))) => {
                self.word();
                Ok(Kind::Ident(&self.text[start..self.at]))
            }
            _ => {
                let c = self.text[start..].chars().next().unwrap_or(' ');
                (0..c.len_utf8()).for_each(|_| self.skip_byte());
                Ok(Kind::Punct(c))
            }
        }
    }

    /// Returns whether the previous character belongs to a word, as in `tensor.2d`.
    fn after_word(&self) -> bool {
        self.at > 0 && is_word(self.bytes[self.at - 1])
    }

    fn word(&mut self) {
        while is_word(self.peek(0)) {
            self.at += 1;
        }
    }

    /// Moves past the rest of a number. A `%` ends the number.
    fn digits(&mut self) {
        while is_word(self.peek(0)) && self.peek(0) != b'%' {
            self.at += 1;
        }
    }

    /// Reads `.word` or `.word::word`: the qualifier of an instruction, or the name of a directive.
    fn dotted(&mut self) -> Kind<'s> {
        self.at += 1;
        let start = self.at;
        self.word();
        while self.peek(0) == b':' && self.peek(1) == b':' && is_word(self.peek(2)) {
            self.at += 2;
            self.word();
        }
        Kind::Dot(&self.text[start..self.at])
    }

    fn string(&mut self, start: usize) -> Result<Kind<'s>, ParseError> {
        let pos = self.pos();
        self.at += 1;
        let inner = self.at;
        loop {
            match self.peek(0) {
                b'"' => break,
                b'\\' if self.at + 1 < self.bytes.len() && self.peek(1) != b'\n' => {
                    self.skip_byte();
                    self.skip_byte();
                }
                b'\n' => return Err(self.error(pos, start, "this string is never closed")),
                _ if self.at >= self.bytes.len() => {
                    return Err(self.error(pos, start, "this string is never closed"));
                }
                _ => self.skip_byte(),
            }
        }
        let text = self.text.get(inner..self.at).unwrap_or("");
        self.at += 1;
        Ok(Kind::Str(text))
    }

    fn number(&mut self, start: usize) -> Result<Kind<'s>, ParseError> {
        let hex_float = self.peek(0) == b'0' && matches!(self.peek(1), b'f' | b'F' | b'd' | b'D');
        if hex_float {
            return self.hex_float(start);
        }
        self.digits();
        let decimal = !matches!(self.text.as_bytes()[start..self.at], [b'0', b'x' | b'X', ..]);
        // `1.5`, `1.` and `1.E+3`.
        let fraction = |c: u8| c.is_ascii_digit() || matches!(c, b'e' | b'E') || !is_word(c);
        if decimal && self.peek(0) == b'.' && fraction(self.peek(1)) {
            self.at += 1;
            self.digits();
        }
        if decimal && matches!(self.bytes[self.at - 1], b'e' | b'E') && matches!(self.peek(0), b'+' | b'-') {
            self.at += 1;
            self.digits();
        }
        let text = &self.text[start..self.at];
        if decimal && text.contains(['.', 'e', 'E']) {
            return match text.parse::<f64>() {
                Ok(value) => Ok(Kind::Double(value.to_bits())),
                Err(_) => Err(self.error(self.pos_of(start), start, format!("`{text}` is not a number"))),
            };
        }
        match integer(text) {
            Some(value) => Ok(Kind::Int(value)),
            None => Err(self.error(
                self.pos_of(start),
                start,
                format!("`{text}` is not an integer constant of up to 64 bits"),
            )),
        }
    }

    fn hex_float(&mut self, start: usize) -> Result<Kind<'s>, ParseError> {
        let single = matches!(self.peek(1), b'f' | b'F');
        self.at += 2;
        let digits = self.at;
        self.digits();
        let text = &self.text[digits..self.at];
        let want = if single { 8 } else { 16 };
        match u64::from_str_radix(text, 16) {
            Ok(bits) if text.len() == want && single => Ok(Kind::Single(bits as u32)),
            Ok(bits) if text.len() == want => Ok(Kind::Double(bits)),
            _ => {
                let kind = if single { "0f" } else { "0d" };
                Err(self.error(
                    self.pos_of(start),
                    start,
                    format!("`{kind}` requires exactly {want} hexadecimal digits"),
                ))
            }
        }
    }
}

/// Returns the value of a decimal, `0x`, `0b` or octal constant, with an optional final `U`.
fn integer(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let (radix, digits) = match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &text[2..]),
        [b'0', b'b' | b'B', ..] => (2, &text[2..]),
        [b'0', _, ..] => (8, &text[1..]),
        _ => (10, text),
    };
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold(0u64, |value, c| {
        let digit = c.to_digit(radix)?;
        // As in ptxas, constants wrap, but no digit may follow once all 64 bits are in use.
        (value >> 63 == 0).then(|| value.wrapping_mul(radix.into()).wrapping_add(digit.into()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lex(text: &str) -> Result<Vec<Token<'_>>, ParseError> {
        let mut lexer = Lexer::new(text);
        let mut tokens = vec![lexer.next_token()];
        while tokens.last().is_some_and(|token| token.kind != Kind::End) {
            tokens.push(lexer.next_token());
        }
        lexer.into_error().map_or(Ok(tokens), Err)
    }

    fn kinds(text: &str) -> Vec<Kind<'_>> {
        lex(text).expect("lexes").into_iter().map(|t| t.kind).collect()
    }

    #[test]
    fn qualifiers_keep_their_double_colons() {
        let want = [
            Kind::Ident("ld"),
            Kind::Dot("global"),
            Kind::Dot("L2::128B"),
            Kind::Dot("v4"),
            Kind::Ident("%r1"),
            Kind::End,
        ];
        assert_eq!(kinds("ld.global.L2::128B.v4 %r1"), want);
    }

    #[test]
    fn every_notation_of_a_number() {
        let want = [
            Kind::Int(255),
            Kind::Int(5),
            Kind::Int(8),
            Kind::Int(7),
            Kind::Single(0x3f80_0000),
            Kind::Double(0x3ff0_0000_0000_0000),
            Kind::Double(1.5f64.to_bits()),
            Kind::Double(2e-3f64.to_bits()),
            Kind::Double(1f64.to_bits()),
            Kind::Double(1000f64.to_bits()),
            Kind::End,
        ];
        assert_eq!(kinds("0xFF 0b101 010 7U 0f3F800000 0d3FF0000000000000 1.5 2e-3 1. 1.E+3"), want);
        assert_eq!(kinds("0XFF 0B101 010U 7 0F3f800000 0D3ff0000000000000 1.5E0 2E-3 1. 1.e3"), want);
    }

    #[test]
    fn an_e_in_a_hexadecimal_constant_is_a_digit() {
        let want = [Kind::Int(0xc1ef), Kind::Int(0x1e), Kind::Punct('+'), Kind::Int(1), Kind::End];
        assert_eq!(kinds("0XC1EFU 0X1E+1"), want);
    }

    #[test]
    fn constants_of_more_than_64_bits_wrap() {
        let want = [Kind::Int(5), Kind::Int(u64::MAX - 15), Kind::End];
        assert_eq!(kinds("18446744073709551621 0xFFFFFFFFFFFFFFF0"), want);
        assert!(lex("92233720368547758080").is_err());
    }

    #[test]
    fn a_dimension_after_a_word_is_a_qualifier() {
        assert_eq!(kinds("tensor.2d")[1], Kind::Dot("2d"));
    }

    #[test]
    fn comments_and_positions() {
        let tokens = lex("// a\n/* b\n c */ x").expect("lexes");
        assert_eq!((tokens[0].pos.line, tokens[0].pos.column), (3, 7));
    }

    #[test]
    fn columns_count_characters() {
        let tokens = lex("/* äö */ \"é∀\" ∃ x // ü\n y").expect("lexes");
        let columns: Vec<_> = tokens.iter().map(|t| (t.pos.line, t.pos.column)).collect();
        assert_eq!(columns, [(1, 10), (1, 15), (1, 17), (2, 2), (2, 3)]);
    }

    #[test]
    fn unterminated_tokens_are_errors_at_their_start() {
        let error = lex("a\n  /* b").expect_err("open comment");
        assert_eq!((error.line(), error.column()), (2, 3));
        assert!(lex("\"abc").is_err());
        assert!(lex("0f12").is_err());
        assert!(lex("0xfffffffffffffffff").is_err());
    }
}
