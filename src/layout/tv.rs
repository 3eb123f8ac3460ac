//! (thread, value) layouts of tiles, which determine the thread and the register of each element.

mod along;
mod check;
mod error;
mod owner;
mod project;
mod table;
mod tiled;

use std::{fmt, sync::OnceLock};

pub use along::{Along, ThreadBit};
pub use error::TvError;
pub use owner::{Element, Owner};

use self::owner::OwnerTable;
use super::{
    access::{AccessError, BankConflicts, bank_conflicts, warp_accesses_of},
    composed::ComposedLayout,
    construct::Layout,
    tuple::{IntTuple, Shape},
};

/// The maximum number of elements of a tile, and of values of all threads together; queries visit all of them.
const MAX_ELEMENTS: i64 = 1 << 22;

/// A tile distributed over threads, described by a layout that maps (thread, value) to a column-major index in the tile, as in CuTe.
///
/// The tile may have any shape; the coordinate of an element has one integer per mode. Values are numbered in register order, starting at
/// the lowest bits: with `n` values per register ([`packed`](Self::packed)), value `v` is in slot `v % n` of register `v / n`.
///
/// Construction is cheap. The first query that needs the table of owners builds it.
///
/// ```
/// use warpwright::layout::{Layout, TvLayout};
/// // Operand A of mma.m16n8k16 on 16-bit elements.
/// let layout = Layout::new(((4, 8), (2, 2, 2)), ((32, 1), (16, 8, 128)))?;
/// let a = TvLayout::new("A", (16, 16), layout)?.packed(2)?;
/// a.assert_bijective();
/// let owner = a.owner((8, 3))?;
/// assert_eq!((owner.thread, owner.value, owner.register, owner.slot), (1, 3, 1, 1));
/// let row_0: Vec<i64> = a.elements(1)?.iter().filter(|e| e.row() == 0).map(|e| e.col()).collect();
/// assert_eq!(row_0, [2, 3, 10, 11]);
/// # Ok::<(), warpwright::layout::TvError>(())
/// ```
#[derive(Clone)]
pub struct TvLayout {
    name: String,
    shape: Shape,
    per_register: i64,
    layout: Layout,
    owners: OnceLock<OwnerTable>,
}

impl TvLayout {
    /// Creates a named (thread, value) layout for a tile of shape `shape`, with one value per register.
    ///
    /// `layout` maps (thread, value) to the column-major index of an element in the tile.
    ///
    /// # Errors
    /// Returns [`TvError::Rank`] if the layout is not of rank 2, [`TvError::TooLarge`] if the tile has more than 4,194,304 elements or all
    /// threads together have more than 4,194,304 values, [`TvError::Outside`] if a value is outside the tile, or [`TvError::Layout`] if a
    /// shape is invalid.
    pub fn new(name: impl Into<String>, shape: impl Into<Shape>, layout: Layout) -> Result<Self, TvError> {
        let tv = TvLayout {
            name: name.into(),
            shape: shape.into(),
            per_register: 1,
            layout,
            owners: OnceLock::new(),
        };
        if tv.layout.rank() != 2 {
            return Err(TvError::Rank { name: tv.name, found: tv.layout.to_string() });
        }
        check_size(&tv.name, tv.shape.check_extents()?)?;
        check_size(&tv.name, tv.layout.shape.check_extents()?)?;
        tv.check_inside()?;
        Ok(tv)
    }

    /// Checks that the lowest and the highest index are within the tile; both are attained, because the modes are independent.
    fn check_inside(&self) -> Result<(), TvError> {
        // For the lowest and the highest index: its value and its position, thread + value · threads.
        let mut extremes = [(0_i64, 0_i64); 2];
        let mut weight = 1;
        for (&extent, &stride) in self.layout.shape.leaves().zip(self.layout.stride.leaves()) {
            if stride != 0 {
                let (index, position) = &mut extremes[usize::from(stride > 0)];
                *index = index.saturating_add(stride.saturating_mul(extent - 1));
                *position += weight * (extent - 1);
            }
            weight *= extent;
        }
        for (index, position) in extremes {
            if !(0..self.shape.size()).contains(&index) {
                let (thread, value) = (position % self.threads(), position / self.threads());
                let (name, shape) = (self.name.clone(), self.shape.to_string());
                return Err(TvError::Outside { name, thread, value, index, shape });
            }
        }
        Ok(())
    }

    /// Returns the same layout with `per_register` values in each register.
    ///
    /// # Errors
    /// Returns [`TvError::Registers`] if `per_register` is 0 or the values of a thread do not fill whole registers.
    pub fn packed(mut self, per_register: u32) -> Result<Self, TvError> {
        let per_register = i64::from(per_register);
        if per_register == 0 || self.values() % per_register != 0 {
            let values = self.values();
            return Err(TvError::Registers { name: self.name, per_register, values });
        }
        self.per_register = per_register;
        Ok(self)
    }

