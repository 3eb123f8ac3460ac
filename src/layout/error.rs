//! What the algebra refuses, and why.

use std::fmt;

use thiserror::Error;

/// Where in a nested tuple: `1.0` is mode 0 of mode 1; the empty path is the whole.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ModePath(Vec<usize>);

impl ModePath {
    /// The same place, seen from outside of mode `index`.
    fn under(mut self, index: usize) -> ModePath {
        self.0.insert(0, index);
        self
    }

    /// Mode numbers from the outermost inwards.
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

/// A path that recursion keeps on the stack: it becomes a [`ModePath`] only where an error needs one.
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

/// A layout operation that has no answer: what was wanted and what was found, by mode, extent and stride.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// Shape and stride nest differently.
    #[error("mode {mode}: shape {shape} and stride {stride} must nest alike")]
    Incongruent {
        /// First mode where they part.
        mode: ModePath,
        /// The shape there.
        shape: String,
        /// The stride there.
        stride: String,
    },
    /// An extent below 1.
    #[error("mode {mode}: an extent must be at least 1, found {extent}")]
    Extent {
        /// The mode.
        mode: ModePath,
        /// Its extent.
        extent: i64,
    },
    /// A factor, a count or a number of bits below 1.
    #[error("{what} must be at least 1, found {found}")]
    TooSmall {
        /// The operation and what it wants.
        what: &'static str,
        /// What was found.
        found: i64,
    },
    /// What is wrong in one mode of a tuple of tilers and the mode it is applied to.
    #[error("mode {mode}: {fault}")]
    InMode {
        /// The tiler's mode.
        mode: ModePath,
        /// What is wrong there.
        fault: Box<LayoutError>,
    },
    /// A size or an offset past 64 bits.
    #[error("{what} does not fit in 64 bits")]
    Overflow {
        /// What overflowed.
        what: String,
    },
    /// A coordinate that does not nest like the shape.
    #[error("mode {mode}: coordinate {coord} does not fit shape {shape}")]
    Coordinate {
        /// Where they part.
        mode: ModePath,
        /// The coordinate there.
        coord: String,
        /// The shape there.
        shape: String,
    },
    /// An order that does not nest within the shape it orders.
    #[error("mode {mode}: order {order} does not nest within shape {shape}")]
    Order {
        /// Where they part.
        mode: ModePath,
        /// The order there.
        order: String,
        /// The shape there.
        shape: String,
    },
    /// An argument with the wrong number of modes.
    #[error("{operation}: wanted {}, found {found} in {value}", modes(*wanted))]
    Rank {
        /// The operation.
        operation: &'static str,
        /// Modes wanted (at most, for tilers).
        wanted: usize,
        /// Modes found.
        found: usize,
        /// The argument.
        value: String,
    },
    /// A range of modes that is empty or passes the end.
    #[error("modes {begin}..{end} of a layout of rank {rank}: wanted a non-empty range within it")]
    ModeRange {
        /// First mode.
        begin: usize,
        /// One past the last mode.
        end: usize,
        /// Modes there are.
        rank: usize,
    },
    /// `left ∘ right` is no layout.
    #[error("{left} ∘ {right}: mode {mode} of the right side, {fault}")]
    Compose {
        /// Left side, simplified.
        left: String,
        /// Right side.
        right: String,
        /// Mode of the right side that does not compose.
        mode: ModePath,
        /// Why not.
        fault: Box<ComposeFault>,
    },
    /// A layout without a complement.
    #[error(
        "complement of {layout}: mode {mode} (extent {extent}): stride {stride} must be a multiple of {reached}, the span of the smaller strides"
    )]
    Complement {
        /// The layout, filtered.
        layout: String,
        /// The offending mode of it.
        mode: ModePath,
        /// Its extent.
        extent: i64,
        /// Its stride.
        stride: i64,
        /// What the modes of smaller stride span.
        reached: i64,
    },
    /// A complement that would leave part of its cotarget uncovered.
    #[error(
        "complement of {layout} in {cotarget}: beside mode {mode} (extent {extent}, stride {stride}) {covered} offsets would be covered, wanted {wanted}"
    )]
    Uncovered {
        /// The layout, filtered.
        layout: String,
        /// The cotarget.
        cotarget: String,
        /// The mode of it below which the first hole is; the one of the largest stride if the cotarget's modes are to blame.
        mode: ModePath,
        /// Its extent.
        extent: i64,
        /// Its stride.
        stride: i64,
        /// Offsets covered.
        covered: i64,
        /// Offsets wanted.
        wanted: i64,
    },
    /// A layout without a left inverse.
    #[error("left_inverse of {layout}: mode {mode} (extent {extent}): stride {stride} {fault}")]
    LeftInverse {
        /// The layout, coalesced.
        layout: String,
        /// The offending mode of it.
        mode: ModePath,
        /// Its extent.
        extent: i64,
        /// Its stride.
        stride: i64,
        /// Why not.
        fault: &'static str,
    },
    /// A tile that would begin before the first element.
    #[error("tiler {tiler}: mode {mode} (extent {extent}): stride {stride} steps below index 0")]
    Backwards {
        /// The tiler.
        tiler: String,
        /// The offending mode of it.
        mode: ModePath,
        /// Its extent.
        extent: i64,
        /// Its stride.
        stride: i64,
    },
    /// A block that does not divide the shape it should fill.
    #[error("mode {mode}: extent {found} must divide {target}")]
    Divides {
        /// The mode.
        mode: ModePath,
        /// The block's extent.
        found: i64,
        /// The extent it should divide.
        target: i64,
    },
    /// A change of unit that splits a stride.
    #[error(
        "upcast of {layout} by {factor}: mode {mode} (extent {extent}): stride {stride} must divide {factor} or be a multiple of it"
    )]
    Upcast {
        /// The layout.
        layout: String,
        /// Units gathered into one.
        factor: i64,
        /// The mode.
        mode: ModePath,
        /// Its extent.
        extent: i64,
        /// Its stride.
        stride: i64,
    },
    /// Splitting units needs a mode of stride 1.
    #[error(
        "downcast of {layout} by {factor}: wanted a mode of stride 1 whose elements can be split, the least is mode {mode} (extent {extent}, stride {stride})"
    )]
    Downcast {
        /// The layout.
        layout: String,
        /// Parts per unit.
        factor: i64,
        /// The mode of the least stride that steps at all.
        mode: ModePath,
        /// Its extent.
        extent: i64,
        /// Its stride.
        stride: i64,
    },
    /// `_` in a zipped divide or product stands for a mode that is split already.
    #[error("{operation}: `_` at mode {mode} wants a mode of rank 2 to split, found {found}")]
    Unsplit {
        /// The operation.
        operation: &'static str,
        /// The tiler's mode.
        mode: ModePath,
        /// The layout's mode.
        found: String,
    },
    /// Swizzle parameters outside their range.
    #[error("swizzle<{bits},{base},{shift}>: wanted |shift| ≥ bits and bits + base + |shift| ≤ 62")]
    Swizzle {
        /// Bits that are exchanged.
        bits: u32,
        /// Low bits kept.
        base: u32,
        /// Distance of source and destination.
        shift: i32,
    },
    /// A change of unit that a swizzle does not follow.
    #[error("{swizzle} in units changed by {factor}: wanted a power of 2 of at most {most}")]
    SwizzleUnit {
        /// The swizzle.
        swizzle: String,
        /// Units gathered into one, or parts per unit.
        factor: i64,
        /// What the swizzle keeps together.
        most: i64,
    },
    /// An offset that is no whole number of larger units.
    #[error("upcast of {layout} by {factor}: the offset {offset} must be a multiple of it")]
    OffsetUnit {
        /// The layout.
        layout: String,
        /// Units gathered into one.
        factor: i64,
        /// The offset.
        offset: i64,
    },
    /// Text that is not in CuTe's form.
    #[error("{text:?}, column {column}: wanted {wanted}")]
    Parse {
        /// The text.
        text: String,
        /// 1-based column.
        column: usize,
        /// What was expected there.
        wanted: &'static str,
    },
}

