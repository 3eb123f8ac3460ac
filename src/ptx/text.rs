//! The text of a kernel under construction.

use std::{fmt, ops::Range};

use super::{body::RegId, types::RegClass};

/// UTF-8 text, built by appending pieces of a few bytes.
#[derive(Default)]
pub(crate) struct Text {
    /// The text, followed by unused bytes, which the next pieces overwrite.
    bytes: Vec<u8>,
    /// The number of bytes of the text.
    length: usize,
    /// A reusable buffer for the text after a name that is being replaced.
    rest: Vec<u8>,
}

/// The indentation of instructions.
const INDENT: &str = "    ";

/// The column where operands start.
const OPERAND_COLUMN: usize = 24;

/// The text at the start of a line: the indentation, a mnemonic, and spaces up to the operands.
pub(crate) struct LineStart {
    text: Box<str>,
    /// The end of the mnemonic.
    end: usize,
}

impl LineStart {
    pub(crate) fn of(mnemonic: &str) -> Self {
        let end = INDENT.len() + mnemonic.len();
        let spaces = OPERAND_COLUMN.saturating_sub(end).max(1);
        Self { text: format!("{INDENT}{mnemonic}{:spaces$}", "").into(), end }
    }

    pub(crate) fn mnemonic(&self) -> &str {
        &self.text[INDENT.len()..self.end]
    }
}

impl Text {
    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Returns the text from position `start` to the end.
    pub(crate) fn since(&self, start: usize) -> &[u8] {
        &self.as_bytes()[start..]
    }

    #[inline]
    pub(crate) fn push_str(&mut self, text: &str) {
        self.push_bytes(text.as_bytes());
    }

    #[inline]
    fn push_bytes(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if end > self.bytes.len() {
            self.grow(bytes.len());
        }
        self.bytes[self.length..end].copy_from_slice(bytes);
        self.length = end;
    }

    /// Appends the first `count` bytes. Copies all `N` bytes, which does not require a function call.
    #[inline]
    fn push_first<const N: usize>(&mut self, count: usize, bytes: &[u8; N]) {
        match self.bytes.get_mut(self.length..).and_then(|unused| unused.first_chunk_mut()) {
            Some(unused) => {
                *unused = *bytes;
                self.length += count;
            }
            None => self.push_bytes(&bytes[..count]),
        }
    }

    /// Extends the buffer, so that at least `count` bytes can be appended.
    #[cold]
    fn grow(&mut self, count: usize) {
        let length = (2 * self.bytes.len()).max(self.length + count);
        self.bytes.resize(length, 0);
    }

    /// Appends the name of a register.
    #[inline]
    pub(crate) fn push_register(&mut self, reg: RegId) {
        let Name { bytes, length } = PREFIXES[reg.class.index()];
        match NUMBERS.get(reg.index as usize) {
            Some(number) => {
                let name = bytes | number.bytes << (8 * length);
                self.push_first((length + number.length) as usize, &name.to_le_bytes());
            }
            None => {
                self.push_first(length as usize, &bytes.to_le_bytes());
                self.push_decimal(reg.index.into());
            }
        }
    }

    /// Appends a number in decimal digits.
    #[inline]
    pub(crate) fn push_decimal(&mut self, number: u64) {
        match NUMBERS.get(usize::try_from(number).unwrap_or(usize::MAX)) {
            Some(digits) => self.push_first(digits.length as usize, &digits.bytes.to_le_bytes()),
            None => self.push_long_decimal(number),
        }
    }

    fn push_long_decimal(&mut self, number: u64) {
        self.push_decimal(number / 10);
        self.push_bytes(&[b'0' + (number % 10) as u8]);
    }

    /// Appends the start of a line, with the guard, if any, before the mnemonic. If `operands` is false, appends no spaces after the
    /// mnemonic.
    #[inline]
    pub(crate) fn push_line_start(
        &mut self,
        start: &LineStart,
        guard: Option<(RegId, bool)>,
        operands: bool,
    ) {
        match (guard, operands) {
            (None, true) => self.push_str(&start.text),
            (None, false) => self.push_str(&start.text[..start.end]),
            (Some(guard), _) => {
                let line = self.length;
                self.push_indent(Some(guard));
                self.push_str(start.mnemonic());
                if operands {
                    self.pad_to_operands(line);
                }
            }
        }
    }

    /// Appends the indentation, and the guard, if any: a predicate, and whether it is negated.
    #[inline]
    pub(crate) fn push_indent(&mut self, guard: Option<(RegId, bool)>) {
        self.push_str(INDENT);
        if let Some((reg, negated)) = guard {
            self.push_str(if negated { "@!" } else { "@" });
            self.push_register(reg);
            self.push_str(" ");
        }
    }

    /// Appends spaces, at least one, up to the operand column of the line that starts at `start`.
    #[inline]
    fn pad_to_operands(&mut self, start: usize) {
        let spaces = (start + OPERAND_COLUMN).saturating_sub(self.length).max(1);
        self.push_first(spaces, &[b' '; OPERAND_COLUMN]);
    }