    /// Returns the same layout with `per_register` values in each register and possibly fewer in the last one.
    ///
    /// A `per_register` of 0 is treated as 1.
    #[must_use]
    pub fn packed_partly(self, per_register: u32) -> Self {
        Self { per_register: per_register.max(1).into(), ..self }
    }

    /// Returns the name, which is used in errors and tables.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the shape of the tile.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the extent of mode 0 of the tile, which is the number of rows if the tile is a matrix.
    #[must_use]
    pub fn rows(&self) -> i64 {
        self.shape.modes().first().map_or(1, IntTuple::size)
    }

    /// Returns the size of the tile divided by the extent of mode 0: the number of columns of a matrix.
    #[must_use]
    pub fn cols(&self) -> i64 {
        self.shape.size() / self.rows()
    }

    /// Returns the layout, which maps (thread, value) to a column-major index in the tile.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Returns the number of threads: 32 for a warp.
    #[must_use]
    pub fn threads(&self) -> i64 {
        self.layout.shape.modes()[0].size()
    }

    /// Returns the number of values per thread.
    #[must_use]
    pub fn values(&self) -> i64 {
        self.layout.shape.modes()[1].size()
    }

    /// Returns the number of values per register.
    #[must_use]
    pub fn per_register(&self) -> i64 {
        self.per_register
    }

    /// Returns the number of registers per thread.
    #[must_use]
    pub fn registers(&self) -> i64 {
        (self.values() + self.per_register - 1) / self.per_register
    }

    /// Returns the column-major index, in the tile, of value `value` of thread `thread`.
    ///
    /// Indices past the last value are extrapolated; see [`Layout::index`].
    #[must_use]
    pub fn index(&self, thread: i64, value: i64) -> i64 {
        self.layout.index(thread + value * self.threads())
    }

    /// Returns the bank conflicts that occur when the tile is moved to or from shared memory in vectors.
    ///
    /// A vector consists of `vector` elements of `element_bytes` bytes each. `bytes` maps column-major indices of the tile to byte offsets.
    /// The result has one entry per access of each warp, in order.
    ///
    /// # Errors
    /// Returns the same errors as [`warp_accesses`](super::warp_accesses) and [`bank_conflicts`]: the elements of a vector must be
    /// contiguous, and a vector's address must be a multiple of the vector's size.
    ///
    /// ```
    /// use warpwright::{atoms::mma_atom, layout::Layout};
    /// let a = mma_atom("SM80_16x8x16_F32BF16BF16F32_TN")?.fragment_a()?;
    /// // 16×16 bf16, row-major, 32 bytes per row: rows 4 apart share their banks.
    /// let dense = Layout::new((16, 16), (32, 2))?.into();
    /// assert_eq!(a.conflicts(&dense, 2, 2)?.iter().map(|access| access.degree()).max(), Some(2));
    /// let padded = Layout::new((16, 16), (48, 2))?.into();
    /// assert_eq!(a.conflicts(&padded, 2, 2)?.iter().map(|access| access.degree()).max(), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn conflicts(
        &self,
        bytes: &ComposedLayout,
        element_bytes: i64,
        vector: i64,
    ) -> Result<Vec<BankConflicts>, AccessError> {
        // Evaluated point by point, because the two layouts need not compose.
        let byte = |index: i64| bytes.index(self.layout.index(index));
        let width = element_bytes.wrapping_mul(vector).unsigned_abs();
        let accesses = warp_accesses_of(&self.layout.shape, byte, element_bytes, vector)?;
        accesses.into_iter().map(|lanes| bank_conflicts(lanes, width)).collect()
    }
}

fn check_size(name: &str, found: i64) -> Result<(), TvError> {
    if found <= MAX_ELEMENTS {
        return Ok(());
    }
    Err(TvError::TooLarge { name: name.to_owned(), max: MAX_ELEMENTS, found })
}

impl fmt::Debug for TvLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TvLayout")
            .field("name", &self.name)
            .field("shape", &self.shape)
            .field("per_register", &self.per_register)
            .field("layout", &self.layout)
            .finish_non_exhaustive()
    }
}

/// Compares all fields except the table of owners, which is derived from the others.
impl PartialEq for TvLayout {
    fn eq(&self, other: &Self) -> bool {
        (&self.name, &self.shape, self.per_register, &self.layout)
            == (&other.name, &other.shape, other.per_register, &other.layout)
    }
}

impl Eq for TvLayout {}
