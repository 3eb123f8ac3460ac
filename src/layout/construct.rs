//! Layouts and their constructors.

use super::codomain::Codomain;
use super::error::{LayoutError, Trail};
use super::tuple::{IntTuple, Shape, Stride, Tuple};

/// A function from coordinates to offsets, defined by a shape and a stride for each extent of the shape.
///
/// Coordinates are 0-based and in colexicographic order: the leftmost mode varies fastest. A coordinate is an integer, a flat tuple or a
/// nested tuple; all three can denote the same element. The textual notation is CuTe's: `(4,(2,2)):(2,(1,8))`.
///
/// Two layouts are equal if their shapes and strides are equal, including nesting. Unequal layouts can represent the same function;
/// [`coalesce`](Self::coalesce) normalizes them.
///
/// ```
/// use warpwright::layout::Layout;
/// let layout = Layout::new((4, (2, 2)), (2, (1, 8)))?;
/// assert_eq!(layout.at((1, (0, 1)))?, 10);
/// assert_eq!(layout.at((1, 2))?, 10);
/// assert_eq!(layout.index(9), 10);
/// # Ok::<(), warpwright::layout::LayoutError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Layout<D = i64> {
    pub(super) shape: Shape,
    pub(super) stride: Stride<D>,
}

impl Layout {
    /// Creates a layout with integer strides.
    ///
    /// # Errors
    /// Returns [`LayoutError::Incongruent`] if the nesting of `stride` differs from that of `shape`, [`LayoutError::Extent`] if an extent
    /// is below 1, or [`LayoutError::Overflow`] if the size or the largest offset exceeds 64 bits.
    #[doc(alias = "make_layout")]
    pub fn new(shape: impl Into<Shape>, stride: impl Into<Stride>) -> Result<Layout, LayoutError> {
        Layout::with_stride(shape, stride.into())
    }

    /// Creates a compact layout in which the leftmost mode varies fastest (CuTe's `LayoutLeft`). Modes of extent 1 have stride 0.
    ///
    /// # Errors
    /// Returns [`LayoutError::Extent`] if an extent is below 1, or [`LayoutError::Overflow`] if the size exceeds 64 bits.
    #[doc(alias = "LayoutLeft")]
    #[doc(alias = "GenColMajor")]
    pub fn column_major(shape: impl Into<Shape>) -> Result<Layout, LayoutError> {
        let shape = shape.into();
        shape.check_extents()?;
        let stride = compact_column_major(&shape, &mut 1);
        Ok(Layout { shape, stride })
    }

    /// Creates a compact layout in which the rightmost mode varies fastest (CuTe's `LayoutRight`). Modes of extent 1 have stride 0.
    ///
    /// # Errors
    /// Returns the same errors as [`column_major`](Self::column_major).
    #[doc(alias = "LayoutRight")]
    #[doc(alias = "GenRowMajor")]
    pub fn row_major(shape: impl Into<Shape>) -> Result<Layout, LayoutError> {
        let shape = shape.into();
        shape.check_extents()?;
        let stride = compact_row_major(&shape, &mut 1);
        Ok(Layout { shape, stride })
    }

    /// Creates a compact layout in which the mode with the smallest value in `order` varies fastest.
    ///
    /// Modes with equal values are ordered from left to right. If a leaf of `order` corresponds to a nested mode of `shape`, this mode is
    /// column-major.
    ///
    /// Postcondition: the layout is a bijection onto `0..size`.
    ///
    /// # Errors
    /// Returns the same errors as [`column_major`](Self::column_major), and [`LayoutError::Order`] if the nesting of `order` does not match
    /// `shape`.
    ///
    /// ```
    /// use warpwright::layout::Layout;
    /// assert_eq!(Layout::ordered((2, 3, 4), (2, 0, 1))?.to_string(), "(2,3,4):(12,1,3)");
    /// # Ok::<(), warpwright::layout::LayoutError>(())
    /// ```
    #[doc(alias = "make_ordered_layout")]
    pub fn ordered(shape: impl Into<Shape>, order: impl Into<IntTuple>) -> Result<Layout, LayoutError> {
        let shape = shape.into();
        shape.check_extents()?;
        let stride = compact_order(&shape, &order.into())?;
        Ok(Layout { shape, stride })
    }
}