impl LayoutError {
    /// What is wrong with mode `index`, seen from the whole.
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

/// Refuses numbers below 1.
pub(super) fn at_least_1(what: &'static str, found: i64) -> Result<(), LayoutError> {
    if found < 1 { Err(LayoutError::TooSmall { what, found }) } else { Ok(()) }
}

/// Why a mode of the right side does not compose; see [`Layout::compose`](super::Layout::compose).
///
/// Modes of the left side are numbered in its simplified form, which the error shows.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ComposeFault {
    /// The stride fits no digit.
    #[error(
        "{extent}:{stride}: stride {step} in mode {left_mode} of the left side must divide its extent {left_extent} or be a multiple of it"
    )]
    Stride {
        /// Extent of the mode.
        extent: i64,
        /// Its stride.
        stride: i64,
        /// What is left of the stride at `left_mode`.
        step: i64,
        /// Mode of the left side.
        left_mode: usize,
        /// Its extent.
        left_extent: i64,
    },
    /// The extent ends within a digit.
    #[error(
        "{extent}:{stride}: extent {rest} must be a multiple of {steps}, the steps that fill extent {left_extent} of mode {left_mode} of the left side"
    )]
    Extent {
        /// Extent of the mode.
        extent: i64,
        /// Its stride.
        stride: i64,
        /// What is left of the extent at `left_mode`.
        rest: i64,
        /// Steps that fill the left side's mode.
        steps: i64,
        /// Mode of the left side.
        left_mode: usize,
        /// Its extent.
        left_extent: i64,
    },
    /// Modes that compose one by one, but whose sums carry.
    #[error(
        "{extent}:{stride}: with the modes before it, it reaches {reach} in mode {left_mode} of the left side, past its extent {left_extent}"
    )]
    Carry {
        /// Extent of the mode.
        extent: i64,
        /// Its stride.
        stride: i64,
        /// Largest digit reached.
        reach: i64,
        /// Mode of the left side.
        left_mode: usize,
        /// Its extent.
        left_extent: i64,
    },
    /// Strides of both signs borrow across modes of the left side.
    #[error("{extent}:{stride}: strides of both signs borrow across the left side's modes")]
    Signs {
        /// Extent of the mode.
        extent: i64,
        /// Its stride.
        stride: i64,
    },
    /// The composed stride overflows.
    #[error("{extent}:{stride}: the composed stride does not fit in 64 bits")]
    Overflow {
        /// Extent of the mode.
        extent: i64,
        /// Its stride.
        stride: i64,
    },
}
