//! Errors of the layout algebra.

use std::fmt;

use thiserror::Error;

/// The path of a mode in a nested tuple.
///
/// The path `1.0` denotes mode 0 of mode 1. The empty path denotes the whole tuple.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ModePath(Vec<usize>);

impl ModePath {
    /// Returns the path as seen from outside mode `index`.
    fn under(mut self, index: usize) -> ModePath {
        self.0.insert(0, index);
        self
    }

    /// Returns the mode indices, from the outermost to the innermost.
    #[must_use]
    pub fn indices(&self) -> &[usize] {
        &self.0
    }
}

impl fmt::Display for ModePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.0.split_first() else {
            return write!(f, "(whole)");
        };
        write!(f, "{first}")?;
        rest.iter().try_for_each(|index| write!(f, ".{index}"))
    }
}

/// A path on the stack of a recursion, converted to a [`ModePath`] only for errors.
#[derive(Clone, Copy)]
pub(super) enum Trail<'a> {
    Root,
    Mode(&'a Trail<'a>, usize),
}

impl Trail<'_> {
    pub(super) fn child(&self, index: usize) -> Trail<'_> {
        Trail::Mode(self, index)
    }

    pub(super) fn to_path(self) -> ModePath {
        match self {
            Trail::Root => ModePath::default(),
            Trail::Mode(outer, index) => {
                let mut path = outer.to_path();
                path.0.push(index);
                path
            }
        }
    }
}