impl<D: Codomain> Layout<D> {
    /// Creates a layout with strides of any [`Codomain`]; see [`Layout::new`].
    ///
    /// # Errors
    /// Returns the same errors as [`Layout::new`].
    pub fn with_stride(shape: impl Into<Shape>, stride: Stride<D>) -> Result<Layout<D>, LayoutError> {
        let shape = shape.into();
        check_congruent(&shape, &stride, &Trail::Root)?;
        shape.check_extents()?;
        let layout = Layout { shape, stride };
        match layout.reach() {
            Some(_) => Ok(layout),
            None => Err(LayoutError::Overflow { what: format!("the largest offset of {layout}") }),
        }
    }

    /// Creates a layout whose modes are the given layouts (CuTe's `make_layout(a, b, …)`).
    ///
    /// The size and the largest offset of the result must fit in 64 bits; this is not checked.
    pub fn concat(modes: impl IntoIterator<Item = Layout<D>>) -> Layout<D> {
        let (shape, stride): (Vec<_>, Vec<_>) =
            modes.into_iter().map(|mode| (mode.shape, mode.stride)).unzip();
        Layout { shape: Tuple::Node(shape), stride: Tuple::Node(stride) }
    }

    /// Returns the layout `1:0`.
    pub(super) fn unit() -> Layout<D> {
        Layout { shape: Tuple::Leaf(1), stride: Tuple::Leaf(D::zero()) }
    }

    /// Returns the sum of (extent − 1) · |stride| over all modes, or `None` on 64-bit overflow.
    pub(super) fn reach(&self) -> Option<D> {
        let mut modes = self.shape.leaves().zip(self.stride.leaves());
        modes.try_fold(D::zero(), |reach, (extent, stride)| {
            reach.plus(&stride.magnitude()?.scaled(extent - 1)?)
        })
    }

    /// Creates a layout from valid modes: a single mode yields a layout of rank 1, and no modes yield `1:0`.
    pub(super) fn from_flat(modes: Vec<Mode<D>>) -> Layout<D> {
        match <[Mode<D>; 1]>::try_from(modes) {
            Ok([only]) => Layout { shape: Tuple::Leaf(only.extent), stride: Tuple::Leaf(only.stride) },
            Err(modes) if modes.is_empty() => Layout::unit(),
            Err(modes) => {
                let (shape, stride): (Vec<_>, Vec<_>) =
                    modes.into_iter().map(|mode| (mode.extent, mode.stride)).unzip();
                Layout { shape: shape.into_iter().collect(), stride: stride.into_iter().collect() }
            }
        }
    }
}

/// An extent and its stride.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mode<D = i64> {
    pub(super) extent: i64,
    pub(super) stride: D,
}

/// Returns the extents and strides of all leaves, from left to right.
pub(super) fn flat_modes<D: Codomain>(shape: &Shape, stride: &Stride<D>) -> Vec<Mode<D>> {
    let leaves = shape.leaves().zip(stride.leaves());
    leaves.map(|(&extent, stride)| Mode { extent, stride: stride.clone() }).collect()
}

fn check_congruent<D: Codomain>(
    shape: &Shape,
    stride: &Stride<D>,
    path: &Trail<'_>,
) -> Result<(), LayoutError> {
    match (shape, stride) {
        (Tuple::Leaf(_), Tuple::Leaf(_)) => Ok(()),
        (Tuple::Node(s), Tuple::Node(d)) if s.len() == d.len() => {
            let mut modes = s.iter().zip(d).enumerate();
            modes.try_for_each(|(index, (s, d))| check_congruent(s, d, &path.child(index)))
        }
        _ => Err(LayoutError::Incongruent {
            mode: path.to_path(),
            shape: shape.to_string(),
            stride: stride.to_string(),
        }),
    }
}

