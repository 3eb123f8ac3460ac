//! Layouts and the ways to make one.

use super::codomain::Codomain;
use super::error::{LayoutError, Trail};
use super::tuple::{IntTuple, Shape, Stride, Tuple};

/// A function from coordinates to offsets: a shape, and a stride for each of its extents.
///
/// Coordinates are 0-based and run colexicographically: the leftmost mode fastest. A coordinate is an integer, a flat tuple
/// or a nested one, all for the same element. Text form: `(4,(2,2)):(2,(1,8))`.
///
/// Two layouts are equal when shape and stride are, nesting included; equal *functions* may be written in several ways
/// ([`coalesce`](Self::coalesce) makes them alike).
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
    /// A layout of integer strides.
    ///
    /// # Errors
    /// [`LayoutError::Incongruent`] if shape and stride nest differently, [`LayoutError::Extent`] if an extent is below 1,
    /// [`LayoutError::Overflow`] if the size or the farthest offset passes 64 bits.
    #[doc(alias = "make_layout")]
    pub fn new(shape: impl Into<Shape>, stride: impl Into<Stride>) -> Result<Layout, LayoutError> {
        Layout::with_stride(shape, stride.into())
    }

    /// Compact, leftmost mode fastest (CuTe's `LayoutLeft`). Modes of extent 1 get stride 0.
    ///
    /// # Errors
    /// As [`Layout::new`].
    #[doc(alias = "LayoutLeft")]
    #[doc(alias = "GenColMajor")]
    pub fn column_major(shape: impl Into<Shape>) -> Result<Layout, LayoutError> {
        let shape = shape.into();
        shape.check_extents()?;
        let stride = compact_column_major(&shape, &mut 1);
        Ok(Layout { shape, stride })
    }

    /// Compact, rightmost mode fastest (CuTe's `LayoutRight`). Modes of extent 1 get stride 0.
    ///
    /// # Errors
    /// As [`Layout::new`].
    #[doc(alias = "LayoutRight")]
    #[doc(alias = "GenRowMajor")]
    pub fn row_major(shape: impl Into<Shape>) -> Result<Layout, LayoutError> {
        let shape = shape.into();
        shape.check_extents()?;
        let stride = compact_row_major(&shape, &mut 1);
        Ok(Layout { shape, stride })
    }

    /// Compact, with the modes' strides rising in the order of `order`: the mode with the least number is fastest, equal
    /// numbers go from left to right. A leaf of `order` stands for a whole nested mode, column-major within.
    ///
    /// Post-condition: the layout is a bijection onto `0..size`.
    ///
    /// # Errors
    /// As [`Layout::new`], and [`LayoutError::Order`] if `order` does not nest within `shape`.
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
    /// A layout with strides of any kind; see [`Layout::new`].
    ///
    /// # Errors
    /// As [`Layout::new`].
    pub fn with_stride(shape: impl Into<Shape>, stride: Stride<D>) -> Result<Layout<D>, LayoutError> {
        let shape = shape.into();
        check_congruent(&shape, &stride, &Trail::Root)?;
        shape.check_extents()?;
        let layout = Layout { shape, stride };
        match layout.reach() {
            Some(_) => Ok(layout),
            None => Err(LayoutError::Overflow { what: format!("the farthest offset of {layout}") }),
        }
    }

    /// The modes given, side by side (CuTe's `make_layout(a, b, …)`).
    pub fn concat(modes: impl IntoIterator<Item = Layout<D>>) -> Layout<D> {
        let (shape, stride): (Vec<_>, Vec<_>) =
            modes.into_iter().map(|mode| (mode.shape, mode.stride)).unzip();
        Layout { shape: Tuple::Node(shape), stride: Tuple::Node(stride) }
    }

    /// The layout `1:0`.
    pub(super) fn unit() -> Layout<D> {
        Layout { shape: Tuple::Leaf(1), stride: Tuple::Leaf(D::zero()) }
    }

    /// Farthest offset from that of coordinate 0, counting strides without their signs.
    pub(super) fn reach(&self) -> Option<D> {
        let mut modes = self.shape.leaves().zip(self.stride.leaves());
        modes.try_fold(D::zero(), |reach, (extent, stride)| {
            reach.plus(&stride.magnitude()?.scaled(extent - 1)?)
        })
    }

    /// From modes that are known to be valid: one mode gives a layout of rank 1, none gives `1:0`.
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

/// One extent with its stride.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mode<D = i64> {
    pub(super) extent: i64,
    pub(super) stride: D,
}

/// Extents and strides of all leaves, from left to right.
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

/// Strides of a column-major layout whose first stride is `next`; `next` ends past the last.
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

/// For each leaf of `order`, the size of what it stands for and its number.
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

/// Compact strides for `extents`, in rising order of `keys`; 0 for extents of 1.
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

/// What modes of equal keys get.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ties {
    /// Strides of their own, from left to right.
    LeftToRight,
    /// One stride: they share offsets.
    Share,
}