/// The error returned by a layout operation that has no valid result.
///
/// Most variants name the mode that caused the error.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// A stride whose nesting does not match the shape.
    #[error("mode {mode}: expected a stride nested like shape {shape}, found {stride}")]
    Incongruent {
        /// The first mode whose stride is nested differently from its shape.
        mode: ModePath,
        /// The shape of that mode.
        shape: String,
        /// The stride of that mode.
        stride: String,
    },
    /// An extent below 1.
    #[error("mode {mode}: expected an extent of at least 1, found {extent}")]
    Extent {
        /// The mode whose extent is below 1.
        mode: ModePath,
        /// The extent of the mode.
        extent: i64,
    },
    /// A factor, a count or a number of bits below 1.
    #[error("{what}: expected at least 1, found {found}")]
    TooSmall {
        /// The operation and the name of its argument.
        what: &'static str,
        /// The value found.
        found: i64,
    },
    /// An error in one mode of a tuple of tilers.
    #[error("mode {mode}: {fault}")]
    InMode {
        /// The tiler's mode.
        mode: ModePath,
        /// The error in that mode.
        fault: Box<LayoutError>,
    },
    /// A size, a stride or an offset that exceeds 64 bits.
    #[error("{what}: expected at most 64 bits, found more")]
    Overflow {
        /// The quantity that overflowed.
        what: String,
    },
    /// A coordinate whose nesting does not match the shape.
    #[error("mode {mode}: expected a coordinate nested within shape {shape}, found {coord}")]
    Coordinate {
        /// The first mode whose coordinate does not match its shape.
        mode: ModePath,
        /// The coordinate of that mode.
        coord: String,
        /// The shape of that mode.
        shape: String,
    },
    /// An order whose nesting does not match the shape.
    #[error("mode {mode}: expected an order nested within shape {shape}, found {order}")]
    Order {
        /// The first mode whose order does not match its shape.
        mode: ModePath,
        /// The order of that mode.
        order: String,
        /// The shape of that mode.
        shape: String,
    },
    /// An argument with the wrong number of modes.
    #[error("{operation}: expected {}, found {found} in {value}", modes(*expected))]
    Rank {
        /// The name of the operation.
        operation: &'static str,
        /// The expected number of modes (for `unflatten`, of leaves). For a tiler or a profile, this is the maximum; for the target of
        /// `tile_to_shape`, the minimum.
        expected: usize,
        /// The number of modes of the argument.
        found: usize,
        /// The argument with the wrong number of modes.
        value: String,
    },
    /// A range of modes that is empty or exceeds the rank.
    #[error("expected a non-empty range of modes within rank {rank}, found {begin}..{end}")]
    ModeRange {
        /// The index of the first mode.
        begin: usize,
        /// The index after the last mode.
        end: usize,
        /// The number of modes of the layout or tuple.
        rank: usize,
    },
    /// A composition `left ∘ right` that is not a layout.
    #[error("{left} ∘ {right}: mode {mode} of the right side, {fault}")]
    Compose {
        /// The left side, simplified.
        left: String,
        /// The right side.
        right: String,
        /// The mode of the right side that does not compose.
        mode: ModePath,
        /// The reason why the mode does not compose.
        fault: Box<ComposeFault>,
    },
    /// A layout without a complement, or a tiler whose copies leave a gap.
    #[error(
        "complement of {layout}: mode {mode} (extent {extent}): stride {stride} must be a multiple of {reached}, the span of the modes with smaller strides"
    )]
    Complement {
        /// The layout, filtered.
        layout: String,
        /// The mode that overlaps the modes with smaller strides or leaves a gap after them.
        mode: ModePath,
        /// The extent of the mode.
        extent: i64,
        /// The stride of the mode.
        stride: i64,
        /// The span of the modes with smaller strides.
        reached: i64,
    },
    /// A complement whose copies do not cover the whole cotarget.
    #[error(
        "complement of {layout} in {cotarget}: expected {expected} offsets covered, found {covered}, below mode {mode} (extent {extent}, stride {stride})"
    )]
    Uncovered {
        /// The layout, filtered.
        layout: String,
        /// The cotarget.
        cotarget: String,
        /// The first mode with a gap below its stride, or the mode with the largest stride if the modes of the cotarget cause the gap.
        mode: ModePath,
        /// The extent of the mode.
        extent: i64,
        /// The stride of the mode.
        stride: i64,
        /// The number of offsets covered.
        covered: i64,
        /// The number of offsets to cover.
        expected: i64,
    },
    /// A layout without a left inverse.
    #[error("left_inverse of {layout}: mode {mode} (extent {extent}): stride {stride} {fault}")]
    LeftInverse {
        /// The layout, coalesced.
        layout: String,
        /// The mode that has no inverse.
        mode: ModePath,
        /// The extent of the mode.
        extent: i64,
        /// The stride of the mode.
        stride: i64,
        /// The reason why the mode has no inverse.
        fault: &'static str,
    },
    /// A tiler with a negative stride, which would select indices below 0.
    #[error("tiler {tiler}: mode {mode} (extent {extent}): expected a stride of at least 0, found {stride}")]
    NegativeStride {
        /// The tiler with the negative stride.
        tiler: String,
        /// The mode with a negative stride.
        mode: ModePath,
        /// The extent of the mode.
        extent: i64,
        /// The stride of the mode.
        stride: i64,
    },
    /// A block whose extent does not divide the extent to fill.
    #[error("mode {mode}: expected an extent that divides {target}, found {found}")]
    NotDivisible {
        /// The mode whose extent is not divisible.
        mode: ModePath,
        /// The extent of the block.
        found: i64,
        /// The extent to fill.
        target: i64,
    },
    /// An upcast by a factor that neither divides a stride nor is a multiple of it.
    #[error(
        "upcast of {layout} by {factor}: mode {mode} (extent {extent}): stride {stride} must divide {factor} or be a multiple of it"
    )]
    Upcast {
        /// The layout to upcast.
        layout: String,
        /// The number of old units per new unit.
        factor: i64,
        /// The mode that cannot be upcast.
        mode: ModePath,
        /// The extent of the mode.
        extent: i64,
        /// The stride of the mode.
        stride: i64,
    },
    /// A downcast of a layout without a mode of stride 1.
    #[error(
        "downcast of {layout} by {factor}: expected a mode of stride 1, found mode {mode} (extent {extent}, stride {stride}) as the smallest"
    )]
    Downcast {
        /// The layout to downcast.
        layout: String,
        /// The number of new units per old unit.
        factor: i64,
        /// The mode with the smallest nonzero stride; the empty path if all strides are 0.
        mode: ModePath,
        /// The extent of the mode.
        extent: i64,
        /// The stride of the mode.
        stride: i64,
    },
    /// A mode that a zipped division or product keeps (`..`) although its rank is not 2.
    #[error("{operation}: expected a mode of rank 2 for `_` at mode {mode}, found {found}")]
    NotSplit {
        /// The name of the operation.
        operation: &'static str,
        /// The tiler's mode.
        mode: ModePath,
        /// The mode of the layout.
        found: String,
    },
    /// Swizzle parameters out of range.
    #[error("expected |shift| ≥ bits and bits + base + |shift| ≤ 62, found swizzle<{bits},{base},{shift}>")]
    Swizzle {
        /// The number of modified bits.
        bits: u32,
        /// The number of low bits that are kept.
        base: u32,
        /// The distance from the modified bits up to their source bits.
        shift: i32,
    },
    /// A change of unit that a swizzle cannot represent.
    #[error("{swizzle}: expected a change of unit by a power of 2 of at most {max}, found {factor}")]
    SwizzleUnit {
        /// The swizzle to convert.
        swizzle: String,
        /// The factor by which the unit changes.
        factor: i64,
        /// The largest factor that the swizzle allows.
        max: i64,
    },
    /// An offset that is not a multiple of the larger unit.
    #[error(
        "upcast of {layout} by {factor}: expected an offset that is a multiple of the factor, found {offset}"
    )]
    OffsetUnit {
        /// The composed layout to upcast.
        layout: String,
        /// The number of old units per new unit.
        factor: i64,
        /// The offset that is not a multiple of the factor.
        offset: i64,
    },
    /// Text that is not in CuTe's notation.
    #[error("{text:?}, column {column}: expected {expected}")]
    Parse {
        /// The text that could not be parsed.
        text: String,
        /// The 1-based column of the error.
        column: usize,
        /// The token that was expected.
        expected: &'static str,
    },
}

