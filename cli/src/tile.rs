//! Types of tiles and vectors as text, such as `Rt<bf16, 1, 1, Col>`, and the layouts that they denote.

use std::fmt;

use super::Error;
use warpwright::{
    atoms::{ElementWidth, TileLayout, rt_base},
    layout::{ComposedLayout, Layout, TvLayout},
    tensor::{TensorElement, TensorError},
    tiles::{
        Aligned, Auto, Length32, Naive, Orthogonal, Padded, Plain, SharedSwizzle, Swizzle32, Swizzle64,
        Swizzle128, VectorLayout, shared_layout,
    },
};

/// The type of a tile or a vector.
#[derive(Clone, Debug)]
pub(crate) enum TileType {
    Registers(Registers),
    Shared(Memory),
}

/// A tile or vector in the registers of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Registers {
    /// The type with all parameters.
    pub(crate) name: String,
    pub(crate) element: Element,
    /// (lane, value) → element.
    pub(crate) map: TvLayout,
    /// The number of rows and columns. A row vector is a row; any other vector is a column.
    pub(crate) size: (u32, u32),
}

/// A tile or vector in shared memory.
#[derive(Clone, Debug)]
pub(crate) struct Memory {
    pub(crate) name: String,
    pub(crate) element: Element,
    pub(crate) size: (u32, u32),
    /// Coordinate → byte.
    pub(crate) bytes: ComposedLayout,
    /// The size in bytes, including padding.
    pub(crate) total: u32,
}

/// An element type of tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: &'static str,
    /// The size in bytes.
    pub(crate) size: u32,
}

impl Element {
    /// All element types of tiles.
    pub(crate) const ALL: [Self; 13] = [
        Self { name: "bf16", size: 2 },
        Self { name: "f16", size: 2 },
        Self { name: "f32", size: 4 },
        Self { name: "tf32", size: 4 },
        Self { name: "f64", size: 8 },
        Self { name: "e4m3", size: 1 },
        Self { name: "e5m2", size: 1 },
        Self { name: "i8", size: 1 },
        Self { name: "u8", size: 1 },
        Self { name: "i32", size: 4 },
        Self { name: "u32", size: 4 },
        Self { name: "i64", size: 8 },
        Self { name: "u64", size: 8 },
    ];

    /// The prefixes of tile aliases in ThunderKittens and in `warpwright::tiles::sizes`, with their element types.
    const IN_ALIASES: [(&'static str, &'static str); 8] = [
        ("rt_fl_", "f32"),
        ("rt_bf_", "bf16"),
        ("rt_hf_", "f16"),
        ("rt_fp8e4m3_", "e4m3"),
        ("rt_fp8e5m2_", "e5m2"),
        ("RtF32_", "f32"),
        ("RtBf16_", "bf16"),
        ("RtF16_", "f16"),
    ];

    /// Returns the number of elements per register.
    pub(crate) fn per_register(self) -> u32 {
        ElementWidth::of(self.size).per_register()
    }

    /// Returns the length of a subtile along the dimension of its registers.
    fn subtile_length(self) -> u32 {
        if self.size == 1 { 32 } else { 16 }
    }
}

impl TileType {
    /// Returns whether `text` looks like the type of a tile or vector.
    pub(crate) fn is_meant_by(text: &str) -> bool {
        let is_kind = |(name, _): (&str, &str)| KINDS.iter().any(|(kind, _)| *kind == name.trim());
        text.split_once('<').is_some_and(is_kind) || unaliased(text).is_some()
    }

    /// Returns the tile or vector if it is in registers.
    pub(crate) fn registers(&self) -> Option<&Registers> {
        match self {
            Self::Registers(registers) => Some(registers),
            Self::Shared(_) => None,
        }
    }

    /// Returns the name of the type, with all parameters.
    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Registers(registers) => &registers.name,
            Self::Shared(memory) => &memory.name,
        }
    }
}

/// The kinds of tiles and vectors.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Rt,
    Rv,
    ColVec,
    RowVec,
    St,
    Sv,
}

