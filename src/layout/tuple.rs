//! Nested tuples: the shapes, strides, coordinates and tilers of layouts.

use std::{fmt, slice};

use super::error::{LayoutError, ModePath, Trail};

/// A leaf, or a tuple of leaves and tuples, nested to any depth.
///
/// As in CuTe, the leaf `4` and the one-element tuple `(4)` differ. Modes are numbered from 0, leftmost first.
///
/// ```
/// use warpwright::layout::IntTuple;
/// let shape = IntTuple::from((4, (2, 2)));
/// assert_eq!(shape.to_string(), "(4,(2,2))");
/// assert_eq!((shape.rank(), shape.depth(), shape.size()), (2, 2, 16));
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Tuple<T> {
    /// A single value, of rank 1 and depth 0.
    Leaf(T),
    /// A tuple of modes, possibly empty.
    Node(Vec<Tuple<T>>),
}

/// An integer or a nested tuple of integers.
#[doc(alias = "HTuple")]
pub type IntTuple = Tuple<i64>;
/// The extents of a layout, each at least 1.
pub type Shape = IntTuple;
/// The strides of a layout, nested like its shape.
pub type Stride<D = i64> = Tuple<D>;
/// A 0-based coordinate: an integer, or a tuple whose leaves may index whole nested modes.
pub type Coord = IntTuple;

impl<T> Tuple<T> {
    /// Returns the number of top-level modes, which is 1 for a leaf.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.modes().len()
    }

    /// Returns the nesting depth: 0 for a leaf, 1 for a flat tuple.
    #[must_use]
    pub fn depth(&self) -> usize {
        match self {
            Tuple::Leaf(_) => 0,
            Tuple::Node(modes) => 1 + modes.iter().map(Tuple::depth).max().unwrap_or(0),
        }
    }

    /// Returns the top-level modes; the only mode of a leaf is the leaf itself.
    #[must_use]
    pub fn modes(&self) -> &[Tuple<T>] {
        match self {
            Tuple::Leaf(_) => std::slice::from_ref(self),
            Tuple::Node(modes) => modes,
        }
    }

    /// Returns mode `index`, or `None` if it does not exist.
    #[must_use]
    pub fn mode(&self, index: usize) -> Option<&Tuple<T>> {
        self.modes().get(index)
    }

    /// Returns the value of a leaf, or `None` for a tuple of modes.
    #[must_use]
    pub fn as_leaf(&self) -> Option<&T> {
        match self {
            Tuple::Leaf(value) => Some(value),
            Tuple::Node(_) => None,
        }
    }

    /// Returns all leaves, from left to right.
    pub fn leaves(&self) -> Leaves<'_, T> {
        Leaves { modes: self.modes().iter(), outer: Vec::new() }
    }

    /// Returns the path of each leaf, from left to right.
    pub(super) fn leaf_paths(&self) -> Vec<ModePath> {
        fn walk<T>(tuple: &Tuple<T>, path: &Trail<'_>, paths: &mut Vec<ModePath>) {
            match tuple {
                Tuple::Leaf(_) => paths.push(path.to_path()),
                Tuple::Node(modes) => {
                    modes.iter().enumerate().for_each(|(index, mode)| walk(mode, &path.child(index), paths));
                }
            }
        }
        let mut paths = Vec::new();
        walk(self, &Trail::Root, &mut paths);
        paths
    }

    /// Applies `f` to each leaf and returns the results with the same nesting.
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> Tuple<U> {
        self.map_with(&mut f)
    }

    fn map_with<U>(&self, f: &mut impl FnMut(&T) -> U) -> Tuple<U> {
        match self {
            Tuple::Leaf(value) => Tuple::Leaf(f(value)),
            Tuple::Node(modes) => Tuple::Node(modes.iter().map(|mode| mode.map_with(f)).collect()),
        }
    }

    /// Returns whether both tuples have the same nesting (CuTe's `congruent`).
    #[must_use]
    pub fn congruent<U>(&self, other: &Tuple<U>) -> bool {
        match (self, other) {
            (Tuple::Leaf(_), Tuple::Leaf(_)) => true,
            (Tuple::Node(a), Tuple::Node(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.congruent(b))
            }
            _ => false,
        }
    }

    /// Wraps a leaf in a one-element tuple; returns a tuple unchanged.
    #[must_use]
    pub fn wrap(self) -> Tuple<T> {
        match self {
            Tuple::Leaf(_) => Tuple::Node(vec![self]),
            Tuple::Node(_) => self,
        }
    }

    /// Removes enclosing one-element tuples: `((4))` becomes `4`. Returns any other tuple unchanged.
    #[must_use]
    pub fn unwrap(self) -> Tuple<T> {
        match self {
            Tuple::Node(mut modes) if modes.len() == 1 => modes.remove(0).unwrap(),
            other => other,
        }
    }
}

