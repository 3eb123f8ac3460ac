//! The values of expressions: integers, tuples, layouts of three kinds, and swizzles.

use std::fmt;

use warpwright::layout::{
    BasisVector, ComposedLayout, IntTuple, Layout, LayoutError, Slicer, Slot, Stride, Swizzle, Tile, Tiler,
    Tuple,
};

/// The value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// An integer.
    Integer(i64),
    /// A boolean.
    Boolean(bool),
    /// `_`.
    Keep,
    /// A basis vector, `4@1`.
    Basis(BasisVector),
    /// A tuple of values.
    Tuple(Vec<Value>),
    /// A layout that maps to offsets.
    Layout(Layout),
    /// A layout that maps to coordinates.
    Coordinates(Layout<BasisVector>),
    /// A swizzle.
    Swizzle(Swizzle),
    /// A composition of a swizzle, an offset and a layout.
    Composed(ComposedLayout),
    /// A slice and its offset.
    Slice(Layout, i64),
    /// A slice of coordinates and its first coordinate.
    CoordinateSlice(Layout<BasisVector>, BasisVector),
}

impl Value {
    /// Returns a description of the kind of value, for error messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Value::Integer(_) => "an integer",
            Value::Boolean(_) => "a boolean",
            Value::Keep => "`_`",
            Value::Basis(_) => "a basis vector",
            Value::Tuple(_) => "a tuple",
            Value::Layout(_) => "a layout",
            Value::Coordinates(_) => "a layout of coordinates",
            Value::Swizzle(_) => "a swizzle",
            Value::Composed(_) => "a swizzled layout",
            Value::Slice(..) | Value::CoordinateSlice(..) => "a slice with its offset",
        }
    }

    /// Returns the value as an integer tuple, if all leaves are integers.
    pub(crate) fn int_tuple(&self) -> Option<IntTuple> {
        self.tuple_of(&|leaf| match leaf {
            Value::Integer(value) => Some(*value),
            _ => None,
        })
    }

    /// Returns the value as a slicing coordinate, if all leaves are integers or `_`.
    pub(super) fn slicer(&self) -> Option<Slicer> {
        self.tuple_of(&|leaf| match leaf {
            Value::Integer(value) => Some(Slot::At(*value)),
            Value::Keep => Some(Slot::Keep),
            _ => None,
        })
    }

    /// Returns the value as a tiler, if all leaves are integers, `_` or layouts.
    pub(crate) fn tiler(&self) -> Option<Tiler> {
        self.tuple_of(&|leaf| match leaf {
            Value::Integer(value) => Some(Tile::Extent(*value)),
            Value::Keep => Some(Tile::Keep),
            Value::Layout(layout) => Some(Tile::Layout(layout.clone())),
            _ => None,
        })
    }

    fn basis(&self) -> Option<Stride<BasisVector>> {
        self.tuple_of(&|leaf| match leaf {
            Value::Basis(vector) => Some(vector.clone()),
            Value::Integer(0) => Some(BasisVector::default()),
            _ => None,
        })
    }

    fn tuple_of<T>(&self, leaf: &impl Fn(&Value) -> Option<T>) -> Option<Tuple<T>> {
        match self {
            Value::Tuple(modes) => modes.iter().map(|mode| mode.tuple_of(leaf)).collect(),
            other => leaf(other).map(Tuple::Leaf),
        }
    }

    /// Returns `shape:stride`, if the values are a shape and its stride.
    pub(super) fn with_stride(&self, stride: &Value) -> Option<Result<Value, LayoutError>> {
        let shape = self.int_tuple()?;
        if let Some(stride) = stride.int_tuple() {
            return Some(Layout::new(shape, stride).map(Value::Layout));
        }
        Some(Layout::with_stride(shape, stride.basis()?).map(Value::Coordinates))
    }
}

impl From<IntTuple> for Value {
    fn from(tuple: IntTuple) -> Self {
        match tuple {
            Tuple::Leaf(value) => Value::Integer(value),
            Tuple::Node(modes) => Value::Tuple(modes.into_iter().map(Value::from).collect()),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Integer(value) => write!(f, "{value}"),
            Value::Boolean(value) => write!(f, "{}", if *value { "yes" } else { "no" }),
            Value::Keep => write!(f, "_"),
            Value::Basis(vector) => write!(f, "{vector}"),
            Value::Tuple(modes) => {
                write!(f, "(")?;
                for (index, mode) in modes.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma}{mode}")?;
                }
                write!(f, ")")
            }
            Value::Layout(layout) => write!(f, "{layout}"),
            Value::Coordinates(layout) => write!(f, "{layout}"),
            Value::Swizzle(swizzle) => write!(f, "{swizzle}"),
            Value::Composed(layout) => write!(f, "{layout}"),
            Value::Slice(layout, offset) => write!(f, "{layout} at {offset}"),
            Value::CoordinateSlice(layout, offset) => write!(f, "{layout} at {offset}"),
        }
    }
}
