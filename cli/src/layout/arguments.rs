//! The arguments of a call, converted to the types that functions expect.

use warpwright::layout::{
    AccessError, BasisVector, Codomain, ComposedLayout, Coord, IntTuple, Layout, LayoutError, Slicer,
    Swizzle, Tiler,
};

use super::value::Value;

/// The reason that a call has no value.
#[derive(Debug)]
pub(super) enum Fault {
    /// An argument of the wrong kind.
    Argument {
        /// The index of the argument.
        index: usize,
        /// What was expected and what was found.
        problem: String,
    },
    /// An operation without a valid result.
    Whole(String),
}

impl Fault {
    /// Returns the message for a call of `name`. If `problem` already names the function, the name is not repeated.
    pub(super) fn whole(name: &str, problem: &str) -> String {
        match problem.strip_prefix(name) {
            Some(rest) if rest.starts_with([':', ' ']) => problem.to_owned(),
            _ => format!("{name}: {problem}"),
        }
    }
}

impl From<AccessError> for Fault {
    fn from(error: AccessError) -> Self {
        Fault::Whole(error.to_string())
    }
}

impl From<LayoutError> for Fault {
    fn from(error: LayoutError) -> Self {
        Fault::Whole(error.to_string())
    }
}

/// The result of a function.
pub(super) type Answer = Result<Value, Fault>;

/// The arguments of a call.
#[derive(Debug)]
pub(super) struct Arguments<'a>(pub(super) &'a [Value]);

impl Arguments<'_> {
    /// Returns the number of arguments.
    pub(super) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns argument `index`, unconverted.
    pub(super) fn value(&self, index: usize) -> Result<&Value, Fault> {
        self.0
            .get(index)
            .ok_or_else(|| Fault::Argument { index, problem: "expected an argument, found none".to_owned() })
    }

    fn read<T>(&self, index: usize, expected: &str, read: impl Fn(&Value) -> Option<T>) -> Result<T, Fault> {
        let value = self.value(index)?;
        read(value).ok_or_else(|| {
            let problem = format!("expected {expected}, found {} {value}", value.kind());
            Fault::Argument { index, problem }
        })
    }

    pub(super) fn wrong<T>(&self, index: usize, expected: &str) -> Result<T, Fault> {
        self.read(index, expected, |_| None)
    }

    /// Returns argument `index` as a layout. A shape denotes its column-major layout.
    pub(super) fn layout(&self, index: usize) -> Result<Layout, Fault> {
        if let Some(shape) = self.value(index)?.int_tuple() {
            return Ok(Layout::column_major(shape)?);
        }
        self.read(index, "a layout", |value| match value {
            Value::Layout(layout) => Some(layout.clone()),
            _ => None,
        })
    }

    pub(super) fn integer(&self, index: usize) -> Result<i64, Fault> {
        self.read(index, "an integer", |value| match value {
            Value::Integer(value) => Some(*value),
            _ => None,
        })
    }

    /// Returns argument `index` as the index of a mode.
    pub(super) fn mode(&self, index: usize) -> Result<usize, Fault> {
        self.read(index, "the number of a mode", |value| match value {
            Value::Integer(value) => usize::try_from(*value).ok(),
            _ => None,
        })
    }

    pub(super) fn swizzle(&self, index: usize) -> Result<Swizzle, Fault> {
        self.read(index, "a swizzle", |value| match value {
            Value::Swizzle(swizzle) => Some(*swizzle),
            _ => None,
        })
    }

    /// Returns argument `index` as an integer or a nested tuple of integers.
    pub(super) fn tuple(&self, index: usize) -> Result<IntTuple, Fault> {
        self.read(index, "a tuple of integers", Value::int_tuple)
    }

    /// Returns argument `index` as a tuple of extents. A layout denotes its shape.
    pub(super) fn shape(&self, index: usize) -> Result<IntTuple, Fault> {
        let shape = self.read(index, "a shape or a layout", |value| match value {
            Value::Layout(layout) => Some(layout.shape().clone()),
            Value::Coordinates(layout) => Some(layout.shape().clone()),
            Value::Composed(layout) => Some(layout.shape().clone()),
            other => other.int_tuple(),
        })?;
        // Rejects extents below 1 and sizes beyond 64 bits.
        Ok(Layout::column_major(shape)?.shape().clone())
    }

    pub(super) fn coord(&self, index: usize) -> Result<Coord, Fault> {
        self.tuple(index)
    }

    pub(super) fn slicer(&self, index: usize) -> Result<Slicer, Fault> {
        self.read(index, "a coordinate, with `_` for the modes to keep", Value::slicer)
    }

    pub(super) fn tiler(&self, index: usize) -> Result<Tiler, Fault> {
        self.read(index, "a layout, an integer, or a tuple of these and `_`", Value::tiler)
    }

    /// Returns argument `index` as a layout that maps to coordinates. A layout that maps to offsets is accepted only if all its strides are
    /// 0.
    pub(super) fn places(&self, index: usize) -> Result<Layout<BasisVector>, Fault> {
        if let Value::Coordinates(layout) = self.value(index)? {
            return Ok(layout.clone());
        }
        let layout = self.layout(index)?;
        let mut modes = layout.shape().leaves().zip(layout.stride().leaves());
        if modes.any(|(extent, stride)| *extent > 1 && *stride != 0) {
            return self.wrong(index, "a layout of coordinates, like the others (strides 1@0, 1@1 or 0)");
        }
        let nowhere = layout.stride().map(|_| BasisVector::zero());
        Ok(Layout::with_stride(layout.shape(), nowhere)?)
    }

    /// Returns argument `index`, any kind of layout, as a swizzled layout, for functions that operate on offsets.
    pub(super) fn offsets(&self, index: usize) -> Result<ComposedLayout, Fault> {
        match self.value(index)? {
            Value::Composed(layout) => Ok(layout.clone()),
            _ => self.layout(index).map(ComposedLayout::from),
        }
    }
}