/// Returns the strides of a column-major layout with first stride `next`; on return, `next` is the stride after the last.
pub(super) fn compact_column_major(shape: &Shape, next: &mut i64) -> Stride {
    shape.map(|&extent| compact_step(extent, next))
}

fn compact_row_major(shape: &Shape, next: &mut i64) -> Stride {
    match shape {
        Tuple::Leaf(extent) => Tuple::Leaf(compact_step(*extent, next)),
        Tuple::Node(modes) => {
            let mut strides: Vec<_> = modes.iter().rev().map(|mode| compact_row_major(mode, next)).collect();
            strides.reverse();
            Tuple::Node(strides)
        }
    }
}

fn compact_step(extent: i64, next: &mut i64) -> i64 {
    if extent == 1 {
        return 0;
    }
    let stride = *next;
    *next *= extent;
    stride
}

fn compact_order(shape: &Shape, order: &IntTuple) -> Result<Stride, LayoutError> {
    let mut ranked = Vec::new();
    rank_modes(shape, order, &Trail::Root, &mut ranked)?;
    let extents: Vec<i64> = ranked.iter().map(|(extent, _)| *extent).collect();
    let keys: Vec<i64> = ranked.iter().map(|(_, key)| *key).collect();
    let mut starts = strides_by_order(&extents, &keys, Ties::LeftToRight).into_iter();
    Ok(fill_order(shape, order, &mut starts))
}

/// Appends to `ranked`, for each leaf of `order`, the size of the mode that the leaf applies to, and the leaf's value.
fn rank_modes(
    shape: &Shape,
    order: &IntTuple,
    path: &Trail<'_>,
    ranked: &mut Vec<(i64, i64)>,
) -> Result<(), LayoutError> {
    match (shape, order) {
        (_, Tuple::Leaf(key)) => {
            ranked.push((shape.size(), *key));
            Ok(())
        }
        (Tuple::Node(s), Tuple::Node(o)) if s.len() == o.len() => {
            let mut modes = s.iter().zip(o).enumerate();
            modes.try_for_each(|(index, (s, o))| rank_modes(s, o, &path.child(index), ranked))
        }
        _ => Err(LayoutError::Order {
            mode: path.to_path(),
            order: order.to_string(),
            shape: shape.to_string(),
        }),
    }
}

fn fill_order(shape: &Shape, order: &IntTuple, starts: &mut impl Iterator<Item = i64>) -> Stride {
    match (shape, order) {
        (Tuple::Node(s), Tuple::Node(o)) => {
            Tuple::Node(s.iter().zip(o).map(|(s, o)| fill_order(s, o, starts)).collect())
        }
        _ => compact_column_major(shape, &mut starts.next().unwrap_or(1)),
    }
}

/// Returns compact strides for `extents`, in increasing order of `keys`; 0 for extents of 1.
pub(super) fn strides_by_order(extents: &[i64], keys: &[i64], ties: Ties) -> Vec<i64> {
    let mut by_key: Vec<usize> = (0..extents.len()).collect();
    by_key.sort_by_key(|&index| keys[index]);
    let mut strides = vec![0; extents.len()];
    let (mut next, mut past) = (1, 1);
    for (position, &index) in by_key.iter().enumerate() {
        let tied = position > 0 && keys[by_key[position - 1]] == keys[index];
        if !(tied && ties == Ties::Share) {
            next = past;
        }
        past *= extents[index];
        if extents[index] != 1 {
            strides[index] = next;
        }
    }
    strides
}

/// The assignment of strides to modes with equal keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ties {
    /// Each mode has its own stride, from left to right.
    LeftToRight,
    /// One stride for all: the modes share offsets.
    Share,
}
