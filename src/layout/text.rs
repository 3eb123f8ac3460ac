//! CuTe's text form, printed and parsed: `(4,(2,2)):(2,(1,8))`.

use std::fmt::{self, Debug, Display, Write as _};
use std::str::FromStr;

use super::{ComposedLayout, IntTuple, Layout, LayoutError, Slicer, Slot, Swizzle, Tile, Tiler, Tuple};

impl<T: Display> Display for Tuple<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tuple(self, f, &<T as Display>::fmt)
    }
}

impl<T: Debug> Debug for Tuple<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_tuple(self, f, &<T as Debug>::fmt)
    }
}

fn write_tuple<T>(
    tuple: &Tuple<T>,
    f: &mut fmt::Formatter<'_>,
    leaf: &dyn Fn(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    match tuple {
        Tuple::Leaf(value) => leaf(value, f),
        Tuple::Node(modes) => {
            f.write_char('(')?;
            for (index, mode) in modes.iter().enumerate() {
                if index > 0 {
                    f.write_char(',')?;
                }
                write_tuple(mode, f, leaf)?;
            }
            f.write_char(')')
        }
    }
}

impl<D: Display> Display for Layout<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.shape, self.stride)
    }
}

impl<D: Display> Debug for Layout<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slot::Keep => f.write_char('_'),
            Slot::At(index) => write!(f, "{index}"),
        }
    }
}

impl Display for Tile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tile::Keep => f.write_char('_'),
            Tile::Extent(extent) => write!(f, "{extent}"),
            Tile::Layout(layout) => write!(f, "{layout}"),
        }
    }
}

impl FromStr for IntTuple {
    type Err = LayoutError;

    /// Parses `(4,(2,2))`. Spaces and the `_` that CuTe prints before static integers are skipped.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Parser::whole(text, |parser| parser.tuple(Parser::integer))
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    /// Parses `(4,(2,2)):(2,(1,8))`; refuses what [`Layout::new`] refuses.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Parser::whole(text, Parser::layout)
    }
}

impl FromStr for Slicer {
    type Err = LayoutError;

    /// Parses `(_,(1,_))`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Parser::whole(text, |parser| parser.tuple(Parser::slot))
    }
}

impl FromStr for Tiler {
    type Err = LayoutError;

    /// Parses a layout `8:2`, an extent `8`, or a tuple of tilers with `_` for modes to leave: `(4:1,_,(2,8))`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Parser::whole(text, Parser::tiler)
    }
}

pub(super) fn parse_swizzle(text: &str) -> Result<Swizzle, LayoutError> {
    Parser::whole(text, Parser::swizzle)
}

pub(super) fn parse_composed(text: &str) -> Result<ComposedLayout, LayoutError> {
    Parser::whole(text, |parser| {
        let swizzle = parser.swizzle()?;
        parser.expect('o', "`o`, an offset and a layout")?;
        let offset = parser.integer()?;
        parser.expect('o', "`o` and a layout")?;
        Ok(ComposedLayout::new(swizzle, offset, parser.layout()?))
    })
}