const KINDS: [(&str, Kind); 6] = [
    ("Rt", Kind::Rt),
    ("Rv", Kind::Rv),
    ("ColVec", Kind::ColVec),
    ("RowVec", Kind::RowVec),
    ("St", Kind::St),
    ("Sv", Kind::Sv),
];

/// The maximum number of subtiles along an axis.
const MOST_SUBTILES: u32 = 256;

/// Returns the register tiles of one subtile of every element type, and the vectors in all layouts.
pub(crate) fn basic() -> impl Iterator<Item = TileType> {
    let of_element = |Element { name, size }: Element| {
        let tiles = LAYOUTS.map(|(layout, _)| format!("Rt<{name}, 1, 1, {layout}>"));
        let of_bytes = (size == 1).then_some("Aligned<Length32>");
        let layouts = VECTOR_LAYOUTS.iter().map(|(layout, _)| *layout).chain(of_bytes);
        let vectors = layouts.map(move |layout| format!("Rv<{name}, 2, {layout}>"));
        tiles.into_iter().chain(vectors)
    };
    Element::ALL.into_iter().flat_map(of_element).filter_map(|text| parse(&text).ok())
}

/// Returns the type that an alias denotes: `Rt<f32, 1, 4, Col>` for `rt_fl_1x4<Col>` and `RtF32_1x4<Col>`.
fn unaliased(text: &str) -> Option<String> {
    let (size, element) = Element::IN_ALIASES
        .iter()
        .find_map(|(alias, element)| Some((text.trim().strip_prefix(alias)?, element)))?;
    let (size, layout) = match size.split_once('<') {
        Some((size, layout)) => (size, format!(", {layout}")),
        None => (size, ">".to_owned()),
    };
    let (height, width) = size.split_once('x')?;
    Some(format!("Rt<{element}, {height}, {width}{layout}"))
}

/// Parses a type.
///
/// # Errors
/// Returns a one-line error with the column of the unexpected text.
pub(crate) fn parse(text: &str) -> Result<TileType, Error> {
    let unaliased = unaliased(text);
    let text = unaliased.as_deref().unwrap_or(text);
    let mut reader = Reader { text, at: 0 };
    reader.tile().map_err(|Problem { at, what }| {
        let column = text[..at].chars().count() + 1;
        Error(format!("{text:?}, column {column}: {what}"))
    })
}

/// A description of unexpected text, and its position.
struct Problem {
    at: usize,
    what: String,
}

type Read<T> = Result<T, Problem>;