impl<T: Clone> Tuple<T> {
    /// Returns all leaves as one flat tuple; a leaf stays a leaf.
    #[must_use]
    pub fn flatten(&self) -> Tuple<T> {
        match self {
            Tuple::Leaf(_) => self.clone(),
            Tuple::Node(_) => self.leaves().cloned().collect(),
        }
    }

    /// Returns a tuple with the leaves of this tuple, nested like `profile`.
    ///
    /// # Errors
    /// Returns [`LayoutError::Rank`] if `profile` has a different number of leaves.
    pub fn unflatten<U>(&self, profile: &Tuple<U>) -> Result<Tuple<T>, LayoutError>
    where
        T: fmt::Display,
    {
        let (found, expected) = (self.leaves().count(), profile.leaves().count());
        if found != expected {
            let value = self.to_string();
            return Err(LayoutError::Rank { operation: "unflatten", expected, found, value });
        }
        let mut leaves = self.leaves();
        Ok(refold(profile, &mut leaves))
    }

    /// Returns the tuple with modes `begin..end` grouped into one mode (CuTe's `group`).
    ///
    /// # Errors
    /// Returns [`LayoutError::ModeRange`] if the range is empty or exceeds the rank.
    pub fn group(&self, begin: usize, end: usize) -> Result<Tuple<T>, LayoutError> {
        let modes = self.modes();
        if begin >= end || end > modes.len() {
            return Err(LayoutError::ModeRange { begin, end, rank: modes.len() });
        }
        let mut grouped = modes[..begin].to_vec();
        grouped.push(Tuple::Node(modes[begin..end].to_vec()));
        grouped.extend_from_slice(&modes[end..]);
        Ok(Tuple::Node(grouped))
    }
}

fn refold<T: Clone, U>(profile: &Tuple<U>, leaves: &mut Leaves<'_, T>) -> Tuple<T> {
    match profile {
        Tuple::Leaf(_) => leaves.next().map_or_else(|| Tuple::Node(vec![]), |leaf| Tuple::Leaf(leaf.clone())),
        Tuple::Node(modes) => Tuple::Node(modes.iter().map(|mode| refold(mode, leaves)).collect()),
    }
}

impl IntTuple {
    /// Returns the product of all leaves, which is the number of coordinates of a shape.
    ///
    /// The product wraps at 64 bits; [`Layout::new`](super::Layout::new) rejects shapes whose size overflows.
    #[doc(alias = "product")]
    #[must_use]
    pub fn size(&self) -> i64 {
        match self {
            Tuple::Leaf(extent) => *extent,
            Tuple::Node(modes) => modes.iter().fold(1, |size, mode| size.wrapping_mul(mode.size())),
        }
    }

    /// Returns the product of the leaves of each top-level mode, as a flat tuple.
    #[must_use]
    pub fn product_each(&self) -> IntTuple {
        self.modes().iter().map(IntTuple::size).collect()
    }

    /// Returns whether every coordinate of this shape is a coordinate of `other` (CuTe's `compatible`).
    ///
    /// This is the case if `other` is this shape with some leaves replaced by tuples of the same size.
    #[must_use]
    pub fn compatible(&self, other: &IntTuple) -> bool {
        match (self, other) {
            (Tuple::Leaf(extent), _) => *extent == other.size(),
            (Tuple::Node(a), Tuple::Node(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.compatible(b))
            }
            (Tuple::Node(_), Tuple::Leaf(_)) => false,
        }
    }