    /// Replaces a part of the text with the name of a register.
    pub(crate) fn replace(&mut self, part: Range<usize>, reg: RegId) {
        let mut rest = std::mem::take(&mut self.rest);
        rest.clear();
        rest.extend_from_slice(self.since(part.end));
        self.truncate(part.start);
        self.push_register(reg);
        self.push_bytes(&rest);
        self.rest = rest;
    }

    /// Shortens the text to `length` bytes.
    #[inline]
    pub(crate) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Removes parts of the text; the parts must be in ascending order.
    pub(crate) fn remove(&mut self, parts: &[Range<usize>]) {
        let mut end = parts.first().map_or(self.len(), |first| first.start);
        for (i, part) in parts.iter().enumerate() {
            let kept = part.end..parts.get(i + 1).map_or(self.len(), |next| next.start);
            let length = kept.len();
            self.bytes.copy_within(kept, end);
            end += length;
        }
        self.truncate(end);
    }

    /// Returns a copy without spare memory.
    pub(crate) fn to_text(&self) -> String {
        str::from_utf8(self.as_bytes()).expect("all parts are strings").to_owned()
    }
}

/// Up to 8 characters: the first one in the lowest byte, and the number of characters.
#[derive(Clone, Copy)]
struct Name {
    bytes: u64,
    length: u32,
}

impl Name {
    const fn of(text: &[u8]) -> Self {
        let mut name = Self { bytes: 0, length: 0 };
        while (name.length as usize) < text.len() {
            name.bytes |= (text[name.length as usize] as u64) << (8 * name.length);
            name.length += 1;
        }
        name
    }
}

/// The prefix of the register names of each class.
static PREFIXES: [Name; RegClass::ALL.len()] = {
    let mut prefixes = [Name::of(b""); RegClass::ALL.len()];
    let mut class = 0;
    while class < prefixes.len() {
        prefixes[class] = Name::of(RegClass::ALL[class].prefix().as_bytes());
        class += 1;
    }
    prefixes
};

/// The digits of each number below 1000; most numbers of registers have at most three digits.
static NUMBERS: [Name; 1000] = {
    let mut numbers = [Name::of(b""); 1000];
    let mut number = 0;
    while number < numbers.len() {
        let digits = [number / 100, number / 10 % 10, number % 10];
        let text = [b'0' + digits[0] as u8, b'0' + digits[1] as u8, b'0' + digits[2] as u8];
        let leading_zeros = if number < 10 { 2 } else { (number < 100) as usize };
        numbers[number] = Name::of(text.split_at(leading_zeros).1);
        number += 1;
    }
    numbers
};

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl FnOnce(&mut Text)) -> String {
        let mut text = Text::default();
        write(&mut text);
        text.to_text()
    }

    #[test]
    fn numbers_and_names_are_as_std_formats_them() {
        for number in (0..2000).chain([99_999, 1_234_567, u32::MAX.into(), u64::MAX]) {
            assert_eq!(text(|text| text.push_decimal(number)), number.to_string());
        }
        for class in RegClass::ALL {
            for index in [0, 9, 10, 123, 4567] {
                let reg = RegId { class, index, writes: 0 };
                assert_eq!(text(|text| text.push_register(reg)), reg.to_string());
            }
        }
    }

    #[test]
    fn operands_start_in_a_column_or_after_a_space() {
        let line = |mnemonic: &str, guard, operands| {
            text(|text| {
                text.push_str("first\n");
                text.push_line_start(&LineStart::of(mnemonic), guard, operands);
                text.push_str("x");
            })
        };
        let guard = Some((RegId { class: RegClass::Pred, index: 7, writes: 0 }, true));
        assert_eq!(line("ret", None, true), "first\n    ret                 x");
        assert_eq!(line("ret", None, false), "first\n    retx");
        assert_eq!(line("ret", guard, true), "first\n    @!%p7 ret           x");
        assert_eq!(line("ret", guard, false), "first\n    @!%p7 retx");
        let long = "a.mnemonic.of.more.than.a.column";
        assert_eq!(line(long, None, true), format!("first\n    {long} x"));
        assert_eq!(line(long, guard, true), format!("first\n    @!%p7 {long} x"));
    }

    #[test]
    fn parts_are_replaced_and_removed() {
        let reg = RegId { class: RegClass::B64, index: 1234, writes: 0 };
        let edited = |edit: &dyn Fn(&mut Text)| {
            text(|text| {
                text.push_str("one two three four");
                edit(text);
            })
        };
        assert_eq!(edited(&|text| text.replace(4..7, reg)), "one %rd1234 three four");
        assert_eq!(edited(&|text| text.remove(&[])), "one two three four");
        assert_eq!(edited(&|text| text.remove(&[0..4, 8..14])), "two four");
        assert_eq!(edited(&|text| text.remove(&[3..7, 7..18])), "one");
    }
}
