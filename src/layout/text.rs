//! CuTe's notation, printed and parsed: `(4,(2,2)):(2,(1,8))`.

use std::fmt::{self, Debug, Display, Write as _};
use std::str::FromStr;

use super::{
    BasisVector, ComposedLayout, IntTuple, Layout, LayoutError, Shape, Slicer, Slot, Stride, Swizzle, Tile,
    Tiler, Tuple,
};

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

    /// Parses text such as `(4,(2,2))`. Spaces and the `_` that CuTe prints before static integers are ignored.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Parser::whole(text, |parser| parser.tuple(Parser::integer))
    }
}

impl FromStr for Layout {
    type Err = LayoutError;

    /// Parses text such as `(4,(2,2)):(2,(1,8))`.
    ///
    /// Returns [`LayoutError::Parse`] for malformed text; otherwise, the same errors as [`Layout::new`].
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Parser::whole(text, Parser::layout)
    }
}

impl FromStr for Layout<BasisVector> {
    type Err = LayoutError;

    /// Parses text such as `(4,8):(1@0,2@1)`.
    ///
    /// The stride of an extent is a scaled basis vector such as `2@1`, a basis vector in CuTe's notation such as `E<1>`, 0, or a tuple of
    /// components, as in `4:(1,2)`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Parser::whole(text, |parser| {
            let shape = parser.tuple(Parser::integer)?;
            parser.expect(':', "`:` and a stride")?;
            parser.peek();
            let fault = parser.fault("strides such as `2@1`, nested like the shape");
            let stride = parser.tuple(Parser::component)?;
            Layout::with_stride(shape.clone(), vectors(&shape, &stride).ok_or(fault)?)
        })
    }
}

/// Returns the stride that a tuple of components denotes for a shape.
fn vectors(shape: &Shape, stride: &Tuple<Component>) -> Option<Stride<BasisVector>> {
    match (shape, stride) {
        (Tuple::Leaf(_), Tuple::Leaf(Component::Number(0))) => Some(Tuple::Leaf(BasisVector::default())),
        (Tuple::Leaf(_), Tuple::Leaf(Component::Vector(vector))) => Some(Tuple::Leaf(vector.clone())),
        (Tuple::Leaf(_), Tuple::Node(components)) => {
            let numbers = components.iter().map(|component| match component {
                Tuple::Leaf(Component::Number(number)) => Some(*number),
                _ => None,
            });
            Some(Tuple::Leaf(numbers.collect::<Option<_>>()?))
        }
        (Tuple::Node(shape), Tuple::Node(stride)) if shape.len() == stride.len() => {
            shape.iter().zip(stride).map(|(shape, stride)| vectors(shape, stride)).collect()
        }
        _ => None,
    }
}

/// An element of a stride of basis vectors.
enum Component {
    Number(i64),
    Vector(BasisVector),
}

impl FromStr for Slicer {
    type Err = LayoutError;

    /// Parses text such as `(_,(1,_))`.
    fn from_str(text: &str) -> Result<Self, LayoutError> {
        Parser::whole(text, |parser| parser.tuple(Parser::slot))
    }
}

impl FromStr for Tiler {
    type Err = LayoutError;

    /// Parses a layout `8:2`, an extent `8`, or a tuple of tilers with `_` for modes to keep, such as `(4:1,_,(2,8))`.
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
        parser.composed("`o` and a layout, or an offset before it")?;
        let offset = if parser.at_layout() {
            0
        } else {
            let offset = parser.integer()?;
            parser.composed("`o` and a layout")?;
            offset
        };
        Ok(ComposedLayout::new(swizzle, offset, parser.layout()?))
    })
}

/// The maximum nesting depth that the parser accepts, so that malformed text cannot exhaust the stack.
const MAX_DEPTH: usize = 64;

/// The maximum dimension of a basis vector that the parser accepts, so that text cannot exhaust memory.
const MOST_DIMENSIONS: usize = 64;

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
            Some(_) => Err(parser.fault("the end")),
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

    fn fault(&self, expected: &'static str) -> LayoutError {
        let column = self.text[..self.at].chars().count() + 1;
        LayoutError::Parse { text: self.text.to_owned(), column, expected }
    }

    fn expect(&mut self, symbol: char, expected: &'static str) -> Result<(), LayoutError> {
        if self.take(symbol) { Ok(()) } else { Err(self.fault(expected)) }
    }

    fn integer(&mut self) -> Result<i64, LayoutError> {
        self.peek();
        let rest = &self.text[self.at..];
        let digits_from = rest.strip_prefix('_').map_or(0, |_| 1);
        let number = &rest[digits_from..];
        let signed = usize::from(number.starts_with('-'));
        let length = signed + number[signed..].bytes().take_while(u8::is_ascii_digit).count();
        let value = number[..length].parse().map_err(|_| self.fault("an integer of 64 bits"))?;
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
            return Err(self.fault("at most 64 nested tuples"));
        }
        self.take('(');
        let mut modes = Vec::new();
        // A comma before the `)` is accepted.
        while !self.take(')') {
            modes.push(mode(self)?);
            if !self.take(',') {
                self.expect(')', "`,` or `)`")?;
                break;
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
        let expected = "a swizzle `Sw<bits,base,shift>`";
        self.peek();
        // CuTe writes `Swizzle` in C++ and `S` in Python, and prints `Sw`.
        let rest = &self.text[self.at..];
        let name = ["Swizzle", "Sw", "S"].into_iter().find(|name| rest.starts_with(name));
        self.at += name.map_or(0, str::len);
        self.expect('<', expected)?;
        let bits = self.integer()?;
        self.expect(',', expected)?;
        let base = self.integer()?;
        self.expect(',', expected)?;
        let shift = self.integer()?;
        self.expect('>', expected)?;
        match (bits.try_into(), base.try_into(), shift.try_into()) {
            (Ok(bits), Ok(base), Ok(shift)) => Swizzle::new(bits, base, shift),
            _ => Err(self.fault("bits, base and shift below 63")),
        }
    }

    /// Parses the `o` (or `∘`) of a composition.
    fn composed(&mut self, expected: &'static str) -> Result<(), LayoutError> {
        if self.take('∘') { Ok(()) } else { self.expect('o', expected) }
    }

    /// Parses a number, `2@1`, or `E<1>`.
    fn component(&mut self) -> Result<Component, LayoutError> {
        if self.take('E') {
            self.expect('<', "a basis vector `E<0>`")?;
            let vector = self.along(1)?;
            self.expect('>', "`>`")?;
            return Ok(Component::Vector(vector));
        }
        let number = self.integer()?;
        if self.take('@') { self.along(number).map(Component::Vector) } else { Ok(Component::Number(number)) }
    }

    /// Parses the dimension of a basis vector.
    fn along(&mut self, scale: i64) -> Result<BasisVector, LayoutError> {
        let fault = self.fault("a dimension of 0 to 63");
        match usize::try_from(self.integer()?) {
            Ok(dimension) if dimension < MOST_DIMENSIONS => Ok(BasisVector::along(dimension, scale)),
            _ => Err(fault),
        }
    }

    /// Returns whether an integer tuple and a `:` follow.
    fn at_layout(&mut self) -> bool {
        self.peek();
        let mut ahead = Parser { text: self.text, at: self.at, depth: self.depth };
        ahead.tuple(Parser::integer).is_ok() && ahead.take(':')
    }
}