    /// Rejects extents below 1 and sizes beyond 64 bits.
    pub(super) fn check_extents(&self) -> Result<i64, LayoutError> {
        self.check_extents_at(&Trail::Root)
    }

    fn check_extents_at(&self, path: &Trail<'_>) -> Result<i64, LayoutError> {
        match self {
            Tuple::Leaf(extent) if *extent < 1 => {
                Err(LayoutError::Extent { mode: path.to_path(), extent: *extent })
            }
            Tuple::Leaf(extent) => Ok(*extent),
            Tuple::Node(modes) => modes.iter().enumerate().try_fold(1_i64, |size, (index, mode)| {
                let extent = mode.check_extents_at(&path.child(index))?;
                size.checked_mul(extent)
                    .ok_or_else(|| LayoutError::Overflow { what: format!("the size of shape {self}") })
            }),
        }
    }
}

/// The leaves of a tuple, from left to right; see [`Tuple::leaves`].
#[derive(Debug, Clone)]
pub struct Leaves<'a, T> {
    modes: slice::Iter<'a, Tuple<T>>,
    /// The remaining modes of the enclosing tuples, outermost first.
    outer: Vec<slice::Iter<'a, Tuple<T>>>,
}

impl<'a, T> Iterator for Leaves<'a, T> {
    type Item = &'a T;

    fn next(&mut self) -> Option<&'a T> {
        loop {
            match self.modes.next() {
                Some(Tuple::Leaf(value)) => return Some(value),
                Some(Tuple::Node(modes)) => {
                    self.outer.push(std::mem::replace(&mut self.modes, modes.iter()));
                }
                None => self.modes = self.outer.pop()?,
            }
        }
    }
}

impl<T> FromIterator<T> for Tuple<T> {
    fn from_iter<I: IntoIterator<Item = T>>(leaves: I) -> Self {
        Tuple::Node(leaves.into_iter().map(Tuple::Leaf).collect())
    }
}

impl<T> FromIterator<Tuple<T>> for Tuple<T> {
    fn from_iter<I: IntoIterator<Item = Tuple<T>>>(modes: I) -> Self {
        Tuple::Node(modes.into_iter().collect())
    }
}

impl<T> Default for Tuple<T> {
    /// Returns the empty tuple `()`.
    fn default() -> Self {
        Tuple::Node(vec![])
    }
}

impl<T> From<()> for Tuple<T> {
    fn from((): ()) -> Self {
        Tuple::default()
    }
}

impl<T> From<Vec<Tuple<T>>> for Tuple<T> {
    fn from(modes: Vec<Tuple<T>>) -> Self {
        Tuple::Node(modes)
    }
}

impl<T, A: Into<Tuple<T>>, const N: usize> From<[A; N]> for Tuple<T> {
    fn from(modes: [A; N]) -> Self {
        modes.into_iter().map(Into::into).collect()
    }
}

impl<T: Clone> From<&Tuple<T>> for Tuple<T> {
    fn from(tuple: &Tuple<T>) -> Self {
        tuple.clone()
    }
}

macro_rules! from_tuples {
    ($($($name:ident)+;)+) => {$(
        impl<Leaf, $($name: Into<Tuple<Leaf>>),+> From<($($name,)+)> for Tuple<Leaf> {
            #[allow(non_snake_case, reason = "the type parameters name the values too")]
            fn from(($($name,)+): ($($name,)+)) -> Self {
                Tuple::Node(vec![$($name.into()),+])
            }
        }
    )+};
}

from_tuples! {
    A;
    A B;
    A B C;
    A B C D;
    A B C D E;
    A B C D E F;
    A B C D E F G;
    A B C D E F G H;
}

macro_rules! from_integers {
    ($($integer:ty)+) => {$(
        impl From<$integer> for IntTuple {
            fn from(value: $integer) -> Self {
                Tuple::Leaf(super::tuple::saturate(value))
            }
        }
    )+};
}

from_integers!(i64 i32 u32 usize);

/// Converts to `i64`, saturating; no layout accepts the maximum as an extent or a stride, so the error is reported there.
pub(super) fn saturate(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(i64::MAX)
}