/// The text, and the position up to which it has been read.
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    /// Returns the next word or sign; empty at the end.
    fn next(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let end = match rest.chars().next() {
            Some(first) if is_word(first) => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            Some(first) => first.len_utf8(),
            None => 0,
        };
        &rest[..end]
    }

    fn expected<T>(&mut self, what: impl fmt::Display) -> Read<T> {
        let found = self.next();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        Err(Problem { at: self.at, what: format!("expected {what}, found {found}") })
    }

    fn sign(&mut self, sign: &str) -> Read<()> {
        if self.next() != sign {
            return self.expected(format_args!("`{sign}`"));
        }
        self.at += sign.len();
        Ok(())
    }

    /// Reads the end of the parameters and of the text.
    fn end(&mut self) -> Read<()> {
        self.sign(">")?;
        if self.next().is_empty() { Ok(()) } else { self.expected("the end") }
    }

    /// Reads a name that must be in a list.
    fn one_of<T: Copy>(&mut self, what: &str, all: &[(&'static str, T)]) -> Read<(&'static str, T)> {
        let word = self.next();
        if let Some(chosen) = all.iter().find(|(name, _)| *name == word) {
            self.at += word.len();
            return Ok(*chosen);
        }
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        self.expected(format_args!("{what} ({})", names.join(", ")))
    }

    /// Reads `, Name` with a name that must be in a list. At the end of the parameters, returns the first entry of the list.
    fn or_first<T: Copy>(&mut self, what: &str, all: &[(&'static str, T)]) -> Read<(&'static str, T)> {
        if self.next() == ">" {
            return Ok(all[0]);
        }
        self.sign(",")?;
        self.one_of(what, all)
    }

    /// Reads `<Length16>` or `<Length32>`, if present; returns whether it is `<Length32>`.
    fn is_of_length_32(&mut self) -> Read<bool> {
        if self.next() != "<" {
            return Ok(false);
        }
        self.sign("<")?;
        let (_, length) = self.one_of("a length", &LENGTHS)?;
        self.sign(">")?;
        Ok(length == 32)
    }

    /// Reads `, N`.
    fn subtiles(&mut self, what: &str) -> Read<u32> {
        self.sign(",")?;
        let word = self.next();
        match word.parse() {
            Ok(count @ 1..=MOST_SUBTILES) => {
                self.at += word.len();
                Ok(count)
            }
            _ => self.expected(format_args!("{what} in subtiles, 1 to {MOST_SUBTILES}")),
        }
    }

    fn tile(&mut self) -> Read<TileType> {
        let (name, kind) = self.one_of("a type of tiles or vectors", &KINDS)?;
        self.sign("<")?;
        let elements = Element::ALL.map(|element| (element.name, element));
        let (_, element) = self.one_of("an element type", &elements)?;
        match kind {
            Kind::Rt => self.register_tile(element),
            Kind::Rv => {
                let length = self.subtiles("the length")?;
                let (layout, maps) = self.or_first("a layout", &VECTOR_LAYOUTS)?;
                let (unit, of_length, map) = match maps.of_length_32 {
                    Some(map) if self.is_of_length_32()? => (32, "<Length32>", map),
                    _ => (16, "", maps.of_length_16),
                };
                let name = format!("Rv<{}, {length}, {layout}{of_length}>", element.name);
                self.vector(name, element, (unit * length, 1), map(length as usize))
            }
            Kind::ColVec | Kind::RowVec => {
                let is_column = matches!(kind, Kind::ColVec);
                let length = self.subtiles(if is_column { "the height" } else { "the width" })?;
                let (layout, of) = self.or_first("a layout", &LAYOUTS)?;
                let (of_length, subtile) = self.or_first("a length of subtiles", &LENGTHS)?;
                let is_along_words = (of == TileLayout::Row) != is_column;
                let (unit, map): (u32, VectorMap) = match subtile {
                    32 if is_along_words => (32, Aligned::<Length32>::layout),
                    _ if is_along_words => (16, <Aligned>::layout),
                    _ => (16, Orthogonal::layout),
                };
                let of_length = if subtile == 32 { format!(", {of_length}") } else { String::new() };
                let name = format!("{name}<{}, {length}, {layout}{of_length}>", element.name);
                let elements = unit * length;
                let size = if is_column { (elements, 1) } else { (1, elements) };
                self.vector(name, element, size, map(length as usize))
            }
            Kind::St => self.shared_tile(element),
            Kind::Sv => {
                let length = self.subtiles("the length")?;
                self.end()?;
                let bytes = Layout::new(16 * i64::from(length), i64::from(element.size));
                let bytes = bytes.or_else(|error| self.expected(error))?.into();
                let name = format!("Sv<{}, {length}>", element.name);
                let total = 16 * length * element.size;
                Ok(TileType::Shared(Memory { name, element, size: (1, 16 * length), bytes, total }))
            }
        }
    }

    fn register_tile(&mut self, element: Element) -> Read<TileType> {
        let start = self.at;
        let (height, width) = (self.subtiles("the height")?, self.subtiles("the width")?);
        let (layout, of) = self.or_first("a layout", &LAYOUTS)?;
        self.end()?;
        let base = rt_base(of, ElementWidth::of(element.size));
        let map = TvLayout::tiled(&base, height, width);
        let map = map.map_err(|error| Problem { at: start, what: error.to_string() })?;
        let size = (map.rows() as u32, map.cols() as u32);
        let name = format!("Rt<{}, {height}, {width}, {layout}>", element.name);
        Ok(TileType::Registers(Registers { name, element, map, size }))
    }

    /// Returns a register vector.
    fn vector(&mut self, name: String, element: Element, size: (u32, u32), map: TvLayout) -> Read<TileType> {
        self.end()?;
        let map = map.packed_partly(element.per_register());
        Ok(TileType::Registers(Registers { name, element, map, size }))
    }

    fn shared_tile(&mut self, element: Element) -> Read<TileType> {
        let (height, width) = (self.subtiles("the height")?, self.subtiles("the width")?);
        let start = self.at;
        let (name, swizzle) = self.or_first("a swizzle", &SWIZZLES)?;
        self.end()?;
        let (rows, cols) = (16 * height, element.subtile_length() * width);
        let (row, block) = (cols * element.size, (swizzle.block)(cols * element.size));
        if row % block != 0 {
            let what =
                format!("expected a swizzle of a divisor of the {row} bytes of a row, found {block} bytes");
            return Err(Problem { at: start, what });
        }
        let bytes = (swizzle.bytes)(element.size, rows, cols);
        let bytes = bytes.map_err(|error| Problem { at: start, what: error.to_string() })?;
        // The distance in bytes between consecutive rows of a block, including padding.
        let pitch = bytes.layout().index(1) as u32;
        let name = format!("St<{}, {height}, {width}, {name}>", element.name);
        let total = row / block * rows * pitch;
        Ok(TileType::Shared(Memory { name, element, size: (rows, cols), bytes, total }))
    }
}

/// The layouts of register tiles.
const LAYOUTS: [(&str, TileLayout); 2] = [("Row", TileLayout::Row), ("Col", TileLayout::Col)];

/// The lengths of subtiles.
const LENGTHS: [(&str, u32); 2] = [("Length16", 16), ("Length32", 32)];

/// A function that returns the layout of a register vector, given its length in units.
type VectorMap = fn(usize) -> TvLayout;

/// A layout of register vectors, by the unit of their lengths.
#[derive(Clone, Copy)]
struct VectorMaps {
    of_length_16: VectorMap,
    of_length_32: Option<VectorMap>,
}

/// The layouts of register vectors.
const VECTOR_LAYOUTS: [(&str, VectorMaps); 3] = [
    ("Orthogonal", VectorMaps { of_length_16: Orthogonal::layout, of_length_32: None }),
    (
        "Aligned",
        VectorMaps { of_length_16: <Aligned>::layout, of_length_32: Some(Aligned::<Length32>::layout) },
    ),
    ("Naive", VectorMaps { of_length_16: <Naive>::layout, of_length_32: Some(Naive::<Length32>::layout) }),
];

/// The swizzle of a shared tile.
#[derive(Clone, Copy)]
struct Swizzled {
    /// Returns the width in bytes of a swizzled row, given the width of the tile's rows in bytes.
    block: fn(u32) -> u32,
    /// Returns the layout of a tile in bytes, given the element size and the number of rows and columns.
    bytes: fn(u32, u32, u32) -> Result<ComposedLayout, TensorError>,
}

impl Swizzled {
    const fn of<S: SharedSwizzle>() -> Self {
        Self {
            block: |row| S::of_row(row).1,
            bytes: |size, rows, cols| match size {
                1 => in_bytes::<u8, S>(rows, cols),
                2 => in_bytes::<u16, S>(rows, cols),
                4 => in_bytes::<u32, S>(rows, cols),
                _ => in_bytes::<u64, S>(rows, cols),
            },
        }
    }
}

/// Returns the layout of a shared tile in bytes.
fn in_bytes<T: TensorElement, S: SharedSwizzle>(rows: u32, cols: u32) -> Result<ComposedLayout, TensorError> {
    shared_layout::<T, S>(rows, cols)?.bytes::<T>()
}

/// The swizzles of shared tiles.
const SWIZZLES: [(&str, Swizzled); 6] = [
    ("Auto", Swizzled::of::<Auto>()),
    ("Swizzle128", Swizzled::of::<Swizzle128>()),
    ("Swizzle64", Swizzled::of::<Swizzle64>()),
    ("Swizzle32", Swizzled::of::<Swizzle32>()),
    ("Padded", Swizzled::of::<Padded>()),
    ("Plain", Swizzled::of::<Plain>()),
];
