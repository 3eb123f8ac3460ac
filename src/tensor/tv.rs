//! (thread, value) maps of tiles, to ask, print and check.

use std::fmt;

use super::error::TensorError;
use crate::layout::{
    BankConflicts, ComposedLayout, Coord, IntTuple, Layout, Shape, bank_conflicts, coord_of_index,
    index_of_coord, warp_accesses_of,
};

/// Most elements and values of a map: every one of them is looked at.
const MOST_ELEMENTS: i64 = 1 << 22;

/// Which thread holds which element of a tile as which of its values: a layout (thread, value) → column-major index.
///
/// ```
/// use warpwright::layout::Layout;
/// use warpwright::tensor::TvMap;
/// let map = TvMap::new("rows", (4, 8), Layout::new((4, 8), (1, 4))?)?;
/// map.assert_bijective();
/// assert_eq!(map.owner((2, 5))?, (2, 5));
/// assert_eq!(map.elements(1)?.len(), 8);
/// # Ok::<(), warpwright::tensor::TensorError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TvMap {
    name: String,
    shape: Shape,
    layout: Layout,
}

impl TvMap {
    /// A map onto a tile of `shape`, from a layout of rank 2.
    ///
    /// # Errors
    /// [`TensorError::Rank`] for a layout of another rank, [`TensorError::Outside`] if a value lies outside of the tile,
    /// [`TensorError::TooLarge`] past 4 194 304 values of all threads or elements of the tile.
    pub fn new(
        name: impl Into<String>,
        shape: impl Into<Shape>,
        layout: Layout,
    ) -> Result<Self, TensorError> {
        let (name, shape) = (name.into(), shape.into());
        if layout.rank() != 2 {
            return Err(TensorError::Rank { what: name, wanted: 2, found: layout.to_string() });
        }
        let size = Layout::column_major(&shape)?.size();
        for found in [layout.size(), size] {
            if found > MOST_ELEMENTS {
                return Err(TensorError::TooLarge { what: name, most: MOST_ELEMENTS, found });
            }
        }
        let map = TvMap { name, shape, layout };
        for (thread, value) in map.places() {
            if !(0..size).contains(&map.index(thread, value)) {
                let (what, shape) = (map.name.clone(), map.shape.to_string());
                return Err(TensorError::Outside { what, thread, value, shape });
            }
        }
        Ok(map)
    }

    /// The (thread, value) layout onto the column-major index in the tile.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The tile.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Threads.
    #[must_use]
    pub fn threads(&self) -> i64 {
        self.layout.shape().modes()[0].size()
    }

    /// Values of each thread.
    #[must_use]
    pub fn values(&self) -> i64 {
        self.layout.shape().modes()[1].size()
    }

    fn index(&self, thread: i64, value: i64) -> i64 {
        self.layout.index(thread + value * self.threads())
    }

    fn places(&self) -> impl Iterator<Item = (i64, i64)> + use<> {
        let (threads, values) = (self.threads(), self.values());
        (0..threads).flat_map(move |thread| (0..values).map(move |value| (thread, value)))
    }

    fn coord(&self, index: i64) -> Coord {
        coord_of_index(index, &self.shape)
    }

    /// All (thread, value) that hold an element, in order.
    ///
    /// # Errors
    /// [`TensorError::NoElement`] outside of the tile.
    pub fn owners(&self, coord: impl Into<Coord>) -> Result<Vec<(i64, i64)>, TensorError> {
        let coord = coord.into();
        let wanted = self.place_of(&coord)?;
        Ok(self.places().filter(|&(thread, value)| self.index(thread, value) == wanted).collect())
    }

    fn place_of(&self, coord: &Coord) -> Result<i64, TensorError> {
        let index = index_of_coord(coord, &self.shape)?;
        let inside = match coord {
            IntTuple::Leaf(_) => (0..self.shape.size()).contains(&index),
            IntTuple::Node(_) => self.coord(index) == *coord && index >= 0,
        };
        if inside {
            return Ok(index);
        }
        let (what, coord) = (self.name.clone(), coord.to_string());
        Err(TensorError::NoElement { what, coord, shape: self.shape.to_string() })
    }

    /// The first (thread, value) that holds an element.
    ///
    /// # Errors
    /// [`TensorError::NoElement`] outside of the tile, [`TensorError::Unowned`] if nobody holds it.
    pub fn owner(&self, coord: impl Into<Coord>) -> Result<(i64, i64), TensorError> {
        let coord = coord.into();
        let first = self.owners(coord.clone())?.first().copied();
        first.ok_or_else(|| TensorError::Unowned { what: self.name.clone(), coord: coord.to_string() })
    }

