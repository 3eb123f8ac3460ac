//! The text of a kernel under construction.

use std::{fmt, ops::Range};

use super::{body::RegId, types::RegClass};

/// UTF-8 text, built by appending pieces of a few bytes.
#[derive(Default)]
pub(crate) struct Text {
    bytes: Vec<u8>,
    /// A reusable buffer for the text after a name that is being replaced.
    rest: Vec<u8>,
}

/// The column where operands start.
const OPERAND_COLUMN: usize = 24;

impl Text {
    /// Returns the number of bytes.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the text from position `start` to the end.
    pub(crate) fn since(&self, start: usize) -> &[u8] {
        &self.bytes[start..]
    }

    #[inline]
    pub(crate) fn push_str(&mut self, text: &str) {
        self.bytes.extend_from_slice(text.as_bytes());
    }

    /// Appends the first `count` bytes. Copies all `N` bytes, which does not require a function call, and then removes the rest.
    #[inline]
    fn push_first<const N: usize>(&mut self, count: usize, bytes: &[u8; N]) {
        let end = self.bytes.len() + count;
        self.bytes.extend_from_slice(bytes);
        self.bytes.truncate(end);
    }

    /// Appends the name of a register.
    #[inline]
    pub(crate) fn push_register(&mut self, reg: RegId) {
        let (length, prefix) = PREFIXES[reg.class.index()];
        self.push_first(length, &prefix);
        self.push_decimal(reg.index.into());
    }

    /// Appends a number in decimal digits; most numbers are those of registers and have at most three digits.
    #[inline]
    pub(crate) fn push_decimal(&mut self, number: u64) {
        match DIGITS.get(usize::try_from(number).unwrap_or(usize::MAX)) {
            Some(digits) => {
                let count = 1 + usize::from(number >= 10) + usize::from(number >= 100);
                self.push_first(count, digits);
            }
            None => self.push_long_decimal(number),
        }
    }

    fn push_long_decimal(&mut self, number: u64) {
        self.push_decimal(number / 10);
        self.bytes.push(b'0' + (number % 10) as u8);
    }

    /// Appends spaces, at least one, up to the operand column of the line that starts at `start`.
    #[inline]
    pub(crate) fn pad_to_operands(&mut self, start: usize) {
        let spaces = (start + OPERAND_COLUMN).saturating_sub(self.bytes.len()).max(1);
        self.push_first(spaces, &[b' '; OPERAND_COLUMN]);
    }

    /// Replaces a part of the text with the name of a register.
    pub(crate) fn replace(&mut self, part: Range<usize>, reg: RegId) {
        self.rest.clear();
        self.rest.extend_from_slice(&self.bytes[part.end..]);
        self.bytes.truncate(part.start);
        self.push_register(reg);
        self.bytes.extend_from_slice(&self.rest);
    }

    /// Shortens the text to `length` bytes.
    #[inline]
    pub(crate) fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
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
        str::from_utf8(&self.bytes).expect("all parts are strings").to_owned()
    }
}

/// The prefix of the register names of each class, and its length.
static PREFIXES: [(usize, [u8; 4]); RegClass::ALL.len()] = {
    let mut prefixes = [(0, [0; 4]); RegClass::ALL.len()];
    let mut class = 0;
    while class < prefixes.len() {
        let prefix = RegClass::ALL[class].prefix().as_bytes();
        let (length, bytes) = &mut prefixes[class];
        while *length < prefix.len() {
            bytes[*length] = prefix[*length];
            *length += 1;
        }
        class += 1;
    }
    prefixes
};

/// The digits of each number below 1000, left-aligned.
static DIGITS: [[u8; 4]; 1000] = {
    let mut digits = [[0; 4]; 1000];
    let mut number = 0;
    while number < digits.len() {
        let (mut at, mut place) = (0, 100);
        while place > 0 {
            if number >= place || place == 1 {
                digits[number][at] = b'0' + (number / place % 10) as u8;
                at += 1;
            }
            place /= 10;
        }
        number += 1;
    }
    digits
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
        let line = |mnemonic: &str| {
            text(|text| {
                text.push_str("first\n");
                text.push_str(mnemonic);
                text.pad_to_operands(6);
                text.push_str("x");
            })
        };
        assert_eq!(line("    ret"), "first\n    ret                 x");
        assert_eq!(
            line("    a.mnemonic.of.more.than.a.column"),
            "first\n    a.mnemonic.of.more.than.a.column x"
        );
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
