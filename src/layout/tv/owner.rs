//! The owners of elements, and the elements of threads.

use std::fmt;

use super::{TvError, TvLayout};
use crate::layout::{
    evaluate::index_of_coord,
    tuple::{Coord, IntTuple, Shape, Tuple},
};

/// The location of an element in registers. Owners are ordered by thread, then by value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Owner {
    /// The thread; in a warp, the lane.
    pub thread: i64,
    /// The index of the value within the thread.
    pub value: i64,
    /// The index of the register that contains the value.
    pub register: i64,
    /// The index of the value within the register, counting from the lowest bits. If each register contains one value, the index is 0.
    pub slot: i64,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}, value {}", self.thread, self.value)
    }
}

/// A value of a thread and the coordinate of its element.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Element {
    /// The index of the value within the thread.
    pub value: i64,
    /// The index of the register that contains the value.
    pub register: i64,
    /// The index of the value within the register, counting from the lowest bits. If each register contains one value, the index is 0.
    pub slot: i64,
    /// The 0-based coordinate in the tile: one integer per mode.
    pub coord: Coord,
}

impl Element {
    /// Returns the index along mode 0 of the tile: the row index in a matrix.
    #[must_use]
    pub fn row(&self) -> i64 {
        self.along(0)
    }

    /// Returns the index along mode 1 of the tile: the column index in a matrix, or 0 if the tile has only one mode.
    #[must_use]
    pub fn col(&self) -> i64 {
        self.along(1)
    }

    fn along(&self, axis: usize) -> i64 {
        self.coord.mode(axis).and_then(Tuple::as_leaf).copied().unwrap_or(0)
    }
}

/// The first owner of each element, by column-major index; an owner is encoded as `thread · values + value`.
pub(super) type OwnerTable = Vec<Option<u32>>;

impl TvLayout {
    /// Returns the first owner of an element, ordered by thread and then by value.
    ///
    /// # Errors
    /// Returns [`TvError::Coordinate`] if the coordinate is outside the tile, and [`TvError::Unowned`] if the element has no owner.
    pub fn owner(&self, coord: impl Into<Coord>) -> Result<Owner, TvError> {
        let index = self.index_of(&coord.into())?;
        self.first_owner(index).ok_or_else(|| self.unowned(index))
    }

    /// Returns all owners of an element, ordered by thread and then by value.
    ///
    /// Visits every value of every thread.
    ///
    /// # Errors
    /// Returns [`TvError::Coordinate`] if the coordinate is outside the tile.
    pub fn owners(&self, coord: impl Into<Coord>) -> Result<Vec<Owner>, TvError> {
        let index = self.index_of(&coord.into())?;
        let owns = |&(thread, value): &(i64, i64)| self.index(thread, value) == index;
        Ok(self.positions().filter(owns).map(|(thread, value)| self.at(thread, value)).collect())
    }

    /// Returns the elements of a thread, ordered by value index.
    ///
    /// # Errors
    /// Returns [`TvError::Thread`] if the thread does not exist in the layout.
    pub fn elements(&self, thread: i64) -> Result<Vec<Element>, TvError> {
        let threads = self.threads();
        if !(0..threads).contains(&thread) {
            return Err(TvError::Thread { name: self.name.clone(), threads, thread });
        }
        let element = |value: i64| Element {
            value,
            register: value / self.per_register,
            slot: value % self.per_register,
            coord: self.coord(self.index(thread, value)),
        };
        Ok((0..self.values()).map(element).collect())
    }

    pub(super) fn at(&self, thread: i64, value: i64) -> Owner {
        Owner { thread, value, register: value / self.per_register, slot: value % self.per_register }
    }

    /// Returns all (thread, value) pairs, in the order of owners.
    pub(super) fn positions(&self) -> impl Iterator<Item = (i64, i64)> + use<> {
        let (threads, values) = (self.threads(), self.values());
        (0..threads).flat_map(move |thread| (0..values).map(move |value| (thread, value)))
    }

    pub(super) fn first_owner(&self, index: i64) -> Option<Owner> {
        let position = i64::from(self.owner_table()[index as usize]?);
        Some(self.at(position / self.values(), position % self.values()))
    }

    fn owner_table(&self) -> &OwnerTable {
        self.owners.get_or_init(|| {
            let mut owners = vec![None; self.shape.size() as usize];
            for (position, (thread, value)) in (0..).zip(self.positions()) {
                owners[self.index(thread, value) as usize].get_or_insert(position);
            }
            owners
        })
    }

    /// Returns the coordinate of a column-major index, one integer for each mode of the tile.
    pub(super) fn coord(&self, index: i64) -> Coord {
        let Tuple::Node(modes) = &self.shape else { return index.into() };
        let mut rest = index;
        let digit = |mode: &Shape| {
            let (digit, size) = (rest % mode.size(), mode.size());
            rest /= size;
            digit
        };
        modes.iter().map(digit).collect()
    }

    fn index_of(&self, coord: &Coord) -> Result<i64, TvError> {
        if contains(&self.shape, coord) {
            return Ok(index_of_coord(coord, &self.shape)?);
        }
        let (name, shape) = (self.name.clone(), self.shape.to_string());
        Err(TvError::Coordinate { name, shape, coord: coord.to_string() })
    }

    pub(super) fn unowned(&self, index: i64) -> TvError {
        TvError::Unowned { name: self.name.clone(), coord: self.coord(index).to_string() }
    }
}

fn contains(shape: &Shape, coord: &Coord) -> bool {
    match (shape, coord) {
        (shape, IntTuple::Leaf(index)) => (0..shape.size()).contains(index),
        (IntTuple::Node(modes), IntTuple::Node(coords)) => {
            modes.len() == coords.len() && modes.iter().zip(coords).all(|(mode, at)| contains(mode, at))
        }
        (IntTuple::Leaf(_), IntTuple::Node(_)) => false,
    }
}