impl LayoutError {
    /// Returns this error as an error of mode `index`, as seen from the whole layout.
    pub(super) fn within(self, index: usize) -> LayoutError {
        match self {
            LayoutError::Extent { mode, extent } => LayoutError::Extent { mode: mode.under(index), extent },
            LayoutError::InMode { mode, fault } => LayoutError::InMode { mode: mode.under(index), fault },
            fault => LayoutError::InMode { mode: ModePath(vec![index]), fault: Box::new(fault) },
        }
    }
}

fn modes(count: usize) -> String {
    if count == 1 { "1 mode".to_owned() } else { format!("{count} modes") }
}

/// Rejects numbers below 1.
pub(super) fn at_least_1(what: &'static str, found: i64) -> Result<(), LayoutError> {
    if found < 1 { Err(LayoutError::TooSmall { what, found }) } else { Ok(()) }
}

/// The reason why a mode of the right side of a [composition](super::Layout::compose) cannot be composed.
///
/// Mode indices of the left side refer to its simplified form, which is included in [`LayoutError::Compose`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ComposeFault {
    /// A stride that neither divides the extent of a mode of the left side nor is a multiple of it.
    #[error(
        "{extent}:{stride}: stride {step} in mode {left_mode} of the left side must divide its extent {left_extent} or be a multiple of it"
    )]
    Stride {
        /// The extent of the right side's mode.
        extent: i64,
        /// The stride of the right side's mode.
        stride: i64,
        /// The stride in units of `left_mode`: `stride` divided by the product of the extents of the left side's preceding modes.
        step: i64,
        /// The mode of the left side.
        left_mode: usize,
        /// The extent of `left_mode`.
        left_extent: i64,
    },
    /// An extent that ends within a mode of the left side.
    #[error(
        "{extent}:{stride}: extent {rest} must be a multiple of {steps}, the steps that fill extent {left_extent} of mode {left_mode} of the left side"
    )]
    Extent {
        /// The extent of the right side's mode.
        extent: i64,
        /// The stride of the right side's mode.
        stride: i64,
        /// The extent that remains after the left side's modes before `left_mode` are filled.
        rest: i64,
        /// The number of steps that fill the mode of the left side.
        steps: i64,
        /// The mode of the left side.
        left_mode: usize,
        /// The extent of `left_mode`.
        left_extent: i64,
    },
    /// A mode that composes individually but, together with the modes before it, exceeds the extent of a mode of the left side.
    #[error(
        "{extent}:{stride}: together with the modes before it, it reaches {reach} in mode {left_mode} of the left side, past its extent {left_extent}"
    )]
    Carry {
        /// The extent of the right side's mode.
        extent: i64,
        /// The stride of the right side's mode.
        stride: i64,
        /// The largest index reached in `left_mode`.
        reach: i64,
        /// The mode of the left side.
        left_mode: usize,
        /// The extent of `left_mode`.
        left_extent: i64,
    },
    /// A stride whose sign differs from that of another stride, so that sums of steps borrow across modes of the left side.
    #[error(
        "{extent}:{stride}: expected strides of one sign, found opposite signs, which borrow across the left side's modes"
    )]
    Signs {
        /// The extent of the right side's mode.
        extent: i64,
        /// The stride of the right side's mode.
        stride: i64,
    },
    /// A composed stride that exceeds 64 bits.
    #[error("{extent}:{stride}: expected a composed stride of at most 64 bits, found more")]
    Overflow {
        /// The extent of the right side's mode.
        extent: i64,
        /// The stride of the right side's mode.
        stride: i64,
    },
}