    /// The coordinates that a thread holds, in the order of its values.
    ///
    /// # Errors
    /// [`TensorError::Thread`] for a thread that there is not.
    pub fn elements(&self, thread: i64) -> Result<Vec<Coord>, TensorError> {
        let threads = self.threads();
        if !(0..threads).contains(&thread) {
            return Err(TensorError::Thread { what: self.name.clone(), thread, threads });
        }
        Ok((0..self.values()).map(|value| self.coord(self.index(thread, value))).collect())
    }

    /// Whether every element is held by some thread.
    ///
    /// # Errors
    /// [`TensorError::Unowned`], naming the first that is not.
    pub fn check_covering(&self) -> Result<(), TensorError> {
        let owners = self.owner_table();
        match owners.iter().position(Option::is_none) {
            None => Ok(()),
            Some(index) => {
                let (what, coord) = (self.name.clone(), self.coord(index as i64).to_string());
                Err(TensorError::Unowned { what, coord })
            }
        }
    }

    /// Whether every element is held exactly once.
    ///
    /// # Errors
    /// [`TensorError::Shared`] or [`TensorError::Unowned`], naming the first such element met.
    pub fn check_bijective(&self) -> Result<(), TensorError> {
        let owners = self.owner_table();
        for second in self.places() {
            let index = self.index(second.0, second.1);
            if let Some(first) = owners[index as usize]
                && first != second
            {
                let (what, coord) = (self.name.clone(), self.coord(index).to_string());
                return Err(TensorError::Shared { what, coord, first, second });
            }
        }
        self.check_covering()
    }

    /// [`check_covering`](Self::check_covering) for tests.
    ///
    /// # Panics
    /// If an element is held by no thread; the message names it.
    #[track_caller]
    pub fn assert_covering(&self) {
        if let Err(error) = self.check_covering() {
            panic!("not covering: {error}");
        }
    }

    /// [`check_bijective`](Self::check_bijective) for tests.
    ///
    /// # Panics
    /// If an element is held twice or by no thread; the message names it.
    #[track_caller]
    pub fn assert_bijective(&self) {
        if let Err(error) = self.check_bijective() {
            panic!("not a bijection: {error}");
        }
    }

    /// First holder of each element, by column-major index.
    fn owner_table(&self) -> Vec<Option<(i64, i64)>> {
        let mut owners = vec![None; self.shape.size() as usize];
        for (thread, value) in self.places() {
            owners[self.index(thread, value) as usize].get_or_insert((thread, value));
        }
        owners
    }

    /// The bank conflicts of moving the tile from or to shared memory that lies as `bytes` says (coordinates of the tile to
    /// byte offsets), `vector` elements of `element_bytes` at a time: one entry for each access of each warp.
    ///
    /// # Errors
    /// As [`warp_accesses`](crate::layout::warp_accesses) and [`bank_conflicts`].
    pub fn conflicts(
        &self,
        bytes: &ComposedLayout,
        element_bytes: i64,
        vector: i64,
    ) -> Result<Vec<BankConflicts>, TensorError> {
        // Evaluated, as the two need not compose.
        let byte = |index: i64| bytes.index(self.layout.index(index));
        let width = element_bytes.wrapping_mul(vector).unsigned_abs();
        let accesses = warp_accesses_of(self.layout.shape(), byte, element_bytes, vector)?;
        let cost = |lanes: Vec<u64>| bank_conflicts(lanes, width).map_err(Into::into);
        accesses.into_iter().map(cost).collect()
    }
}

/// The holders as a table, `T3V1` for thread 3, value 1, rows by mode 0 and columns by the rest.
impl fmt::Display for TvMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {} onto {}", self.name, self.layout, self.shape)?;
        let owners = self.owner_table();
        let cells: Vec<String> = owners
            .iter()
            .map(|owner| owner.map_or("-".into(), |(thread, value)| format!("T{thread}V{value}")))
            .collect();
        let width = cells.iter().map(String::len).max().unwrap_or(1);
        let rows = self.shape.modes().first().map_or(1, IntTuple::size) as usize;
        for row in 0..rows {
            let line: Vec<String> =
                cells.iter().skip(row).step_by(rows).map(|cell| format!("{cell:<width$}")).collect();
            writeln!(f, "{}", line.join(" ").trim_end())?;
        }
        Ok(())
    }
}