/// Deepest nesting that is read: no shape comes near, and a text cannot exhaust the stack.
const MAX_DEPTH: usize = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn whole<T>(
        text: &'a str,
        parse: impl FnOnce(&mut Self) -> Result<T, LayoutError>,
    ) -> Result<T, LayoutError> {
        let mut parser = Parser { text, at: 0, depth: 0 };
        let value = parse(&mut parser)?;
        match parser.peek() {
            None => Ok(value),
            Some(_) => Err(parser.wanted("the end")),
        }
    }

    fn peek(&mut self) -> Option<char> {
        let rest = &self.text[self.at..];
        self.at = self.text.len() - rest.trim_start().len();
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, symbol: char) -> bool {
        let found = self.peek() == Some(symbol);
        if found {
            self.at += symbol.len_utf8();
        }
        found
    }

    fn wanted(&self, wanted: &'static str) -> LayoutError {
        let column = self.text[..self.at].chars().count() + 1;
        LayoutError::Parse { text: self.text.to_owned(), column, wanted }
    }

    fn expect(&mut self, symbol: char, wanted: &'static str) -> Result<(), LayoutError> {
        if self.take(symbol) { Ok(()) } else { Err(self.wanted(wanted)) }
    }

    fn integer(&mut self) -> Result<i64, LayoutError> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits_from = rest.strip_prefix('_').map_or(0, |_| 1);
        let number = &rest[digits_from..];
        let signed = usize::from(number.starts_with('-'));
        let length = signed + number[signed..].bytes().take_while(u8::is_ascii_digit).count();
        let value = number[..length].parse().map_err(|_| self.wanted("an integer of 64 bits"))?;
        self.at += digits_from + length;
        Ok(value)
    }

    fn slot(&mut self) -> Result<Slot, LayoutError> {
        let marker = self.peek() == Some('_')
            && !self.text[self.at + 1..].starts_with(|next: char| next.is_ascii_digit() || next == '-');
        if marker {
            self.at += 1;
            return Ok(Slot::Keep);
        }
        self.integer().map(Slot::At)
    }

    fn tuple<T>(&mut self, leaf: fn(&mut Self) -> Result<T, LayoutError>) -> Result<Tuple<T>, LayoutError> {
        if self.peek() == Some('(') {
            Ok(Tuple::Node(self.modes(|parser| parser.tuple(leaf))?))
        } else {
            leaf(self).map(Tuple::Leaf)
        }
    }

    fn modes<T>(
        &mut self,
        mut mode: impl FnMut(&mut Self) -> Result<T, LayoutError>,
    ) -> Result<Vec<T>, LayoutError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.wanted("at most 64 nested tuples"));
        }
        self.take('(');
        let mut modes = Vec::new();
        if !self.take(')') {
            loop {
                modes.push(mode(self)?);
                if self.take(')') {
                    break;
                }
                self.expect(',', "`,` or `)`")?;
            }
        }
        self.depth -= 1;
        Ok(modes)
    }

    fn layout(&mut self) -> Result<Layout, LayoutError> {
        let shape = self.tuple(Parser::integer)?;
        self.expect(':', "`:` and a stride")?;
        Layout::new(shape, self.tuple(Parser::integer)?)
    }

    fn tiler(&mut self) -> Result<Tiler, LayoutError> {
        if self.at_layout() {
            return self.layout().map(|layout| Tuple::Leaf(Tile::Layout(layout)));
        }
        if self.peek() == Some('(') {
            return Ok(Tuple::Node(self.modes(Parser::tiler)?));
        }
        self.slot().map(|slot| match slot {
            Slot::Keep => Tuple::Leaf(Tile::Keep),
            Slot::At(extent) => Tuple::Leaf(Tile::Extent(extent)),
        })
    }

    fn swizzle(&mut self) -> Result<Swizzle, LayoutError> {
        let wanted = "a swizzle `Sw<bits,base,shift>`";
        for symbol in "Sw<".chars() {
            self.expect(symbol, wanted)?;
        }
        let bits = self.integer()?;
        self.expect(',', wanted)?;
        let base = self.integer()?;
        self.expect(',', wanted)?;
        let shift = self.integer()?;
        self.expect('>', wanted)?;
        match (bits.try_into(), base.try_into(), shift.try_into()) {
            (Ok(bits), Ok(base), Ok(shift)) => Swizzle::new(bits, base, shift),
            _ => Err(self.wanted("bits, base and shift below 63")),
        }
    }

    /// Whether an integer tuple and a `:` come next.
    fn at_layout(&mut self) -> bool {
        self.peek();
        let mut ahead = Parser { text: self.text, at: self.at, depth: self.depth };
        ahead.tuple(Parser::integer).is_ok() && ahead.take(':')
    }
}
